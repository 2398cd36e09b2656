/* hint_load: reads the hint of a segment in place of the segment. If anything about it is wrong,
 * the caller reads the segment itself; what was found before is found again then. */
#include "services/store/log/hint.h"
#include "services/store/log/log_impl.h"

static struct log *log_of(struct weft_call *call)
{
    return container_of(call, struct log, loading.call);
}

static void closed(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    log->loading.ended(log, log->loading.segment, log->loading.whole);
}

static void loading_end(struct log *log, bool whole)
{
    struct loading *loading = &log->loading;
    loading->whole = whole;
    loading->call.done = closed;
    if (!loading->file || medium_close(&log->medium, loading->file, &loading->call))
        loading->ended(log, loading->segment, whole);
    else
        loading->file = NULL;
}

/* False: an entry is wrong. */
static bool block_found(struct log *log, const uint8_t *block, uint32_t size)
{
    struct segment *segment = log->loading.segment;
    for (uint32_t at = HINT_BLOCK_HEAD; at < size;) {
        struct log_place place = {.segment = segment->id};
        struct record record;
        uint32_t entry = hint_entry_read(&record, &place.unit, block + at, size - at);
        uint32_t units = record_units(record.key_size, record.value_size);
        if (!entry || place.unit < HEAD_UNITS || place.unit > segment->units ||
            units > segment->units - place.unit)
            return false;
        segment->live += units;
        log->events->found(log->owner, &record, place);
        at += entry;
    }
    return true;
}

static void blocks_read(struct weft_self *self, struct weft_call *call);

static void blocks_next(struct log *log)
{
    struct loading *loading = &log->loading;
    loading->call.done = blocks_read;
    if (!loading->blocks)
        loading_end(log, true);
    else if (medium_read(&log->medium, loading->file, &loading->call, log->chunk, HINT_CHUNK,
                         loading->offset))
        loading_end(log, false);
}

static void blocks_read(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct loading *loading = &log->loading;
    uint32_t at = 0, size = (uint32_t)(call->result > 0 ? call->result : 0);
    while (loading->blocks) {
        uint32_t block = hint_block_read(log->chunk + at, size - at);
        if (!block)
            break;
        if (!block_found(log, log->chunk + at, block)) {
            loading_end(log, false);
            return;
        }
        at += block;
        loading->blocks--;
    }
    loading->offset += at;
    if (at)
        blocks_next(log);
    else
        loading_end(log, false); /* the hint is damaged */
}

static void head_read(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    struct loading *loading = &log->loading;
    struct segment *segment = loading->segment;
    struct hint_head head;
    if (call->result < 0 || !hint_head_read(&head, log->chunk, (size_t)call->result) ||
        head.segment != segment->id || head.salt != segment->head.salt ||
        head.units != loading->units) {
        loading_end(log, false);
        return;
    }
    segment->units = head.units;
    loading->blocks = head.blocks;
    loading->offset = RECORD_HEAD;
    blocks_next(log);
}

static void opened(struct weft_self *self, struct weft_call *call)
{
    struct log *log = log_of(call);
    call->done = head_read;
    if (call->result < 0)
        log->loading.file = NULL;
    if (call->result < 0 ||
        medium_read(&log->medium, log->loading.file, call, log->chunk, RECORD_HEAD, 0))
        loading_end(log, false);
}

void hint_load(struct log *log, struct segment *segment, uint32_t units,
               void (*ended)(struct log *log, struct segment *segment, bool whole))
{
    struct loading *loading = &log->loading;
    char name[NAME_ROOM];
    *loading = (struct loading){.segment = segment, .units = units, .ended = ended};
    loading->call.done = opened;
    hint_name(segment->id, name);
    if (medium_open(&log->medium, &loading->call, name, WEFT_OPEN_EXISTING, &loading->file)) {
        loading->file = NULL;
        loading_end(log, false);
    }
}
