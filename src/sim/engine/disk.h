#pragma once
/* disk: a simulated disk that behaves as badly as real ones may.
 *
 * Operations (base/env.h) are done one after the other, each after its delay. What was written is
 * read back at once, but survives a crash only if a sync was done after it: of each write that was
 * not synced a crash keeps all, nothing, or the first sectors. Besides, by chance: rot (a bit that
 * was durable is found turned over), a sync that fails, and a disk that is full.
 *
 * Deterministic by seed. Owns its content; operations are the caller's until done. One thread. */

#include <stddef.h>

#include "base/env.h"
#include "base/err.h"
#include "sim/engine/engine.h"

#define DISK_SECTOR 512
#define DISK_PARTS  1000000u /* chances are so many in a million */

struct disk_settings {
    uint64_t size;  /* bytes; what is beyond is -ENOSPC */
    psec delay;     /* of an operation ... */
    psec jitter;    /* ... and up to so much more */
    uint64_t rate;  /* bytes a second; 0: no time */
    uint32_t torn;  /* chance that an unsynced write is cut short by a crash ... */
    uint32_t lost;  /* ... or lost as a whole; else it is there */
    uint32_t rot;   /* that a read finds a bit turned over, for good */
    uint32_t fails; /* that a sync fails: -EIO, and nothing of before it is durable */
};

struct disk;

MUST_CHECK enum err disk_open(struct disk **disk, const struct disk_settings *settings,
                              uint64_t seed, uint64_t stream, struct why *why);
void disk_close(struct disk *disk); /* what was not done yet never is */

/* Done at a later moment, in order: disk_next says when. */
void disk_submit(struct disk *disk, psec now, struct disk_operation *operation);
psec disk_next(const struct disk *disk); /* PSEC_NEVER: there is nothing to do */
/* Calls done() of those that are due; it may submit more. */
void disk_run(struct disk *disk, psec now);

/* The power goes: operations that were not done never are, and unsynced writes meet their fate. */
void disk_crash(struct disk *disk);

struct disk_counts {
    uint64_t reads, writes, syncs;
    uint64_t lost, torn, kept; /* writes, by crashes */
    uint64_t rotten, failed, full;
};
void disk_count(const struct disk *disk, struct disk_counts *counts);
