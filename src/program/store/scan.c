/* scan: pages of keys, for the calls of weft/store.h. */
#include "wire/scan.h"

#include <errno.h>
#include <string.h>
#include <weft/store.h>

#include "base/check.h"

static_assert(WEFT_STORE_PAGE_KEYS == SCAN_PAGE_KEYS && WEFT_STORE_PAGE_SIZE == SCAN_PAGE_SIZE,
              "a page of the store fits");

int weft_store_page_open(const void *bytes, size_t size, struct weft_store_page *page)
{
    struct scan_page read;
    if (!page || (size && !bytes) || !scan_page_read(&read, bytes, size))
        return -EINVAL;
    *page = (struct weft_store_page){
        .count = read.count,
        .more = read.more,
        .until_size = read.until.size,
        .until = read.until.bytes,
        .next = read.items.next,
        .left = read.items.left,
    };
    return 0;
}

int weft_store_page_next(struct weft_store_page *page, struct weft_store_item *item)
{
    if (!page || !item)
        return 0;
    struct scan_page read = {.count = page->count, .items = reader_make(page->next, page->left)};
    struct scan_item found;
    if (!scan_page_next(&read, &found))
        return 0;
    page->count = read.count;
    page->next = read.items.next;
    page->left = read.items.left;
    *item = (struct weft_store_item){
        .key = found.key.bytes,
        .key_size = found.key.size,
        .version = found.version,
        .value_size = found.value_size,
        .ttl = (int64_t)found.ttl,
    };
    return 1;
}

/* One page, perhaps without keys. */
static int page_get(struct weft_store *store, struct weft_store_scan *scan, void *room,
                    int64_t deadline)
{
    const struct weft_store_request request = {
        .op = WEFT_STORE_SCAN,
        .key = scan->prefix,
        .key_size = scan->prefix_size,
        .value = scan->after,
        .value_size = scan->flags & WEFT_STORE_AFTER ? scan->after_size : 0,
        .delta = scan->most,
        .flags = scan->flags,
    };
    int size = weft_store_ask(store, &request, NULL, room, WEFT_STORE_PAGE_SIZE, deadline);
    if (size < 0)
        return size;
    if (weft_store_page_open(room, (size_t)size, &scan->page))
        return -EPROTO;
    scan->over = !scan->page.more;
    if (scan->page.more) {
        scan->flags |= WEFT_STORE_AFTER;
        scan->after_size = scan->page.until_size;
        if (scan->after_size)
            memcpy(scan->after, scan->page.until, scan->after_size);
    }
    return (int)scan->page.count;
}

int weft_store_scan(struct weft_store *store, struct weft_store_scan *scan, void *room,
                    int64_t deadline)
{
    if (!scan || !room || scan->after_size > sizeof scan->after)
        return -EINVAL;
    scan->page = (struct weft_store_page){0};
    int count = 0;
    while (count == 0 && !scan->over)
        count = page_get(store, scan, room, deadline);
    return count;
}
