#include "keyspace/keyspace_cases.h"
#include "topology/change/grow.h"

static const char *const specs[] = {
    "jellyfish:n=2,degree=1,seed=1",
    "jellyfish:n=27,degree=6,seed=5",
    "jellyfish:n=64,degree=3,seed=2",
    "jellyfish:n=100,degree=5,seed=3",
    "jellyfish:n=130,degree=12,seed=4",
    "torus:9",
    "torus:1",
    "torus:2x2x3x2",
};
#define SPEC_COUNT (sizeof specs / sizeof *specs)

/* Counts hops by relaxing all cables until nothing changes. */
static void distances(const struct topology *topology, node_id from, uint32_t *hops)
{
    uint32_t nodes = topology->graph.node_count;
    for (uint32_t node = 0; node < nodes; node++)
        hops[node] = node == from ? 0 : nodes;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < topology->graph.link_count; i++) {
            const struct link *link = &topology->graph.links[i];
            uint32_t *a = &hops[link->a], *b = &hops[link->b];
            if (*a + 1 < *b || *b + 1 < *a) {
                *(*a < *b ? b : a) = (*a < *b ? *a : *b) + 1;
                changed = true;
            }
        }
    }
}

static void lists_hold_all_servers_level_by_level(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct space space;
        space_open(&space, specs[i]);
        assert_int_equal(space.keyspace.axis_count, 0);
        uint32_t *hops = calloc(space.count, sizeof *hops);
        uint8_t *seen = calloc(space.count, 1);
        assert_non_null(hops);
        assert_non_null(seen);
        for (node_id home = 0; home < space.count; home += 5) {
            distances(&space.topology, home, hops);
            for (uint32_t sequence = 0; sequence < 48; sequence++) {
                memset(space.scratch, 0xee, keyspace_scratch_size(&space.keyspace));
                space_list(&space, (struct place_group){home, sequence});
                memset(seen, 0, space.count);
                for (uint32_t j = 0; j < space.count; j++) {
                    assert_false(seen[space.all[j]]);
                    seen[space.all[j]] = 1;
                    assert_true(j == 0 || hops[space.all[j - 1]] <= hops[space.all[j]]);
                }
            }
        }
        free(hops);
        free(seen);
        space_close(&space);
    }
}

static void servers_without_a_path_to_the_home_come_last(void **state)
{
    /* Two triangles and an isolated server. */
    static const struct link links[] = {{0, 1, 0, 0}, {1, 2, 1, 0}, {2, 0, 1, 1},
                                        {4, 5, 0, 0}, {5, 6, 1, 0}, {6, 4, 1, 1}};
    struct topology topology;
    assert_int_equal(topology_init(&topology, TOPOLOGY_OTHER, true, 7, links, 6, NULL), OK);
    topology_count_servers(&topology);
    struct space space;
    space_open_topology(&space, topology);
    for (uint32_t sequence = 0; sequence < 48; sequence++) {
        space_list(&space, (struct place_group){5, sequence});
        uint32_t near = space.all[1] + space.all[2];
        assert_int_equal(near, 4 + 6);
        uint32_t rest = 0;
        for (int i = 3; i < 7; i++)
            rest |= 1u << space.all[i];
        assert_int_equal(rest, 0xf);
    }
    space_close(&space);
}

static void keys_of_a_failed_home_split_evenly_over_its_neighbours(void **state)
{
    for (size_t i = 0; i < SPEC_COUNT; i++) {
        struct space space;
        space_open(&space, specs[i]);
        const struct graph *graph = &space.topology.graph;
        for (node_id home = 0; home < space.count && space.count > 1; home++) {
            uint32_t share[130] = {0}, degree = graph_degree(graph, home);
            space_alive(&space, home, false);
            for (uint32_t sequence = 0; sequence < 48; sequence++)
                share[keyspace_root(&space.keyspace, (struct place_group){home, sequence},
                                    space.alive, space.scratch)]++;
            space_alive(&space, home, true);
            for (uint32_t slot = graph->first[home]; slot < graph->first[home + 1]; slot++)
                assert_in_range(share[graph->to[slot]], 48 / degree, (48 + degree - 1) / degree);
        }
        space_close(&space);
    }
}

