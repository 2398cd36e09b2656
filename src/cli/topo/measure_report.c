/* measure_report: counts each pair once, although the tally has both directions.
 * Shares are shares of all pairs, including those without a path. */
#include "cli/topo/measure_report.h"

#include <math.h>

#include "cli/topo/throughput_report.h"

#define HISTOGRAM_ROWS 40u /* fit a terminal */

/* The keys of values that are measured only on request. */
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

/* Returns the cables at both ends of a path that are not hops of the graph. */
static uint32_t server_cables(const struct measurement *found)
{
    return found->topology->direct ? 0 : 2;
}

#define CONNECTIVITY_PAGE(title, which, one, many)                                                 \
    title "{" which "_connectivity}{?" which "_spare}: any {" which "_spare|" one "|" many         \
          "} may fail and the rest stays connected{/}{?" which "_single}: the loss of one " one    \
          " can part the network{/}\n"

#define HISTOGRAM_PAGE(title, rows)                                                                \
    "{?" rows "}\n       hops " title "   share\n{#" rows                                          \
    "}  {range%9s} {pairs%20u} {percent%6.2f} %\n{/}{/}"

/* The indent of a line that continues the one before. */
#define BELOW "                        "

static const char measure_page[] =
    "{topology}\n"
    "{?failed}  failed                {links_lost} links, {nodes_lost} nodes (shares "
    "{fail_links%g} "
    "and {fail_nodes%g}, seed {seed})\n{/}"
    "  servers               {servers}"
    "{?direct}{?alone}, alone{:}, which forward for each other{/}{/}\n"
    "{?direct}{:}  switches              {switches}\n{/}"
    "  links                 {links}\n"
    "{?nodes}  degree                {degree_min}"
    "{?irregular} to {degree_max}, mean {degree_mean%.4g}{/}\n{/}"
    "  connected             {?connected}yes{:}NO: {components} parts; {pairs_apart} of {pairs} "
    "pairs "
    "of nodes have no path, figures below leave them out{/}\n"
    "{?mean_path}  {?direct}hops          {:}hops, switches{/}        {diameter} at most, "
    "{mean_path%.6g} on average\n{/}"
    "{?server_pairs}{?server_mean_path}  hops, servers         {server_diameter} at most, "
    "{server_mean_path%.6g} on average\n{/}{/}"
    "{?bisection_upper_method}  bisection             {?bracket}{bisection_lower} to {/}"
    "{bisection_upper|cable|cables}\n" BELOW
    "lower bound: {bisection_lower_method}; best cut: {bisection_upper_method}\n"
    "{?bisection_almost_surely}" BELOW
    "almost no random regular graph has fewer than {bisection_almost_surely%.1f}\n{/}{/}"
    "{?has_connectivity}" CONNECTIVITY_PAGE("  edge connectivity     ", "edge", "link", "links")
        CONNECTIVITY_PAGE(
            "  vertex connectivity   ", "vertex", "node",
            "nodes") "{/}"
                     "{?shortest_paths}  shortest paths        {shortest_paths.count}"
                     "{?shortest_paths.saturated} or more{/} from {shortest_paths.from} to "
                     "{shortest_paths.to}"
                     "{?shortest_paths.joined}, of {shortest_paths.distance} hops{/}\n{/}"
                     "{?traffic}  throughput            {?bound}at most "
                     "{/}{throughput_text}{unit}\n" BELOW
                     "({about}; {?bound}a bound by path lengths, no flow{:}gap {gap*100%.2g} %"
                     "{?phases} in {phases|phase|phases}{/}"
                     "{?gap_missed}, not the {gap_wanted*100%g} % asked for{/}{/})\n"
                     "{?server_rate_text}  server rate           {server_rate_text}\n{/}"
                     "{?verified}  verified              both sides, {?flow}from {flow}{:}by "
                     "separate code{/}\n"
                     "{:}{?flow}  flow                  {flow}\n{/}{/}{/}"
                     "{?capacity_steps}  full capacity         "
                     "{full_capacity_servers|server|servers} on {nodes} "
                     "switches{?confirmed}, confirmed on {permutations} permutations{/}\n"
                     "{?refuted}" BELOW "the search found {servers_before_confirmation}, which a "
                     "further permutation refuted\n{/}"
                     "{?undecided}" BELOW "{undecided|step was|steps were} not decided within the "
                     "gap and taken as no\n{/}"
                     "\n    servers permutation      lower      upper  phases   full rate\n"
                     "{#steps}  {servers%9u} {permutation%11u} {?solved}{lower%10.6f} "
                     "{upper%10.6f} {phases%7u}"
                     "{:}         -          -       -{/}   {verdict}\n{/}{/}" HISTOGRAM_PAGE(
                         "      pairs of nodes", "node_rows")
                         HISTOGRAM_PAGE("    pairs of servers",
                                        "server_rows") "{?not_asked}\nnot measured: {#not_asked|, "
                                                       "}{.}{/}\n{/}";

