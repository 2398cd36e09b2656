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

void steps_put_node(struct result *result, const char *key, const struct steps_names *names,
                    uint32_t node)
{
    char buffer[NODE_NAME_SIZE];
    bool named = names->before->names || (names->after && names->after->names);
    if (named)
        result_string(result, key, steps_name(names, node, buffer));
    else
        result_uint(result, key, node); /* nodes without names keep their numbers */
}

void steps_put(struct result *result, const struct rewire_plan *plan,
               const struct steps_names *names)
{
    int digits = snprintf(NULL, 0, "%u", plan->step_count), width = digits < 4 ? 4 : digits;
    uint32_t step = 0;
    result_uint(result, "unplug", plan->unplug_count);
    result_uint(result, "plug", plan->plug_count);
    result_uint(result, "step_count", plan->step_count);
    result_uint(result, "together", plan->together_count);
    result_uint(result, "apart", plan->apart_count);
    result_array(result, "steps");
    for (size_t i = 0; i < plan->count; i++) {
        const struct rewire_action *action = &plan->actions[i];
        const struct link *cable = &action->cable;
        result_object(result_flat(result), NULL);
        if (action->step == step)
            text_printf(result_words(result_hide(result), "number"), "%*s", width, "+");
        else
            text_printf(result_words(result_hide(result), "number"), "%*u", width, action->step);
        step = action->step;
        result_string(result, "action", action->kind == REWIRE_PLUG ? "plug" : "unplug");
        steps_put_node(result, "a", names, cable->a);
        result_uint(result, "a_port", cable->a_port);
        steps_put_node(result, "b", names, cable->b);
        result_uint(result, "b_port", cable->b_port);
        result_uint(result, "step", action->step);
        result_bool(result, "apart", action->apart);
        result_end(result);
    }
    result_end(result);
}
