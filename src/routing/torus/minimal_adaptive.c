/* minimal_adaptive: a packet takes any cable that leads nearer to its destination. On a NovaCube
 * these include jump cables, and distances are those of the network with its jumps.
 *
 * Which of these cables a packet takes depends on their load, which is not known here, so each gets
 * an equal share.
 *
 * Deadlock (after Duato, 1993): all of this happens on lane 2, where packets may wait in circles.
 * In every state the next hop of dimension order is offered on lanes 0 and 1 as an escape, over
 * torus cables and with datelines as in `dor`. A packet that takes it stays on the escape to its
 * end, so the escape lanes wait only for each other, and dimension order is free of deadlock. The
 * share of the escape is 0: it is taken only if lane 2 is blocked.
 *
 * State: phase 0 on lane 2, phase 1 on the escape.
 *
 * Distances: in a NovaCube of even sizes a jump is a translation, so a shortest path has at most
 * one, and a formula gives the distance. With an odd size a table of all distances is kept. */
#include <stdlib.h>

#include "base/array.h"
#include "base/bfs.h"
#include "routing/algorithms.h"
#include "routing/route_start.h"
#include "routing/torus/compass.h"
#include "routing/torus/dor.h"

enum { ESCAPE_LANES = 2, ADAPTIVE_LANE = ESCAPE_LANES };

/* Largest number of nodes with a table of distances: 128 MB. */
#define TABLE_NODES_MAX 8192u

struct adaptive {
    struct compass compass; /* first, so that compass_of finds it */
    uint16_t *distance;     /* owned; [to * node_count + from]; NULL: use the formula */
};

static enum err table_distances(struct adaptive *adaptive, const char *user, struct why *why)
{
    const struct graph *graph = adaptive->compass.graph;
    uint32_t nodes = graph->node_count;
    if (nodes > TABLE_NODES_MAX)
        return why_fail(why, ERR_USAGE,
                        "%s needs a table of all distances of a NovaCube with an odd axis; the "
                        "limit is %u nodes",
                        user, TABLE_NODES_MAX);
    struct bfs bfs;
    bool good = bfs_init(&bfs, nodes);
    adaptive->distance = array_new((size_t)nodes * nodes, sizeof *adaptive->distance);
    good &= adaptive->distance != NULL;
    for (uint32_t to = 0; good && to < nodes; to++) {
        bfs_clear(&bfs);
        bfs_start(&bfs, to);
        graph_search(graph, &bfs);
        for (uint32_t from = 0; from < nodes; from++)
            adaptive->distance[(size_t)to * nodes + from] = (uint16_t)bfs.level[from];
    }
    bfs_fini(&bfs);
    return good ? OK : why_memory(why);
}

static void adaptive_close(struct router *router)
{
    struct adaptive *adaptive = router->tables;
    compass_fini(&adaptive->compass);
    free(adaptive->distance);
    free(adaptive);
    router->tables = NULL;
}

static enum err adaptive_open(struct router *router, struct why *why)
{
    const char *user = router->algorithm->name;
    struct adaptive *adaptive = array_new(1, sizeof *adaptive);
    if (!adaptive)
        return why_memory(why);
    enum err err = compass_init(&adaptive->compass, router->topology, user, why);
    if (err) {
        free(adaptive);
        return err;
    }
    router->tables = adaptive;
    if (!adaptive->compass.symmetric)
        err = table_distances(adaptive, user, why);
    if (err) {
        adaptive_close(router);
        return err;
    }
    router->symmetric = adaptive->compass.symmetric;
    router->move_max = adaptive->compass.port_count + 1;
    router->lane_count = ESCAPE_LANES + 1;
    router->escape_lanes = ESCAPE_LANES;
    return OK;
}

static uint32_t adaptive_distance(const struct adaptive *adaptive, uint32_t from, uint32_t to)
{
    const struct compass *compass = &adaptive->compass;
    if (adaptive->distance)
        return adaptive->distance[(size_t)to * compass->node_count + from];
    uint32_t least = compass_distance(compass, from, to);
    uint32_t jump = compass_jump_channel(compass, from);
    if (jump == CHANNEL_NONE)
        return least;
    uint32_t over = 1 + compass_distance(compass, compass_peer(compass, jump), to);
    return over < least ? over : least;
}

static uint32_t adaptive_moves(const struct router *router, uint32_t at, uint32_t to,
                               const struct route_state *state, struct route_move *moves)
{
    const struct adaptive *adaptive = router->tables;
    const struct graph *graph = adaptive->compass.graph;
    const struct route_state escaped = {.phase = 1};
    uint32_t count = dor_moves(&adaptive->compass, at, to, false, moves);
    if (count == 0)
        return 0;
    moves[0].next = escaped;
    if (state->phase)
        return count;
    moves[0].share = 0;
    uint32_t nearer = adaptive_distance(adaptive, at, to) - 1;
    for (uint32_t slot = graph->first[at]; slot < graph->first[at + 1]; slot++)
        if (adaptive_distance(adaptive, graph->to[slot], to) == nearer)
            moves[count++] =
                (struct route_move){.channel = graph->channel[slot], .lane = ADAPTIVE_LANE};
    assert(count > 1);
    for (uint32_t i = 1; i < count; i++)
        moves[i].share = 1.0 / (count - 1);
    return count;
}

const struct route_algorithm route_minimal_adaptive = {
    .name = "minimal-adaptive",
    .summary = "any cable that leads nearer, jumps included; loads assume equal shares",
    .oblivious = false,
    .open = adaptive_open,
    .close = adaptive_close,
    .start_count = route_one_start,
    .start = route_only_start,
    .moves = adaptive_moves,
};
