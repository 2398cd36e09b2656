#pragma once
/* intern: numbers for records of one size, in the order in which they were
 * first seen. Finding and adding take constant time. Records are compared as
 * bytes, so they must have no padding. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define INTERN_NONE UINT32_MAX

struct intern {
    size_t size;            /* bytes of one record, a multiple of 4; set by the owner first */
    unsigned char *records; /* owned; count of them */
    size_t capacity;        /* of records */
    uint32_t count;
    uint32_t *slots;    /* owned; open addressing: a number, or INTERN_NONE */
    uint32_t slot_mask; /* slots - 1; slots are a power of two, or none yet */
};

void intern_fini(struct intern *intern);

/* Forgets all records and keeps the memory. */
void intern_clear(struct intern *intern);

/* The number of a record, given one if it is new; false when memory is short. */
MUST_CHECK bool intern_add(struct intern *intern, const void *record, uint32_t *number, bool *new);

/* The number of a record, or INTERN_NONE. */
uint32_t intern_find(const struct intern *intern, const void *record);

/* Forgets the record that was given the highest number. */
void intern_pop(struct intern *intern);

/* Borrowed; valid until the next one is added. */
static inline const void *intern_record(const struct intern *intern, uint32_t number)
{
    return intern->records + number * intern->size;
}
