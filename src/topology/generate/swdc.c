/* swdc: a lattice, the weights of random cables by distance, and the cables.
 *
 * All positions of a lattice look alike or, in a honeycomb, are of two kinds that alternate along
 * axis 0. So the weights are tabulated once per parity, for the offsets from the first position of
 * that parity, and a draw is a binary search.
 *
 * Invariants: cables 0 .. lattice.link_count - 1 of the wiring are those of the lattice and are
 * never unplugged; the sums of the weights are computed in node order, so that a seed gives the
 * same network on every machine. */
#include "topology/generate/swdc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "base/rng.h"
#include "topology/generate/torus.h"
#include "topology/spec.h"
#include "topology/wiring.h"

#define PARITIES_MAX 2
#define DRAWS_MAX    32  /* draws of a node before it waits for the leftover step */
#define BREAKS_MAX   256 /* random cables tried before all are visited */
#define BUILDS_MAX   100 /* new starts; only the smallest networks need one */

struct lattice {
    enum topology_kind kind;
    uint32_t axis_count;
    uint32_t axis_size[AXIS_MAX];
    uint32_t parities; /* 2 in a honeycomb: even and odd along axis 0 */
    uint32_t node_count;
    uint32_t link_count;
    struct link *links; /* owned */
    /* Per parity, by offset: hops through the lattice, and the running sum of the weights.
     * Owned. */
    struct bfs search[PARITIES_MAX];
    double *odds[PARITIES_MAX];
};

static void lattice_fini(struct lattice *lattice)
{
    free(lattice->links);
    for (uint32_t parity = 0; parity < PARITIES_MAX; parity++) {
        bfs_fini(&lattice->search[parity]);
        free(lattice->odds[parity]);
    }
}

static enum err lattice_validate(const struct lattice *lattice, const char *spec, struct why *why)
{
    const uint32_t *size = lattice->axis_size;
    if (lattice->node_count > SWDC_NODE_MAX)
        return why_fail(why, ERR_USAGE, "%s: there are more than %u nodes, the maximum", spec,
                        SWDC_NODE_MAX);
    if (lattice->kind == TOPOLOGY_SWDC_RING && size[0] <= SWDC_DEGREE)
        return why_fail(why, ERR_USAGE, "%s: degree 6 needs 7 nodes or more", spec);
    if (lattice->kind == TOPOLOGY_SWDC_TORUS2D &&
        (lattice->axis_count != 2 || size[0] < 3 || size[1] < 3))
        return why_fail(why, ERR_USAGE, "%s: expected two sizes of 3 or more, such as 22x22", spec);
    if (lattice->kind == TOPOLOGY_SWDC_HEX3D &&
        (lattice->axis_count != 3 || size[0] < 4 || size[0] % 2 || size[1] < 2 || size[2] < 3))
        return why_fail(why, ERR_USAGE,
                        "%s: expected AxBxC, A even and at least 4, B at least 2, C at least 3",
                        spec);
    return OK;
}

/* The cables of a honeycomb torus, layer upon layer. */
static uint32_t hex_links(const uint32_t *size, struct link *links)
{
    uint32_t row = size[0], layer = size[0] * size[1], count = 0;
    assert(row > 0 && size[1] > 0 && layer > 0);
    for (uint32_t node = 0; node < layer * size[2]; node++) {
        uint32_t a = node % row, b = node / row % size[1], c = node / layer;
        uint32_t next = a + 1 < row ? node + 1 : node - a;
        uint32_t above = c + 1 < size[2] ? node + layer : node - c * layer;
        links[count++] = (struct link){.a = node, .b = next, .a_port = 0, .b_port = 1};
        if (a % 2 == 0)
            links[count++] = (struct link){.a = node,
                                           .b = (b > 0 ? node - row : node + layer - row) + 1,
                                           .a_port = 2,
                                           .b_port = 2};
        links[count++] = (struct link){.a = node, .b = above, .a_port = 3, .b_port = 4};
    }
    return count;
}

