#include "topology/cabling/cabling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

static void assert_close(double got, double expected)
{
    if (fabs(got - expected) > 1e-6 * fmax(1, fabs(expected)))
        print_message("# got %.12g, expected %.12g\n", got, expected);
    assert_true(fabs(got - expected) <= 1e-6 * fmax(1, fabs(expected)));
}

/* A fat-tree made here, so that the test depends on no generator: per pod k/2 edge and k/2
 * aggregation switches, then the core. */
static void tree_make(struct topology *topology, uint32_t k)
{
    uint32_t half = k / 2, pods = k * k, count = 0;
    struct link *links = array_new((size_t)k * k * k / 2, sizeof *links);
    for (uint32_t p = 0; p < k; p++) {
        for (uint32_t a = 0; a < half; a++) {
            for (uint32_t e = 0; e < half; e++)
                links[count++] = (struct link){p * k + e, p * k + half + a, PORT_ANY, PORT_ANY};
            for (uint32_t c = 0; c < half; c++)
                links[count++] =
                    (struct link){p * k + half + a, pods + a * half + c, PORT_ANY, PORT_ANY};
        }
    }
    assert_int_equal(
        topology_init(topology, TOPOLOGY_FATTREE, false, pods + half * half, links, count, NULL),
        OK);
    free(links);
    for (uint32_t v = 0; v < pods + half * half; v++) {
        topology->sites[v].ports = k;
        topology->sites[v].level = v >= pods ? 2 : v % k >= half;
        topology->sites[v].group = v >= pods ? GROUP_NONE : v / k;
        topology->sites[v].servers = v < pods && v % k < half ? half : 0;
    }
    topology_count_servers(topology);
}

static void servers_get_ports_that_the_switch_has(void **state)
{
    /* uplinks in the last ports, as in most switches; in the middle; first */
    static const struct link links[] = {{0, 1, 4, 1}, {0, 1, 5, 3}, {1, 2, 5, 0}};
    static const uint32_t expected[] = {0, 1, 2, 3, 0, 2, 4, 1, 2};
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct cabling cabling;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 3, links, 3, NULL), OK);
    for (uint32_t v = 0; v < 3; v++)
        topology.sites[v] = (struct site){.servers = 4 - v, .ports = 6, .group = GROUP_NONE};
    topology_count_servers(&topology);
    topology_check(&topology);
    assert_int_equal(cabling_make(&cabling, &topology, FLOOR_RACKS, &cost, NULL), OK);
    for (uint32_t i = 3; i < cabling.cable_count; i++)
        assert_int_equal(cabling.cables[i].a.port, expected[i - 3]);
    assert_int_equal(cabling.cable_count, 3 + 9);
    cabling_fini(&cabling);
    topology_fini(&topology);
}

static void two_switches_have_the_cabling_computed_by_hand(void **state)
{
    static const struct link pair[] = {{0, 1, PORT_ANY, PORT_ANY}};
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct cabling cabling;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 2, pair, 1, NULL), OK);
    topology.sites[0].servers = 1;
    topology.sites[1].servers = 30;
    topology_count_servers(&topology);
    cost.servers_per_rack = 30; /* a rack each */
    cost.switch_port = 100;
    assert_int_equal(cabling_make(&cabling, &topology, FLOOR_RACKS, &cost, NULL), OK);
    const struct cabling_totals *totals = &cabling.totals;
    assert_int_equal(cabling.plan.rack_count, 2);
    assert_int_equal(totals->cables, 32);
    assert_int_equal(totals->link_cables, 1);
    assert_int_equal(totals->server_cables, 31);
    assert_int_equal(totals->copper, 32);
    assert_int_equal(totals->bundles, 1);
    assert_int_equal(totals->bundle_max, 1);
    assert_close(totals->local_share, 0);
    /* both switches in unit 42 of neighbouring racks; server i in unit i */
    double link = 0.6 + 2 * (2.6 - 42 * 0.04445) + 1, all = link + 41 * 0.04445 + 0.5;
    for (int unit = 1; unit <= 30; unit++)
        all += (42 - unit) * 0.04445 + 0.5;
    assert_close(cabling.cables[0].length_m, link);
    assert_close(totals->length_total_m, all);
    assert_close(totals->cost_metres, 5.5 * all);
    assert_close(totals->cost_copper_ends, 64 * 5);
    assert_close(totals->cost_labour, (5.5 * all + 320) / 9);
    assert_close(totals->cost_switches, 100 * (2 + 31));
    /* the servers' ports come after the link's */
    assert_int_equal(cabling.cables[1].a.port, 1);
    assert_int_equal(cabling.cables[1].b.server, 0);
    assert_int_equal(cabling.cables[31].a.port, 30);
    cabling_fini(&cabling);
    topology_fini(&topology);
}

