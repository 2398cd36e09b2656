#pragma once
/* connected_test: is a graph connected? Used by many tests. */

#include "base/test.h"
#include "topology/graph.h"

static inline bool test_connected(const struct graph *graph)
{
    bool answer;
    assert_int_equal(graph_connected(graph, &answer, NULL), OK);
    return answer;
}
