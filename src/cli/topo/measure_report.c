/* measure_report: pairs are counted once each here, though the tally has both
 * directions; shares are of all pairs, those without a path included. */
#include "cli/topo/measure_report.h"

#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/topo/throughput_report.h"

#define HISTOGRAM_ROWS 40u /* of a terminal */

/* The keys of what is measured only when asked for. */
static const char *const bisection_keys[] = {
    "bisection_lower",        "bisection_lower_method",  "bisection_upper",
    "bisection_upper_method", "bisection_almost_surely", NULL,
};
static const char *const connectivity_keys[] = {"edge_connectivity", "vertex_connectivity", NULL};
static const char *const paths_keys[] = {"shortest_paths", NULL};

static uint64_t pairs_of(uint64_t count)
{
    return count * (count ? count - 1 : 0) / 2;
}

/* Cables between a server and the nodes: hops of the graph plus these. */
static uint32_t server_cables(const struct measurement *found)
{
    return found->topology->direct ? 0 : 2;
}

static void histogram_json(struct json *json, const char *key, const uint64_t *pairs,
                           uint32_t length, uint32_t cables, uint64_t all)
{
    json_key(json, key);
    json_array(json);
    for (uint32_t d = 0; d < length; d++) {
        if (pairs[d] == 0)
            continue;
        json_object(json);
        json_put_uint(json, "hops", d + cables);
        uint64_t once = pairs[d] / 2; /* the tally counts both directions */
        json_put_uint(json, "pairs", once);
        json_put_number(json, "share", (double)once / (double)all);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void failures_json(struct json *json, const struct measurement *found)
{
    json_put_number(json, "fail_links", found->link_share);
    json_put_number(json, "fail_nodes", found->node_share);
    json_put_uint(json, "links_lost", found->links_lost);
    json_put_uint(json, "nodes_lost", found->nodes_lost);
    json_put_uint(json, "seed", found->seed);
}

static void degrees_json(struct json *json, const struct measurement *found)
{
    const struct graph *graph = &found->topology->graph;
    if (graph->node_count) {
        json_put_uint(json, "degree_min", found->degree_min);
        json_put_uint(json, "degree_max", found->degree_max);
        json_put_number(json, "degree_mean", 2.0 * graph->link_count / graph->node_count);
    } else {
        json_put_null(json, "degree_min");
        json_put_null(json, "degree_max");
        json_put_null(json, "degree_mean");
    }
}

static void distances_json(struct json *json, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct distance_tally *tally = &found->tally;
    json_put_bool(json, "connected", found->components <= 1);
    json_put_uint(json, "components", found->components);
    json_put_uint(json, "pairs_apart", tally->nodes_apart / 2);
    json_put_uint(json, "server_pairs_apart", tally->servers_apart / 2);
    if (topology->graph.node_count)
        json_put_uint(json, "diameter", distance_diameter(tally));
    else
        json_put_null(json, "diameter");
    json_put_number(json, "mean_path", distance_mean(tally));
    if (topology->server_count)
        json_put_uint(json, "server_diameter", distance_server_diameter(tally, topology));
    else
        json_put_null(json, "server_diameter");
    json_put_number(json, "server_mean_path", distance_server_mean(tally, topology));
    histogram_json(json, "histogram", tally->nodes, tally->length, 0,
                   pairs_of(topology->graph.node_count));
    histogram_json(json, "server_histogram", tally->servers, tally->length, server_cables(found),
                   pairs_of(topology->server_count));
}

static void paths_json(struct json *json, const struct measurement *found)
{
    char name[NODE_NAME_SIZE];
    json_key(json, "shortest_paths");
    json_object(json);
    json_put_string(json, "from", topology_name(found->topology, found->path_from, name));
    json_put_string(json, "to", topology_name(found->topology, found->path_to, name));
    if (found->paths.connected)
        json_put_uint(json, "distance", found->paths.distance);
    else
        json_put_null(json, "distance");
    json_key(json, "count");
    json_wide(json, found->paths.count);
    json_put_bool(json, "saturated", found->paths.saturated);
    json_end(json, '}');
}

static void bisection_json(struct json *json, const struct bisection *bisection)
{
    json_put_uint(json, "bisection_lower", bisection->lower);
    json_put_string(json, "bisection_lower_method", bisection->lower_method);
    json_put_uint(json, "bisection_upper", bisection->upper);
    json_put_string(json, "bisection_upper_method", bisection->upper_method);
    json_put_number(json, "bisection_almost_surely", bisection->almost_surely);
}

static void nulls_json(struct json *json, const char *const *keys)
{
    for (; *keys; keys++)
        json_put_null(json, *keys);
}

static void names_json(struct json *json, const char *const *keys)
{
    for (; *keys; keys++)
        json_string(json, *keys);
}

static bool has_capacity(const struct measurement *found)
{
    return found->throughput.plan.mode == THROUGHPUT_CAPACITY;
}

static bool has_throughput(const struct measurement *found)
{
    return found->throughput.plan.mode != THROUGHPUT_NONE && !has_capacity(found);
}

static void extras_json(struct json *json, const struct measurement *found)
{
    if (found->has_bisection)
        bisection_json(json, &found->bisection);
    else
        nulls_json(json, bisection_keys);
    if (found->has_connectivity) {
        json_put_uint(json, "edge_connectivity", found->edge_connectivity);
        json_put_uint(json, "vertex_connectivity", found->vertex_connectivity);
    } else {
        nulls_json(json, connectivity_keys);
    }
    if (found->has_paths)
        paths_json(json, found);
    else
        nulls_json(json, paths_keys);
    if (!has_throughput(found))
        nulls_json(json, throughput_keys);
    if (!has_capacity(found))
        nulls_json(json, capacity_keys);
    if (found->throughput.plan.mode != THROUGHPUT_NONE)
        throughput_report_json(json, &found->throughput, found->topology);
    json_key(json, "not_measured");
    json_array(json);
    if (!found->has_bisection)
        names_json(json, bisection_keys);
    if (!found->has_connectivity)
        names_json(json, connectivity_keys);
    if (!found->has_paths)
        names_json(json, paths_keys);
    if (!has_throughput(found))
        names_json(json, throughput_keys);
    if (!has_capacity(found))
        names_json(json, capacity_keys);
    json_end(json, ']');
}

void measure_report_json(struct text *out, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_string(&json, "topology", found->name);
    json_put_string(&json, "kind", topology_kind_name(topology->kind));
    json_put_bool(&json, "direct", topology->direct);
    if (found->link_share > 0 || found->node_share > 0)
        failures_json(&json, found);
    json_put_uint(&json, "servers", topology->server_count);
    json_put_uint(&json, "switches", topology_switch_count(topology));
    json_put_uint(&json, "nodes", topology->graph.node_count);
    json_put_uint(&json, "links", topology->graph.link_count);
    degrees_json(&json, found);
    distances_json(&json, found);
    extras_json(&json, found);
    json_end(&json, '}');
}

static void line(struct text *out, const char *label)
{
    text_printf(out, "  %-22s", label);
}

static void sizes_text(struct text *out, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct graph *graph = &topology->graph;
    text_printf(out, "%s\n", found->name);
    if (found->link_share > 0 || found->node_share > 0) {
        line(out, "failed");
        text_printf(out, "%u links, %u nodes (shares %g and %g, seed %llu)\n", found->links_lost,
                    found->nodes_lost, found->link_share, found->node_share,
                    (unsigned long long)found->seed);
    }
    line(out, "servers");
    text_printf(out, "%u%s\n", topology->server_count,
                !topology->direct             ? ""
                : topology->server_count == 1 ? ", alone"
                                              : ", which forward for each other");
    if (!topology->direct) {
        line(out, "switches");
        text_printf(out, "%u\n", topology_switch_count(topology));
    }
    line(out, "links");
    text_printf(out, "%u\n", graph->link_count);
    if (graph->node_count == 0)
        return;
    line(out, "degree");
    if (found->degree_min == found->degree_max)
        text_printf(out, "%u\n", found->degree_min);
    else
        text_printf(out, "%u to %u, mean %.4g\n", found->degree_min, found->degree_max,
                    2.0 * graph->link_count / graph->node_count);
}

static void mean_text(struct text *out, const char *label, uint32_t diameter, double mean)
{
    if (isnan(mean))
        return;
    line(out, label);
    text_printf(out, "%u at most, %.6g on average\n", diameter, mean);
}

static void distances_text(struct text *out, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct distance_tally *tally = &found->tally;
    bool servers = !topology->direct && topology->server_count > 1;
    line(out, "connected");
    if (found->components <= 1)
        text_puts(out, "yes\n");
    else
        text_printf(out,
                    "NO: %u parts; %llu of %llu pairs of nodes have no path, figures below "
                    "leave them out\n",
                    found->components, (unsigned long long)tally->nodes_apart / 2,
                    (unsigned long long)pairs_of(topology->graph.node_count));
    mean_text(out, topology->direct ? "hops" : "hops, switches", distance_diameter(tally),
              distance_mean(tally));
    if (servers)
        mean_text(out, "hops, servers", distance_server_diameter(tally, topology),
                  distance_server_mean(tally, topology));
}

/* One row per distance, or, where those would fill screens, per range of
 * distances; --json has them all. */
static void histogram_text(struct text *out, const char *label, const uint64_t *pairs,
                           uint32_t length, uint32_t cables, uint64_t all)
{
    uint64_t joined = 0;
    uint32_t step = (length + HISTOGRAM_ROWS - 1) / HISTOGRAM_ROWS;
    for (uint32_t d = 0; d < length; d++)
        joined += pairs[d];
    if (joined == 0)
        return;
    text_printf(out, "\n  %9s %20s   share\n", "hops", label);
    for (uint32_t d = 0; d < length; d += step) {
        uint32_t end = d + step < length ? d + step : length;
        uint64_t once = 0;
        for (uint32_t i = d; i < end; i++)
            once += pairs[i] / 2;
        if (!once)
            continue;
        char range[32];
        if (step == 1)
            snprintf(range, sizeof range, "%u", d + cables);
        else
            snprintf(range, sizeof range, "%u-%u", d + cables, end - 1 + cables);
        text_printf(out, "  %9s %20llu %6.2f %%\n", range, (unsigned long long)once,
                    100 * (double)once / (double)all);
    }
}

static void bisection_text(struct text *out, const struct bisection *bisection)
{
    line(out, "bisection");
    if (bisection->lower < bisection->upper)
        text_printf(out, "%llu to ", (unsigned long long)bisection->lower);
    text_count(out, bisection->upper, "cable", "cables");
    text_puts(out, "\n");
    text_printf(out, "  %-22slower bound: %s; best cut: %s\n", "", bisection->lower_method,
                bisection->upper_method);
    if (!isnan(bisection->almost_surely))
        text_printf(out, "  %-22salmost no random regular graph has fewer than %.1f\n", "",
                    bisection->almost_surely);
}

/* What a planner wants to know of it: how many may fail without harm. */
static void connectivity_text(struct text *out, const char *label, uint32_t nodes,
                              uint32_t connectivity, const char *one, const char *many)
{
    line(out, label);
    text_printf(out, "%u", connectivity);
    if (connectivity > 1) {
        text_puts(out, ": any ");
        text_count(out, connectivity - 1, one, many);
        text_puts(out, " may fail and the rest stays connected");
    } else if (connectivity == 1 && nodes > 2) {
        text_printf(out, ": the loss of one %s can part the network", one);
    }
    text_puts(out, "\n");
}

static void extras_text(struct text *out, const struct measurement *found)
{
    char from[NODE_NAME_SIZE], to[NODE_NAME_SIZE];
    uint32_t nodes = found->topology->graph.node_count;
    if (found->has_bisection)
        bisection_text(out, &found->bisection);
    if (found->has_connectivity) {
        connectivity_text(out, "edge connectivity", nodes, found->edge_connectivity, "link",
                          "links");
        connectivity_text(out, "vertex connectivity", nodes, found->vertex_connectivity, "node",
                          "nodes");
    }
    if (!found->has_paths)
        return;
    line(out, "shortest paths");
    text_wide(out, found->paths.count);
    text_printf(out, "%s from %s to %s", found->paths.saturated ? " or more" : "",
                topology_name(found->topology, found->path_from, from),
                topology_name(found->topology, found->path_to, to));
    if (found->paths.connected)
        text_printf(out, ", of %u hops", found->paths.distance);
    text_puts(out, "\n");
}

static void not_measured_text(struct text *out, const struct measurement *found)
{
    const char *separator = "\nnot measured: ";
    if (!found->has_bisection) {
        text_printf(out, "%sbisection (--bisection)", separator);
        separator = ", ";
    }
    if (!found->has_connectivity) {
        text_printf(out, "%sconnectivity (--connectivity)", separator);
        separator = ", ";
    }
    if (!found->has_paths) {
        text_printf(out, "%sshortest paths between two nodes (--paths A,B)", separator);
        separator = ", ";
    }
    if (!has_throughput(found)) {
        text_printf(out, "%sthroughput (--throughput T)", separator);
        separator = ", ";
    }
    if (*separator == ',')
        text_puts(out, "\n");
}

void measure_report_text(struct text *out, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct distance_tally *tally = &found->tally;
    sizes_text(out, found);
    distances_text(out, found);
    extras_text(out, found);
    if (found->throughput.plan.mode != THROUGHPUT_NONE)
        throughput_report_text(out, &found->throughput, topology);
    histogram_text(out, "pairs of nodes", tally->nodes, tally->length, 0,
                   pairs_of(topology->graph.node_count));
    if (!topology->direct)
        histogram_text(out, "pairs of servers", tally->servers, tally->length, server_cables(found),
                       pairs_of(topology->server_count));
    not_measured_text(out, found);
}
