/* medium: see the header. */
#include "services/store/log/medium.h"

static struct weft_file *on_disk(struct medium_file *file)
{
    return (struct weft_file *)(void *)file;
}

static struct memory_file *in_memory(struct medium_file *file)
{
    return (struct memory_file *)(void *)file;
}

/* A call on a file in memory is never refused. */
static int done(struct medium *medium, struct weft_call *call, int64_t result)
{
    memory_files_done(medium->memory, call, result);
    return 0;
}

int medium_open(struct medium *medium, struct weft_call *call, const char *name, enum weft_open how,
                struct medium_file **file)
{
    if (medium->memory) {
        struct memory_file *opened;
        int64_t result = memory_open(medium->memory, name, how == WEFT_OPEN_CREATE, &opened);
        *file = (struct medium_file *)(void *)opened;
        return done(medium, call, result);
    }
    struct weft_file *opened = NULL;
    int result = weft_disk_open(medium->self, call, name, how, &opened);
    *file = (struct medium_file *)(void *)opened;
    return result;
}

int medium_close(struct medium *medium, struct medium_file *file, struct weft_call *call)
{
    if (!medium->memory)
        return weft_disk_close(medium->self, on_disk(file), call);
    return done(medium, call, 0);
}

int medium_read(struct medium *medium, struct medium_file *file, struct weft_call *call,
                void *bytes, uint32_t size, uint64_t offset)
{
    if (!medium->memory)
        return weft_disk_read(medium->self, on_disk(file), call, bytes, size, offset);
    return done(medium, call, memory_read(in_memory(file), bytes, size, offset));
}

int medium_write(struct medium *medium, struct medium_file *file, struct weft_call *call,
                 const void *bytes, uint32_t size, uint64_t offset)
{
    if (!medium->memory)
        return weft_disk_write(medium->self, on_disk(file), call, bytes, size, offset);
    return done(medium, call, memory_write(medium->memory, in_memory(file), bytes, size, offset));
}

int medium_sync(struct medium *medium, struct medium_file *file, struct weft_call *call)
{
    if (!medium->memory)
        return weft_disk_sync(medium->self, on_disk(file), call);
    return done(medium, call, 0);
}

int medium_truncate(struct medium *medium, struct medium_file *file, struct weft_call *call,
                    uint64_t size)
{
    if (!medium->memory)
        return weft_disk_truncate(medium->self, on_disk(file), call, size);
    return done(medium, call, memory_truncate(medium->memory, in_memory(file), size));
}

int medium_rename(struct medium *medium, struct weft_call *call, const char *from, const char *to)
{
    if (!medium->memory)
        return weft_disk_rename(medium->self, call, from, to);
    return done(medium, call, memory_rename(medium->memory, from, to));
}

int medium_remove(struct medium *medium, struct weft_call *call, const char *name)
{
    if (!medium->memory)
        return weft_disk_remove(medium->self, call, name);
    return done(medium, call, memory_remove(medium->memory, name));
}

int medium_list(struct medium *medium, struct weft_call *call, const char *after,
                struct weft_file_entry *entries, uint32_t most)
{
    if (!medium->memory)
        return weft_disk_list(medium->self, call, after, entries, most);
    return done(medium, call, memory_list(medium->memory, after, entries, most));
}

void medium_run(struct medium *medium)
{
    struct weft_call *call;
    while (medium->memory && (call = memory_files_next(medium->memory)))
        call->done(medium->self, call);
}
