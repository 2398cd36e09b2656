#pragma once
/* index: the keys that a server of the store holds, in memory. Pure.
 *
 * The entries of each placement group form a binary radix tree (a crit-bit tree) over their keys.
 * Keys are ordered as memcmp orders them; of two keys of which one begins with the other, the
 * shorter one comes first. All memory is one region of the caller, so the index holds as many
 * entries as the region has room for.
 *
 * The index owns the entries. An entry keeps its address until it is removed. The caller may write
 * the members of an entry that a comment calls the caller's; the index depends on the others. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "services/store/index/blocks.h"

#define INDEX_KEY_SIZE_MAX 250
#define INDEX_OFFSET_UNIT  16 /* values begin at multiples of this in their segment */
#define INDEX_OVERHEAD_MAX 64 /* bytes of memory for a key, besides its own bytes */
#define INDEX_GROUP_SIZE   16 /* bytes of memory for each group, also for an empty one */

enum index_kind {
    INDEX_VALUE = 1, /* 0 marks the inner nodes of a tree */
    INDEX_TOMBSTONE, /* the key was removed from the store; the entry keeps the version */
};

struct index_key {
    const uint8_t *bytes; /* borrowed; any bytes; may be NULL if the key is empty */
    uint32_t size;        /* at most INDEX_KEY_SIZE_MAX */
};

struct index_entry {
    uint8_t kind; /* an enum index_kind; index_change sets it */
    uint8_t key_size;
    uint16_t flags;      /* the caller's */
    uint32_t segment;    /* the caller's: where the value is */
    uint64_t version;    /* index_change sets it */
    int64_t expiry;      /* the caller's; 0: none */
    uint32_t offset;     /* the caller's: in the segment, in units of INDEX_OFFSET_UNIT */
    uint32_t value_size; /* the caller's */
    uint8_t key[];
};

struct index_group; /* index.c */

struct index {
    struct index_group *groups; /* at the start of the region */
    uint32_t group_count;
    uint64_t count; /* entries in all groups */
    /* Of the region after the groups: `blocks.used` and blocks_unused() tell how full it is. */
    struct blocks blocks;
};

/* Groups have the numbers below `group_count`. The address of the memory is a multiple of 8; the
 * memory is filled with zeros and stays the caller's. A page that no entry needs is not touched. At
 * most BLOCKS_REGION_MAX bytes besides the groups are used. False: the memory has no room for the
 * groups. */
MUST_CHECK bool index_init(struct index *index, void *memory, uint64_t size, uint32_t group_count);

/* Removes all entries at once: those are invalid. */
void index_clear(struct index *index);

/* NULL if the group has no such key. */
struct index_entry *index_find(const struct index *index, uint32_t group, struct index_key key);

/* Adds an entry; its members that are the caller's are 0. If the group has the key already, the
 * result is that entry, unchanged, and `*is_new` is false. NULL: the region is full, and the index
 * is unchanged. */
struct index_entry *index_insert(struct index *index, uint32_t group, struct index_key key,
                                 uint64_t version, enum index_kind kind, bool *is_new);

/* Sets the version and the kind of an entry of the group. */
void index_change(struct index *index, uint32_t group, struct index_entry *entry, uint64_t version,
                  enum index_kind kind);

/* The entry must be in the group. It becomes invalid. */
void index_remove(struct index *index, uint32_t group, struct index_entry *entry);

/* The first entry of the group, in the order of the keys, whose key comes after `after` and begins
 * with `prefix`; NULL if there is none. `after` need not be a key of the group; if it is NULL, the
 * search begins at the first key. Entries may be added and removed between calls. */
struct index_entry *index_next(const struct index *index, uint32_t group,
                               const struct index_key *after, struct index_key prefix);

/* Removes at most `most` entries of the group. True: the group is empty now. */
bool index_drop(struct index *index, uint32_t group, uint32_t most);

uint32_t index_count(const struct index *index, uint32_t group); /* entries of the group */

/* The sum of a hash of the key and the version of each value. It depends neither on the order of
 * the operations nor on the machine, so two servers whose digests of a group are equal hold, almost
 * certainly, the same keys in the same versions. Tombstones do not count, because each server
 * forgets them by itself. It is no defence against deliberate collisions. */
uint64_t index_digest(const struct index *index, uint32_t group);

static inline struct index_key index_key_of(const struct index_entry *entry)
{
    return (struct index_key){entry->key, entry->key_size};
}

/* Is more than 7/8 of the region in use? Then new keys of clients are refused. The rest is for what
 * a server cannot refuse: its share may be larger than that of the server that decides. */
static inline bool index_is_tight(const struct index *index)
{
    return index->blocks.used > index->blocks.unit_count * BLOCKS_UNIT / 8 * 7;
}

/* Asserts the invariants of the whole index; takes a time proportional to its size. */
void index_check(const struct index *index);
