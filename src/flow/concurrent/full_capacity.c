#include "flow/concurrent/full_capacity.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "flow/concurrent/concurrent.h"
#include "routing/traffic/traffic.h"
#include "topology/generate/jellyfish_words.h"
#include "topology/topology.h"

enum { PHASE_MAX = 2000 }; /* a hopeless search takes a minute on 245 switches */

struct search {
    struct full_capacity *found;
    const struct full_capacity_options *options;
    struct jellyfish_words words;
    struct topology topology;  /* for topology_servers servers ... */
    uint32_t topology_servers; /* ... or not built if this is 0 */
    uint32_t servers_given;    /* the number in the spec; a network with it exists */
    struct why *why;
};

const char *full_capacity_verdict_name(enum full_capacity_verdict verdict)
{
    switch (verdict) {
    case FULL_CAPACITY_YES:
        return "yes";
    case FULL_CAPACITY_NO:
        return "no";
    case FULL_CAPACITY_UNDECIDED:
        return "undecided";
    case FULL_CAPACITY_NO_NETWORK:
        return "no network";
    }
    assert_unreachable();
}

void full_capacity_fini(struct full_capacity *found)
{
    free(found->steps);
    *found = (struct full_capacity){0};
}

static void search_drop(struct search *search)
{
    if (search->topology_servers)
        topology_fini(&search->topology);
    search->topology_servers = 0;
}

/* Builds the switches with this many servers; *possible is false if no network exists. */
static enum err search_build(struct search *search, uint32_t servers, bool *possible)
{
    char spec[SPEC_SIZE];
    struct why reason = {""};
    *possible = true;
    if (search->topology_servers == servers)
        return OK;
    search_drop(search);
    search->words.server_count = servers;
    enum err err = jellyfish_words_write(&search->words, spec, search->why);
    if (err)
        return err;
    err = topology_build(&search->topology, spec, &reason);
    if (err == ERR_USAGE) {
        *possible = false;
        return OK;
    }
    if (err && search->why)
        *search->why = reason;
    if (!err)
        search->topology_servers = servers;
    return err;
}

/* The spec as given must be a network that exists. */
static enum err search_build_given(struct search *search)
{
    struct topology topology;
    enum err err = topology_build(&topology, search->words.spec, search->why);
    if (err)
        return err;
    search->servers_given = topology.server_count;
    topology_fini(&topology);
    return OK;
}

static enum err matrix_solve(struct search *search, struct full_capacity_step *step)
{
    const struct full_capacity_options *options = search->options;
    const struct concurrent_options limits = {
        .gap = options->gap,
        .enough = 1 - FULL_CAPACITY_TOLERANCE,
        .too_little = 1,
        .phase_max = options->phase_max ? options->phase_max : PHASE_MAX,
        .progress = options->progress,
        .context = options->context,
    };
    struct traffic traffic = {0};
    struct concurrent flow = {0};
    enum err err = traffic_permutation(&traffic, &search->topology, step->seed, search->why);
    if (err)
        return err;
    if (traffic.count == 0) {
        step->lower = step->upper = INFINITY;
    } else {
        err = concurrent_solve(&flow, &search->topology, &traffic, &limits, search->why);
        step->lower = flow.lower;
        step->upper = flow.upper;
        step->phases = flow.phases;
    }
    step->verdict = step->lower >= limits.enough ? FULL_CAPACITY_YES
                    : step->upper < 1            ? FULL_CAPACITY_NO
                                                 : FULL_CAPACITY_UNDECIDED;
    concurrent_fini(&flow);
    traffic_fini(&traffic);
    return err;
}

/* Has this step been done before? */
static const struct full_capacity_step *step_known(const struct search *search, uint32_t servers,
                                                   uint32_t matrix)
{
    for (size_t i = 0; i < search->found->step_count; i++) {
        const struct full_capacity_step *step = &search->found->steps[i];
        if (step->servers == servers && step->matrix == matrix)
            return step;
    }
    return NULL;
}

