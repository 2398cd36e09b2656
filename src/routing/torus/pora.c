/* pora: the probabilistic oblivious routing algorithm of NovaCube. Wang, Su, Xia, Qin and Hamdi
 * (GLOBECOM 2014), section V. The text leaves much open; each sentence is interpreted here as
 * follows.
 *
 *  1. "The distance between A and B" (notation 1) is that of the torus, the shorter way round each
 *     ring, and never counts jump cables. This gives 4, 4, 6, 6, 3 in figure 4.
 *  2. "The number of neighbour nodes" in equation 12 counts cables: an axis of size 2 gives one
 *     neighbour, an axis of size 1 none, a node without a jump cable has 2n, and a jump cable
 *     parallel to a torus cable gives two.
 *  3. Equation 12 divides by 0 if a neighbour is the destination. Its limit is used: the packet
 *     goes there, with equal probability over several cables.
 *  4. "Repeat step 1 ... by taking M as the source node", after a jump at the source: once, with
 *     the regular neighbours only, and with the quadrants of M.
 *  5. "Each neighbour node corresponds to one quadrant ... The division of quadrants is only
 *     determined by the source node and destination node." Two dimensions have four neighbours
 *     and four quadrants; n have 2n and 2^n. If the destination is in quadrant I, a packet in any
 *     other quadrant must go the longer way round a ring, although equation 12 measured its
 *     distance on the shorter way. Yet each "next hop, whose distance to the destination node is
 *     always smaller than that from the current node" (V-B) leads nearer, and the paper says
 *     that the mean path is below DOR's on the torus (V-D). On two axes of 8 and more that is
 *     false if packets go the longer way. So the quadrant of a neighbour in `pora` is the box of
 *     the shortest torus paths from the neighbour to the destination: there is one for each
 *     neighbour, in any dimension; all hops but the first lead nearer; a path through a
 *     neighbour is as long as equation 12 assumes. A first hop away from the destination is
 *     then reversed. If the destination is half-way round an axis, each side is taken with
 *     probability one half. Two other interpretations are kept for comparison:
 *       - `pora-around`: the packet continues on the axis of the first hop in that direction,
 *         even if it is the longer way, and takes the shorter way on the others (up if half-way
 *         round); the box begins at the neighbour.
 *       - `pora-quadrants`: two axes only. Quadrants are those of the source, and each neighbour
 *         gets the one that begins at it, counter-clockwise like S1 to S4 in figure 4: if the
 *         destination is in quadrant I, the neighbours on the near side of x, the near side of
 *         y, the far side of x and the far side of y get I, II, III and IV.
 *  6. "The jump-over neighbour node is also located within the same quadrant": in the box of 5,
 *     ends included; the quadrant is that of the first neighbour, not of the packet's current
 *     node, because the source determines the quadrants. Boxes of `pora` are at most half a ring
 *     wide, so this is almost never true.
 *  7. "The distance between jump-over neighbour node and destination node is smaller than the
 *     distance between regular neighbour node and destination node": the regular neighbour is
 *     the next node of DOR within the box, and the distances, here and in the probabilities of
 *     the two by equation 12, are those within the box.
 *  8. "Using traditional DOR": axis 0 first, also after a first hop on another axis.
 *  9. "We use two virtual channels to cut a Torus loop": lane 0 while the packet still has to
 *     pass the end of its ring, lane 1 otherwise (compass_lane). The first hop ends at the
 *     neighbour. Jump cables use lane 0.
 *
 * Every packet arrives: the remaining hops within a box decrease with every hop, and at most two
 * hops come before. The algorithm also works on a network without jump cables.
 *
 * State: phase 0 is at the source, 1 after a jump from it, 2 in the box with corner `target` and
 * directions `downwards`. The algorithm is not free of deadlock; see `weft route deadlock`. */
#include "routing/torus/pora_impl.h"

#include "routing/algorithms.h"
#include "routing/route_start.h"
#include "routing/torus/dor.h"

/* The channel at a port if the port has a cable of its own, else CHANNEL_NONE. */
static uint32_t own_channel(const struct compass *compass, uint32_t at, uint32_t port)
{
    uint32_t axis = port / 2;
    if (axis < compass->axis_count && compass->size[axis] == 2 && port % 2)
        return CHANNEL_NONE; /* counted as the up port */
    return compass->channel[(size_t)at * compass->port_count + port];
}