static enum err lattice_links(struct lattice *lattice, struct why *why)
{
    lattice->links = array_new((size_t)lattice->node_count * 3, sizeof *lattice->links);
    if (!lattice->links)
        return why_memory(why);
    lattice->link_count =
        lattice->kind == TOPOLOGY_SWDC_HEX3D
            ? hex_links(lattice->axis_size, lattice->links)
            : torus_links(lattice->axis_size, lattice->axis_count, lattice->links);
    return OK;
}

/* The weight is 0 for the node itself and for its lattice neighbours. */
static double lattice_weight(const struct lattice *lattice, uint32_t distance)
{
    if (distance < 2)
        return 0;
    double power = distance;
    for (uint32_t axis = 1; axis < lattice->axis_count; axis++)
        power *= distance;
    return 1 / power;
}

static enum err lattice_odds(struct lattice *lattice, struct why *why)
{
    struct graph graph;
    enum err err =
        graph_make(&graph, lattice->node_count, lattice->links, lattice->link_count, why);
    if (err)
        return err;
    for (uint32_t parity = 0; parity < lattice->parities && !err; parity++) {
        struct bfs *search = &lattice->search[parity];
        double *odds = array_new(lattice->node_count, sizeof *odds), sum = 0;
        lattice->odds[parity] = odds;
        if (!bfs_init(search, lattice->node_count) || !odds) {
            err = why_memory(why);
            break;
        }
        bfs_start(search, parity);
        graph_search(&graph, search);
        for (uint32_t v = 0; v < lattice->node_count; v++) {
            sum += lattice_weight(lattice, search->level[v]);
            odds[v] = sum;
        }
    }
    graph_fini(&graph);
    return err;
}

static uint32_t lattice_parity(const struct lattice *lattice, uint32_t node)
{
    return node % lattice->axis_size[0] % lattice->parities;
}

/* Translates `node` by the offset that leads from `by` to the first position of the same parity or,
 * backwards, from that position to `by`. */
static uint32_t lattice_shift(const struct lattice *lattice, uint32_t node, uint32_t by,
                              bool backwards)
{
    uint32_t out = 0, stride = 1;
    by -= lattice_parity(lattice, by);
    for (uint32_t axis = 0; axis < lattice->axis_count; axis++) {
        uint32_t size = lattice->axis_size[axis], at = node % size, move = by % size;
        out += (backwards ? at + move : at + size - move) % size * stride;
        stride *= size;
        node /= size;
        by /= size;
    }
    return out;
}

/* Draws a partner by the weights; NODE_NONE if rounding led beyond the last node. */
static uint32_t lattice_draw(const struct lattice *lattice, uint32_t node, struct rng *rng)
{
    const double *odds = lattice->odds[lattice_parity(lattice, node)];
    double aim = rng_unit(rng) * odds[lattice->node_count - 1];
    uint32_t low = 0, high = lattice->node_count; /* finds the first running sum above aim */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (odds[middle] > aim)
            high = middle;
        else
            low = middle + 1;
    }
    return low == lattice->node_count ? NODE_NONE : lattice_shift(lattice, low, node, true);
}

static bool joinable(const struct wiring *wiring, uint32_t a, uint32_t b)
{
    return a != b && wiring_find(wiring, a, b) == CABLE_NONE;
}

static void join(struct wiring *wiring, uint32_t a, uint32_t b)
{
    wiring_plug(wiring, a, PORT_ANY, b, PORT_ANY);
}

/* Every node with a free port begins one cable per round. */
static void cables_by_draw(const struct lattice *lattice, struct wiring *wiring,
                           const uint32_t *order, uint32_t rounds, struct rng *rng)
{
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < lattice->node_count; i++) {
            uint32_t node = order[i];
            for (uint32_t draw = 0; draw < DRAWS_MAX && wiring->free[node] > 0; draw++) {
                uint32_t to = lattice_draw(lattice, node, rng);
                if (to != NODE_NONE && wiring->free[to] > 0 && joinable(wiring, node, to)) {
                    join(wiring, node, to);
                    break;
                }
            }
        }
    }
}