static void histogram_put(struct result *result, const char *key, const uint64_t *pairs,
                          uint32_t length, uint32_t cables, uint64_t all)
{
    result_array(result, key);
    for (uint32_t d = 0; d < length; d++) {
        if (pairs[d] == 0)
            continue;
        uint64_t once = pairs[d] / 2; /* the tally counts both directions */
        result_object(result, NULL);
        result_uint(result, "hops", d + cables);
        result_uint(result, "pairs", once);
        result_number(result, "share", (double)once / (double)all);
        result_end(result);
    }
    result_end(result);
}

/* Adds rows for the page: one for each distance, or, if they would fill more than a screen, one
 * for each range of distances. */
static void rows_put(struct result *result, const char *key, const uint64_t *pairs, uint32_t length,
                     uint32_t cables, uint64_t all)
{
    uint32_t step = (length + HISTOGRAM_ROWS - 1) / HISTOGRAM_ROWS;
    result_array(result_hide(result), key);
    for (uint32_t d = 0; d < length; d += step) {
        uint32_t end = d + step < length ? d + step : length;
        uint64_t once = 0;
        for (uint32_t i = d; i < end; i++)
            once += pairs[i] / 2;
        if (!once)
            continue;
        result_object(result, NULL);
        struct text *range = result_words(result, "range");
        text_printf(range, "%u", d + cables);
        if (step > 1)
            text_printf(range, "-%u", end - 1 + cables);
        result_uint(result, "pairs", once);
        result_number(result, "percent", 100 * (double)once / (double)all);
        result_end(result);
    }
    result_end(result);
}

static void sizes_put(struct result *result, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct graph *graph = &topology->graph;
    bool nodes = graph->node_count > 0;
    bool failed = found->link_share > 0 || found->node_share > 0;
    result_string(result, "topology", found->name);
    result_string(result, "kind", topology_kind_name(topology->kind));
    result_bool(result, "direct", topology->direct);
    result_bool(result_hide(result), "alone", topology->server_count == 1);
    result_bool(result_hide(result), "failed", failed);
    if (failed) {
        result_number(result, "fail_links", found->link_share);
        result_number(result, "fail_nodes", found->node_share);
        result_uint(result, "links_lost", found->links_lost);
        result_uint(result, "nodes_lost", found->nodes_lost);
        result_uint(result, "seed", found->seed);
    }
    result_uint(result, "servers", topology->server_count);
    result_uint(result, "switches", topology_switch_count(topology));
    result_uint(result, "nodes", graph->node_count);
    result_uint(result, "links", graph->link_count);
    result_uint_if(result, "degree_min", nodes, found->degree_min);
    result_uint_if(result, "degree_max", nodes, found->degree_max);
    result_number(result, "degree_mean",
                  nodes ? 2.0 * graph->link_count / graph->node_count : (double)NAN);
    result_bool(result_hide(result), "irregular", found->degree_min != found->degree_max);
}

static void distances_put(struct result *result, const struct measurement *found)
{
    const struct topology *topology = found->topology;
    const struct distance_tally *tally = &found->tally;
    uint64_t pairs = pairs_of(topology->graph.node_count);
    uint64_t server_pairs = pairs_of(topology->server_count);
    uint32_t cables = server_cables(found);
    result_bool(result, "connected", found->components <= 1);
    result_uint(result, "components", found->components);
    result_uint(result_hide(result), "pairs", pairs);
    result_uint(result, "pairs_apart", tally->nodes_apart / 2);
    result_uint(result, "server_pairs_apart", tally->servers_apart / 2);
    result_uint_if(result, "diameter", topology->graph.node_count, distance_diameter(tally));
    result_number(result, "mean_path", distance_mean(tally));
    result_uint_if(result, "server_diameter", topology->server_count,
                   distance_server_diameter(tally, topology));
    result_number(result, "server_mean_path", distance_server_mean(tally, topology));
    histogram_put(result, "histogram", tally->nodes, tally->length, 0, pairs);
    histogram_put(result, "server_histogram", tally->servers, tally->length, cables, server_pairs);
    /* If the nodes are the servers, one table suffices. */
    result_uint(result_hide(result), "server_pairs", topology->direct ? 0 : server_pairs);
    rows_put(result, "node_rows", tally->nodes, tally->length, 0, pairs);
    rows_put(result, "server_rows", tally->servers, topology->direct ? 0 : tally->length, cables,
             server_pairs);
}

