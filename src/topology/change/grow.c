/* grow: chooses the cables to break for new nodes, and makes the resulting network.
 *
 * To break a cable is to unplug it and to plug two new ones: from each of its ends to the new node.
 * The cable is chosen uniformly at random among those whose ends are neither the new node nor its
 * neighbours. Bridges are excluded, so that the network also stays connected right after the
 * unplugging. If all these cables are bridges (as in a tree), a bridge is broken, and the three
 * actions make one step.
 *
 * With several new nodes, some cables would be plugged for one node and broken for the next. So,
 * after all nodes were added one by one, that plan is replaced by one that leads directly from the
 * first network to the last (transition.h), unless the direct plan is worse. */
#include "topology/change/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "topology/change/bridges.h"
#include "topology/change/transition.h"

#define GROW_STREAM 0x67726f77 /* "grow": a stream that no generator uses */
#define PICK_TRIES  64
#define MATCH_TRIES 16

#define NAME_PREFIX_MAX (NODE_NAME_MAX - 21) /* a dash and twenty digits follow */

struct grower {
    struct rewire rewire;
    struct bridges bridges;
    struct rng rng;
    uint32_t *open; /* nodes that had a free port when last checked; no node regains one */
    uint32_t open_count;
};

/* ---- ports and servers of most nodes ---- */

struct outfit {
    uint32_t ports, servers;
};

static int outfit_order(const void *left, const void *right)
{
    const struct outfit *one = left, *other = right;
    if (one->ports != other->ports)
        return one->ports < other->ports ? -1 : 1;
    return one->servers < other->servers ? -1 : one->servers > other->servers;
}

enum err grow_majority(const struct topology *topology, uint32_t *ports, uint32_t *servers,
                       struct why *why)
{
    uint32_t nodes = topology->graph.node_count, best = 0;
    struct outfit *outfits = array_new(nodes, sizeof *outfits);
    if (!outfits)
        return why_memory(why);
    for (uint32_t v = 0; v < nodes; v++)
        outfits[v] = (struct outfit){topology_all_ports(topology, v), topology->sites[v].servers};
    qsort(outfits, nodes, sizeof *outfits, outfit_order);
    *ports = *servers = 0;
    for (uint32_t v = 0, run = 0; v < nodes; v++) {
        run = v && outfit_order(&outfits[v - 1], &outfits[v]) == 0 ? run + 1 : 1;
        if (run >= best) { /* if counts are equal, more ports win */
            best = run;
            *ports = outfits[v].ports;
            *servers = outfits[v].servers;
        }
    }
    free(outfits);
    return OK;
}

/* ---- connecting new nodes ---- */

/* Could the two nodes be joined? */
static bool nodes_can_join(const struct wiring *wiring, uint32_t one, uint32_t other)
{
    return one != other && !wiring_joined(wiring, one, other);
}

/* Can this cable be broken so that one of its ends is joined to `one`, and the other end to
 * `other`? These two are the same new node, or two nodes with a free port each. If *turned, end b
 * is joined to `one`. */
static bool cable_suits(const struct grower *grower, uint32_t one, uint32_t other, uint32_t cable,
                        bool *turned)
{
    const struct wiring *wiring = &grower->rewire.wiring;
    const struct link *link = &wiring->cables[cable];
    *turned = false;
    if (nodes_can_join(wiring, one, link->a) && nodes_can_join(wiring, other, link->b))
        return true;
    *turned = true;
    return one != other && nodes_can_join(wiring, one, link->b) &&
           nodes_can_join(wiring, other, link->a);
}

/* The chosen cable. */
struct pick {
    uint32_t cable; /* CABLE_NONE: no cable is suitable */
    bool bridge;
    bool turned;
};

/* Chooses by looking at all cables: needed if few or none are suitable. */
static void cable_pick_slowly(struct grower *grower, uint32_t one, uint32_t other,
                              struct pick *pick)
{
    const struct wiring *wiring = &grower->rewire.wiring;
    uint32_t suitable[2] = {0, 0};
    pick->cable = CABLE_NONE;
    bridges_find(&grower->bridges, wiring);
    for (uint32_t cable = 0; cable < wiring->cable_count; cable++)
        if (cable_suits(grower, one, other, cable, &pick->turned))
            suitable[bridges_has(&grower->bridges, cable)]++;
    pick->bridge = suitable[false] == 0;
    if (suitable[pick->bridge] == 0)
        return;
    uint64_t rank = rng_below(&grower->rng, suitable[pick->bridge]);
    for (uint32_t cable = 0; pick->cable == CABLE_NONE; cable++)
        if (cable_suits(grower, one, other, cable, &pick->turned) &&
            bridges_has(&grower->bridges, cable) == pick->bridge && rank-- == 0)
            pick->cable = cable;
}

