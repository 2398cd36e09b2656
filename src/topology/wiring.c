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
    if (!wiring->first || !wiring->free)
        goto fail;
    for (uint32_t v = 0; v < node_count; v++) {
        wiring->first[v + 1] = wiring->first[v] + ports[v];
        wiring->free[v] = ports[v];
    }
    uint64_t total = wiring->first[node_count];
    wiring->cable_at = array_new(total, sizeof *wiring->cable_at);
    wiring->cables = array_new(total / 2, sizeof *wiring->cables);
    if (!wiring->cable_at || !wiring->cables)
        goto fail;
    for (uint64_t port = 0; port < total; port++)
        wiring->cable_at[port] = CABLE_NONE;
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
    free(wiring->free);
    *wiring = (struct wiring){0};
}

static uint32_t port_take(struct wiring *wiring, uint32_t node, uint32_t port, uint32_t cable)
{
    uint32_t *at = wiring->cable_at + wiring->first[node];
    assert(wiring->free[node] > 0);
    if (port == PORT_ANY)
        for (port = 0; at[port] != CABLE_NONE;)
            port++;
    assert(port < wiring_ports(wiring, node) && at[port] == CABLE_NONE);
    at[port] = cable;
    wiring->free[node]--;
    return port;
}

uint32_t wiring_plug(struct wiring *wiring, uint32_t a, uint32_t a_port, uint32_t b,
                     uint32_t b_port)
{
    assert(a != b && a < wiring->node_count && b < wiring->node_count);
    uint32_t cable = wiring->cable_count++;
    wiring->cables[cable] = (struct link){
        .a = a,
        .b = b,
        .a_port = port_take(wiring, a, a_port, cable),
        .b_port = port_take(wiring, b, b_port, cable),
    };
    return cable;
}

static void cable_point(struct wiring *wiring, const struct link *cable, uint32_t to)
{
    wiring->cable_at[wiring->first[cable->a] + cable->a_port] = to;
    wiring->cable_at[wiring->first[cable->b] + cable->b_port] = to;
}

void wiring_unplug(struct wiring *wiring, uint32_t cable)
{
    assert(cable < wiring->cable_count);
    const struct link gone = wiring->cables[cable];
    cable_point(wiring, &gone, CABLE_NONE);
    wiring->free[gone.a]++;
    wiring->free[gone.b]++;
    uint32_t last = --wiring->cable_count;
    if (cable != last) {
        wiring->cables[cable] = wiring->cables[last];
        cable_point(wiring, &wiring->cables[cable], cable);
    }
}

uint32_t wiring_find(const struct wiring *wiring, uint32_t a, uint32_t b)
{
    if (wiring_ports(wiring, a) > wiring_ports(wiring, b)) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    for (uint64_t at = wiring->first[a]; at < wiring->first[a + 1]; at++) {
        uint32_t cable = wiring->cable_at[at];
        if (cable != CABLE_NONE && wiring_other_end(&wiring->cables[cable], a) == b)
            return cable;
    }
    return CABLE_NONE;
}

/* One of two searches that grow towards each other. */
struct front {
    uint32_t *queue;
    uint32_t head, tail;
    uint8_t mark;
};

/* Looks at one node of the front; true if it met the other one. */
static bool front_advance(struct front *front, const struct wiring *wiring, uint32_t avoid,
                          uint8_t *marks)
{
    uint32_t node = front->queue[front->head++];
    for (uint64_t at = wiring->first[node]; at < wiring->first[node + 1]; at++) {
        uint32_t cable = wiring->cable_at[at];
        if (cable == CABLE_NONE || cable == avoid)
            continue;
        uint32_t next = wiring_other_end(&wiring->cables[cable], node);
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
