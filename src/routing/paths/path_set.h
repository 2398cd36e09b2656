#pragma once
/* path_set: some paths for each pair of a list, as lists of channels. The set owns its arrays.
 *
 * Paths of pair i are those from pair_first[i] to pair_first[i + 1] - 1, hops of path p those from
 * path_first[p] to path_first[p + 1] - 1. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct path_set {
    size_t pair_count;
    size_t path_count;
    size_t hop_count;
    size_t *pair_first; /* pair_count + 1 */
    size_t *path_first; /* path_count + 1 */
    uint32_t *channels; /* hop_count, in the order of travel */

    size_t pair_capacity, path_capacity, hop_capacity; /* of the three arrays */
};

void path_set_fini(struct path_set *set);

/* Removes all pairs and keeps the memory. */
static inline void path_set_clear(struct path_set *set)
{
    set->pair_count = set->path_count = set->hop_count = 0;
}

/* Pairs and their paths are added in order: path_set_pair begins the next pair, path_set_path adds
 * a path to the last pair. A zeroed set is empty and ready. */
MUST_CHECK enum err path_set_pair(struct path_set *set, struct why *why);
MUST_CHECK enum err path_set_path(struct path_set *set, const uint32_t *channels, size_t hops,
                                  struct why *why);

static inline size_t path_set_hops(const struct path_set *set, size_t path)
{
    return set->path_first[path + 1] - set->path_first[path];
}

/* Borrowed, path_set_hops entries; valid until the next path is added. */
static inline const uint32_t *path_set_channels(const struct path_set *set, size_t path)
{
    return set->channels + set->path_first[path];
}

/* The sum of weights, one per channel, along a path. */
static inline double path_set_length(const struct path_set *set, size_t path, const double *weights)
{
    double length = 0;
    for (size_t h = set->path_first[path]; h < set->path_first[path + 1]; h++)
        length += weights[set->channels[h]];
    return length;
}
