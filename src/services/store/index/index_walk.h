#pragma once
/* index_walk: the entries of several groups of an index, in the order of their keys. Pure. Nothing
 * may be added to the index or removed during a walk. */

#include "services/store/index/index.h"

struct index_place {
    const struct index_entry *entry;
    uint32_t group;
    uint32_t tag;
};

struct index_walk {
    const struct index *index; /* borrowed */
    struct index_key prefix;
    struct index_place *heap; /* borrowed; the next entry of each group, the first one on top */
    uint32_t count;
};

/* The memory has a place for each group that is added. Only keys that begin with the prefix. */
void index_walk_init(struct index_walk *walk, const struct index *index, struct index_key prefix,
                     struct index_place *memory);
/* Before the first step: a group's keys after `after`, or all if that is NULL. */
void index_walk_add(struct index_walk *walk, uint32_t group, uint32_t tag,
                    const struct index_key *after);
/* Returns the next entry, and the tag that its group was given; NULL: there are no more. */
const struct index_entry *index_walk_next(struct index_walk *walk, uint32_t *tag);
