#pragma once
/* memfile: memory without a name that two processes map. It is sealed against shrinking, so that a
 * peer cannot make our reads fault. It vanishes when the last process that has it ends, so a killed
 * process leaves nothing behind. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct memfile {
    int fd; /* owned; -1 when closed */
    void *base;
    size_t size;
    int writable;
};

/* The memory is zeroed, page-aligned and sealed. Returns 0 or a negative errno. */
MUST_CHECK int memfile_open(struct memfile *file, const char *label, size_t size);

/* Maps a file that a peer sent. Takes over the descriptor, even on failure. Refuses (-EPROTO) a
 * file that is not a memory file, is not sealed against shrinking, or does not have exactly `size`
 * bytes. */
MUST_CHECK int memfile_map(struct memfile *file, int fd, size_t size, int writable);

/* Returns another descriptor of the same memory, read-only or writable, to give away. The caller
 * closes it. */
MUST_CHECK int memfile_share(const struct memfile *file, int writable);

/* Memory of this process that is mapped from a memory file. */
struct memfile_range {
    uintptr_t begin, end;
};

/* Finds all memory that is mapped from memory files with that label, also by the parent before a
 * fork. Returns their number, or a negative errno: -ENOMEM, or that of opening /proc/self/maps. The
 * caller frees the array; NULL if there is none. */
MUST_CHECK int memfiles_mapped(const char *label, struct memfile_range **ranges);

/* Allocates the pages now, so that touching them later cannot fault. -ENOMEM: there is not enough
 * memory. A hopelessly large request is refused before a page is touched, so that the system does
 * not kill some process to find memory. */
MUST_CHECK int memfile_reserve(const struct memfile *file);

/* How much memory the system says it can still give; SIZE_MAX if it does not say. */
size_t memfile_available(void);

/* Replaces the memory at the address of `file` by that of `by`, which has the same size and is then
 * closed. With `keep` the new memory first receives the old contents. Threads that read meanwhile
 * read either the old or the new memory; a process that has mapped the file elsewhere keeps the old
 * memory. On failure both files are unchanged. */
MUST_CHECK int memfile_replace(struct memfile *file, struct memfile *by, int keep);

void memfile_close(struct memfile *file);
