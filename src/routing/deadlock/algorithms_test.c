/* Judges every algorithm again on small networks, by code that shares only the algorithm itself
 * with the judge: it follows packets one by one, without merging states. */
#include "routing/deadlock/deadlock.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "routing/deadlock/layers.h"

#define NONE UINT32_MAX

struct judged {
    const struct router *router;
    struct lane_rule rule;
    struct dependency graph;
    struct deadlock found;
    bool *met; /* per wait: some packet is in it */
};

static uint32_t vertex_of(const struct judged *judged, uint32_t channel, uint32_t lane)
{
    struct virtual_channel at = {.channel = channel, .lane = lane};
    return intern_find(&judged->graph.channels, &at);
}

static uint32_t lane_under(struct lane_rule rule, uint32_t own, uint32_t hops)
{
    return rule.kind == LANE_OWN ? own : rule.kind == LANE_FOLDED ? own % rule.count : hops;
}

/* Follows everything that a packet may do from here on, hop by hop: every wait is in the graph and,
 * if the graph is free, leads to a lower number. */
static void follow(struct judged *judged, uint32_t held, uint32_t at, uint32_t to,
                   const struct route_state *state, uint32_t hops)
{
    const struct router *router = judged->router;
    struct route_move *moves = array_new(router->move_max, sizeof *moves);
    assert_non_null(moves);
    uint32_t count = router->algorithm->moves(router, at, to, state, moves);
    const uint32_t *number = judged->found.drain.number;
    bool lower = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lane = lane_under(judged->rule, moves[i].lane, hops);
        uint32_t next = vertex_of(judged, moves[i].channel, lane);
        assert_true(next != INTERN_NONE);
        lower = lower || (held != NONE && number[next] < number[held]);
        if (held != NONE && router->algorithm->oblivious) {
            uint32_t wait = intern_find(&judged->graph.waits, (uint32_t[2]){held, next});
            assert_true(wait != INTERN_NONE);
            judged->met[wait] = true;
            assert_true(judged->graph.examples[wait].hops <= hops);
            if (judged->found.free)
                assert_true(number[next] < number[held]);
        }
        follow(judged, next, graph_channel_to(&router->topology->graph, moves[i].channel), to,
               &moves[i].next, hops + 1);
    }
    if (held != NONE && count && judged->found.free)
        assert_true(lower);
    assert_true(count > 0 || at == to);
    free(moves);
}

static void follow_all(struct judged *judged)
{
    const struct router *router = judged->router;
    const struct topology *topology = router->topology;
    for (uint32_t from = 0; from < topology->graph.node_count; from++)
        for (uint32_t to = 0; to < topology->graph.node_count; to++) {
            if (!explore_is_end(topology, from) || !explore_is_end(topology, to))
                continue;
            uint32_t starts = router->algorithm->start_count(router, from, to);
            for (uint32_t i = 0; i < starts; i++) {
                struct route_state state = {0};
                router->algorithm->start(router, from, to, i, &state);
                follow(judged, NONE, from, to, &state, 0);
            }
        }
    for (uint32_t wait = 0; router->algorithm->oblivious && wait < judged->graph.waits.count;
         wait++)
        assert_true(judged->met[wait]);
}

/* Can a packet take `held` as its `hops`-th hop and then wait for `next`? */
static bool can_wait(const struct judged *judged, uint32_t at, uint32_t to,
                     const struct route_state *state, uint32_t hops, struct virtual_channel held,
                     struct virtual_channel next, bool holds, uint32_t wanted)
{
    const struct router *router = judged->router;
    struct route_move *moves = array_new(router->move_max, sizeof *moves);
    assert_non_null(moves);
    uint32_t count = router->algorithm->moves(router, at, to, state, moves);
    bool found = false;
    for (uint32_t i = 0; !found && i < count; i++) {
        uint32_t lane = lane_under(judged->rule, moves[i].lane, hops);
        if (holds && moves[i].channel == next.channel && lane == next.lane)
            found = true;
        else if (!holds && hops < wanted)
            found = can_wait(judged, graph_channel_to(&router->topology->graph, moves[i].channel),
                             to, &moves[i].next, hops + 1, held, next,
                             hops + 1 == wanted && moves[i].channel == held.channel &&
                                 lane == held.lane,
                             wanted);
    }
    free(moves);
    return found;
}

