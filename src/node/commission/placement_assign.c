/* placement_assign: assigns every server to a vertex.
 *
 * One try begins with an origin at a vertex (or with the servers that keep their places) and grows:
 * each placed server proposes places for its neighbours, by the plan. Of all proposals, the one
 * with the most cables for it and the fewest against it is carried out next. So a place that only
 * one misplaced cable proposes comes last, when other cables have made proposals, too. At the end
 * servers exchange places as long as this makes more ends agree.
 *
 * Several origins are tried, and the try with the most agreeing ends wins. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "node/commission/placement_impl.h"

#define SCORE_MAX (2 * PORT_MAX)
#define ENTRY_END UINT32_MAX

/* A proposed place. */
struct entry {
    uint32_t rank;
    node_id vertex;
    uint32_t next;
};

struct
try {
    const struct placement_wiring *wiring; /* borrowed */
    node_id *vertex_of;                    /* per rank; NODE_NONE */
    uint32_t *taken;                       /* per vertex: the rank placed there; RANK_NONE */
    uint32_t placed;
    struct entry *entries; /* in first-in first-out lists, one per score */
    size_t entry_capacity;
    uint32_t entry_count;
    uint32_t first[SCORE_MAX + 1], last[SCORE_MAX + 1];
    bool failed; /* memory ran out */
};

/* How many of a server's ends would agree and differ if it were at that vertex. */
struct tally {
    uint32_t agree, differ;
};

static struct tally tally_at(const struct try *try, uint32_t rank, node_id vertex)
{
    struct tally tally = {0, 0};
    for (uint32_t port = 0; port < PORT_MAX; port++) {
        const struct placement_far *far = placement_far(try->wiring, rank, port);
        if (far->rank == RANK_NONE || try->vertex_of[far->rank] == NODE_NONE)
            continue;
        node_id other = far->rank == rank ? vertex : try->vertex_of[far->rank];
        bool agrees = placement_planned(try->wiring->plan, vertex, port, other, far->port);
        tally.agree += agrees;
        tally.differ += !agrees;
    }
    return tally;
}

static uint32_t score_at(const struct try *try, uint32_t rank, node_id vertex)
{
    struct tally tally = tally_at(try, rank, vertex);
    uint32_t good = 2 * tally.agree; /* at most SCORE_MAX */
    return good > tally.differ ? good - tally.differ : 0;
}

static void entry_push(struct try *try, uint32_t rank, node_id vertex, uint32_t score)
{
    if (!array_reserve(&try->entries, &try->entry_capacity, try->entry_count + 1,
                       sizeof *try->entries)) {
        try->failed = true;
        return;
    }
    uint32_t index = try->entry_count++;
    try->entries[index] = (struct entry){rank, vertex, ENTRY_END};
    if (try->first[score] == ENTRY_END)
        try->first[score] = index;
    else
        try->entries[try->last[score]].next = index;
    try->last[score] = index;
}

/* Places one server, and proposes places for its neighbours. */
static void assign(struct try *try, uint32_t rank, node_id vertex)
{
    assert(try->vertex_of[rank] == NODE_NONE && try->taken[vertex] == RANK_NONE);
    const struct plan *plan = try->wiring->plan;
    try->vertex_of[rank] = vertex;
    try->taken[vertex] = rank;
    try->placed++;
    for (uint32_t port = 0; port < plan->port_count; port++) {
        const struct placement_far *far = placement_far(try->wiring, rank, port);
        const struct plan_end *end = plan_end(plan, vertex, port);
        if (far->rank == RANK_NONE || try->vertex_of[far->rank] != NODE_NONE ||
            end->server == NODE_NONE || end->port != far->port ||
            try->taken[end->server] != RANK_NONE)
            continue;
        entry_push(try, far->rank, end->server, score_at(try, far->rank, end->server));
    }
}

/* Takes the most certain proposal; false: there is none. */
static bool entry_take(struct try *try, struct entry *entry)
{
    for (uint32_t score = SCORE_MAX + 1; score-- > 0;) {
        while (try->first[score] != ENTRY_END) {
            assert(try->first[score] < try->entry_count && try->entries);
            *entry = try->entries[try->first[score]];
            try->first[score] = entry->next;
            if (try->vertex_of[entry->rank] != NODE_NONE || try->taken[entry->vertex] != RANK_NONE)
                continue;
            uint32_t now = score_at(try, entry->rank, entry->vertex);
            if (now >= score)
                return true;
            entry_push(try, entry->rank, entry->vertex, now); /* other servers were placed since */
        }
    }
    return false;
}

