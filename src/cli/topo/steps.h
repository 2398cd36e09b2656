#pragma once
/* steps: a rewiring plan as numbered lines for a person, or as JSON. */

#include "base/json.h"
#include "base/text.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

/* Whose names the plan's nodes have: those of `before`, then, by their numbers
 * in `after`, those of `after`. */
struct steps_names {
    const struct topology *before;
    const struct topology *after; /* may be NULL if before has all */
    const uint32_t *after_node;
};

const char *steps_name(const struct steps_names *names, uint32_t node, char buffer[NODE_NAME_SIZE]);

/* "a, b, c and 7 more": those nodes for which `flags` is set. */
void steps_print_nodes(struct text *out, const struct steps_names *names, const uint8_t *flags,
                       uint32_t count);

/* The line that says how many steps there are and what they leave. */
void steps_print_verdict(struct text *out, const struct rewire_plan *plan);

/* A line per action. The number of a step stands once; further actions of the
 * same step follow with a plus. */
void steps_print(struct text *out, const struct rewire_plan *plan, const struct steps_names *names);

/* A node as JSON: a number if the network has no names, else a string. */
void steps_json_node(struct json *json, const struct steps_names *names, uint32_t node);

/* The fields unplug, plug, step_count, together, apart, steps. */
void steps_json(struct json *json, const struct rewire_plan *plan, const struct steps_names *names);
