#pragma once
/* steps: a rewiring plan in a result, with the parts of a page that show it. */

#include "base/text.h"
#include "cli/core/result.h"
#include "topology/change/rewire.h"
#include "topology/topology.h"

/* Where the names of the plan's nodes come from: first from `before`; nodes that
 * are not in it are found in `after` by their number there. */
struct steps_names {
    const struct topology *before;
    const struct topology *after; /* may be NULL if before has all */
    const uint32_t *after_node;
};

const char *steps_name(const struct steps_names *names, uint32_t node, char buffer[NODE_NAME_SIZE]);

/* Prints the nodes whose flag is set: "a, b, c and 7 more". */
void steps_print_nodes(struct text *out, const struct steps_names *names, const uint8_t *flags,
                       uint32_t count);

/* Adds a node: as a number if the network has no names, else as a string. */
void steps_put_node(struct result *result, const char *key, const struct steps_names *names,
                    uint32_t node);

/* Adds the keys unplug, plug, step_count, together, apart and steps. */
void steps_put(struct result *result, const struct rewire_plan *plan,
               const struct steps_names *names);

/* Parts of a page: a line about the number of steps and whether the network stays connected, and a
 * line for each action. Further actions of the same step have a plus instead of its number. */
#define STEPS_VERDICT_PAGE                                                                         \
    "{step_count|step|steps}{?together}, {together} of them several actions at once (+){/}"        \
    "{?step_count}{?apart}; {apart|leaves|leave} the network in pieces (apart)"                    \
    "{:}; the network is connected after every one{/}{:}: the cables are the same{/}\n"
#define STEPS_PAGE                                                                                 \
    "{#steps}{number}  {action%-6s}  {a}:{a_port} -- {b}:{b_port}{?apart}  apart{/}\n{/}"
