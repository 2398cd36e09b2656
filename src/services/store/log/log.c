/* log: its memory, and what it does when there is time. */
#include "services/store/log/log.h"

#include "services/store/log/log_impl.h"

static uint64_t memory_segments(const struct log_settings *settings)
{
    uint64_t count = settings->memory / settings->segment;
    return count < LOG_SEGMENTS_MAX ? count : LOG_SEGMENTS_MAX;
}

static bool settings_make_sense(const struct log_settings *settings)
{
    if (settings->memory && memory_segments(settings) < LOG_MEMORY_SEGMENTS)
        return false;
    uint64_t largest = RECORD_HEAD + RECORD_TOP_MAX + (uint64_t)settings->value_max + RECORD_UNIT;
    return settings->value_max <= RECORD_VALUE_MAX && settings->segment >= LOG_SEGMENT_LEAST &&
           settings->segment >= largest && settings->segment / RECORD_UNIT < UINT32_MAX;
}

static void memory_wakes(void *owner)
{
    log_wake(owner);
}

/* False: too little memory. */
static bool medium_init(struct log *log)
{
    const struct log_settings *settings = &log->settings;
    uint32_t count = (uint32_t)memory_segments(settings);
    log->medium.self = log->self;
    if (!settings->memory)
        return hinting_init(log);
    void *memory = weft_allocate(log->self, memory_files_size(settings->segment, count));
    log->medium.memory = weft_allocate(log->self, sizeof *log->medium.memory);
    if (!memory || !log->medium.memory)
        return false;
    memory_files_init(log->medium.memory, memory, settings->segment, count);
    log->medium.memory->wake = memory_wakes;
    log->medium.memory->owner = log;
    return true;
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
    return log->chunk && log->copies && medium_init(log) ? log : NULL;
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
    if (!log->medium.memory)
        mark_append(log);
    reads_begin(log);
    for (uint32_t i = 0; i < log->segment_count; i++)
        segment_shorten(log->segments[i]);
    compact(log);
    if (!log->medium.memory)
        hint_make(log);
}

void log_count(const struct log *log, struct log_counts *counts)
{
    *counts = log->counts;
    counts->segments = log->segment_count;
    counts->full = log_is_full(log);
    for (uint32_t i = 0; i < log->segment_count; i++) {
        counts->bytes += (uint64_t)log->segments[i]->room * RECORD_UNIT;
        counts->live += (uint64_t)log->segments[i]->live * RECORD_UNIT;
    }
}
