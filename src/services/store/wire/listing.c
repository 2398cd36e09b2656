/* listing: see the header. */
#include "services/store/wire/listing.h"

#include "base/check.h"

#define GROUPS_MAX (1u << 20)

/* ---- groups ---- */

static void put_groups(struct writer *out, struct listing_groups groups)
{
    write_bytes(out, groups.bits, listing_groups_size(groups.count));
}

static bool get_groups(struct reader *in, uint32_t count, struct listing_groups *groups)
{
    uint32_t size = listing_groups_size(count);
    *groups = (struct listing_groups){read_bytes(in, size), count};
    return !in->failed && !(count % 8 && groups->bits[size - 1] >> count % 8);
}

static bool get_count(struct reader *in, uint32_t *count)
{
    *count = read_u32(in);
    return !in->failed && *count > 0 && *count <= GROUPS_MAX;
}

static uint32_t how_many(struct listing_groups groups)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < listing_groups_size(groups.count); i++)
        sum += (uint32_t)__builtin_popcount(groups.bits[i]);
    return sum;
}

/* ---- questions ---- */

size_t listing_size(const struct listing *listing)
{
    return 4 + (size_t)listing_groups_size(listing->groups.count) +
           scan_request_size(&listing->request);
}

void listing_write(const struct listing *listing, void *out)
{
    struct writer to = writer_make(out, listing_size(listing));
    write_u32(&to, listing->groups.count);
    put_groups(&to, listing->groups);
    size_t size = scan_request_write(&listing->request, to.next, to.left);
    assert(!to.failed && size == to.left);
}

bool listing_read(struct listing *listing, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint32_t count;
    return get_count(&in, &count) && get_groups(&in, count, &listing->groups) &&
           scan_request_read(&listing->request, in.next, in.left);
}

/* ---- answers ---- */

size_t listing_answer_size(const struct listing_answer *answer)
{
    return 4 + 2 * (size_t)listing_groups_size(answer->told.count) +
           4 * (size_t)how_many(answer->others) + answer->page_size;
}

void listing_answer_write(const struct listing_answer *answer, void *out)
{
    struct writer to = writer_make(out, listing_answer_size(answer));
    assert(answer->told.count == answer->others.count);
    write_u32(&to, answer->told.count);
    put_groups(&to, answer->told);
    put_groups(&to, answer->others);
    write_bytes(&to, answer->leaders, 4 * (size_t)how_many(answer->others));
    write_bytes(&to, answer->page, answer->page_size);
    assert(!to.failed && !to.left);
}

bool listing_answer_read(struct listing_answer *answer, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    struct scan_page page;
    uint32_t count;
    if (!get_count(&in, &count) || !get_groups(&in, count, &answer->told) ||
        !get_groups(&in, count, &answer->others))
        return false;
    for (uint32_t i = 0; i < listing_groups_size(count); i++) {
        if (answer->told.bits[i] & answer->others.bits[i])
            return false;
    }
    answer->leaders = read_bytes(&in, 4 * (size_t)how_many(answer->others));
    if (in.failed || in.left > SCAN_PAGE_SIZE)
        return false;
    answer->page_size = (uint32_t)in.left;
    answer->page = read_bytes(&in, in.left);
    return scan_page_read(&page, answer->page, answer->page_size);
}

uint32_t listing_leader(const struct listing_answer *answer, uint32_t place)
{
    struct reader in = reader_make(answer->leaders + 4 * (size_t)place, 4);
    return read_u32(&in);
}
