/* Tests the reader of a trace file that another process overwrites before and while it is read: the
 * reader refuses the file, or takes no more records than requested.
 *
 * The input is a list of steps: two bytes for the position (the head first, then the slots), one
 * byte for a count, and that many bytes to write there. A count of 0 writes nothing: the reader
 * opens the file or, if it is open, takes records. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"
#include "ripc/trace/trace.h"
#include "ripc/trace/trace_impl.h"

#define CONTEXT    7
#define HEAD_BYTES 256
#define TAKE_MAX   100

static char folder[] = "/tmp/weft-fuzz-trace-XXXXXX";
static char path[sizeof folder + TRACE_NAME_SIZE];

static void folder_remove(void)
{
    unlink(path);
    rmdir(folder);
}

/* Makes the file of a valid trace without records. */
static int file_make(void)
{
    struct {
        uint64_t magic, context;
        uint32_t slot_count, slot_size;
    } head = {TRACE_MAGIC, CONTEXT, TRACE_SLOTS, sizeof(struct trace_slot)};
    if (!*path) {
        char name[TRACE_NAME_SIZE];
        assert(mkdtemp(folder));
        trace_file_name(name, CONTEXT);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        atexit(folder_remove);
    }
    unlink(path); /* truncating makes some file systems wait for the disk */
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert(fd >= 0 && ftruncate(fd, sizeof(struct trace_file)) == 0);
    assert(pwrite(fd, &head, sizeof head, 0) == sizeof head);
    return fd;
}

static void take(struct trace_reader **reader, uint64_t *lost)
{
    struct trace_record records[TAKE_MAX];
    if (!*reader) {
        int result = trace_reader_open(reader, folder, CONTEXT);
        assert(result == 0 || result == -EPROTO);
        return;
    }
    int result = trace_reader_take(*reader, records, TAKE_MAX, lost);
    assert(result <= TAKE_MAX && (result >= 0 || result == -EPROTO || result == -EPIPE));
    for (int i = 0; i < result; i++) {
        assert(trace_event_name(records[i].event));
        assert(i == 0 || records[i].sequence != records[i - 1].sequence);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_reader *reader = NULL;
    uint64_t lost = 0;
    int fd = file_make();
    while (size >= 3) {
        size_t where = data[0] | (size_t)data[1] << 8, count = data[2];
        data += 3;
        size -= 3;
        count = count < size ? count : size;
        if (where >= HEAD_BYTES)
            where = TRACE_HEAD_SIZE + where - HEAD_BYTES;
        if (count)
            assert(pwrite(fd, data, count, (off_t)where) == (ssize_t)count);
        else
            take(&reader, &lost);
        data += count;
        size -= count;
    }
    trace_reader_close(reader);
    close(fd);
    return 0;
}