/* No proposal exists for the remaining servers (cables are missing, or connect only these servers):
 * places the first of them where its ports fit best, and the search continues from there. */
static bool assign_left(struct try *try)
{
    const struct plan *plan = try->wiring->plan;
    uint32_t rank = 0;
    while (rank < try->wiring->count && try->vertex_of[rank] != NODE_NONE)
        rank++;
    if (rank == try->wiring->count)
        return false;
    node_id best = NODE_NONE;
    uint32_t best_fits = 0;
    for (node_id vertex = 0; vertex < plan->server_count; vertex++) {
        if (try->taken[vertex] != RANK_NONE)
            continue;
        uint32_t fits = 1 + 2 * score_at(try, rank, vertex);
        for (uint32_t port = 0; port < plan->port_count; port++) {
            const struct placement_far *far = placement_far(try->wiring, rank, port);
            const struct plan_end *end = plan_end(plan, vertex, port);
            fits += far->rank != RANK_NONE && end->server != NODE_NONE && end->port == far->port &&
                    try->taken[end->server] == RANK_NONE;
        }
        if (fits > best_fits) {
            best = vertex;
            best_fits = fits;
        }
    }
    if (best == NODE_NONE)
        return false; /* no vertex is left */
    assign(try, rank, best);
    return true;
}

static void grow(struct try *try)
{
    struct entry entry;
    do {
        while (!try->failed && entry_take(try, &entry))
            assign(try, entry.rank, entry.vertex);
    } while (!try->failed && assign_left(try));
}

/* ---- exchanging places ---- */

static void vertex_set(struct try *try, uint32_t rank, node_id vertex)
{
    if (rank != RANK_NONE)
        try->vertex_of[rank] = vertex;
    if (vertex != NODE_NONE)
        try->taken[vertex] = rank;
}

/* Agreeing ends of both servers. A cable between the two counts twice, both before and after an
 * exchange. */
static uint32_t agree_both(const struct try *try, uint32_t one, uint32_t other)
{
    uint32_t agree = tally_at(try, one, try->vertex_of[one]).agree;
    if (other != RANK_NONE)
        agree += tally_at(try, other, try->vertex_of[other]).agree;
    return agree;
}

/* Moves a server to a vertex, and the server at that vertex, if any, to the vacated one. Reverts
 * this if it does not help. */
static bool exchange(struct try *try, uint32_t rank, node_id vertex)
{
    node_id home = try->vertex_of[rank];
    uint32_t other = try->taken[vertex];
    if (other != RANK_NONE && try->wiring->known[other] != NODE_NONE)
        return false;
    uint32_t before = agree_both(try, rank, other);
    vertex_set(try, other, home);
    vertex_set(try, rank, vertex);
    if (other == RANK_NONE)
        try->taken[home] = RANK_NONE;
    if (agree_both(try, rank, other) > before)
        return true;
    vertex_set(try, other, vertex);
    vertex_set(try, rank, home);
    if (other == RANK_NONE)
        try->taken[vertex] = RANK_NONE;
    return false;
}

/* Tries every place that a cable of this server proposes. */
static bool improve_one(struct try *try, uint32_t rank)
{
    const struct placement_wiring *wiring = try->wiring;
    bool better = false;
    for (uint32_t port = 0; port < PORT_MAX; port++) {
        const struct placement_far *far = placement_far(wiring, rank, port);
        if (far->rank == RANK_NONE || far->port >= wiring->plan->port_count ||
            try->vertex_of[far->rank] == NODE_NONE)
            continue;
        const struct plan_end *end = plan_end(wiring->plan, try->vertex_of[far->rank], far->port);
        if (end->server != NODE_NONE && end->port == port && end->server != try->vertex_of[rank])
            better |= exchange(try, rank, end->server);
    }
    return better;
}

static void improve(struct try *try)
{
    enum { ROUNDS_MAX = 16 };
    bool better = true;
    for (uint32_t round = 0; better && round < ROUNDS_MAX; round++) {
        better = false;
        for (uint32_t rank = 0; rank < try->wiring->count; rank++) {
            if (try->vertex_of[rank] != NODE_NONE && try->wiring->known[rank] == NODE_NONE)
                better |= improve_one(try, rank);
        }
    }
}

/* ---- tries ---- */

static void try_fini(struct try *try)
{
    free(try->vertex_of);
    free(try->taken);
    free(try->entries);
}

static enum err try_init(struct try *try, const struct placement_wiring *wiring, struct why *why)
{
    *try = (struct try){.wiring = wiring};
    try->vertex_of = array_new(wiring->count, sizeof *try->vertex_of);
    try->taken = array_new(wiring->plan->server_count, sizeof *try->taken);
    if (try->vertex_of && try->taken)
        return OK;
    try_fini(try);
    return why_memory(why);
}