/* Computes sums and bundles again, in a simple way. */
static void cabling_check(const struct cabling *cabling, const struct cable_cost *cost)
{
    double length_m = 0, price = 0;
    uint64_t optical = 0, bundled = 0;
    for (uint32_t i = 0; i < cabling->cable_count; i++) {
        const struct planned_cable *cable = &cabling->cables[i];
        const struct rack *a = &cabling->plan.racks[cable->a.spot.rack];
        const struct rack *b = &cabling->plan.racks[cable->b.spot.rack];
        length_m += cable->length_m;
        price += cable->cost;
        optical += cable->optical;
        assert_int_equal(cable->optical, cable->length_m > cost->copper_limit_m);
        assert_int_equal(cable->bundle == BUNDLE_NONE, a == b);
        bundled += cable->bundle != BUNDLE_NONE;
        assert_true(cable->bundle == BUNDLE_NONE || cable->bundle < cabling->totals.bundles);
        for (uint32_t j = 0; j < i; j++) {
            const struct planned_cable *other = &cabling->cables[j];
            const struct rack *c = &cabling->plan.racks[other->a.spot.rack];
            const struct rack *d = &cabling->plan.racks[other->b.spot.rack];
            if (a == b || c == d)
                continue;
            bool same = (a == c && b == d) || (a == d && b == c);
            if (a->container != b->container)
                same = (a->container == c->container && b->container == d->container) ||
                       (a->container == d->container && b->container == c->container);
            assert_int_equal(same, cable->bundle == other->bundle);
        }
    }
    assert_close(cabling->totals.length_total_m, length_m);
    assert_close(cabling->totals.cost_total - cabling->totals.cost_switches, price);
    assert_int_equal(cabling->totals.optical, optical);
    assert_int_equal(cabling->totals.copper, cabling->cable_count - optical);
    assert_true(bundled >= cabling->totals.bundles);
    assert_close(cabling->totals.cost_transceivers, 2 * cost->transceiver * (double)optical);
}

static void totals_are_sums_over_the_cables(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology tree;
    cost.copper_limit_m = 6;
    cost.labour_share = 0.25;
    cost.servers_per_rack = 7;
    cost.switches_per_rack = 5;
    tree_make(&tree, 8);
    for (int layout = FLOOR_RACKS; layout <= FLOOR_CONTAINERS; layout++) {
        struct cabling cabling;
        assert_int_equal(cabling_make(&cabling, &tree, (enum floor_layout)layout, &cost, NULL), OK);
        assert_int_equal(cabling.totals.link_cables, 256);
        assert_int_equal(cabling.totals.server_cables, 128);
        assert_true(cabling.totals.optical > 0 && cabling.totals.copper > 0);
        cabling_check(&cabling, &cost);
        cabling_fini(&cabling);
    }
    topology_fini(&tree);
}

/* Jellyfish, section 6.3: 0.5 (1 + 1/k) of a fat-tree's links are local. */
static void a_fat_tree_keeps_its_pods_local(void **state)
{
    struct cable_cost cost = cable_cost_default();
    for (uint32_t k = 4; k <= 14; k += 2) {
        struct topology tree;
        struct cabling cabling;
        tree_make(&tree, k);
        assert_int_equal(cabling_make(&cabling, &tree, FLOOR_CONTAINERS, &cost, NULL), OK);
        assert_int_equal(cabling.plan.container_count, k);
        assert_close(cabling.totals.local_share, 0.5 * (1 + 1.0 / k));
        cabling_fini(&cabling);
        topology_fini(&tree);
    }
}

/* Section 6.2: if the switches stand together, a small cluster needs no fibre between them. */
static void the_links_of_a_small_cluster_are_copper(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology tree;
    struct cabling cabling;
    tree_make(&tree, 14);
    assert_int_equal(cabling_make(&cabling, &tree, FLOOR_CLUSTER, &cost, NULL), OK);
    for (uint32_t i = 0; i < cabling.totals.link_cables; i++)
        assert_false(cabling.cables[i].optical);
    assert_true(cabling.totals.length_mean_m < 10);
    cabling_fini(&cabling);
    topology_fini(&tree);
}

