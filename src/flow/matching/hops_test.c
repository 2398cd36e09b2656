#include "flow/matching/hops.h"

#include <stdlib.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"

enum { SEED = 5, NODES = 40, NEVER = 1000 };

static void told(void *context, uint32_t node, const struct hops_set *fresh, uint32_t distance)
{
    uint32_t(*hops)[NODES] = context, count = 0;
    for (uint32_t i = 0; i < HOPS_BATCH; i++)
        if (bitset_has(fresh->words, i)) {
            assert_int_equal(hops[i][node], NEVER); /* a node is reached once */
            hops[i][node] = distance;
            count++;
        }
    assert_true(count > 0);
}

/* Floyd and Warshall's algorithm on the links. */
static void all_pairs(const struct link *links, uint32_t count, uint32_t hops[NODES][NODES])
{
    for (uint32_t a = 0; a < NODES; a++)
        for (uint32_t b = 0; b < NODES; b++)
            hops[a][b] = a == b ? 0 : NEVER;
    for (uint32_t i = 0; i < count; i++)
        hops[links[i].a][links[i].b] = hops[links[i].b][links[i].a] = 1;
    for (uint32_t via = 0; via < NODES; via++)
        for (uint32_t a = 0; a < NODES; a++)
            for (uint32_t b = 0; b < NODES; b++)
                if (hops[a][via] + hops[via][b] < hops[a][b])
                    hops[a][b] = hops[a][via] + hops[via][b];
}

static void hops_are_those_of_floyd_and_warshall(void **state)
{
    struct rng rng = rng_make(SEED, 1);
    print_message("# seed %d\n", SEED);
    for (uint32_t round = 0; round < 30; round++) {
        static uint32_t wanted[NODES][NODES], found[HOPS_BATCH][NODES];
        uint32_t count = 10 + 3 * round;
        uint32_t sources[HOPS_BATCH], source_count = 1 + (uint32_t)rng_below(&rng, HOPS_BATCH);
        struct link links[100];
        struct graph graph;
        struct hops hops;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t a = (uint32_t)rng_below(&rng, NODES);
            uint32_t b = (a + 1 + (uint32_t)rng_below(&rng, NODES - 1)) % NODES;
            links[i] = (struct link){a, b, PORT_ANY, PORT_ANY};
        }
        assert_int_equal(graph_make(&graph, NODES, links, count, NULL), OK);
        assert_int_equal(hops_init(&hops, &graph, NULL), OK);
        all_pairs(links, count, wanted);
        for (int again = 0; again < 2; again++) { /* searches are independent */
            for (uint32_t i = 0; i < HOPS_BATCH; i++)
                for (uint32_t v = 0; v < NODES; v++)
                    found[i][v] = NEVER;
            for (uint32_t i = 0; i < source_count; i++)
                sources[i] = (uint32_t)rng_below(&rng, NODES);
            hops_search(&hops, sources, source_count, told, found);
            for (uint32_t i = 0; i < source_count; i++)
                assert_memory_equal(found[i], wanted[sources[i]], sizeof found[i]);
        }
        hops_fini(&hops);
        graph_fini(&graph);
    }
}

TEST_MAIN(TEST(hops_are_those_of_floyd_and_warshall))
