#include "ripc/pool/slab.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

static uint64_t units_mask(uint32_t first, uint32_t count)
{
    assert(count >= 1 && count <= SLAB_UNITS && first <= SLAB_UNITS - count);
    return (~0ULL >> (SLAB_UNITS - count)) << first;
}

int slab_make(struct slab **slab, size_t size, uint32_t unit_count)
{
    assert(unit_count >= 1 && unit_count <= SLAB_UNITS && size % unit_count == 0);
    struct slab *made = array_new(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    int result = memfile_open(&made->file, POOL_LABEL, size);
    if (result < 0) {
        free(made);
        return result;
    }
    made->extent.base = made->file.base;
    made->extent.size = size;
    made->extent.file = &made->file;
    made->unit_size = size / unit_count;
    made->unit_count = unit_count;
    made->free_units = units_mask(0, unit_count);
    *slab = made;
    return 0;
}

int slab_make_foreign(struct slab **slab, void *base, size_t size)
{
    struct slab *made = array_new(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    made->file.fd = -1;
    made->extent.base = base;
    made->extent.size = size;
    *slab = made;
    return 0;
}

int slab_make_file(struct slab **slab, const struct memfile *file)
{
    int result = slab_make_foreign(slab, file->base, file->size);
    if (result == 0) {
        (*slab)->file = *file;
        (*slab)->extent.file = &(*slab)->file;
    }
    return result;
}

void slab_free(struct slab *slab)
{
    for (uint32_t unit = 0; unit < slab->unit_count;) {
        struct run *run = slab->runs[unit];
        unit += run ? run->unit_count : 1;
        free(run);
    }
    if (slab->unit_count)
        memfile_close(&slab->file);
    free(slab);
}

static uint32_t units_for(const struct slab *slab, size_t size)
{
    size_t units = size / slab->unit_size + (size % slab->unit_size != 0);
    return units > SLAB_UNITS ? SLAB_UNITS + 1 : units ? (uint32_t)units : 1;
}

/* Returns the first unit of the lowest row of `count` free units, or SLAB_UNITS. A bit survives a
 * turn if the bit `step` above it is set too; so in the end those bits survive that begin a row of
 * `count`. */
static uint32_t units_find(const struct slab *slab, uint32_t count)
{
    uint64_t rows = slab->free_units;
    if (count > slab->unit_count)
        return SLAB_UNITS;
    for (uint32_t left = count; left > 1;) {
        uint32_t step = left / 2;
        rows &= rows >> step;
        left -= step;
    }
    return rows ? (uint32_t)__builtin_ctzll(rows) : SLAB_UNITS;
}

bool slab_has_room(const struct slab *slab, size_t size)
{
    return units_find(slab, units_for(slab, size)) != SLAB_UNITS;
}

static size_t size_of_class(size_t size)
{
    size_t rounded = SLAB_CHUNK_MIN;
    while (rounded < size)
        rounded *= 2;
    return rounded;
}

struct run *slab_carve(struct slab *slab, size_t size, bool *again)
{
    uint32_t unit_count = units_for(slab, size);
    uint32_t unit = units_find(slab, unit_count);
    if (unit == SLAB_UNITS)
        return NULL;
    size_t room = unit_count * slab->unit_size;
    size_t chunk_size = size_of_class(size);
    if (unit_count > 1 || chunk_size > room)
        chunk_size = room;
    size_t chunk_count = room / chunk_size;
    struct run *run = array_new(1, sizeof *run + chunk_count * sizeof *run->chunks);
    if (!run)
        return NULL;
    run->slab = slab;
    run->chunk_size = chunk_size;
    run->chunk_count = (uint32_t)chunk_count;
    run->unit = unit;
    run->unit_count = unit_count;
    uint64_t mask = units_mask(unit, unit_count);
    *again = (slab->stale_units & mask) == mask;
    run->stale = slab->stale_units & mask;
    slab->free_units &= ~mask;
    for (uint32_t i = 0; i < unit_count; i++)
        slab->runs[unit + i] = run;
    return run;
}

void run_dissolve(struct run *run)
{
    struct slab *slab = run->slab;
    assert(run->lent_count == 0);
    for (uint32_t i = 0; i < run->unit_count; i++)
        slab->runs[run->unit + i] = NULL;
    slab->free_units |= units_mask(run->unit, run->unit_count);
    slab->stale_units |= units_mask(run->unit, run->unit_count);
    free(run);
}

bool run_grow(struct run *run, size_t size)
{
    struct slab *slab = run->slab;
    uint32_t wanted = units_for(slab, size);
    uint32_t end = run->unit + run->unit_count;
    if (run->chunk_count != 1 || run->unit + wanted > slab->unit_count)
        return false;
    assert(wanted > run->unit_count); /* the chunk fills its units, and is too small */
    uint64_t mask = units_mask(end, wanted - run->unit_count);
    if ((slab->free_units & mask) != mask)
        return false;
    slab->free_units &= ~mask;
    for (uint32_t unit = end; unit < run->unit + wanted; unit++)
        slab->runs[unit] = run;
    run->unit_count = wanted;
    run->chunk_size = wanted * slab->unit_size;
    return true;
}

bool run_is_full(const struct run *run)
{
    return run->lent_count == run->chunk_count;
}

void *run_lend(struct run *run, bool *again)
{
    assert(!run_is_full(run));
    *again = run->given != 0;
    uint32_t index = run->given ? run->given - 1 : run->fresh++;
    assert(index < run->chunk_count);
    struct chunk *chunk = &run->chunks[index];
    if (*again)
        run->given = chunk->next;
    chunk->next = SLAB_CHUNK_LENT;
    run->lent_count++;
    return run_chunk_base(run, chunk);
}

void run_take_back(struct run *run, struct chunk *chunk)
{
    assert(chunk->next == SLAB_CHUNK_LENT && chunk->users == 0);
    chunk->next = run->given;
    run->given = (uint32_t)(chunk - run->chunks) + 1;
    run->lent_count--;
}

struct run *slab_run_at(const struct slab *slab, const void *at)
{
    size_t offset = (size_t)((const uint8_t *)at - slab->extent.base);
    assert(offset < slab->extent.size);
    return slab->unit_count ? slab->runs[offset / slab->unit_size] : NULL;
}

struct chunk *run_chunk_at(struct run *run, const void *at)
{
    const struct slab *slab = run->slab;
    size_t offset = (size_t)((const uint8_t *)at - slab->extent.base) - run->unit * slab->unit_size;
    size_t index = offset / run->chunk_size;
    assert(index < run->chunk_count);
    return &run->chunks[index];
}

uint8_t *run_chunk_base(const struct run *run, const struct chunk *chunk)
{
    size_t index = (size_t)(chunk - run->chunks);
    return run->slab->extent.base + run->unit * run->slab->unit_size + index * run->chunk_size;
}
