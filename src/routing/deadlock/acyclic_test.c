#include "routing/deadlock/acyclic.h"

#include <string.h>

#include "base/rng.h"
#include "base/test.h"

enum { SEED = 3, VERTICES = 14, ROUNDS = 60, STEPS = 120 };

/* reach[a][b]: is b reachable from a? By the closure of a matrix. */
static void close_matrix(bool reach[VERTICES][VERTICES], uint32_t (*edges)[2], uint32_t count)
{
    memset(reach, 0, sizeof(bool[VERTICES][VERTICES]));
    for (uint32_t i = 0; i < count; i++)
        reach[edges[i][0]][edges[i][1]] = true;
    for (int via = 0; via < VERTICES; via++)
        for (int a = 0; a < VERTICES; a++)
            for (int b = 0; b < VERTICES; b++)
                reach[a][b] = reach[a][b] || (reach[a][via] && reach[via][b]);
}

static void check_order(const struct acyclic *acyclic)
{
    bool taken[VERTICES] = {false};
    for (uint32_t v = 0; v < VERTICES; v++) {
        assert_false(acyclic->seen[v]);
        assert_true(acyclic->position[v] < VERTICES && !taken[acyclic->position[v]]);
        taken[acyclic->position[v]] = true;
    }
    for (uint32_t e = 0; e < acyclic->edges.count; e++) {
        const uint32_t *ends = intern_record(&acyclic->edges, e);
        assert_true(acyclic->position[ends[0]] < acyclic->position[ends[1]]);
    }
}

/* Random edges, sometimes removed: exactly the refused edges close a cycle. */
static void exactly_the_edges_that_close_a_cycle_are_refused(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    uint32_t refused = 0, taken = 0;
    print_message("# seed %d\n", SEED);
    for (int round = 0; round < ROUNDS; round++) {
        struct acyclic acyclic;
        uint32_t edges[STEPS][2], count = 0;
        bool reach[VERTICES][VERTICES];
        assert_int_equal(acyclic_init(&acyclic, VERTICES, NULL), OK);
        for (int step = 0; step < STEPS; step++) {
            uint32_t from = (uint32_t)rng_below(&rng, VERTICES);
            uint32_t to = (uint32_t)rng_below(&rng, VERTICES);
            bool closes, known = false;
            close_matrix(reach, edges, count);
            for (uint32_t i = 0; i < count; i++)
                known = known || (edges[i][0] == from && edges[i][1] == to);
            assert_int_equal(acyclic_add(&acyclic, from, to, &closes, NULL), OK);
            assert_int_equal(closes, from == to || reach[to][from]);
            if (!closes && !known)
                memcpy(edges[count++], (uint32_t[2]){from, to}, sizeof edges[0]);
            refused += closes;
            taken += !closes && !known;
            if (rng_below(&rng, 20) == 0)
                acyclic_cut(&acyclic, count = (uint32_t)rng_below(&rng, count + 1));
            assert_int_equal(acyclic.edges.count, count);
            check_order(&acyclic);
        }
        acyclic_fini(&acyclic);
    }
    assert_true(refused > ROUNDS && taken > ROUNDS);
}

TEST_MAIN(TEST(exactly_the_edges_that_close_a_cycle_are_refused))
