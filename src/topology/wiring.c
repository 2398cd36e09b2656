#include "topology/wiring.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"

enum err wiring_init(struct wiring *wiring, uint32_t node_count, const uint32_t *ports,
                     struct why *why)
{
    *wiring = (struct wiring){.node_count = node_count};
    wiring->first = array_new((size_t)node_count + 1, sizeof *wiring->first);
    wiring->free = array_new(node_count, sizeof *wiring->free);
    wiring->lowest = array_new(node_count, sizeof *wiring->lowest);
    if (!wiring->first || !wiring->free || !wiring->lowest)
        goto fail;
    for (uint32_t v = 0; v < node_count; v++) {
        wiring->first[v + 1] = wiring->first[v] + ports[v];
        wiring->free[v] = ports[v];
    }
    uint64_t total = wiring->first[node_count];
    wiring->cable_at = array_new(total, sizeof *wiring->cable_at);
    wiring->peer_at = array_new(total, sizeof *wiring->peer_at);
    wiring->cables = array_new(total / 2, sizeof *wiring->cables);
    if (!wiring->cable_at || !wiring->peer_at || !wiring->cables)
        goto fail;
    for (uint64_t port = 0; port < total; port++) {
        wiring->cable_at[port] = CABLE_NONE;
        wiring->peer_at[port] = NODE_NONE;
    }
    return OK;

fail:
    wiring_fini(wiring);
    return why_memory(why);
}

void wiring_fini(struct wiring *wiring)
{
    free(wiring->cables);
    free(wiring->first);
    free(wiring->cable_at);
    free(wiring->peer_at);
    free(wiring->free);
    free(wiring->lowest);
    *wiring = (struct wiring){0};
}

static uint32_t port_take(struct wiring *wiring, uint32_t node, uint32_t port, uint32_t cable,
                          uint32_t peer)
{
    uint64_t first = wiring->first[node];
    const uint32_t *at = wiring->cable_at + first;
    assert(wiring->free[node] > 0);
    uint32_t lowest = wiring->lowest[node];
    while (at[lowest] != CABLE_NONE) /* the loop ends, because a port is free */
        lowest++;
    if (port == PORT_ANY)
        port = lowest;
    assert(port < wiring_ports(wiring, node) && at[port] == CABLE_NONE);
    wiring->lowest[node] = lowest + (port == lowest);
    wiring->cable_at[first + port] = cable;
    wiring->peer_at[first + port] = peer;
    wiring->free[node]--;
    return port;
}

static void port_release(struct wiring *wiring, uint32_t node, uint32_t port)
{
    wiring->cable_at[wiring->first[node] + port] = CABLE_NONE;
    wiring->peer_at[wiring->first[node] + port] = NODE_NONE;
    wiring->free[node]++;
    if (port < wiring->lowest[node])
        wiring->lowest[node] = port;
}

uint32_t wiring_plug(struct wiring *wiring, uint32_t a, uint32_t a_port, uint32_t b,
                     uint32_t b_port)
{
    assert(a != b && a < wiring->node_count && b < wiring->node_count);
    uint32_t cable = wiring->cable_count++;
    wiring->cables[cable] = (struct link){
        .a = a,
        .b = b,
        .a_port = port_take(wiring, a, a_port, cable, b),
        .b_port = port_take(wiring, b, b_port, cable, a),
    };
    return cable;
}

/* Updates both ports of the cable. */
static void cable_point(struct wiring *wiring, uint32_t index)
{
    const struct link *cable = &wiring->cables[index];
    uint64_t a_at = wiring->first[cable->a] + cable->a_port;
    uint64_t b_at = wiring->first[cable->b] + cable->b_port;
    wiring->cable_at[a_at] = wiring->cable_at[b_at] = index;
    wiring->peer_at[a_at] = cable->b;
    wiring->peer_at[b_at] = cable->a;
}

void wiring_unplug(struct wiring *wiring, uint32_t cable)
{
    assert(cable < wiring->cable_count);
    const struct link gone = wiring->cables[cable];
    port_release(wiring, gone.a, gone.a_port);
    port_release(wiring, gone.b, gone.b_port);
    uint32_t last = --wiring->cable_count;
    if (cable != last) {
        wiring->cables[cable] = wiring->cables[last];
        cable_point(wiring, cable);
    }
}

void wiring_turn(struct wiring *wiring, uint32_t cable)
{
    assert(cable < wiring->cable_count);
    struct link *link = &wiring->cables[cable];
    *link =
        (struct link){.a = link->b, .b = link->a, .a_port = link->b_port, .b_port = link->a_port};
}

