#include "ripc/message/mark.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

#define MARKS       4096
#define MARKS_LABEL "weft-marks"

/* Of a context; made with its first offer over a transport that maps memory. */
struct marks {
    struct memfile file;
    mark_word *words;
    uint64_t used[MARKS / 64]; /* a bit each */
    unsigned next;             /* where to look first */
};

/* ---- the offerer ---- */

static struct marks *marks_open(struct ripc *ripc)
{
    struct marks *marks = array_new(1, sizeof *marks);
    if (!marks)
        return NULL;
    int result = memfile_open(&marks->file, MARKS_LABEL, MARKS * sizeof *marks->words);
    if (result == 0) {
        result = memfile_reserve(&marks->file);
        if (result == 0)
            result = pool_adopt(ripc->pool, &marks->file);
        if (result)
            memfile_close(&marks->file);
    }
    if (result) {
        free(marks);
        return NULL;
    }
    marks->words = marks->file.base;
    return marks;
}

void marks_close(struct ripc *ripc)
{
    if (!ripc->marks)
        return;
    memfile_close(&ripc->marks->file);
    free(ripc->marks);
    ripc->marks = NULL;
}

/* Returns a word that is not used; MARKS: there is none. */
static unsigned marks_find(struct marks *marks)
{
    for (unsigned i = 0; i < MARKS / 64; i++) {
        unsigned word = (marks->next + i) % (MARKS / 64);
        if (marks->used[word] == UINT64_MAX)
            continue;
        marks->next = word;
        return 64 * word + (unsigned)__builtin_ctzll(~marks->used[word]);
    }
    return MARKS;
}

static int mark_share(const struct remote *remote, mark_word *mark, struct remote_memory *out)
{
    struct ripc *ripc = remote->service->ripc;
    struct extent *extent = pool_find(ripc->pool, mark, MARK_SIZE);
    struct region *region;
    assert(extent);
    int result = context_region(ripc, remote->transport, extent, &region);
    if (result)
        return result;
    return remote->link->ops->memory->share(remote->link, region, mark, MARK_SIZE,
                                            MEMORY_READ | MEMORY_WRITE, out);
}

mark_word *mark_make(const struct remote *remote, uint64_t number, struct remote_memory *out)
{
    struct ripc *ripc = remote->service->ripc;
    *out = (struct remote_memory){0};
    if (!remote->link->ops->memory->map)
        return NULL;
    if (!ripc->marks)
        ripc->marks = marks_open(ripc);
    unsigned index = ripc->marks ? marks_find(ripc->marks) : MARKS;
    if (index == MARKS)
        return NULL;
    mark_word *mark = &ripc->marks->words[index];
    if (mark_share(remote, mark, out)) {
        *out = (struct remote_memory){0};
        return NULL;
    }
    ripc->marks->used[index / 64] |= 1ULL << index % 64;
    atomic_store_explicit(mark, number, memory_order_release);
    return mark;
}

bool mark_withdraw(mark_word *mark, uint64_t number)
{
    return atomic_compare_exchange_strong_explicit(mark, &number, 0, memory_order_acq_rel,
                                                   memory_order_acquire);
}

void mark_free(struct ripc *ripc, mark_word *mark)
{
    if (!mark)
        return;
    size_t index = (size_t)(mark - ripc->marks->words);
    assert(index < MARKS && (ripc->marks->used[index / 64] >> index % 64 & 1));
    atomic_store_explicit(mark, 0, memory_order_release);
    ripc->marks->used[index / 64] &= ~(1ULL << index % 64);
}

/* ---- the peer ---- */

int mark_map(struct transport_link *link, const struct remote_memory *memory,
             struct mapping *mapping)
{
    const struct memory_ops *ops = link->ops->memory;
    *mapping = (struct mapping){0};
    if (!memory->key)
        return 0;
    if (!ops || !ops->map || memory->size != MARK_SIZE || memory->address % MARK_SIZE)
        return -EPROTO;
    return ops->map(link, memory, true, mapping);
}

void mark_unmap(struct transport_link *link, struct mapping *mapping)
{
    if (mapping->base)
        link->ops->memory->unmap(mapping);
}

/* Replaces `from` by `to`; false if the mark is not `from`. */
static bool mark_swap(const struct mapping *mapping, uint64_t from, uint64_t to)
{
    mark_word *mark = mapping->base;
    return !mark || atomic_compare_exchange_strong_explicit(mark, &from, to, memory_order_acq_rel,
                                                            memory_order_acquire);
}

bool mark_stands(const struct mapping *mapping, uint64_t number)
{
    mark_word *mark = mapping->base;
    return !mark || atomic_load_explicit(mark, memory_order_acquire) == number;
}

bool mark_take(const struct mapping *mapping, uint64_t number)
{
    return mark_swap(mapping, number, ~number);
}

void mark_give_back(const struct mapping *mapping, uint64_t number)
{
    (void)!mark_swap(mapping, ~number, number);
}
