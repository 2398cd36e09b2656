#include "routing/deadlock/cycle.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

enum { SEED = 11, VERTEX_MAX = 12, ROUNDS = 400, FAR = 1000 };

/* Shortest distances of all pairs, by Floyd and Warshall; [v][v] is the
 * shortest cycle through v. */
static void all_distances(uint32_t distance[VERTEX_MAX][VERTEX_MAX], const struct arc *arcs,
                          uint32_t arc_count)
{
    for (int a = 0; a < VERTEX_MAX; a++)
        for (int b = 0; b < VERTEX_MAX; b++)
            distance[a][b] = FAR;
    for (uint32_t i = 0; i < arc_count; i++)
        distance[arcs[i].from][arcs[i].to] = 1;
    for (int via = 0; via < VERTEX_MAX; via++)
        for (int a = 0; a < VERTEX_MAX; a++)
            for (int b = 0; b < VERTEX_MAX; b++)
                if (distance[a][via] + distance[via][b] < distance[a][b])
                    distance[a][b] = distance[a][via] + distance[via][b];
}

static void check_shortest(const struct arc *arcs, uint32_t arc_count,
                           uint32_t distance[VERTEX_MAX][VERTEX_MAX], uint32_t *length)
{
    uint32_t *cycle, best = FAR;
    assert_int_equal(cycle_shortest(arcs, arc_count, VERTEX_MAX, &cycle, length, NULL), OK);
    for (int v = 0; v < VERTEX_MAX; v++)
        best = distance[v][v] < best ? distance[v][v] : best;
    assert_int_equal(*length, best == FAR ? 0 : best);
    for (uint32_t i = 0; i < *length; i++)
        assert_int_equal(arcs[cycle[i]].to, arcs[cycle[(i + 1) % *length]].from);
    free(cycle);
}

/* Random graphs from sparse to dense, compared with all distances. */
static void the_shortest_cycle_agrees_with_all_distances(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    uint32_t lengths[VERTEX_MAX + 1] = {0};
    print_message("# seed %d\n", SEED);
    for (int round = 0; round < ROUNDS; round++) {
        struct arc arcs[40];
        uint32_t distance[VERTEX_MAX][VERTEX_MAX], length, count, component[VERTEX_MAX];
        uint32_t arc_count = (uint32_t)rng_below(&rng, 40);
        for (uint32_t i = 0; i < arc_count; i++)
            arcs[i] = (struct arc){.from = (uint32_t)rng_below(&rng, VERTEX_MAX),
                                   .to = (uint32_t)rng_below(&rng, VERTEX_MAX)};
        all_distances(distance, arcs, arc_count);
        check_shortest(arcs, arc_count, distance, &length);
        lengths[length]++;
        assert_int_equal(cycle_components(arcs, arc_count, VERTEX_MAX, component, &count, NULL),
                         OK);
        uint32_t seen = 0;
        for (uint32_t a = 0; a < VERTEX_MAX; a++) {
            bool first = true;
            for (uint32_t b = 0; b < VERTEX_MAX; b++) {
                bool together = a == b || (distance[a][b] < FAR && distance[b][a] < FAR);
                assert_int_equal(component[a] == component[b], together);
                first = first && !(b < a && together);
            }
            seen += first;
        }
        assert_int_equal(count, seen);
    }
    assert_true(lengths[0] > 10 && lengths[1] > 10 && lengths[2] > 10 && lengths[4] > 2);
}

/* A long ring at the end of a long path. */
static void a_long_ring_is_found(void **state)
{
    enum { RING = 3000, BEFORE = 100 };
    struct arc *arcs = calloc(RING + BEFORE, sizeof *arcs);
    uint32_t *cycle, length;
    assert_non_null(arcs);
    for (uint32_t i = 0; i < RING + BEFORE; i++)
        arcs[i] = (struct arc){.from = i, .to = i + 1 < RING + BEFORE ? i + 1 : BEFORE};
    assert_int_equal(cycle_shortest(arcs, RING + BEFORE, RING + BEFORE, &cycle, &length, NULL), OK);
    assert_int_equal(length, RING);
    assert_int_equal(arcs[cycle[0]].from, BEFORE);
    free(cycle);
    free(arcs);
}

TEST_MAIN(TEST(the_shortest_cycle_agrees_with_all_distances), TEST(a_long_ring_is_found))
