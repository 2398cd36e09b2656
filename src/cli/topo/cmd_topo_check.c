/* weft topo check: compares reported cables with the plan. */
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "topology/cabling/inspection.h"
#include "topology/cabling/neighbour_report.h"
#include "topology/cabling/port_label.h"
#include "topology/cabling/repair.h"

/* The plan, the reports, and what follows from them. */
struct findings {
    struct topology plan;
    struct neighbour_reports reports;
    struct inspection inspection;
    struct repair repair;
};

static struct plug cable_plug(const struct link *cable, bool b)
{
    return b ? (struct plug){cable->b, cable->b_port} : (struct plug){cable->a, cable->a_port};
}

/* "name:port" */
static void plug_text(struct text *out, const struct findings *findings, struct plug plug)
{
    char node[NODE_NAME_SIZE], port[PORT_LABEL_SIZE];
    text_printf(out, "%s:%s", topology_name(&findings->plan, plug.node, node),
                port_label(&findings->plan, plug.port, port));
}

static const char check_page[] =
    "{planned|cable|cables} planned, {found} found, {right} right; "
    "ports are {?ports}{:}not {/}compared\n"
    "{?ok}the wiring matches the plan\n{/}"
    "{#miswired}"
    "{?swap}swapped   cables {cable.text} and {partner.text}: exchange their ends at "
    "{goes_to.text} "
    "and {partner_goes_to.text}\n{/}"
    "{?alone}miswired  cable {cable.text} should go to {should_go_to.text}, goes to "
    "{goes_to.text}\n"
    "{/}{/}"
    "{#missing}missing   {a.text} - {b.text}\n{/}"
    "{#surplus}surplus   {a.text} - {b.text}\n{/}"
    "{#contradictions}contradiction  {#.|; }line {line}: {end.text} sees {sees.text}{/}\n{/}"
    "{?contradictions}contradicting reports were ignored: check these cables first\n{/}"
    "{?repair}\nsmallest repair, {moves|move|moves}:\n{/}"
    "{#repair}{number%4u}. {words}\n{/}";

static void plug_put(struct result *result, const struct findings *findings, const char *key,
                     struct plug plug)
{
    char buffer[NODE_NAME_SIZE], label[PORT_LABEL_SIZE];
    result_object(result, key);
    result_string(result, "node", topology_name(&findings->plan, plug.node, buffer));
    result_uint(result, "port", plug.port);
    if (port_label_directed(&findings->plan))
        result_string(result, "label", port_label(&findings->plan, plug.port, label));
    plug_text(result_words(result_hide(result), "text"), findings, plug);
    result_end(result);
}

static void cable_put(struct result *result, const struct findings *findings,
                      const struct link *cable)
{
    result_object(result, NULL);
    plug_put(result, findings, "a", cable_plug(cable, false));
    plug_put(result, findings, "b", cable_plug(cable, true));
    result_end(result);
}

/* The page shows two swapped cables once, with the first of them. */
static void misplaced_put(struct result *result, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    result_array(result, "miswired");
    for (uint32_t i = 0; i < seen->misplaced_count; i++) {
        const struct misplacement *misplaced = &seen->misplaced[i];
        const struct link *found = &seen->found[misplaced->found];
        bool swapped = misplaced->swap != FINDING_NONE;
        result_object(result, NULL);
        result_uint(result, "link", misplaced->link);
        plug_put(result, findings, "cable", cable_plug(found, misplaced->found_b));
        plug_put(result, findings, "should_go_to",
                 cable_plug(&findings->plan.graph.links[misplaced->link], !misplaced->link_b));
        plug_put(result, findings, "goes_to", cable_plug(found, !misplaced->found_b));
        result_uint_if(result, "swapped_with", swapped, misplaced->swap);
        result_bool(result_hide(result), "alone", !swapped);
        result_bool(result_hide(result), "swap", swapped && misplaced->swap > i);
        if (swapped) {
            const struct misplacement *other = &seen->misplaced[misplaced->swap];
            const struct link *partner = &seen->found[other->found];
            plug_put(result_hide(result), findings, "partner", cable_plug(partner, other->found_b));
            plug_put(result_hide(result), findings, "partner_goes_to",
                     cable_plug(partner, !other->found_b));
        }
        result_end(result);
    }
    result_end(result);
}

static void contradictions_put(struct result *result, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    result_array(result, "contradictions");
    for (uint32_t i = 0; i < seen->contradiction_count; i++) {
        const struct neighbour_report *both[] = {&seen->contradictions[i].claim,
                                                 &seen->contradictions[i].other};
        result_array(result, NULL);
        for (int j = 0; j < 2; j++) {
            result_object(result, NULL);
            result_uint(result, "line", both[j]->line);
            plug_put(result, findings, "end", (struct plug){both[j]->node, both[j]->port});
            plug_put(result, findings, "sees",
                     (struct plug){both[j]->neighbour, both[j]->neighbour_port});
            result_end(result);
        }
        result_end(result);
    }
    result_end(result);
}

