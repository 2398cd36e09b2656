#include "keyspace/keyspace.h"

#include "base/bitset.h"
#include "keyspace/keyspace_cases.h"

static bool is_alive(const void *context, node_id server)
{
    const struct space *space = context;
    return bitset_has(space->alive, server);
}

/* The answer must be the complete list without the servers that are down. So the list keeps its
 * order whatever fails and returns, and each key has exactly one root while one server is left. */
static void check_group(struct space *space, struct place_group group, unsigned most)
{
    space_list(space, group);
    unsigned expected = 0;
    for (uint32_t i = 0; i < space->count; i++) {
        if (bitset_has(space->alive, space->all[i]))
            space->all[expected++] = space->all[i];
    }
    expected = expected < most ? expected : most;
    memset(space->found, 0xff, space->count * sizeof *space->found);
    assert_int_equal(keyspace_servers(&space->keyspace, group, is_alive, space, space->scratch,
                                      space->found, most),
                     expected);
    assert_memory_equal(space->found, space->all, expected * sizeof *space->all);
    assert_true(expected == space->count || space->found[expected] == NODE_NONE);
    if (most)
        assert_int_equal(keyspace_root(&space->keyspace, group, space->alive, space->scratch),
                         expected ? space->all[0] : NODE_NONE);
}

static void the_order_survives_failures_and_returns(void **state)
{
    const uint64_t seed = 2013;
    static const char *const specs[] = {"torus:3x3x3",
                                        "torus:5x4",
                                        "torus:2x1x6",
                                        "novacube:4x4",
                                        "torus:5",
                                        "novacube:4x3x2",
                                        "jellyfish:n=27,degree=6,seed=1",
                                        "jellyfish:n=70,degree=4,seed=2"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct space space;
        space_open(&space, specs[i]);
        struct rng rng = rng_make(seed, i);
        /* First mostly failures, until no server is left, then mostly returns. */
        for (uint32_t change = 0; change < 600; change++) {
            node_id server = (node_id)rng_below(&rng, space.count);
            bool falling = change < 400 ? rng_below(&rng, 8) > 0 : rng_below(&rng, 4) == 0;
            space_alive(&space, server, !falling);
            struct place_group group = keyspace_group(&space.keyspace, rng_next(&rng));
            check_group(&space, group, (unsigned)rng_below(&rng, space.count + 1));
        }
        space_close(&space);
    }
}

static void without_live_servers_there_is_no_root(void **state)
{
    static const char *const specs[] = {"torus:3x4", "jellyfish:n=9,degree=4,seed=1"};
    for (size_t i = 0; i < 2; i++) {
        struct space space;
        space_open(&space, specs[i]);
        memset(space.alive, 0, sizeof *space.alive);
        struct place_group group = keyspace_group(&space.keyspace, 77);
        assert_int_equal(keyspace_root(&space.keyspace, group, space.alive, space.scratch),
                         NODE_NONE);
        space_alive(&space, 5, true); /* the last server left has every key */
        for (uint64_t route = 0; route < 200; route++) {
            group = keyspace_group(&space.keyspace, route << 56 | route);
            assert_int_equal(keyspace_root(&space.keyspace, group, space.alive, space.scratch), 5);
        }
        space_close(&space);
    }
}

/* Takes random keys of a failed server: each of its neighbours takes over an equal share. */
static void keys_of_a_failed_server_spread_over_its_neighbours(void **state)
{
    const uint64_t seed = 6;
    static const struct {
        const char *spec;
        uint32_t neighbours;
    } cases[] = {{"torus:4x4x4", 6},
                 {"torus:5x6", 4},
                 {"novacube:4x4", 4}, /* the torus neighbours; the jump cable is ignored */
                 {"jellyfish:n=64,degree=6,seed=1", 6}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct space space;
        space_open(&space, cases[i].spec);
        struct rng rng = rng_make(seed, i);
        uint32_t share[64] = {0}, counts[64], neighbours = 0;
        space_alive(&space, 9, false);
        for (uint32_t draw = 0; draw < 400000; draw++) {
            struct place_group group = keyspace_group(&space.keyspace, rng_next(&rng));
            node_id root = keyspace_root(&space.keyspace, group, space.alive, space.scratch);
            if (group.home == 9)
                share[root]++;
            else
                assert_int_equal(root, group.home); /* keys of other homes do not move */
        }
        for (node_id server = 0; server < space.count; server++) {
            if (share[server] == 0)
                continue;
            assert_true(graph_adjacent(&space.topology.graph, 9, server));
            counts[neighbours++] = share[server];
        }
        assert_int_equal(neighbours, cases[i].neighbours);
        assert_uniform(counts, neighbours);
        space_close(&space);
    }
}

static void a_topology_with_switches_is_refused(void **state)
{
    struct topology topology = build_test("fattree:k=4");
    struct keyspace keyspace;
    struct why why;
    assert_int_equal(keyspace_init(&keyspace, &topology, &why), ERR_USAGE);
    assert_string_equal(why.text, "fattree:k=4: has switches; keys need a topology in which each "
                                  "node is a server");
    topology_fini(&topology);
}

static void an_empty_topology_is_refused(void **state)
{
    const struct topology empty = {.direct = true};
    struct keyspace keyspace;
    struct why why;
    assert_int_equal(keyspace_init(&keyspace, &empty, &why), ERR_USAGE);
    assert_string_equal(why.text, "the topology has no server; a key needs at least one");
}

/* A change of the code must not change these lists: otherwise the data of every existing cluster
 * would be looked for on other servers. A second, independent program computed the lists of the
 * tori and all homes, too. */
static void homes_never_change(void **state)
{
    static const struct {
        const char *spec;
        node_id first[4];
    } cases[] = {
        {"torus:3x3x3", {14, 13, 17, 5}},
        {"torus:10x10", {48, 47, 38, 46}},
        {"jellyfish:n=27,degree=6,seed=1", {4, 9, 22, 23}},
        {"jellyfish:n=1000,degree=6,seed=1", {335, 813, 286, 244}},
    };
    struct key key = key_hash("weft", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct space space;
        space_open(&space, cases[i].spec);
        space_list(&space, keyspace_group(&space.keyspace, key_route(&key)));
        assert_memory_equal(space.all, cases[i].first, sizeof cases[i].first);
        space_close(&space);
    }
}

TEST_MAIN(TEST(the_order_survives_failures_and_returns),
          TEST(without_live_servers_there_is_no_root),
          TEST(keys_of_a_failed_server_spread_over_its_neighbours),
          TEST(a_topology_with_switches_is_refused), TEST(an_empty_topology_is_refused),
          TEST(homes_never_change))
