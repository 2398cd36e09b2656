/* Checks the repair in two independent ways: a shortest-path search over all wirings of a small
 * network, which uses no matchings, and a bench on which the actions are done plug by plug. */
#include "topology/cabling/repair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"
#include "base/text.h"

#define CABLES_MOST 64
#define HAND        UINT32_MAX

/* Cables as they are plugged; an end may be unplugged and held. */
struct bench {
    struct link cables[CABLES_MOST];
    uint32_t count;
};

static bool bench_taken(const struct bench *bench, uint32_t node, uint32_t port)
{
    for (uint32_t i = 0; i < bench->count; i++) {
        const struct link *cable = &bench->cables[i];
        if ((cable->a == node && cable->a_port == port) ||
            (cable->b == node && cable->b_port == port))
            return true;
    }
    return false;
}

static void end_set(struct link *cable, bool b, uint32_t node, uint32_t port)
{
    *(b ? &cable->b : &cable->a) = node;
    *(b ? &cable->b_port : &cable->a_port) = port;
}

/* Does the actions; every plug must leave the port it is in and find the next port empty. Cable i
 * on the bench is inspection.found[i]; new cables come after these. Returns the moves, counted
 * again. */
static uint32_t bench_repair(struct bench *bench, const struct inspection *seen,
                             const struct repair *repair)
{
    bool gone[CABLES_MOST] = {false};
    uint32_t moves = 0, kept = 0;
    memcpy(bench->cables, seen->found, seen->found_count * sizeof *seen->found);
    bench->count = seen->found_count;
    for (uint32_t i = 0; i < repair->action_count; i++) {
        const struct repair_action *action = &repair->actions[i];
        struct link *cable = action->kind == REPAIR_ADD ? &bench->cables[bench->count]
                                                        : &bench->cables[action->found];
        uint32_t node = action->end_b ? cable->b : cable->a;
        uint32_t port = action->end_b ? cable->b_port : cable->a_port;
        switch (action->kind) {
        case REPAIR_REMOVE:
            assert_false(gone[action->found]);
            gone[action->found] = true;
            *cable = (struct link){HAND, HAND, HAND, HAND};
            moves += 1;
            break;
        case REPAIR_UNPLUG:
            assert_true(node == action->from.node && port == action->from.port);
            end_set(cable, action->end_b, HAND, HAND);
            break;
        case REPAIR_MOVE:
        case REPAIR_PLUG:
            if (action->kind == REPAIR_PLUG)
                assert_int_equal(node, HAND);
            else
                assert_true(node == action->from.node && port == action->from.port);
            assert_false(bench_taken(bench, action->to.node, action->to.port));
            end_set(cable, action->end_b, action->to.node, action->to.port);
            moves += 1;
            break;
        case REPAIR_ADD:
            assert_false(bench_taken(bench, action->from.node, action->from.port));
            assert_false(bench_taken(bench, action->to.node, action->to.port));
            assert_true(bench->count < CABLES_MOST);
            *cable = (struct link){action->from.node, action->to.node, action->from.port,
                                   action->to.port};
            bench->count++;
            moves += 2;
            break;
        }
    }
    for (uint32_t i = 0; i < bench->count; i++)
        if (i >= seen->found_count || !gone[i])
            bench->cables[kept++] = bench->cables[i];
    bench->count = kept;
    return moves;
}

static int link_compare(const void *left, const void *right)
{
    return memcmp(left, right, sizeof(struct link));
}

/* Sorts the links, with each cable's smaller end first; without ports if ports are not compared. */
static void links_normalise(struct link *links, uint32_t count, bool ports)
{
    for (uint32_t i = 0; i < count; i++) {
        struct link *link = &links[i];
        if (!ports)
            link->a_port = link->b_port = 0;
        if (link->a > link->b || (link->a == link->b && link->a_port > link->b_port))
            *link = (struct link){link->b, link->a, link->b_port, link->a_port};
    }
    qsort(links, count, sizeof *links, link_compare);
}

