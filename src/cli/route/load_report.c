/* load_report: loads are compared to nine digits, so that channels whose loads
 * differ only by rounding count as equal. */
#include "cli/route/load_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "cli/core/progress.h"
#include "cli/route/route_call.h"
#include "cli/show/bracket_text.h"
#include "topology/cabling/port_label.h"

#define CAPACITY_NODES_MAX 2048u /* 4 million pairs, about ten seconds */
#define HISTOGRAM_ROWS     8
#define BUSIEST_ROWS       5u
#define PERMUTATION_ROWS   8u

static void show_capacity(void *context, double lower, double upper)
{
    static const char title[] = "uniform capacity";
    progress_show(title, 0, 0);
}

static enum err capacity_find(struct load_report *report, const struct call *call, struct why *why)
{
    const struct topology *topology = report->router->topology;
    double gap = 0.001;
    enum err err = call_real(call, "gap", 1e-6, 1, &gap, why);
    if (err)
        return err;
    if (topology->kind != TOPOLOGY_TORUS && !call_has(call, "gap") &&
        topology_host_count(topology) > CAPACITY_NODES_MAX)
        return OK;
    err = uniform_capacity(&report->capacity, topology, gap, show_capacity, NULL, why);
    report->has_capacity = !err;
    return err;
}

static double busiest(const struct load_report *report)
{
    return report->is_worst ? report->worst.load : report->load.max;
}

/* --- channels by load --- */

struct loaded {
    uint64_t rank; /* its load as a share of the highest load, to nine digits */
    double load;
    uint32_t channel;
};

#define RANK_MAX 1000000000u

/* Orders channels by load, highest first, and equal ones by number. */
static int loaded_compare(const void *one, const void *other)
{
    const struct loaded *a = one, *b = other;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->channel < b->channel ? -1 : a->channel > b->channel;
}

/* Returns the channels in order of load; the caller frees them. */
static struct loaded *channels_sorted(const struct load_report *report)
{
    size_t count = graph_channel_count(&report->router->topology->graph);
    struct loaded *sorted = array_new(count, sizeof *sorted);
    for (size_t i = 0; sorted && i < count; i++) {
        double load = report->load.channels[i];
        uint64_t rank = (uint64_t)llround(load / report->load.max * RANK_MAX);
        sorted[i] = (struct loaded){rank, load, (uint32_t)i};
    }
    if (sorted)
        qsort(sorted, count, sizeof *sorted, loaded_compare);
    return sorted;
}

/* ---- the result ---- */

#define CHANNELS_PAGE(key) "{?" key "}{#" key "}{load%11.6g}  {words}\n{/}{/}"

/* The indent of a line that continues the one before. */
#define BELOW "                        "

static const char load_page[] =
    "{topology}, {algorithm}, {?worst}{:}traffic {/}{traffic}\n"
    "  busiest channel       load {max_channel_load%.6g}{?worst}, at {channel.words}{/}\n"
    "  throughput            {throughput%.6g} "
    "{?from_file}times this traffic fits{:}of a link's rate from every node{/}\n"
    "{?capacity}  capacity              {capacity_text}, under uniform traffic and the best "
    "routing\n"
    "  normalised            {normalised_text} of the capacity\n"
    "{:}  capacity              not searched for in a network of this size (--gap SHARE does)\n{/}"
    "  mean path             {mean_path%.6g} hops\n"
    "{?worst}  worst permutation     {moving} of {hosts} nodes send to another\n"
    "{#permutation}{?shown}" BELOW "{from} to {to}\n{/}{/}"
    "{?moving_more}" BELOW "and {moving_more} more (--permutation lists all)\n{/}{/}"
    "\n       load             channels     share\n"
    "{#histogram}{load%11s} {channels%20u}  {percent%6.2f} %\n{/}"
    "\n       load  channel\n" CHANNELS_PAGE("busiest")
        CHANNELS_PAGE("channels") "{?more}             {more} more{?alike}, {alike} of them as "
                                  "busy as the first{/} "
                                  "(--channels lists all)\n{/}";

static void channel_put(struct result *result, const char *key, const struct load_report *report,
                        uint32_t channel, double load)
{
    const struct topology *topology = report->router->topology;
    const struct graph *graph = &topology->graph;
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE], label[PORT_LABEL_SIZE];
    uint32_t port = graph_channel_port(graph, channel);
    const char *from_name = topology_name(topology, graph_channel_from(graph, channel), from);
    const char *to_name = topology_name(topology, graph_channel_to(graph, channel), to);
    result_object(result, key);
    result_uint(result, "channel", channel);
    result_string(result, "from", from_name);
    result_uint(result, "port", port);
    result_string(result, "to", to_name);
    result_number(result, "load", load);
    text_printf(result_words(result_hide(result), "words"), "%s port %s to %s", from_name,
                port_label(topology, port, label), to_name);
    result_end(result);
}

static void capacity_put(struct result *result, const struct load_report *report)
{
    double throughput = 1 / busiest(report);
    const struct capacity *capacity = &report->capacity;
    bool has = report->has_capacity;
    result_number(result, "capacity", has ? capacity_middle(capacity) : NAN);
    result_number(result, "capacity_lower", has ? capacity->lower : NAN);
    result_number(result, "capacity_upper", has ? capacity->upper : NAN);
    result_number(result, "normalised", has ? throughput / capacity_middle(capacity) : NAN);
    result_number(result, "normalised_lower", has ? throughput / capacity->upper : NAN);
    result_number(result, "normalised_upper", has ? throughput / capacity->lower : NAN);
    if (!has)
        return;
    bracket_text(result_words(result_hide(result), "capacity_text"), capacity->lower,
                 capacity->upper, 6);
    bracket_text(result_words(result_hide(result), "normalised_text"), throughput / capacity->upper,
                 throughput / capacity->lower, 6);
}

