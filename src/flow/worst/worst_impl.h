#pragma once
/* worst_impl: the matrices of worst_find, one per class of channels, and the
 * heaviest permutation of each. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/route.h"

/* The load that the pair of node `row` and node `column` puts on the channel. */
struct pair_load {
    uint32_t row, column;
    double load;
};

/* All pairs that use a channel, each once. */
struct pair_list {
    struct pair_load *pairs; /* owned */
    size_t count, capacity;
};

/* Lists of the classes first .. end - 1. They are filled from the loads of all pairs at once; if
 * they take too much memory, the later half of the classes is dropped and filled in another
 * pass. */
struct pair_lists {
    const struct router *router; /* borrowed */
    struct pair_list *lists;     /* class_count of them */
    uint32_t class_count, first, end;
    size_t held, held_max;    /* pairs in all lists, and the limit; at least 1 list is kept */
    struct observer progress; /* no observer until it is set */
};

/* The number of classes of channels; symmetry maps the channels of a class to each other. */
uint32_t pair_lists_classes(const struct router *router);

/* The channel that represents its class. */
uint32_t pair_lists_channel(const struct router *router, uint32_t class);

MUST_CHECK enum err pair_lists_init(struct pair_lists *lists, const struct router *router,
                                    size_t held_max, struct why *why);
void pair_lists_fini(struct pair_lists *lists);

/* Fills the lists from class `first` on; sets `end` to the first class that does not fit into
 * memory. */
MUST_CHECK enum err pair_lists_fill(struct pair_lists *lists, uint32_t first, struct why *why);

/* An upper bound of the weight of every permutation. */
MUST_CHECK enum err pair_list_limit(const struct pair_list *list, uint32_t node_count,
                                    double *limit, struct why *why);

struct heaviest {
    double load;
    double bound; /* by duality; equal to load except for rounding */
};

/* The heaviest permutation of a list; to[row] is the receiver of a row that adds load, NODE_NONE
 * for all other rows. */
MUST_CHECK enum err pair_list_heaviest(const struct pair_list *list, uint32_t node_count,
                                       uint32_t *to, struct heaviest *heaviest, struct why *why);

/* worst_find with another limit on memory; see pair_lists. */
struct worst;
MUST_CHECK enum err worst_find_within(struct worst *worst, const struct router *router,
                                      size_t held_max, struct observer progress, struct why *why);
