#include "routing/paths/path_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

void path_set_fini(struct path_set *set)
{
    free(set->pair_first);
    free(set->path_first);
    free(set->channels);
    *set = (struct path_set){0};
}

enum err path_set_pair(struct path_set *set, struct why *why)
{
    if (!array_reserve(&set->pair_first, &set->pair_capacity, set->pair_count + 2,
                       sizeof *set->pair_first))
        return why_memory(why);
    set->pair_first[set->pair_count++] = set->path_count;
    set->pair_first[set->pair_count] = set->path_count;
    return OK;
}

enum err path_set_path(struct path_set *set, const uint32_t *channels, size_t hops, struct why *why)
{
    assert(set->pair_count > 0);
    if (!array_reserve(&set->path_first, &set->path_capacity, set->path_count + 2,
                       sizeof *set->path_first) ||
        !array_reserve(&set->channels, &set->hop_capacity, set->hop_count + hops,
                       sizeof *set->channels))
        return why_memory(why);
    if (hops)
        memcpy(set->channels + set->hop_count, channels, hops * sizeof *channels);
    set->path_first[set->path_count++] = set->hop_count;
    set->hop_count += hops;
    set->path_first[set->path_count] = set->hop_count;
    set->pair_first[set->pair_count] = set->path_count;
    return OK;
}
