#include "topology/cabling/floor_plan.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

/* A random switched network: a ring with chords, servers at random nodes. */
static void network_random(struct topology *topology, struct rng *rng, uint32_t nodes,
                           uint32_t groups, uint32_t servers_most)
{
    struct link *links = array_new(nodes, sizeof *links);
    for (uint32_t v = 0; v < nodes; v++)
        links[v] = (struct link){v, (v + 1) % nodes, PORT_ANY, PORT_ANY};
    assert_int_equal(topology_init(topology, TOPOLOGY_OTHER, false, nodes, links, nodes, NULL), OK);
    free(links);
    for (uint32_t v = 0; v < nodes; v++) {
        struct site *site = &topology->sites[v];
        site->servers = rng_below(rng, 4) ? (uint32_t)rng_below(rng, servers_most + 1) : 0;
        if (groups && rng_below(rng, 5))
            site->group = 1000 * (uint32_t)rng_below(rng, groups);
    }
    topology_count_servers(topology);
}

static void box_claim(uint8_t *used, const struct floor_plan *plan, const struct cable_cost *cost,
                      struct spot spot, uint32_t units)
{
    assert_true(spot.rack < plan->rack_count);
    assert_true(spot.unit >= 1 && spot.unit + units - 1 <= cost->rack_units);
    for (uint32_t u = 0; u < units; u++)
        assert_int_equal(used[(size_t)spot.rack * cost->rack_units + spot.unit - 1 + u]++, 0);
}

/* Checks that every box has units of its own, and every rack a position of its own. */
static void plan_check(const struct floor_plan *plan, const struct topology *topology,
                       const struct cable_cost *cost)
{
    uint8_t *used = array_new((size_t)plan->rack_count * cost->rack_units, 1);
    uint32_t *held = array_new(plan->rack_count, sizeof *held);
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        box_claim(used, plan, cost, plan->nodes[v],
                  topology->direct ? cost->server_units : cost->switch_units);
    for (uint32_t s = 0; !topology->direct && s < topology->server_count; s++) {
        box_claim(used, plan, cost, plan->servers[s], cost->server_units);
        assert_true(++held[plan->servers[s].rack] <= cost->servers_per_rack);
    }
    for (uint32_t i = 0; i < plan->rack_count; i++) {
        for (uint32_t j = 0; j < i; j++)
            assert_true(fabs(plan->racks[i].x_m - plan->racks[j].x_m) > 0.05 ||
                        fabs(plan->racks[i].y_m - plan->racks[j].y_m) > 0.05);
    }
    free(used);
    free(held);
}

static void every_box_has_its_own_place(void **state)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct rng rng = rng_make(seed, 1);
        struct cable_cost cost = cable_cost_default();
        cost.rack_units = 10 + (uint32_t)rng_below(&rng, 40);
        cost.server_units = 1 + (uint32_t)rng_below(&rng, 4);
        cost.switch_units = 1 + (uint32_t)rng_below(&rng, 3);
        cost.servers_per_rack = 1 + (uint32_t)rng_below(&rng, 40);
        cost.switches_per_rack = 1 + (uint32_t)rng_below(&rng, 40);
        cost.container_racks = 1 + (uint32_t)rng_below(&rng, 20);
        cost.container_servers = 1 + (uint32_t)rng_below(&rng, 100);
        struct topology topology;
        network_random(&topology, &rng, 3 + (uint32_t)rng_below(&rng, 60),
                       (uint32_t)rng_below(&rng, 6), (uint32_t)rng_below(&rng, 60));
        for (int layout = FLOOR_RACKS; layout <= FLOOR_CONTAINERS; layout++) {
            struct floor_plan plan;
            print_message("# seed %llu layout %d\n", (unsigned long long)seed, layout);
            assert_int_equal(
                floor_plan_make(&plan, &topology, (enum floor_layout)layout, &cost, NULL), OK);
            plan_check(&plan, &topology, &cost);
            floor_plan_fini(&plan);
        }
        topology_fini(&topology);
    }
}

static void a_switch_is_at_the_top_of_its_servers_rack(void **state)
{
    struct rng rng = rng_make(3, 2);
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct floor_plan plan;
    network_random(&topology, &rng, 40, 3, 90);
    assert_int_equal(floor_plan_make(&plan, &topology, FLOOR_RACKS, &cost, NULL), OK);
    for (uint32_t v = 0; v < 40; v++) {
        if (!topology.sites[v].servers)
            continue;
        struct spot first = plan.servers[plan.first_server[v]];
        assert_int_equal(plan.nodes[v].rack, first.rack);
        assert_true(plan.nodes[v].unit > first.unit);
        assert_false(plan.racks[first.rack].central);
    }
    floor_plan_fini(&plan);
    topology_fini(&topology);
}

