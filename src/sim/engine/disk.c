/* disk: files with two images, and the writes between them.
 *
 * `durable` is what remains of a file after a crash that loses all that it may; `seen` is what
 * reads return. The writes since the last sync are in a list, with their bytes, in the order in
 * which they were done. A sync applies them to `durable`; a crash applies some of them, and then
 * makes `seen` equal to `durable`. */
#include "sim/engine/disk.h"

#include <weft/disk.h>

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

struct image {
    uint8_t *bytes;
    uint64_t size, room;
};

struct stored {
    struct stored *next; /* in the order of folder and name */
    char folder[DISK_NAME_MAX + 1];
    char name[DISK_NAME_MAX + 1];
    struct image durable, seen;
    struct unsynced *writes, **writes_end;
    bool broken; /* a sync has failed since it was opened */
};

struct queued {
    struct queued *next;
    struct disk_operation *operation;
    psec at;
};

struct disk {
    struct disk_settings settings;
    struct rng rng;
    struct stored *files;
    uint64_t used; /* bytes of all files as they are seen */
    struct queued *queue, **queue_end;
    psec busy_until;
    struct disk_counts counts;
};

/* A simulation cannot continue without memory. */
static void *memory_or_end(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

/* ---- images and files ---- */

/* Makes the image `size` bytes long; what is added is zero. */
static void image_resize(struct image *image, uint64_t size)
{
    if (size > image->room) {
        image->room = size > 2 * image->room ? size : 2 * image->room;
        image->bytes = memory_or_end(realloc(image->bytes, image->room));
    }
    if (size > image->size)
        memset(image->bytes + image->size, 0, size - image->size);
    image->size = size;
}

static void image_write(struct image *image, uint64_t offset, const void *bytes, uint32_t size)
{
    if (!size)
        return;
    if (offset + size > image->size)
        image_resize(image, offset + size);
    memcpy(image->bytes + offset, bytes, size);
}

static void writes_forget(struct stored *file)
{
    for (struct unsynced *write = file->writes, *next; write; write = next) {
        next = write->next;
        free(write);
    }
    file->writes = NULL;
    file->writes_end = &file->writes;
}

static int place_compare(const struct stored *file, const char *folder, const char *name)
{
    int order = strcmp(file->folder, folder);
    return order ? order : strcmp(file->name, name);
}

/* The link to the first file at or after that place. */
static struct stored **file_place(struct disk *disk, const char *folder, const char *name)
{
    struct stored **place = &disk->files;
    while (*place && place_compare(*place, folder, name) < 0)
        place = &(*place)->next;
    return place;
}

static struct stored *file_find(struct disk *disk, const char *folder, const char *name)
{
    struct stored *file = *file_place(disk, folder, name);
    return file && place_compare(file, folder, name) == 0 ? file : NULL;
}

static void name_copy(char to[DISK_NAME_MAX + 1], const char *from)
{
    size_t size = strlen(from);
    assert(size <= DISK_NAME_MAX);
    memcpy(to, from, size + 1);
}

static void file_insert(struct disk *disk, struct stored *file)
{
    struct stored **place = file_place(disk, file->folder, file->name);
    file->next = *place;
    *place = file;
}

static struct stored *file_add(struct disk *disk, const char *folder, const char *name)
{
    struct stored *file = memory_or_end(calloc(1, sizeof *file));
    name_copy(file->folder, folder);
    name_copy(file->name, name);
    file->writes_end = &file->writes;
    file_insert(disk, file);
    return file;
}

/* Takes the file out of the list. */
static void file_unlink(struct disk *disk, struct stored *file)
{
    struct stored **place = file_place(disk, file->folder, file->name);
    assert(*place == file);
    *place = file->next;
}

static void file_destroy(struct disk *disk, struct stored *file)
{
    file_unlink(disk, file);
    disk->used -= file->seen.size;
    writes_forget(file);
    free(file->durable.bytes);
    free(file->seen.bytes);
    free(file);
}

/* ---- opening and closing ---- */

enum err disk_open(struct disk **out, const struct disk_settings *settings, uint64_t seed,
                   uint64_t stream, struct why *why)
{
    struct disk *disk = calloc(1, sizeof *disk);
    if (!disk)
        return why_memory(why);
    disk->settings = *settings;
    disk->rng = rng_make(seed, stream);
    disk->queue_end = &disk->queue;
    *out = disk;
    return OK;
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

void disk_erase(struct disk *disk)
{
    assert(!disk->queue);
    while (disk->files)
        file_destroy(disk, disk->files);
}

void disk_close(struct disk *disk)
{
    if (!disk)
        return;
    queue_forget(disk);
    disk_erase(disk);
    free(disk);
}

void disk_set(struct disk *disk, const struct disk_settings *settings)
{
    disk->settings = *settings;
}

uint64_t disk_used(const struct disk *disk)
{
    return disk->used;
}

/* Bytes that fit; the size may have become smaller than what is there. */
static uint64_t left_of(const struct disk *disk)
{
    return disk->used < disk->settings.size ? disk->settings.size - disk->used : 0;
}

static bool happens(struct disk *disk, uint32_t chance)
{
    return chance && rng_below(&disk->rng, DISK_PARTS) < chance;
}

/* ---- content ---- */

static int64_t read_do(struct disk *disk, struct disk_operation *operation)
{
    struct stored *file = operation->file->world;
    struct image *seen = &file->seen;
    uint64_t left = operation->offset < seen->size ? seen->size - operation->offset : 0;
    uint32_t size = left < operation->size ? (uint32_t)left : operation->size;
    disk->counts.reads++;
    if (!size)
        return 0;
    if (happens(disk, disk->settings.rot)) {
        uint64_t bit = rng_below(&disk->rng, 8 * (uint64_t)size);
        uint64_t at = operation->offset + bit / 8;
        seen->bytes[at] ^= (uint8_t)(1u << bit % 8);
        if (at < file->durable.size)
            file->durable.bytes[at] ^= (uint8_t)(1u << bit % 8);
        disk->counts.rotten++;
    }
    memcpy(operation->bytes, seen->bytes + operation->offset, size);
    return size;
}

static int64_t write_do(struct disk *disk, const struct disk_operation *operation, uint64_t offset)
{
    struct stored *file = operation->file->world;
    uint64_t end = offset + operation->size;
    uint64_t more = end > file->seen.size ? end - file->seen.size : 0;
    if (more > left_of(disk)) {
        disk->counts.full++;
        return -ENOSPC;
    }
    disk->counts.writes++;
    if (!operation->size)
        return 0;
    struct unsynced *write = memory_or_end(malloc(sizeof *write + operation->size));
    write->next = NULL;
    write->offset = offset;
    write->size = operation->size;
    memcpy(write->bytes, operation->bytes, operation->size);
    image_write(&file->seen, offset, operation->bytes, operation->size);
    disk->used += more;
    *file->writes_end = write;
    file->writes_end = &write->next;
    return operation->size;
}

static int64_t append_do(struct disk *disk, const struct disk_operation *operation)
{
    struct stored *file = operation->file->world;
    uint64_t offset = file->seen.size;
    int64_t result = write_do(disk, operation, offset);
    return result < 0 ? result : (int64_t)offset;
}

static int64_t sync_do(struct disk *disk, struct stored *file)
{
    disk->counts.syncs++;
    if (file->broken)
        return -EIO;
    if (happens(disk, disk->settings.fails)) {
        disk->counts.failed++;
        file->broken = true;
        writes_forget(file); /* they can be read until a crash, and no later sync includes them */
        return -EIO;
    }
    for (const struct unsynced *write = file->writes; write; write = write->next)
        image_write(&file->durable, write->offset, write->bytes, write->size);
    writes_forget(file);
    return 0;
}

static int64_t truncate_do(struct disk *disk, struct disk_operation *operation)
{
    struct stored *file = operation->file->world;
    uint64_t size = operation->offset, before = file->seen.size;
    if (size > before && size - before > left_of(disk)) {
        disk->counts.full++;
        return -ENOSPC;
    }
    int64_t result = sync_do(disk, file);
    if (result)
        return result;
    disk->used = disk->used - before + size;
    image_resize(&file->seen, size);
    image_resize(&file->durable, size);
    return 0;
}

/* ---- names ---- */

static int64_t open_do(struct disk *disk, struct disk_operation *operation)
{
    struct stored *file = file_find(disk, operation->folder, operation->name);
    if (!file && !operation->create)
        return -ENOENT;
    if (!file)
        file = file_add(disk, operation->folder, operation->name);
    file->broken = false;
    operation->file->world = file;
    return (int64_t)file->seen.size;
}

static int64_t rename_do(struct disk *disk, const struct disk_operation *operation)
{
    struct stored *file = file_find(disk, operation->folder, operation->name);
    struct stored *target = file_find(disk, operation->folder, operation->to);
    if (!file)
        return -ENOENT;
    if (target == file)
        return 0;
    if (target)
        file_destroy(disk, target);
    file_unlink(disk, file);
    name_copy(file->name, operation->to);
    file_insert(disk, file);
    return 0;
}

static int64_t remove_do(struct disk *disk, const struct disk_operation *operation)
{
    struct stored *file = file_find(disk, operation->folder, operation->name);
    if (!file)
        return -ENOENT;
    file_destroy(disk, file);
    return 0;
}

static int64_t list_do(struct disk *disk, const struct disk_operation *operation)
{
    struct weft_file_entry *out = operation->bytes;
    int64_t count = 0;
    for (const struct stored *file = *file_place(disk, operation->folder, operation->name);
         file && count < operation->size && strcmp(file->folder, operation->folder) == 0;
         file = file->next) {
        if (strcmp(file->name, operation->name) == 0)
            continue; /* only the names after it */
        out[count].size = file->seen.size;
        memcpy(out[count++].name, file->name, sizeof file->name);
    }
    return count;
}

static int64_t name_do(struct disk *disk, struct disk_operation *operation)
{
    disk->counts.names++;
    switch (operation->kind) {
    case DISK_OPEN:
        return open_do(disk, operation);
    case DISK_CLOSE:
        operation->file->world = NULL;
        return 0;
    case DISK_TRUNCATE:
        return truncate_do(disk, operation);
    case DISK_RENAME:
        return rename_do(disk, operation);
    case DISK_REMOVE:
        return remove_do(disk, operation);
    case DISK_LIST:
        return list_do(disk, operation);
    default:
        assert_unreachable();
    }
}

/* ---- operations in time ---- */

static int64_t operation_do(struct disk *disk, struct disk_operation *operation)
{
    switch (operation->kind) {
    case DISK_READ:
        return read_do(disk, operation);
    case DISK_WRITE:
        return write_do(disk, operation, operation->offset);
    case DISK_APPEND:
        return append_do(disk, operation);
    case DISK_SYNC:
        return sync_do(disk, operation->file->world);
    case DISK_SIZE:
        return (int64_t)((struct stored *)operation->file->world)->seen.size;
    default:
        return name_do(disk, operation);
    }
}

static bool moves_bytes(enum disk_kind kind)
{
    return kind == DISK_READ || kind == DISK_WRITE || kind == DISK_APPEND;
}

/* Behind all that are done before it, or at the same moment. */
static void queue_put(struct disk *disk, struct queued *queued)
{
    struct queued **place = &disk->queue;
    while (*place && (*place)->at <= queued->at)
        place = &(*place)->next;
    queued->next = *place;
    *place = queued;
    if (!queued->next)
        disk->queue_end = &queued->next;
}

void disk_submit(struct disk *disk, psec now, struct disk_operation *operation)
{
    struct queued *queued = memory_or_end(malloc(sizeof *queued));
    psec length = disk->settings.delay;
    if (disk->settings.jitter)
        length += rng_below(&disk->rng, disk->settings.jitter + 1);
    if (disk->settings.rate && moves_bytes(operation->kind))
        length += (psec)operation->size * PSEC_PER_SECOND / disk->settings.rate;
    if (happens(disk, disk->settings.hangs))
        length += disk->settings.hang;
    disk->busy_until = (disk->busy_until > now ? disk->busy_until : now) + length;
    *queued = (struct queued){.operation = operation, .at = disk->busy_until};
    if (operation->kind == DISK_READ && happens(disk, disk->settings.late))
        queued->at += rng_below(&disk->rng, disk->settings.lateness + 1);
    queue_put(disk, queued);
}

psec disk_next(const struct disk *disk)
{
    return disk->queue ? disk->queue->at : PSEC_NEVER;
}

static struct disk_operation *queue_take(struct disk *disk)
{
    struct queued *queued = disk->queue;
    struct disk_operation *operation = queued->operation;
    disk->queue = queued->next;
    if (!disk->queue)
        disk->queue_end = &disk->queue;
    free(queued);
    return operation;
}

void disk_run(struct disk *disk, psec now)
{
    while (disk->queue && disk->queue->at <= now) {
        struct disk_operation *operation = queue_take(disk);
        operation->result = operation_do(disk, operation);
        operation->done(operation);
    }
}

void disk_hang(struct disk *disk, psec now, psec length)
{
    disk->busy_until = (disk->busy_until > now ? disk->busy_until : now) + length;
    for (struct queued *queued = disk->queue; queued; queued = queued->next)
        queued->at += length;
}

/* ---- the end of a server, and crashes ---- */

void disk_end(struct disk *disk)
{
    while (disk->queue && rng_below(&disk->rng, 2))
        (void)!operation_do(disk, queue_take(disk));
    queue_forget(disk);
    disk->busy_until = 0;
}

static void write_meet_fate(struct disk *disk, struct stored *file, const struct unsynced *write)
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
    image_write(&file->durable, write->offset, write->bytes, size);
}

void disk_crash(struct disk *disk)
{
    assert(!disk->queue);
    disk->used = 0;
    for (struct stored *file = disk->files; file; file = file->next) {
        for (const struct unsynced *write = file->writes; write; write = write->next)
            write_meet_fate(disk, file, write);
        writes_forget(file);
        image_resize(&file->seen, file->durable.size);
        if (file->durable.size)
            memcpy(file->seen.bytes, file->durable.bytes, file->durable.size);
        file->broken = false;
        disk->used += file->seen.size;
    }
}

void disk_count(const struct disk *disk, struct disk_counts *counts)
{
    *counts = disk->counts;
}
