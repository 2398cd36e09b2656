/* seating: reports to wiring (here), wiring to places (seating_place.c), places to findings
 * (topology/cabling compares, seating_find.c tells). */
#include "node/commission/seating.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "node/commission/seating_impl.h"

static int serial_compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

static uint32_t rank_find(const struct seating *seating, uint64_t serial)
{
    const uint64_t *at = seating->count ? bsearch(&serial, seating->serials, seating->count,
                                                  sizeof serial, serial_compare)
                                        : NULL;
    return at ? (uint32_t)(at - seating->serials) : RANK_NONE;
}

node_id seating_find(const struct seating *seating, uint64_t serial)
{
    uint32_t rank = rank_find(seating, serial);
    return rank == RANK_NONE ? NODE_NONE : seating->vertices[rank];
}

static inline bool hears(const struct seat_report *report, uint32_t port)
{
    return port < report->port_count && report->ears[port].port < PORT_MAX;
}

/* Everybody who reported, and everybody whom a report names. */
static enum err serials_collect(struct seating *seating, const struct seat_report *reports,
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
    qsort(serials, filled, sizeof *serials, serial_compare);
    seating->serials = serials;
    for (size_t i = 0; i < filled; i++) {
        if (seating->count == 0 || serials[seating->count - 1] != serials[i])
            serials[seating->count++] = serials[i];
    }
    return OK;
}

/* Where only one end has spoken, the cable is believed all the same. */
static void wiring_fill(struct seat_wiring *wiring, const struct seating *seating,
                        const struct seat_report *const *reports)
{
    for (size_t i = 0; i < (size_t)wiring->count * PORT_MAX; i++)
        wiring->far[i] = (struct seat_far){RANK_NONE, PORT_NONE};
    for (int implied = 0; implied < 2; implied++) {
        for (uint32_t rank = 0; rank < wiring->count; rank++) {
            for (uint32_t port = 0; reports[rank] && port < reports[rank]->port_count; port++) {
                if (!hears(reports[rank], port))
                    continue;
                const struct seat_end *ear = &reports[rank]->ears[port];
                struct seat_far far = {rank_find(seating, ear->serial), ear->port};
                struct seat_far *mine = &wiring->far[(size_t)rank * PORT_MAX + port];
                struct seat_far *theirs = &wiring->far[(size_t)far.rank * PORT_MAX + far.port];
                if (!implied)
                    *mine = far;
                else if (theirs->rank == RANK_NONE)
                    *theirs = (struct seat_far){rank, port};
            }
        }
    }
    for (size_t i = 0; i < (size_t)wiring->count * PORT_MAX; i++)
        wiring->end_count += wiring->far[i].rank != RANK_NONE;
}

/* Of two that were at the same vertex in an earlier life the lower serial number stays. */
static enum err known_fill(struct seat_wiring *wiring, const struct seat_report *const *reports,
                           struct why *why)
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
        return a->node < b->node ? -1 : 1;
    return a->port < b->port ? -1 : a->port > b->port;
}

/* The reports by vertex, as topology/cabling takes them. */
static enum err heard_make(struct neighbour_reports *heard, const struct seating *seating,
                           const struct seat_report *const *reports, struct why *why)
{
    *heard = (struct neighbour_reports){0};
    heard->capacity = (size_t)seating->count * PORT_MAX;
    heard->items = array_new(heard->capacity, sizeof *heard->items);
    if (!heard->items)
        return why_memory(why);
    for (uint32_t rank = 0; rank < seating->count; rank++) {
        for (uint32_t port = 0; reports[rank] && port < reports[rank]->port_count; port++) {
            if (!hears(reports[rank], port))
                continue;
            const struct seat_end *ear = &reports[rank]->ears[port];
            heard->items[heard->count++] =
                (struct neighbour_report){.node = seating->vertices[rank],
                                          .port = port,
                                          .neighbour = seating_find(seating, ear->serial),
                                          .neighbour_port = ear->port};
        }
    }
    qsort(heard->items, heard->count, sizeof *heard->items, heard_compare);
    return OK;
}

static enum err places_find(struct seating *seating, const struct plan *plan,
                            const struct seat_report *const *reports, struct why *why)
{
    struct seat_wiring wiring = {.plan = plan, .count = seating->count};
    wiring.far = array_new((size_t)seating->count * PORT_MAX, sizeof *wiring.far);
    wiring.known = array_new(seating->count, sizeof *wiring.known);
    enum err err = wiring.far && wiring.known ? OK : why_memory(why);
    if (!err) {
        wiring_fill(&wiring, seating, reports);
        err = known_fill(&wiring, reports, why);
    }
    if (!err)
        err = seating_place(&wiring, seating->vertices, why);
    free(wiring.far);
    free(wiring.known);
    return err;
}

enum err seating_make(struct seating *seating, const struct plan *plan,
                      const struct seat_report *reports, uint32_t count, struct why *why)
{
    *seating = (struct seating){0};
    struct neighbour_reports heard = {0};
    const struct seat_report **by_rank = NULL;
    enum err err = serials_collect(seating, reports, count, why);
    if (err)
        return err;
    by_rank = array_new(seating->count, sizeof *by_rank);
    seating->vertices = array_new(seating->count, sizeof *seating->vertices);
    err = by_rank && seating->vertices ? OK : why_memory(why);
    for (uint32_t i = 0; !err && i < count; i++) {
        const struct seat_report **mine = &by_rank[rank_find(seating, reports[i].serial)];
        if (!*mine)
            *mine = &reports[i];
    }
    if (!err)
        err = places_find(seating, plan, by_rank, why);
    if (!err)
        err = heard_make(&heard, seating, by_rank, why);
    if (!err)
        err = inspection_make(&seating->inspection, plan->topology, &heard, true, why);
    if (!err)
        err = seating_find_all(seating, plan, &heard, by_rank, why);
    neighbour_reports_fini(&heard);
    free(by_rank);
    if (err)
        seating_fini(seating);
    return err;
}

void seating_fini(struct seating *seating)
{
    for (uint32_t i = 0; i < seating->finding_count; i++)
        free(seating->findings[i].line);
    free(seating->findings);
    free(seating->serials);
    free(seating->vertices);
    inspection_fini(&seating->inspection);
    *seating = (struct seating){0};
}
