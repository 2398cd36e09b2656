/* disk: two images and the writes between them.
 *
 * `durable` is what remains after a crash that loses all that it may; `seen` is what reads return.
 * The writes since the last sync are in a list, with their bytes, in the order in which they were
 * done. A sync applies them to `durable`; a crash applies some of them, and then makes `seen` equal
 * to `durable`. */
#include "sim/engine/disk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"

struct unsynced {
    struct unsynced *next;
    uint64_t offset;
    uint32_t size;
    uint8_t bytes[];
};

struct queued {
    struct queued *next;
    struct disk_operation *operation;
    psec at;
};

struct disk {
    struct disk_settings settings;
    struct rng rng;
    uint8_t *durable, *seen;
    struct unsynced *writes, **writes_end;
    struct queued *queue, **queue_end;
    psec busy_until;
    struct disk_counts counts;
};

enum err disk_open(struct disk **out, const struct disk_settings *settings, uint64_t seed,
                   uint64_t stream, struct why *why)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return why_memory(why);
    disk->settings = *settings;
    disk->rng = rng_make(seed, stream);
    disk->writes_end = &disk->writes;
    disk->queue_end = &disk->queue;
    disk->durable = calloc(settings->size + 1, 1);
    disk->seen = calloc(settings->size + 1, 1);
    if (!disk->durable || !disk->seen) {
        disk_close(disk);
        return why_memory(why);
    }
    *out = disk;
    return OK;
}

static void writes_forget(struct disk *disk)
{
    for (struct unsynced *write = disk->writes, *next; write; write = next) {
        next = write->next;
        free(write);
    }
    disk->writes = NULL;
    disk->writes_end = &disk->writes;
}

static void queue_forget(struct disk *disk)
{
    for (struct queued *queued = disk->queue, *next; queued; queued = next) {
        next = queued->next;
        free(queued);
    }
    disk->queue = NULL;
    disk->queue_end = &disk->queue;
}

void disk_close(struct disk *disk)
{
    if (!disk)
        return;
    writes_forget(disk);
    queue_forget(disk);
    free(disk->durable);
    free(disk->seen);
    free(disk);
}

static bool happens(struct disk *disk, uint32_t chance)
{
    return chance && rng_below(&disk->rng, DISK_PARTS) < chance;
}

/* ---- operations ---- */

/* How many bytes of the operation are within the disk. */
static uint32_t within(const struct disk *disk, const struct disk_operation *operation)
{
    if (operation->offset >= disk->settings.size)
        return 0;
    uint64_t left = disk->settings.size - operation->offset;
    return left < operation->size ? (uint32_t)left : operation->size;
}

static int64_t read_do(struct disk *disk, struct disk_operation *operation)
{
    uint32_t size = within(disk, operation);
    disk->counts.reads++;
    if (size && happens(disk, disk->settings.rot)) {
        uint64_t bit = rng_below(&disk->rng, 8 * (uint64_t)size);
        uint64_t at = operation->offset + bit / 8;
        disk->seen[at] ^= (uint8_t)(1u << bit % 8);
        disk->durable[at] ^= (uint8_t)(1u << bit % 8);
        disk->counts.rotten++;
    }
    memcpy(operation->bytes, disk->seen + operation->offset * (size > 0), size);
    return size;
}

static int64_t write_do(struct disk *disk, const struct disk_operation *operation)
{
    if (within(disk, operation) < operation->size) {
        disk->counts.full++;
        return -ENOSPC;
    }
    struct unsynced *write = malloc(sizeof *write + operation->size);
    if (!write)
        return -ENOMEM;
    write->next = NULL;
    write->offset = operation->offset;
    write->size = operation->size;
    memcpy(write->bytes, operation->bytes, operation->size);
    memcpy(disk->seen + operation->offset, operation->bytes, operation->size);
    *disk->writes_end = write;
    disk->writes_end = &write->next;
    disk->counts.writes++;
    return operation->size;
}

static int64_t sync_do(struct disk *disk)
{
    disk->counts.syncs++;
    if (happens(disk, disk->settings.fails)) {
        disk->counts.failed++;
        return -EIO; /* the writes stay unsynced */
    }
    for (const struct unsynced *write = disk->writes; write; write = write->next)
        memcpy(disk->durable + write->offset, write->bytes, write->size);
    writes_forget(disk);
    return 0;
}

static int64_t operation_do(struct disk *disk, struct disk_operation *operation)
{
    switch (operation->kind) {
    case DISK_READ:
        return read_do(disk, operation);
    case DISK_WRITE:
        return write_do(disk, operation);
    case DISK_SYNC:
        return sync_do(disk);
    }
    assert_unreachable();
}

void disk_submit(struct disk *disk, psec now, struct disk_operation *operation)
{
    struct queued *queued = malloc(sizeof *queued);
    if (!queued)
        abort(); /* a simulation cannot continue without memory here */
    psec length = disk->settings.delay;
    if (disk->settings.jitter)
        length += rng_below(&disk->rng, disk->settings.jitter + 1);
    if (disk->settings.rate && operation->kind != DISK_SYNC)
        length += (psec)operation->size * PSEC_PER_SECOND / disk->settings.rate;
    disk->busy_until = (disk->busy_until > now ? disk->busy_until : now) + length;
    *queued = (struct queued){.operation = operation, .at = disk->busy_until};
    *disk->queue_end = queued;
    disk->queue_end = &queued->next;
}

psec disk_next(const struct disk *disk)
{
    return disk->queue ? disk->queue->at : PSEC_NEVER;
}

void disk_run(struct disk *disk, psec now)
{
    struct queued *queued;
    while ((queued = disk->queue) && queued->at <= now) {
        struct disk_operation *operation = queued->operation;
        disk->queue = queued->next;
        if (!disk->queue)
            disk->queue_end = &disk->queue;
        free(queued);
        operation->result = operation_do(disk, operation);
        operation->done(operation);
    }
}

/* ---- crash ---- */

static void write_meet_fate(struct disk *disk, const struct unsynced *write)
{
    uint32_t size = write->size;
    if (happens(disk, disk->settings.lost)) {
        disk->counts.lost++;
        return;
    }
    if (happens(disk, disk->settings.torn)) {
        /* Sectors are kept whole or not at all; a write may begin anywhere in its first sector. */
        uint64_t first = DISK_SECTOR - write->offset % DISK_SECTOR;
        uint64_t sectors = size > first ? (size - first + DISK_SECTOR - 1) / DISK_SECTOR + 1 : 1;
        uint64_t kept = rng_below(&disk->rng, sectors);
        size = kept ? (uint32_t)(first + (kept - 1) * DISK_SECTOR) : 0;
        disk->counts.torn++;
    } else {
        disk->counts.kept++;
    }
    memcpy(disk->durable + write->offset, write->bytes, size);
}

void disk_crash(struct disk *disk)
{
    for (const struct unsynced *write = disk->writes; write; write = write->next)
        write_meet_fate(disk, write);
    writes_forget(disk);
    queue_forget(disk);
    memcpy(disk->seen, disk->durable, disk->settings.size);
    disk->busy_until = 0;
}

void disk_count(const struct disk *disk, struct disk_counts *counts)
{
    *counts = disk->counts;
}
