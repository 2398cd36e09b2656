/* placement: turns reports into wiring (here), wiring into places (placement_assign.c), and places
 * into findings (topology/cabling compares, placement_find.c writes the lines). */
#include "node/commission/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/compare.h"
#include "node/commission/placement_impl.h"

static uint32_t rank_find(const struct placement *placement, uint64_t serial)
{
    const uint64_t *at = placement->count ? bsearch(&serial, placement->serials, placement->count,
                                                    sizeof serial, compare_u64_items)
                                          : NULL;
    return at ? (uint32_t)(at - placement->serials) : RANK_NONE;
}

node_id placement_find(const struct placement *placement, uint64_t serial)
{
    uint32_t rank = rank_find(placement, serial);
    return rank == RANK_NONE ? NODE_NONE : placement->vertices[rank];
}

static inline bool hears(const struct placement_report *report, uint32_t port)
{
    return port < report->port_count && report->ears[port].port < PORT_MAX;
}

/* Collects the serial numbers of all servers that reported or are named in a report. */
static enum err serials_collect(struct placement *placement, const struct placement_report *reports,
                                uint32_t count, struct why *why)
{
    size_t room = count;
    for (uint32_t i = 0; i < count; i++) {
        assert(reports[i].port_count <= PORT_MAX);
        for (uint32_t port = 0; port < reports[i].port_count; port++)
            room += hears(&reports[i], port);
    }
    uint64_t *serials = array_new(room, sizeof *serials);
    if (!serials)
        return why_memory(why);
    size_t filled = 0;
    for (uint32_t i = 0; i < count; i++) {
        serials[filled++] = reports[i].serial;
        for (uint32_t port = 0; port < reports[i].port_count; port++) {
            if (hears(&reports[i], port))
                serials[filled++] = reports[i].ears[port].serial;
        }
    }
    qsort(serials, filled, sizeof *serials, compare_u64_items);
    placement->serials = serials;
    for (size_t i = 0; i < filled; i++) {
        if (placement->count == 0 || serials[placement->count - 1] != serials[i])
            serials[placement->count++] = serials[i];
    }
    return OK;
}

/* A cable that only one end reports counts, too. */
static void wiring_fill(struct placement_wiring *wiring, const struct placement *placement,
                        const struct placement_report *const *reports)
{
    for (size_t i = 0; i < (size_t)wiring->count * PORT_MAX; i++)
        wiring->far[i] = (struct placement_far){RANK_NONE, PORT_NONE};
    for (int implied = 0; implied < 2; implied++) {
        for (uint32_t rank = 0; rank < wiring->count; rank++) {
            for (uint32_t port = 0; reports[rank] && port < reports[rank]->port_count; port++) {
                if (!hears(reports[rank], port))
                    continue;
                const struct placement_end *ear = &reports[rank]->ears[port];
                struct placement_far far = {rank_find(placement, ear->serial), ear->port};
                struct placement_far *mine = &wiring->far[(size_t)rank * PORT_MAX + port];
                struct placement_far *theirs = &wiring->far[(size_t)far.rank * PORT_MAX + far.port];
                if (!implied)
                    *mine = far;
                else if (theirs->rank == RANK_NONE)
                    *theirs = (struct placement_far){rank, port};
            }
        }
    }
    for (size_t i = 0; i < (size_t)wiring->count * PORT_MAX; i++)
        wiring->end_count += wiring->far[i].rank != RANK_NONE;
}

/* If two servers had the same vertex before, the one with the lower serial number keeps it. */
static enum err known_fill(struct placement_wiring *wiring,
                           const struct placement_report *const *reports, struct why *why)
{
    bool *taken = array_new(wiring->plan->server_count, sizeof *taken);
    if (!taken)
        return why_memory(why);
    for (uint32_t rank = 0; rank < wiring->count; rank++) {
        node_id known = reports[rank] ? reports[rank]->known : NODE_NONE;
        bool holds = known < wiring->plan->server_count && !taken[known];
        wiring->known[rank] = holds ? known : NODE_NONE;
        if (holds)
            taken[known] = true;
    }
    free(taken);
    return OK;
}

static int heard_compare(const void *left, const void *right)
{
    const struct neighbour_report *a = left, *b = right;
    if (a->node != b->node)
        return compare_u64(a->node, b->node);
    return compare_u64(a->port, b->port);
}

/* The reports by vertex, in the form that topology/cabling takes. */
static enum err heard_make(struct neighbour_reports *heard, const struct placement *placement,
                           const struct placement_report *const *reports, struct why *why)
{
    *heard = (struct neighbour_reports){0};
    heard->capacity = (size_t)placement->count * PORT_MAX;
    heard->items = array_new(heard->capacity, sizeof *heard->items);
    if (!heard->items)
        return why_memory(why);
    for (uint32_t rank = 0; rank < placement->count; rank++) {
        for (uint32_t port = 0; reports[rank] && port < reports[rank]->port_count; port++) {
            if (!hears(reports[rank], port))
                continue;
            const struct placement_end *ear = &reports[rank]->ears[port];
            heard->items[heard->count++] =
                (struct neighbour_report){.node = placement->vertices[rank],
                                          .port = port,
                                          .neighbour = placement_find(placement, ear->serial),
                                          .neighbour_port = ear->port};
        }
    }
    qsort(heard->items, heard->count, sizeof *heard->items, heard_compare);
    return OK;
}

static enum err places_find(struct placement *placement, const struct plan *plan,
                            const struct placement_report *const *reports, struct why *why)
{
    struct placement_wiring wiring = {.plan = plan, .count = placement->count};
    wiring.far = array_new((size_t)placement->count * PORT_MAX, sizeof *wiring.far);
    wiring.known = array_new(placement->count, sizeof *wiring.known);
    enum err err = wiring.far && wiring.known ? OK : why_memory(why);
    if (!err) {
        wiring_fill(&wiring, placement, reports);
        err = known_fill(&wiring, reports, why);
    }
    if (!err)
        err = placement_assign(&wiring, placement->vertices, why);
    free(wiring.far);
    free(wiring.known);
    return err;
}

enum err placement_make(struct placement *placement, const struct plan *plan,
                        const struct placement_report *reports, uint32_t count, struct why *why)
{
    *placement = (struct placement){0};
    struct neighbour_reports heard = {0};
    const struct placement_report **by_rank = NULL;
    enum err err = serials_collect(placement, reports, count, why);
    if (err)
        return err;
    by_rank = array_new(placement->count, sizeof *by_rank);
    placement->vertices = array_new(placement->count, sizeof *placement->vertices);
    err = by_rank && placement->vertices ? OK : why_memory(why);
    for (uint32_t i = 0; !err && i < count; i++) {
        const struct placement_report **mine = &by_rank[rank_find(placement, reports[i].serial)];
        if (!*mine)
            *mine = &reports[i];
    }
    if (!err)
        err = places_find(placement, plan, by_rank, why);
    if (!err)
        err = heard_make(&heard, placement, by_rank, why);
    if (!err)
        err = inspection_make(&placement->inspection, plan->topology, &heard, true, why);
    if (!err)
        err = placement_find_all(placement, plan, &heard, by_rank, why);
    neighbour_reports_fini(&heard);
    free(by_rank);
    if (err)
        placement_fini(placement);
    return err;
}

void placement_fini(struct placement *placement)
{
    for (uint32_t i = 0; i < placement->finding_count; i++)
        free(placement->findings[i].line);
    free(placement->findings);
    free(placement->serials);
    free(placement->vertices);
    inspection_fini(&placement->inspection);
    *placement = (struct placement){0};
}
