/* segments: the files of the log, one for each segment: made at full size, opened, shortened to
 * what they contain, and recycled or removed.
 *
 * The next segment is made before the active one is full. So a full disk is noticed while there is
 * a whole segment left, in which tombstones and the copies of live records still fit: those are
 * what gives space back.
 *
 * A segment of which nothing is needed any more is recycled: its file gets the name of a segment
 * that is to come, and waits as a spare one. File systems write over old bytes much faster than
 * into new space, and some take long to remove a large file. The old bytes are left as they are.
 * The head at the beginning belongs to another number, so a start knows that the file is a spare;
 * and no old record passes the check of a record, which includes number and salt of the segment. */
#include <errno.h>
#include <string.h>

#include "services/store/log/log_impl.h"

#define ROOM_LEAST (LOG_SEGMENT_LEAST / RECORD_UNIT / 16) /* units of the smallest spare */

static const char digits[] = "0123456789abcdef";

static void id_write(uint32_t id, char *name)
{
    for (unsigned i = 0; i < 8; i++)
        name[i] = digits[id >> (28 - 4 * i) & 15];
}

void segment_name(uint32_t id, char name[NAME_ROOM])
{
    id_write(id, name);
    memcpy(name + 8, ".log", 5);
}

void hint_name(uint32_t id, char name[NAME_ROOM])
{
    id_write(id, name);
    memcpy(name + 8, ".hint", 6);
}

uint32_t segment_of_name(const char *name, bool hint)
{
    uint32_t id = 0;
    if (strlen(name) < 8 || strcmp(name + 8, hint ? ".hint" : ".log") != 0)
        return 0;
    for (unsigned i = 0; i < 8; i++) {
        const char *digit = strchr(digits, name[i]);
        if (!digit)
            return 0;
        id = id << 4 | (uint32_t)(digit - digits);
    }
    return id;
}

uint32_t segment_room(const struct log *log)
{
    return (uint32_t)(log->settings.segment / RECORD_UNIT);
}

/* ---- the table ---- */

struct segment *segment_find(const struct log *log, uint32_t id)
{
    uint32_t low = 0, high = log->segment_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (log->segments[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < log->segment_count && log->segments[low]->id == id ? log->segments[low] : NULL;
}

struct segment *segment_add(struct log *log, uint32_t id)
{
    assert(id > log->id_last);
    for (unsigned i = 0; i < LOG_SEGMENTS_MAX; i++) {
        struct segment *segment = &log->slots[i];
        if (segment->id)
            continue;
        memset(segment, 0, sizeof *segment);
        segment->log = log;
        segment->id = id;
        log->segments[log->segment_count++] = segment;
        log->id_last = id;
        return segment;
    }
    return NULL;
}

void segment_forget(struct segment *segment)
{
    struct log *log = segment->log;
    uint32_t index = 0;
    while (log->segments[index] != segment)
        index++;
    log->segment_count--;
    memmove(&log->segments[index], &log->segments[index + 1],
            (log->segment_count - index) * sizeof log->segments[0]);
    segment->id = 0;
}

uint32_t log_oldest(const struct log *log, uint32_t except)
{
    for (uint32_t i = 0; i < log->segment_count; i++)
        if (log->segments[i]->id != except)
            return log->segments[i]->id;
    return UINT32_MAX;
}

void log_dead(struct log *log, struct log_place place, uint8_t key_size, uint32_t value_size)
{
    struct segment *segment = segment_find(log, place.segment);
    uint32_t units = record_units(key_size, value_size);
    if (!segment)
        return; /* it was damaged, and is gone */
    assert(segment->live >= units);
    segment->live -= units;
}

/* Units of the value that a copy as an outcome does not have. */
static uint32_t spared_units(uint8_t key_size, uint32_t value_size)
{
    return record_units(key_size, value_size) -
           record_units(key_size, record_outcome_value(value_size));
}

void log_outcome(struct log *log, struct log_place place, uint8_t key_size, uint32_t value_size)
{
    struct segment *segment = segment_find(log, place.segment);
    uint32_t spared = spared_units(key_size, value_size);
    if (!segment)
        return; /* it was damaged, and is gone */
    assert(segment->live >= spared);
    segment->live -= spared;
}

void log_outcome_moved(struct log *log, struct log_place from, struct log_place to,
                       uint8_t key_size, uint32_t value_size)
{
    struct segment *segment = segment_find(log, from.segment);
    if (segment)
        segment->live += spared_units(key_size, value_size);
    log_outcome(log, to, key_size, value_size);
}

/* ---- making the next one ---- */

static struct segment *segment_of(struct weft_call *call)
{
    return container_of(call, struct segment, call);
}

struct segment *spare_first(const struct log *log)
{
    for (uint32_t i = 0; i < log->segment_count; i++)
        if (log->segments[i]->state == SEGMENT_SPARE)
            return log->segments[i];
    return NULL;
}

static uint32_t spare_count(const struct log *log)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < log->segment_count; i++)
        count += log->segments[i]->state == SEGMENT_SPARE;
    return count;
}

static void spare_gone(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    struct log *log = segment->log;
    log->making = false;
    segment_forget(segment);
    log->spare_ended(log);
}

static void spare_closed(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    char name[NAME_ROOM];
    segment_name(segment->id, name);
    call->done = spare_gone;
    if (medium_remove(&segment->log->medium, call, name))
        spare_gone(self, call); /* the next start removes the file */
}

