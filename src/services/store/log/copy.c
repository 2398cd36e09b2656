/* copy: live records of a segment go to the end of the log, so that the segment can be removed.
 *
 * The records of a chunk are appended from where they are in memory. The walk reads the next chunk
 * when all of them are durable, so copying takes at most one chunk of what a sync carries, and
 * leaves the rest to new records. */
#include <errno.h>

#include "services/store/log/log_impl.h"
#include "services/store/planted.h"

#define GAIN_LEAST 16 /* a copied segment gives back at least one part of this */

/* Records in a forgiven segment were needed after all. */
static void lost_report(const struct segment *segment)
{
    struct log *log = segment->log;
    const struct log_damage damage = {{segment->id, 0}, {segment->id, segment->units}, NULL};
    log->counts.damaged++;
    log->events->damaged(log->owner, &damage);
}

static void copying_end(struct log *log)
{
    struct copying *copying = &log->copying;
    struct segment *segment = copying->walk.segment;
    if (!copying->active || !copying->walked || copying->copies)
        return;
    copying->active = false;
    if (copying->result)
        return;          /* it is tried again later */
    if (segment->live) { /* what is left cannot be read */
        if (segment->forgiven)
            lost_report(segment);
        segment->damaged = true;
        segment->forgiven = false;
    }
    if (!segment->damaged)
        segment_remove(segment);
}

static void copy_done(void *owner, struct log_append *append)
{
    struct copy *copy = (struct copy *)append;
    struct log *log = append->log;
    struct copying *copying = &log->copying;
    const struct record *record = &append->record;
    if (append->result && append->result != -ECANCELED) {
        copying->result = append->result;
    } else if (!append->result) {
        bool used = log->events->moved(log->owner, record, append->from, append->place);
        log_dead(log, used ? append->from : append->place, record->key_size, record->value_size);
        log->counts.copied +=
            (uint64_t)RECORD_UNIT * record_units(record->key_size, record->value_size);
    }
    copy->next = copying->free;
    copying->free = copy;
    if (--copying->copies == 0)
        copying->walk.held = false;
    if (!copying->copies && copying->result)
        copying->walked = true; /* it makes no sense to go on */
    if (!copying->copies && !copying->walked)
        walk_resume(&copying->walk);
    copying_end(log);
}

/* Returns false if the walk must wait for copies. */
static bool copy_begin(struct walk *walk, const struct record *record, struct log_place place)
{
    struct log *log = walk->log;
    struct copying *copying = &log->copying;
    struct record copied = *record;
    if (!copy_is_needed(log, &copied, place))
        return true;
    struct copy *copy = copying->free;
    copying->free = copy->next;
    *copy = (struct copy){
        .append = {.record = copied, .urgent = true, .done = copy_done, .from = place, .log = log},
    };
    copying->copies++;
    walk->held = true;
    int result = log_append(log, &copy->append);
    if (result) {
        copying->result = result;
        copying->copies--;
        copying->walked = !copying->copies;
        copy->next = copying->free;
        copying->free = copy;
        walk->held = copying->copies > 0;
        copying_end(log);
    }
    return copying->free && !copying->result;
}

static void copying_walked(struct walk *walk, int result)
{
    struct copying *copying = &walk->log->copying;
    copying->walked = true;
    if (result)
        copying->result = result;
    copying_end(walk->log);
}

static void copying_begin(struct log *log, struct segment *segment)
{
    struct copying *copying = &log->copying;
    assert(!copying->active);
    *copying = (struct copying){.active = true};
    for (unsigned i = 0; i < COPIES; i++) {
        log->copies[i].next = copying->free;
        copying->free = &log->copies[i];
    }
    copying->walk = (struct walk){
        .segment = segment,
        .at = HEAD_UNITS,
        .end = segment->units,
        .all = true,
        .record = copy_begin,
        .ended = copying_walked,
    };
    walk_begin(&copying->walk);
}

/* ---- which segment, and when ---- */

static uint32_t dead_units(const struct segment *segment)
{
    return segment->units - HEAD_UNITS - segment->live;
}

/* A segment that does not know from a later one where it ends must be as long as its file, before
 * that later one is removed. */
static bool is_needed(const struct log *log, uint32_t index)
{
    const struct segment *before = index ? log->segments[index - 1] : NULL;
    return before && before->room != before->units && !STORE_HAS(END_UNKNOWN);
}

/* Nothing durable says yet that all before the next segment was durable: the last one does. */
static bool is_last(const struct log *log, uint32_t index)
{
    return (!log->active || !log->synced) && log->sealed.segment == log->segments[index]->id;
}

static bool may_be_removed(const struct log *log, uint32_t index)
{
    const struct segment *segment = log->segments[index];
    return segment->state == SEGMENT_SEALED && !segment->damaged && !segment->alone &&
           !is_needed(log, index) && !is_last(log, index);
}

/* On a full disk the copies must fit into what is left of the active segment, which nothing else
 * can take from tombstones. */
static bool fits(const struct log *log, const struct segment *segment)
{
    const struct segment *active = log->active;
    return !log->spare_error || !segment->live ||
           (active && segment->live <= active->room - active->units);
}

/* The segment of whose units the largest part is dead; one without live records before all. */
static struct segment *victim_find(const struct log *log)
{
    struct segment *best = NULL;
    for (uint32_t i = 0; i < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (!may_be_removed(log, i) || !fits(log, segment))
            continue;
        if (!segment->live || segment->forgiven)
            return segment;
        if (!best || (uint64_t)dead_units(segment) * best->units >
                         (uint64_t)dead_units(best) * segment->units)
            best = segment;
    }
    return best;
}

/* Memory is of no use to others, so it is used up before anything is copied. */
static bool is_mostly_dead(const struct log *log)
{
    uint64_t dead = 0, units = 0;
    if (log->medium.memory)
        return false;
    for (uint32_t i = 0; i < log->segment_count; i++) {
        const struct segment *segment = log->segments[i];
        if (segment->state != SEGMENT_SEALED || segment->damaged)
            continue;
        dead += dead_units(segment);
        units += segment->units;
    }
    return 2 * dead > units;
}

static bool is_worth_it(const struct log *log, const struct segment *victim)
{
    uint32_t most = log->medium.memory ? log->medium.memory->count : LOG_SEGMENTS_MAX;
    bool short_of_room = log->spare_error || log->segment_count > most / 4 * 3;
    return !victim->live || victim->forgiven || is_mostly_dead(log) ||
           (short_of_room && dead_units(victim) > victim->units / GAIN_LEAST);
}

void compact(struct log *log)
{
    if (log->copying.active || log->hinting.walks)
        return;
    struct segment *victim = victim_find(log);
    if (!victim || !is_worth_it(log, victim))
        return;
    if (victim->live)
        copying_begin(log, victim);
    else
        segment_remove(victim);
}
