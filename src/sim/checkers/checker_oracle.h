#pragma once
/* checker_oracle: decides by global knowledge which server may answer for a key.
 *
 * A server wrongly delivers a key if a server before it in the key's planned list is running,
 * settled and connected to it by links that are up at both ends at that moment. The oracle keeps
 * the groups of connected servers; report changes of links to it.
 *
 * A delivery by the key's home is always right; any other costs a walk along the list. */

#include "base/err.h"
#include "node/node.h"

struct checker_oracle {
    const struct plan *plan; /* borrowed */
    enum port_state (*port)(void *context, node_id server, unsigned port);
    bool (*settled)(void *context, node_id server); /* and running */
    void *context;
    uint32_t *group; /* of each server: equal for connected servers */
    uint32_t *stack; /* scratch of the search */
    node_id *list;   /* a key's servers */
    void *scratch;   /* scratch of the key space */
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

/* A port came up. If it connected servers that were not connected before, calls back for each
 * ordered pair of servers that are connected now; stops when the callback returns false. */
void checker_oracle_up(struct checker_oracle *oracle, node_id at, unsigned port,
                       bool (*each)(void *context, node_id one, node_id other), void *context);

/* The server that should have delivered the key instead of `at`; NODE_NONE: `at` was right. */
node_id checker_oracle_rightful(struct checker_oracle *oracle, uint64_t route, node_id at);
