/* append: how records get to the end of the log and become durable.
 *
 * A record waits until it is placed: it gets the next units of the active segment. Small records
 * are copied into a batch, which is one write; the value of a large one is written from where it
 * is. A sync covers what was written before it began, and while it runs the next batch is filled
 * and written. So one sync serves all that came during the one before, and the disk never waits.
 *
 * A sync costs the server and its processor about as much as the rest of many small appends. So
 * what comes while a sync runs is written only when that ends. And where several clients wait, the
 * answers of a sync bring as many new appends, a little later. So the next sync waits until there
 * are as many as the last one has served and as have come meanwhile, but no longer than the last
 * one took (GATHER_...). Without that, each sync would serve the few that come during one.
 *
 * When the active segment is full, the log rolls: it waits until all of the segment is durable,
 * before anything is written to the next one. For the head of the next one says so.
 *
 * Invariants: the units of placed records follow each other; a batch contains units that follow
 * each other; placed records are done in order; in the segments before the active one everything
 * is durable. */
#include <errno.h>
#include <string.h>

#include "base/digest.h"
#include "services/store/log/log_impl.h"
#include "services/store/planted.h"

static void queue_put(struct append_queue *queue, struct log_append *append)
{
    append->next = NULL;
    if (queue->last)
        queue->last->next = append;
    else
        queue->first = append;
    queue->last = append;
}

static struct log_append *queue_take(struct append_queue *queue)
{
    struct log_append *append = queue->first;
    queue->first = append->next;
    if (!queue->first)
        queue->last = NULL;
    return append;
}

/* The copies of live records do not come from clients that wait. */
static bool is_copy(const struct log_append *append)
{
    return append->from.segment != 0;
}

static void append_end(struct log *log, struct log_append *append, int result)
{
    log->pending -= !is_copy(append);
    append->result = result;
    append->done(log->owner, append);
}

static uint32_t append_units(const struct log_append *append)
{
    return record_units(append->record.key_size, append->record.value_size);
}

void log_wake(struct log *log)
{
    if (log->woken)
        return;
    log->woken = true;
    log->events->wake(log->owner);
}

/* ---- the log breaks ---- */

/* An append whose value is being written ends when that write does: the memory is in use. */
static void all_fail(struct log *log)
{
    struct append_queue placed = log->placed, waiting = log->waiting;
    log->placed = log->waiting = (struct append_queue){0};
    while (placed.first) {
        struct log_append *append = queue_take(&placed);
        if (append->call.done)
            queue_put(&log->placed, append);
        else
            append_end(log, append, log->broken);
    }
    while (waiting.first)
        append_end(log, queue_take(&waiting), log->broken);
}

void log_break(struct log *log, int error)
{
    if (!log->broken) {
        log->broken = error;
        log->events->failed(log->owner, error);
    }
    all_fail(log);
}

/* ---- writes ---- */

static void sync_begin(struct log *log);
static void waiting_place(struct log *log);

static void batch_written(struct weft_self *self, struct weft_call *call)
{
    struct batch *batch = (struct batch *)call;
    struct log *log = batch->log;
    batch->writing = false;
    batch->used = 0;
    if (call->result < 0 || log->broken) {
        log_break(log, (int)call->result);
        return;
    }
    waiting_place(log);
    roll_continue(log);
}

/* Writes the batch that is being filled; the other one is filled next. */
static void batch_write(struct log *log)
{
    struct batch *batch = &log->batches[log->filling];
    if (!batch->used || batch->writing || log->broken)
        return;
    batch->writing = true;
    batch->call.done = batch_written;
    log->filling = (log->filling + 1) % BATCHES;
    int result = medium_write(&log->medium, log->active->file, &batch->call, batch->bytes,
                              batch->used, (uint64_t)batch->unit * RECORD_UNIT);
    if (result) {
        batch->writing = false;
        log_break(log, result);
    }
}

static void value_written(struct weft_self *self, struct weft_call *call)
{
    struct log_append *append = container_of(call, struct log_append, call);
    struct log *log = append->log;
    log->values--;
    call->done = NULL;
    if (call->result < 0 || log->broken) {
        log_break(log, (int)call->result);
        return;
    }
    waiting_place(log);
    if (!log->woken) /* after a roll, log_flush may not be called for this value */
        sync_begin(log);
    roll_continue(log);
}

static void value_write(struct log *log, struct log_append *append, uint64_t offset)
{
    const struct record *record = &append->record;
    log->values++;
    append->log = log;
    append->call.done = value_written;
    int result = medium_write(&log->medium, log->active->file, &append->call, record->value,
                              record->value_size, offset);
    if (result) {
        log->values--;
        append->call.done = NULL;
        log_break(log, result);
    }
}

/* ---- gathering ---- */

static int64_t now_of(const struct log *log)
{
    return weft_now(log->self);
}