void pora_shares(const struct compass *compass, uint32_t at, uint32_t to, bool jump, double *shares)
{
    uint32_t ports = compass->port_count - !jump;
    uint32_t there = 0; /* number of cables that lead to the destination */
    double sum = 0;
    shares[compass->port_count - 1] = 0;
    for (uint32_t port = 0; port < ports; port++) {
        uint32_t channel = own_channel(compass, at, port);
        shares[port] = 0;
        if (channel == CHANNEL_NONE)
            continue;
        double distance = compass_distance(compass, compass_peer(compass, channel), to);
        if (distance > 0)
            sum += shares[port] = 1 / (distance * distance);
        else
            there++;
    }
    for (uint32_t port = 0; port < ports; port++) {
        uint32_t channel = own_channel(compass, at, port);
        if (there > 0)
            shares[port] =
                channel != CHANNEL_NONE && compass_peer(compass, channel) == to ? 1.0 / there : 0;
        else if (sum > 0)
            shares[port] /= sum;
    }
}

/* Bit `axis` is set if the shorter way leads down. */
static uint16_t short_way_down(const struct compass *compass, uint32_t axis, uint32_t from,
                               uint32_t to)
{
    return (uint16_t)((compass_short_way(compass, axis, from, to) == COMPASS_DOWN) << axis);
}

/* The directions of the one quadrant of `from` that belongs to a neighbour:
 * near x: (near, near), near y: (far, near), far x: (far, far), far y: (near,
 * far). */
static uint16_t quadrant_directions(const struct compass *compass, uint32_t from, uint32_t to,
                                    uint32_t axis, bool down)
{
    uint32_t other = 1 - axis;
    bool near = short_way_down(compass, axis, from, to) == (uint16_t)(down << axis);
    bool other_near = axis == 0 ? near : !near;
    uint16_t bit = short_way_down(compass, other, from, to);
    if (!other_near)
        bit ^= (uint16_t)(1u << other);
    return (uint16_t)(down << axis) | bit;
}

struct pora_box pora_box_of(const struct compass *compass, enum pora_rule rule, uint32_t from,
                            uint32_t to, uint32_t port)
{
    uint32_t axis = port / 2;
    bool down = port % 2;
    struct pora_box box = {.rule = rule, .corner = compass_step(compass, from, axis, down, 1)};
    if (rule == PORA_NEAR)
        return box;
    if (rule == PORA_QUADRANTS) {
        box.downwards = quadrant_directions(compass, from, to, axis, down);
        return box;
    }
    for (uint32_t each = 0; each < compass->axis_count; each++)
        if (each != axis)
            box.downwards |= short_way_down(compass, each, from, to);
    box.downwards |= (uint16_t)(down << axis);
    return box;
}

uint32_t pora_left(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to)
{
    if (box->rule == PORA_NEAR)
        return compass_distance(compass, at, to);
    uint32_t sum = 0;
    for (uint32_t axis = 0; axis < compass->axis_count; axis++)
        sum += compass_ahead(compass, axis, at, to, box->downwards >> axis & 1);
    return sum;
}

bool pora_contains(const struct compass *compass, const struct pora_box *box, uint32_t at,
                   uint32_t to, uint32_t node)
{
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        bool down = box->downwards >> axis & 1;
        if (box->rule == PORA_NEAR) {
            enum compass_way way = compass_short_way(compass, axis, box->corner, to);
            if (way == COMPASS_TIE) /* the packet may have chosen a side since then ... */
                way = compass_short_way(compass, axis, at, to);
            if (way == COMPASS_TIE)
                continue; /* ... or not yet: both sides together are the whole ring */
            down = way == COMPASS_DOWN;
        }
        if (compass_ahead(compass, axis, node, to, down) >
            compass_ahead(compass, axis, box->corner, to, down))
            return false;
    }
    return true;
}

/* The moves of dimension order that stay in the box. */
static uint32_t regular_moves(const struct compass *compass, const struct pora_box *box,
                              uint32_t at, uint32_t to, struct route_move *moves)
{
    if (box->rule == PORA_NEAR)
        return dor_moves(compass, at, to, true, moves);
    for (uint32_t axis = 0; axis < compass->axis_count; axis++) {
        bool down = box->downwards >> axis & 1;
        if (compass_ahead(compass, axis, at, to, down) == 0)
            continue;
        moves[0] = (struct route_move){.share = 1,
                                       .channel = compass_channel(compass, at, axis, down),
                                       .lane = compass_lane(compass, axis, at, to, down)};
        return 1;
    }
    return 0;
}

