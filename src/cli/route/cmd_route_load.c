/* weft route load */
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "cli/core/progress.h"
#include "cli/route/load_report.h"
#include "cli/route/route_call.h"
#include "routing/traffic/traffic.h"

/* Refuses a word that is neither a pattern nor a readable file. */
static enum err word_refuse(const char *word, enum err err, const struct why *refusal,
                            struct why *why)
{
    struct nearest nearest = nearest_make(word, strlen(word));
    for (enum traffic_pattern pattern = 0; pattern < TRAFFIC_PATTERN_COUNT; pattern++)
        nearest_try(&nearest, traffic_pattern_name(pattern));
    if (strcmp(word, "-") == 0)
        return why_fail(why, err, "%s", refusal->text);
    return why_fail(why, err, "%s; and it is not the name of a pattern%s", refusal->text,
                    nearest_hint(&nearest));
}

/* Makes the traffic: a pattern by its name, or else a file. */
static enum err read_traffic(struct traffic *traffic, const struct load_report *report,
                             const char *word, bool *from_file, struct why *why)
{
    const struct topology *topology = report->router->topology;
    char *data;
    size_t size;
    struct why refusal = {""};
    enum err err;
    *from_file = false;
    for (enum traffic_pattern pattern = 0; pattern < TRAFFIC_PATTERN_COUNT; pattern++)
        if (!strcmp(word, traffic_pattern_name(pattern))) {
            err = traffic_make_pattern(traffic, topology, pattern, &refusal);
            return err ? load_refuse(report->name, err, &refusal, why) : OK;
        }
    *from_file = true;
    err = file_read(word, &data, &size, &refusal);
    if (err)
        return word_refuse(word, err, &refusal, why);
    const char *name = strcmp(word, "-") == 0 ? "standard input" : word;
    err = traffic_read(traffic, topology, name, data, size, why);
    free(data);
    if (!err && traffic->count == 0) {
        traffic_fini(traffic);
        return why_fail(why, ERR_INPUT, "%s: all traffic stays within its node", name);
    }
    return err;
}

static enum err load_make(struct load_report *report, const struct call *call, struct why *why)
{
    const char *word = call_has(call, "traffic") ? call_option(call, "traffic") : "uniform";
    const struct topology *topology = report->router->topology;
    struct traffic traffic;
    enum err err = read_traffic(&traffic, report, word, &report->from_file, why);
    if (err)
        return err;
    report->traffic = word;
    err = traffic_check_reach(&traffic, topology, why);
    if (!err)
        err = load_find(&report->load, report->router, &traffic, progress_observer, why);
    traffic_fini(&traffic);
    return err;
}

static enum err load_run(struct call *call, struct why *why)
{
    return load_report_run(call, load_make, why);
}

static const struct option load_options[] = {
    ROUTE_CALL_OPTIONS,
    {"traffic", "uniform|transpose|complement|tornado|neighbour|FILE",
     "the traffic pattern, or a file, see weft-traffic(5) (default uniform)"},
    {"channels", NULL, "list all channels, highest load first"},
    LOAD_REPORT_OPTION,
    {0},
};

const struct command command_route_load = {
    .name = "route load",
    .arguments = "SPEC|FILE",
    .summary = "compute the load of every channel, and the throughput it allows",
    .description =
        "Computes the expected load of every channel (a link in one direction) from the "
        "probabilities of all paths that packets may take; no packets are drawn at random. The "
        "channel with the highest load limits the throughput: 1 / its load is the rate, in "
        "multiples of the rate of a link, at which every node can send before that channel is "
        "full.\n\n"
        "The traffic is a pattern, in which every node with servers sends 1 in total, or a file "
        "of servers and amounts; for a file the throughput is the factor by which its amounts "
        "can grow.\n"
        "  uniform     to every node alike, itself included\n"
        "  transpose   to the node with the coordinates in reverse order\n"
        "  complement  coordinate c of an axis of size k becomes k - 1 - c\n"
        "  tornado     just under half-way round the first axis\n"
        "  neighbour   to the next node along the first axis\n\n"
        "The capacity is the throughput of the best routing under uniform traffic: given by a "
        "formula for tori, otherwise by a lower bound (a flow) and a proved upper bound. The "
        "throughput divided by the capacity is called normalised; it can be compared between "
        "traffic patterns in which every node sends 1 in total. The mean path is the mean length "
        "over the packets that leave their node.\n\n"
        "In a network of switches, switches without servers send nothing and the others send 1 "
        "each, independently of the number of their servers. Adaptive algorithms choose by load; "
        "here each of the cables that they may take gets an equal share instead.",
    .options = load_options,
    .examples = "  weft route load torus:8x8 --algorithm dor --traffic tornado\n"
                "  weft route load novacube:8x8 --algorithm pora --json\n"
                "  weft route load fattree:k=8 --algorithm ecmp --traffic demands.txt --channels",
    .run = load_run,
};