/* Draws a partner among the leftover nodes by the same weights, or NODE_NONE. */
static uint32_t leftover_draw(const struct lattice *lattice, const struct wiring *wiring,
                              uint32_t node, const uint32_t *left, uint32_t count, double *sums,
                              struct rng *rng)
{
    const uint32_t *distance = lattice->search[lattice_parity(lattice, node)].level;
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = left[i];
        if (wiring->free[to] > 0 && joinable(wiring, node, to))
            sum += lattice_weight(lattice, distance[lattice_shift(lattice, to, node, false)]);
        sums[i] = sum;
    }
    double aim = rng_unit(rng) * sum;
    for (uint32_t i = 0; i < count; i++)
        if (sums[i] > aim)
            return left[i];
    return NODE_NONE;
}

/* Pairs the nodes that the draws left over, as far as possible. `left` and `sums` have room for all
 * nodes. */
static void cables_leftover(const struct lattice *lattice, struct wiring *wiring,
                            const uint32_t *order, uint32_t *left, double *sums, struct rng *rng)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < lattice->node_count; i++)
        if (wiring->free[order[i]] > 0)
            left[count++] = order[i];
    while (count > 0) {
        uint32_t node = left[count - 1];
        uint32_t to = leftover_draw(lattice, wiring, node, left, count - 1, sums, rng);
        if (to != NODE_NONE)
            join(wiring, node, to);
        if (to == NODE_NONE || wiring->free[node] == 0)
            count--;
        uint32_t kept = 0; /* finished nodes leave, the others keep their order */
        for (uint32_t i = 0; i < count; i++)
            if (wiring->free[left[i]] > 0)
                left[kept++] = left[i];
        count = kept;
    }
}

/* Replaces a random cable u-v by x-u and y-v, where x and y have a free port each. x and y may be
 * one node with two free ports. */
static bool break_cable(struct wiring *wiring, uint32_t cable, uint32_t x, uint32_t y)
{
    for (int turn = 0; turn < 2; turn++) {
        const struct link link = wiring->cables[cable];
        uint32_t u = turn ? link.b : link.a, v = turn ? link.a : link.b;
        if (!joinable(wiring, x, u) || !joinable(wiring, y, v))
            continue;
        wiring_unplug(wiring, cable);
        join(wiring, x, u);
        join(wiring, y, v);
        return true;
    }
    return false;
}

static bool break_some_cable(const struct lattice *lattice, struct wiring *wiring, uint32_t x,
                             uint32_t y, struct rng *rng)
{
    uint32_t fixed = lattice->link_count, loose = wiring->cable_count - fixed;
    for (uint32_t i = 0; i < BREAKS_MAX && loose > 0; i++)
        if (break_cable(wiring, fixed + (uint32_t)rng_below(rng, loose), x, y))
            return true;
    for (uint32_t i = 0; i < loose; i++)
        if (break_cable(wiring, fixed + i, x, y))
            return true;
    return false;
}

/* Uses the last free ports, two at a time; false if that is impossible. */
static bool cables_repair(const struct lattice *lattice, struct wiring *wiring, struct rng *rng)
{
    uint32_t waiting = NODE_NONE;
    for (uint32_t node = 0; node < lattice->node_count; node++) {
        while (wiring->free[node] >= 2)
            if (!break_some_cable(lattice, wiring, node, node, rng))
                return false;
        if (wiring->free[node] == 0)
            continue;
        if (waiting == NODE_NONE) {
            waiting = node;
            continue;
        }
        if (joinable(wiring, waiting, node))
            join(wiring, waiting, node);
        else if (!break_some_cable(lattice, wiring, waiting, node, rng))
            return false;
        waiting = NODE_NONE;
    }
    return waiting == NODE_NONE;
}

static enum err cables_make_once(const struct lattice *lattice, struct wiring *wiring,
                                 struct rng *rng, bool *done, struct why *why)
{
    uint32_t nodes = lattice->node_count;
    uint32_t *ports = array_new(nodes, sizeof *ports);
    uint32_t *order = array_new(nodes, sizeof *order);
    double *sums = array_new(nodes, sizeof *sums);
    enum err err = OK;
    if (!ports || !order || !sums) {
        err = why_memory(why);
        goto done;
    }
    for (uint32_t v = 0; v < nodes; v++) {
        ports[v] = SWDC_DEGREE;
        order[v] = v;
    }
    err = wiring_init(wiring, nodes, ports, why);
    if (err)
        goto done;
    for (uint32_t e = 0; e < lattice->link_count; e++) {
        const struct link *link = &lattice->links[e];
        wiring_plug(wiring, link->a, link->a_port, link->b, link->b_port);
    }
    rng_shuffle(rng, order, nodes);
    cables_by_draw(lattice, wiring, order, wiring->free[0], rng);
    cables_leftover(lattice, wiring, order, ports, sums, rng);
    *done = cables_repair(lattice, wiring, rng);
done:
    free(ports);
    free(order);
    free(sums);
    return err;
}