static void the_largest_fat_tree_of_the_same_switches_is_found(void **state)
{
    struct topology tree;
    uint32_t k;
    tree_make(&tree, 8);
    assert_int_equal(cabling_fattree_ports(&tree, &k, NULL), OK);
    assert_int_equal(k, 8);
    for (uint32_t v = 0; v < 80; v++)
        tree.sites[v].ports = 9; /* the odd port is left over */
    assert_int_equal(cabling_fattree_ports(&tree, &k, NULL), OK);
    assert_int_equal(k, 8);
    for (uint32_t v = 0; v < 80; v++)
        tree.sites[v].ports = 48; /* too few switches for more than k = 8 */
    assert_int_equal(cabling_fattree_ports(&tree, &k, NULL), OK);
    assert_int_equal(k, 8);
    topology_fini(&tree);

    /* a star: 1 switch of 5 ports, 5 of 1 port */
    static const struct link star[] = {{0, 1, PORT_ANY, PORT_ANY},
                                       {0, 2, PORT_ANY, PORT_ANY},
                                       {0, 3, PORT_ANY, PORT_ANY},
                                       {0, 4, PORT_ANY, PORT_ANY},
                                       {0, 5, PORT_ANY, PORT_ANY}};
    assert_int_equal(topology_init(&tree, TOPOLOGY_OTHER, false, 6, star, 5, NULL), OK);
    assert_int_equal(cabling_fattree_ports(&tree, &k, NULL), OK);
    assert_int_equal(k, 0);
    for (uint32_t v = 1; v < 5; v++)
        tree.sites[v].ports = 3;
    assert_int_equal(cabling_fattree_ports(&tree, &k, NULL), OK);
    assert_int_equal(k, 2);
    topology_fini(&tree);
}

static void names_are_quoted_in_the_cable_list(void **state)
{
    static const struct link pair[] = {{0, 1, PORT_ANY, PORT_ANY}};
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct cabling cabling;
    struct text out = {0};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 2, pair, 1, NULL), OK);
    topology.sites[0].servers = 1;
    topology_count_servers(&topology);
    topology.names = array_new(2, sizeof *topology.names);
    topology.names[0] = strdup("a, \"b\"");
    topology.names[1] = strdup("c");
    assert_int_equal(cabling_make(&cabling, &topology, FLOOR_CLUSTER, &cost, NULL), OK);
    cabling_write_csv(&cabling, &topology, &out);
    assert_true(text_ok(&out));
    assert_non_null(strstr(out.data, "\n0,link,,0,42,\"a, \"\"b\"\"\",0,,0,41,c,0,0.54,copper,,"));
    assert_non_null(strstr(out.data, ",\"a, \"\"b\"\"/0\",0,"));
    text_fini(&out);
    cabling_fini(&cabling);
    topology_fini(&topology);
}

static void an_empty_network_needs_no_cables(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    for (int layout = FLOOR_RACKS; layout <= FLOOR_CONTAINERS; layout++) {
        struct cabling cabling;
        assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 0, NULL, 0, NULL), OK);
        assert_int_equal(cabling_make(&cabling, &topology, (enum floor_layout)layout, &cost, NULL),
                         OK);
        assert_int_equal(cabling.totals.cables, 0);
        assert_true(isnan(cabling.totals.local_share));
        cabling_fini(&cabling);
        topology_fini(&topology);
    }
}

static void too_many_cables_are_refused(void **state)
{
    struct cable_cost cost = cable_cost_default();
    struct topology topology;
    struct cabling cabling;
    struct why why = {""};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, false, 1, NULL, 0, NULL), OK);
    topology.sites[0].servers = CABLING_CABLE_MAX + 1;
    topology_count_servers(&topology);
    assert_int_equal(cabling_make(&cabling, &topology, FLOOR_CLUSTER, &cost, &why), ERR_USAGE);
    assert_string_equal(why.text,
                        "20000001 cables are too many to lay out; the maximum is 20000000");
    topology_fini(&topology);
}

TEST_MAIN(TEST(servers_get_ports_that_the_switch_has),
          TEST(two_switches_have_the_cabling_computed_by_hand),
          TEST(totals_are_sums_over_the_cables), TEST(a_fat_tree_keeps_its_pods_local),
          TEST(the_links_of_a_small_cluster_are_copper),
          TEST(the_largest_fat_tree_of_the_same_switches_is_found),
          TEST(names_are_quoted_in_the_cable_list), TEST(an_empty_network_needs_no_cables),
          TEST(too_many_cables_are_refused))
