#pragma once
/* pora_impl: the pieces of PORA, for its readings and for variants of it. How
 * each sentence of the paper is read is in pora.c. */

#include <stdbool.h>
#include <stdint.h>

#include "routing/route.h"
#include "routing/torus/compass.h"

/* A packet's phase. */
enum { PORA_AT_SOURCE, PORA_BEHIND_JUMP, PORA_IN_BOX };

/* Which box the packet must stay in once its first hop is made. */
enum pora_rule {
    PORA_NEAR,      /* of the shortest torus paths from the neighbour to the destination */
    PORA_AROUND,    /* the axis of the first hop is kept in its direction, also the long way */
    PORA_QUADRANTS, /* one quadrant of the source per neighbour; two axes only */
};

/* A box between a corner and the destination. */
struct pora_box {
    enum pora_rule rule;
    uint32_t corner;
    uint16_t downwards; /* directions of its axes; PORA_NEAR needs none: each is the short way */
};

/* Equation 12: the share of every port of a node, 0 where there is no cable or
 * it may not be used; shares has room for compass->port_count. A port leads up
 * axis i (2i), down it (2i + 1; 0 on an axis of size 2, where up is the one
 * cable) or jumps (the last). */
void pora_shares(const struct compass *compass, uint32_t at, uint32_t to, bool jump,
                 double *shares);

/* The box a packet from `from` gets that makes its first hop by a torus port. */
struct pora_box pora_box_of(const struct compass *compass, enum pora_rule rule, uint32_t from,
                            uint32_t to, uint32_t port);

/* Hops left within the box. */
uint32_t pora_left(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to);

/* Whether `node` is in the box, for a packet that is at `at`, in the box. */
bool pora_contains(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to, uint32_t node);

/* The second step: moves by dimension order within the box, and by the jump
 * cable where its two requirements hold. Sets share, channel and lane; the
 * state stays. At most three. */
uint32_t pora_box_moves(const struct compass *compass, const struct pora_box *box, uint32_t at,
                        uint32_t to, struct route_move *moves);
