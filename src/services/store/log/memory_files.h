#pragma once
/* memory_files: files in memory, for a log whose records need not outlive the process. Pure. See
 * medium.h. The functions return what the results of the calls of weft/disk.h would be. */

#include <weft/disk.h>

struct memory_file;

struct memory_files {
    uint8_t *memory;
    uint64_t slot; /* bytes of a file */
    uint32_t count;
    struct memory_file *files;      /* `count` */
    struct weft_call *first, *last; /* that are done */
    bool running;                   /* they are being ended */
    void (*wake)(void *owner);      /* something is done: the owner calls medium_run soon */
    void *owner;
};

uint64_t memory_files_size(uint64_t slot, uint32_t count);
/* The address of the memory is a multiple of 16. */
void memory_files_init(struct memory_files *files, void *memory, uint64_t slot, uint32_t count);
/* Removes all files; none is open. */
void memory_files_clear(struct memory_files *files);

int64_t memory_open(struct memory_files *files, const char *name, bool create,
                    struct memory_file **file);
int64_t memory_read(const struct memory_file *file, void *bytes, uint32_t size, uint64_t offset);
int64_t memory_write(const struct memory_files *files, struct memory_file *file, const void *bytes,
                     uint32_t size, uint64_t offset);
int64_t memory_truncate(const struct memory_files *files, struct memory_file *file, uint64_t size);
int64_t memory_rename(struct memory_files *files, const char *from, const char *to);
int64_t memory_remove(struct memory_files *files, const char *name);
int64_t memory_list(const struct memory_files *files, const char *after,
                    struct weft_file_entry *entries, uint32_t most);

/* ---- calls whose result is known ---- */

void memory_files_done(struct memory_files *files, struct weft_call *call, int64_t result);
struct weft_call *memory_files_next(struct memory_files *files); /* NULL: none */
