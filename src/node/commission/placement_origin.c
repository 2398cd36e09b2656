/* placement_origin: chooses where to begin.
 *
 * A colour describes the wiring around a server (or around a vertex of the plan) up to some number
 * of hops: which ports have cables, to which ports they lead, and the colours there. It is a hash,
 * refined hop by hop. A server whose colour no vertex has is near a misplaced cable. The best
 * origin is a server whose colour matches a vertex over many hops and matches few others. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/compare.h"
#include "base/hash.h"
#include "node/commission/placement_impl.h"

#define DEPTH_MAX 8

bool placement_plan_same(const struct topology *topology)
{
    bool nova = topology->kind == TOPOLOGY_NOVACUBE;
    if (!nova && topology->kind != TOPOLOGY_TORUS)
        return false;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++) {
        uint32_t size = topology->axis_size[axis];
        /* An axis of size 2 has one cable, with port + at one end and port - at the other. */
        if (size == 2 || (nova && size > 1 && size % 2 != 0))
            return false;
    }
    return true;
}

static inline uint64_t colour_port(uint32_t port, uint32_t far_port, uint64_t far_colour)
{
    return hash_mix(far_colour ^ hash_mix((uint64_t)port << 32 | (far_port + 1)));
}

static void plan_refine(const struct plan *plan, const uint64_t *from, uint64_t *to)
{
    for (node_id vertex = 0; vertex < plan->server_count; vertex++) {
        uint64_t sum = hash_mix(from[vertex]);
        for (uint32_t port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, vertex, port);
            if (end->server != NODE_NONE)
                sum += colour_port(port, end->port, from[end->server]);
        }
        to[vertex] = hash_mix(sum);
    }
}

static void wiring_refine(const struct placement_wiring *wiring, const uint64_t *from, uint64_t *to)
{
    for (uint32_t rank = 0; rank < wiring->count; rank++) {
        uint64_t sum = hash_mix(from[rank]);
        for (uint32_t port = 0; port < PORT_MAX; port++) {
            const struct placement_far *far = placement_far(wiring, rank, port);
            if (far->rank != RANK_NONE)
                sum += colour_port(port, far->port, from[far->rank]);
        }
        to[rank] = hash_mix(sum);
    }
}

/* Index of the first of the sorted colours that is not below this one. */
static uint32_t colours_first(const uint64_t *sorted, uint32_t count, uint64_t colour)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < colour)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t colours_count(const uint64_t *sorted, uint32_t count, uint64_t colour)
{
    uint32_t end = colour == UINT64_MAX ? count : colours_first(sorted, count, colour + 1);
    return end - colours_first(sorted, count, colour);
}

static int origin_compare(const void *left, const void *right)
{
    const struct placement_origin *a = left, *b = right;
    if (a->choices != b->choices)
        return compare_u64(a->choices, b->choices);
    if (a->depth != b->depth)
        return compare_u64(b->depth, a->depth); /* more hops are better */
    return compare_u64(a->rank, b->rank);
}

/* Refines the colours by one hop, and finds the servers that still match a vertex. */
static void origins_refine(struct placement_origins *origins, const struct placement_wiring *wiring,
                           uint32_t depth, uint64_t *sorted)
{
    uint32_t vertices = origins->vertex_count;
    uint64_t *colours = origins->colours + (size_t)depth * vertices;
    uint64_t *own = origins->own + (size_t)depth * wiring->count;
    plan_refine(wiring->plan, colours - vertices, colours);
    wiring_refine(wiring, own - wiring->count, own);
    memcpy(sorted, colours, vertices * sizeof *sorted);
    qsort(sorted, vertices, sizeof *sorted, compare_u64_items);
    for (uint32_t rank = 0; rank < wiring->count; rank++) {
        uint32_t choices = colours_count(sorted, vertices, own[rank]);
        if (choices)
            origins->items[rank] = (struct placement_origin){rank, depth, choices};
    }
}

enum err placement_origins_make(struct placement_origins *origins,
                                const struct placement_wiring *wiring, struct why *why)
{
    uint32_t vertices = wiring->plan->server_count, count = wiring->count;
    *origins = (struct placement_origins){.count = count, .vertex_count = vertices};
    origins->same = placement_plan_same(wiring->plan->topology);
    origins->items = array_new(count, sizeof *origins->items);
    origins->colours = array_new((size_t)vertices * (DEPTH_MAX + 1), sizeof *origins->colours);
    origins->own = array_new((size_t)count * (DEPTH_MAX + 1), sizeof *origins->own);
    uint64_t *sorted = array_new(vertices, sizeof *sorted);
    if (!origins->items || !origins->colours || !origins->own || !sorted) {
        free(sorted);
        placement_origins_fini(origins);
        return why_memory(why);
    }
    for (uint32_t rank = 0; rank < count; rank++)
        origins->items[rank] = (struct placement_origin){rank, 0, vertices};
    for (uint32_t depth = 1; depth <= DEPTH_MAX; depth++)
        origins_refine(origins, wiring, depth, sorted);
    free(sorted);
    qsort(origins->items, count, sizeof *origins->items, origin_compare);
    return OK;
}

void placement_origins_fini(struct placement_origins *origins)
{
    free(origins->items);
    free(origins->colours);
    free(origins->own);
    *origins = (struct placement_origins){0};
}

node_id placement_origin_vertex(const struct placement_origins *origins,
                                const struct placement_origin *origin, node_id from)
{
    if (origins->same)
        return from == 0 ? 0 : NODE_NONE;
    const uint64_t *colours = origins->colours + (size_t)origin->depth * origins->vertex_count;
    uint64_t colour = origins->own[(size_t)origin->depth * origins->count + origin->rank];
    for (node_id vertex = from; vertex < origins->vertex_count; vertex++) {
        if (colours[vertex] == colour)
            return vertex;
    }
    return NODE_NONE;
}
