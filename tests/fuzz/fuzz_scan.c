/* Tests the scans of programs and the pages that answer them: any bytes are refused, or are exactly
 * what our writer writes. Two pages that are accepted can be merged. */
#include "fuzz.h"
#include "wire/scan.h"

static uint8_t *make_room(size_t size)
{
    uint8_t *room = malloc(size ? size : 1);
    assert(room);
    return room;
}

static void request_decode(const uint8_t *data, size_t size)
{
    struct scan_request request;
    if (!scan_request_read(&request, data, size))
        return;
    uint8_t *again = make_room(size);
    assert(scan_request_size(&request) == size &&
           scan_request_write(&request, again, size) == size);
    assert(memcmp(again, data, size) == 0);
    assert(scan_request_write(&request, again, size - 1) == 0);
    free(again);
}

static bool page_decode(struct scan_page *page, const uint8_t *data, size_t size)
{
    if (!scan_page_read(page, data, size))
        return false;
    struct scan_page rest = *page;
    struct scan_item item;
    struct scan_maker maker;
    if (page->count > SCAN_PAGE_KEYS)
        return true;
    uint8_t *again = make_room(size + SCAN_MAKER_ROOM);
    scan_maker_init(&maker, again, size + SCAN_MAKER_ROOM);
    while (scan_page_next(&rest, &item))
        assert(scan_maker_add(&maker, &item) != 0);
    assert(scan_maker_end(&maker, page->more ? &page->until : NULL) == size);
    assert(memcmp(again, data, size) == 0);
    free(again);
    return true;
}

/* The input is cut into two pages. */
static void merge(const uint8_t *data, size_t size)
{
    static uint8_t merged[SCAN_PAGE_SIZE];
    struct scan_page one, other, page;
    size_t cut = size ? data[0] : 0;
    if (size < 1 + cut || !page_decode(&one, data + 1, cut) ||
        !page_decode(&other, data + 1 + cut, size - 1 - cut))
        return;
    size_t done = scan_merge(&one, &other, 3, merged, sizeof merged);
    assert(done && scan_page_read(&page, merged, done) && page.count <= 3);
    assert(page.more || (!one.more && !other.more && page.count <= one.count + other.count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan_page page;
    request_decode(data, size);
    (void)page_decode(&page, data, size);
    merge(data, size);
    return 0;
}
