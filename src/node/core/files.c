/* files: the functions of weft/disk.h.
 *
 * The node checks a call, copies it into one of the operations that the service has, and gives it
 * to the world (base/env.h). It keeps account of what the service may do: which names are open, how
 * many operations of a file are under way, and whether one of them needs the file alone. The order
 * among operations is the world's. */

#include <weft/disk.h>

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/list.h"
#include "node/core/node_impl.h"

static_assert(WEFT_DISK_NAME_MAX == DISK_NAME_MAX, "one limit");

struct weft_file {
    struct disk_file disk;
    char name[DISK_NAME_MAX + 1]; /* empty: this slot is free */
    uint32_t under_way;           /* operations */
    bool alone;                   /* one of them needs the file alone: open, close, truncate */
};

struct operation {
    struct disk_operation disk;
    struct weft_self *self;
    struct weft_file *file; /* NULL: it concerns names only */
    struct weft_call *call; /* NULL: this operation is free ... */
    struct operation *next; /* ... and this is the next free one */
};

struct service_files {
    struct weft_file *files; /* as many as the service declares */
    struct operation *operations;
    struct operation *free;
};

static bool name_is_valid(const char *name)
{
    size_t size = strnlen(name, DISK_NAME_MAX + 1);
    if (!size || size > DISK_NAME_MAX || name[0] == '.')
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789-_.") == size;
}

bool files_add(struct weft_self *self)
{
    struct arena *arena = &self->node->arena;
    struct service_files *files = arena_take(arena, sizeof *files);
    if (!files)
        return false;
    files->files = arena_take_array(arena, self->service->files, sizeof *files->files);
    files->operations = arena_take_array(arena, WEFT_DISK_CALLS, sizeof *files->operations);
    if (!files->files || !files->operations)
        return false;
    for (unsigned i = 0; i < WEFT_DISK_CALLS; i++) {
        files->operations[i].self = self;
        files->operations[i].next = files->free;
        files->free = &files->operations[i];
    }
    self->files = files;
    return true;
}

void files_end(struct node *node)
{
    if (node->env->ops->disk_end)
        node->env->ops->disk_end(node->env);
}

/* ---- beginning and end of an operation ---- */

static int mistake(struct weft_self *self, const char *function, const char *text)
{
    service_mistake(self, function, text);
    return -EINVAL;
}

static bool call_is_under_way(const struct service_files *files, const struct weft_call *call)
{
    /* The service may have left any value there, so it is not used before it has been checked. */
    uintptr_t offset = (uintptr_t)call->reserved[0] - (uintptr_t)files->operations;
    size_t index = offset / sizeof *files->operations;
    return index < WEFT_DISK_CALLS && offset % sizeof *files->operations == 0 &&
           files->operations[index].call == call;
}

/* Checks what all calls have in common. */
static int call_check(struct weft_self *self, const struct weft_call *call, const char *function)
{
    if (self->node->stopping)
        return -ESHUTDOWN;
    if (!self->files || !self->node->env->ops->disk)
        return -ENODEV;
    if (!call || !call->done)
        return mistake(self, function, "the call has no done()");
    if (call_is_under_way(self->files, call))
        return mistake(self, function, "the call is under way already");
    return self->files->free ? 0 : -EAGAIN;
}

static bool file_is_ours(const struct weft_self *self, const struct weft_file *file)
{
    const struct service_files *files = self->files;
    return file >= files->files && file < files->files + self->service->files && file->name[0];
}

/* The same for calls on an open file. `alone`: the call needs the file alone. */
static int file_check(struct weft_self *self, const struct weft_file *file,
                      const struct weft_call *call, bool alone, const char *function)
{
    int result = call_check(self, call, function);
    if (result)
        return result;
    if (!file_is_ours(self, file))
        return mistake(self, function, "the file is not open");
    return file->alone || (alone && file->under_way) ? -EBUSY : 0;
}

static struct weft_file *file_find(const struct weft_self *self, const char *name)
{
    for (uint32_t i = 0; i < self->service->files; i++)
        if (strcmp(self->files->files[i].name, name) == 0)
            return &self->files->files[i];
    return NULL;
}