static enum err cables_make(const struct lattice *lattice, struct wiring *wiring, uint64_t seed,
                            const char *spec, struct why *why)
{
    for (uint32_t build = 0; build < BUILDS_MAX; build++) {
        struct rng rng = rng_make(seed, build);
        bool done = false;
        enum err err = cables_make_once(lattice, wiring, &rng, &done, why);
        if (err || done)
            return err;
        wiring_fini(wiring);
    }
    return why_fail(why, ERR_USAGE, "%s: too small to give every node 6 different neighbours",
                    spec);
}

static enum err lattice_read(struct lattice *lattice, const char *spec, struct spec_field *fields,
                             size_t field_count, struct why *why)
{
    static const enum topology_kind kinds[] = {TOPOLOGY_SWDC_RING, TOPOLOGY_SWDC_TORUS2D,
                                               TOPOLOGY_SWDC_HEX3D};
    for (uint32_t i = 0; i < 3; i++) {
        size_t size = strlen(topology_kind_name(kinds[i]));
        if (strncmp(spec, topology_kind_name(kinds[i]), size) == 0 && spec[size] == ':') {
            *lattice = (struct lattice){.kind = kinds[i], .parities = 1, .node_count = 1};
            enum err err = spec_sizes(spec, lattice->axis_size, &lattice->axis_count, i + 1, fields,
                                      field_count, why);
            if (err)
                return err;
        }
    }
    assert(lattice->axis_count > 0); /* the table of generators has no other names */
    if (lattice->kind == TOPOLOGY_SWDC_HEX3D)
        lattice->parities = 2;
    for (uint32_t axis = 0; axis < lattice->axis_count; axis++)
        lattice->node_count *= lattice->axis_size[axis];
    return lattice_validate(lattice, spec, why);
}

/* Sets sites and the canonical spec. */
static void swdc_finish(struct topology *topology, const struct lattice *lattice, uint64_t seed,
                        uint64_t servers)
{
    topology->axis_count = lattice->axis_count;
    memcpy(topology->axis_size, lattice->axis_size, sizeof topology->axis_size);
    topology_set_servers(topology, (uint32_t)servers);
    spec_write_sizes(topology->spec, topology_kind_name(lattice->kind), lattice->axis_size,
                     lattice->axis_count);
    size_t used = strlen(topology->spec);
    used += (size_t)snprintf(topology->spec + used, SPEC_SIZE - used, ",seed=%llu",
                             (unsigned long long)seed);
    if (servers)
        snprintf(topology->spec + used, SPEC_SIZE - used, ",servers=%u", (uint32_t)servers);
}

enum err swdc_build(struct topology *topology, const char *spec, struct why *why)
{
    struct spec_field fields[] = {{.key = "seed"}, {.key = "servers"}};
    uint64_t seed = 1, servers = 0;
    struct lattice lattice = {0};
    struct wiring wiring = {0};
    enum err err = lattice_read(&lattice, spec, fields, 2, why);
    if (!err)
        err = spec_uint(spec, &fields[0], 0, UINT64_MAX, &seed, why);
    if (!err)
        err = spec_uint(spec, &fields[1], 1, SWDC_SERVERS_MAX, &servers, why);
    if (!err)
        err = lattice_links(&lattice, why);
    if (!err)
        err = lattice_odds(&lattice, why);
    if (!err)
        err = cables_make(&lattice, &wiring, seed, spec, why);
    if (!err)
        err = topology_init(topology, lattice.kind, servers == 0, lattice.node_count, wiring.cables,
                            wiring.cable_count, why);
    if (!err)
        swdc_finish(topology, &lattice, seed, servers);
    wiring_fini(&wiring);
    lattice_fini(&lattice);
    return err;
}
