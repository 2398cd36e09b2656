/* scan: see the header. A page: how many keys (2), the keys; 1 (1) and the key until which it has
 * all, or 0 (1). A key in it: size (1), bytes, version (8), time to live (8), size of its
 * value (4). */
#include "wire/scan.h"

#include <string.h>

#include "base/check.h"
#include "base/compare.h"

/* ---- keys ---- */

int scan_key_compare(struct scan_key one, struct scan_key other)
{
    uint32_t size = least_u32(one.size, other.size);
    int order = size ? memcmp(one.bytes, other.bytes, size) : 0;
    return order ? order : (one.size > other.size) - (one.size < other.size);
}

void scan_key_write(struct writer *out, struct scan_key key)
{
    assert(key.size <= STORE_KEY_MAX);
    write_u8(out, (uint8_t)key.size);
    write_bytes(out, key.bytes, key.size);
}

bool scan_key_read(struct reader *in, struct scan_key *key)
{
    key->size = read_u8(in);
    key->bytes = read_bytes(in, key->size);
    return !in->failed && key->size <= STORE_KEY_MAX;
}

/* ---- requests ---- */

enum { HERE = 1, AFTER = 2 };

size_t scan_request_size(const struct scan_request *request)
{
    return 1 + 4 + 8 + 1 + (size_t)request->prefix.size +
           (request->is_after ? 1 + (size_t)request->after.size : 0);
}

size_t scan_request_write(const struct scan_request *request, void *out, size_t room)
{
    struct writer to = writer_make(out, room);
    write_u8(&to, (uint8_t)((request->here ? HERE : 0) | (request->is_after ? AFTER : 0)));
    write_u32(&to, request->most);
    write_u64(&to, (uint64_t)request->patience);
    scan_key_write(&to, request->prefix);
    if (request->is_after)
        scan_key_write(&to, request->after);
    return to.failed ? 0 : room - to.left;
}

bool scan_request_read(struct scan_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t flags = read_u8(&in);
    *request = (struct scan_request){.here = flags & HERE, .is_after = flags & AFTER};
    request->most = read_u32(&in);
    request->patience = (int64_t)read_u64(&in);
    if (!scan_key_read(&in, &request->prefix) ||
        (request->is_after && !scan_key_read(&in, &request->after)))
        return false;
    return in.left == 0 && flags <= (HERE | AFTER) && request->most >= 1 &&
           request->most <= SCAN_PAGE_KEYS && request->patience > 0;
}

/* ---- pages ---- */

static bool item_read(struct reader *in, struct scan_item *item)
{
    if (!scan_key_read(in, &item->key))
        return false;
    item->version = read_u64(in);
    item->ttl = read_u64(in);
    item->value_size = read_u32(in);
    return !in->failed && item->ttl <= STORE_TTL_MAX;
}

bool scan_page_read(struct scan_page *page, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    struct scan_item item, before = {0};
    *page = (struct scan_page){.count = read_u16(&in)};
    page->items = in;
    for (uint32_t i = 0; i < page->count; i++) {
        if (!item_read(&in, &item) || (i && scan_key_compare(before.key, item.key) >= 0))
            return false;
        before = item;
    }
    uint8_t more = read_u8(&in);
    page->more = more;
    if (more > 1 || in.failed || (more && !scan_key_read(&in, &page->until)))
        return false;
    return in.left == 0 && !(more && page->count && scan_key_compare(before.key, page->until) > 0);
}

bool scan_page_next(struct scan_page *page, struct scan_item *item)
{
    if (!page->count)
        return false;
    page->count--;
    return item_read(&page->items, item);
}

/* ---- making ---- */

void scan_maker_init(struct scan_maker *maker, void *bytes, size_t room)
{
    assert(room >= SCAN_MAKER_ROOM);
    *maker = (struct scan_maker){.bytes = bytes, .out = writer_make(bytes, room)};
    write_u16(&maker->out, 0);
}

size_t scan_maker_add(struct scan_maker *maker, const struct scan_item *item)
{
    struct writer *out = &maker->out;
    if (out->left < 1 + item->key.size + 20 + SCAN_END_MAX || maker->count == SCAN_PAGE_KEYS)
        return 0;
    scan_key_write(out, item->key);
    size_t place = (size_t)(out->next - maker->bytes);
    write_u64(out, item->version);
    write_u64(out, item->ttl);
    write_u32(out, item->value_size);
    maker->count++;
    return place;
}

size_t scan_maker_end(struct scan_maker *maker, const struct scan_key *until)
{
    struct writer count = writer_make(maker->bytes, 2);
    write_u16(&count, (uint16_t)maker->count);
    write_u8(&maker->out, until != NULL);
    if (until)
        scan_key_write(&maker->out, *until);
    assert(!maker->out.failed);
    return (size_t)(maker->out.next - maker->bytes);
}

/* The end of what both pages are sure of. NULL: there is none. */
static const struct scan_key *bound_of(const struct scan_page *one, const struct scan_page *other)
{
    if (!one->more || !other->more)
        return one->more ? &one->until : other->more ? &other->until : NULL;
    return scan_key_compare(one->until, other->until) < 0 ? &one->until : &other->until;
}

size_t scan_merge(const struct scan_page *one, const struct scan_page *other, uint32_t most,
                  void *bytes, size_t room)
{
    struct scan_page pages[2] = {*one, *other};
    const struct scan_key *bound = bound_of(one, other);
    struct scan_item items[2] = {0};
    struct scan_key last = {0};
    struct scan_maker maker;
    bool has[2];
    scan_maker_init(&maker, bytes, room);
    for (unsigned i = 0; i < 2; i++)
        has[i] = scan_page_next(&pages[i], &items[i]);
    while (has[0] || has[1]) {
        unsigned at = !has[0] || (has[1] && scan_key_compare(items[1].key, items[0].key) < 0);
        if (bound && scan_key_compare(items[at].key, *bound) > 0)
            break;
        if (maker.count == most || !scan_maker_add(&maker, &items[at]))
            return scan_maker_end(&maker, &last);
        last = items[at].key;
        for (unsigned i = 0; i < 2; i++) {
            if (has[i] && scan_key_compare(items[i].key, last) == 0)
                has[i] = scan_page_next(&pages[i], &items[i]);
        }
    }
    return scan_maker_end(&maker, bound);
}
