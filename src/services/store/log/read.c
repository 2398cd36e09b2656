/* read: records that are durable, each with one read of the disk. Some wait: too many are under
 * way, or the file of their segment is being shortened. */
#include <errno.h>

#include "services/store/log/log_impl.h"

static void read_end(struct log *log, struct log_read *read, int result)
{
    struct segment *segment = read->segment;
    if (segment) {
        segment->calls--;
        if (segment->state == SEGMENT_REMOVING)
            segment_remove(segment);
    }
    read->result = result;
    read->done(log->owner, read);
}

static struct log_read *read_of(struct weft_call *call)
{
    return container_of(call, struct log_read, call);
}

static int read_verify(struct log_read *read, const struct segment *segment)
{
    uint32_t size = record_units(read->key_size, read->value_size) * RECORD_UNIT;
    if (read->call.result < 0)
        return (int)read->call.result;
    if (read->call.result < size ||
        !record_read(&read->record, read->bytes, size, read->place, segment->head.salt) ||
        read->record.key_size != read->key_size || read->record.value_size != read->value_size)
        return -EBADMSG;
    read->record.value = (const uint8_t *)read->record.key + read->key_size;
    return record_fits(&read->record, read->record.value) ? 0 : -EBADMSG;
}

static void read_done(struct weft_self *self, struct weft_call *call)
{
    struct log_read *read = read_of(call);
    struct log *log = read->log;
    int result = read_verify(read, read->segment);
    log->reads_under_way--;
    log->counts.damaged += result == -EBADMSG;
    read_end(log, read, result);
    reads_begin(log);
}

/* True: it has begun, or cannot be. */
static bool read_begin(struct log *log, struct log_read *read, int *result)
{
    const struct segment *segment = read->segment;
    *result = -ENOENT;
    if (!segment)
        return true;
    if (segment->alone || log->reads_under_way == LOG_READS)
        return false;
    read->call.done = read_done;
    *result = weft_disk_read(log->self, segment->file, &read->call, read->bytes,
                             record_units(read->key_size, read->value_size) * RECORD_UNIT,
                             (uint64_t)read->place.unit * RECORD_UNIT);
    if (*result == -EAGAIN)
        return false;
    log->reads_under_way += !*result;
    return true;
}

void reads_begin(struct log *log)
{
    struct log_read *waiting = log->reads;
    log->reads = NULL;
    log->reads_end = &log->reads;
    for (struct log_read *next; waiting; waiting = next) {
        int result;
        next = waiting->next;
        if (!read_begin(log, waiting, &result)) {
            waiting->next = NULL;
            *log->reads_end = waiting;
            log->reads_end = &waiting->next;
        } else if (result) {
            read_end(log, waiting, result);
        }
    }
}

void log_read(struct log *log, struct log_read *read)
{
    int result = 0;
    struct segment *segment = segment_find(log, read->place.segment);
    bool there = segment && segment->file && segment->state != SEGMENT_REMOVING;
    read->log = log;
    read->next = NULL;
    read->segment = there ? segment : NULL;
    if (there)
        segment->calls++; /* from now on it is not removed, also while the read waits */
    log->counts.reads++;
    if (!log->reads && read_begin(log, read, &result) && !result)
        return;
    *log->reads_end = read; /* it waits; or it fails when the owner calls log_flush */
    log->reads_end = &read->next;
    if (result)
        log->events->wake(log->owner);
}
