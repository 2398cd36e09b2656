#include "node/links/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"
#include "node/arena_cases.h"
#include "node/test_plan.h"

/* Distances by relaxing every link until nothing changes: slow, and unlike a search. */
static void relax(const struct plan *plan, const port_set *links, node_id from, uint32_t *hops)
{
    for (node_id v = 0; v < plan->server_count; v++)
        hops[v] = v == from ? 0 : HOPS_NEVER;
    for (bool changed = true; changed;) {
        changed = false;
        for (node_id v = 0; v < plan->server_count; v++)
            for (unsigned port = 0; port < plan->port_count; port++) {
                if (!(links[v] >> port & 1) || hops[v] == HOPS_NEVER)
                    continue;
                node_id to = plan_end(plan, v, port)->server;
                if (hops[v] + 1 < hops[to]) {
                    hops[to] = hops[v] + 1;
                    changed = true;
                }
            }
    }
}

static void links_draw(struct rng *rng, const struct plan *plan, unsigned percent,
                       const port_set *within, port_set *out)
{
    memset(out, 0, plan->server_count * sizeof *out);
    for (node_id v = 0; v < plan->server_count; v++)
        for (unsigned port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, v, port);
            if (end->server == NODE_NONE || end->server < v ||
                (within && !(within[v] >> port & 1)) || rng_below(rng, 100) >= percent)
                continue;
            out[v] |= (port_set)1 << port;
            out[end->server] |= (port_set)1 << end->port;
        }
}

/* The ports by which a shortest path begins, tested one neighbour at a time. */
static port_set ports_expected(const struct plan *plan, const port_set *links, node_id self,
                               node_id to, uint32_t far)
{
    port_set ports = 0;
    uint32_t *hops = calloc(plan->server_count, sizeof *hops);
    relax(plan, links, to, hops);
    for (unsigned port = 0; port < plan->port_count; port++)
        if (links[self] >> port & 1 && hops[plan_end(plan, self, port)->server] == far - 1)
            ports |= (port_set)1 << port;
    free(hops);
    return ports;
}

static void check(const struct routes *routes, const port_set *near, const port_set *up)
{
    const struct plan *plan = routes->plan;
    uint32_t *near_hops = calloc(plan->server_count, sizeof *near_hops);
    uint32_t *up_hops = calloc(plan->server_count, sizeof *up_hops);
    relax(plan, near, routes->self, near_hops);
    relax(plan, up, routes->self, up_hops);
    uint32_t near_count = 0, up_count = 0;
    for (node_id v = 0; v < plan->server_count; v++) {
        assert_int_equal(routes->near_hops[v], near_hops[v]);
        assert_int_equal(routes->up_hops[v], up_hops[v]);
        assert_int_equal(bitset_has(routes->near_set, v), near_hops[v] != HOPS_NEVER);
        assert_int_equal(bitset_has(routes->up_set, v), up_hops[v] != HOPS_NEVER);
        near_count += near_hops[v] != HOPS_NEVER;
        up_count += up_hops[v] != HOPS_NEVER;
        if (v == routes->self)
            assert_int_equal(routes->ports[v], 0);
        else if (up_hops[v] != HOPS_NEVER)
            assert_int_equal(routes->ports[v],
                             ports_expected(plan, up, routes->self, v, up_hops[v]));
        else if (near_hops[v] != HOPS_NEVER)
            assert_int_equal(routes->ports[v],
                             ports_expected(plan, near, routes->self, v, near_hops[v]));
        else
            assert_int_equal(routes->ports[v], 0);
    }
    assert_int_equal(routes->near_count, near_count);
    assert_int_equal(routes->up_count, up_count);
    free(near_hops);
    free(up_hops);
}

static void routes_hold_all_shortest_paths(void **state)
{
    const char *specs[] = {"torus:3x3x3", "torus:5x2", "novacube:4x4",
                           "jellyfish:n=24,degree=4,seed=2", "torus:2x1"};
    const uint64_t seed = 11;
    print_message("# seed %lu\n", (unsigned long)seed);
    struct rng rng = rng_make(seed, 0);
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_plan test;
        struct arena arena = {0};
        test_plan_open(&test, specs[i]);
        const struct plan plan = test.plan;
        port_set *near = calloc(plan.server_count, sizeof *near);
        port_set *up = calloc(plan.server_count, sizeof *up);
        for (unsigned turn = 0; turn < 40; turn++) {
            struct routes routes;
            node_id self = (node_id)rng_below(&rng, plan.server_count);
            assert_true(routes_init(&routes, &plan, self, &arena));
            links_draw(&rng, &plan, 30 + turn, NULL, near);
            routes_find(&routes, near, near, true);
            check(&routes, near, near);
            links_draw(&rng, &plan, 70, near, up);
            routes_find(&routes, near, up, false);
            check(&routes, near, up);
        }
        free(near);
        free(up);
        arena_fini(&arena);
        test_plan_close(&test);
    }
}

static void each_allocation_may_be_refused(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3");
    bool worked = false;
    for (unsigned pieces = 0; !worked; pieces++) {
        struct scant scant;
        struct routes routes;
        scant_open(&scant, pieces);
        worked = scant_close(&scant, routes_init(&routes, &test.plan, 0, &scant.arena));
        assert_true(!worked || pieces == 6);
    }
    test_plan_close(&test);
}

TEST_MAIN(TEST(each_allocation_may_be_refused), TEST(routes_hold_all_shortest_paths))
