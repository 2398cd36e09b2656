/* log: its memory, and what it does when there is time. */
#include "services/store/log/log.h"

#include "services/store/log/log_impl.h"

static bool settings_make_sense(const struct log_settings *settings)
{
    uint64_t largest = RECORD_HEAD + RECORD_TOP_MAX + (uint64_t)settings->value_max + RECORD_UNIT;
    return settings->value_max <= RECORD_VALUE_MAX && settings->segment >= LOG_SEGMENT_LEAST &&
           settings->segment >= largest && settings->segment / RECORD_UNIT < UINT32_MAX;
}

struct log *log_init(struct weft_self *self, const struct log_settings *settings,
                     const struct log_events *events, void *owner)
{
    if (!settings_make_sense(settings))
        return NULL;
    struct log *log = weft_allocate(self, sizeof *log);
    if (!log)
        return NULL;
    log->self = self;
    log->events = events;
    log->owner = owner;
    log->settings = *settings;
    log->spare_ended = roll_continue;
    log->readable = reads_begin;
    for (unsigned i = 0; i < BATCHES; i++) {
        log->batches[i].bytes = weft_allocate(self, BATCH_SIZE);
        if (!log->batches[i].bytes)
            return NULL;
    }
    log->chunk = weft_allocate(self, (uint64_t)settings->value_max + RECORD_TOP_MAX + CHUNK);
    log->copies = weft_allocate(self, COPIES * sizeof *log->copies);
    log_prepare(log);
    return log->chunk && log->copies && hinting_init(log) ? log : NULL;
}

void log_doubt(struct log *log)
{
    log->doubts = true;
}

void log_forgive(struct log *log)
{
    for (uint32_t i = 0; i < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (!segment->damaged)
            continue;
        segment->damaged = false;
        segment->forgiven = true;
        if (!segment->head.id) /* all of it was lost, so nothing of it was found */
            segment->live = 0;
    }
}

void log_tick(struct log *log)
{
    close_look(log);
    if (!log->open || log->broken)
        return;
    if (log->spare_error)
        spare_make(log);
    mark_append(log);
    reads_begin(log);
    for (uint32_t i = 0; i < log->segment_count; i++)
        segment_shorten(log->segments[i]);
    compact(log);
    hint_make(log);
}

void log_count(const struct log *log, struct log_counts *counts)
{
    *counts = log->counts;
    counts->segments = log->segment_count;
    counts->full = log->spare_error != 0;
    for (uint32_t i = 0; i < log->segment_count; i++) {
        counts->bytes += (uint64_t)log->segments[i]->room * RECORD_UNIT;
        counts->live += (uint64_t)log->segments[i]->live * RECORD_UNIT;
    }
}
