#pragma once
/* name_index: numbers for names, in the order in which they were first seen.
 * Finding and adding take constant time. The index owns copies of the names.
 *
 * base/intern.h does the same for records of one size and can forget the youngest;
 * it keeps no place, size and hash for each, of which it may hold millions. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

#define NAME_NONE UINT32_MAX

struct name_entry {
    size_t offset; /* of its first letter in `letters` */
    uint32_t size;
    uint32_t hash;
};

struct name_index {
    struct text letters; /* all names, each ended by a zero byte */
    struct name_entry *entries;
    size_t entry_capacity;
    uint32_t count;
    uint32_t *slots;    /* open addressing: a number, or NAME_NONE */
    uint32_t slot_mask; /* slots - 1; slots are a power of two, or none yet */
};

void name_index_fini(struct name_index *index);

/* The number of a name, or NAME_NONE. */
uint32_t name_index_find(const struct name_index *index, const char *name, size_t size);

/* The number of a name, given one if it is new; false when memory is short. */
MUST_CHECK bool name_index_add(struct name_index *index, const char *name, size_t size,
                               uint32_t *number);

/* Borrowed; valid until the next name is added. */
const char *name_index_text(const struct name_index *index, uint32_t number);