static void the_switches_of_a_cluster_are_in_the_middle(void **state)
{
    struct rng rng = rng_make(4, 2);
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct floor_plan plan;
    double centre_x_m = 0, centre_y_m = 0, near_m = INFINITY, far_m = 0;
    network_random(&topology, &rng, 100, 0, 30);
    assert_int_equal(floor_plan_make(&plan, &topology, FLOOR_CLUSTER, &cost, NULL), OK);
    assert_true(plan.rack_count > 20);
    for (uint32_t i = 0; i < plan.rack_count; i++) {
        centre_x_m = fmax(centre_x_m, plan.racks[i].x_m / 2);
        centre_y_m = fmax(centre_y_m, plan.racks[i].y_m / 2);
    }
    for (uint32_t i = 0; i < plan.rack_count; i++) {
        double away_m = fabs(plan.racks[i].x_m - centre_x_m) + fabs(plan.racks[i].y_m - centre_y_m);
        assert_int_equal(plan.racks[i].central, plan.racks[i].servers == 0);
        if (plan.racks[i].central)
            far_m = fmax(far_m, away_m);
        else
            near_m = fmin(near_m, away_m);
    }
    assert_true(far_m <= near_m + 1e-9);
    for (uint32_t v = 0; v < 100; v++)
        assert_true(plan.racks[plan.nodes[v].rack].central);
    floor_plan_fini(&plan);
    topology_fini(&topology);
}

static void groups_become_containers(void **state)
{
    struct rng rng = rng_make(5, 2);
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct floor_plan plan;
    uint32_t box[60], count, loose[5] = {0}, loose_all = 0;
    network_random(&topology, &rng, 60, 5, 10);
    assert_int_equal(floor_containers(&topology, &cost, box, &count, NULL), OK);
    assert_int_equal(count, 5);
    for (uint32_t v = 0; v < 60; v++) {
        if (topology.sites[v].group != GROUP_NONE) {
            assert_int_equal(box[v], topology.sites[v].group / 1000);
        } else {
            loose[box[v]]++;
            loose_all++;
        }
    }
    for (uint32_t i = 0; i < 5; i++)
        assert_true(loose[i] >= loose_all / 5 && loose[i] <= (loose_all + 4) / 5);
    assert_int_equal(floor_plan_make(&plan, &topology, FLOOR_CONTAINERS, &cost, NULL), OK);
    assert_int_equal(plan.container_count, 5);
    for (uint32_t v = 0; v < 60; v++) {
        assert_int_equal(plan.racks[plan.nodes[v].rack].container, box[v]);
        for (uint64_t s = plan.first_server[v]; s < plan.first_server[v + 1]; s++)
            assert_int_equal(plan.racks[plan.servers[s].rack].container, box[v]);
    }
    floor_plan_fini(&plan);
    topology_fini(&topology);
}

static void without_groups_containers_fill_evenly(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology torus;
    uint32_t box[512], count, held[8] = {0};
    cost.container_servers = 100;
    assert_int_equal(topology_build(&torus, "torus:8x8x8", NULL), OK);
    assert_int_equal(floor_containers(&torus, &cost, box, &count, NULL), OK);
    assert_int_equal(count, 6);
    for (uint32_t v = 0; v < 512; v++)
        held[box[v]]++;
    for (uint32_t i = 0; i < 6; i++)
        assert_in_range(held[i], 85, 86);
    topology_fini(&torus);
}

static void a_folded_ring_has_no_long_step(void **state)
{
    for (uint32_t k = 1; k <= 60; k++) {
        uint64_t seen = 0;
        for (uint32_t c = 0; c < k; c++) {
            uint32_t here = floor_fold(c, k), next = floor_fold((c + 1) % k, k);
            assert_true(here < k && !(seen >> here & 1));
            seen |= UINT64_C(1) << here;
            assert_true((here > next ? here - next : next - here) <= 2);
        }
    }
}

