#include "sim/checkers/checker_oracle.h"

#include <stdlib.h>

#include "base/check.h"

enum err checker_oracle_init(struct checker_oracle *oracle, const struct plan *plan,
                             struct why *why)
{
    uint32_t count = plan->server_count;
    size_t scratch = keyspace_scratch_size(&plan->keyspace);
    *oracle = (struct checker_oracle){.plan = plan, .is_stale = true};
    oracle->group = calloc(count, sizeof *oracle->group);
    oracle->stack = calloc(count, sizeof *oracle->stack);
    oracle->list = calloc(count, sizeof *oracle->list);
    oracle->scratch = malloc(scratch ? scratch : 1);
    if (oracle->group && oracle->stack && oracle->list && oracle->scratch)
        return OK;
    checker_oracle_fini(oracle);
    return why_memory(why);
}

void checker_oracle_fini(struct checker_oracle *oracle)
{
    free(oracle->group);
    free(oracle->stack);
    free(oracle->list);
    free(oracle->scratch);
    *oracle = (struct checker_oracle){0};
}

static bool is_up(const struct checker_oracle *oracle, node_id server, unsigned port)
{
    const struct plan_end *end = plan_end(oracle->plan, server, port);
    return end->server != NODE_NONE && oracle->port(oracle->context, server, port) == PORT_UP &&
           oracle->port(oracle->context, end->server, end->port) == PORT_UP;
}

/* Marks all servers that are reachable from one server. */
static void group_mark(struct checker_oracle *oracle, node_id first)
{
    uint32_t count = 0;
    oracle->group[first] = first;
    oracle->stack[count++] = first;
    while (count) {
        node_id at = oracle->stack[--count];
        for (unsigned port = 0; port < oracle->plan->port_count; port++) {
            node_id to = plan_end(oracle->plan, at, port)->server;
            if (to == NODE_NONE || oracle->group[to] != NODE_NONE || !is_up(oracle, at, port))
                continue;
            oracle->group[to] = first;
            oracle->stack[count++] = to;
        }
    }
}

static void groups_find(struct checker_oracle *oracle)
{
    oracle->is_stale = false;
    oracle->searches++;
    for (node_id server = 0; server < oracle->plan->server_count; server++)
        oracle->group[server] = NODE_NONE;
    for (node_id server = 0; server < oracle->plan->server_count; server++)
        if (oracle->group[server] == NODE_NONE)
            group_mark(oracle, server);
}

void checker_oracle_up(struct checker_oracle *oracle, node_id at, unsigned port,
                       bool (*each)(void *context, node_id one, node_id other), void *context)
{
    const struct plan_end *end = plan_end(oracle->plan, at, port);
    if (!is_up(oracle, at, port) ||
        (!oracle->is_stale && oracle->group[at] == oracle->group[end->server]))
        return; /* they were connected before, by another path */
    groups_find(oracle);
    for (node_id one = 0; one < oracle->plan->server_count; one++)
        for (node_id other = 0; other < oracle->plan->server_count; other++)
            if (one != other && oracle->group[one] == oracle->group[at] &&
                oracle->group[other] == oracle->group[at] && !each(context, one, other))
                return;
}

node_id checker_oracle_rightful(struct checker_oracle *oracle, uint64_t route, node_id at)
{
    const struct keyspace *keyspace = &oracle->plan->keyspace;
    struct place_group group = keyspace_group(keyspace, route);
    if (group.home == at)
        return NODE_NONE;
    if (oracle->is_stale)
        groups_find(oracle);
    /* Nearly always one of the first few is the answer. */
    for (unsigned most = 16;; most = oracle->plan->server_count) {
        most = most < oracle->plan->server_count ? most : oracle->plan->server_count;
        unsigned count =
            keyspace_servers(keyspace, group, NULL, NULL, oracle->scratch, oracle->list, most);
        for (unsigned i = 0; i < count; i++) {
            node_id before = oracle->list[i];
            if (before == at)
                return NODE_NONE;
            if (oracle->group[before] == oracle->group[at] &&
                oracle->settled(oracle->context, before))
                return before;
        }
        assert(most < oracle->plan->server_count); /* it is in every list */
    }
}
