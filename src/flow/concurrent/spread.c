#include "flow/concurrent/spread.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

enum err spread_open(struct flow_spread *spread, const struct graph *graph,
                     const struct traffic *traffic, struct why *why)
{
    *spread = (struct flow_spread){.graph = graph, .traffic = traffic};
    spread->load = array_new(graph_channel_count(graph), sizeof *spread->load);
    return spread->load ? OK : why_memory(why);
}

void spread_close(struct flow_spread *spread)
{
    path_set_fini(&spread->paths);
    free(spread->rates);
    free(spread->load);
    *spread = (struct flow_spread){0};
}

enum err spread_add(struct flow_spread *spread, const uint32_t *channels, size_t hops, double rate,
                    struct why *why)
{
    if (!array_reserve(&spread->rates, &spread->rate_capacity, spread->paths.path_count + 1,
                       sizeof *spread->rates))
        return why_memory(why);
    spread->rates[spread->paths.path_count] = rate;
    return path_set_path(&spread->paths, channels, hops, why);
}

void spread_settle(struct flow_spread *spread)
{
    const struct path_set *paths = &spread->paths;
    size_t channels = graph_channel_count(spread->graph);
    memset(spread->load, 0, channels * sizeof *spread->load);
    for (size_t k = 0; k < paths->pair_count; k++) {
        double sum = 0;
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++)
            sum += spread->rates[p];
        assert(sum > 0);
        double scale = spread->traffic->demands[k].amount / sum;
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++) {
            spread->rates[p] *= scale;
            for (size_t h = paths->path_first[p]; h < paths->path_first[p + 1]; h++)
                spread->load[paths->channels[h]] += spread->rates[p];
        }
    }
    spread->busiest = 0;
    for (size_t c = 0; c < channels; c++)
        spread->busiest = fmax(spread->busiest, spread->load[c]);
}

void spread_check(const struct flow_spread *spread)
{
    const struct path_set *paths = &spread->paths;
    assert(paths->pair_count == spread->traffic->count);
    for (size_t k = 0; k < paths->pair_count; k++) {
        const struct demand *demand = &spread->traffic->demands[k];
        double sum = 0;
        for (size_t p = paths->pair_first[k]; p < paths->pair_first[k + 1]; p++) {
            uint32_t at = demand->from;
            for (size_t h = paths->path_first[p]; h < paths->path_first[p + 1]; h++) {
                assert(graph_channel_from(spread->graph, paths->channels[h]) == at);
                at = graph_channel_to(spread->graph, paths->channels[h]);
            }
            assert(at == demand->to && spread->rates[p] >= 0);
            sum += spread->rates[p];
        }
        assert(fabs(sum - demand->amount) <= 1e-9 * demand->amount);
    }
}