static enum err cable_pick(struct grower *grower, uint32_t one, uint32_t other, struct pick *pick,
                           struct why *why)
{
    const struct wiring *wiring = &grower->rewire.wiring;
    for (int tries = 0; tries < PICK_TRIES && wiring->cable_count; tries++) {
        uint32_t cable = (uint32_t)rng_below(&grower->rng, wiring->cable_count);
        const struct link *link = &wiring->cables[cable];
        bool reaches;
        if (!cable_suits(grower, one, other, cable, &pick->turned))
            continue;
        enum err err = wiring_reaches(wiring, link->a, link->b, cable, &reaches, why);
        if (err)
            return err;
        if (reaches) {
            pick->cable = cable;
            pick->bridge = false;
            return OK;
        }
    }
    cable_pick_slowly(grower, one, other, pick);
    return OK;
}

/* Chooses a cable and breaks it: joins its ends, at the ports that they had, to `one` and `other`.
 * *done is false if no cable is suitable. */
static enum err cable_break(struct grower *grower, uint32_t one, uint32_t other, bool *done,
                            struct why *why)
{
    struct rewire *rewire = &grower->rewire;
    struct pick pick;
    enum err err = cable_pick(grower, one, other, &pick, why);
    *done = !err && pick.cable != CABLE_NONE;
    if (!*done)
        return err;
    const struct link link = rewire->wiring.cables[pick.cable];
    err = rewire_unplug(rewire, pick.cable, why);
    if (err)
        return err;
    if (!pick.bridge)
        rewire_commit(rewire);
    err = rewire_plug(rewire, link.a, link.a_port, pick.turned ? other : one, PORT_ANY, why);
    if (err)
        return err;
    if (!pick.bridge)
        rewire_commit(rewire);
    err = rewire_plug(rewire, link.b, link.b_port, pick.turned ? one : other, PORT_ANY, why);
    if (!err)
        rewire_commit(rewire);
    return err;
}

static bool partner_suits(const struct rewire *rewire, uint32_t node, uint32_t other)
{
    return nodes_can_join(&rewire->wiring, node, other) && rewire_joins(rewire, node, other);
}

/* Returns a random node with a free port that can be joined to this node, or NODE_NONE. */
static uint32_t partner_pick(struct grower *grower, uint32_t node)
{
    const struct rewire *rewire = &grower->rewire;
    uint32_t suitable = 0, chosen = NODE_NONE, kept = 0;
    for (uint32_t i = 0; i < grower->open_count; i++) {
        uint32_t other = grower->open[i];
        if (rewire_room(rewire, other) == 0)
            continue;
        grower->open[kept++] = other;
        if (partner_suits(rewire, node, other) && rng_below(&grower->rng, ++suitable) == 0)
            chosen = other;
    }
    grower->open_count = kept;
    return chosen;
}

/* Uses one remaining port: joins it to a free port of another node. If no such node can be joined
 * (because all are neighbours already), breaks a cable elsewhere: joins one end of it to this node
 * and the other end to one of those nodes. */
static enum err port_match(struct grower *grower, uint32_t node, bool *done, struct why *why)
{
    struct rewire *rewire = &grower->rewire;
    uint32_t partner = partner_pick(grower, node);
    *done = partner != NODE_NONE;
    if (*done) {
        enum err err = rewire_plug(rewire, partner, PORT_ANY, node, PORT_ANY, why);
        if (!err)
            rewire_commit(rewire);
        return err;
    }
    for (uint32_t i = 0; i < grower->open_count && i < MATCH_TRIES && !*done; i++) {
        if (grower->open[i] == node || !rewire->attached[node])
            continue;
        enum err err = cable_break(grower, node, grower->open[i], done, why);
        if (err)
            return err;
    }
    return OK;
}

static enum err node_connect(struct grower *grower, uint32_t node, struct why *why)
{
    struct rewire *rewire = &grower->rewire;
    bool done = true;
    while (done && rewire_room(rewire, node) >= 2) {
        enum err err = cable_break(grower, node, node, &done, why);
        if (err)
            return err;
    }
    done = true;
    while (done && rewire_room(rewire, node) >= 1) {
        enum err err = port_match(grower, node, &done, why);
        if (err)
            return err;
    }
    return OK;
}