/* Reads, inspects and repairs; the bench must end as the plan. */
static uint32_t repaired_moves(const struct topology *plan, const struct bench *built, bool ports)
{
    struct text text = {0};
    struct neighbour_reports reports;
    struct inspection seen;
    struct repair repair;
    static struct bench bench, wanted;
    for (uint32_t i = 0; i < built->count; i++) {
        const struct link *cable = &built->cables[i];
        text_printf(&text, "%u,%u,%u,%u\n", cable->a, cable->a_port, cable->b, cable->b_port);
        if (i % 3 == 0)
            text_printf(&text, "%u,%u,%u,%u\n", cable->b, cable->b_port, cable->a, cable->a_port);
    }
    struct why why = {""};
    enum err err =
        neighbour_reports_read(&reports, plan, text.size ? text.data : "", text.size, "w", &why);
    if (err)
        print_message("# %s\n", why.text);
    assert_int_equal(err, OK);
    text_fini(&text);
    assert_int_equal(inspection_make(&seen, plan, &reports, ports, NULL), OK);
    assert_int_equal(seen.contradiction_count, 0);
    assert_int_equal(repair_make(&repair, &seen, &plan->graph, NULL), OK);
    uint32_t moves = bench_repair(&bench, &seen, &repair);
    assert_int_equal(moves, repair.moves);
    assert_int_equal(inspection_ok(&seen), moves == 0);
    /* no two plugs in one port */
    for (uint32_t i = 0; i < bench.count; i++) {
        struct bench rest = bench;
        rest.cables[i] = rest.cables[--rest.count];
        assert_false(bench_taken(&rest, bench.cables[i].a, bench.cables[i].a_port));
        assert_false(bench_taken(&rest, bench.cables[i].b, bench.cables[i].b_port));
    }
    wanted.count = plan->graph.link_count;
    memcpy(wanted.cables, plan->graph.links, wanted.count * sizeof *wanted.cables);
    links_normalise(wanted.cables, wanted.count, ports);
    links_normalise(bench.cables, bench.count, ports);
    assert_int_equal(bench.count, wanted.count);
    assert_memory_equal(bench.cables, wanted.cables, bench.count * sizeof *bench.cables);
    repair_fini(&repair);
    inspection_fini(&seen);
    neighbour_reports_fini(&reports);
    return moves;
}

/* A small network: `ends` places for a plug (nodes, or ports of nodes), at most `most` cables; a
 * wiring is the number of cables between each pair of places. */
enum { ENDS_MOST = 6, PAIRS_MOST = 21, STATES_MOST = 4000, COST_MOST = 40 };

struct world {
    uint32_t ends, most, pair_count, state_count;
    uint8_t pair[PAIRS_MOST][2];
    uint8_t pair_of[ENDS_MOST][ENDS_MOST];
    uint8_t states[STATES_MOST][PAIRS_MOST]; /* in lexical order */
    uint32_t cost[STATES_MOST];              /* from here to the plan */
};

static void states_list(struct world *world, uint8_t *counts, uint32_t pair, uint32_t left)
{
    if (pair == world->pair_count) {
        assert_true(world->state_count < STATES_MOST);
        memcpy(world->states[world->state_count++], counts, PAIRS_MOST);
        return;
    }
    for (uint32_t n = 0; n <= left; n++) {
        counts[pair] = (uint8_t)n;
        states_list(world, counts, pair + 1, left - n);
    }
    counts[pair] = 0;
}

static void world_make(struct world *world, uint32_t ends, uint32_t most)
{
    uint8_t counts[PAIRS_MOST] = {0};
    memset(world, 0, sizeof *world);
    world->ends = ends;
    world->most = most;
    for (uint32_t a = 0; a < ends; a++)
        for (uint32_t b = a; b < ends; b++) {
            world->pair_of[a][b] = world->pair_of[b][a] = (uint8_t)world->pair_count;
            world->pair[world->pair_count][0] = (uint8_t)a;
            world->pair[world->pair_count++][1] = (uint8_t)b;
        }
    states_list(world, counts, 0, most);
}

static int state_compare(const void *left, const void *right)
{
    return memcmp(left, right, PAIRS_MOST);
}

static uint32_t state_find(const struct world *world, const uint8_t *counts)
{
    const uint8_t(*found)[PAIRS_MOST] =
        bsearch(counts, world->states, world->state_count, sizeof *world->states, state_compare);
    return found ? (uint32_t)(found - world->states) : UINT32_MAX;
}

