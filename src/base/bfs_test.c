#include "base/bfs.h"

#include "base/rng.h"
#include "base/test.h"

#define NODES 24u

static void search(struct bfs *bfs, bool joined[NODES][NODES])
{
    for (uint32_t v; bfs_take(bfs, &v);)
        for (uint32_t w = 0; w < NODES; w++)
            if (joined[v][w])
                bfs_visit(bfs, v, w);
}

/* Computes all distances by the method of Floyd and Warshall, for comparison. */
static void distances_find(bool joined[NODES][NODES], uint32_t hops[NODES][NODES])
{
    for (uint32_t a = 0; a < NODES; a++)
        for (uint32_t b = 0; b < NODES; b++)
            hops[a][b] = a == b ? 0 : joined[a][b] ? 1 : 1000;
    for (uint32_t middle = 0; middle < NODES; middle++)
        for (uint32_t a = 0; a < NODES; a++)
            for (uint32_t b = 0; b < NODES; b++)
                if (hops[a][middle] + hops[middle][b] < hops[a][b])
                    hops[a][b] = hops[a][middle] + hops[middle][b];
}

static void levels_are_distances(void **state)
{
    struct rng rng = rng_make(11, 0);
    struct bfs bfs;
    assert_true(bfs_init(&bfs, NODES));
    for (int turn = 0; turn < 50; turn++) {
        bool joined[NODES][NODES];
        uint32_t hops[NODES][NODES], reached = 0;
        for (uint32_t a = 0; a < NODES; a++) /* directed, so that confused ends show */
            for (uint32_t b = 0; b < NODES; b++)
                joined[a][b] = rng_below(&rng, 16) == 0;
        distances_find(joined, hops);
        uint32_t from = (uint32_t)rng_below(&rng, NODES);
        bfs_start(&bfs, from);
        search(&bfs, joined);
        for (uint32_t v = 0; v < NODES; v++) {
            assert_int_equal(bfs_seen(&bfs, v), hops[from][v] < 1000);
            assert_int_equal(bfs.level[v], hops[from][v] < 1000 ? hops[from][v] : BFS_UNSEEN);
            reached += hops[from][v] < 1000;
        }
        assert_int_equal(bfs.count, reached);
        assert_int_equal(bfs.order[0], from);
        for (uint32_t i = 1; i < bfs.count; i++)
            assert_true(bfs.level[bfs.order[i]] >= bfs.level[bfs.order[i - 1]]);
        bfs_clear(&bfs); /* the next turn reuses the memory */
    }
    bfs_fini(&bfs);
}

static void a_node_is_reached_once(void **state)
{
    struct bfs bfs;
    uint32_t v = 0;
    assert_true(bfs_init(&bfs, 3));
    bfs_start(&bfs, 1);
    assert_true(bfs_take(&bfs, &v));
    assert_int_equal(v, 1);
    assert_false(bfs_visit(&bfs, 1, 1));
    assert_true(bfs_visit(&bfs, 1, 2));
    assert_false(bfs_visit(&bfs, 1, 2));
    assert_true(bfs_take(&bfs, &v));
    assert_int_equal(v, 2);
    assert_false(bfs_take(&bfs, &v));
    bfs_fini(&bfs);
}

/* When a search has ended, it can start again in another part of the graph; the new nodes follow
 * the earlier ones in `order`. */
static void a_second_start_searches_another_part(void **state)
{
    bool joined[NODES][NODES] = {{0}};
    joined[0][1] = joined[1][0] = joined[2][3] = joined[3][2] = true;
    struct bfs bfs;
    assert_true(bfs_init(&bfs, NODES));
    bfs_start(&bfs, 0);
    search(&bfs, joined);
    assert_int_equal(bfs.count, 2);
    assert_false(bfs_seen(&bfs, 2));
    bfs_start(&bfs, 2);
    search(&bfs, joined);
    assert_int_equal(bfs.count, 4);
    assert_int_equal(bfs.order[2], 2);
    assert_int_equal(bfs.order[3], 3);
    assert_int_equal(bfs.level[3], 1);
    bfs_fini(&bfs);
}

TEST_MAIN(TEST(levels_are_distances), TEST(a_node_is_reached_once),
          TEST(a_second_start_searches_another_part))
