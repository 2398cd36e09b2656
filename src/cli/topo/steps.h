#pragma once
/* steps: a rewiring plan in a result, with the parts of a page that show it. */

#include "base/text.h"
#include "cli/core/result.h"
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

/* A node as a value: a number if the network has no names, else a string. */
void steps_put_node(struct result *result, const char *key, const struct steps_names *names,
                    uint32_t node);

/* The fields unplug, plug, step_count, together, apart, steps. */
void steps_put(struct result *result, const struct rewire_plan *plan,
               const struct steps_names *names);

/* How many steps there are and what they leave; then a line per action. The number of a step
 * stands once; further actions of the same step follow with a plus. */
#define STEPS_VERDICT_PAGE                                                                         \
    "{step_count|step|steps}{?together}, {together} of them several actions at once (+){/}"        \
    "{?step_count}{?apart}; {apart|leaves|leave} the network in pieces (apart)"                    \
    "{:}; the network is connected after every one{/}{:}: the cables are the same{/}\n"
#define STEPS_PAGE                                                                                 \
    "{#steps}{number}  {action%-6s}  {a}:{a_port} -- {b}:{b_port}{?apart}  apart{/}\n{/}"