/* The next sync waits for more appends. */
static bool is_gathering(const struct log *log)
{
    return log->gather >= GATHER_LEAST && log->pending < log->gather && log->events->pause &&
           !log->values && log->batches[log->filling].used < BATCH_SIZE / 4 &&
           now_of(log) < log->gather_until;
}

/* The owner calls log_flush when the time is over. At most one such call is outstanding. */
static void gather_wait(struct log *log)
{
    if (!log->pending || log->paused_until > now_of(log))
        return;
    log->paused_until = log->gather_until;
    log->events->pause(log->owner, log->gather_until);
}

/* ---- syncs ---- */

/* All units before it were written, or are being written. */
static uint32_t written_to(const struct log *log)
{
    const struct batch *batch = &log->batches[log->filling];
    return batch->used && !batch->writing ? batch->unit : log->active->units;
}

/* Returns how many appends it has ended, without copies. */
static uint32_t placed_end(struct log *log)
{
    uint32_t served = 0;
    while (!log->broken && log->placed.first) {
        const struct log_append *first = log->placed.first;
        if (first->place.unit + append_units(first) > log->synced)
            break;
        served += !is_copy(first);
        append_end(log, queue_take(&log->placed), 0);
    }
    return served;
}

/* Writes and syncs what was placed, unless a sync runs, or more is to come soon. */
static void placed_sync(struct log *log)
{
    const struct batch *batch = &log->batches[log->filling];
    if (log->syncing && batch->used < BATCH_SIZE / 2)
        return; /* it is written when the sync has ended */
    if (!log->syncing && is_gathering(log)) {
        gather_wait(log);
        return;
    }
    batch_write(log);
    sync_begin(log);
}

static void synced(struct weft_self *self, struct weft_call *call)
{
    struct log *log = container_of(call, struct log, sync);
    log->syncing = false;
    if (log->broken || (call->result < 0 && !STORE_HAS(SYNC_ERROR))) {
        log_break(log, (int)call->result);
        return;
    }
    int64_t now = now_of(log), took = now - log->sync_began;
    log->synced = log->covers;
    log->gather_until = now + (took < GATHER_NSEC ? took : GATHER_NSEC);
    uint32_t served = placed_end(log);
    log->gather = served + log->pending;
    waiting_place(log);
    if (!log->woken) /* else log_flush begins one for more records */
        placed_sync(log);
    roll_continue(log);
}

static void sync_begin(struct log *log)
{
    if (log->syncing || log->broken || !log->active || written_to(log) == log->synced)
        return;
    log->covers = written_to(log);
    log->syncing = true;
    log->sync_began = now_of(log);
    log->counts.syncs++;
    log->sync.done = synced;
    int result = medium_sync(&log->medium, log->active->file, &log->sync);
    if (result) {
        log->syncing = false;
        log_break(log, result);
    }
}

static void flush(struct log *log)
{
    log->readable(log); /* reads that were refused end here */
    if (log->broken) {
        all_fail(log);
        return;
    }
    waiting_place(log);
    placed_sync(log);
    if (STORE_HAS(ACK_EARLY) && log->active && !log->rolling && !log->values) {
        log->synced = written_to(log);
        (void)placed_end(log);
    }
    roll_continue(log);
}

void log_flush(struct log *log)
{
    log->woken = false;
    flush(log);
    medium_run(&log->medium);
}

/* ---- placing ---- */

static uint8_t *batch_room(struct batch *batch, uint32_t unit)
{
    if (!batch->used)
        batch->unit = unit;
    return batch->bytes + batch->used;
}

/* Returns the batch if it takes so many bytes more; NULL: both are being written. */
static struct batch *batch_for(struct log *log, uint32_t size)
{
    if (log->batches[log->filling].used + size > BATCH_SIZE)
        batch_write(log);
    struct batch *batch = &log->batches[log->filling];
    return batch->writing ? NULL : batch;
}

/* False: there is no room for it in the batches now. */
static bool place(struct log *log, struct log_append *append)
{
    struct record *record = &append->record;
    struct segment *segment = log->active;
    uint32_t units = append_units(append);
    bool apart = record->value_size > COPY_MAX;
    uint32_t size = apart ? RECORD_TOP_MAX : units * RECORD_UNIT;
    if (apart && log->values == VALUES_MAX)
        return false;
    struct batch *batch = batch_for(log, size);
    if (!batch)
        return false;
    append->place = (struct log_place){segment->id, segment->units};
    append->call.done = NULL;
    record->durable = (struct log_place){segment->id, log->synced};
    if (record->kind == RECORD_TOMBSTONE && !record->expiry)
        record->expiry = segment->id;
    uint8_t *out = batch_room(batch, segment->units);
    uint32_t top = RECORD_HEAD + record->key_size;
    if (!apart) /* that of a large value would take long, and is known */
        record->digest = digest_copy(out + top, record->value, record->value_size);
    (void)record_write(record, append->place, segment->head.salt, out);
    if (apart) {
        batch->used += top;
    } else {
        memset(out + top + record->value_size, 0, size - top - record->value_size);
        batch->used += size;
    }
    segment->units += units;
    segment->live += units;
    log->marked = record->kind == RECORD_MARK;
    log->counts.appends += record->kind != RECORD_MARK;
    queue_put(&log->placed, append);
    if (apart) { /* the next batch begins behind the value */
        batch_write(log);
        if (log->broken)
            return true; /* the append has ended */
        value_write(log, append, (uint64_t)append->place.unit * RECORD_UNIT + top);
    }
    return true;
}