uint32_t pora_box_moves(const struct compass *compass, const struct pora_box *box, uint32_t at,
                        uint32_t to, struct route_move *moves)
{
    uint32_t count = regular_moves(compass, box, at, to, moves);
    uint32_t channel = compass_jump_channel(compass, at);
    if (count == 0 || channel == CHANNEL_NONE)
        return count;
    uint32_t there = compass_peer(compass, channel);
    uint32_t regular = pora_left(compass, box, at, to) - 1, jump;
    if (!pora_contains(compass, box, at, to, there) ||
        (jump = pora_left(compass, box, there, to)) >= regular)
        return count;
    struct route_move leap = {.share = 1, .channel = channel};
    if (jump == 0) { /* the jump leads to the destination */
        moves[0] = leap;
        return 1;
    }
    double near = 1 / ((double)jump * jump), far = 1 / ((double)regular * regular);
    for (uint32_t i = 0; i < count; i++)
        moves[i].share *= far / (near + far);
    leap.share = near / (near + far);
    moves[count] = leap;
    return count + 1;
}

/* The first step: a hop over any cable, which determines everything else. */
static uint32_t first_moves(const struct compass *compass, enum pora_rule rule, uint32_t at,
                            uint32_t to, bool jump, struct route_move *moves)
{
    double shares[2 * AXIS_MAX + 1];
    uint32_t count = 0;
    pora_shares(compass, at, to, jump, shares);
    for (uint32_t port = 0; port < compass->port_count; port++) {
        if (!(shares[port] > 0))
            continue;
        uint32_t axis = port / 2, channel = own_channel(compass, at, port);
        struct route_move *move = &moves[count++];
        *move = (struct route_move){.share = shares[port], .channel = channel};
        if (axis == compass->axis_count) {
            move->next.phase = PORA_BEHIND_JUMP;
            continue;
        }
        struct pora_box box = pora_box_of(compass, rule, at, to, port);
        move->lane = compass_lane(compass, axis, at, box.corner, port % 2);
        move->next = (struct route_state){
            .target = box.corner, .downwards = box.downwards, .phase = PORA_IN_BOX};
    }
    return count;
}

static uint32_t pora_moves(const struct router *router, enum pora_rule rule, uint32_t at,
                           uint32_t to, const struct route_state *state, struct route_move *moves)
{
    const struct compass *compass = compass_of(router);
    if (at == to)
        return 0;
    if (state->phase != PORA_IN_BOX)
        return first_moves(compass, rule, at, to, state->phase == PORA_AT_SOURCE, moves);
    struct pora_box box = {rule, state->target, state->downwards};
    uint32_t count = pora_box_moves(compass, &box, at, to, moves);
    for (uint32_t i = 0; i < count; i++)
        moves[i].next = *state;
    return count;
}

static enum err pora_open(struct router *router, struct why *why)
{
    enum err err = compass_router_open(router, 1, 2, why);
    if (!err)
        router->move_max = compass_of(router)->port_count;
    return err;
}

static enum err quadrants_open(struct router *router, struct why *why)
{
    enum err err = pora_open(router, why);
    if (err || router->topology->axis_count == 2)
        return err;
    compass_router_close(router);
    return why_fail(why, ERR_USAGE, "%s needs exactly two axes, but this network has %u",
                    router->algorithm->name, router->topology->axis_count);
}

static uint32_t near_moves(const struct router *router, uint32_t at, uint32_t to,
                           const struct route_state *state, struct route_move *moves)
{
    return pora_moves(router, PORA_NEAR, at, to, state, moves);
}

static uint32_t around_moves(const struct router *router, uint32_t at, uint32_t to,
                             const struct route_state *state, struct route_move *moves)
{
    return pora_moves(router, PORA_AROUND, at, to, state, moves);
}

static uint32_t quadrants_moves(const struct router *router, uint32_t at, uint32_t to,
                                const struct route_state *state, struct route_move *moves)
{
    return pora_moves(router, PORA_QUADRANTS, at, to, state, moves);
}

const struct route_algorithm route_pora = {
    .name = "pora",
    .summary = "NovaCube's own: a weighted first hop, jumps included, then dimension order",
    .oblivious = true,
    .open = pora_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = near_moves,
};

const struct route_algorithm route_pora_around = {
    .name = "pora-around",
    .summary = "PORA, variant: after a first hop away from the destination, on round the ring",
    .oblivious = true,
    .open = pora_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = around_moves,
};

const struct route_algorithm route_pora_quadrants = {
    .name = "pora-quadrants",
    .summary = "PORA, variant for two axes: each neighbour has one quadrant of the source",
    .oblivious = true,
    .open = quadrants_open,
    .close = compass_router_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = quadrants_moves,
};
