/* jellyfish: from numbers of ports to cables.
 *
 * jellyfish_words.c reads the spec; equip() decides the ports and servers of every node;
 * cables_make() makes the cables with random_graph.c or two_layer.c, and connect.c joins the parts.
 * All arithmetic is on integers, so that a seed gives the same graph on every machine. */
#include "topology/generate/jellyfish.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/check.h"
#include "topology/generate/connect.h"
#include "topology/generate/jellyfish_words.h"
#include "topology/generate/random_graph.h"
#include "topology/generate/two_layer.h"
#include "topology/wiring.h"

/* Random streams: one block for every attempt to get a connected network. A block has
 * RANDOM_GRAPH_STREAMS for the whole graph, or for the layer between containers and for every
 * container, and one stream for joining the parts. */
#define STREAM_JELLYFISH   (UINT64_C(0x4a46) << 48) /* "JF" */
#define STREAM_ATTEMPT     (UINT64_C(1) << 40)
#define STREAM_CONNECT     (UINT64_C(1) << 39)
#define CABLES_ATTEMPT_MAX 64

static_assert((GRAPH_NODE_MAX + UINT64_C(1)) * RANDOM_GRAPH_STREAMS < STREAM_CONNECT,
              "every container has its streams below the one for joining");

/* Ports and servers of every node. */
struct equipment {
    uint32_t *ports;   /* all ports of the node */
    uint32_t *servers; /* attached servers; none in the direct form */
    uint32_t *links;   /* link ports: all remaining ports */
    uint32_t *kind;    /* does not decrease; equal for nodes with the same equipment */
};

static void equipment_fini(struct equipment *equipment)
{
    free(equipment->ports);
    free(equipment->servers);
    free(equipment->links);
    free(equipment->kind);
}

/* The largest number of servers that a switch can take: if there are other switches, one port must
 * be left for a link. */
static uint32_t server_room(const struct jellyfish_words *words, uint32_t ports)
{
    return words->node_count > 1 ? ports - 1 : ports;
}

/* How many servers fit if no switch takes more than `level`. */
static uint64_t servers_at_level(const struct jellyfish_words *words, uint64_t level)
{
    uint64_t sum = 0, carrying = words->node_count - words->bare;
    for (uint32_t r = 0; r < words->run_count; r++) {
        uint64_t room = server_room(words, words->runs[r].ports);
        uint64_t count = words->runs[r].count < carrying ? words->runs[r].count : carrying;
        sum += count * (room < level ? room : level);
        carrying -= count;
    }
    return sum;
}

static enum err totals_validate(const struct jellyfish_words *words, struct why *why)
{
    unsigned long long servers = words->server_count, ports = 0;
    for (uint32_t r = 0; r < words->run_count; r++)
        ports += (unsigned long long)words->runs[r].count * words->runs[r].ports;
    if (servers > ports)
        return why_fail(why, ERR_USAGE, "%s: %llu servers do not fit on %llu ports", words->spec,
                        servers, ports);
    if (servers > 0 && words->bare == words->node_count)
        return why_fail(why, ERR_USAGE,
                        "%s: all switches are bare, so there is no switch for the servers",
                        words->spec);
    if (servers > servers_at_level(words, UINT64_MAX))
        return why_fail(why, ERR_USAGE,
                        "%s: %llu servers would leave a switch without a port for a link",
                        words->spec, servers);
    if ((ports - servers) / 2 > GRAPH_LINK_MAX)
        return why_fail(why, ERR_USAGE, "%s: there are more than %u links, the maximum",
                        words->spec, GRAPH_LINK_MAX);
    return OK;
}

/* Spreads the servers: raises all switches to the highest level of servers that is possible for
 * all, limited by their ports; the remaining servers go, evenly spaced, to switches with room. */