/* Connects the new nodes one after the other. Then the network is larger, and nodes with free ports
 * get a second turn. */
static enum err nodes_connect(struct grower *grower, uint32_t first, struct why *why)
{
    for (uint32_t v = 0; v < first; v++)
        if (rewire_room(&grower->rewire, v))
            grower->open[grower->open_count++] = v;
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t v = first; v < grower->rewire.wiring.node_count; v++) {
            enum err err = node_connect(grower, v, why);
            if (err)
                return err;
            if (turn == 0 && rewire_room(&grower->rewire, v))
                grower->open[grower->open_count++] = v;
        }
    }
    for (uint32_t v = first; v < grower->rewire.wiring.node_count; v++)
        if (rewire_used(&grower->rewire, v) == 0)
            return why_fail(
                why, ERR_USAGE,
                "new node %u cannot be connected: there is no cable to replace and no free port",
                v);
    return OK;
}

/* ---- the plan ---- */

/* Replaces the plan by the direct one, unless the direct plan has more steps of several actions, or
 * more steps that leave the network disconnected. */
static enum err plan_straighten(struct rewire *rewire, const uint32_t *limit, const uint32_t *slots,
                                const struct topology *topology, struct why *why)
{
    struct rewire straight;
    const struct graph *graph = &topology->graph;
    enum err err = rewire_init(&straight, rewire->wiring.node_count, limit, slots, NULL,
                               graph->links, graph->link_count, why);
    if (err)
        return err;
    err = transition_plan(&straight, rewire->wiring.cables, rewire->wiring.cable_count, why);
    if (!err && straight.plan.together_count <= rewire->plan.together_count &&
        straight.plan.apart_count <= rewire->plan.apart_count) {
        struct rewire swap = *rewire;
        *rewire = straight;
        straight = swap;
    }
    rewire_fini(&straight);
    return err;
}

static enum err cables_grow(struct rewire *rewire, const struct topology *topology,
                            const struct grow_order *order, struct why *why)
{
    const struct graph *graph = &topology->graph;
    uint32_t nodes = graph->node_count + order->count;
    uint32_t *limit = array_new(nodes, sizeof *limit), *slots = NULL;
    struct grower grower = {.rng = rng_make(order->seed, GROW_STREAM)};
    for (uint32_t v = 0; limit && v < nodes; v++)
        limit[v] = v < graph->node_count ? graph_degree(graph, v) + topology_free_ports(topology, v)
                                         : order->ports - (topology->direct ? 0 : order->servers);
    if (limit)
        slots = array_copy(limit, nodes, sizeof *limit);
    grower.open = array_new(nodes, sizeof *grower.open);
    enum err err = slots && grower.open ? OK : why_memory(why);
    if (err)
        goto done;
    rewire_cover(slots, graph, NULL);
    err = rewire_init(&grower.rewire, nodes, limit, slots, NULL, graph->links, graph->link_count,
                      why);
    if (err)
        goto done;
    err = bridges_init(&grower.bridges, &grower.rewire.wiring, why);
    if (!err)
        err = nodes_connect(&grower, graph->node_count, why);
    if (!err && order->count > 1)
        err = plan_straighten(&grower.rewire, limit, slots, topology, why);
    if (err)
        rewire_fini(&grower.rewire);
    else
        *rewire = grower.rewire;
done:
    bridges_fini(&grower.bridges);
    free(grower.open);
    free(limit);
    free(slots);
    return err;
}

/* ---- the network after the growth ---- */