static void a_ring_of_servers_needs_no_cable_across_the_floor(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology ring;
    struct floor_plan plan;
    assert_int_equal(topology_build(&ring, "torus:4000", NULL), OK);
    assert_int_equal(floor_plan_make(&plan, &ring, FLOOR_RACKS, &cost, NULL), OK);
    plan_check(&plan, &ring, &cost);
    assert_int_equal(plan.rack_count, 100);
    for (uint32_t v = 0; v < 4000; v++) {
        struct spot a = plan.nodes[v], b = plan.nodes[(v + 1) % 4000];
        assert_true((a.rack > b.rack ? a.rack - b.rack : b.rack - a.rack) <= 1);
        /* twice the height of the trays, one step between rows, slack */
        assert_true(floor_plan_length_m(&plan, &cost, a, b) < 2 * 2.6 + 2.4 + 1);
    }
    floor_plan_fini(&plan);
    topology_fini(&ring);
}

static void the_floor_is_about_square(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology ring;
    struct floor_plan plan;
    double wide_m = 0, deep_m = 0;
    assert_int_equal(topology_build(&ring, "torus:40000", NULL), OK);
    assert_int_equal(floor_plan_make(&plan, &ring, FLOOR_RACKS, &cost, NULL), OK);
    for (uint32_t i = 0; i < plan.rack_count; i++) {
        wide_m = fmax(wide_m, plan.racks[i].x_m + cost.rack_width_m);
        deep_m = fmax(deep_m, plan.racks[i].y_m + cost.row_pitch_m);
    }
    assert_true(wide_m / deep_m > 0.8 && wide_m / deep_m < 1.25);
    floor_plan_fini(&plan);
    topology_fini(&ring);
}

static void lengths_follow_the_rule(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct rack racks[] = {{.x_m = 0, .y_m = 0}, {.x_m = 1.2, .y_m = 4.8}};
    struct floor_plan plan = {.racks = racks, .rack_count = 2};
    struct spot top = {0, 42}, bottom = {0, 2}, far = {1, 20};
    double inside = 40 * 0.04445 + 0.5;
    double across = 1.2 + 4.8 + (2.6 - 42 * 0.04445) + (2.6 - 20 * 0.04445) + 1;
    assert_true(fabs(floor_plan_length_m(&plan, &cost, top, bottom) - inside) < 1e-9);
    assert_true(fabs(floor_plan_length_m(&plan, &cost, top, far) - across) < 1e-9);
    assert_true(fabs(floor_plan_length_m(&plan, &cost, far, top) - across) < 1e-9);
}

static void each_topology_has_a_layout(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct rng rng = rng_make(1, 1);
    struct topology topology;
    struct floor_plan plan;
    struct why why = {""};
    assert_int_equal(topology_build(&topology, "torus:3x3", NULL), OK);
    assert_int_equal(floor_layout_default(&topology, &cost), FLOOR_RACKS);
    assert_int_equal(floor_plan_make(&plan, &topology, FLOOR_CLUSTER, &cost, &why), ERR_USAGE);
    topology_fini(&topology);
    network_random(&topology, &rng, 20, 0, 10);
    assert_int_equal(floor_layout_default(&topology, &cost), FLOOR_CLUSTER);
    topology_fini(&topology);
    assert_int_equal(topology_build(&topology, "fattree:k=4", NULL), OK);
    assert_int_equal(floor_layout_default(&topology, &cost), FLOOR_RACKS);
    cost.container_servers = 5;
    assert_int_equal(floor_layout_default(&topology, &cost), FLOOR_CONTAINERS);
    topology_fini(&topology);
    network_random(&topology, &rng, 20, 2, 10);
    assert_int_equal(floor_layout_default(&topology, &cost), FLOOR_CONTAINERS);
    topology_fini(&topology);
    for (int layout = FLOOR_RACKS; layout <= FLOOR_CONTAINERS; layout++)
        assert_non_null(floor_layout_name((enum floor_layout)layout));
}

TEST_MAIN(TEST(every_box_has_its_own_place), TEST(a_switch_is_at_the_top_of_its_servers_rack),
          TEST(the_switches_of_a_cluster_are_in_the_middle), TEST(groups_become_containers),
          TEST(without_groups_containers_fill_evenly), TEST(a_folded_ring_has_no_long_step),
          TEST(a_ring_of_servers_needs_no_cable_across_the_floor), TEST(the_floor_is_about_square),
          TEST(lengths_follow_the_rule), TEST(each_topology_has_a_layout))
