/* weft route worst */
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/core/progress.h"
#include "cli/route/load_report.h"
#include "cli/route/route_call.h"

/* Computes the loads of all channels under the worst permutation again, by another method. */
static enum err load_again(struct load_report *report, struct why *why)
{
    struct traffic traffic;
    enum err err = worst_traffic(&report->worst, report->router->topology, &traffic, why);
    if (err)
        return err;
    err = load_find(&report->load, report->router, &traffic, progress_observer, why);
    traffic_fini(&traffic);
    return err;
}

static enum err worst_make(struct load_report *report, const struct call *call, struct why *why)
{
    struct why reason = {""};
    report->traffic = "worst permutation";
    report->is_worst = true;
    report->permutation = call_has(call, "permutation");
    enum err err = worst_find(&report->worst, report->router, progress_observer, &reason);
    if (err)
        return load_refuse(report->name, err, &reason, why);
    return load_again(report, why);
}

static enum err worst_run(struct call *call, struct why *why)
{
    return load_report_run(call, worst_make, why);
}

static const struct option worst_options[] = {
    ROUTE_CALL_OPTIONS,
    {"permutation", NULL, "list the whole worst permutation"},
    {"channels", NULL, "list all channels under it, highest load first"},
    LOAD_REPORT_OPTION,
    {0},
};

const struct command command_route_worst = {
    .name = "route worst",
    .arguments = "SPEC|FILE",
    .summary = "find the worst permutation of an oblivious algorithm, exactly",
    .description =
        "In a permutation every node with servers sends 1 to one such node and receives 1 from "
        "one. This command finds the permutation that puts the highest load on a channel, and "
        "proves that no permutation puts a higher load on any channel: max_channel_load_upper is "
        "that bound, which follows from the dual prices of the assignment problem (Towles and "
        "Dally, SPAA 2002). throughput, capacity and normalised are defined as in 'weft route "
        "load'.\n\n"
        "A permutation of the largest weight is searched for every channel. If shifting source "
        "and destination by the same amount shifts all paths alike, one channel of each "
        "direction suffices. Nodes that do not matter for the channel with the highest load send "
        "to themselves.\n\n"
        "Only oblivious algorithms have such a worst case; an adaptive algorithm is refused.",
    .options = worst_options,
    .examples = "  weft route worst torus:8x8 --algorithm romm\n"
                "  weft route worst torus:8x8x8 --algorithm rlb --permutation\n"
                "  weft route worst jellyfish:n=64,degree=5,seed=1 --algorithm ecmp --json",
    .run = worst_run,
};
