/* weft topo check: what the ports see against what the plan says. */
#include <stdlib.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/load.h"
#include "topology/cabling/inspection.h"
#include "topology/cabling/neighbour_report.h"
#include "topology/cabling/port_label.h"
#include "topology/cabling/repair.h"

/* Everything a result is printed from. */
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

static void cable_text(struct text *out, const struct findings *findings, const char *before,
                       const struct link *cable)
{
    text_puts(out, before);
    plug_text(out, findings, cable_plug(cable, false));
    text_puts(out, " - ");
    plug_text(out, findings, cable_plug(cable, true));
}

static void misplacement_text(struct text *out, const struct findings *findings, uint32_t index)
{
    const struct inspection *seen = &findings->inspection;
    const struct misplacement *misplaced = &seen->misplaced[index];
    const struct link *planned = &findings->plan.graph.links[misplaced->link];
    const struct link *found = &seen->found[misplaced->found];
    if (misplaced->swap != FINDING_NONE && misplaced->swap < index)
        return; /* told with its partner */
    if (misplaced->swap != FINDING_NONE) {
        text_puts(out, "swapped   cables ");
        plug_text(out, findings, cable_plug(found, misplaced->found_b));
        text_puts(out, " and ");
        const struct misplacement *other = &seen->misplaced[misplaced->swap];
        const struct link *other_found = &seen->found[other->found];
        plug_text(out, findings, cable_plug(other_found, other->found_b));
        text_puts(out, ": exchange their ends at ");
        plug_text(out, findings, cable_plug(found, !misplaced->found_b));
        text_puts(out, " and ");
        plug_text(out, findings, cable_plug(other_found, !other->found_b));
        text_puts(out, "\n");
        return;
    }
    text_puts(out, "miswired  cable ");
    plug_text(out, findings, cable_plug(found, misplaced->found_b));
    text_puts(out, " should go to ");
    plug_text(out, findings, cable_plug(planned, !misplaced->link_b));
    text_puts(out, ", goes to ");
    plug_text(out, findings, cable_plug(found, !misplaced->found_b));
    text_puts(out, "\n");
}

static void report_text(struct text *out, const struct findings *findings,
                        const struct neighbour_report *report)
{
    text_printf(out, "line %u: ", report->line);
    plug_text(out, findings, (struct plug){report->node, report->port});
    text_puts(out, " sees ");
    plug_text(out, findings, (struct plug){report->neighbour, report->neighbour_port});
}

