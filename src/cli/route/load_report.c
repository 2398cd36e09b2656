/* load_report: loads are compared to nine digits, so that channels that differ
 * by the order of their sums only are alike. */
#include "cli/route/load_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/json.h"
#include "cli/core/progress.h"
#include "cli/show/bracket_text.h"
#include "topology/cabling/port_label.h"

#define CAPACITY_NODES_MAX 2048u /* 4 million pairs, some ten seconds */
#define HISTOGRAM_ROWS     8
#define BUSIEST_ROWS       5u
#define PERMUTATION_ROWS   8u

static void show_capacity(void *context, double lower, double upper)
{
    static const char title[] = "uniform capacity";
    progress_show(title, 0, 0);
}

enum err load_report_capacity(struct load_report *report, const struct call *call, struct why *why)
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
    uint64_t rank; /* its load in parts of the busiest's, to nine digits */
    double load;
    uint32_t channel;
};

#define RANK_MAX 1000000000u

/* The busiest first; of those alike, by number. */
static int loaded_compare(const void *one, const void *other)
{
    const struct loaded *a = one, *b = other;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->channel < b->channel ? -1 : a->channel > b->channel;
}

/* The caller frees them. */
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

static void channel_json(struct json *json, const struct load_report *report, uint32_t channel,
                         double load)
{
    const struct topology *topology = report->router->topology;
    const struct graph *graph = &topology->graph;
    char name[NODE_NAME_SIZE];
    json_object(json);
    json_put_uint(json, "channel", channel);
    json_put_string(json, "from",
                    topology_name(topology, graph_channel_from(graph, channel), name));
    json_put_uint(json, "port", graph_channel_port(graph, channel));
    json_put_string(json, "to", topology_name(topology, graph_channel_to(graph, channel), name));
    json_put_number(json, "load", load);
    json_end(json, '}');
}

static void channel_text(struct text *out, const struct load_report *report, uint32_t channel)
{
    const struct topology *topology = report->router->topology;
    const struct graph *graph = &topology->graph;
    char name[NODE_NAME_SIZE], label[PORT_LABEL_SIZE];
    text_puts(out, topology_name(topology, graph_channel_from(graph, channel), name));
    text_printf(out, " port %s to ",
                port_label(topology, graph_channel_port(graph, channel), label));
    text_puts(out, topology_name(topology, graph_channel_to(graph, channel), name));
}

/* --- JSON --- */

static void capacity_json(struct json *json, const struct load_report *report)
{
    double throughput = 1 / busiest(report);
    const struct capacity *capacity = &report->capacity;
    bool has = report->has_capacity;
    json_put_number(json, "capacity", has ? capacity_middle(capacity) : NAN);
    json_put_number(json, "capacity_lower", has ? capacity->lower : NAN);
    json_put_number(json, "capacity_upper", has ? capacity->upper : NAN);
    json_put_number(json, "normalised", has ? throughput / capacity_middle(capacity) : NAN);
    json_put_number(json, "normalised_lower", has ? throughput / capacity->upper : NAN);
    json_put_number(json, "normalised_upper", has ? throughput / capacity->lower : NAN);
}

static void permutation_json(struct json *json, const struct load_report *report)
{
    const struct topology *topology = report->router->topology;
    char name[NODE_NAME_SIZE];
    json_key(json, "permutation");
    json_array(json);
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        if (!topology->sites[v].servers)
            continue;
        json_object(json);
        json_put_string(json, "from", topology_name(topology, v, name));
        json_put_string(json, "to", topology_name(topology, report->worst.to[v], name));
        json_end(json, '}');
    }
    json_end(json, ']');
}

static enum err print_json(struct text *out, const struct load_report *report, struct why *why)
{
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_string(&json, "topology", report->name);
    json_put_string(&json, "algorithm", report->router->algorithm->name);
    json_put_string(&json, "traffic", report->traffic);
    json_put_number(&json, "max_channel_load", busiest(report));
    if (report->is_worst)
        json_put_number(&json, "max_channel_load_upper", report->worst.bound);
    json_put_number(&json, "throughput", 1 / busiest(report));
    capacity_json(&json, report);
    json_put_number(&json, "mean_path", report->load.mean_path);
    if (report->is_worst) {
        json_put_uint(&json, "channel_classes", report->worst.class_count);
        json_key(&json, "channel");
        channel_json(&json, report, report->worst.channel, report->worst.load);
        permutation_json(&json, report);
    }
    size_t count = graph_channel_count(&report->router->topology->graph);
    if (!report->channels)
        count = count < BUSIEST_ROWS ? count : BUSIEST_ROWS;
    struct loaded *sorted = channels_sorted(report);
    if (!sorted)
        return why_memory(why);
    json_key(&json, report->channels ? "channels" : "busiest");
    json_array(&json);
    for (size_t i = 0; i < count; i++)
        channel_json(&json, report, sorted[i].channel, sorted[i].load);
    json_end(&json, ']');
    json_end(&json, '}');
    free(sorted);
    return OK;
}

/* --- text --- */

static void line(struct text *out, const char *label)
{
    text_printf(out, "  %-22s", label);
}