static void cost_lower(struct world *world, const uint8_t *counts, uint32_t cost)
{
    uint32_t state = state_find(world, counts);
    if (state != UINT32_MAX && cost < world->cost[state])
        world->cost[state] = cost;
}

/* Searches shortest paths from the plan over reversed actions: undoing a removal (cost 1) adds a
 * cable, undoing an addition (cost 2) removes one. */
static void costs_search(struct world *world, const uint8_t *plan)
{
    for (uint32_t i = 0; i < world->state_count; i++)
        world->cost[i] = UINT32_MAX;
    cost_lower(world, plan, 0);
    for (uint32_t cost = 0; cost < COST_MOST; cost++)
        for (uint32_t i = 0; i < world->state_count; i++) {
            if (world->cost[i] != cost)
                continue;
            uint8_t next[PAIRS_MOST];
            memcpy(next, world->states[i], sizeof next);
            for (uint32_t p = 0; p < world->pair_count; p++) {
                next[p]++;
                cost_lower(world, next, cost + 1);
                next[p]--;
                if (!next[p])
                    continue;
                next[p]--;
                cost_lower(world, next, cost + 2);
                for (uint32_t side = 0; side < 2; side++)
                    for (uint32_t e = 0; e < world->ends; e++) {
                        uint8_t moved = world->pair_of[world->pair[p][side]][e];
                        next[moved]++;
                        cost_lower(world, next, cost + 1);
                        next[moved]--;
                    }
                next[p]++;
            }
        }
}

/* Makes the cables of one wiring of nodes, in the lowest free ports. */
static void nodes_connect(struct bench *bench, const struct world *world, const uint8_t *counts)
{
    uint32_t next[ENDS_MOST] = {0};
    bench->count = 0;
    for (uint32_t p = 0; p < world->pair_count; p++)
        for (uint32_t n = 0; n < counts[p]; n++) {
            uint32_t a = world->pair[p][0], b = world->pair[p][1];
            uint32_t a_port = next[a]++, b_port = next[b]++;
            bench->cables[bench->count++] = (struct link){a, b, a_port, b_port};
        }
}

static void repair_is_optimal_ignoring_ports(void **state)
{
    static const struct link plans[][5] = {
        {{0, 1, 0, 0}, {1, 2, 1, 0}, {2, 3, 1, 0}, {3, 0, 1, 1}},
        {{0, 1, 0, 0}, {0, 1, 1, 1}, {2, 3, 0, 0}},
        {{0, 1, 0, 0}, {0, 2, 1, 0}, {0, 3, 2, 0}, {1, 2, 1, 1}, {0, 1, 3, 2}},
        {{1, 3, 0, 0}},
    };
    static const uint32_t sizes[] = {4, 3, 5, 1};
    static struct world world;
    world_make(&world, 4, 5);
    for (unsigned which = 0; which < 4; which++) {
        struct topology plan;
        uint8_t counts[PAIRS_MOST] = {0};
        assert_int_equal(
            topology_init(&plan, TOPOLOGY_OTHER, true, 4, plans[which], sizes[which], NULL), OK);
        for (uint32_t i = 0; i < sizes[which]; i++)
            counts[world.pair_of[plans[which][i].a][plans[which][i].b]]++;
        costs_search(&world, counts);
        for (uint32_t i = 0; i < world.state_count; i++) {
            struct bench built;
            nodes_connect(&built, &world, world.states[i]);
            assert_int_equal(repaired_moves(&plan, &built, false), world.cost[i]);
        }
        topology_fini(&plan);
    }
}

/* Three nodes of two ports each: place e is port e % 2 of node e / 2. */
static bool ports_connect(struct bench *bench, const struct world *world, const uint8_t *counts)
{
    bench->count = 0;
    for (uint32_t p = 0; p < world->pair_count; p++)
        for (uint32_t n = 0; n < counts[p]; n++) {
            uint32_t a = world->pair[p][0], b = world->pair[p][1];
            if (a == b || bench_taken(bench, a / 2, a % 2) || bench_taken(bench, b / 2, b % 2))
                return false;
            bench->cables[bench->count++] = (struct link){a / 2, b / 2, a % 2, b % 2};
        }
    return true;
}

