/* bridges: Tarjan's search (1974), without recursion, so that a path of a million nodes needs no
 * stack. At a node the search ignores only the very cable through which it came, so two parallel
 * cables are never bridges. */
#include "topology/change/bridges.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err bridges_init(struct bridges *bridges, const struct wiring *wiring, struct why *why)
{
    size_t nodes = wiring->node_count, cables = wiring->first[nodes] / 2;
    *bridges = (struct bridges){
        .below = array_new(cables, sizeof *bridges->below),
        .enter = array_new(nodes, sizeof *bridges->enter),
        .leave = array_new(nodes, sizeof *bridges->leave),
        .low = array_new(nodes, sizeof *bridges->low),
        .via = array_new(nodes, sizeof *bridges->via),
        .path = array_new(nodes, sizeof *bridges->path),
        .next = array_new(nodes, sizeof *bridges->next),
    };
    if (bridges->below && bridges->enter && bridges->leave && bridges->low && bridges->via &&
        bridges->path && bridges->next)
        return OK;
    bridges_fini(bridges);
    return why_memory(why);
}

void bridges_fini(struct bridges *bridges)
{
    free(bridges->below);
    free(bridges->enter);
    free(bridges->leave);
    free(bridges->low);
    free(bridges->via);
    free(bridges->path);
    free(bridges->next);
    *bridges = (struct bridges){0};
}

/* Searches everything that is reachable from one root. `clock` counts the visited nodes. */
static uint32_t search(struct bridges *bridges, const struct wiring *wiring, uint32_t root,
                       uint32_t clock)
{
    uint32_t depth = 0;
    bridges->path[depth++] = root;
    bridges->via[root] = CABLE_NONE;
    bridges->enter[root] = bridges->low[root] = clock++;
    while (depth) {
        uint32_t node = bridges->path[depth - 1];
        if (bridges->next[node] < wiring->first[node + 1]) {
            uint32_t cable = wiring->cable_at[bridges->next[node]++];
            if (cable == CABLE_NONE || cable == bridges->via[node])
                continue;
            uint32_t to = wiring_other_end(&wiring->cables[cable], node);
            if (bridges->enter[to] == NODE_NONE) {
                bridges->via[to] = cable;
                bridges->enter[to] = bridges->low[to] = clock++;
                bridges->path[depth++] = to;
            } else if (bridges->enter[to] < bridges->low[node]) {
                bridges->low[node] = bridges->enter[to];
            }
            continue;
        }
        bridges->leave[node] = clock;
        if (--depth == 0)
            break;
        uint32_t above = bridges->path[depth - 1];
        if (bridges->low[node] < bridges->low[above])
            bridges->low[above] = bridges->low[node];
        if (bridges->low[node] == bridges->enter[node])
            bridges->below[bridges->via[node]] = node;
    }
    return clock;
}

void bridges_find(struct bridges *bridges, const struct wiring *wiring)
{
    for (uint32_t cable = 0; cable < wiring->cable_count; cable++)
        bridges->below[cable] = NODE_NONE;
    for (uint32_t v = 0; v < wiring->node_count; v++) {
        bridges->enter[v] = NODE_NONE;
        bridges->next[v] = wiring->first[v];
    }
    for (uint32_t v = 0, clock = 0; v < wiring->node_count; v++)
        if (bridges->enter[v] == NODE_NONE)
            clock = search(bridges, wiring, v, clock);
}

bool bridges_part(const struct bridges *bridges, uint32_t cable, uint32_t one, uint32_t other)
{
    assert(bridges_has(bridges, cable));
    uint32_t low = bridges->enter[bridges->below[cable]];
    uint32_t high = bridges->leave[bridges->below[cable]];
    bool one_below = bridges->enter[one] >= low && bridges->enter[one] < high;
    bool other_below = bridges->enter[other] >= low && bridges->enter[other] < high;
    return one_below != other_below;
}
