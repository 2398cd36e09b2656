#include "topology/cabling/cable_count.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/rng.h"
#include "base/test.h"

static void a_fat_tree_is_counted(void **state)
{
    struct cable_count count = cable_count_fattree(4);
    assert_int_equal(count.switches, 20);
    assert_int_equal(count.servers, 16);
    assert_int_equal(count.link_cables, 32);
    assert_int_equal(count.server_cables, 16);
    /* every port of every switch has a cable */
    for (uint32_t k = 2; k <= 64; k += 2) {
        count = cable_count_fattree(k);
        assert_int_equal(count.switches * k, 2 * count.link_cables + count.server_cables);
    }
}

static bool enough(uint32_t k, uint64_t servers, uint64_t switches)
{
    double r = k - (double)servers / (double)switches;
    return r > 0 && (double)switches * (r / 4 - sqrt(r * log(2)) / 2) >= (double)servers / 2;
}

static void the_smallest_jellyfish_is_found(void **state)
{
    static const uint32_t ports[] = {8, 12, 24, 32, 48, 64};
    for (unsigned i = 0; i < sizeof ports / sizeof *ports; i++) {
        struct cable_count tree = cable_count_fattree(ports[i]), jelly;
        uint64_t switches = 1;
        while (!enough(ports[i], tree.servers, switches))
            switches++;
        assert_true(cable_count_jellyfish(ports[i], tree.servers, &jelly));
        assert_int_equal(jelly.switches, switches);
        assert_int_equal(jelly.servers, tree.servers);
        assert_int_equal(jelly.link_cables, (switches * ports[i] - tree.servers) / 2);
    }
}

/* Section 6.2: 15 to 20 % fewer cables, depending on the scale. */
static void jellyfish_saves_cables(void **state)
{
    static const uint32_t ports[] = {32, 48};
    for (unsigned i = 0; i < 2; i++) {
        struct cable_count tree = cable_count_fattree(ports[i]), jelly;
        assert_true(cable_count_jellyfish(ports[i], tree.servers, &jelly));
        double saved = 1 - (double)(jelly.link_cables + jelly.server_cables) /
                               (double)(tree.link_cables + tree.server_cables);
        print_message("# %u ports: %.1f %% fewer cables\n", ports[i], 100 * saved);
        assert_true(saved > 0.14 && saved < 0.21);
    }
}

static void switches_with_too_few_ports_build_no_jellyfish(void **state)
{
    struct cable_count jelly;
    assert_false(cable_count_jellyfish(1, 100, &jelly));
    assert_false(cable_count_jellyfish(4, 100, &jelly));
    assert_true(cable_count_jellyfish(16, 100, &jelly));
}

static void tallies_agree_with_counting(void **state)
{
    struct rng rng = rng_make(11, 0);
    enum { NODES = 40, LINKS = 200, BOXES = 6 };
    struct link links[LINKS];
    uint32_t box[NODES], between[BOXES][BOXES] = {{0}};
    uint64_t local = 0, bundles = 0, most = 0;
    for (uint32_t v = 0; v < NODES; v++)
        box[v] = (uint32_t)rng_below(&rng, BOXES);
    for (uint32_t e = 0; e < LINKS; e++) {
        uint32_t a = (uint32_t)rng_below(&rng, NODES), b = (uint32_t)rng_below(&rng, NODES - 1);
        b += b >= a;
        links[e] = (struct link){a, b, PORT_ANY, PORT_ANY};
        local += box[a] == box[b];
        between[box[a]][box[b]]++;
    }
    for (uint32_t i = 0; i < BOXES; i++) {
        for (uint32_t j = 0; j < i; j++) {
            uint64_t sum = between[i][j] + between[j][i];
            bundles += sum > 0;
            most = sum > most ? sum : most;
        }
    }
    struct graph graph;
    struct container_tally tally;
    assert_int_equal(graph_make(&graph, NODES, links, LINKS, NULL), OK);
    assert_int_equal(container_tally_make(&tally, &graph, box, BOXES, NULL), OK);
    assert_int_equal(tally.local, local);
    assert_int_equal(tally.global, LINKS - local);
    assert_int_equal(tally.bundles, bundles);
    assert_int_equal(tally.bundle_max, most);
    assert_int_equal(container_tally_make(&tally, &graph, box, 30000, NULL), ERR_USAGE);
    graph_fini(&graph);
}

/* Section 6.3: 100,000 servers in 40 containers, if every link port can lead anywhere: about 800
 * bundles, each of fewer than 200 cables. The graph here pairs ports at random; parallel links do
 * not affect the count. */
static void forty_containers_need_about_800_bundles(void **state)
{
    struct cable_count jelly;
    assert_true(cable_count_jellyfish(64, 100000, &jelly));
    uint32_t nodes = (uint32_t)jelly.switches, count = 0;
    uint32_t ends = 2 * (uint32_t)jelly.link_cables;
    uint32_t *ports = array_new(ends, sizeof *ports);
    uint32_t *box = array_new(nodes, sizeof *box);
    struct link *links = array_new(ends / 2, sizeof *links);
    struct rng rng = rng_make(1, 0);
    for (uint32_t i = 0; i < ends; i++)
        ports[i] = i % nodes;
    rng_shuffle(&rng, ports, ends);
    for (uint32_t i = 0; i < ends; i += 2)
        if (ports[i] != ports[i + 1])
            links[count++] = (struct link){ports[i], ports[i + 1], PORT_ANY, PORT_ANY};
    for (uint32_t v = 0; v < nodes; v++)
        box[v] = (uint32_t)((uint64_t)v * 40 / nodes);
    struct graph graph;
    struct container_tally tally;
    assert_int_equal(graph_make(&graph, nodes, links, count, NULL), OK);
    assert_int_equal(container_tally_make(&tally, &graph, box, 40, NULL), OK);
    print_message("# %u switches, %llu bundles, largest %llu, mean %.1f\n", nodes,
                  (unsigned long long)tally.bundles, (unsigned long long)tally.bundle_max,
                  tally.bundle_mean);
    assert_int_equal(tally.bundles, 40 * 39 / 2);
    assert_true(tally.bundle_mean < 200 && tally.bundle_mean > 100);
    graph_fini(&graph);
    free(ports);
    free(box);
    free(links);
}

TEST_MAIN(TEST(a_fat_tree_is_counted), TEST(the_smallest_jellyfish_is_found),
          TEST(jellyfish_saves_cables), TEST(switches_with_too_few_ports_build_no_jellyfish),
          TEST(tallies_agree_with_counting), TEST(forty_containers_need_about_800_bundles))
