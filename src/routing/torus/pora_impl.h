#pragma once
/* pora_impl: the parts of PORA, for its interpretations and for variants of it. pora.c says how
 * each sentence of the paper is interpreted. */

#include <stdbool.h>
#include <stdint.h>

#include "routing/route.h"
#include "routing/torus/compass.h"

/* A packet's phase. */
enum { PORA_AT_SOURCE, PORA_BEHIND_JUMP, PORA_IN_BOX };

/* The box that the packet must stay in after its first hop. */
enum pora_rule {
    PORA_NEAR,      /* the shortest torus paths from the neighbour to the destination */
    PORA_AROUND,    /* keeps the direction of the first hop on its axis, even the longer one */
    PORA_QUADRANTS, /* one quadrant of the source per neighbour; two axes only */
};

/* A box between a corner and the destination. */
struct pora_box {
    enum pora_rule rule;
    uint32_t corner;
    uint16_t
        downwards; /* directions of its axes; PORA_NEAR ignores them: each is the shorter one */
};

/* Equation 12: the share of every port of a node, 0 if there is no cable or the port must not be
 * used; `shares` has room for compass->port_count. A port leads up axis i (2i), down axis i (2i +
 * 1; share 0 on an axis of size 2, whose single cable is the up port) or jumps (the last port). */
void pora_shares(const struct compass *compass, uint32_t at, uint32_t to, bool jump,
                 double *shares);

/* The box of a packet from `from` whose first hop is over a torus port. */
struct pora_box pora_box_of(const struct compass *compass, enum pora_rule rule, uint32_t from,
                            uint32_t to, uint32_t port);

/* Remaining hops within the box. */
uint32_t pora_left(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to);

/* Is `node` in the box, for a packet at `at` in the box? */
bool pora_contains(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to, uint32_t node);

/* The second step: moves by dimension order within the box, and by the jump cable if its two
 * requirements hold. Sets share, channel and lane; the state does not change. At most three
 * moves. */
uint32_t pora_box_moves(const struct compass *compass, const struct pora_box *box, uint32_t at,
                        uint32_t to, struct route_move *moves);
