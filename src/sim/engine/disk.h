#pragma once
/* disk: a simulated disk with named files that behaves as badly as real ones may.
 *
 * Operations (base/env.h) are done one after the other, each after its delay; others pass only a
 * read that is late. Written data can be read back at once, but survives a crash only if a sync
 * followed: of each unsynced write a crash keeps all, nothing, or the first sectors. Names are
 * durable when their operation is done. Other faults happen by chance: rot (a durable bit is found
 * flipped), a sync that fails, and a full disk; the disk also hangs, by chance or on demand.
 *
 * Deterministic by seed. Owns its content; operations belong to the caller, who keeps them valid
 * until they are done. One thread. */

#include <stddef.h>

#include "base/env.h"
#include "base/err.h"
#include "sim/engine/engine.h"

#define DISK_SECTOR 512
#define DISK_PARTS  1000000u /* chances are given in millionths */

struct disk_settings {
    uint64_t size;  /* bytes of all files together; beyond it: -ENOSPC */
    psec delay;     /* of an operation ... */
    psec jitter;    /* ... and up to this much more */
    uint64_t rate;  /* bytes per second; 0: takes no time */
    uint32_t torn;  /* chance that a crash cuts an unsynced write short ... */
    uint32_t lost;  /* ... or loses it as a whole; otherwise it is kept */
    uint32_t rot;   /* that a read finds a bit flipped, permanently */
    uint32_t hangs; /* that the disk hangs at an operation ... */
    psec hang;      /* ... for this long */
    uint32_t late;  /* that a read is late, ... */
    psec lateness;  /* ... by up to this much */
    uint32_t fails; /* that a sync fails: -EIO, and no earlier write ever becomes durable, though
                     * it can be read until the next crash */
};

struct disk;

MUST_CHECK enum err disk_open(struct disk **disk, const struct disk_settings *settings,
                              uint64_t seed, uint64_t stream, struct why *why);
void disk_close(struct disk *disk); /* pending operations are never done */

/* The operation is done at a later moment, in order: disk_next says when. */
void disk_submit(struct disk *disk, psec now, struct disk_operation *operation);
psec disk_next(const struct disk *disk); /* PSEC_NEVER: nothing is pending */
/* Calls done() of the operations that are due; it may submit more. */
void disk_run(struct disk *disk, psec now);

/* The server ends: done() of pending operations is never called. The disk may have carried out some
 * of them: it did so for the first few, by chance. Call it while their memory is valid. */
void disk_end(struct disk *disk);
/* Power failure, after disk_end: chance decides about unsynced writes. */
void disk_crash(struct disk *disk);
/* The disk was replaced by an empty one. Nothing may be pending. */
void disk_erase(struct disk *disk);
/* The disk hangs for this long: operations that are pending, or are submitted meanwhile, are done
 * later. */
void disk_hang(struct disk *disk, psec now, psec length);
/* Changes all settings. A disk that has more bytes than its new size is full. */
void disk_set(struct disk *disk, const struct disk_settings *settings);
/* Bytes of all files together. */
uint64_t disk_used(const struct disk *disk);

struct disk_counts {
    uint64_t reads, writes, syncs, names;
    uint64_t lost, torn, kept; /* unsynced writes, at crashes */
    uint64_t rotten, failed, full;
};
void disk_count(const struct disk *disk, struct disk_counts *counts);
