/* trace: the writing side. trace_reader.c reads. */
#include "ripc/trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "ripc/trace/trace_impl.h"
#include "transport/domain.h"
#include "transport/fork/descriptor.h"
#include "transport/wake/lock.h"

struct trace_writer {
    struct trace trace; /* must be first: callers hold a pointer to it */
    struct trace_file *file;
    int fd; /* keeps the file locked */
    struct lock lock;
    uint64_t count;  /* our own copy: the count in the file is for readers */
    bool has_memory; /* the pages of the slots exist: a full file system cannot cause a fault */
    char path[DOMAIN_PATH_MAX + TRACE_NAME_SIZE];
};

void trace_file_name(char name[TRACE_NAME_SIZE], uint64_t context)
{
    snprintf(name, TRACE_NAME_SIZE, "trace.%016llx", (unsigned long long)context);
}

const char *trace_event_name(uint32_t event)
{
    static const char *const names[] = {
#define TRACE_NAME(name, text) text,
        TRACE_LIST(TRACE_NAME)
#undef TRACE_NAME
    };
    return event < TRACE_EVENT_COUNT ? names[event] : "?";
}

/* Allocates the page of the head; trace_may_write allocates the slots when a reader watches. */
static int trace_map(struct trace_writer *writer, uint64_t context)
{
    if (ftruncate(writer->fd, 0) || ftruncate(writer->fd, sizeof(struct trace_file)))
        return -errno;
    int result = posix_fallocate(writer->fd, 0, TRACE_HEAD_SIZE);
    if (result)
        return -result;
    struct trace_file *file =
        mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, writer->fd, 0);
    if (file == MAP_FAILED)
        return -errno;
    file->context = context;
    file->slot_count = TRACE_SLOTS;
    file->slot_size = sizeof(struct trace_slot);
    atomic_thread_fence(memory_order_release); /* a reader that sees the magic sees the rest */
    file->magic = TRACE_MAGIC;
    writer->file = file;
    writer->trace.until = &file->until;
    return 0;
}

int trace_open(struct trace **trace, const char *folder, uint64_t context)
{
    char name[TRACE_NAME_SIZE];
    if (strlen(folder) >= DOMAIN_PATH_MAX)
        return -ENAMETOOLONG;
    struct trace_writer *writer = array_new(1, sizeof *writer);
    if (!writer)
        return -ENOMEM;
    trace_file_name(name, context);
    snprintf(writer->path, sizeof writer->path, "%s/%s", folder, name);
    writer->fd = domain_file_lock(folder, name);
    if (writer->fd < 0) {
        int result = writer->fd;
        free(writer);
        return result;
    }
    int result = trace_map(writer, context);
    if (result < 0) {
        trace_close(&writer->trace);
        return result;
    }
    *trace = &writer->trace;
    return 0;
}

void trace_close(struct trace *trace)
{
    struct trace_writer *writer = (struct trace_writer *)trace;
    if (!writer)
        return;
    unlink(writer->path); /* while it is locked, so that it is still our file */
    if (writer->file)
        munmap(writer->file, sizeof *writer->file);
    descriptor_close(writer->fd);
    free(writer);
}

/* Is the trace on, and is there memory to write to? If not, switches the trace off, so that the
 * next event costs one load again. A time far in the future is invalid: readers request at most
 * TRACE_WATCH_NSEC. */
static bool trace_may_write(struct trace_writer *writer, nsec now)
{
    int64_t until = atomic_load_explicit(writer->trace.until, memory_order_relaxed);
    if (until >= now && until - now <= 2 * TRACE_WATCH_NSEC) {
        if (!writer->has_memory)
            writer->has_memory = posix_fallocate(writer->fd, 0, sizeof(struct trace_file)) == 0;
        if (writer->has_memory)
            return true;
    }
    /* If a reader has just switched the trace on again, this fails, and the trace stays on. */
    atomic_compare_exchange_strong_explicit(writer->trace.until, &until, 0, memory_order_relaxed,
                                            memory_order_relaxed);
    return false;
}

void trace_write(struct trace *trace, enum trace_event event, uint64_t service, uint64_t peer,
                 int64_t value)
{
    struct trace_writer *writer = (struct trace_writer *)trace;
    lock_take(&writer->lock);
    nsec now = clock_now();
    if (trace_may_write(writer, now)) {
        struct trace_slot *slot = &writer->file->slots[writer->count % TRACE_SLOTS];
        atomic_store_explicit(&slot->sequence, 0, memory_order_relaxed);
        /* A reader that sees one of the new values below also sees the 0 above. */
        atomic_thread_fence(memory_order_release);
        atomic_store_explicit(&slot->at, now, memory_order_relaxed);
        atomic_store_explicit(&slot->service, service, memory_order_relaxed);
        atomic_store_explicit(&slot->peer, peer, memory_order_relaxed);
        atomic_store_explicit(&slot->value, value, memory_order_relaxed);
        atomic_store_explicit(&slot->event, event, memory_order_relaxed);
        writer->count++;
        atomic_store_explicit(&slot->sequence, writer->count, memory_order_release);
        atomic_store_explicit(&writer->file->count, writer->count, memory_order_release);
    }
    lock_drop(&writer->lock);
}
