/* trace_reader: takes records from another process's trace.
 *
 * The file is read by system calls, not mapped: if the writer shortens it, our read is short and we
 * do not fault. The fences between the calls order the copies that the kernel makes for us as they
 * would order our own loads. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "ripc/trace/trace.h"
#include "ripc/trace/trace_impl.h"
#include "transport/fork/descriptor.h"

#define TRACE_BATCH 64

struct trace_reader {
    int fd;
    uint64_t next; /* number of the next record to take */
    nsec refreshed;
    char folder[DOMAIN_PATH_MAX];
    char name[TRACE_NAME_SIZE];
};

/* Reads all of it, or returns -EPROTO. */
static int reader_get(const struct trace_reader *reader, void *out, size_t size, size_t offset)
{
    ssize_t got = pread(reader->fd, out, size, (off_t)offset);
    atomic_thread_fence(memory_order_acquire); /* before anything that is read next */
    if (got < 0)
        return -errno;
    return (size_t)got == size ? 0 : -EPROTO;
}

static int reader_get_count(const struct trace_reader *reader, uint64_t *count)
{
    return reader_get(reader, count, sizeof *count, offsetof(struct trace_file, count));
}

/* If the writer should ever see half of this value, it sees a time that is wrong, and the next
 * refresh repairs it. */
static int reader_refresh(struct trace_reader *reader)
{
    nsec now = clock_now();
    int64_t until = now + TRACE_WATCH_NSEC;
    if (reader->refreshed && now - reader->refreshed < TRACE_REFRESH_NSEC)
        return 0;
    ssize_t put = pwrite(reader->fd, &until, sizeof until, offsetof(struct trace_file, until));
    if (put != sizeof until)
        return put < 0 ? -errno : -EPROTO;
    reader->refreshed = now;
    return 0;
}

static int reader_check(struct trace_reader *reader, uint64_t context)
{
    struct stat status;
    struct {
        uint64_t magic, context;
        uint32_t slot_count, slot_size;
    } head;
    static_assert(sizeof head == offsetof(struct trace_file, slot_size) + 4, "the same layout");
    if (fstat(reader->fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_size != sizeof(struct trace_file))
        return -EPROTO;
    int result = reader_get(reader, &head, sizeof head, 0);
    if (result < 0)
        return result;
    if (head.magic != TRACE_MAGIC || head.context != context || head.slot_count != TRACE_SLOTS ||
        head.slot_size != sizeof(struct trace_slot))
        return -EPROTO;
    return reader_get_count(reader, &reader->next);
}

int trace_reader_open(struct trace_reader **reader, const char *folder, uint64_t context)
{
    char path[DOMAIN_PATH_MAX + TRACE_NAME_SIZE];
    if (strlen(folder) >= DOMAIN_PATH_MAX)
        return -ENAMETOOLONG;
    struct trace_reader *made = array_new(1, sizeof *made);
    if (!made)
        return -ENOMEM;
    memcpy(made->folder, folder, strlen(folder) + 1);
    trace_file_name(made->name, context);
    snprintf(path, sizeof path, "%s/%s", made->folder, made->name);
    made->fd = DESCRIPTOR_OPEN(open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    int result = made->fd < 0 ? -errno : reader_check(made, context);
    if (result == 0)
        result = reader_refresh(made);
    if (result < 0) {
        trace_reader_close(made);
        return result;
    }
    *reader = made;
    return 0;
}

void trace_reader_close(struct trace_reader *reader)
{
    if (!reader)
        return;
    if (reader->fd >= 0)
        descriptor_close(reader->fd);
    free(reader);
}

/* The slots as plain data. */
struct slot_copy {
    uint64_t sequence;
    int64_t at;
    uint64_t service, peer;
    int64_t value;
    uint32_t event;
    uint32_t padding[5];
};
static_assert(sizeof(struct slot_copy) == sizeof(struct trace_slot), "copied as they are");

/* Takes the next `count` records, which are contiguous. Makes three copies: the first and the last
 * for the sequence before and after, the middle one for the rest. */
static int reader_take_row(struct trace_reader *reader, struct trace_record *out, unsigned count,
                           uint64_t *lost)
{
    struct slot_copy copies[3][TRACE_BATCH];
    size_t offset =
        offsetof(struct trace_file, slots) + reader->next % TRACE_SLOTS * sizeof(struct trace_slot);
    for (int i = 0; i < 3; i++) {
        int result = reader_get(reader, copies[i], count * sizeof **copies, offset);
        if (result < 0)
            return result;
    }
    int taken = 0;
    for (unsigned i = 0; i < count; i++) {
        const struct slot_copy *slot = &copies[1][i];
        uint64_t sequence = reader->next++ + 1;
        if (copies[0][i].sequence != sequence || slot->sequence != sequence ||
            copies[2][i].sequence != sequence) {
            ++*lost; /* the writer has overwritten it meanwhile */
            continue;
        }
        out[taken++] = (struct trace_record){
            .at = slot->at,
            .service = slot->service,
            .peer = slot->peer,
            .value = slot->value,
            .event = slot->event,
            .sequence = (uint32_t)(sequence - 1),
        };
    }
    return taken;
}

static unsigned smaller(uint64_t one, uint64_t other)
{
    return (unsigned)(one < other ? one : other);
}

/* Called when there was no record. Returns -EPIPE if there will be none. Reads the count again,
 * because the last records may just have been written. */
static int reader_find_end(struct trace_reader *reader)
{
    uint64_t count;
    if (domain_file_alive(reader->folder, reader->name) != 0)
        return 0;
    int result = reader_get_count(reader, &count);
    return result < 0 ? result : count == reader->next ? -EPIPE : 0;
}

int trace_reader_take(struct trace_reader *reader, struct trace_record *out, unsigned max,
                      uint64_t *lost)
{
    uint64_t count = 0;
    unsigned taken = 0;
    int result = reader_refresh(reader);
    if (result == 0)
        result = reader_get_count(reader, &count);
    if (result < 0)
        return result;
    if (count < reader->next)
        return -EPROTO;
    if (count - reader->next > TRACE_SLOTS) {
        *lost += count - reader->next - TRACE_SLOTS;
        reader->next = count - TRACE_SLOTS;
    }
    max = smaller(max, INT32_MAX);
    while (taken < max && reader->next < count) {
        unsigned row = smaller(smaller(count - reader->next, max - taken),
                               smaller(TRACE_BATCH, TRACE_SLOTS - reader->next % TRACE_SLOTS));
        result = reader_take_row(reader, out + taken, row, lost);
        if (result < 0)
            return result;
        taken += (unsigned)result;
    }
    return taken || !max ? (int)taken : reader_find_end(reader);
}
