/* checker_routes: a server replaces a row only by a newer one; packets leave only by ports whose
 * two ends receive each other's hellos; after recovery all servers have all rows again, and every
 * hop brings a packet nearer to its destination. */

#include <stdlib.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/check.h"
#include "sim/checkers/checker.h"

struct age {
    uint64_t incarnation, version;
};

struct ages {
    struct age *of; /* one for each pair of servers: see age_of */
};

static enum err routes_open(struct checker *checker, struct why *why)
{
    uint32_t count = checker->all->view.plan->server_count;
    struct ages *ages = checker->memory;
    ages->of = calloc((size_t)count * count, sizeof *ages->of);
    return ages->of ? OK : why_memory(why);
}

static void routes_close(struct checker *checker)
{
    free(((struct ages *)checker->memory)->of);
}

/* Returns the age of the newest row of `server` that server `at` has accepted. */
static struct age *age_of(struct checker *checker, node_id at, node_id server)
{
    struct ages *ages = checker->memory;
    return &ages->of[(size_t)at * checker->all->view.plan->server_count + server];
}

/* A server that starts again has no rows. */
static void routes_started(struct checker *checker, node_id at)
{
    for (node_id server = 0; server < checker->all->view.plan->server_count; server++)
        *age_of(checker, at, server) = (struct age){0};
}

static void routes_row(struct checker *checker, node_id at, node_id server, uint64_t incarnation,
                       uint64_t version)
{
    struct age *age = age_of(checker, at, server);
    if (incarnation < age->incarnation ||
        (incarnation == age->incarnation && version <= age->version)) {
        checker_fail(checker,
                     "server %u accepts a row of server %u that is not newer than the row it has: "
                     "incarnation %llu, version %llu after %llu, %llu",
                     at, server, (unsigned long long)incarnation, (unsigned long long)version,
                     (unsigned long long)age->incarnation, (unsigned long long)age->version);
        return;
    }
    *age = (struct age){incarnation, version};
}

/* After recovery every hop brings a packet nearer: the distances are right then (routes_phase). */
static void check_hop(struct checker *checker, node_id at, unsigned port,
                      const struct packet *packet)
{
    const struct checker_view *view = &checker->all->view;
    const struct node *node = view->node(view->context, at);
    node_id next = plan_end(view->plan, at, port)->server;
    const struct node *other = view->node(view->context, next);
    if (packet->kind == PACKET_TO_NEIGHBOUR || !node || !other ||
        node_distance(other, packet->server) + 1 == node_distance(node, packet->server))
        return;
    checker_fail(checker,
                 "server %u sends packet %llu for server %u to server %u, which is not nearer", at,
                 (unsigned long long)packet->trail, packet->server, next);
}

/* Only service 0, which maintains the links, may send by a port before both ends receive each
 * other's hellos. */
static void routes_transmitted(struct checker *checker, node_id at, unsigned port,
                               const struct packet *packet)
{
    const struct checker_view *view = &checker->all->view;
    if (packet->service == 0 && packet->kind == PACKET_TO_NEIGHBOUR)
        return;
    enum port_state state = view->port(view->context, at, port);
    if (state != PORT_UP && state != PORT_COMING)
        checker_fail(checker,
                     "server %u sends packet %llu of service %u out of port %u, which is down", at,
                     (unsigned long long)packet->trail, packet->service, port);
    else if (checker->all->phase == PHASE_STEADY || checker->all->phase == PHASE_QUIET)
        check_hop(checker, at, port, packet);
}

/* ---- recovery ---- */

static bool server_is_back(const struct checker_view *view, node_id server, uint64_t *digest,
                           struct why *why)
{
    const struct node *node = view->node(view->context, server);
    if (!node)
        return why_set(why, "server %u is down", server), false;
    struct node_snapshot snapshot;
    node_snapshot(node, &snapshot);
    if (!snapshot.settled)
        return why_set(why, "server %u is not settled", server), false;
    for (unsigned port = 0; port < view->plan->port_count; port++) {
        struct port_snapshot at;
        node_snapshot_port(node, port, &at);
        if (at.state != PORT_UP && at.state != PORT_ABSENT)
            return why_set(why, "server %u: port %u to server %u is in state %d", server, port,
                           at.peer, at.state),
                   false;
    }
    if (snapshot.reachable != view->plan->server_count)
        return why_set(why, "server %u reaches %u of %u servers", server, snapshot.reachable,
                       view->plan->server_count),
               false;
    if (snapshot.limbo)
        return why_set(why, "server %u: %u packets wait for a root", server, snapshot.limbo), false;
    if (server == 0)
        *digest = snapshot.digest;
    if (snapshot.digest != *digest)
        return why_set(why, "server %u has other rows than server 0", server), false;
    return true;
}

/* Breadth-first search over the plan. */
static void plan_search(const struct plan *plan, node_id from, struct bfs *bfs)
{
    bfs_clear(bfs);
    bfs_start(bfs, from);
    for (node_id at; bfs_take(bfs, &at);)
        for (unsigned port = 0; port < plan->port_count; port++) {
            node_id to = plan_end(plan, at, port)->server;
            if (to != NODE_NONE)
                bfs_visit(bfs, at, to);
        }
}

static bool distances_are_right(const struct checker_view *view, struct why *why)
{
    const struct plan *plan = view->plan;
    struct bfs bfs;
    bool right = bfs_init(&bfs, plan->server_count);
    if (!right)
        why_set(why, "not enough memory");
    for (node_id from = 0; right && from < plan->server_count; from++) {
        plan_search(plan, from, &bfs);
        const struct node *node = view->node(view->context, from);
        for (node_id to = 0; right && to < plan->server_count; to++) {
            uint32_t found = node_distance(node, to);
            right = found == bfs.level[to];
            if (!right)
                why_set(why, "server %u: the distance to server %u is %u hops instead of %u", from,
                        to, found, bfs.level[to]);
        }
    }
    bfs_fini(&bfs);
    return right;
}

bool checker_routes_are_back(const struct checker_view *view, struct why *why)
{
    uint64_t digest = 0;
    for (node_id server = 0; server < view->plan->server_count; server++)
        if (!server_is_back(view, server, &digest, why))
            return false;
    return distances_are_right(view, why);
}

/* After recovery the routes must stay as planned. */
static void routes_phase(struct checker *checker, enum checker_phase phase)
{
    struct why why = {""};
    if ((phase == PHASE_STEADY || phase == PHASE_QUIET) &&
        !checker_routes_are_back(&checker->all->view, &why))
        checker_fail(checker, "after recovery: %s", why.text);
}

const struct checker_ops checker_routes = {
    .name = "routes",
    .size = sizeof(struct ages),
    .open = routes_open,
    .close = routes_close,
    .started = routes_started,
    .row = routes_row,
    .transmitted = routes_transmitted,
    .phase = routes_phase,
};