/* A copy waits for its place while a tombstone of its key may be placed and become durable, and a
 * new segment may begin. It must not come behind that tombstone in a later segment: the tombstone
 * would be dropped earlier than the copy, and a start would find the copy. */
static bool is_outdated(struct log *log, struct log_append *append)
{
    return append->from.segment && !copy_is_needed(log, &append->record, append->from);
}

static void waiting_place(struct log *log)
{
    while (!log->broken && log->open && log->waiting.first && !log->rolling) {
        struct log_append *append = log->waiting.first;
        if (is_outdated(log, append)) {
            append_end(log, queue_take(&log->waiting), -ECANCELED);
            continue;
        }
        if (!log->active || log->active->units + append_units(append) > log->active->room) {
            log->rolling = true;
            return;
        }
        (void)queue_take(&log->waiting); /* place() changes the link */
        if (!place(log, append)) {
            append->next = log->waiting.first;
            log->waiting.first = append;
            if (!append->next)
                log->waiting.last = append;
            return;
        }
    }
    const struct batch *batch = &log->batches[log->filling];
    if (!batch->used || batch->writing || log->syncing)
        return; /* what waits goes on when a write or the sync is done */
    if (is_gathering(log))
        gather_wait(log);
    else
        log_wake(log);
}

int log_append(struct log *log, struct log_append *append)
{
    const struct record *record = &append->record;
    assert(log->open && record->key_size <= RECORD_KEY_MAX);
    if (log->broken)
        return log->broken;
    if (record->value_size > log->settings.value_max)
        return -EMSGSIZE;
    if (log_is_full(log) && !append->urgent)
        return log->spare_error;
    append->result = 0;
    log->pending += !is_copy(append);
    queue_put(&log->waiting, append);
    log_wake(log);
    return 0;
}

/* ---- rolling ---- */

static bool roll_may_end(const struct log *log)
{
    const struct segment *active = log->active;
    if (!active)
        return true;
    return !log->syncing && !log->values && !log->placed.first && log->synced == active->units;
}

static void roll_end(struct log *log)
{
    struct segment *last = log->active, *segment = spare_first(log);
    struct segment_head *head = &segment->head;
    struct batch *batch = &log->batches[log->filling];
    assert(!batch->used && !batch->writing);
    if (last) {
        log->sealed = (struct log_place){last->id, last->units};
        last->state = SEGMENT_SEALED;
        segment_shorten(last);
    }
    log->active = segment;
    segment->state = SEGMENT_ACTIVE;
    *head = (struct segment_head){segment->id, weft_random(log->self), log->sealed};
    segment_head_write(head, batch_room(batch, 0));
    batch->used = RECORD_HEAD;
    segment->units = HEAD_UNITS;
    log->synced = 0;
    log->rolling = false;
    spare_make(log);
}

/* No segment can be made now. */
static void waiting_refuse(struct log *log)
{
    struct append_queue waiting = log->waiting;
    log->waiting = (struct append_queue){0};
    log->rolling = false;
    while (waiting.first)
        append_end(log, queue_take(&waiting), log->spare_error);
}

void roll_continue(struct log *log)
{
    if (!log->rolling || log->broken)
        return;
    batch_write(log);
    if (log->active)
        sync_begin(log);
    if (!roll_may_end(log))
        return;
    if (!log_is_full(log))
        spare_make(log);
    if (spare_first(log)) {
        roll_end(log);
        waiting_place(log);
    } else if (!log->making) {
        waiting_refuse(log);
    }
}

/* ---- the mark of what is durable ---- */

/* It is not synced: if a crash loses it, nothing was lost. */
void mark_append(struct log *log)
{
    const struct segment *active = log->active;
    struct batch *batch = &log->batches[log->filling];
    if (!active || log->broken || log->rolling || log->marked || log->waiting.first ||
        log->placed.first || batch->used || batch->writing || log->synced != active->units ||
        active->units + HEAD_UNITS > active->room)
        return;
    struct record record = {
        .kind = RECORD_MARK, .durable = {active->id, log->synced}, .digest = digest_bytes(NULL, 0)};
    struct log_place at = {active->id, active->units};
    batch->used =
        (uint32_t)record_write(&record, at, active->head.salt, batch_room(batch, active->units));
    log->active->units += HEAD_UNITS;
    log->marked = true;
    batch_write(log);
}
