/* recover: what is on the disk when the log opens.
 *
 * First the heads of all segments are read, and nothing is changed before all of them are
 * understood. A segment before the last one ends where a later one says, or with its file:
 * everything in it was durable. In the last one a crash may have torn what was written last. What
 * is whole there was perhaps never synced. If a sync failed before the process ended, a file system
 * still lets us read what it will never write. So these bytes are written again, to the same place,
 * and synced before the log is open. */
#include <errno.h>
#include <string.h>

#include "services/store/log/log_impl.h"
#include "services/store/planted.h"

static struct log *log_of(struct weft_call *call)
{
    return container_of(call, struct log, recovery.call);
}

static void fail(struct log *log, int result)
{
    log->open = false;
    log->events->opened(log->owner, result);
}

static bool has_no_head(const struct segment *segment)
{
    return !segment->head.id;
}

/* ---- the end of the last segment is written again ---- */

static struct segment *last_of(const struct log *log)
{
    return log->segment_count ? log->segments[log->segment_count - 1] : NULL;
}

static void tail_done(struct log *log)
{
    log->open = true;
    log->doubts = false;
    for (uint32_t i = 0; i < log->segment_count; i++)
        segment_shorten(log->segments[i]);
    if (log->active)
        spare_make(log);
    log->events->opened(log->owner, 0);
}

static void last_lengthened(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct segment *last = last_of(log);
    if (call->result >= 0) {
        last->room = segment_room(log);
        last->state = SEGMENT_ACTIVE;
        last->hint = HINT_NONE; /* one that was written would lack what follows */
        log->active = last;
        log->synced = last->units;
        log->sealed = last->head.before;
    }
    tail_done(log);
}

static void last_cut(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct segment *last = last_of(log);
    last->room = last->units;
    call->done = last_lengthened;
    int result = (int)(call->result < 0 ? call->result : 0);
    if (!result)
        result = medium_truncate(&log->medium, last->file, call,
                                 (uint64_t)segment_room(log) * RECORD_UNIT);
    if (result)
        fail(log, result);
}

/* The last segment is filled further, so that a start on a full disk keeps the room that is left in
 * it. First all behind its records is cut off: a torn record there could be found again later. */
static void tail_synced(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct segment *last = last_of(log);
    if (call->result < 0) {
        fail(log, (int)call->result);
        return;
    }
    if (last->damaged || last->units >= segment_room(log)) {
        tail_done(log);
        return;
    }
    call->done = last_cut;
    int result =
        medium_truncate(&log->medium, last->file, call, (uint64_t)last->units * RECORD_UNIT);
    if (result)
        fail(log, result);
}

static void tail_rewrite(struct log *log);

static void tail_written(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    if (call->result < 0)
        fail(log, (int)call->result);
    else
        tail_rewrite(log);
}

static void tail_read(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct recovery *recovery = &log->recovery;
    uint32_t size = (uint32_t)(call->result > 0 ? call->result : 0), unit = recovery->tail;
    int result = size ? 0 : call->result ? (int)call->result : -EIO;
    recovery->tail += size / RECORD_UNIT;
    call->done = tail_written;
    if (!result)
        result = medium_write(&log->medium, last_of(log)->file, call, log->chunk, size,
                              (uint64_t)unit * RECORD_UNIT);
    if (result)
        fail(log, result);
}

/* Writes the bytes from recovery->tail on to where they are, and syncs them. */
static void tail_rewrite(struct log *log)
{
    struct recovery *recovery = &log->recovery;
    struct segment *last = last_of(log);
    uint64_t left = (uint64_t)(last->units - recovery->tail) * RECORD_UNIT;
    int result;
    recovery->call.done = left ? tail_read : tail_synced;
    if (left)
        result = medium_read(&log->medium, last->file, &recovery->call, log->chunk,
                             left < CHUNK ? (uint32_t)left : CHUNK,
                             (uint64_t)recovery->tail * RECORD_UNIT);
    else
        result = medium_sync(&log->medium, last->file, &recovery->call);
    if (result)
        fail(log, result);
}

