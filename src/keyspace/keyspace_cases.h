#pragma once
/* keyspace_cases: helpers that the tests of the key space share. For tests only. */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "keyspace/keyspace.h"
#include "topology/build_test.h"

/* A topology, its key space, and buffers for results. */
struct space {
    struct topology topology;
    struct keyspace keyspace;
    uint32_t count;
    void *scratch;
    node_id *all;    /* one complete list */
    node_id *found;  /* the list that the function under test returned */
    uint64_t *alive; /* at first all servers are alive */
};

static inline void space_alive(struct space *space, node_id server, bool alive)
{
    bitset_put(space->alive, server, alive);
}

/* Takes ownership of the topology. `space` must not move afterwards: the key space keeps a pointer
 * to the graph inside it. */
static inline void space_open_topology(struct space *space, struct topology topology)
{
    struct why why = {""};
    *space = (struct space){.topology = topology};
    if (keyspace_init(&space->keyspace, &space->topology, &why))
        fail_msg("%s", why.text);
    space->count = space->keyspace.server_count;
    assert(space->count);
    space->scratch = malloc(keyspace_scratch_size(&space->keyspace));
    space->all = calloc(space->count, sizeof *space->all);
    space->found = calloc(space->count, sizeof *space->found);
    space->alive = calloc(bitset_words(space->count), sizeof *space->alive);
    assert_non_null(space->all);
    assert_non_null(space->found);
    assert_non_null(space->alive);
    for (node_id server = 0; server < space->count; server++)
        space_alive(space, server, true);
}

static inline void space_open(struct space *space, const char *spec)
{
    space_open_topology(space, build_test(spec));
}

static inline void space_close(struct space *space)
{
    free(space->scratch);
    free(space->all);
    free(space->found);
    free(space->alive);
    keyspace_fini(&space->keyspace);
    topology_fini(&space->topology);
}

static inline void space_list(struct space *space, struct place_group group)
{
    assert_int_equal(keyspace_servers(&space->keyspace, group, NULL, NULL, space->scratch,
                                      space->all, space->count),
                     space->count);
    assert_int_equal(space->all[0], group.home);
}

/* Checks that the counts of equally likely cases are no more unequal than chance allows. Pearson's
 * sum over n cases has the mean n - 1 and the variance 2 (n - 1). A sum six standard deviations
 * above the mean does not occur by chance. */
static inline void assert_uniform(const uint32_t *counts, uint32_t cases)
{
    double total = 0, sum = 0;
    for (uint32_t i = 0; i < cases; i++)
        total += counts[i];
    double expected = total / cases;
    for (uint32_t i = 0; i < cases; i++)
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    double bound = cases - 1 + 6 * sqrt(2 * (cases - 1.0));
    if (sum > bound)
        fail_msg("chi square %g of %u cases, at most %g", sum, cases, bound);
}
