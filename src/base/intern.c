/* intern: a table of slots with linear probing, at most half full. Only the newest record can be
 * removed, which keeps removal simple: no other record was displaced because of it. */
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void intern_fini(struct intern *intern)
{
    free(intern->records);
    free(intern->slots);
    *intern = (struct intern){.size = intern->size};
}

static uint32_t record_hash(const struct intern *intern, const void *record)
{
    const unsigned char *bytes = record;
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < intern->size; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * 0xd6e8feb86659fd93u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* The slot that contains the record, or the free slot for it. */
static uint32_t slot_find(const struct intern *intern, const void *record)
{
    uint32_t slot = record_hash(intern, record) & intern->slot_mask;
    while (intern->slots[slot] != INTERN_NONE &&
           memcmp(intern_record(intern, intern->slots[slot]), record, intern->size) != 0)
        slot = (slot + 1) & intern->slot_mask;
    return slot;
}

void intern_clear(struct intern *intern)
{
    if (!intern->slots)
        return;
    /* One by one if that is cheaper than clearing the whole table. */
    if (intern->count < intern->slot_mask / 16)
        while (intern->count)
            intern_pop(intern);
    else
        memset(intern->slots, 0xff, ((size_t)intern->slot_mask + 1) * sizeof *intern->slots);
    intern->count = 0;
}

static bool slots_grow(struct intern *intern)
{
    size_t wanted = intern->slots ? 2 * ((size_t)intern->slot_mask + 1) : 64;
    if (wanted > UINT32_MAX)
        return false;
    uint32_t *slots = array_new(wanted, sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, wanted * sizeof *slots); /* all INTERN_NONE */
    free(intern->slots);
    intern->slots = slots;
    intern->slot_mask = (uint32_t)(wanted - 1);
    for (uint32_t number = 0; number < intern->count; number++)
        slots[slot_find(intern, intern_record(intern, number))] = number;
    return true;
}

bool intern_add(struct intern *intern, const void *record, uint32_t *number, bool *new)
{
    assert(intern->size > 0 && intern->size % 4 == 0);
    if (!intern->slots || intern->count > intern->slot_mask / 2)
        if (!slots_grow(intern))
            return false;
    uint32_t slot = slot_find(intern, record);
    *number = intern->slots[slot];
    *new = *number == INTERN_NONE;
    if (!*new)
        return true;
    if (!array_reserve(&intern->records, &intern->capacity, (size_t)intern->count + 1,
                       intern->size))
        return false;
    memcpy(intern->records + intern->count * intern->size, record, intern->size);
    *number = intern->slots[slot] = intern->count++;
    return true;
}

uint32_t intern_find(const struct intern *intern, const void *record)
{
    return intern->slots ? intern->slots[slot_find(intern, record)] : INTERN_NONE;
}

void intern_pop(struct intern *intern)
{
    assert(intern->count > 0);
    uint32_t slot = slot_find(intern, intern_record(intern, intern->count - 1));
    assert(intern->slots[slot] == intern->count - 1);
    intern->slots[slot] = INTERN_NONE;
    intern->count--;
}