static void action_text(struct text *out, const struct findings *findings,
                        const struct repair_action *action)
{
    static const char *const words[][3] = {
        [REPAIR_REMOVE] = {"remove the cable ", " - ", ""},
        [REPAIR_UNPLUG] = {"pull the plug at ", NULL, " and keep it for a later step"},
        [REPAIR_MOVE] = {"move the plug at ", " to ", ""},
        [REPAIR_PLUG] = {"put the plug from ", " into ", ""},
        [REPAIR_ADD] = {"lay a new cable ", " - ", ""},
    };
    const char *const *word = words[action->kind];
    text_puts(out, word[0]);
    plug_text(out, findings, action->from);
    if (word[1]) {
        text_puts(out, word[1]);
        plug_text(out, findings, action->to);
    }
    text_puts(out, word[2]);
}

static void repair_put(struct result *result, const struct findings *findings)
{
    const struct repair *repair = &findings->repair;
    result_array(result, "repair");
    for (uint32_t i = 0; i < repair->action_count; i++) {
        const struct repair_action *action = &repair->actions[i];
        result_object(result, NULL);
        result_string(result, "action", repair_kind_name(action->kind));
        plug_put(result, findings, "from", action->from);
        if (action->kind != REPAIR_UNPLUG)
            plug_put(result, findings, "to", action->to);
        result_uint(result_hide(result), "number", i + 1);
        action_text(result_words(result_hide(result), "words"), findings, action);
        result_end(result);
    }
    result_end(result);
    result_uint(result, "moves", repair->moves);
}

static void findings_put(struct result *result, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    result_bool(result, "ok", inspection_ok(seen));
    result_bool(result, "ports", seen->ports);
    result_uint(result, "planned", findings->plan.graph.link_count);
    result_uint(result, "found", seen->found_count);
    result_uint(result, "right", seen->right_count);
    misplaced_put(result, findings);
    result_array(result, "missing");
    for (uint32_t i = 0; i < seen->missing_count; i++)
        cable_put(result, findings, &findings->plan.graph.links[seen->missing[i]]);
    result_end(result);
    result_array(result, "surplus");
    for (uint32_t i = 0; i < seen->surplus_count; i++)
        cable_put(result, findings, &seen->found[seen->surplus[i]]);
    result_end(result);
    contradictions_put(result, findings);
    repair_put(result, findings);
}

static enum err reports_load(struct findings *findings, const char *path, struct why *why)
{
    char *data;
    size_t size;
    enum err err = file_read(path, &data, &size, why);
    if (err)
        return err;
    const char *name = path[0] == '-' && !path[1] ? "standard input" : path;
    err = neighbour_reports_read(&findings->reports, &findings->plan, data, size, name, why);
    free(data);
    return err;
}

static enum err plan_check(struct call *call, struct findings *findings, struct why *why)
{
    bool ports = call_has(call, "ports") ||
                 (!call_has(call, "no-ports") && port_label_directed(&findings->plan));
    enum err err = reports_load(findings, call->arguments[1], why);
    if (err)
        return err;
    err = inspection_make(&findings->inspection, &findings->plan, &findings->reports, ports, why);
    if (err)
        goto free_reports;
    err = repair_make(&findings->repair, &findings->inspection, &findings->plan.graph, why);
    if (err)
        goto free_inspection;
    findings_put(call_result(call, check_page), findings);
    call->no = !inspection_ok(&findings->inspection);
    repair_fini(&findings->repair);
free_inspection:
    inspection_fini(&findings->inspection);
free_reports:
    neighbour_reports_fini(&findings->reports);
    return err;
}

static enum err check_run(struct call *call, struct why *why)
{
    struct findings findings;
    if (call_has(call, "ports") && call_has(call, "no-ports"))
        return why_fail(why, ERR_USAGE, "topo check: --ports and --no-ports cannot be combined");
    enum err err = load_topology(&findings.plan, call->arguments[0], why);
    if (err)
        return err;
    err = plan_check(call, &findings, why);
    topology_fini(&findings.plan);
    return err;
}

static const struct option check_options[] = {
    {"ports", NULL, "a cable must also be in the right ports (default for torus and NovaCube)"},
    {"no-ports", NULL,
     "ports do not matter, only the nodes that a cable connects (default otherwise)"},
    {0},
};

const struct command command_topo_check = {
    .name = "topo check",
    .arguments = "PLAN OBSERVED",
    .summary = "find miswired cables, and the smallest repair",
    .description =
        "Compares the cables that the nodes report with the plan. PLAN is a topology or a "
        "topology file. OBSERVED is a file of neighbour reports, as a discovery protocol "
        "delivers them (- is standard input): lines of CSV,\n\n"
        "  node,port,neighbour,port\n\n"
        "with an optional header line and comments after #, or a JSON array of objects with the "
        "keys node, port, neighbour and neighbour_port. Nodes are given by their names in the "
        "plan or by their numbers; ports by their numbers from 0, on a torus or NovaCube also as "
        "+x, -x, +y, ..., jump. A cable may be reported from one end or from both.\n\n"
        "Prints each miswired cable (one end is in the right place, the other is not), pairs of "
        "swapped cables, missing and surplus cables, and reports that contradict each other. "
        "Then it prints the repair with the fewest moves, in an order in which every port is "
        "empty before its plug is inserted. Moving one end counts as 1 move, laying a new cable "
        "as 2, removing a cable as 1.\n\n"
        "The exit code is 0 if the wiring matches the plan, 1 if it does not.",
    .options = check_options,
    .examples = "  weft topo check torus:3x3x3 neighbours.csv\n"
                "  weft topo check plan.json - --json < neighbours.csv",
    .run = check_run,
};