static int name_check(struct weft_self *self, const char *name, const char *function)
{
    return name && name_is_valid(name)
               ? 0
               : mistake(self, function,
                         "a name has 1 to 64 letters, digits, '-', '_' and '.', and does not "
                         "begin with a dot");
}

/* Has the open, close or truncation of a file ended? Then others may use it, or its slot. */
static void file_settle(struct weft_file *file, enum disk_kind kind, int64_t result)
{
    file->under_way--;
    if (kind == DISK_CLOSE || (kind == DISK_OPEN && result < 0))
        *file = (struct weft_file){0};
    else if (kind == DISK_OPEN || kind == DISK_TRUNCATE)
        file->alone = false;
}

static void operation_done(struct disk_operation *disk)
{
    struct operation *operation = container_of(disk, struct operation, disk);
    struct weft_self *self = operation->self;
    struct weft_call *call = operation->call;
    struct service_files *files = self->files;
    assert(call && !self->node->stopping);
    int64_t result = disk->result;
    self->disk_calls++;
    self->disk_failed += result < 0;
    if (disk->kind == DISK_READ && result > 0)
        self->disk_bytes_read += (uint64_t)result;
    if ((disk->kind == DISK_WRITE || disk->kind == DISK_APPEND) && result >= 0)
        self->disk_bytes_written += disk->size;
    if (operation->file)
        file_settle(operation->file, disk->kind, result);
    operation->call = NULL;
    operation->next = files->free;
    files->free = operation;
    call->result = result;
    links_glance(self->node);
    callback_begin(self, CALLBACK_DONE);
    call->done(self, call);
    callback_end(self);
}

/* Everything was checked: takes a free operation. */
static struct operation *operation_take(struct weft_self *self, struct weft_call *call,
                                        struct weft_file *file, enum disk_kind kind)
{
    struct operation *operation = self->files->free;
    self->files->free = operation->next;
    operation->call = call;
    operation->file = file;
    operation->disk = (struct disk_operation){
        .kind = kind,
        .folder = self->service->name,
        .file = file ? &file->disk : NULL,
        .done = operation_done,
    };
    call->reserved[0] = operation;
    if (file)
        file->under_way++;
    return operation;
}

static int operation_begin(struct weft_self *self, struct operation *operation)
{
    self->node->env->ops->disk(self->node->env, &operation->disk);
    return 0;
}

/* ---- open files ---- */

int weft_disk_open(struct weft_self *self, struct weft_call *call, const char *name,
                   enum weft_open how, struct weft_file **file)
{
    int result = call_check(self, call, "weft_disk_open");
    if (!result)
        result = name_check(self, name, "weft_disk_open");
    if (!result && how != WEFT_OPEN_CREATE && how != WEFT_OPEN_EXISTING)
        result = mistake(self, "weft_disk_open", "there is no such way to open");
    if (result)
        return result;
    if (file_find(self, name))
        return -EBUSY;
    struct weft_file *found = file_find(self, "");
    if (!found)
        return -ENFILE;
    struct operation *operation = operation_take(self, call, found, DISK_OPEN);
    found->alone = true;
    memcpy(found->name, name, strlen(name) + 1);
    memcpy(operation->disk.name, found->name, sizeof found->name);
    operation->disk.create = how == WEFT_OPEN_CREATE;
    *file = found;
    return operation_begin(self, operation);
}

int weft_disk_close(struct weft_self *self, struct weft_file *file, struct weft_call *call)
{
    int result = file_check(self, file, call, true, "weft_disk_close");
    if (result)
        return result;
    file->alone = true;
    return operation_begin(self, operation_take(self, call, file, DISK_CLOSE));
}

