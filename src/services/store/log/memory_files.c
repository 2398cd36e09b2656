/* memory_files: see the header. */
#include "services/store/log/memory_files.h"

#include <errno.h>
#include <string.h>

struct memory_file {
    char name[WEFT_DISK_NAME_MAX + 1]; /* empty: the slot is free */
    uint64_t size;
    uint8_t *bytes;
};

static uint64_t table_size(uint32_t count)
{
    return ((uint64_t)count * sizeof(struct memory_file) + 15) / 16 * 16;
}

uint64_t memory_files_size(uint64_t slot, uint32_t count)
{
    return table_size(count) + slot * count;
}

void memory_files_init(struct memory_files *files, void *memory, uint64_t slot, uint32_t count)
{
    *files = (struct memory_files){
        .memory = (uint8_t *)memory + table_size(count),
        .slot = slot,
        .count = count,
        .files = memory,
    };
    memory_files_clear(files);
}

void memory_files_clear(struct memory_files *files)
{
    for (uint32_t i = 0; i < files->count; i++)
        files->files[i] = (struct memory_file){.bytes = files->memory + i * files->slot};
}

static struct memory_file *find(const struct memory_files *files, const char *name)
{
    for (uint32_t i = 0; i < files->count; i++) {
        if (strcmp(files->files[i].name, name) == 0)
            return &files->files[i];
    }
    return NULL;
}

static int64_t name_file(struct memory_file *file, const char *name)
{
    size_t size = strlen(name);
    if (size == 0 || size > WEFT_DISK_NAME_MAX)
        return -EINVAL;
    memcpy(file->name, name, size + 1);
    return 0;
}

int64_t memory_open(struct memory_files *files, const char *name, bool create,
                    struct memory_file **file)
{
    *file = find(files, name);
    if (*file)
        return (int64_t)(*file)->size;
    if (!create)
        return -ENOENT;
    *file = find(files, "");
    if (!*file)
        return -ENOSPC;
    (*file)->size = 0;
    return name_file(*file, name);
}

int64_t memory_read(const struct memory_file *file, void *bytes, uint32_t size, uint64_t offset)
{
    if (offset >= file->size)
        return 0;
    if (size > file->size - offset)
        size = (uint32_t)(file->size - offset);
    memcpy(bytes, file->bytes + offset, size);
    return size;
}

int64_t memory_write(const struct memory_files *files, struct memory_file *file, const void *bytes,
                     uint32_t size, uint64_t offset)
{
    if (offset > files->slot || size > files->slot - offset)
        return -ENOSPC;
    memcpy(file->bytes + offset, bytes, size);
    if (offset + size > file->size)
        file->size = offset + size;
    return size;
}

int64_t memory_truncate(const struct memory_files *files, struct memory_file *file, uint64_t size)
{
    if (size > files->slot)
        return -ENOSPC;
    file->size = size;
    return 0;
}

int64_t memory_remove(struct memory_files *files, const char *name)
{
    struct memory_file *file = find(files, name);
    if (!file)
        return -ENOENT;
    file->name[0] = 0;
    return 0;
}

int64_t memory_rename(struct memory_files *files, const char *from, const char *to)
{
    struct memory_file *file = find(files, from);
    if (!file)
        return -ENOENT;
    (void)memory_remove(files, to);
    return name_file(file, to);
}

/* The first name after that one. */
static const struct memory_file *next(const struct memory_files *files, const char *after)
{
    const struct memory_file *first = NULL;
    for (uint32_t i = 0; i < files->count; i++) {
        const struct memory_file *file = &files->files[i];
        if (strcmp(file->name, after) > 0 && (!first || strcmp(file->name, first->name) < 0))
            first = file;
    }
    return first;
}

int64_t memory_list(const struct memory_files *files, const char *after,
                    struct weft_file_entry *entries, uint32_t most)
{
    uint32_t count = 0;
    const struct memory_file *file = next(files, after ? after : "");
    for (; file && count < most; count++) {
        entries[count].size = file->size;
        memcpy(entries[count].name, file->name, sizeof file->name);
        file = next(files, file->name);
    }
    return count;
}

/* ---- calls whose result is known ---- */

void memory_files_done(struct memory_files *files, struct weft_call *call, int64_t result)
{
    bool is_first = !files->first;
    call->result = result;
    call->reserved[0] = NULL; /* the next one */
    if (is_first)
        files->first = call;
    else
        files->last->reserved[0] = call;
    files->last = call;
    if (is_first && !files->running)
        files->wake(files->owner);
}

struct weft_call *memory_files_next(struct memory_files *files)
{
    struct weft_call *call = files->first;
    files->running = call;
    if (call)
        files->first = call->reserved[0];
    return call;
}