static int name_order(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* New names continue the last name: after "rack-7" comes "rack-8", or the next number that is not
 * in use. */
static enum err names_extend(struct topology *grown, const struct topology *topology,
                             struct why *why)
{
    uint32_t old = topology->graph.node_count, all = grown->graph.node_count;
    char **sorted = array_copy(topology->names, old, sizeof *sorted);
    grown->names = array_new(all, sizeof *grown->names);
    if (!sorted || !grown->names) {
        free(sorted);
        return why_memory(why);
    }
    qsort(sorted, old, sizeof *sorted, name_order);
    const char *last = old ? topology->names[old - 1] : "";
    size_t prefix = strlen(last);
    while (prefix && last[prefix - 1] >= '0' && last[prefix - 1] <= '9')
        prefix--;
    bool numbered = prefix < strlen(last) && strlen(last) - prefix < 10;
    unsigned long number = numbered ? strtoul(last + prefix, NULL, 10) + 1 : 1;
    if (!numbered)
        prefix = strlen(last);
    if (prefix > NAME_PREFIX_MAX) {
        for (prefix = NAME_PREFIX_MAX; prefix && ((unsigned char)last[prefix] & 0xc0) == 0x80;)
            prefix--; /* do not cut within a character */
    }
    enum err err = OK;
    for (uint32_t v = 0; v < all && !err;) {
        if (v < old)
            grown->names[v] = strdup(topology->names[v]);
        else if (asprintf(&grown->names[v], "%.*s%s%lu", (int)prefix, last, numbered ? "" : "-",
                          number++) < 0)
            grown->names[v] = NULL;
        if (!grown->names[v])
            err = why_memory(why);
        else if (v >= old && bsearch(&grown->names[v], sorted, old, sizeof *sorted, name_order))
            free(grown->names[v]); /* the name is in use: try the next number */
        else
            v++;
    }
    free(sorted);
    return err;
}

static enum err result_make(struct topology *grown, const struct rewire *rewire,
                            const struct topology *topology, const struct grow_order *order,
                            struct why *why)
{
    const struct wiring *wiring = &rewire->wiring;
    enum topology_kind kind =
        topology->kind == TOPOLOGY_JELLYFISH ? TOPOLOGY_JELLYFISH : TOPOLOGY_OTHER;
    enum err err = topology_init(grown, kind, topology->direct, wiring->node_count, wiring->cables,
                                 wiring->cable_count, why);
    if (err)
        return err;
    for (uint32_t v = 0; v < wiring->node_count; v++) {
        if (v < topology->graph.node_count) {
            grown->sites[v] = topology->sites[v];
        } else {
            grown->sites[v].servers = topology->direct ? 1 : order->servers;
            grown->sites[v].ports = order->ports;
        }
    }
    topology_count_servers(grown);
    if (topology->names)
        err = names_extend(grown, topology, why);
    if (err)
        topology_fini(grown);
    return err;
}

static enum err order_validate(const struct topology *topology, const struct grow_order *order,
                               struct why *why)
{
    uint64_t servers =
        topology->server_count + (uint64_t)order->count * (topology->direct ? 1 : order->servers);
    if (order->count == 0)
        return why_fail(why, ERR_USAGE, "there is nothing to add: the number of new nodes is 0");
    if (!topology->direct && order->servers > order->ports)
        return why_fail(why, ERR_USAGE, "a new switch cannot have %u servers: it has only %u ports",
                        order->servers, order->ports);
    if (order->ports == (topology->direct ? 0 : order->servers))
        return why_fail(why, ERR_USAGE, "a new %s would have no port for a link",
                        topology->direct ? "server" : "switch");
    if ((uint64_t)topology->graph.node_count + order->count > GRAPH_NODE_MAX)
        return why_fail(why, ERR_USAGE, "the network would have more than %u nodes",
                        GRAPH_NODE_MAX);
    if (servers > UINT32_MAX)
        return why_fail(why, ERR_USAGE, "the network would have more than %u servers", UINT32_MAX);
    return OK;
}

enum err grow_topology(struct growth *growth, const struct topology *topology,
                       const struct grow_order *order, struct why *why)
{
    struct rewire rewire;
    *growth = (struct growth){.first = topology->graph.node_count};
    enum err err = order_validate(topology, order, why);
    if (err)
        return err;
    err = cables_grow(&rewire, topology, order, why);
    if (err)
        return err;
    for (uint32_t v = growth->first; v < rewire.wiring.node_count; v++) {
        growth->ports_added += rewire.limit[v];
        growth->ports_free += rewire_room(&rewire, v);
    }
    assert(rewire.plan.unplug_count <= growth->ports_added);
    err = result_make(&growth->topology, &rewire, topology, order, why);
    if (!err) {
        growth->plan = rewire.plan;
        rewire.plan = (struct rewire_plan){0};
    }
    rewire_fini(&rewire);
    return err;
}

void growth_fini(struct growth *growth)
{
    topology_fini(&growth->topology);
    rewire_plan_fini(&growth->plan);
}

void growth_accept(struct growth *growth, struct topology *topology)
{
    topology_fini(topology);
    *topology = growth->topology;
    growth->topology = (struct topology){0};
    growth_fini(growth);
}
