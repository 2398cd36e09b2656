/* hint_make: writes the hint of a sealed segment, when there is time.
 *
 * A walk through the segment collects what is live. A worker thread sorts it, since that takes
 * milliseconds. Then the blocks are written one after the other to a file of another name, which
 * gets its name when all is durable: so a hint is whole or not there. */
#include <errno.h>
#include <string.h>

#include "services/store/log/hint.h"
#include "services/store/log/log_impl.h"

#define NEW_NAME "hint.new"

static struct log *log_of(struct weft_call *call)
{
    return container_of(call, struct log, hinting.call);
}

/* The segment as long as it is there. */
static struct segment *segment_of(const struct log *log)
{
    struct segment *segment = segment_find(log, log->hinting.id);
    return segment && segment->state == SEGMENT_SEALED ? segment : NULL;
}

/* Without success the segment stays without a hint until the next start. */
static void hinting_end(struct log *log, enum segment_hint hint)
{
    struct segment *segment = segment_of(log);
    log->hinting.active = false;
    if (segment)
        segment->hint = hint;
}

static void given_up(struct weft_self *self, struct weft_call *call)
{
    hinting_end(log_of(call), HINT_FAILED);
}

static void given_up_closed(struct weft_self *self, struct weft_call *call)
{
    call->done = given_up;
    if (medium_remove(&log_of(call)->medium, call, NEW_NAME))
        given_up(self, call);
}

static void give_up(struct log *log)
{
    struct hinting *hinting = &log->hinting;
    hinting->call.done = given_up_closed;
    if (!hinting->file || medium_close(&log->medium, hinting->file, &hinting->call))
        hinting_end(log, HINT_FAILED);
    hinting->file = NULL;
}

/* Begins the next step unless the last one failed. */
static bool goes_on(struct log *log, struct weft_call *call,
                    void (*done)(struct weft_self *self, struct weft_call *call))
{
    if (call->result < 0) {
        if (call->result == -ENOSPC)
            spares_give_back(log);
        give_up(log);
        return false;
    }
    call->done = done;
    return true;
}

/* ---- the file gets its name ---- */

static void named(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    char name[NAME_ROOM];
    if (call->result >= 0) {
        log->counts.hints_written++;
        log->spares_most = SPARES_MAX;
    }
    hint_name(log->hinting.id, name);
    call->done = given_up;
    /* If the segment was removed meanwhile, so is its hint. */
    if (call->result < 0 || segment_of(log) || medium_remove(&log->medium, call, name))
        hinting_end(log, call->result < 0 ? HINT_FAILED : HINT_WRITTEN);
}

static void closed(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    char name[NAME_ROOM];
    log->hinting.file = NULL;
    if (!goes_on(log, call, named))
        return;
    hint_name(log->hinting.id, name);
    if (medium_rename(&log->medium, call, NEW_NAME, name))
        give_up(log);
}

static void synced(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    if (goes_on(log, call, closed) && medium_close(&log->medium, log->hinting.file, call))
        give_up(log);
}

static void head_written(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    if (goes_on(log, call, synced) && medium_sync(&log->medium, log->hinting.file, call))
        give_up(log);
}

/* ---- blocks ---- */

static uint32_t block_fill(struct hinting *hinting)
{
    uint32_t used = HINT_BLOCK_HEAD;
    for (; hinting->next < hinting->count; hinting->next++) {
        const uint8_t *entry = hinting->entries + hinting->places[hinting->next];
        uint32_t size = hint_entry_size(entry);
        if (used + size > HINT_BLOCK_MAX)
            break;
        memcpy(hinting->block + used, entry, size);
        used += size;
    }
    hint_block_seal(hinting->block, used);
    hinting->blocks++;
    return used;
}

static int head_write(struct log *log)
{
    struct hinting *hinting = &log->hinting;
    struct hint_head head = {.segment = hinting->id,
                             .units = hinting->units,
                             .salt = hinting->salt,
                             .blocks = hinting->blocks};
    hint_head_write(&head, hinting->block);
    hinting->call.done = head_written;
    return medium_write(&log->medium, hinting->file, &hinting->call, hinting->block, RECORD_HEAD,
                        0);
}

