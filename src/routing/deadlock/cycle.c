/* cycle: a cycle is within one strongly connected component. From each vertex in turn, a
 * breadth-first search looks for a way back that is shorter than the best so far; then the vertex
 * is removed, because all cycles through it have been considered. */
#include "routing/deadlock/cycle.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/check.h"

#define NONE UINT32_MAX

/* The arcs that leave each vertex. */
struct adjacency {
    uint32_t *first; /* vertices + 1 */
    uint32_t *arcs;  /* indexes, by the vertex that they leave, then in order */
};

static void adjacency_fini(struct adjacency *adjacency)
{
    free(adjacency->first);
    free(adjacency->arcs);
}

static enum err adjacency_init(struct adjacency *adjacency, const struct arc *arcs,
                               uint32_t arc_count, uint32_t vertex_count, struct why *why)
{
    *adjacency = (struct adjacency){
        .first = array_new((size_t)vertex_count + 2, sizeof *adjacency->first),
        .arcs = array_new(arc_count, sizeof *adjacency->arcs),
    };
    if (!adjacency->first || !adjacency->arcs)
        return why_memory(why);
    uint32_t *next = adjacency->first + 1; /* becomes the array of firsts, shifted by one */
    for (uint32_t i = 0; i < arc_count; i++)
        next[arcs[i].from + 1]++;
    for (uint32_t v = 0; v < vertex_count; v++)
        next[v + 1] += next[v];
    for (uint32_t i = 0; i < arc_count; i++)
        adjacency->arcs[next[arcs[i].from]++] = i;
    return OK;
}

/* Tarjan's search with a stack of its own instead of recursion. */
struct tarjan {
    uint32_t *index;  /* order in which the vertex was visited; NONE: not yet */
    uint32_t *lowest; /* the lowest index reachable through its subtree */
    uint32_t *next;   /* its next arc to follow */
    uint32_t *path;   /* vertices from the root of the search to the current one */
    uint32_t *open;   /* visited vertices that are not yet in a component */
    uint32_t path_count, open_count, met;
};

static void tarjan_fini(struct tarjan *tarjan)
{
    free(tarjan->index);
    free(tarjan->lowest);
    free(tarjan->next);
    free(tarjan->path);
    free(tarjan->open);
}

static enum err tarjan_init(struct tarjan *tarjan, uint32_t vertices, struct why *why)
{
    *tarjan = (struct tarjan){
        .index = array_new(vertices, sizeof *tarjan->index),
        .lowest = array_new(vertices, sizeof *tarjan->lowest),
        .next = array_new(vertices, sizeof *tarjan->next),
        .path = array_new(vertices, sizeof *tarjan->path),
        .open = array_new(vertices, sizeof *tarjan->open),
    };
    if (!tarjan->index || !tarjan->lowest || !tarjan->next || !tarjan->path || !tarjan->open)
        return why_memory(why);
    memset(tarjan->index, 0xff, vertices * sizeof *tarjan->index); /* all NONE */
    return OK;
}

static void tarjan_meet(struct tarjan *tarjan, const struct adjacency *adjacency, uint32_t v)
{
    tarjan->index[v] = tarjan->lowest[v] = tarjan->met++;
    tarjan->next[v] = adjacency->first[v];
    tarjan->path[tarjan->path_count++] = v;
    tarjan->open[tarjan->open_count++] = v;
}

/* The last vertex of the path has no arc left: passes its lowest index to its parent. If no earlier
 * vertex was reachable, the vertices visited since form its component. */
static void tarjan_leave(struct tarjan *tarjan, uint32_t *component, uint32_t *count)
{
    uint32_t v = tarjan->path[--tarjan->path_count];
    if (tarjan->path_count) {
        uint32_t before = tarjan->path[tarjan->path_count - 1];
        if (tarjan->lowest[v] < tarjan->lowest[before])
            tarjan->lowest[before] = tarjan->lowest[v];
    }
    if (tarjan->lowest[v] != tarjan->index[v])
        return;
    uint32_t last;
    do {
        last = tarjan->open[--tarjan->open_count];
        component[last] = *count;
    } while (last != v);
    ++*count;
}

static void tarjan_search(struct tarjan *tarjan, const struct adjacency *adjacency,
                          const struct arc *arcs, uint32_t root, uint32_t *component,
                          uint32_t *count)
{
    tarjan_meet(tarjan, adjacency, root);
    while (tarjan->path_count) {
        uint32_t v = tarjan->path[tarjan->path_count - 1];
        if (tarjan->next[v] == adjacency->first[v + 1]) {
            tarjan_leave(tarjan, component, count);
            continue;
        }
        uint32_t to = arcs[adjacency->arcs[tarjan->next[v]++]].to;
        if (tarjan->index[to] == NONE)
            tarjan_meet(tarjan, adjacency, to);
        else if (component[to] == NONE && tarjan->index[to] < tarjan->lowest[v])
            tarjan->lowest[v] = tarjan->index[to];
    }
}

