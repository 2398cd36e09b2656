#include "topology/generate/degree_sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

enum { SMALL = 6, PAIRS = SMALL * (SMALL - 1) / 2, CODES = 6 * 6 * 6 * 6 * 6 * 6 };

static uint32_t code_of(const uint32_t degree[SMALL])
{
    uint32_t code = 0;
    for (int i = 0; i < SMALL; i++)
        code = code * SMALL + degree[i];
    return code;
}

/* Compares the criterion with all 32,768 graphs of six vertices. If the sum of the degrees is odd,
 * any one of them may be smaller by one. */
static void the_criterion_is_right_for_six_vertices(void **state)
{
    static bool exists[CODES];
    for (uint32_t graph = 0; graph < 1u << PAIRS; graph++) {
        uint32_t degree[SMALL] = {0}, pair = 0;
        for (int a = 0; a < SMALL; a++)
            for (int b = a + 1; b < SMALL; b++, pair++)
                if (graph >> pair & 1)
                    degree[a]++, degree[b]++;
        exists[code_of(degree)] = true;
    }
    for (uint32_t code = 0; code < CODES; code++) {
        uint32_t degree[SMALL], sum = 0, rest = code;
        for (int i = SMALL; i-- > 0; rest /= SMALL)
            sum += degree[i] = rest % SMALL;
        bool expected = exists[code], possible;
        for (int i = 0; i < SMALL && sum % 2; i++) {
            if (degree[i] == 0)
                continue;
            degree[i]--;
            expected |= exists[code_of(degree)];
            degree[i]++;
        }
        assert_int_equal(degree_sequence_possible(degree, SMALL, &possible, NULL), OK);
        assert_int_equal(possible, expected);
    }
}

static void degrees_above_the_number_of_others_are_impossible(void **state)
{
    bool possible;
    assert_int_equal(degree_sequence_possible((uint32_t[]){4, 1, 1, 1}, 4, &possible, NULL), OK);
    assert_false(possible);
    assert_int_equal(degree_sequence_possible(NULL, 0, &possible, NULL), OK);
    assert_true(possible);
}

/* Degrees of random graphs are possible, and the constructed graph has these degrees. */
static void the_links_have_the_degrees_asked_for(void **state)
{
    enum { NODES = 30 };
    struct rng rng = rng_make(5, 0);
    for (int round = 0; round < 300; round++) {
        uint32_t degree[NODES] = {0}, found[NODES] = {0}, count;
        static struct link links[NODES * NODES];
        bool possible, joined[NODES][NODES] = {{false}};
        uint64_t density = rng_below(&rng, 101);
        for (int a = 0; a < NODES; a++)
            for (int b = a + 1; b < NODES; b++)
                if (rng_below(&rng, 100) < density)
                    degree[a]++, degree[b]++;
        bool spoil = round % 2 && degree[7] > 0;
        degree[7] -= spoil; /* an odd sum: one port somewhere stays free */
        assert_int_equal(degree_sequence_possible(degree, NODES, &possible, NULL), OK);
        assert_true(possible);
        assert_int_equal(degree_sequence_links(degree, NODES, links, &count, NULL), OK);
        for (uint32_t e = 0; e < count; e++) {
            assert_true(links[e].a != links[e].b && !joined[links[e].a][links[e].b]);
            joined[links[e].a][links[e].b] = joined[links[e].b][links[e].a] = true;
            found[links[e].a]++, found[links[e].b]++;
        }
        uint32_t missing = 0;
        for (int v = 0; v < NODES; v++) {
            assert_true(found[v] <= degree[v]);
            missing += degree[v] - found[v];
        }
        assert_int_equal(missing, spoil);
    }
}

TEST_MAIN(TEST(the_criterion_is_right_for_six_vertices),
          TEST(degrees_above_the_number_of_others_are_impossible),
          TEST(the_links_have_the_degrees_asked_for))
