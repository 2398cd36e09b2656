#pragma once
/* checker_oracle: who may answer for a key, by global knowledge.
 *
 * A server wrongly delivers a key if somebody before it in the key's planned list is alive, settled
 * and connected to it by links that are up at both ends at that moment. The oracle keeps who is
 * connected with whom; tell it when links change.
 *
 * A delivery by the key's home is right at once; else it costs a walk along the list. */

#include "base/err.h"
#include "node/node.h"

struct checker_oracle {
    const struct plan *plan; /* borrowed */
    enum port_state (*port)(void *context, node_id server, unsigned port);
    bool (*settled)(void *context, node_id server); /* and alive */
    void *context;
    uint32_t *group; /* of each server: equal where they are connected */
    uint32_t *stack; /* of the search */
    node_id *list;   /* a key's servers */
    void *scratch;   /* of the key space */
    bool is_stale;
    uint64_t searches;
};

MUST_CHECK enum err checker_oracle_init(struct checker_oracle *oracle, const struct plan *plan,
                                        struct why *why);
void checker_oracle_fini(struct checker_oracle *oracle);

static inline void checker_oracle_changed(struct checker_oracle *oracle)
{
    oracle->is_stale = true;
}

/* A port came up. If that connected servers that were not, calls back for each two of those who
 * are connected now, both ways round; stops when that is false. */
void checker_oracle_up(struct checker_oracle *oracle, node_id at, unsigned port,
                       bool (*each)(void *context, node_id one, node_id other), void *context);

/* Who should have delivered the key instead of `at`; NODE_NONE: nobody. */
node_id checker_oracle_rightful(struct checker_oracle *oracle, uint64_t route, node_id at);
