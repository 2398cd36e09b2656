#pragma once
/* halving: which divisions of the nodes count as two halves.
 *
 * The weight of a node is its number of servers; if no node has servers, each weighs 1. Weights are
 * kept in units of their greatest common divisor. The two halves of a halving differ by as little
 * as the weights allow; nodes of weight 0 may be on either side. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "topology/topology.h"

/* All nodes of one weight. */
struct halving_class {
    uint32_t weight;
    uint32_t count;
    uint32_t light; /* how many of them are on the lighter side in one of the halvings */
};

struct halving {
    uint32_t node_count;
    uint32_t class_count;
    struct halving_class *classes; /* owned; by decreasing weight */
    uint32_t *class_of;            /* owned; per node */
    uint32_t unit;                 /* servers per unit of weight */
    bool uniform;                  /* all nodes weigh the same */
    uint64_t total;                /* weight of all nodes */
    uint64_t light;                /* weight of the lighter half, at most total / 2 */
};

MUST_CHECK enum err halving_init(struct halving *halving, const struct topology *topology,
                                 struct why *why);
void halving_fini(struct halving *halving);

static inline uint32_t halving_weight(const struct halving *halving, uint32_t node)
{
    return halving->classes[halving->class_of[node]].weight;
}

/* Weight of the heavier half minus that of the lighter. */
static inline uint64_t halving_gap(const struct halving *halving)
{
    return halving->total - 2 * halving->light;
}

/* Weight of side 0 minus that of side 1. */
int64_t halving_excess(const struct halving *halving, const uint8_t *side);

/* Are these two sides halves? */
bool halving_holds(const struct halving *halving, const uint8_t *side);