static void servers_spread(const struct jellyfish_words *words, struct equipment *equipment)
{
    uint32_t carrying = words->node_count - words->bare;
    uint64_t level = 0, beyond = (uint64_t)GRAPH_NODE_MAX + 1; /* larger than any switch */
    while (beyond - level > 1) {
        uint64_t middle = (level + beyond) / 2;
        if (servers_at_level(words, middle) <= words->server_count)
            level = middle;
        else
            beyond = middle;
    }
    uint64_t rest = words->server_count - servers_at_level(words, level);
    uint64_t above = servers_at_level(words, level + 1) - servers_at_level(words, level);
    uint64_t rank = 0; /* among the switches with room above the level */
    for (uint32_t v = 0; v < carrying; v++) {
        uint64_t room = server_room(words, equipment->ports[v]);
        if (room <= level) {
            equipment->servers[v] = (uint32_t)room;
            continue;
        }
        uint64_t extra = (rank + 1) * rest / above - rank * rest / above;
        equipment->servers[v] = (uint32_t)(level + extra);
        rank++;
    }
}

/* Refuses numbers that are clearly impossible. Whether parallel links can be avoided is found out
 * when the cables are made. */
static enum err links_validate(const struct jellyfish_words *words,
                               const struct equipment *equipment, struct why *why)
{
    uint32_t others = words->node_count - 1;
    uint64_t sum = 0;
    for (uint32_t v = 0; v < words->node_count; v++) {
        sum += equipment->links[v];
        if (equipment->links[v] > others)
            return why_fail(why, ERR_USAGE,
                            "%s: switch %u has %u link ports, but only %u others to link to",
                            words->spec, v, equipment->links[v], others);
    }
    if (sum / 2 < others)
        return why_fail(why, ERR_USAGE, "%s: %llu links cannot connect %u %s", words->spec,
                        (unsigned long long)(sum / 2), words->node_count,
                        words->direct ? "nodes" : "switches");
    return OK;
}

static enum err equip(struct equipment *equipment, const struct jellyfish_words *words,
                      struct why *why)
{
    uint32_t nodes = words->node_count, node = 0;
    enum err err = totals_validate(words, why);
    if (err)
        return err;
    equipment->ports = array_new(nodes, sizeof *equipment->ports);
    equipment->servers = array_new(nodes, sizeof *equipment->servers);
    equipment->links = array_new(nodes, sizeof *equipment->links);
    equipment->kind = array_new(nodes, sizeof *equipment->kind);
    if (!equipment->ports || !equipment->servers || !equipment->links || !equipment->kind)
        return why_memory(why);
    for (uint32_t r = 0; r < words->run_count; r++) {
        for (uint32_t i = 0; i < words->runs[r].count; i++, node++) {
            equipment->ports[node] = words->runs[r].ports;
            equipment->kind[node] = r + (node >= nodes - words->bare ? JELLYFISH_RUN_MAX : 0);
        }
    }
    if (!words->direct)
        servers_spread(words, equipment);
    for (uint32_t v = 0; v < nodes; v++)
        equipment->links[v] = equipment->ports[v] - equipment->servers[v];
    return links_validate(words, equipment, why);
}

static enum err plug_plain(const struct jellyfish_words *words, const uint32_t *ports,
                           struct wiring *wiring, uint64_t stream, struct why *why)
{
    uint32_t *nodes = array_new(words->node_count, sizeof *nodes);
    if (!nodes)
        return why_memory(why);
    for (uint32_t v = 0; v < words->node_count; v++)
        nodes[v] = v;
    const struct random_graph want = {
        .nodes = nodes,
        .node_count = words->node_count,
        .ports = ports,
        .seed = words->seed,
        .stream = stream,
    };
    bool done;
    enum err err = random_graph_plug(wiring, &want, &done, why);
    free(nodes);
    if (!err && !done)
        err = why_fail(why, ERR_USAGE,
                       "%s: these numbers of link ports cannot all be used without parallel links",
                       words->spec);
    return err;
}

/* Plugs the cables and joins the parts. Containers may prevent that; then further attempts with
 * other random streams may succeed. Without containers the first attempt is enough. */