static void permutation_put(struct result *result, const struct load_report *report)
{
    const struct topology *topology = report->router->topology;
    uint32_t moving = 0, most = report->permutation ? UINT32_MAX : PERMUTATION_ROWS;
    char name[NODE_NAME_SIZE];
    result_array(result, "permutation");
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        uint32_t to = report->worst.to[v];
        if (!topology->sites[v].servers)
            continue;
        result_object(result, NULL);
        result_string(result, "from", topology_name(topology, v, name));
        result_string(result, "to", topology_name(topology, to, name));
        result_bool(result_hide(result), "shown", to != v && moving < most);
        result_end(result);
        moving += to != v;
    }
    result_end(result);
    result_uint(result_hide(result), "moving", moving);
    result_uint(result_hide(result), "moving_more", moving > most ? moving - most : 0);
    result_uint(result_hide(result), "hosts", topology_host_count(topology));
}

static void histogram_row(struct result *result, const char *load, size_t channels, size_t all)
{
    result_object(result, NULL);
    result_string(result, "load", load);
    result_uint(result, "channels", channels);
    result_number(result, "percent", 100.0 * (double)channels / (double)all);
    result_end(result);
}

/* Adds a row for each load, or, if there are too many, for each range of loads. */
static void histogram_put(struct result *result, const struct loaded *sorted, size_t count)
{
    size_t first[HISTOGRAM_ROWS + 2] = {0}, distinct = 0, at = 0;
    char label[64];
    for (size_t i = 0; i < count && distinct <= HISTOGRAM_ROWS; i++)
        if (i == 0 || sorted[i - 1].rank != sorted[i].rank)
            first[distinct++] = i;
    bool ranges = distinct > HISTOGRAM_ROWS;
    if (!ranges)
        first[distinct] = count;
    result_array(result_hide(result), "histogram");
    for (size_t row = 0; !ranges && row < distinct; row++) {
        snprintf(label, sizeof label, "%.6g", sorted[first[row]].load);
        histogram_row(result, label, first[row + 1] - first[row], count);
    }
    for (int row = HISTOGRAM_ROWS - 1; ranges && row >= 0; row--) {
        size_t begin = at;
        while (at < count && sorted[at].rank >= (uint64_t)row * RANK_MAX / HISTOGRAM_ROWS)
            at++;
        snprintf(label, sizeof label, ">= %.4g", sorted[0].load * row / HISTOGRAM_ROWS);
        histogram_row(result, label, at - begin, count);
    }
    result_end(result);
}

static void channels_put(struct result *result, const struct load_report *report,
                         const struct loaded *sorted, size_t count)
{
    size_t shown = report->channels || count < BUSIEST_ROWS ? count : BUSIEST_ROWS, alike = 0;
    result_array(result, report->channels ? "channels" : "busiest");
    for (size_t i = 0; i < shown; i++)
        channel_put(result, NULL, report, sorted[i].channel, sorted[i].load);
    result_end(result);
    for (size_t i = shown; i < count; i++)
        alike += sorted[i].rank == sorted[0].rank;
    result_uint(result_hide(result), "more", count - shown);
    result_uint(result_hide(result), "alike", alike);
}

static enum err report_put(struct call *call, const struct load_report *report, struct why *why)
{
    size_t count = graph_channel_count(&report->router->topology->graph);
    struct loaded *sorted = channels_sorted(report);
    if (!sorted)
        return why_memory(why);
    struct result *result = call_result(call, load_page);
    result_string(result, "topology", report->name);
    result_string(result, "algorithm", report->router->algorithm->name);
    result_string(result, "traffic", report->traffic);
    result_bool(result_hide(result), "from_file", report->from_file);
    result_bool(result_hide(result), "worst", report->is_worst);
    result_number(result, "max_channel_load", busiest(report));
    if (report->is_worst)
        result_number(result, "max_channel_load_upper", report->worst.bound);
    result_number(result, "throughput", 1 / busiest(report));
    capacity_put(result, report);
    result_number(result, "mean_path", report->load.mean_path);
    if (report->is_worst) {
        result_uint(result, "channel_classes", report->worst.class_count);
        channel_put(result, "channel", report, report->worst.channel, report->worst.load);
        permutation_put(result, report);
    }
    histogram_put(result, sorted, count);
    channels_put(result, report, sorted, count);
    free(sorted);
    return OK;
}

enum err load_report_run(struct call *call, load_report_find *find, struct why *why)
{
    struct route_call route;
    enum err err = route_call_open(&route, call, why);
    if (err)
        return err;
    struct load_report report = {
        .name = call->arguments[0],
        .router = &route.router,
        .channels = call_has(call, "channels"),
    };
    err = find(&report, call, why);
    if (!err)
        err = capacity_find(&report, call, why);
    if (!err)
        err = report_put(call, &report, why);
    load_fini(&report.load);
    worst_fini(&report.worst);
    route_call_close(&route);
    return err;
}