/* If the first heir fails too, its share goes to more than one server. */
static void the_share_of_a_failed_heir_spreads(void **state)
{
    struct space space;
    space_open(&space, "jellyfish:n=64,degree=6,seed=1");
    uint32_t second[64] = {0};
    for (node_id home = 0; home < 64; home++) {
        uint32_t heirs[64] = {0}, different = 0, first = space.topology.graph.first[home];
        for (uint32_t sequence = 0; sequence < 48; sequence++) {
            space_list(&space, (struct place_group){home, sequence});
            second[space.all[2]]++;
            if (space.all[1] == space.topology.graph.to[first])
                different += heirs[space.all[2]]++ == 0;
        }
        assert_in_range(different, 2, 5); /* eight draws among five servers */
    }
    assert_uniform(second, 64);
    space_close(&space);
}

/* ---- homes ---- */

static void homes_are_uniform(void **state)
{
    const uint64_t seed = 3;
    static const uint32_t counts[] = {2, 3, 5, 27, 64, 65, 100, 1000, 1025};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char spec[64];
        snprintf(spec, sizeof spec, "torus:%u",
                 counts[i]); /* a ring: the hash does not depend on the wiring */
        struct space space;
        space_open(&space, spec);
        uint32_t *homes = calloc(counts[i], sizeof *homes);
        uint32_t *sequences = calloc(48, sizeof *sequences);
        uint32_t *of_home = calloc(48, sizeof *of_home);
        assert_non_null(homes);
        assert_non_null(sequences);
        assert_non_null(of_home);
        struct rng rng = rng_make(seed, i);
        for (uint32_t draw = 0; draw < 300000; draw++) {
            struct place_group group = keyspace_group(&space.keyspace, rng_next(&rng));
            homes[group.home]++;
            sequences[group.sequence]++;
            of_home[group.sequence] += group.home == counts[i] / 2;
        }
        assert_uniform(homes, counts[i]);
        assert_uniform(sequences, 48);
        assert_uniform(of_home, 48); /* for any home */
        free(homes);
        free(sequences);
        free(of_home);
        space_close(&space);
    }
}

/* Returns how many keys move when one server is added; asserts that all of them move to it. */
static uint32_t moved(const struct keyspace *before, const struct keyspace *after, uint32_t draws,
                      uint64_t seed)
{
    struct rng rng = rng_make(seed, before->server_count);
    uint32_t count = 0;
    for (uint32_t draw = 0; draw < draws; draw++) {
        uint64_t route = rng_next(&rng);
        struct place_group old = keyspace_group(before, route), new = keyspace_group(after, route);
        assert_int_equal(old.sequence, new.sequence);
        if (old.home == new.home)
            continue;
        assert_int_equal(new.home, before->server_count);
        count++;
    }
    return count;
}

static void a_new_server_takes_its_share_and_no_other_key_moves(void **state)
{
    const uint64_t seed = 17;
    const uint32_t draws = 20000;
    struct space before, after;
    space_open(&before, "torus:1");
    for (uint32_t servers = 2; servers < 200; servers++) {
        char spec[32];
        snprintf(spec, sizeof spec, "torus:%u", servers);
        space_open(&after, spec);
        double expected = (double)draws / servers;
        assert_within(moved(&before.keyspace, &after.keyspace, draws, seed), expected,
                      5 * sqrt(expected));
        space_close(&before);
        space_open(&before, spec);
        space_close(&after);
    }
    space_close(&before);
}

/* A Jellyfish that grows changes cables, too. That changes the lists, but no home except those that
 * move to the new server. */
static void a_grown_jellyfish_moves_keys_to_the_new_server_only(void **state)
{
    struct space before, after;
    space_open(&before, "jellyfish:n=63,degree=6,seed=9");
    struct growth growth;
    struct grow_order order = {.count = 1, .ports = 6, .servers = 1, .seed = 4};
    assert_int_equal(grow_topology(&growth, &before.topology, &order, NULL), OK);
    struct topology grown;
    assert_int_equal(topology_copy(&grown, &growth.topology, NULL), OK);
    growth_fini(&growth);
    space_open_topology(&after, grown);
    assert_int_equal(after.count, 64);
    assert_within(moved(&before.keyspace, &after.keyspace, 64000, 23), 1000.0, 5 * sqrt(1000));
    space_list(&after, (struct place_group){63, 0});
    space_close(&after);
    space_close(&before);
}

TEST_MAIN(TEST(lists_hold_all_servers_level_by_level),
          TEST(servers_without_a_path_to_the_home_come_last),
          TEST(keys_of_a_failed_home_split_evenly_over_its_neighbours),
          TEST(the_share_of_a_failed_heir_spreads), TEST(homes_are_uniform),
          TEST(a_new_server_takes_its_share_and_no_other_key_moves),
          TEST(a_grown_jellyfish_moves_keys_to_the_new_server_only))