static enum err cables_make(const struct jellyfish_words *words, const struct equipment *equipment,
                            const struct two_layer *plan, struct wiring *wiring, struct why *why)
{
    bool connected = false;
    for (uint64_t number = 0; number < CABLES_ATTEMPT_MAX && !connected; number++) {
        uint64_t stream = STREAM_JELLYFISH + number * STREAM_ATTEMPT;
        struct rng rng = rng_make(words->seed, stream + STREAM_CONNECT);
        while (wiring->cable_count > 0)
            wiring_unplug(wiring, wiring->cable_count - 1);
        enum err err = OK;
        if (plan->container_count)
            err = two_layer_plug(plan, wiring, words->seed, stream, words->spec, why);
        else
            err = plug_plain(words, equipment->links, wiring, stream, why);
        if (!err)
            err = connect_parts(wiring, plan->container_count > 1 ? plan->container : NULL, &rng,
                                &connected, why);
        if (err)
            return err;
    }
    if (!connected)
        return why_fail(why, ERR_USAGE,
                        "%s: found no connected wiring with this share of local links; try another "
                        "seed or share",
                        words->spec);
    return OK;
}

/* The cables of the wiring by lower, then higher end, without port numbers: graph_make then numbers
 * every node's ports by neighbour. Visiting the higher ends in order fills every lower end's range
 * in order. */
static struct link *links_sorted(const struct wiring *wiring)
{
    uint32_t nodes = wiring->node_count;
    struct link *links = array_new(wiring->cable_count, sizeof *links);
    uint32_t *next = array_new((size_t)nodes + 1, sizeof *next);
    if (!links || !next) {
        free(links);
        free(next);
        return NULL;
    }
    for (uint32_t e = 0; e < wiring->cable_count; e++) {
        const struct link *cable = &wiring->cables[e];
        next[(cable->a < cable->b ? cable->a : cable->b) + 1]++;
    }
    for (uint32_t v = 0; v < nodes; v++)
        next[v + 1] += next[v];
    for (uint32_t b = 0; b < nodes; b++) {
        for (uint64_t at = wiring->first[b]; at < wiring->first[b + 1]; at++) {
            uint32_t a = wiring->peer_at[at];
            if (a < b) /* which excludes NODE_NONE */
                links[next[a]++] =
                    (struct link){.a = a, .b = b, .a_port = PORT_ANY, .b_port = PORT_ANY};
        }
    }
    free(next);
    return links;
}

static enum err topology_fill(struct topology *topology, const struct jellyfish_words *words,
                              const struct equipment *equipment, const struct two_layer *plan,
                              const struct wiring *wiring, struct why *why)
{
    struct link *links = links_sorted(wiring);
    if (!links)
        return why_memory(why);
    enum err err = topology_init(topology, TOPOLOGY_JELLYFISH, words->direct, words->node_count,
                                 links, wiring->cable_count, why);
    free(links);
    if (err)
        return err;
    for (uint32_t v = 0; v < words->node_count; v++) {
        struct site *site = &topology->sites[v];
        site->ports = equipment->ports[v];
        if (!words->direct)
            site->servers = equipment->servers[v];
        if (plan->container_count)
            site->group = plan->container[v];
    }
    topology_count_servers(topology);
    err = jellyfish_words_write(words, topology->spec, why);
    if (err)
        topology_fini(topology);
    return err;
}

enum err jellyfish_build(struct topology *topology, const char *spec, struct why *why)
{
    struct jellyfish_words words;
    struct equipment equipment = {0};
    struct two_layer plan = {0};
    struct wiring wiring = {0};
    enum err err = jellyfish_words_read(&words, spec, why);
    if (!err)
        err = equip(&equipment, &words, why);
    if (!err && words.containers)
        err = two_layer_plan(&plan, words.node_count, equipment.kind, equipment.links,
                             words.containers, words.share, spec, why);
    if (!err)
        err = wiring_init(&wiring, words.node_count, equipment.links, why);
    if (!err)
        err = cables_make(&words, &equipment, &plan, &wiring, why);
    if (!err)
        err = topology_fill(topology, &words, &equipment, &plan, &wiring, why);
    wiring_fini(&wiring);
    two_layer_fini(&plan);
    equipment_fini(&equipment);
    return err;
}
