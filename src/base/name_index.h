#pragma once
/* name_index: numbers names in the order in which they were first added. Finding and adding take
 * constant time. The index owns copies of the names.
 *
 * base/intern.h does the same for records of one size and can remove the newest; it stores no
 * offset, size and hash per record, of which it may contain millions. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

#define NAME_NONE UINT32_MAX

struct name_entry {
    size_t offset; /* of its first byte in `letters` */
    uint32_t size;
    uint32_t hash;
};

struct name_index {
    struct text letters; /* all names, each followed by a zero byte */
    struct name_entry *entries;
    size_t entry_capacity;
    uint32_t count;
    uint32_t *slots;    /* open addressing: a number, or NAME_NONE */
    uint32_t slot_mask; /* slots - 1; slots are a power of two, or none yet */
};

void name_index_fini(struct name_index *index);

/* The number of a name, or NAME_NONE. */
uint32_t name_index_find(const struct name_index *index, const char *name, size_t size);

/* Returns the number of a name, a new one if the name is new; false if there is no memory. */
MUST_CHECK bool name_index_add(struct name_index *index, const char *name, size_t size,
                               uint32_t *number);

/* Borrowed; valid until the next name is added. */
const char *name_index_text(const struct name_index *index, uint32_t number);
