#include "measured/sst/sst_paths.h"

#include "base/rng.h"
#include "base/test.h"

#define COUNT 9

/* Computes the distances with the Floyd-Warshall algorithm. */
static void distances_find(const struct paths *paths, uint32_t out[COUNT][COUNT])
{
    for (uint32_t a = 0; a < COUNT; a++)
        for (uint32_t b = 0; b < COUNT; b++)
            out[a][b] = a == b ? 0 : paths->costs[a][b] ? paths->costs[a][b] : PATHS_FAR;
    for (uint32_t k = 0; k < COUNT; k++)
        for (uint32_t a = 0; a < COUNT; a++)
            for (uint32_t b = 0; b < COUNT; b++)
                if (out[a][k] != PATHS_FAR && out[k][b] != PATHS_FAR &&
                    out[a][k] + out[k][b] < out[a][b])
                    out[a][b] = out[a][k] + out[k][b];
}

static struct paths random_paths(struct rng *rng)
{
    struct paths paths = {.count = COUNT};
    for (uint32_t a = 0; a < COUNT; a++)
        for (uint32_t b = 0; b < COUNT; b++)
            if (a != b && rng_below(rng, 3) == 0)
                paths.costs[a][b] = 1 + (uint32_t)rng_below(rng, 12);
    paths_compute(&paths);
    return paths;
}

static void distances_equal_those_of_floyd_warshall(void **state)
{
    struct rng rng = rng_make(7, 1);
    uint32_t distances[COUNT][COUNT];
    for (int i = 0; i < 200; i++) {
        struct paths paths = random_paths(&rng);
        distances_find(&paths, distances);
        for (uint32_t a = 0; a < COUNT; a++)
            for (uint32_t b = 0; b < COUNT; b++)
                assert_int_equal(paths.distances[a][b], distances[a][b]);
        assert_true(paths_are_shortest(&paths, &paths));
    }
}

/* Our rule notices every change that makes a table wrong, and if it notices none, all distances
 * stay the same. The printed rule misses some changes. */
static void every_change_of_a_shortest_path_is_noticed(void **state)
{
    struct rng rng = rng_make(7, 2);
    uint32_t wrong = 0, missed = 0, needless = 0;
    for (int i = 0; i < 3000; i++) {
        struct paths paths = random_paths(&rng), now = paths;
        uint32_t a = (uint32_t)rng_below(&rng, COUNT), b = (uint32_t)rng_below(&rng, COUNT);
        if (a == b)
            continue;
        uint32_t cost = (uint32_t)rng_below(&rng, 12);
        now.costs[a][b] = cost;
        paths_compute(&now);
        bool same = true, changes = paths_can_change(&paths, a, b, cost);
        for (uint32_t from = 0; from < COUNT; from++)
            for (uint32_t to = 0; to < COUNT; to++)
                same = same && now.distances[from][to] == paths.distances[from][to];
        if (!changes)
            assert_true(same && paths_are_shortest(&paths, &now));
        if (paths_are_shortest(&paths, &now)) {
            needless += changes;
            continue;
        }
        wrong++;
        assert_true(changes);
        missed += !paths_can_change_printed(&paths, a, b, cost);
    }
    assert_true(wrong > 100);
    assert_true(needless > 0);
    assert_true(missed > 0 && missed < wrong);
}

static void paths_in_a_wheel_use_its_hub(void **state)
{
    struct paths paths;
    paths_wheel(&paths, 6, 1, 10);
    for (uint32_t a = 1; a < 6; a++)
        for (uint32_t b = 1; b < 6; b++)
            if (a != b) {
                assert_int_equal(paths.distances[a][b], 2);
                assert_int_equal(paths.next[a][b], 0);
            }
    assert_true(paths_uses(&paths, 0, 3) && paths_uses(&paths, 3, 0));
    assert_false(paths_uses(&paths, 3, 4));
    assert_false(paths_can_change(&paths, 3, 4, 2));
    assert_true(paths_can_change(&paths, 3, 4, 1));
    struct paths now = paths;
    now.costs[0][2] = 50;
    paths_compute(&now);
    assert_int_equal(now.distances[0][2], 11);
    assert_int_equal(now.distances[5][2], 12);
    assert_false(paths_are_shortest(&paths, &now));
    now.costs[0][2] = now.costs[1][2] = now.costs[3][2] = 0;
    paths_compute(&now);
    assert_int_equal(now.distances[4][2], PATHS_FAR);
}

TEST_MAIN(TEST(distances_equal_those_of_floyd_warshall),
          TEST(every_change_of_a_shortest_path_is_noticed), TEST(paths_in_a_wheel_use_its_hub))
