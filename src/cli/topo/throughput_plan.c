/* throughput_plan: reads the options about throughput, and refuses combinations without a meaning.
 */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "cli/core/parallel.h"
#include "cli/topo/measure_throughput.h"
#include "routing/route.h"

static const double gap_default = 0.01, gap_default_capacity = FULL_CAPACITY_TOLERANCE;

struct rule {
    const char *option;
    unsigned modes; /* bit m: the option may be used in mode m */
    const char *needs;
};

#define WITH(mode) (1u << (mode))

static const struct rule rules[] = {
    {"gap", WITH(THROUGHPUT_SOLVE) | WITH(THROUGHPUT_CAPACITY),
     "needs --throughput T or --full-capacity"},
    {"routing", WITH(THROUGHPUT_SOLVE), "needs --throughput T"},
    {"ways", WITH(THROUGHPUT_SOLVE), "needs --throughput T"},
    {"flow", WITH(THROUGHPUT_SOLVE) | WITH(THROUGHPUT_VERIFY),
     "needs --throughput T (then it is written) or --verify (then it is read)"},
    {"verify", WITH(THROUGHPUT_SOLVE) | WITH(THROUGHPUT_VERIFY),
     "needs --throughput T or --flow FILE"},
    {"against", WITH(THROUGHPUT_VERIFY), "needs --flow FILE --verify, and no --throughput"},
    {"throughput", WITH(THROUGHPUT_SOLVE) | WITH(THROUGHPUT_BOUND),
     "cannot be combined with --full-capacity, which uses permutations"},
    {"bound", WITH(THROUGHPUT_BOUND), "cannot be combined with --full-capacity"},
    {"fail-links", ~WITH(THROUGHPUT_CAPACITY), "cannot be combined with --full-capacity"},
    {"fail-nodes", ~WITH(THROUGHPUT_CAPACITY), "cannot be combined with --full-capacity"},
};

static enum throughput_mode mode_of(const struct call *call)
{
    if (call_has(call, "full-capacity"))
        return THROUGHPUT_CAPACITY;
    if (call_has(call, "bound"))
        return THROUGHPUT_BOUND;
    if (call_has(call, "throughput"))
        return THROUGHPUT_SOLVE;
    if (call_has(call, "flow") && call_has(call, "verify"))
        return THROUGHPUT_VERIFY;
    return THROUGHPUT_NONE;
}

static enum err rules_check(const struct call *call, enum throughput_mode mode, struct why *why)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!call_has(call, rules[i].option) || rules[i].modes & WITH(mode))
            continue;
        if (mode == THROUGHPUT_BOUND)
            return why_fail(why, ERR_USAGE,
                            "--%s: cannot be combined with --bound, which computes no flow",
                            rules[i].option);
        return why_fail(why, ERR_USAGE, "--%s: %s", rules[i].option, rules[i].needs);
    }
    return OK;
}

static enum err gap_read(struct throughput_plan *plan, const struct call *call, struct why *why)
{
    const char *word = call_option(call, "gap");
    plan->gap = plan->mode == THROUGHPUT_CAPACITY ? gap_default_capacity : gap_default;
    if (!word)
        return OK;
    char *end;
    double gap = strtod(word, &end);
    if (!*word || *end || !(gap > 0 && gap <= 1))
        return why_fail(why, ERR_USAGE, "--gap %s: expected a number above 0 and up to 1", word);
    plan->gap = gap;
    return OK;
}

static enum err routing_read(struct throughput_plan *plan, const struct call *call, struct why *why)
{
    int index = CERTIFICATE_OPTIMAL;
    uint64_t ways = ROUTE_WAYS_DEFAULT;
    enum err err = call_choice(call, "routing", certificate_routing_names, &index, why);
    if (!err)
        err = call_uint(call, "ways", 1, CERTIFICATE_WAYS_MAX, &ways, why);
    if (err)
        return err;
    plan->routing = (enum certificate_routing)index;
    if (plan->routing == CERTIFICATE_OPTIMAL && call_has(call, "ways"))
        return why_fail(why, ERR_USAGE, "--ways: needs --routing ecmp or k-shortest");
    plan->ways = plan->routing == CERTIFICATE_OPTIMAL ? 0 : (uint32_t)ways;
    return OK;
}

enum err throughput_plan_read(struct throughput_plan *plan, const struct call *call,
                              struct why *why)
{
    *plan = (struct throughput_plan){.mode = mode_of(call), .seed = 1};
    plan->flow = call_option(call, "flow");
    plan->verify = call_has(call, "verify");
    plan->traffic = call_option(call, plan->mode == THROUGHPUT_VERIFY ? "against" : "throughput");
    if (!plan->traffic && plan->mode == THROUGHPUT_BOUND)
        plan->traffic = certificate_traffic_names[CERTIFICATE_LONGEST_MATCHING];
    enum err err = rules_check(call, plan->mode, why);
    if (!err && plan->mode == THROUGHPUT_SOLVE)
        err = call_out_file(call, "flow", &plan->flow, why);
    if (!err)
        err = gap_read(plan, call, why);
    if (!err)
        err = routing_read(plan, call, why);
    if (!err)
        err = call_uint(call, "seed", 0, UINT64_MAX, &plan->seed, why);
    if (!err)
        err = parallel_threads(call, &plan->threads, why);
    return err;
}
