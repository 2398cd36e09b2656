/* parts: compared with the links themselves, on random disconnected graphs. */
#include "topology/measure/parts.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

enum { SEED = 5, NODES = 24, LINKS_MAX = 30 };

/* Labels by the definition: the lower label spreads over every link until nothing changes. */
static void label_by_links(const struct graph *graph, uint32_t *label)
{
    for (uint32_t v = 0; v < graph->node_count; v++)
        label[v] = v;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t e = 0; e < graph->link_count; e++) {
            uint32_t *a = &label[graph->links[e].a], *b = &label[graph->links[e].b];
            changed = changed || *a != *b;
            *a = *b = *a < *b ? *a : *b;
        }
    }
}

static void the_label_is_the_lowest_node_in_reach(void **state)
{
    struct rng rng = rng_make(SEED, 0);
    uint32_t apart = 0;
    for (uint32_t links = 0; links <= LINKS_MAX; links++) {
        struct link list[LINKS_MAX];
        for (uint32_t e = 0; e < links; e++) {
            uint32_t a = (uint32_t)rng_below(&rng, NODES);
            uint32_t b = (a + 1 + (uint32_t)rng_below(&rng, NODES - 1)) % NODES;
            list[e] = (struct link){a, b, PORT_ANY, PORT_ANY};
        }
        struct graph graph;
        assert_int_equal(graph_make(&graph, NODES, list, links, NULL), OK);
        uint32_t *found = NULL, wanted[NODES] = {0};
        assert_int_equal(parts_label(&graph, &found, NULL), OK);
        label_by_links(&graph, wanted);
        for (uint32_t v = 0; v < NODES; v++) {
            assert_int_equal(found[v], wanted[v]);
            apart += wanted[v] != 0;
        }
        free(found);
        graph_fini(&graph);
    }
    assert_true(apart > NODES); /* the graphs were disconnected */
}

static void a_graph_without_nodes_has_no_labels(void **state)
{
    struct graph graph;
    uint32_t *labels;
    assert_int_equal(graph_make(&graph, 0, NULL, 0, NULL), OK);
    assert_int_equal(parts_label(&graph, &labels, NULL), OK);
    free(labels);
    graph_fini(&graph);
}

TEST_MAIN(TEST(the_label_is_the_lowest_node_in_reach), TEST(a_graph_without_nodes_has_no_labels))
