#include "topology/generate/random_graph.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "topology/generate/degree_sequence.h"

enum { SMALL = 6, CODES = 6 * 6 * 6 * 6 * 6 * 6 };

static const uint32_t everyone[SMALL] = {0, 1, 2, 3, 4, 5};

static uint32_t code_of(const uint32_t degree[SMALL])
{
    uint32_t code = 0;
    for (int i = 0; i < SMALL; i++)
        code = code * SMALL + degree[i];
    return code;
}

static uint32_t degrees_of(uint32_t code, uint32_t degree[SMALL])
{
    uint32_t sum = 0;
    for (int i = SMALL; i-- > 0; code /= SMALL)
        sum += degree[i] = code % SMALL;
    return sum;
}

/* The graph has the degrees, no parallel cables and at most one free port. */
static void assert_plugged(const struct wiring *wiring, const uint32_t *group)
{
    uint32_t free = 0;
    for (uint32_t v = 0; v < wiring->node_count; v++)
        free += wiring->free[v];
    assert_true(free <= 1);
    for (uint32_t e = 0; e < wiring->cable_count; e++) {
        const struct link *link = &wiring->cables[e];
        assert_true(!group || group[link->a] != group[link->b]);
        for (uint32_t f = 0; f < e; f++) {
            const struct link *other = &wiring->cables[f];
            assert_false((link->a == other->a && link->b == other->b) ||
                         (link->a == other->b && link->b == other->a));
        }
    }
}

/* Joins six nodes of these degrees and checks the result; returns whether it was possible. */
static bool plug_small(const uint32_t degree[SMALL], const uint32_t *group, uint64_t seed)
{
    struct wiring wiring;
    bool done;
    const struct random_graph want = {
        .nodes = everyone, .node_count = SMALL, .ports = degree, .group = group, .seed = seed};
    assert_int_equal(wiring_init(&wiring, SMALL, degree, NULL), OK);
    assert_int_equal(random_graph_plug(&wiring, &want, &done, NULL), OK);
    if (done)
        assert_plugged(&wiring, group);
    else
        assert_int_equal(wiring.cable_count, 0);
    wiring_fini(&wiring);
    return done;
}

static void every_possible_sequence_of_six_is_found(void **state)
{
    for (uint32_t code = 0; code < CODES; code++) {
        uint32_t degree[SMALL];
        bool possible;
        degrees_of(code, degree);
        assert_int_equal(degree_sequence_possible(degree, SMALL, &possible, NULL), OK);
        assert_int_equal(plug_small(degree, NULL, code), possible);
    }
}

/* Compared with all graphs of six nodes whose links respect the groups. */
static void verify_groups(const uint32_t group[SMALL])
{
    static bool exists[CODES];
    uint32_t pairs[15][2], pair_count = 0;
    memset(exists, 0, sizeof exists);
    for (uint32_t a = 0; a < SMALL; a++)
        for (uint32_t b = a + 1; b < SMALL; b++)
            if (group[a] != group[b])
                pairs[pair_count][0] = a, pairs[pair_count++][1] = b;
    for (uint32_t graph = 0; graph < 1u << pair_count; graph++) {
        uint32_t degree[SMALL] = {0};
        for (uint32_t pair = 0; pair < pair_count; pair++)
            if (graph >> pair & 1)
                degree[pairs[pair][0]]++, degree[pairs[pair][1]]++;
        exists[code_of(degree)] = true;
    }
    for (uint32_t code = 0; code < CODES; code++) {
        uint32_t degree[SMALL], sum = degrees_of(code, degree);
        bool expected = exists[code];
        for (int i = 0; i < SMALL && sum % 2; i++) {
            if (degree[i] == 0)
                continue;
            degree[i]--;
            expected |= exists[code_of(degree)];
            degree[i]++;
        }
        if (expected || code % 251 == 0) /* a failure takes all attempts: a sample is enough */
            assert_int_equal(plug_small(degree, group, code), expected);
    }
}

static void every_possible_sequence_with_groups_is_found(void **state)
{
    verify_groups((uint32_t[]){0, 0, 1, 1, 2, 2});
    verify_groups((uint32_t[]){0, 0, 0, 1, 1, 1});
    verify_groups((uint32_t[]){0, 0, 0, 1, 2, 2});
}

/* A threshold graph is built of nodes that are joined to all previous nodes or to none. It is the
 * only graph with its degrees, so random draws hardly ever find it. With every odd seed some links
 * are left out, which allows a few more graphs. */
static void degrees_that_hardly_any_graph_has_are_found(void **state)
{
    enum { NODES = 40 };
    uint32_t nodes[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        nodes[i] = i;
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct rng rng = rng_make(seed, 0);
        uint32_t degree[NODES] = {0};
        struct wiring wiring;
        bool done;
        for (uint32_t i = 1; i < NODES; i++) {
            bool joined = rng_below(&rng, 2);
            for (uint32_t j = 0; joined && j < i; j++)
                if (seed % 2 == 0 || rng_below(&rng, 20))
                    degree[i]++, degree[j]++;
        }
        const struct random_graph want = {
            .nodes = nodes, .node_count = NODES, .ports = degree, .seed = seed};
        assert_int_equal(wiring_init(&wiring, NODES, degree, NULL), OK);
        assert_int_equal(random_graph_plug(&wiring, &want, &done, NULL), OK);
        assert_true(done);
        assert_plugged(&wiring, NULL);
        wiring_fini(&wiring);
    }
}

static void cables_of_an_earlier_layer_stay(void **state)
{
    static const uint32_t group[SMALL] = {0, 0, 0, 1, 1, 1};
    static const uint32_t ports[SMALL] = {2, 2, 2, 2, 2, 2};
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct wiring wiring;
        bool done;
        const struct random_graph want = {
            .nodes = everyone, .node_count = SMALL, .ports = ports, .group = group, .seed = seed};
        assert_int_equal(wiring_init(&wiring, SMALL, (uint32_t[]){4, 4, 4, 4, 4, 4}, NULL), OK);
        for (uint32_t base = 0; base < SMALL; base += 3)
            for (uint32_t i = 0; i < 3; i++)
                wiring_plug(&wiring, base + i, PORT_ANY, base + (i + 1) % 3, PORT_ANY);
        assert_int_equal(random_graph_plug(&wiring, &want, &done, NULL), OK);
        assert_true(done);
        assert_int_equal(wiring.cable_count, 12);
        for (uint32_t base = 0; base < SMALL; base += 3)
            for (uint32_t i = 0; i < 3; i++)
                assert_true(wiring_joined(&wiring, base + i, base + (i + 1) % 3));
        for (uint32_t e = 6; e < 12; e++)
            assert_true(group[wiring.cables[e].a] != group[wiring.cables[e].b]);
        wiring_fini(&wiring);
    }
}

TEST_MAIN(TEST(every_possible_sequence_of_six_is_found),
          TEST(every_possible_sequence_with_groups_is_found),
          TEST(degrees_that_hardly_any_graph_has_are_found), TEST(cables_of_an_earlier_layer_stay))