/* Runs one try from one origin, or from the servers that keep their places; returns how many ends
 * agree. */
static uint32_t try_run(struct try *try, uint32_t rank, node_id vertex)
{
    const struct placement_wiring *wiring = try->wiring;
    memset(try->vertex_of, 0xff, wiring->count * sizeof *try->vertex_of);
    memset(try->taken, 0xff, wiring->plan->server_count * sizeof *try->taken);
    memset(try->first, 0xff, sizeof try->first);
    try->placed = try->entry_count = 0;
    for (uint32_t i = 0; i < wiring->count; i++) {
        if (wiring->known[i] != NODE_NONE)
            assign(try, i, wiring->known[i]);
    }
    if (rank != RANK_NONE)
        assign(try, rank, vertex);
    grow(try);
    improve(try);

    uint32_t agree = 0;
    for (uint32_t i = 0; i < wiring->count; i++) {
        if (try->vertex_of[i] != NODE_NONE)
            agree += tally_at(try, i, try->vertex_of[i]).agree;
    }
    return agree;
}

static bool any_known(const struct placement_wiring *wiring)
{
    for (uint32_t rank = 0; rank < wiring->count; rank++) {
        if (wiring->known[rank] != NODE_NONE)
            return true;
    }
    return false;
}

/* Where the plan looks the same from everywhere, shifts all places so that the lowest serial number
 * is at vertex 0. */
static void turn(const struct placement_wiring *wiring, node_id *vertices)
{
    const struct topology *topology = wiring->plan->topology;
    uint32_t from[AXIS_MAX], at[AXIS_MAX], lowest = 0;
    while (lowest < wiring->count && vertices[lowest] >= wiring->plan->server_count)
        lowest++;
    if (lowest == wiring->count)
        return;
    topology_coordinate(topology, vertices[lowest], from);
    for (uint32_t rank = 0; rank < wiring->count; rank++) {
        if (vertices[rank] >= wiring->plan->server_count)
            continue;
        topology_coordinate(topology, vertices[rank], at);
        for (uint32_t axis = 0; axis < topology->axis_count; axis++)
            at[axis] =
                (at[axis] + topology->axis_size[axis] - from[axis]) % topology->axis_size[axis];
        vertices[rank] = topology_node_at(topology, at);
    }
}

/* Tries origins, the best first, until all ends agree or the effort is spent. */
static enum err tries_run(struct try *try, node_id *vertices, struct why *why)
{
    enum { TRIES_MIN = 16, EFFORT = 400000 }; /* small networks are tried from every origin */
    const struct placement_wiring *wiring = try->wiring;
    uint32_t tries = EFFORT / (wiring->end_count + 1), best = 0;
    tries = tries < TRIES_MIN ? TRIES_MIN : tries;
    struct placement_origins origins;
    enum err err = placement_origins_make(&origins, wiring, why);
    if (err)
        return err;
    bool first = true;
    for (uint32_t i = 0; i < origins.count && tries && (first || best < wiring->end_count); i++) {
        const struct placement_origin *origin = &origins.items[i];
        node_id vertex = placement_origin_vertex(&origins, origin, 0);
        for (; vertex != NODE_NONE && tries && (first || best < wiring->end_count); tries--) {
            uint32_t agree = try_run(try, origin->rank, vertex);
            if (first || agree > best) {
                memcpy(vertices, try->vertex_of, wiring->count * sizeof *vertices);
                best = agree;
            }
            first = false;
            vertex = placement_origin_vertex(&origins, origin, vertex + 1);
        }
    }
    placement_origins_fini(&origins);
    return OK;
}

enum err placement_assign(const struct placement_wiring *wiring, node_id *vertices, struct why *why)
{
    struct try try;
    enum err err = try_init(&try, wiring, why);
    if (err)
        return err;
    bool known = any_known(wiring);
    if (known) {
        try_run(&try, RANK_NONE, NODE_NONE);
        memcpy(vertices, try.vertex_of, wiring->count * sizeof *vertices);
    } else {
        err = tries_run(&try, vertices, why);
    }
    if (!err && try.failed)
        err = why_memory(why);
    uint32_t strangers = 0;
    for (uint32_t rank = 0; !err && rank < wiring->count; rank++) {
        if (vertices[rank] == NODE_NONE)
            vertices[rank] = wiring->plan->server_count + strangers++;
    }
    if (!err && !known && placement_plan_same(wiring->plan->topology))
        turn(wiring, vertices);
    try_fini(&try);
    return err;
}
