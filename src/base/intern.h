#pragma once
/* intern: numbers records of one size in the order in which they were first added. Finding and
 * adding take constant time. Records are compared as bytes, so they must have no padding. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define INTERN_NONE UINT32_MAX

struct intern {
    size_t size;            /* bytes of one record, a multiple of 4; the owner sets it first */
    unsigned char *records; /* owned; count of them */
    size_t capacity;        /* of records */
    uint32_t count;
    uint32_t *slots;    /* owned; open addressing: a number, or INTERN_NONE */
    uint32_t slot_mask; /* slots - 1; slots are a power of two, or none yet */
};

void intern_fini(struct intern *intern);

/* Removes all records and keeps the memory. */
void intern_clear(struct intern *intern);

/* Returns the number of a record, a new one if the record is new; false if there is no memory. */
MUST_CHECK bool intern_add(struct intern *intern, const void *record, uint32_t *number, bool *new);

/* The number of a record, or INTERN_NONE. */
uint32_t intern_find(const struct intern *intern, const void *record);

/* Removes the record with the highest number. */
void intern_pop(struct intern *intern);

/* Borrowed; valid until the next record is added. */
static inline const void *intern_record(const struct intern *intern, uint32_t number)
{
    return intern->records + number * intern->size;
}