static void tail_begin(struct log *log)
{
    const struct segment *last = last_of(log);
    log->recovery.tail = log->recovery.walk.durable; /* 0: not even its head is certain */
    if (!last || has_no_head(last) || STORE_HAS(TAIL_TRUSTED))
        tail_done(log);
    else
        tail_rewrite(log);
}

/* ---- records ---- */

static void segment_scan(struct log *log);

static bool record_found(struct walk *walk, const struct record *record, struct log_place place)
{
    struct log *log = walk->log;
    walk->segment->live += record_units(record->key_size, record->value_size);
    log->events->found(log->owner, record, place);
    return true;
}

/* All records of the segment were found. */
static void segment_end(struct log *log, struct segment *segment, uint32_t units)
{
    segment->units = units;
    log->sealed = (struct log_place){segment->id, units};
    log->recovery.index++;
    segment_scan(log);
}

static void segment_scanned(struct walk *walk, int result)
{
    if (result)
        fail(walk->log, result);
    else
        segment_end(walk->log, walk->segment, walk->end);
}

static void hint_loaded(struct log *log, struct segment *segment, bool whole)
{
    log->counts.hints_read += whole;
    if (whole) {
        segment_end(log, segment, segment->units);
        return;
    }
    segment->hint = HINT_NONE; /* it is written anew */
    walk_begin(&log->recovery.walk);
}

/* Where a later segment says that this one ended; 0: there is none. */
static uint32_t end_known(const struct log *log, uint32_t id)
{
    for (uint32_t i = 0; i < log->segment_count; i++)
        if (log->segments[i]->head.before.segment == id)
            return log->segments[i]->head.before.unit;
    return 0;
}

static void segment_scan(struct log *log)
{
    struct walk *walk = &log->recovery.walk;
    while (log->recovery.index < log->segment_count && log->segments[log->recovery.index]->damaged)
        log->recovery.index++;
    if (log->recovery.index == log->segment_count) {
        tail_begin(log);
        return;
    }
    struct segment *segment = log->segments[log->recovery.index];
    bool last = log->recovery.index + 1 == log->segment_count;
    uint32_t known = end_known(log, segment->id);
    *walk = (struct walk){
        .segment = segment,
        .at = HEAD_UNITS,
        .end = known ? known : segment->room,
        .all = !last,
        .record = record_found,
        .ended = segment_scanned,
    };
    if (!last && segment->hint == HINT_WRITTEN && !log->doubts)
        hint_load(log, segment, walk->end, hint_loaded);
    else
        walk_begin(walk);
}

/* ---- segments without a head ---- */

static void leftovers_remove(struct log *log);

static void leftover_removed(struct weft_self *self, struct weft_call *call)
{
    leftovers_remove(log_of(call));
}

static void leftover_closed(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    char name[NAME_ROOM];
    struct segment *segment = log->segments[log->recovery.index];
    segment_name(segment->id, name);
    segment_forget(segment);
    call->done = leftover_removed;
    int result = medium_remove(&log->medium, call, name);
    if (result)
        fail(log, result);
}

/* Has no segment with that number or a higher one a head? */
static bool is_beyond(const struct log *log, uint32_t id)
{
    for (uint32_t i = 0; i < log->segment_count; i++)
        if (log->segments[i]->id >= id && !has_no_head(log->segments[i]))
            return false;
    return true;
}

/* Removes the spare segments that were never used: their heads are zero, or that of the segment
 * whose file was recycled, and no later segment was used. Other segments without a head were
 * damaged, and with the head all that is in them. */
static void leftovers_remove(struct log *log)
{
    struct recovery *recovery = &log->recovery;
    for (; recovery->index < log->segment_count; recovery->index++) {
        struct segment *segment = log->segments[recovery->index];
        if (!has_no_head(segment))
            continue;
        if (!segment->damaged && is_beyond(log, segment->id))
            break;
        struct log_damage damage = {{segment->id, 0}, {segment->id, segment->room}, NULL};
        segment->damaged = true;
        segment->units = segment->room;
        segment->live = segment->room - HEAD_UNITS;
        log->counts.damaged++;
        log->events->damaged(log->owner, &damage);
    }
    if (recovery->index == log->segment_count) {
        recovery->index = 0;
        segment_scan(log);
        return;
    }
    struct segment *segment = log->segments[recovery->index];
    recovery->call.done = leftover_closed;
    int result = medium_close(&log->medium, segment->file, &recovery->call);
    if (result)
        fail(log, result);
    else
        segment->file = NULL;
}

