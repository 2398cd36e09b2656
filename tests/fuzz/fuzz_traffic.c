/* Tests the traffic file, on a switched and on a direct network: it is refused in one line, or read
 * as a list of demands in order, each pair once, all of them routable. */
#include <math.h>

#include "fuzz.h"
#include "routing/traffic/traffic.h"

static void try(const char *spec, const uint8_t *data, size_t size)
{
    struct topology topology;
    struct traffic traffic;
    struct why why = {""};
    assert(topology_build(&topology, spec, &why) == OK);
    if (traffic_read(&traffic, &topology, "traffic", (const char *)data, size, &why)) {
        fuzz_check_why(&why);
    } else {
        double sum = traffic.local;
        for (size_t i = 0; i < traffic.count; i++) {
            const struct demand *demand = &traffic.demands[i];
            assert(demand->from < topology.graph.node_count && demand->amount > 0);
            assert(demand->to < topology.graph.node_count && demand->to != demand->from);
            assert(i == 0 || demand[-1].from < demand->from ||
                   (demand[-1].from == demand->from && demand[-1].to < demand->to));
            sum += demand->amount;
        }
        assert(sum > 0 && isfinite(sum));
        assert(traffic_check_reach(&traffic, &topology, &why) == OK);
        traffic_fini(&traffic);
    }
    topology_fini(&topology);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try("torus:4x3", data, size);
    try("fattree:k=4", data, size);
    return 0;
}
