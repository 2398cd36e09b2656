#pragma once
/* path_class: the loopless paths of one length between two nodes: all of them, or some drawn
 * uniformly at random. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/rng.h"
#include "routing/paths/walk_table.h"

struct path_class {
    size_t count;
    uint32_t hops;      /* of each path */
    uint32_t *channels; /* count * hops, path after path; owned */
    size_t channel_capacity;

    /* the current walk, by the number of hops so far */
    uint32_t *nodes, *next, *slacks;
    bool *passed; /* per node: the walk has visited it */

    uint32_t *seen; /* hash table of the paths drawn: a path's number plus one, or 0 */
    size_t seen_capacity;
};

MUST_CHECK enum err path_class_init(struct path_class *class, const struct graph *graph,
                                    struct why *why);
void path_class_fini(struct path_class *class);

/* Both functions find paths to the table's target whose length is the distance plus `slack`; that
 * level of the table must be ready. Both replace the contents of the class. If they give up, they
 * set *complete to false, and the contents are unusable. */

/* All paths, unless there are more than path_max, or more than work_max ports have to be
 * examined. */
MUST_CHECK enum err path_class_list(struct path_class *class, const struct walk_table *table,
                                    uint32_t from, uint32_t slack, size_t path_max,
                                    uint64_t work_max, bool *complete, struct why *why);

/* `count` different paths; every set of that size is equally likely (up to the rounding of the
 * table's counts). Gives up if try_max draws do not yield `count` paths, or if first_max draws
 * yield no path at all. A draw that is not loopless, or is known already, does not count. */
MUST_CHECK enum err path_class_draw(struct path_class *class, const struct walk_table *table,
                                    uint32_t from, uint32_t slack, size_t count, uint64_t first_max,
                                    uint64_t try_max, struct rng *rng, bool *complete,
                                    struct why *why);

static inline const uint32_t *path_class_path(const struct path_class *class, size_t index)
{
    return class->channels + index * class->hops;
}