static void action_text(struct text *out, const struct findings *findings,
                        const struct repair_action *action)
{
    static const char *const words[][3] = {
        [REPAIR_REMOVE] = {"take away the cable ", " - ", ""},
        [REPAIR_UNPLUG] = {"pull the plug at ", NULL, " and keep it in your hand"},
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
    text_puts(out, "\n");
}

static void result_text(struct text *out, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    const struct repair *repair = &findings->repair;
    text_count(out, findings->plan.graph.link_count, "cable", "cables");
    text_printf(out, " planned, %u found, %u right; ports %s\n", seen->found_count,
                seen->right_count, seen->ports ? "count" : "do not count");
    if (inspection_ok(seen)) {
        text_puts(out, "the wiring is the plan\n");
        return;
    }
    for (uint32_t i = 0; i < seen->misplaced_count; i++)
        misplacement_text(out, findings, i);
    for (uint32_t i = 0; i < seen->missing_count; i++) {
        cable_text(out, findings, "missing   ", &findings->plan.graph.links[seen->missing[i]]);
        text_puts(out, "\n");
    }
    for (uint32_t i = 0; i < seen->surplus_count; i++) {
        cable_text(out, findings, "surplus   ", &seen->found[seen->surplus[i]]);
        text_puts(out, "\n");
    }
    for (uint32_t i = 0; i < seen->contradiction_count; i++) {
        text_puts(out, "contradiction  ");
        report_text(out, findings, &seen->contradictions[i].claim);
        text_puts(out, "; ");
        report_text(out, findings, &seen->contradictions[i].other);
        text_puts(out, "\n");
    }
    if (seen->contradiction_count)
        text_puts(out, "reports that contradict each other were set aside: look there first\n");
    if (repair->action_count)
        text_printf(out, "\nsmallest repair, %u move%s:\n", repair->moves,
                    repair->moves == 1 ? "" : "s");
    for (uint32_t i = 0; i < repair->action_count; i++) {
        text_printf(out, "%4u. ", i + 1);
        action_text(out, findings, &repair->actions[i]);
    }
}

static void plug_json(struct json *json, const struct findings *findings, const char *key,
                      struct plug plug)
{
    char buffer[NODE_NAME_SIZE], label[PORT_LABEL_SIZE];
    if (key)
        json_key(json, key);
    json_object(json);
    json_put_string(json, "node", topology_name(&findings->plan, plug.node, buffer));
    json_put_uint(json, "port", plug.port);
    if (port_label_directed(&findings->plan))
        json_put_string(json, "label", port_label(&findings->plan, plug.port, label));
    json_end(json, '}');
}

static void cable_json(struct json *json, const struct findings *findings, const struct link *cable)
{
    json_object(json);
    plug_json(json, findings, "a", cable_plug(cable, false));
    plug_json(json, findings, "b", cable_plug(cable, true));
    json_end(json, '}');
}

static void misplaced_json(struct json *json, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    json_key(json, "miswired");
    json_array(json);
    for (uint32_t i = 0; i < seen->misplaced_count; i++) {
        const struct misplacement *misplaced = &seen->misplaced[i];
        const struct link *found = &seen->found[misplaced->found];
        json_object(json);
        json_put_uint(json, "link", misplaced->link);
        plug_json(json, findings, "cable", cable_plug(found, misplaced->found_b));
        plug_json(json, findings, "should_go_to",
                  cable_plug(&findings->plan.graph.links[misplaced->link], !misplaced->link_b));
        plug_json(json, findings, "goes_to", cable_plug(found, !misplaced->found_b));
        if (misplaced->swap == FINDING_NONE)
            json_put_null(json, "swapped_with");
        else
            json_put_uint(json, "swapped_with", misplaced->swap);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void contradictions_json(struct json *json, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    json_key(json, "contradictions");
    json_array(json);
    for (uint32_t i = 0; i < seen->contradiction_count; i++) {
        const struct neighbour_report *both[] = {&seen->contradictions[i].claim,
                                                 &seen->contradictions[i].other};
        json_array(json);
        for (int j = 0; j < 2; j++) {
            json_object(json);
            json_put_uint(json, "line", both[j]->line);
            plug_json(json, findings, "end", (struct plug){both[j]->node, both[j]->port});
            plug_json(json, findings, "sees",
                      (struct plug){both[j]->neighbour, both[j]->neighbour_port});
            json_end(json, '}');
        }
        json_end(json, ']');
    }
    json_end(json, ']');
}

static void repair_json(struct json *json, const struct findings *findings)
{
    const struct repair *repair = &findings->repair;
    json_key(json, "repair");
    json_array(json);
    for (uint32_t i = 0; i < repair->action_count; i++) {
        const struct repair_action *action = &repair->actions[i];
        json_object(json);
        json_put_string(json, "action", repair_kind_name(action->kind));
        plug_json(json, findings, "from", action->from);
        if (action->kind != REPAIR_UNPLUG)
            plug_json(json, findings, "to", action->to);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_put_uint(json, "moves", repair->moves);
}

static void check_json(struct text *out, const struct findings *findings)
{
    const struct inspection *seen = &findings->inspection;
    struct json json = json_make(out, true);
    json_object(&json);
    json_put_bool(&json, "ok", inspection_ok(seen));
    json_put_bool(&json, "ports", seen->ports);
    json_put_uint(&json, "planned", findings->plan.graph.link_count);
    json_put_uint(&json, "found", seen->found_count);
    json_put_uint(&json, "right", seen->right_count);
    misplaced_json(&json, findings);
    json_key(&json, "missing");
    json_array(&json);
    for (uint32_t i = 0; i < seen->missing_count; i++)
        cable_json(&json, findings, &findings->plan.graph.links[seen->missing[i]]);
    json_end(&json, ']');
    json_key(&json, "surplus");
    json_array(&json);
    for (uint32_t i = 0; i < seen->surplus_count; i++)
        cable_json(&json, findings, &seen->found[seen->surplus[i]]);
    json_end(&json, ']');
    contradictions_json(&json, findings);
    repair_json(&json, findings);
    json_end(&json, '}');
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
    if (call->json)
        check_json(&call->out, findings);
    else
        result_text(&call->out, findings);
    call->health = inspection_ok(&findings->inspection) ? OK : ERR_INPUT;
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
        return why_fail(why, ERR_USAGE, "topo check: --ports and --no-ports exclude each other");
    enum err err = load_topology(&findings.plan, call->arguments[0], why);
    if (err)
        return err;
    err = plan_check(call, &findings, why);
    topology_fini(&findings.plan);
    return err;
}

static const struct option check_options[] = {
    {"ports", NULL, "a cable must also be in the right ports (default: torus, NovaCube)"},
    {"no-ports", NULL, "only who is joined with whom counts (default: all others)"},
    {0},
};

const struct command command_topo_check = {
    .name = "topo check",
    .arguments = "PLAN OBSERVED",
    .summary = "find miswired cables, and the smallest repair",
    .description =
        "PLAN is a topology or a file of one. OBSERVED is a file of neighbour reports, as a "
        "discovery protocol gives them, or - for standard input: lines of CSV,\n\n"
        "  node,port,neighbour,port\n\n"
        "with an optional header line and comments after #, or a JSON array of objects with the "
        "keys node, port, neighbour and neighbour_port. Nodes are named as in the plan, or by "
        "their number; ports by their number from 0, on a torus or NovaCube also as +x, -x, +y, "
        "..., jump. A cable may be reported from one end or both.\n\n"
        "Names each miswired cable (one end right, the other elsewhere), two that were swapped, "
        "each missing and each surplus one, and reports that contradict each other; then the "
        "repair with the fewest moves, in an order in which every port is empty when its plug "
        "comes. Moving one end counts 1, a new cable 2, taking one away 1.\n\n"
        "The exit code is 0 if the wiring is the plan, 1 if it is not.",
    .options = check_options,
    .examples = "  weft topo check torus:3x3x3 neighbours.csv\n"
                "  weft topo check plan.json - --json < neighbours.csv",
    .run = check_run,
};
