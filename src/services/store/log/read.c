/* read: records that are durable, each with one read of the disk; a large one in pieces, each of
 * which is digested when it is there, since the digest of all at one go would take milliseconds.
 * Some wait: too many are under way, or the file of their segment is being shortened. */
#include <errno.h>

#include "services/store/log/log_impl.h"

#define PIECE (256u << 10) /* bytes that are read at once */

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

static uint32_t read_size(const struct log_read *read)
{
    return record_units(read->key_size, read->value_size) * RECORD_UNIT;
}

/* Head and key are in the bytes, and are right. */
static bool head_fits(struct log_read *read)
{
    const struct segment *segment = read->segment;
    if (!record_read(&read->record, read->bytes, read->filled, read->place, segment->head.salt) ||
        read->record.key_size != read->key_size || read->record.value_size != read->value_size)
        return false;
    read->record.value = (const uint8_t *)read->record.key + read->key_size;
    return true;
}

/* Digests the bytes of the value among those that came behind `before`. */
static void piece_digest(struct log_read *read, uint32_t before)
{
    const uint8_t *bytes = read->bytes;
    uint32_t begin = RECORD_HEAD + read->key_size, end = begin + read->value_size;
    uint32_t from = before > begin ? before : begin;
    uint32_t to = read->filled < end ? read->filled : end;
    if (from < to)
        digest_add(&read->digest, bytes + from, to - from);
}

/* A piece is there. 0: it is right as far as one can tell, -EBADMSG or an errno of the disk. */
static int piece_verify(struct log_read *read)
{
    uint32_t before = read->filled, left = read_size(read) - before;
    if (read->call.result < 0)
        return (int)read->call.result;
    if (read->call.result < (left < PIECE ? left : PIECE))
        return -EBADMSG;
    read->filled += left < PIECE ? left : PIECE;
    if (before == 0 && !head_fits(read))
        return -EBADMSG;
    if (before == 0 && left <= PIECE)
        return record_fits(&read->record, read->record.value) ? 0 : -EBADMSG;
    if (before == 0)
        digest_begin(&read->digest);
    piece_digest(read, before);
    if (read->filled < read_size(read))
        return 0;
    return digest_end(&read->digest) == read->record.digest ? 0 : -EBADMSG;
}

static void read_queue(struct log *log, struct log_read *read)
{
    read->next = NULL;
    *log->reads_end = read;
    log->reads_end = &read->next;
}

static void read_done(struct weft_self *self, struct weft_call *call)
{
    struct log_read *read = read_of(call);
    struct log *log = read->log;
    int result = piece_verify(read);
    log->reads_under_way--;
    log->counts.damaged += result == -EBADMSG;
    if (!result && read->filled < read_size(read))
        read_queue(log, read);
    else
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
    uint32_t left = read_size(read) - read->filled;
    read->call.done = read_done;
    *result = medium_read(&log->medium, segment->file, &read->call,
                          (uint8_t *)read->bytes + read->filled, left < PIECE ? left : PIECE,
                          (uint64_t)read->place.unit * RECORD_UNIT + read->filled);
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
            read_queue(log, waiting);
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
    read->filled = 0;
    read->segment = there ? segment : NULL;
    if (there)
        segment->calls++; /* from now on it is not removed, also while the read waits */
    log->counts.reads++;
    if (!log->reads && read_begin(log, read, &result) && !result)
        return;
    read_queue(log, read); /* it waits; or it fails when the owner calls log_flush */
    if (result)
        log->events->wake(log->owner);
}
