#include "topology/cabling/cable_count.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

struct cable_count cable_count_fattree(uint32_t k)
{
    assert(k >= 2 && k % 2 == 0 && k <= 10000);
    uint64_t ports = k, cube = ports * ports * ports;
    return (struct cable_count){
        .switches = 5 * ports * ports / 4,
        .servers = cube / 4,
        .server_cables = cube / 4,
        .link_cables = cube / 2,
    };
}

/* Is Bollobas' bound enough for these servers? It grows with the number of switches, because each
 * then has more link ports. */
static bool bisection_full(uint32_t k, uint64_t servers, uint64_t switches)
{
    double n = (double)switches, r = k - (double)servers / n;
    return r > 0 && n * (r / 4 - sqrt(r * log(2)) / 2) >= (double)servers / 2;
}

bool cable_count_jellyfish(uint32_t k, uint64_t servers, struct cable_count *count)
{
    assert(servers > 0 && servers <= UINT32_MAX);
    /* Try at most one switch per server: with more, some switches would have no servers. */
    uint64_t low = 0, high = servers;
    if (k < 2 || !bisection_full(k, servers, high))
        return false;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (bisection_full(k, servers, middle))
            high = middle;
        else
            low = middle;
    }
    *count = (struct cable_count){
        .switches = high,
        .servers = servers,
        .server_cables = servers,
        .link_cables = (high * k - servers) / 2,
    };
    return true;
}

enum err container_tally_make(struct container_tally *tally, const struct graph *graph,
                              const uint32_t *container, uint32_t containers, struct why *why)
{
    uint64_t pairs = (uint64_t)containers * containers;
    *tally = (struct container_tally){0};
    if (containers > 20000)
        return why_fail(why, ERR_USAGE, "%u containers are too many; the maximum is 20000",
                        containers);
    uint32_t *between = array_new(pairs, sizeof *between);
    if (!between)
        return why_memory(why);
    for (uint32_t e = 0; e < graph->link_count; e++) {
        uint32_t a = container[graph->links[e].a], b = container[graph->links[e].b];
        assert(a < containers && b < containers);
        if (a == b)
            tally->local++;
        else
            between[a < b ? (uint64_t)a * containers + b : (uint64_t)b * containers + a]++;
    }
    for (uint64_t pair = 0; pair < pairs; pair++) {
        tally->global += between[pair];
        tally->bundles += between[pair] > 0;
        if (between[pair] > tally->bundle_max)
            tally->bundle_max = between[pair];
    }
    if (tally->bundles)
        tally->bundle_mean = (double)tally->global / (double)tally->bundles;
    free(between);
    return OK;
}
