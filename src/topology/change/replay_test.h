#pragma once
/* replay: for the tests of plans. It executes a plan on a plain list of cables and shares no code
 * with the planner. It fails the test at a cable that does not exist, a port that is used, a node
 * that is full, or a disconnected network where the plan says that it is connected. The file also
 * makes random graphs to try plans on. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "topology/change/rewire.h"
#include "topology/connected_test.h"

struct replay {
    uint32_t node_count;
    const uint32_t *limit;  /* per node: how many cables it can hold */
    const uint8_t *leaving; /* may be NULL */
    struct link *cables;
    uint32_t count;
    uint8_t *counts;
    uint32_t *parent;
};

static inline void replay_init(struct replay *replay, uint32_t node_count, const uint32_t *limit,
                               const uint8_t *leaving, const struct graph *graph, size_t more)
{
    *replay = (struct replay){.node_count = node_count, .limit = limit, .leaving = leaving};
    replay->cables = array_new(graph->link_count + more, sizeof *replay->cables);
    replay->counts = array_new(node_count, 1);
    replay->parent = array_new(node_count, sizeof *replay->parent);
    assert_true(replay->cables && replay->counts && replay->parent);
    memcpy(replay->cables, graph->links, graph->link_count * sizeof *graph->links);
    replay->count = graph->link_count;
    for (uint32_t e = 0; e < replay->count; e++)
        replay->counts[graph->links[e].a] = replay->counts[graph->links[e].b] = 1;
}

static inline void replay_fini(struct replay *replay)
{
    free(replay->cables);
    free(replay->counts);
    free(replay->parent);
}

static inline uint32_t replay_root(struct replay *replay, uint32_t node)
{
    while (replay->parent[node] != node)
        node = replay->parent[node] = replay->parent[replay->parent[node]];
    return node;
}

/* The number of parts of the nodes that count: nodes with a cable, and nodes without one that are
 * not leaving. */
static inline uint32_t replay_parts(struct replay *replay)
{
    uint32_t parts = 0;
    for (uint32_t v = 0; v < replay->node_count; v++)
        replay->parent[v] = v;
    if (replay->leaving)
        for (uint32_t v = 0; v < replay->node_count; v++)
            replay->counts[v] &= !replay->leaving[v];
    for (uint32_t e = 0; e < replay->count; e++) {
        const struct link *cable = &replay->cables[e];
        replay->counts[cable->a] = replay->counts[cable->b] = 1;
        replay->parent[replay_root(replay, cable->a)] = replay_root(replay, cable->b);
    }
    for (uint32_t v = 0; v < replay->node_count; v++)
        parts += replay->counts[v] && replay_root(replay, v) == v;
    return parts;
}

static inline void replay_unplug(struct replay *replay, const struct link *gone)
{
    for (uint32_t e = 0; e < replay->count; e++) {
        if (memcmp(&replay->cables[e], gone, sizeof *gone) == 0) {
            replay->cables[e] = replay->cables[--replay->count];
            return;
        }
    }
    fail_msg("no cable %u:%u -- %u:%u to unplug", gone->a, gone->a_port, gone->b, gone->b_port);
}

static inline void replay_plug(struct replay *replay, const struct link *added)
{
    uint32_t a_degree = 0, b_degree = 0;
    assert_int_not_equal(added->a, added->b);
    for (uint32_t e = 0; e < replay->count; e++) {
        const struct link *cable = &replay->cables[e];
        const uint32_t node[2] = {cable->a, cable->b}, port[2] = {cable->a_port, cable->b_port};
        for (int end = 0; end < 2; end++) {
            a_degree += node[end] == added->a;
            b_degree += node[end] == added->b;
            assert_false(node[end] == added->a && port[end] == added->a_port);
            assert_false(node[end] == added->b && port[end] == added->b_port);
        }
    }
    assert_true(a_degree < replay->limit[added->a]);
    assert_true(b_degree < replay->limit[added->b]);
    replay->cables[replay->count++] = *added;
}

/* Unplugging names the ends of a cable in the order in which it was plugged or listed. */
static inline void replay_run(struct replay *replay, const struct rewire_plan *plan)
{
    uint32_t unplugged = 0, steps = 0, together = 0, apart = 0;
    for (size_t i = 0; i < plan->count;) {
        size_t first = i;
        uint32_t step = plan->actions[i].step;
        assert_int_equal(step, ++steps);
        for (; i < plan->count && plan->actions[i].step == step; i++) {
            const struct rewire_action *action = &plan->actions[i];
            if (action->kind == REWIRE_UNPLUG)
                replay_unplug(replay, &action->cable);
            else
                replay_plug(replay, &action->cable);
            unplugged += action->kind == REWIRE_UNPLUG;
        }
        together += i - first > 1;
        bool pieces = replay_parts(replay) > 1;
        assert_int_equal(plan->actions[first].apart, pieces);
        apart += pieces;
    }
    assert_int_equal(plan->step_count, steps);
    assert_int_equal(plan->unplug_count, unplugged);
    assert_int_equal(plan->plug_count, plan->count - unplugged);
    assert_int_equal(plan->together_count, together);
    assert_int_equal(plan->apart_count, apart);
}

/* Is there a cable between the two? */
static inline bool replay_joined(const struct link *links, uint32_t count, uint32_t a, uint32_t b)
{
    for (uint32_t e = 0; e < count; e++)
        if ((links[e].a == a && links[e].b == b) || (links[e].a == b && links[e].b == a))
            return true;
    return false;
}

/* A connected random regular graph: a ring with chords, its cables' ends
 * exchanged at random many times. */
static inline void random_regular(struct graph *graph, uint32_t nodes, uint32_t degree,
                                  struct rng *rng)
{
    uint32_t count = nodes * degree / 2, made = 0;
    struct link *links = array_new(count, sizeof *links);
    assert_true(links && nodes * degree % 2 == 0 && degree < nodes);
    for (uint32_t step = 1; step <= degree / 2; step++)
        for (uint32_t v = 0; v < nodes; v++)
            links[made++] = (struct link){v, (v + step) % nodes, PORT_ANY, PORT_ANY};
    for (uint32_t v = 0; degree % 2 && v < nodes / 2; v++)
        links[made++] = (struct link){v, v + nodes / 2, PORT_ANY, PORT_ANY};
    assert_int_equal(made, count);
    for (bool connected = false; !connected;) {
        for (uint32_t swaps = 0; swaps < 10 * count; swaps++) {
            struct link *one = &links[rng_below(rng, count)];
            struct link *other = &links[rng_below(rng, count)];
            uint32_t b = one->b, d = rng_below(rng, 2) ? other->a : other->b;
            uint32_t c = d == other->a ? other->b : other->a;
            if (one->a == c || one->a == d || b == c || b == d ||
                replay_joined(links, count, one->a, d) || replay_joined(links, count, c, b))
                continue;
            *one = (struct link){one->a, d, PORT_ANY, PORT_ANY};
            *other = (struct link){c, b, PORT_ANY, PORT_ANY};
        }
        assert_int_equal(graph_make(graph, nodes, links, count, NULL), OK);
        connected = test_connected(graph);
        if (!connected)
            graph_fini(graph);
    }
    free(links);
}
