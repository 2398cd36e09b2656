#pragma once
/* build_test: a topology that a test takes for granted. For tests only. */

#include "base/test.h"
#include "topology/topology.h"

/* The caller finishes it. A spec that builds nothing fails the test, and says why. */
static inline struct topology build_test(const char *spec)
{
    struct topology topology;
    struct why why = {""};
    if (topology_build(&topology, spec, &why))
        fail_msg("%s", why.text);
    return topology;
}