static void block_written(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct hinting *hinting = &log->hinting;
    int result;
    if (!goes_on(log, call, block_written))
        return;
    if (hinting->next == hinting->count) {
        result = head_write(log);
    } else {
        uint32_t size = block_fill(hinting);
        result =
            medium_write(&log->medium, hinting->file, call, hinting->block, size, hinting->offset);
        hinting->offset += size;
    }
    if (result)
        give_up(log);
}

/* An earlier file of that name was not finished. */
static void opened(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    if (call->result < 0)
        log->hinting.file = NULL;
    log->hinting.offset = RECORD_HEAD;
    if (goes_on(log, call, block_written) &&
        medium_truncate(&log->medium, log->hinting.file, call, 0))
        give_up(log);
}

/* ---- the order ---- */

static bool is_cancelled(const void *work)
{
    return weft_work_is_cancelled(work);
}

static int64_t sort_run(const struct weft_work *work, void *argument)
{
    struct hinting *hinting = argument;
    hint_sort(hinting->entries, hinting->places, hinting->count, is_cancelled, work);
    return weft_work_is_cancelled(work) ? -1 : 0;
}

static void sorted(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    if (goes_on(log, call, opened) &&
        medium_open(&log->medium, call, NEW_NAME, WEFT_OPEN_CREATE, &log->hinting.file))
        give_up(log);
}

/* ---- records ---- */

static bool record_add(struct walk *walk, const struct record *record, struct log_place place)
{
    struct log *log = walk->log;
    struct hinting *hinting = &log->hinting;
    struct record hinted = *record;
    if (hinting->overflows || !log->events->live(log->owner, &hinted, place))
        return true;
    hinting->overflows = hinting->used + HINT_ENTRY_MAX > hinting->room ||
                         hinting->count == hinting->room / HINT_ENTRY_HEAD;
    if (hinting->overflows)
        return true;
    hinting->places[hinting->count++] = hinting->used;
    hinting->used += hint_entry_write(&hinted, place.unit, hinting->entries + hinting->used);
    return true;
}

static void walked(struct walk *walk, int result)
{
    struct log *log = walk->log;
    struct hinting *hinting = &log->hinting;
    hinting->walks = false;
    hinting->call.done = sorted;
    if (result || hinting->overflows || walk->segment->damaged || !hinting->count ||
        weft_work_run(log->self, &hinting->call, sort_run, hinting, 0))
        hinting_end(log, HINT_FAILED);
}

bool hinting_init(struct log *log)
{
    struct hinting *hinting = &log->hinting;
    hinting->room = (uint32_t)(log->settings.segment / 4);
    hinting->entries = weft_allocate(log->self, hinting->room);
    hinting->places = weft_allocate(log->self, (uint64_t)hinting->room / HINT_ENTRY_HEAD *
                                                   sizeof *hinting->places);
    hinting->block = weft_allocate(log->self, HINT_BLOCK_MAX);
    return hinting->entries && hinting->places && hinting->block;
}

void hint_make(struct log *log)
{
    struct hinting *hinting = &log->hinting;
    if (hinting->active || log->copying.active || log->spare_error)
        return;
    for (uint32_t i = 0; i < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (segment->state != SEGMENT_SEALED || segment->hint != HINT_NONE || segment->damaged ||
            segment->forgiven || segment->alone || !segment->live)
            continue;
        hinting->active = hinting->walks = true;
        hinting->overflows = false;
        hinting->id = segment->id;
        hinting->units = segment->units;
        hinting->salt = segment->head.salt;
        hinting->used = hinting->count = hinting->next = hinting->blocks = 0;
        hinting->walk = (struct walk){
            .segment = segment,
            .at = HEAD_UNITS,
            .end = segment->units,
            .all = true,
            .record = record_add,
            .ended = walked,
        };
        walk_begin(&hinting->walk);
        return;
    }
}
