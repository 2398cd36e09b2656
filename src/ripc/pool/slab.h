#pragma once
/* slab: a piece of shared memory that is carved into buffers. Internal to the pool.
 *
 * A slab has at most 64 units of one size, so one word tells which are free. A *run* is a row of
 * units, carved into *chunks* of one size: many small ones in a unit, or a single one as long as
 * the run. A lent chunk is an allocated buffer. All this bookkeeping is outside the shared memory:
 * whatever a peer writes there, it cannot make us allocate the same bytes twice.
 *
 * Foreign memory and adopted memory files are slabs without units. */

#include <stdbool.h>

#include "ripc/pool/pool.h"

#define SLAB_UNITS      64
#define SLAB_CHUNK_MIN  64
#define SLAB_CHUNK_LENT UINT32_MAX

struct chunk {
    uint32_t users; /* by pool_use */
    uint32_t next;  /* SLAB_CHUNK_LENT, or the index + 1 of the next chunk that was given back; 0
                     * ends the list */
};

struct run {
    struct slab *slab;
    struct run *next, *previous; /* for the pool: runs of a class that have a chunk to lend */
    size_t chunk_size;
    uint32_t unit, unit_count; /* position in the slab */
    uint32_t chunk_count;
    uint32_t lent_count;
    uint32_t fresh; /* chunks from here on were never lent */
    uint32_t given; /* index + 1 of the chunk given back last, or 0 */
    bool stale;     /* part of it was in a run before: chunks that were never lent are not zero */
    struct chunk chunks[];
};

struct slab {
    struct extent extent; /* must be first: an extent is a slab as seen from outside */
    struct memfile file;  /* fd -1 for foreign memory; borrowed if there are no units */
    struct slab *next;    /* for the pool: slabs to carve, or waiting slabs */
    size_t unit_size;
    uint64_t free_units;  /* a bit each */
    uint64_t stale_units; /* units of a run that was dissolved */
    uint32_t unit_count;
    struct run *runs[SLAB_UNITS]; /* the run of each unit, or NULL */
};

/* The size is a multiple of unit_count pages. -ENOMEM, or as memfile_open. */
MUST_CHECK int slab_make(struct slab **slab, size_t size, uint32_t unit_count);
MUST_CHECK int slab_make_foreign(struct slab **slab, void *base, size_t size);
MUST_CHECK int slab_make_file(struct slab **slab, const struct memfile *file); /* copied */
void slab_free(struct slab *slab);                                             /* with its runs */

/* Is there a row of free units for a buffer of that size? */
bool slab_has_room(const struct slab *slab, size_t size);

/* Makes a run whose chunks have at least `size` bytes; NULL if there is no room or no memory. Sets
 * `again` if all of it was in use before. */
struct run *slab_carve(struct slab *slab, size_t size, bool *again);
void run_dissolve(struct run *run); /* none of it may be lent */

/* Makes a run of a single chunk longer, in place, if possible. `size` is more than its units
 * hold. */
bool run_grow(struct run *run, size_t size);

bool run_is_full(const struct run *run);

/* Lends a chunk of a run that is not full. `again`: it was lent before. */
void *run_lend(struct run *run, bool *again);
void run_take_back(struct run *run, struct chunk *chunk);

/* Return the run that contains that byte of the slab (NULL if none), and its chunk there. */
struct run *slab_run_at(const struct slab *slab, const void *at);
struct chunk *run_chunk_at(struct run *run, const void *at);
uint8_t *run_chunk_base(const struct run *run, const struct chunk *chunk);
