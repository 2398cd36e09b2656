/* index_walk: see the header. A binary heap: each place is not after the two below it. */
#include "services/store/index/index_walk.h"

#include <string.h>

#include "base/compare.h"

void index_walk_init(struct index_walk *walk, const struct index *index, struct index_key prefix,
                     struct index_place *memory)
{
    *walk = (struct index_walk){.index = index, .prefix = prefix, .heap = memory};
}

static bool is_before(const struct index_place *one, const struct index_place *other)
{
    const struct index_entry *a = one->entry, *b = other->entry;
    int order = memcmp(a->key, b->key, least_u32(a->key_size, b->key_size));
    return order < 0 || (order == 0 && a->key_size < b->key_size);
}

/* Puts a place where nothing is yet, as far up as it belongs. */
static void rise(struct index_walk *walk, uint32_t at, struct index_place place)
{
    while (at > 0 && is_before(&place, &walk->heap[(at - 1) / 2])) {
        walk->heap[at] = walk->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    walk->heap[at] = place;
}

/* Puts a place on top, or as far down as it belongs. */
static void sink(struct index_walk *walk, struct index_place place)
{
    uint32_t at = 0, below;
    while ((below = 2 * at + 1) < walk->count) {
        if (below + 1 < walk->count && is_before(&walk->heap[below + 1], &walk->heap[below]))
            below++;
        if (!is_before(&walk->heap[below], &place))
            break;
        walk->heap[at] = walk->heap[below];
        at = below;
    }
    walk->heap[at] = place;
}

void index_walk_add(struct index_walk *walk, uint32_t group, uint32_t tag,
                    const struct index_key *after)
{
    const struct index_entry *entry = index_next(walk->index, group, after, walk->prefix);
    if (entry)
        rise(walk, walk->count++, (struct index_place){entry, group, tag});
}

const struct index_entry *index_walk_next(struct index_walk *walk, uint32_t *tag)
{
    if (!walk->count)
        return NULL;
    const struct index_place first = walk->heap[0];
    const struct index_key after = index_key_of(first.entry);
    const struct index_entry *next = index_next(walk->index, first.group, &after, walk->prefix);
    if (next)
        sink(walk, (struct index_place){next, first.group, first.tag});
    else if (--walk->count)
        sink(walk, walk->heap[walk->count]);
    *tag = first.tag;
    return first.entry;
}
