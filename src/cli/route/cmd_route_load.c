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

/* A word that is neither a pattern nor a file that can be read. */
static enum err word_refuse(const char *word, enum err err, const struct why *refusal,
                            struct why *why)
{
    struct nearest nearest = nearest_make(word, strlen(word));
    for (enum traffic_pattern pattern = 0; pattern < TRAFFIC_PATTERN_COUNT; pattern++)
        nearest_try(&nearest, traffic_pattern_name(pattern));
    if (strcmp(word, "-") == 0)
        return why_fail(why, err, "%s", refusal->text);
    return why_fail(why, err, "%s; and no pattern has that name%s", refusal->text,
                    nearest_hint(&nearest));
}

/* A pattern by its name, or else a file. */
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
        return why_fail(why, ERR_INPUT, "%s: all traffic stays within its nodes", name);
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
     "who sends to whom (default uniform); weft-traffic(5)"},
    {"channels", NULL, "list all channels, the busiest first"},
    LOAD_REPORT_OPTION,
    {0},
};

const struct command command_route_load = {
    .name = "route load",
    .arguments = "SPEC|FILE",
    .summary = "the load of every channel, and the throughput it allows",
    .description =
        "Follows the probabilities of all ways a packet may take, draws none, and adds up what "
        "every channel (a link in one direction) is expected to carry. The busiest channel limits "
        "the throughput: 1 / its load is the rate, in rates of a link, at which every node may "
        "send before that channel is full.\n\n"
        "Traffic is a pattern, in which every node with servers sends 1 in all, or a file of "
        "servers and amounts; the throughput is then the factor by which its amounts may grow.\n"
        "  uniform     to every node alike, itself included\n"
        "  transpose   coordinates in reverse order\n"
        "  complement  coordinate c of an axis of size k becomes k - 1 - c\n"
        "  tornado     just under half-way round the first axis\n"
        "  neighbour   one up the first axis\n\n"
        "The capacity is the throughput of the best routing there is under uniform traffic: by a "
        "formula for tori, else between a flow that was found and a bound that was proved. "
        "Throughput as a share of it is called normalised; it compares where every node sends 1 "
        "in all. The mean path is over packets that leave their node.\n\n"
        "Where nodes are switches, those without servers send nothing and the others 1 each, "
        "whatever the number of their servers. Algorithms that are not oblivious choose by load; "
        "equal shares of the cables they may take stand in for that.",
    .options = load_options,
    .examples = "  weft route load torus:8x8 --algorithm dor --traffic tornado\n"
                "  weft route load novacube:8x8 --algorithm pora --json\n"
                "  weft route load fattree:k=8 --algorithm ecmp --traffic demands.txt --channels",
    .run = load_run,
};