static void spare_failed(struct segment *segment, int error)
{
    struct log *log = segment->log;
    if (!spare_first(log))
        log->spare_error = error;
    if (error == -ENOSPC)
        log->spares_most = 1;
    segment->call.done = spare_closed;
    if (!segment->file)
        spare_closed(log->self, &segment->call);
    else if (medium_close(&log->medium, segment->file, &segment->call))
        spare_gone(log->self, &segment->call);
}

static void spare_sized(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    struct log *log = segment->log;
    int result = (int)(call->result < 0 ? call->result : 0);
    /* After a start there is no active segment, and what was left of the last one was given back.
     * Then a smaller segment must do for what makes room. */
    if (result == -ENOSPC && !log->active && segment->room > ROOM_LEAST) {
        segment->room /= 2;
        result = medium_truncate(&log->medium, segment->file, call,
                                 (uint64_t)segment->room * RECORD_UNIT);
        if (!result)
            return;
    }
    if (result) {
        spare_failed(segment, result);
        return;
    }
    segment->state = SEGMENT_SPARE;
    log->making = false;
    log->spare_error = segment->room < segment_room(log) ? -ENOSPC : 0;
    log->spare_ended(log);
}

static void spare_opened(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    if (call->result < 0)
        segment->file = NULL;
    call->done = spare_sized;
    int result = call->result < 0 ? (int)call->result
                                  : medium_truncate(&segment->log->medium, segment->file, call,
                                                    (uint64_t)segment->room * RECORD_UNIT);
    if (result)
        spare_failed(segment, result);
}

/* Opens the file of the next number, which becomes a spare segment. */
static void spare_open(struct log *log, enum weft_open how)
{
    char name[NAME_ROOM];
    struct segment *segment = segment_add(log, log->id_last + 1);
    if (!segment) {
        log->making = false;
        log->spare_error = -ENOSPC;
        return;
    }
    segment->state = SEGMENT_OPENING;
    segment->room = segment_room(log);
    segment->call.done = spare_opened;
    segment_name(segment->id, name);
    int result = medium_open(&log->medium, &segment->call, name, how, &segment->file);
    if (result) {
        segment->file = NULL;
        spare_failed(segment, result);
    }
}

void spare_make(struct log *log)
{
    if (log->making || log->broken || spare_first(log))
        return;
    log->making = true;
    spare_open(log, WEFT_OPEN_CREATE);
}

void spares_give_back(struct log *log)
{
    const struct segment *first = spare_first(log);
    log->spares_most = 1;
    for (uint32_t i = 0; i < log->segment_count; i++)
        if (log->segments[i]->state == SEGMENT_SPARE && log->segments[i] != first)
            segment_remove(log->segments[i]);
}

bool log_is_full(const struct log *log)
{
    return log->spare_error != 0;
}

/* ---- shortening ---- */

static void segment_shortened(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    segment->alone = false;
    if (call->result >= 0)
        segment->room = segment->units;
    if (segment->state == SEGMENT_REMOVING)
        segment_remove(segment);
    segment->log->readable(segment->log);
}

void segment_shorten(struct segment *segment)
{
    if (segment->state != SEGMENT_SEALED || segment->room == segment->units || segment->alone ||
        segment->calls)
        return;
    segment->call.done = segment_shortened;
    segment->alone = !medium_truncate(&segment->log->medium, segment->file, &segment->call,
                                      (uint64_t)segment->units * RECORD_UNIT);
}

/* ---- recycling and removing ---- */

/* A file that cannot be closed, renamed or removed stays until the next start finds its records
 * again. So its slot stays taken: no tombstone may be dropped that is newer than the segment. */
static void segment_removed(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    struct log *log = segment->log;
    if (call->result < 0)
        return;
    segment_forget(segment);
    if (log->spare_error == -ENOSPC)
        spare_make(log);
}

static void segment_renamed(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    struct log *log = segment->log;
    if (call->result < 0) { /* a full file system may have no room for a name */
        char name[NAME_ROOM];
        log->id_last++; /* there may be a file of that name nevertheless */
        log->making = false;
        segment_name(segment->id, name);
        call->done = segment_removed;
        (void)!medium_remove(&log->medium, call, name);
        log->spare_ended(log);
        return;
    }
    segment_forget(segment);
    log->counts.recycled++;
    spare_open(log, WEFT_OPEN_EXISTING);
}

static bool may_be_recycled(const struct log *log)
{
    return !log->making && !log->broken && spare_count(log) < log->spares_most;
}

static void hint_removed(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    struct log *log = segment->log;
    char name[NAME_ROOM], next[NAME_ROOM];
    if (log->broken)
        return;
    segment_name(segment->id, name);
    segment_name(log->id_last + 1, next);
    bool recycles = may_be_recycled(log);
    call->done = recycles ? segment_renamed : segment_removed;
    if (recycles)
        log->making = !medium_rename(&log->medium, call, name, next);
    else
        (void)!medium_remove(&log->medium, call, name);
}

/* The hint goes first: it is of no use alone. */
static void segment_closed(struct weft_self *self, struct weft_call *call)
{
    struct segment *segment = segment_of(call);
    char name[NAME_ROOM];
    segment->file = NULL;
    if (segment->log->broken)
        return; /* the next start finds it */
    hint_name(segment->id, name);
    call->done = hint_removed;
    if (segment->hint != HINT_WRITTEN || medium_remove(&segment->log->medium, call, name))
        hint_removed(self, call);
}

void segment_remove(struct segment *segment)
{
    segment->state = SEGMENT_REMOVING;
    if (segment->calls || segment->alone || !segment->file)
        return; /* called again when the last call on the file is done */
    segment->call.done = segment_closed;
    (void)!medium_close(&segment->log->medium, segment->file, &segment->call);
}
