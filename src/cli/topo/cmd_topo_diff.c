/* weft topo diff */
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/load.h"
#include "cli/topo/steps.h"
#include "topology/change/difference.h"

/* Both topologies, what differs, and names for its nodes. */
struct comparison {
    struct topology before, after;
    struct difference difference;
    struct steps_names names;
    uint8_t *added, *removed; /* one byte per node of the difference */
};

/* Servers at a node before and after; false if they are as many. */
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

static void comparison_print(struct text *out, const struct comparison *comparison)
{
    const struct difference *difference = &comparison->difference;
    const struct rewire_plan *plan = &difference->plan;
    const struct topology *before = &comparison->before, *after = &comparison->after;
    char name[NODE_NAME_SIZE];
    text_printf(out, "%u of ", plan->unplug_count);
    text_count(out, before->graph.link_count, "cable", "cables");
    text_printf(out, " to unplug, %u to plug\n", plan->plug_count);
    steps_print_verdict(out, plan);
    if (difference->parts_before > 1)
        text_printf(out, "apart: the first network is in %u pieces\n", difference->parts_before);
    if (difference->parts_after > 1)
        text_printf(out, "apart: the second network is in %u pieces\n", difference->parts_after);
    if (difference->added_count) {
        text_puts(out, "added: ");
        steps_print_nodes(out, &comparison->names, comparison->added, difference->node_count);
        text_puts(out, "\n");
    }
    if (difference->removed_count) {
        text_puts(out, "removed: ");
        steps_print_nodes(out, &comparison->names, comparison->removed, difference->node_count);
        text_puts(out, "\n");
    }
    if (before->server_count != after->server_count)
        text_printf(out, "servers: %u before, %u after\n", before->server_count,
                    after->server_count);
    for (uint32_t v = 0; !before->direct && v < difference->node_count; v++) {
        uint32_t from, to;
        if (servers_differ(comparison, v, &from, &to))
            text_printf(out, "servers at %s: %u before, %u after\n",
                        steps_name(&comparison->names, v, name), from, to);
    }
    steps_print(out, plan, &comparison->names);
}

static void nodes_json(struct json *json, const char *key, const struct comparison *comparison,
                       const uint8_t *flags)
{
    json_key(json, key);
    json_array(json);
    for (uint32_t v = 0; v < comparison->difference.node_count; v++)
        if (flags[v])
            steps_json_node(json, &comparison->names, v);
    json_end(json, ']');
}

static void comparison_json(struct text *out, const struct comparison *comparison)
{
    const struct difference *difference = &comparison->difference;
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_uint(&json, "servers_before", comparison->before.server_count);
    json_put_uint(&json, "servers_after", comparison->after.server_count);
    json_put_uint(&json, "pieces_before", difference->parts_before);
    json_put_uint(&json, "pieces_after", difference->parts_after);
    nodes_json(&json, "added", comparison, comparison->added);
    nodes_json(&json, "removed", comparison, comparison->removed);
    json_key(&json, "server_moves");
    json_array(&json);
    for (uint32_t v = 0; v < difference->node_count; v++) {
        uint32_t from, to;
        if (!servers_differ(comparison, v, &from, &to))
            continue;
        json_object(&json);
        json_key(&json, "node");
        steps_json_node(&json, &comparison->names, v);
        json_put_uint(&json, "before", from);
        json_put_uint(&json, "after", to);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    steps_json(&json, &difference->plan, &comparison->names);
    json_end(&json, '}');
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
    if (!err && call->json)
        comparison_json(&call->out, &comparison);
    else if (!err)
        comparison_print(&call->out, &comparison);
    comparison_fini(&comparison);
    return err;
}

const struct command command_topo_diff = {
    .name = "topo diff",
    .arguments = "SPEC|FILE SPEC|FILE",
    .summary = "the steps from one network to another",
    .description =
        "Compares two networks on the same servers and prints which cables to unplug and plug "
        "to turn the first into the second. Nodes are the same if they have the same name, or "
        "number if they have none; the others are added or removed. Cables are compared by the "
        "nodes they join, not by ports: the ports printed, as node:port, are those that are "
        "used or free at that moment.\n\n"
        "The steps are in an order in which the network is connected after every one: a new "
        "cable is plugged as soon as it has ports, and a cable is unplugged when others make up "
        "for it. Where every cable is needed, as between trees, a step takes several actions at "
        "once: the further ones are marked with a plus. A new node counts from its first cable, "
        "one to be removed until its last. If one of the networks is in pieces itself, the "
        "steps that show it are marked: apart.\n\n"
        "The exit code is 0 whether or not there are differences.",
    .examples = "  weft topo diff torus:8x8 novacube:8x8\n"
                "  weft topo diff before.json after.json --json",
    .run = diff_run,
};
