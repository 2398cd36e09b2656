#include "routing/rules/rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"

static const char *const specs[] = {
    "jellyfish:servers=40,switches=20,ports=6,seed=3",
    "jellyfish:servers=30,ports=10x6+8x4,bare=3,seed=2", /* some switches without servers */
    "fattree:k=4",
    "torus:4x3x2",
    "torus:9",
    "torus:2", /* two nodes, one cable */
};

#define SPEC_COUNT (sizeof specs / sizeof *specs)

static void tables_make(struct topology *topology, struct rules *rules, const char *spec,
                        struct rules_order order)
{
    struct why why = {""};
    assert_int_equal(topology_build(topology, spec, &why), OK);
    assert_int_equal(rules_make(rules, topology, &order, &why), OK);
}

/* Finds the matching hop by comparing all: there must be exactly one. */
static const struct rules_hop *hop_find(const struct rules *rules, uint32_t at, uint32_t to,
                                        uint32_t label)
{
    const struct rules_hop *found = NULL;
    for (size_t i = 0; i < rules->hop_count; i++) {
        const struct rules_hop *hop = &rules->hops[i];
        bool meant = rules->labels == RULES_SWAPPED || hop->to == to;
        if (hop->at != at || hop->label != label || !meant)
            continue;
        assert_null(found);
        found = hop;
    }
    assert_non_null(found);
    return found;
}

/* Checks that every way, hop by hop, is the path that the search finds for the pair. */
static void ways_check(const struct topology *topology, const struct rules *rules,
                       const struct rules_order *order)
{
    struct path_set paths = {0};
    struct k_shortest *search;
    size_t at = 0;
    assert_int_equal(k_shortest_open(&search, &topology->graph, NULL), OK);
    for (uint32_t from = 0; from < topology->graph.node_count; from++) {
        for (uint32_t to = 0; to < topology->graph.node_count; to++) {
            if (from == to || !topology->sites[from].servers || !topology->sites[to].servers)
                continue;
            path_set_fini(&paths);
            assert_int_equal(k_shortest_find(search, from, to, order->ways, order->rule,
                                             order->seed, &paths, NULL),
                             OK);
            assert_true(paths.path_count > 0);
            for (size_t p = 0; p < paths.path_count; p++, at++) {
                const struct rules_way *way = &rules->ways[at];
                const uint32_t *channels = path_set_channels(&paths, p);
                uint32_t label = way->label;
                assert_true(way->from == from && way->to == to && way->index == p);
                assert_int_equal(way->hops, path_set_hops(&paths, p));
                assert_int_equal(way->channel, channels[0]);
                for (uint32_t i = 1; i < way->hops; i++) {
                    uint32_t node = graph_channel_from(&topology->graph, channels[i]);
                    const struct rules_hop *hop = hop_find(rules, node, to, label);
                    assert_int_equal(hop->channel, channels[i]);
                    label = hop->next;
                }
                if (rules->labels == RULES_SWAPPED)
                    assert_int_equal(label, RULES_MPLS_FIRST);
            }
        }
    }
    assert_int_equal(at, rules->way_count);
    path_set_fini(&paths);
    k_shortest_close(search);
}

static void every_way_follows_its_path(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        for (int kind = 0; kind < 4; kind++) {
            struct rules_order order = {
                .labels = kind & 1 ? RULES_SWAPPED : RULES_CONSTANT,
                .rule = kind & 2 ? K_SHORTEST_EQUAL : K_SHORTEST_ANY,
                .ways = 5,
                .seed = 7,
            };
            struct topology topology;
            struct rules rules;
            tables_make(&topology, &rules, specs[i], order);
            ways_check(&topology, &rules, &order);
            rules_fini(&rules);
            topology_fini(&topology);
        }
    }
}

/* Counts different remainders of paths, of two hops or more, by comparing all. */
static size_t remainders_count(const struct topology *topology, const struct rules_order *order)
{
    struct path_set paths = {0};
    struct k_shortest *search;
    size_t count = 0;
    assert_int_equal(k_shortest_open(&search, &topology->graph, NULL), OK);
    for (uint32_t to = 0; to < topology->graph.node_count; to++)
        for (uint32_t from = 0; from < topology->graph.node_count; from++)
            if (from != to && topology->sites[from].servers && topology->sites[to].servers)
                assert_int_equal(k_shortest_find(search, from, to, order->ways, order->rule,
                                                 order->seed, &paths, NULL),
                                 OK);
    k_shortest_close(search);
    const uint32_t **seen = array_new(paths.hop_count, sizeof *seen);
    size_t *sizes = array_new(paths.hop_count, sizeof *sizes);
    for (size_t p = 0; p < paths.path_count; p++) {
        for (size_t i = paths.path_first[p] + 1; i < paths.path_first[p + 1]; i++) {
            const uint32_t *rest = paths.channels + i;
            size_t size = paths.path_first[p + 1] - i, known = 0;
            while (known < count &&
                   (sizes[known] != size || memcmp(seen[known], rest, size * sizeof *rest) != 0))
                known++;
            if (known < count)
                continue;
            seen[count] = rest;
            sizes[count++] = size;
        }
    }
    free(seen);
    free(sizes);
    path_set_fini(&paths);
    return count;
}

static void equal_remainders_are_one_swapped_label(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct rules_order order = {.labels = RULES_SWAPPED, .ways = 4, .seed = 1};
        struct topology topology;
        struct rules swapped, constant;
        tables_make(&topology, &swapped, specs[i], order);
        assert_int_equal(swapped.hop_count, remainders_count(&topology, &order));
        /* a constant label needs the same rules or more */
        order.labels = RULES_CONSTANT;
        assert_int_equal(rules_make(&constant, &topology, &order, NULL), OK);
        assert_true(constant.hop_count >= swapped.hop_count);
        assert_int_equal(constant.way_count, swapped.way_count);
        rules_fini(&constant);
        rules_fini(&swapped);
        topology_fini(&topology);
    }
}