static void check_witness(const struct judged *judged)
{
    const struct router *router = judged->router;
    const struct deadlock *found = &judged->found;
    assert_true(found->cycle_length > 0 && found->stuck > 0);
    for (uint32_t i = 0; i < found->cycle_length; i++) {
        const struct deadlock_step *step = &found->cycle[i];
        struct virtual_channel next = found->cycle[(i + 1) % found->cycle_length].held;
        uint32_t from = step->packet.from, to = step->packet.to;
        bool real = false;
        for (uint32_t s = 0; s < router->algorithm->start_count(router, from, to); s++) {
            struct route_state state = {0};
            router->algorithm->start(router, from, to, s, &state);
            real = real || can_wait(judged, from, to, &state, 0, step->held, next, false,
                                    step->packet.hops);
        }
        assert_true(real);
        for (uint32_t j = 0; j < i; j++)
            assert_true(memcmp(&found->cycle[j].held, &step->held, sizeof step->held) != 0);
    }
}

static void judge(const struct router *router, struct lane_rule rule)
{
    struct judged judged = {.router = router, .rule = rule};
    assert_int_equal(dependency_find(&judged.graph, router, rule, NULL, (struct observer){0}, NULL),
                     OK);
    assert_int_equal(deadlock_judge(&judged.found, &judged.graph, NULL), OK);
    judged.met = array_new(judged.graph.waits.count, sizeof *judged.met);
    assert_non_null(judged.met);
    follow_all(&judged);
    if (rule.kind == LANE_HOPS)
        assert_true(judged.found.free);
    if (!judged.found.free)
        check_witness(&judged);
    free(judged.met);
    deadlock_fini(&judged.found);
    dependency_fini(&judged.graph);
}

/* Layers, examined like any other lanes, are free. */
static void judge_layers(const struct router *router)
{
    struct layers layers;
    struct deadlock found;
    struct dependency graph;
    bool possible;
    assert_int_equal(layers_find(&layers, router, &possible, (struct observer){0}, NULL), OK);
    if (!possible)
        return;
    struct lane_choice choice = layers_choice(&layers);
    assert_int_equal(dependency_find(&graph, router, (struct lane_rule){LANE_KEPT, 0}, &choice,
                                     (struct observer){0}, NULL),
                     OK);
    assert_int_equal(deadlock_judge(&found, &graph, NULL), OK);
    assert_true(found.free);
    assert_int_equal(found.lanes, layers.count);
    assert_int_equal(found.dependencies, layers.dependencies);
    deadlock_fini(&found);
    dependency_fini(&graph);
    layers_fini(&layers);
}

static void every_algorithm_is_judged_correctly(void **state)
{
    static const char *const specs[] = {
        "torus:5",      "torus:4x3",    "torus:2x2x3",
        "novacube:4x4", "novacube:5x3", "jellyfish:n=10,degree=3,seed=2",
        "fattree:k=4",  "torus:2",
    };
    uint32_t opened = 0;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct topology topology;
        assert_int_equal(topology_build(&topology, specs[i], NULL), OK);
        for (const struct route_algorithm *const *each = route_algorithms; *each; each++) {
            struct router router;
            if (router_open(&router, (*each)->name, &topology, NULL, NULL))
                continue; /* it does not support this network */
            opened++;
            judge(&router, (struct lane_rule){LANE_OWN, 0});
            judge(&router, (struct lane_rule){LANE_FOLDED, 1});
            judge(&router, (struct lane_rule){LANE_HOPS, 0});
            judge_layers(&router);
            router_close(&router);
        }
        topology_fini(&topology);
    }
    assert_true(opened > 0);
}

TEST_MAIN(TEST(every_algorithm_is_judged_correctly))
