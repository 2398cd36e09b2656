/* weft topo diff */
#include <stdlib.h>

#include "base/array.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/topo/steps.h"
#include "topology/change/difference.h"

/* Both topologies, their difference, and names for its nodes. */
struct comparison {
    struct topology before, after;
    struct difference difference;
    struct steps_names names;
    uint8_t *added, *removed; /* one byte per node of the difference */
};

/* Finds the servers at a node before and after. Returns false if the numbers are equal. */
static bool servers_differ(const struct comparison *comparison, uint32_t node, uint32_t *before,
                           uint32_t *after)
{
    const struct difference *difference = &comparison->difference;
    *before = node < difference->before_count ? comparison->before.sites[node].servers : 0;
    *after = difference->after[node] == NODE_NONE
                 ? 0
                 : comparison->after.sites[difference->after[node]].servers;
    return *before != *after;
}

static const char diff_page[] =
    "{unplug} of {cables|cable|cables} to unplug, {plug} to plug\n" STEPS_VERDICT_PAGE
    "{?torn_before}apart: the first network is in {pieces_before} pieces\n{/}"
    "{?torn_after}apart: the second network is in {pieces_after} pieces\n{/}"
    "{?added}added: {added_text}\n{/}"
    "{?removed}removed: {removed_text}\n{/}"
    "{?servers_change}servers: {servers_before} before, {servers_after} after\n{/}"
    "{?direct}{:}{#server_moves}servers at {node}: {before} before, {after} "
    "after\n{/}{/}" STEPS_PAGE;

static void nodes_put(struct result *result, const char *key, const char *words_key,
                      const struct comparison *comparison, const uint8_t *flags)
{
    uint32_t count = comparison->difference.node_count;
    result_array(result, key);
    for (uint32_t v = 0; v < count; v++)
        if (flags[v])
            steps_put_node(result, NULL, &comparison->names, v);
    result_end(result);
    steps_print_nodes(result_words(result_hide(result), words_key), &comparison->names, flags,
                      count);
}

static void comparison_put(struct result *result, const struct comparison *comparison)
{
    const struct difference *difference = &comparison->difference;
    const struct topology *before = &comparison->before, *after = &comparison->after;
    result_uint(result_hide(result), "cables", before->graph.link_count);
    result_bool(result_hide(result), "direct", before->direct);
    result_bool(result_hide(result), "torn_before", difference->parts_before > 1);
    result_bool(result_hide(result), "torn_after", difference->parts_after > 1);
    result_bool(result_hide(result), "servers_change", before->server_count != after->server_count);
    result_uint(result, "servers_before", before->server_count);
    result_uint(result, "servers_after", after->server_count);
    result_uint(result, "pieces_before", difference->parts_before);
    result_uint(result, "pieces_after", difference->parts_after);
    nodes_put(result, "added", "added_text", comparison, comparison->added);
    nodes_put(result, "removed", "removed_text", comparison, comparison->removed);
    result_array(result, "server_moves");
    for (uint32_t v = 0; v < difference->node_count; v++) {
        uint32_t from, to;
        if (!servers_differ(comparison, v, &from, &to))
            continue;
        result_object(result, NULL);
        steps_put_node(result, "node", &comparison->names, v);
        result_uint(result, "before", from);
        result_uint(result, "after", to);
        result_end(result);
    }
    result_end(result);
    steps_put(result, &difference->plan, &comparison->names);
}

static void comparison_fini(struct comparison *comparison)
{
    topology_fini(&comparison->before);
    topology_fini(&comparison->after);
    difference_fini(&comparison->difference);
    free(comparison->added);
    free(comparison->removed);
}

static enum err comparison_make(struct comparison *comparison, const char *before,
                                const char *after, struct why *why)
{
    struct why reason = {""};
    struct difference *difference = &comparison->difference;
    enum err err = load_topology(&comparison->before, before, why);
    if (!err)
        err = load_topology(&comparison->after, after, why);
    if (err)
        return err;
    err = difference_make(difference, &comparison->before, &comparison->after, &reason);
    if (err)
        return why_fail(why, err, "%s and %s: %s", before, after, reason.text);
    comparison->names =
        (struct steps_names){&comparison->before, &comparison->after, difference->after};
    comparison->added = array_new(difference->node_count, 1);
    comparison->removed = array_new(difference->node_count, 1);
    if (!comparison->added || !comparison->removed)
        return why_memory(why);
    for (uint32_t v = 0; v < difference->node_count; v++) {
        comparison->added[v] = v >= difference->before_count;
        comparison->removed[v] = difference->after[v] == NODE_NONE;
    }
    return OK;
}

static enum err diff_run(struct call *call, struct why *why)
{
    struct comparison comparison = {0};
    enum err err = comparison_make(&comparison, call->arguments[0], call->arguments[1], why);
    if (!err)
        comparison_put(call_result(call, diff_page), &comparison);
    comparison_fini(&comparison);
    return err;
}

const struct command command_topo_diff = {
    .name = "topo diff",
    .arguments = "SPEC|FILE SPEC|FILE",
    .summary = "print the steps from one network to another",
    .description =
        "Compares two networks and prints which cables to unplug and to plug to turn the first "
        "into the second. Two nodes are the same if they have the same name, or the same number "
        "if they have no names; other nodes are added or removed. Cables are compared by the "
        "nodes that they connect, not by ports: the printed ports (node:port) are ports that are "
        "in use or free at that step.\n\n"
        "The order of the steps keeps the network connected after every step: a new cable is "
        "plugged as soon as its ports are free, and a cable is unplugged once other cables "
        "replace it. If every cable is needed, as between two trees, a step consists of several "
        "actions at once; the second and further ones are marked with a plus. An added node is "
        "part of the network from its first cable on, a removed node until its last cable is "
        "unplugged. If one of the two networks is itself not connected, the steps after which the "
        "network is in pieces are marked with \"apart\".\n\n"
        "The exit code is 0, with or without differences.",
    .examples = "  weft topo diff torus:8x8 novacube:8x8\n"
                "  weft topo diff before.json after.json --json",
    .run = diff_run,
};
