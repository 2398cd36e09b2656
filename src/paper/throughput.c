#include "paper/throughput.h"

#include <math.h>
#include <stdio.h>

#include "base/check.h"
#include "flow/concurrent/concurrent.h"
#include "flow/total/total.h"
#include "routing/traffic/traffic.h"

void throughput_add(struct throughput_bracket *throughput, double lower, double upper)
{
    assert(lower >= 0 && lower <= upper * (1 + 1e-9)); /* rounding may swap them */
    lower = fmin(lower, 1);
    upper = fmin(fmax(lower, upper), 1);
    double runs = ++throughput->runs;
    throughput->lower += (lower - throughput->lower) / runs;
    throughput->upper += (upper - throughput->upper) / runs;
    throughput->least = runs > 1 ? fmin(throughput->least, lower) : lower;
    throughput->most = runs > 1 ? fmax(throughput->most, upper) : upper;
}

enum err throughput_add_permutation(struct throughput_bracket *throughput,
                                    const struct topology *topology, uint64_t seed, double gap,
                                    struct why *why)
{
    struct traffic traffic;
    struct concurrent concurrent = {.lower = 1, .upper = 1}; /* if no traffic leaves its switch */
    struct concurrent_options options = {.gap = gap, .enough = 1};
    enum err err = traffic_permutation(&traffic, topology, seed, why);
    if (err)
        return err;
    if (traffic.count > 0)
        err = concurrent_solve(&concurrent, topology, &traffic, &options, why);
    traffic_fini(&traffic);
    if (err)
        return err;
    throughput_add(throughput, concurrent.lower, concurrent.upper);
    concurrent_fini(&concurrent);
    return OK;
}

enum err throughput_add_mean(struct throughput_bracket *throughput, const struct topology *topology,
                             uint64_t seed, double gap, uint32_t *apart, struct why *why)
{
    struct traffic traffic;
    struct total total;
    enum err err = traffic_permutation(&traffic, topology, seed, why);
    if (err)
        return err;
    err = total_solve(&total, topology, &traffic, gap, 0, why);
    double servers = topology->server_count, local = traffic.local;
    traffic_fini(&traffic);
    if (err)
        return err;
    *apart = (uint32_t)lround(total.unreachable);
    throughput_add(throughput, (total.lower + local) / servers, (total.upper + local) / servers);
    return OK;
}

enum err throughput_add_both(struct throughput_both *both, const struct topology *topology,
                             uint64_t seed, double gap, struct why *why)
{
    uint32_t apart;
    enum err err = throughput_add_mean(&both->mean, topology, seed, gap, &apart, why);
    return err ? err : throughput_add_permutation(&both->at_once, topology, seed, gap, why);
}

enum err throughput_add_spec(struct throughput_both *both, const char *words, uint64_t seed,
                             double gap, struct why *why)
{
    char spec[SPEC_SIZE];
    struct topology topology;
    snprintf(spec, sizeof spec, "%s,seed=%llu", words, (unsigned long long)seed);
    enum err err = topology_build(&topology, spec, why);
    if (err)
        return err;
    err = throughput_add_both(both, &topology, seed, gap, why);
    topology_fini(&topology);
    return err;
}

struct throughput_bracket throughput_ratio(const struct throughput_bracket *one,
                                           const struct throughput_bracket *other)
{
    assert(other->lower > 0 && other->least > 0);
    return (struct throughput_bracket){
        .runs = one->runs < other->runs ? one->runs : other->runs,
        .lower = one->lower / other->upper,
        .upper = one->upper / other->lower,
        .least = one->least / other->most,
        .most = one->most / other->least,
    };
}
