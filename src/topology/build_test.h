#pragma once
/* build_test: builds the topology of a test. For tests only. */

#include "base/test.h"
#include "topology/topology.h"

/* The caller frees it with topology_fini. If the spec cannot be built, the test fails and prints
 * why. */
static inline struct topology build_test(const char *spec)
{
    struct topology topology;
    struct why why = {""};
    if (topology_build(&topology, spec, &why))
        fail_msg("%s", why.text);
    return topology;
}