static void capacity_text(struct text *out, const struct load_report *report)
{
    const struct capacity *capacity = &report->capacity;
    double throughput = 1 / busiest(report);
    if (!report->has_capacity) {
        line(out, "capacity");
        text_puts(out, "not searched for in a network of this size (--gap SHARE does)\n");
        return;
    }
    line(out, "capacity");
    bracket_text(out, capacity->lower, capacity->upper, 6);
    text_puts(out, ", under uniform traffic and the best routing\n");
    line(out, "normalised");
    bracket_text(out, throughput / capacity->upper, throughput / capacity->lower, 6);
    text_puts(out, " of the capacity\n");
}

static void histogram_row(struct text *out, const char *load, size_t channels, size_t all)
{
    text_printf(out, "%11s %20zu  %6.2f %%\n", load, channels,
                100.0 * (double)channels / (double)all);
}

/* Where few loads occur, a row each; else ranges of equal width. */
static void histogram_text(struct text *out, const struct loaded *sorted, size_t count)
{
    size_t first[HISTOGRAM_ROWS + 2] = {0}, distinct = 0;
    char label[64];
    for (size_t i = 0; i < count && distinct <= HISTOGRAM_ROWS; i++)
        if (i == 0 || sorted[i - 1].rank != sorted[i].rank)
            first[distinct++] = i;
    text_printf(out, "\n%11s %20s  %8s\n", "load", "channels", "share");
    if (distinct <= HISTOGRAM_ROWS) {
        first[distinct] = count;
        for (size_t row = 0; row < distinct; row++) {
            snprintf(label, sizeof label, "%.6g", sorted[first[row]].load);
            histogram_row(out, label, first[row + 1] - first[row], count);
        }
        return;
    }
    size_t at = 0;
    for (int row = HISTOGRAM_ROWS - 1; row >= 0; row--) {
        double low = sorted[0].load * row / HISTOGRAM_ROWS;
        size_t begin = at;
        while (at < count && sorted[at].rank >= (uint64_t)row * RANK_MAX / HISTOGRAM_ROWS)
            at++;
        snprintf(label, sizeof label, ">= %.4g", low);
        histogram_row(out, label, at - begin, count);
    }
}

static void channels_text(struct text *out, const struct load_report *report,
                          const struct loaded *sorted, size_t count)
{
    size_t shown = report->channels || count < BUSIEST_ROWS ? count : BUSIEST_ROWS, alike = 0;
    text_printf(out, "\n%11s  channel\n", "load");
    for (size_t i = 0; i < shown; i++) {
        text_printf(out, "%11.6g  ", sorted[i].load);
        channel_text(out, report, sorted[i].channel);
        text_puts(out, "\n");
    }
    for (size_t i = shown; i < count; i++)
        alike += sorted[i].rank == sorted[0].rank;
    if (shown == count)
        return;
    text_printf(out, "%11s  %zu more", "", count - shown);
    if (alike)
        text_printf(out, ", %zu of them as busy as the first", alike);
    text_puts(out, " (--channels lists all)\n");
}

static void permutation_text(struct text *out, const struct load_report *report)
{
    const struct topology *topology = report->router->topology;
    uint32_t moving = 0, shown = 0;
    char name[NODE_NAME_SIZE];
    for (uint32_t v = 0; v < topology->graph.node_count; v++)
        moving += report->worst.to[v] != v;
    line(out, "worst permutation");
    text_printf(out, "%u of %u nodes send to another\n", moving, topology_host_count(topology));
    for (uint32_t v = 0; v < topology->graph.node_count; v++) {
        if (report->worst.to[v] == v)
            continue;
        if (shown++ == PERMUTATION_ROWS && !report->permutation)
            break;
        line(out, "");
        text_printf(out, "%s to ", topology_name(topology, v, name));
        text_printf(out, "%s\n", topology_name(topology, report->worst.to[v], name));
    }
    if (!report->permutation && moving > PERMUTATION_ROWS) {
        line(out, "");
        text_printf(out, "and %u more (--permutation lists all)\n", moving - PERMUTATION_ROWS);
    }
}

static enum err print_text(struct text *out, const struct load_report *report, struct why *why)
{
    size_t count = graph_channel_count(&report->router->topology->graph);
    double throughput = 1 / busiest(report);
    struct loaded *sorted = channels_sorted(report);
    if (!sorted)
        return why_memory(why);
    text_printf(out, "%s, %s, ", report->name, report->router->algorithm->name);
    text_printf(out, report->is_worst ? "%s\n" : "traffic %s\n", report->traffic);
    line(out, "busiest channel");
    text_printf(out, "load %.6g", busiest(report));
    if (report->is_worst) {
        text_puts(out, ", at ");
        channel_text(out, report, report->worst.channel);
    }
    text_puts(out, "\n");
    line(out, "throughput");
    if (report->from_file)
        text_printf(out, "%.6g times this traffic fits\n", throughput);
    else
        text_printf(out, "%.6g of a link's rate from every node\n", throughput);
    capacity_text(out, report);
    line(out, "mean path");
    text_printf(out, "%.6g hops\n", report->load.mean_path);
    if (report->is_worst)
        permutation_text(out, report);
    histogram_text(out, sorted, count);
    channels_text(out, report, sorted, count);
    free(sorted);
    return OK;
}

enum err load_report_print(struct call *call, const struct load_report *report, struct why *why)
{
    return call->json ? print_json(&call->out, report, why) : print_text(&call->out, report, why);
}