static enum err find_components(const struct adjacency *adjacency, const struct arc *arcs,
                                uint32_t vertex_count, uint32_t *component, uint32_t *count,
                                struct why *why)
{
    struct tarjan tarjan;
    enum err err = tarjan_init(&tarjan, vertex_count, why);
    *count = 0;
    for (uint32_t v = 0; v < vertex_count; v++)
        component[v] = NONE;
    for (uint32_t v = 0; !err && v < vertex_count; v++)
        if (tarjan.index[v] == NONE)
            tarjan_search(&tarjan, adjacency, arcs, v, component, count);
    tarjan_fini(&tarjan);
    return err;
}

enum err cycle_components(const struct arc *arcs, uint32_t arc_count, uint32_t vertex_count,
                          uint32_t *component, uint32_t *count, struct why *why)
{
    struct adjacency adjacency;
    enum err err = adjacency_init(&adjacency, arcs, arc_count, vertex_count, why);
    if (!err)
        err = find_components(&adjacency, arcs, vertex_count, component, count, why);
    adjacency_fini(&adjacency);
    return err;
}

/* Breadth-first search for ways back. */
struct search {
    const struct arc *arcs;
    struct adjacency adjacency;
    uint32_t *component;
    struct bfs bfs; /* from the root */
    uint32_t *by;   /* arc that reached a vertex first */
};

static void search_fini(struct search *search)
{
    adjacency_fini(&search->adjacency);
    free(search->component);
    bfs_fini(&search->bfs);
    free(search->by);
}

static enum err search_init(struct search *search, const struct arc *arcs, uint32_t arc_count,
                            uint32_t vertices, struct why *why)
{
    uint32_t components;
    *search = (struct search){
        .arcs = arcs,
        .component = array_new(vertices, sizeof *search->component),
        .by = array_new(vertices, sizeof *search->by),
    };
    if (!bfs_init(&search->bfs, vertices) || !search->component || !search->by)
        return why_memory(why);
    enum err err = adjacency_init(&search->adjacency, arcs, arc_count, vertices, why);
    if (!err)
        err = find_components(&search->adjacency, arcs, vertices, search->component, &components,
                              why);
    return err;
}

/* The arc that closes a shortest cycle through the root, with fewer than `limit` arcs and through
 * no vertex below the root; or NONE. */
static uint32_t search_back(struct search *search, uint32_t root, uint32_t limit)
{
    struct bfs *bfs = &search->bfs;
    bfs_clear(bfs); /* by[] of the previous search stays */
    bfs_start(bfs, root);
    for (uint32_t v; bfs_take(bfs, &v) && bfs->level[v] + 1 < limit;)
        for (uint32_t i = search->adjacency.first[v]; i < search->adjacency.first[v + 1]; i++) {
            uint32_t arc = search->adjacency.arcs[i], to = search->arcs[arc].to;
            if (to == root)
                return arc;
            if (to > root && search->component[to] == search->component[root] &&
                bfs_visit(bfs, v, to))
                search->by[to] = arc;
        }
    return NONE;
}

/* Writes the cycle from the closing arc back to the root, in the order of travel. */
static enum err write_cycle(const struct search *search, uint32_t root, uint32_t closing,
                            uint32_t **cycle, uint32_t *length, struct why *why)
{
    uint32_t count = 1;
    for (uint32_t v = search->arcs[closing].from; v != root; v = search->arcs[search->by[v]].from)
        count++;
    uint32_t *found = array_new(count, sizeof *found);
    if (!found)
        return why_memory(why);
    uint32_t at = count;
    found[--at] = closing;
    for (uint32_t v = search->arcs[closing].from; v != root; v = search->arcs[search->by[v]].from)
        found[--at] = search->by[v];
    assert(at == 0);
    free(*cycle);
    *cycle = found;
    *length = count;
    return OK;
}

enum err cycle_shortest(const struct arc *arcs, uint32_t arc_count, uint32_t vertex_count,
                        uint32_t **cycle, uint32_t *length, struct why *why)
{
    struct search search;
    enum err err = search_init(&search, arcs, arc_count, vertex_count, why);
    *cycle = NULL;
    *length = 0;
    for (uint32_t root = 0; !err && root < vertex_count; root++) {
        uint32_t closing = search_back(&search, root, *length ? *length : NONE);
        if (closing != NONE)
            err = write_cycle(&search, root, closing, cycle, length, why);
    }
    search_fini(&search);
    if (err) {
        free(*cycle);
        *cycle = NULL;
        *length = 0;
    }
    return err;
}