/* At each switch the labels are 16, 17, ... without a gap; a switch with servers reserves 16 for
 * them. */
static void swapped_labels_count_up_at_each_switch(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct rules_order order = {.labels = RULES_SWAPPED, .ways = 6, .seed = 4};
        struct topology topology;
        struct rules rules;
        uint32_t most = 0;
        tables_make(&topology, &rules, specs[i], order);
        for (size_t at = 0, last; at < rules.hop_count; at = last) {
            uint32_t node = rules.hops[at].at;
            uint32_t next = RULES_MPLS_FIRST + (topology.sites[node].servers > 0);
            for (last = at; last < rules.hop_count && rules.hops[last].at == node; last++)
                assert_int_equal(rules.hops[last].label, next++);
            most = next - RULES_MPLS_FIRST > most ? next - RULES_MPLS_FIRST : most;
        }
        assert_int_equal(rules.label_count, most ? most : 1);
        rules_fini(&rules);
        topology_fini(&topology);
    }
}

/* Paths of two hops never diverge at a switch: one label carries all. Paths that diverge need
 * different labels: round a ring, both directions pass every switch. */
static void constant_labels_are_few(void **state)
{
    struct rules_order order = {.rule = K_SHORTEST_EQUAL, .ways = 16, .seed = 1};
    struct topology topology;
    struct rules rules;
    tables_make(&topology, &rules, "fattree:k=4", order); /* paths of 2 and 4 hops */
    assert_true(rules.label_count <= 4);
    rules_fini(&rules);
    topology_fini(&topology);
    tables_make(&topology, &rules, "torus:3", order);
    assert_int_equal(rules.label_count, 1);
    rules_fini(&rules);
    order.rule = K_SHORTEST_ANY;
    topology_fini(&topology);
    tables_make(&topology, &rules, "torus:9", order);
    assert_int_equal(rules.label_count, 2);
    assert_int_equal(rules.hop_count, 9 * 2 * 7);
    rules_fini(&rules);
    topology_fini(&topology);
}

/* Seven switches, all joined with each other, have 326 paths per pair. Paths through the same
 * switch diverge there, so more than 64 labels are needed. */
static void labels_may_be_many(void **state)
{
    struct rules_order order = {.ways = 400, .seed = 1};
    struct topology topology;
    struct link links[21];
    struct rules rules;
    uint32_t count = 0;
    for (uint32_t a = 0; a < 7; a++)
        for (uint32_t b = 0; b < a; b++)
            links[count++] = (struct link){a, b, PORT_ANY, PORT_ANY};
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 7, links, count, NULL), OK);
    topology_count_servers(&topology);
    assert_int_equal(rules_make(&rules, &topology, &order, NULL), OK);
    assert_int_equal(rules.way_count, 42 * 326); /* 1 + 5 + 20 + 60 + 120 + 120 */
    assert_true(rules.label_count > 64);
    ways_check(&topology, &rules, &order);
    rules_fini(&rules);
    topology_fini(&topology);
}

static void rules_made_for_one_destination_equal_those_made_for_all(void **state)
{
    for (int kind = 0; kind < 2; kind++) {
        struct rules_order order = {.labels = kind ? RULES_SWAPPED : RULES_CONSTANT, .ways = 3};
        struct topology topology;
        struct rules all, slice = {0};
        struct rules_maker *maker;
        tables_make(&topology, &all, specs[0], order);
        assert_int_equal(rules_maker_open(&maker, &topology, &order, NULL), OK);
        size_t hops = 0, ways = 0;
        for (uint32_t to = 0; to < topology.graph.node_count; to++) {
            slice.hop_count = slice.way_count = 0;
            assert_int_equal(rules_maker_add(maker, to, &slice, NULL), OK);
            rules_sort(&slice);
            for (size_t i = 0; i < slice.hop_count; i++) {
                assert_int_equal(slice.hops[i].to, to);
                const struct rules_hop *same =
                    hop_find(&all, slice.hops[i].at, to, slice.hops[i].label);
                assert_memory_equal(same, &slice.hops[i], sizeof *same);
            }
            hops += slice.hop_count;
            ways += slice.way_count;
        }
        assert_true(hops == all.hop_count && ways == all.way_count);
        rules_maker_close(maker);
        rules_fini(&slice);
        rules_fini(&all);
        topology_fini(&topology);
    }
}

static void too_many_rules_labels_or_servers_are_refused(void **state)
{
    struct rules_order order = {.ways = 8, .seed = 1};
    struct topology topology;
    struct rules rules;
    struct why why = {""};
    assert_int_equal(topology_build(&topology, "torus:48x48", &why), OK);
    assert_int_equal(rules_make(&rules, &topology, &order, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "2304 switches with servers and 8 ways need about "));
    assert_non_null(strstr(why.text, "--switch SWITCH"));
    topology_fini(&topology);
    assert_int_equal(topology_build(&topology, "fattree:k=4", &why), OK);
    topology_set_servers(&topology, 65537);
    topology_count_servers(&topology);
    assert_int_equal(rules_make(&rules, &topology, &order, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "switch 0 has 65537 servers"));
    topology_fini(&topology);
}

TEST_MAIN(TEST(every_way_follows_its_path), TEST(equal_remainders_are_one_swapped_label),
          TEST(swapped_labels_count_up_at_each_switch), TEST(constant_labels_are_few),
          TEST(labels_may_be_many), TEST(rules_made_for_one_destination_equal_those_made_for_all),
          TEST(too_many_rules_labels_or_servers_are_refused))
