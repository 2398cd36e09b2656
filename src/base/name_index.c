/* name_index: a table of slots with linear probing, at most half full. The names are in one growing
 * text, so a hundred thousand names take a few allocations. */
#include "base/name_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void name_index_fini(struct name_index *index)
{
    text_fini(&index->letters);
    free(index->entries);
    free(index->slots);
    *index = (struct name_index){0};
}

/* FNV-1a, then a mixing step: without it consecutive numbers share low bits. */
static uint32_t name_hash(const char *name, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(hash >> 32);
}

/* The slot that contains the name, or the free slot for it. */
static uint32_t slot_find(const struct name_index *index, const char *name, size_t size,
                          uint32_t hash)
{
    for (uint32_t slot = hash & index->slot_mask;; slot = (slot + 1) & index->slot_mask) {
        uint32_t number = index->slots[slot];
        if (number == NAME_NONE)
            return slot;
        const struct name_entry *entry = &index->entries[number];
        if (entry->hash == hash && entry->size == size &&
            memcmp(index->letters.data + entry->offset, name, size) == 0)
            return slot;
    }
}

uint32_t name_index_find(const struct name_index *index, const char *name, size_t size)
{
    if (!index->slots)
        return NAME_NONE;
    return index->slots[slot_find(index, name, size, name_hash(name, size))];
}

static bool slots_grow(struct name_index *index)
{
    size_t wanted = index->slots ? 2 * ((size_t)index->slot_mask + 1) : 64;
    if (wanted > UINT32_MAX)
        return false;
    uint32_t *slots = array_new(wanted, sizeof *slots);
    if (!slots)
        return false;
    memset(slots, 0xff, wanted * sizeof *slots); /* all NAME_NONE */
    free(index->slots);
    index->slots = slots;
    index->slot_mask = (uint32_t)(wanted - 1);
    for (uint32_t number = 0; number < index->count; number++) {
        uint32_t slot = index->entries[number].hash & index->slot_mask;
        while (slots[slot] != NAME_NONE)
            slot = (slot + 1) & index->slot_mask;
        slots[slot] = number;
    }
    return true;
}

bool name_index_add(struct name_index *index, const char *name, size_t size, uint32_t *number)
{
    if (!index->slots || index->count > index->slot_mask / 2)
        if (!slots_grow(index))
            return false;
    uint32_t hash = name_hash(name, size), slot = slot_find(index, name, size, hash);
    *number = index->slots[slot];
    if (*number != NAME_NONE)
        return true;
    if (size > UINT32_MAX || !array_reserve(&index->entries, &index->entry_capacity,
                                            (size_t)index->count + 1, sizeof *index->entries))
        return false;
    size_t offset = index->letters.size;
    text_add(&index->letters, name, size);
    text_add(&index->letters, "", 1);
    if (!text_ok(&index->letters))
        return false;
    index->entries[index->count] =
        (struct name_entry){.offset = offset, .size = (uint32_t)size, .hash = hash};
    index->slots[slot] = index->count;
    *number = index->count++;
    return true;
}

const char *name_index_text(const struct name_index *index, uint32_t number)
{
    assert(number < index->count);
    return index->letters.data + index->entries[number].offset;
}