static int move(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                const struct disk_operation *move, const char *function)
{
    int result = file_check(self, file, call, false, function);
    if (result)
        return result;
    if (move->size > WEFT_DISK_SIZE_MAX || move->offset > INT64_MAX - WEFT_DISK_SIZE_MAX)
        return mistake(self, function, "the size or the offset is too large");
    if (!move->bytes && move->size)
        return mistake(self, function, "there is no memory to move");
    struct operation *operation = operation_take(self, call, file, move->kind);
    operation->disk.bytes = move->bytes;
    operation->disk.size = move->size;
    operation->disk.offset = move->offset;
    return operation_begin(self, operation);
}

int weft_disk_read(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                   void *bytes, uint32_t size, uint64_t offset)
{
    const struct disk_operation read = {
        .kind = DISK_READ, .bytes = bytes, .size = size, .offset = offset};
    return move(self, file, call, &read, "weft_disk_read");
}

int weft_disk_write(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                    const void *bytes, uint32_t size, uint64_t offset)
{
    const struct disk_operation write = {
        .kind = DISK_WRITE, .bytes = (void *)bytes, .size = size, .offset = offset};
    return move(self, file, call, &write, "weft_disk_write");
}

int weft_disk_append(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                     const void *bytes, uint32_t size)
{
    const struct disk_operation append = {
        .kind = DISK_APPEND, .bytes = (void *)bytes, .size = size};
    return move(self, file, call, &append, "weft_disk_append");
}

int weft_disk_sync(struct weft_self *self, struct weft_file *file, struct weft_call *call)
{
    int result = file_check(self, file, call, false, "weft_disk_sync");
    return result ? result : operation_begin(self, operation_take(self, call, file, DISK_SYNC));
}

int weft_disk_size(struct weft_self *self, struct weft_file *file, struct weft_call *call)
{
    int result = file_check(self, file, call, false, "weft_disk_size");
    return result ? result : operation_begin(self, operation_take(self, call, file, DISK_SIZE));
}

int weft_disk_truncate(struct weft_self *self, struct weft_file *file, struct weft_call *call,
                       uint64_t size)
{
    int result = file_check(self, file, call, true, "weft_disk_truncate");
    if (result)
        return result;
    if (size > INT64_MAX)
        return mistake(self, "weft_disk_truncate", "the size is too large");
    struct operation *operation = operation_take(self, call, file, DISK_TRUNCATE);
    file->alone = true;
    operation->disk.offset = size;
    return operation_begin(self, operation);
}

/* ---- names ---- */

int weft_disk_rename(struct weft_self *self, struct weft_call *call, const char *from,
                     const char *to)
{
    int result = call_check(self, call, "weft_disk_rename");
    if (!result)
        result = name_check(self, from, "weft_disk_rename");
    if (!result)
        result = name_check(self, to, "weft_disk_rename");
    if (result)
        return result;
    if (file_find(self, from) || file_find(self, to))
        return -EBUSY;
    struct operation *operation = operation_take(self, call, NULL, DISK_RENAME);
    memcpy(operation->disk.name, from, strlen(from) + 1);
    memcpy(operation->disk.to, to, strlen(to) + 1);
    return operation_begin(self, operation);
}

int weft_disk_remove(struct weft_self *self, struct weft_call *call, const char *name)
{
    int result = call_check(self, call, "weft_disk_remove");
    if (!result)
        result = name_check(self, name, "weft_disk_remove");
    if (result)
        return result;
    if (file_find(self, name))
        return -EBUSY;
    struct operation *operation = operation_take(self, call, NULL, DISK_REMOVE);
    memcpy(operation->disk.name, name, strlen(name) + 1);
    return operation_begin(self, operation);
}

int weft_disk_list(struct weft_self *self, struct weft_call *call, const char *after,
                   struct weft_file_entry *entries, uint32_t most)
{
    int result = call_check(self, call, "weft_disk_list");
    if (!result && after && after[0])
        result = name_check(self, after, "weft_disk_list");
    if (result)
        return result;
    if (!entries && most)
        return mistake(self, "weft_disk_list", "there is no memory for the entries");
    struct operation *operation = operation_take(self, call, NULL, DISK_LIST);
    if (after)
        memcpy(operation->disk.name, after, strlen(after) + 1);
    operation->disk.bytes = entries;
    operation->disk.size = most;
    return operation_begin(self, operation);
}