void wiring_move(struct wiring *wiring, uint32_t cable, uint32_t from, uint32_t to)
{
    assert(cable < wiring->cable_count);
    struct link *link = &wiring->cables[cable];
    assert(link->a == from || link->b == from);
    if (link->a == from)
        wiring_turn(wiring, cable);
    assert(link->a != to && to < wiring->node_count);
    port_release(wiring, from, link->b_port);
    link->b_port = port_take(wiring, to, PORT_ANY, cable, link->a);
    link->b = to;
    cable_point(wiring, cable);
}

void wiring_cross(struct wiring *wiring, uint32_t one, uint32_t other)
{
    assert(one != other && one < wiring->cable_count && other < wiring->cable_count);
    const struct link left = wiring->cables[one], right = wiring->cables[other];
    assert(left.a != right.a && left.b != right.b);
    wiring->cables[one] =
        (struct link){.a = left.a, .b = right.a, .a_port = left.a_port, .b_port = right.a_port};
    wiring->cables[other] =
        (struct link){.a = left.b, .b = right.b, .a_port = left.b_port, .b_port = right.b_port};
    cable_point(wiring, one);
    cable_point(wiring, other);
}

/* All cables of the node are in ports below the returned one. */
static uint32_t ports_to_search(const struct wiring *wiring, uint32_t node)
{
    uint32_t ports = wiring_ports(wiring, node), used = ports - wiring->free[node];
    return wiring->lowest[node] == used ? used : ports;
}

bool wiring_joined(const struct wiring *wiring, uint32_t a, uint32_t b)
{
    uint32_t count = ports_to_search(wiring, a), others = ports_to_search(wiring, b);
    if (others < count) {
        uint32_t swap = a;
        a = b;
        b = swap;
        count = others;
    }
    const uint32_t *peers = wiring->peer_at + wiring->first[a];
    uint32_t found = 0;
    for (uint32_t port = 0; port < count; port++)
        found |= peers[port] == b; /* no early exit: the compiler compares many at once */
    return found;
}

uint32_t wiring_find(const struct wiring *wiring, uint32_t a, uint32_t b)
{
    if (ports_to_search(wiring, a) > ports_to_search(wiring, b)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    for (uint64_t at = wiring->first[a]; at < wiring->first[a + 1]; at++)
        if (wiring->peer_at[at] == b)
            return wiring->cable_at[at];
    return CABLE_NONE;
}

/* One of two searches that grow towards each other. Not a struct bfs: both share one array of
 * marks, bytes that begin as 0, so that the many short searches of a rewiring plan touch little
 * memory in a large network. */
struct front {
    uint32_t *queue;
    uint32_t head, tail;
    uint8_t mark;
};

/* Advances the front by one node; true if it met the other front. */
static bool front_advance(struct front *front, const struct wiring *wiring, uint32_t avoid,
                          uint8_t *marks)
{
    uint32_t node = front->queue[front->head++];
    for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++) {
        uint32_t cable = wiring->cable_at[at];
        if (cable == CABLE_NONE || cable == avoid)
            continue;
        uint32_t next = wiring->peer_at[at];
        if (marks[next] == front->mark)
            continue;
        if (marks[next])
            return true;
        marks[next] = front->mark;
        front->queue[front->tail++] = next;
    }
    return false;
}

enum err wiring_reaches(const struct wiring *wiring, uint32_t a, uint32_t b, uint32_t avoid,
                        bool *reaches, struct why *why)
{
    *reaches = a == b;
    if (a == b)
        return OK;
    uint8_t *marks = array_new(wiring->node_count, 1);
    uint32_t *queues = array_new(2 * (size_t)wiring->node_count, sizeof *queues);
    enum err err = OK;
    if (!marks || !queues) {
        err = why_memory(why);
        goto done;
    }
    struct front fronts[2] = {{.queue = queues, .mark = 1},
                              {.queue = queues + wiring->node_count, .mark = 2}};
    fronts[0].queue[fronts[0].tail++] = a;
    fronts[1].queue[fronts[1].tail++] = b;
    marks[a] = 1;
    marks[b] = 2;
    for (int turn = 0; fronts[turn].head < fronts[turn].tail && !*reaches; turn ^= 1)
        *reaches = front_advance(&fronts[turn], wiring, avoid, marks);
done:
    free(marks);
    free(queues);
    return err;
}
