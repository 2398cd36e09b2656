#include "cli/topo/steps.h"

#include <stdio.h>

#define NODES_SHOWN 16

const char *steps_name(const struct steps_names *names, uint32_t node, char buffer[NODE_NAME_SIZE])
{
    if (node < names->before->graph.node_count)
        return topology_name(names->before, node, buffer);
    return topology_name(names->after, names->after_node[node], buffer);
}

void steps_print_nodes(struct text *out, const struct steps_names *names, const uint8_t *flags,
                       uint32_t count)
{
    char buffer[NODE_NAME_SIZE];
    uint32_t shown = 0, more = 0;
    for (uint32_t v = 0; v < count; v++) {
        if (!flags[v])
            continue;
        if (shown == NODES_SHOWN) {
            more++;
            continue;
        }
        text_printf(out, "%s%s", shown++ ? ", " : "", steps_name(names, v, buffer));
    }
    if (more)
        text_printf(out, " and %u more", more);
}

void steps_print_verdict(struct text *out, const struct rewire_plan *plan)
{
    text_printf(out, "%u step%s", plan->step_count, plan->step_count == 1 ? "" : "s");
    if (plan->together_count)
        text_printf(out, ", %u of them several actions at once (+)", plan->together_count);
    if (plan->step_count == 0)
        text_puts(out, ": the cables are the same\n");
    else if (plan->apart_count == 0)
        text_puts(out, "; the network is connected after every one\n");
    else
        text_printf(out, "; %u leave%s the network in pieces (apart)\n", plan->apart_count,
                    plan->apart_count == 1 ? "s" : "");
}

void steps_print(struct text *out, const struct rewire_plan *plan, const struct steps_names *names)
{
    char number[16], a[NODE_NAME_SIZE], b[NODE_NAME_SIZE];
    int width = snprintf(number, sizeof number, "%u", plan->step_count);
    uint32_t step = 0;
    if (width < 4)
        width = 4;
    for (size_t i = 0; i < plan->count; i++) {
        const struct rewire_action *action = &plan->actions[i];
        const struct link *cable = &action->cable;
        snprintf(number, sizeof number, "%u", action->step);
        text_printf(out, "%*s  %-6s  %s:%u -- %s:%u%s\n", width,
                    action->step == step ? "+" : number,
                    action->kind == REWIRE_PLUG ? "plug" : "unplug", steps_name(names, cable->a, a),
                    cable->a_port, steps_name(names, cable->b, b), cable->b_port,
                    action->apart ? "  apart" : "");
        step = action->step;
    }
}

void steps_json_node(struct json *json, const struct steps_names *names, uint32_t node)
{
    char buffer[NODE_NAME_SIZE];
    bool named = names->before->names || (names->after && names->after->names);
    if (named)
        json_string(json, steps_name(names, node, buffer));
    else
        json_uint(json, node); /* unnamed nodes keep their numbers */
}

static void action_json(struct json *json, const struct rewire_action *action,
                        const struct steps_names *names)
{
    const struct link *cable = &action->cable;
    json_object(json);
    json->indent = false; /* an action is one line */
    json_put_string(json, "action", action->kind == REWIRE_PLUG ? "plug" : "unplug");
    json_key(json, "a");
    steps_json_node(json, names, cable->a);
    json_put_uint(json, "a_port", cable->a_port);
    json_key(json, "b");
    steps_json_node(json, names, cable->b);
    json_put_uint(json, "b_port", cable->b_port);
    json_put_uint(json, "step", action->step);
    json_put_bool(json, "apart", action->apart);
    json_end(json, '}');
    json->indent = true;
}

void steps_json(struct json *json, const struct rewire_plan *plan, const struct steps_names *names)
{
    json_put_uint(json, "unplug", plan->unplug_count);
    json_put_uint(json, "plug", plan->plug_count);
    json_put_uint(json, "step_count", plan->step_count);
    json_put_uint(json, "together", plan->together_count);
    json_put_uint(json, "apart", plan->apart_count);
    json_key(json, "steps");
    json_array(json);
    for (size_t i = 0; i < plan->count; i++)
        action_json(json, &plan->actions[i], names);
    json_end(json, ']');
}
