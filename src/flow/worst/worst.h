#pragma once
/* worst: the permutation that puts the highest load on any channel.
 *
 * In a permutation every node with servers sends an amount of 1 to one such node and receives an
 * amount of 1 from one; both may be the node itself. The load that an oblivious algorithm puts on a
 * channel is a sum over pairs of nodes. So the permutation that loads a channel most is the
 * assignment of greatest weight in the matrix of these pairs' loads. The worst case is the highest
 * such load over all channels (Towles and Dally, "Worst-case traffic for oblivious routing
 * functions", SPAA 2002). */

#include <stdint.h>

#include "base/err.h"
#include "base/observer.h"
#include "routing/route.h"
#include "routing/traffic/traffic.h"

struct worst {
    double load;          /* of the busiest channel under the worst permutation */
    double bound;         /* proved: no permutation loads any channel more */
    uint32_t channel;     /* the busiest channel; one of several equal ones */
    uint32_t *to;         /* owned; per node with servers: its receiver; other nodes: themselves */
    uint32_t class_count; /* classes of channels that are equal by symmetry ... */
    uint32_t solved;      /* ... and for how many of them an assignment was solved */
};

void worst_fini(struct worst *worst);

/* The permutation as traffic. */
MUST_CHECK enum err worst_traffic(const struct worst *worst, const struct topology *topology,
                                  struct traffic *traffic, struct why *why);

/* Refuses an algorithm that is not oblivious, and networks whose servers do not all reach each
 * other. */
MUST_CHECK enum err worst_find(struct worst *worst, const struct router *router,
                               struct observer progress, struct why *why);
