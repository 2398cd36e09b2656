#pragma once
/* memfile: memory without a name that two processes map. It is sealed against
 * shrinking, so that a peer cannot make our reads fault, and vanishes with the
 * last process that has it: nothing is left after a kill. */

#include <stddef.h>

#include "base/err.h"

struct memfile {
    int fd; /* owned; -1 when closed */
    void *base;
    size_t size;
    int writable;
};

/* Zeroed, page-aligned, sealed. Negative errno. */
MUST_CHECK int memfile_open(struct memfile *file, const char *label, size_t size);

/* Maps what a peer sent. Takes over the descriptor, also on failure. Refuses
 * (-EPROTO) what is not a memory file, is not sealed against shrinking, or is
 * not of exactly `size` bytes. */
MUST_CHECK int memfile_map(struct memfile *file, int fd, size_t size, int writable);

/* A descriptor of the same memory to give away, read-only or not; the
 * caller's to close. */
MUST_CHECK int memfile_share(const struct memfile *file, int writable);

/* Its pages are there from here on, so that touching them cannot fault. -ENOMEM: they would
 * not be; so much that it is hopeless is refused before a page is touched, lest the system
 * end some process to find them. */
MUST_CHECK int memfile_reserve(const struct memfile *file);

/* What the system could still give, by its own word; SIZE_MAX if it says nothing. */
size_t memfile_available(void);

/* Other memory at the same address: that of `by`, of the same size, which is closed. With
 * `keep` it gets what the file holds. Threads that read meanwhile read the one or the other;
 * who has mapped the file elsewhere keeps what was. On failure both are as before. */
MUST_CHECK int memfile_replace(struct memfile *file, struct memfile *by, int keep);

void memfile_close(struct memfile *file);