/* ---- heads ---- */

static void head_next(struct log *log);

static bool is_zero(const uint8_t *bytes, size_t size)
{
    while (size && !bytes[size - 1])
        size--;
    return !size;
}

static void head_read(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct segment *segment = log->segments[log->recovery.index];
    size_t size = (size_t)(call->result > 0 ? call->result : 0);
    switch (segment_head_read(&segment->head, log->chunk, size, segment->id)) {
    case SEGMENT_NEWER:
        fail(log, -EPROTO);
        return;
    case SEGMENT_NONE:
        segment->head = (struct segment_head){0};
        segment->damaged =
            call->result < 0 || segment->hint == HINT_WRITTEN || !is_zero(log->chunk, size);
        break;
    case SEGMENT_FORMER: /* the file had the former name before, so there is none of that name */
        segment->damaged =
            segment->hint == HINT_WRITTEN || segment_find(log, segment->head.id) != NULL;
        segment->head = (struct segment_head){0};
        break;
    case SEGMENT_OURS:
        break;
    }
    log->recovery.index++;
    head_next(log);
}

static void segment_opened(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct segment *segment = log->segments[log->recovery.index];
    int result = (int)(call->result < 0 ? call->result : 0);
    segment->state = SEGMENT_SEALED;
    segment->room = (uint32_t)(call->result / RECORD_UNIT);
    call->done = head_read;
    if (result)
        segment->file = NULL;
    else
        result = medium_read(&log->medium, segment->file, call, log->chunk, RECORD_HEAD, 0);
    if (result)
        fail(log, result);
}

static void head_next(struct log *log)
{
    struct recovery *recovery = &log->recovery;
    char name[NAME_ROOM];
    if (recovery->index == log->segment_count) {
        recovery->index = 0;
        leftovers_remove(log);
        return;
    }
    struct segment *segment = log->segments[recovery->index];
    recovery->call.done = segment_opened;
    segment_name(segment->id, name);
    int result =
        medium_open(&log->medium, &recovery->call, name, WEFT_OPEN_EXISTING, &segment->file);
    if (result) {
        segment->file = NULL;
        fail(log, result);
    }
}

/* ---- names ---- */

#define ENTRIES (sizeof((struct recovery *)0)->entries / sizeof(struct weft_file_entry))

static int names_read(struct log *log)
{
    struct recovery *recovery = &log->recovery;
    return medium_list(&log->medium, &recovery->call, recovery->after[0] ? recovery->after : NULL,
                       recovery->entries, ENTRIES);
}

/* The list is in the order of the names, which is that of the numbers; a hint comes just before its
 * segment. Returns 0 or a negative errno. */
static int name_take(struct log *log, const char *name)
{
    struct recovery *recovery = &log->recovery;
    uint32_t hint = segment_of_name(name, true), id = segment_of_name(name, false);
    if (hint)
        recovery->hint = hint;
    if (!id)
        return 0;
    struct segment *segment = segment_add(log, id);
    if (!segment)
        return -EMFILE;
    segment->hint = recovery->hint == id ? HINT_WRITTEN : HINT_NONE;
    return 0;
}

static void names_listed(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct recovery *recovery = &log->recovery;
    int result = (int)(call->result < 0 ? call->result : 0);
    for (int64_t i = 0; i < call->result && !result; i++) {
        memcpy(recovery->after, recovery->entries[i].name, sizeof recovery->after);
        result = name_take(log, recovery->after);
    }
    if (!result && call->result == ENTRIES)
        result = names_read(log);
    else if (!result)
        head_next(log);
    if (result)
        fail(log, result);
}

int log_open(struct log *log)
{
    assert(!log->open && !log->segment_count);
    if (log->medium.memory)
        memory_files_clear(log->medium.memory);
    log->recovery.call.done = names_listed;
    return names_read(log);
}
