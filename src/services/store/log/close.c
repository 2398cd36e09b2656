/* close: a log ends everything, so that it can be opened again.
 *
 * A broken log begins nothing new, and what is under way ends by itself: appends fail, copies and
 * hints are given up. Calls that concern names run one after the other, so a last one that has
 * ended shows that all of them have. Then no call is under way on a file, and it can be closed. */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "services/store/log/log_impl.h"

static bool is_quiet(const struct log *log)
{
    for (unsigned i = 0; i < BATCHES; i++) {
        if (log->batches[i].writing)
            return false;
    }
    for (uint32_t i = 0; i < log->segment_count; i++) {
        if (log->segments[i]->calls || log->segments[i]->alone)
            return false;
    }
    return !log->syncing && !log->values && !log->placed.first && !log->waiting.first &&
           !log->reads && !log->reads_under_way && !log->making && !log->copying.active &&
           !log->hinting.active;
}

/* As after log_init: only memory, owner and settings stay. */
static void reset(struct log *log)
{
    uint8_t *batches[BATCHES];
    const struct hinting hinting = log->hinting;
    bool woken = log->woken; /* the owner will still call log_flush */
    for (unsigned i = 0; i < BATCHES; i++)
        batches[i] = log->batches[i].bytes;
    memset(&log->closing, 0, sizeof *log - offsetof(struct log, closing));
    for (unsigned i = 0; i < BATCHES; i++)
        log->batches[i].bytes = batches[i];
    log->hinting.room = hinting.room;
    log->hinting.entries = hinting.entries;
    log->hinting.places = hinting.places;
    log->hinting.block = hinting.block;
    log->woken = woken;
    log_prepare(log);
}

/* A file that is open; NULL: none is. */
static struct medium_file **file_find(struct log *log)
{
    for (uint32_t i = 0; i < log->segment_count; i++) {
        if (log->segments[i]->file)
            return &log->segments[i]->file;
    }
    if (log->hinting.file)
        return &log->hinting.file;
    return log->loading.file ? &log->loading.file : NULL;
}

/* Closes the next file; at the end the log is closed. */
static void close_next(struct weft_self *self, struct weft_call *call)
{
    struct log *log = container_of(call, struct log, closing.call);
    struct medium_file **file = file_find(log);
    if (!file) {
        reset(log);
        log->events->closed(log->owner);
        return;
    }
    log->closing.call.done = close_next;
    if (medium_close(&log->medium, *file, call))
        log->closing.step = CLOSING_WAITS; /* too many calls are under way */
    else
        *file = NULL;
}

void close_look(struct log *log)
{
    struct closing *closing = &log->closing;
    if (closing->step != CLOSING_WAITS)
        return;
    reads_begin(log);
    if (!is_quiet(log))
        return;
    closing->call.done = close_next;
    if (!medium_list(&log->medium, &closing->call, NULL, &closing->entry, 1))
        closing->step = CLOSING_GOES_ON;
}

void log_close(struct log *log)
{
    assert(log->closing.step == CLOSING_NOT);
    log->closing.step = CLOSING_WAITS;
    if (!log->broken)
        log->broken = -ESHUTDOWN;
    log_break(log, log->broken);
}