static enum err step_take(struct search *search, uint32_t servers, uint32_t matrix, bool *carried)
{
    struct full_capacity *found = search->found;
    const struct full_capacity_options *options = search->options;
    const struct full_capacity_step *known = step_known(search, servers, matrix);
    if (known) {
        *carried = known->verdict == FULL_CAPACITY_YES;
        return OK;
    }
    struct full_capacity_step step = {
        .servers = servers,
        .matrix = matrix,
        .seed = options->seed + matrix,
        .verdict = FULL_CAPACITY_NO_NETWORK,
    };
    bool possible;
    if (!array_reserve(&found->steps, &found->step_capacity, found->step_count + 1,
                       sizeof *found->steps))
        return why_memory(search->why);
    if (options->begin)
        options->begin(options->context, &step);
    enum err err = search_build(search, servers, &possible);
    if (!err && possible)
        err = matrix_solve(search, &step);
    if (err)
        return err;
    found->steps[found->step_count++] = step;
    found->undecided += step.verdict == FULL_CAPACITY_UNDECIDED;
    if (options->end)
        options->end(options->context, &step);
    *carried = step.verdict == FULL_CAPACITY_YES;
    return OK;
}

/* Are the first `matrices` permutations carried? Ends with the first that is not. */
static enum err servers_try(struct search *search, uint32_t servers, uint32_t matrices,
                            bool *carried)
{
    enum err err = OK;
    *carried = true;
    for (uint32_t matrix = 0; matrix < matrices && *carried && !err; matrix++)
        err = step_take(search, servers, matrix, carried);
    return err;
}

/* The largest number of servers that can be plugged in: if there are several switches, each keeps a
 * port for a link. */
static uint64_t servers_max(const struct jellyfish_words *words)
{
    uint64_t sum = 0;
    uint32_t left = words->node_count - words->bare; /* the bare switches are the last */
    for (uint32_t r = 0; r < words->run_count; r++) {
        uint32_t count = words->runs[r].count < left ? words->runs[r].count : left;
        sum += (uint64_t)count * (words->runs[r].ports - (words->node_count > 1));
        left -= count;
    }
    return sum < UINT32_MAX - 1 ? sum : UINT32_MAX - 1;
}

/* Is there no network because the servers are too few? If the spec has more servers, for which a
 * network exists, then this many leave more link ports than there are switches to join, and the
 * search goes up. If the spec has fewer, this many take too many ports. */
static bool servers_too_few(const struct search *search, uint32_t servers)
{
    const struct full_capacity_step *step = step_known(search, servers, 0);
    return servers < search->servers_given && step && step->verdict == FULL_CAPACITY_NO_NETWORK;
}

static enum err search_run(struct search *search)
{
    uint32_t low = 1, high = (uint32_t)servers_max(&search->words) + 1;
    bool carried = true;
    enum err err = search_build_given(search);
    while (!err && high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        err = servers_try(search, middle, FULL_CAPACITY_SEARCH, &carried);
        if (err)
            break;
        if (carried || servers_too_few(search, middle))
            low = middle;
        else
            high = middle;
    }
    search->found->servers_found = low;
    carried = low == 1;
    while (!err && !carried && low > 1) {
        err = servers_try(search, low, FULL_CAPACITY_SEARCH + FULL_CAPACITY_CONFIRM, &carried);
        if (!err && !carried)
            low = servers_too_few(search, low) ? 0 : low - 1;
    }
    search->found->servers = low;
    return err;
}

enum err full_capacity_find(struct full_capacity *found, const char *spec,
                            const struct full_capacity_options *options, struct why *why)
{
    assert(options->gap > 0);
    struct search search = {.found = found, .options = options, .why = why};
    *found = (struct full_capacity){0};
    enum err err = jellyfish_words_read(&search.words, spec, why);
    if (err)
        return err;
    if (search.words.direct)
        return why_fail(
            why, ERR_USAGE,
            "%s: only switched networks have a full capacity; give servers, switches and ports",
            spec);
    err = search_run(&search);
    search_drop(&search);
    if (err)
        full_capacity_fini(found);
    return err;
}