static void repair_is_optimal_with_ports(void **state)
{
    static struct world world;
    struct topology plan;
    uint8_t counts[PAIRS_MOST] = {0};
    uint32_t tried = 0;
    world_make(&world, 6, 3);
    assert_int_equal(topology_build(&plan, "torus:3", NULL), OK);
    for (uint32_t e = 0; e < 3; e++) {
        const struct link *link = &plan.graph.links[e];
        counts[world.pair_of[2 * link->a + link->a_port][2 * link->b + link->b_port]]++;
    }
    costs_search(&world, counts);
    for (uint32_t i = 0; i < world.state_count; i++) {
        struct bench built;
        if (!ports_connect(&built, &world, world.states[i]))
            continue;
        tried++;
        assert_int_equal(repaired_moves(&plan, &built, true), world.cost[i]);
    }
    assert_int_equal(tried, 1 + 15 + 45 + 15); /* matchings of six places */
    topology_fini(&plan);
}

static bool port_pick(const struct bench *bench, struct rng *rng, uint32_t nodes, uint32_t ports,
                      struct plug *plug)
{
    for (int tries = 0; tries < 200; tries++) {
        *plug = (struct plug){(uint32_t)rng_below(rng, nodes), (uint32_t)rng_below(rng, ports)};
        if (!bench_taken(bench, plug->node, plug->port))
            return true;
    }
    return false;
}

/* Makes one typical mistake; returns the cost of undoing it. */
static uint32_t mistake_make(struct bench *bench, struct rng *rng, uint32_t nodes, uint32_t ports)
{
    struct plug one, other;
    uint32_t kind = (uint32_t)rng_below(rng, 4);
    if (bench->count < 2)
        return 0;
    uint32_t i = (uint32_t)rng_below(rng, bench->count);
    uint32_t j = (uint32_t)rng_below(rng, bench->count);
    struct link *cable = &bench->cables[i];
    if (kind == 0 && i != j) {
        struct link mine = *cable;
        end_set(cable, true, bench->cables[j].b, bench->cables[j].b_port);
        end_set(&bench->cables[j], true, mine.b, mine.b_port);
        return 2;
    }
    if (kind == 1) {
        *cable = bench->cables[--bench->count];
        return 2;
    }
    if (!port_pick(bench, rng, nodes, ports, &one))
        return 0;
    if (kind == 2) {
        end_set(cable, rng_below(rng, 2), one.node, one.port);
        return 1;
    }
    if (bench->count == CABLES_MOST - 40 || !port_pick(bench, rng, nodes, ports, &other) ||
        (one.node == other.node && one.port == other.port))
        return 0;
    bench->cables[bench->count++] = (struct link){one.node, other.node, one.port, other.port};
    return 1;
}

static void mistakes_repair(const char *spec, bool ports, uint32_t port_count, uint64_t seeds)
{
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct rng rng = rng_make(seed, 0);
        struct topology plan;
        static struct bench bench;
        assert_int_equal(topology_build(&plan, spec, NULL), OK);
        if (!ports)
            plan.kind = TOPOLOGY_OTHER; /* any port number is allowed */
        bench.count = plan.graph.link_count;
        memcpy(bench.cables, plan.graph.links, bench.count * sizeof *bench.cables);
        uint32_t mistakes = (uint32_t)rng_below(&rng, 8), cost = 0;
        for (uint32_t i = 0; i < mistakes; i++)
            cost += mistake_make(&bench, &rng, plan.graph.node_count, port_count);
        uint32_t moves = repaired_moves(&plan, &bench, ports);
        if (moves > cost)
            print_message("# %s seed %llu: %u moves for mistakes that cost %u\n", spec,
                          (unsigned long long)seed, moves, cost);
        assert_true(moves <= cost);
        topology_fini(&plan);
    }
}

static void mistakes_on_a_torus_are_undone(void **state)
{
    mistakes_repair("torus:3x3", true, 4, 400);
}

static void mistakes_on_other_networks_are_undone(void **state)
{
    mistakes_repair("torus:3x3", false, 7, 400);
    mistakes_repair("torus:7", false, 4, 400);
}

TEST_MAIN(TEST(repair_is_optimal_ignoring_ports), TEST(repair_is_optimal_with_ports),
          TEST(mistakes_on_a_torus_are_undone), TEST(mistakes_on_other_networks_are_undone))