static void paths_put(struct result *result, const struct measurement *found)
{
    char name[NODE_NAME_SIZE];
    result_object(result, "shortest_paths");
    result_string(result, "from", topology_name(found->topology, found->path_from, name));
    result_string(result, "to", topology_name(found->topology, found->path_to, name));
    result_uint_if(result, "distance", found->paths.connected, found->paths.distance);
    result_bool(result_hide(result), "joined", found->paths.connected);
    result_wide(result, "count", found->paths.count);
    result_bool(result, "saturated", found->paths.saturated);
    result_end(result);
}

static void bisection_put(struct result *result, const struct bisection *bisection)
{
    result_uint(result, "bisection_lower", bisection->lower);
    result_string(result, "bisection_lower_method", bisection->lower_method);
    result_uint(result, "bisection_upper", bisection->upper);
    result_string(result, "bisection_upper_method", bisection->upper_method);
    result_number(result, "bisection_almost_surely", bisection->almost_surely);
    result_bool(result_hide(result), "bracket", bisection->lower < bisection->upper);
}

static void connectivity_put(struct result *result, const struct measurement *found)
{
    uint32_t edge = found->edge_connectivity, vertex = found->vertex_connectivity;
    bool several = found->topology->graph.node_count > 2;
    result_bool(result_hide(result), "has_connectivity", true);
    result_uint(result, "edge_connectivity", edge);
    result_uint(result, "vertex_connectivity", vertex);
    /* For the page: how many may fail without splitting the network. */
    result_uint(result_hide(result), "edge_spare", edge > 1 ? edge - 1 : 0);
    result_bool(result_hide(result), "edge_single", edge == 1 && several);
    result_uint(result_hide(result), "vertex_spare", vertex > 1 ? vertex - 1 : 0);
    result_bool(result_hide(result), "vertex_single", vertex == 1 && several);
}

/* A group of values that is measured only on request: its keys, and the text with which the page
 * names it if it was not measured, or NULL. */
struct extra {
    bool measured;
    const char *const *keys;
    const char *option;
};

static void not_measured_put(struct result *result, const struct extra *extras, size_t count)
{
    result_array(result, "not_measured");
    for (size_t i = 0; i < count; i++)
        for (const char *const *key = extras[i].keys; !extras[i].measured && *key; key++)
            result_string(result, NULL, *key);
    result_end(result);
    result_array(result_hide(result), "not_asked");
    for (size_t i = 0; i < count; i++)
        if (!extras[i].measured && extras[i].option)
            result_string(result, NULL, extras[i].option);
    result_end(result);
}

static void nulls_put(struct result *result, const struct extra *extra)
{
    for (const char *const *key = extra->keys; !extra->measured && *key; key++)
        result_null(result, *key);
}

static bool has_capacity(const struct measurement *found)
{
    return found->throughput.plan.mode == THROUGHPUT_CAPACITY;
}

static bool has_throughput(const struct measurement *found)
{
    return found->throughput.plan.mode != THROUGHPUT_NONE && !has_capacity(found);
}

static void extras_put(struct result *result, const struct measurement *found)
{
    const struct extra extras[] = {
        {found->has_bisection, bisection_keys, "bisection (--bisection)"},
        {found->has_connectivity, connectivity_keys, "connectivity (--connectivity)"},
        {found->has_paths, paths_keys, "shortest paths between two nodes (--paths A,B)"},
        {has_throughput(found), throughput_keys, "throughput (--throughput T)"},
        {has_capacity(found), capacity_keys, NULL},
    };
    const size_t count = sizeof extras / sizeof extras[0];
    if (found->has_bisection)
        bisection_put(result, &found->bisection);
    nulls_put(result, &extras[0]);
    if (found->has_connectivity)
        connectivity_put(result, found);
    nulls_put(result, &extras[1]);
    if (found->has_paths)
        paths_put(result, found);
    for (size_t i = 2; i < count; i++)
        nulls_put(result, &extras[i]);
    if (found->throughput.plan.mode != THROUGHPUT_NONE)
        throughput_report(result, &found->throughput, found->topology);
    not_measured_put(result, extras, count);
}

void measure_report(struct call *call, const struct measurement *found)
{
    struct result *result = call_result(call, measure_page);
    sizes_put(result, found);
    distances_put(result, found);
    extras_put(result, found);
}
