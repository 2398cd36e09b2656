/* format_topology: turns a draft into a topology.
 *
 * In this order: every node that a link names must exist; names that are exactly the numbers 0 ..
 * N-1 become the ids; two arcs become one cable and repeated links are checked; the graph is made;
 * sites are filled in and checked against the graph. Each error names the line at fault. */
#include "topology/format/format_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"

/* A link as an unordered pair, for sorting: equal pairs become consecutive, in the order of the
 * file. */
struct pair {
    uint32_t low, high;
    uint32_t index;
};

static int pair_compare(const void *left, const void *right)
{
    const struct pair *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->high != b->high)
        return a->high < b->high ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static const char *node_text(const struct draft *draft, uint32_t node)
{
    return name_index_text(&draft->names, node);
}

static enum err declared_check(const struct draft *draft, uint32_t line)
{
    if (draft->names.count == 0)
        return draft_fail(draft, line, "the file has no nodes");
    for (uint32_t v = 0; draft->declare && v < draft->names.count; v++)
        if (!draft->nodes[v].declared)
            return draft_fail(draft, draft->nodes[v].named,
                              "a link names node '%.60s', which is not among the nodes",
                              node_text(draft, v));
    return OK;
}

/* A canonical whole number below `bound`, or NODE_NONE. */
static uint32_t name_number(const char *name, uint32_t bound)
{
    uint64_t value = 0;
    if (!*name || (name[0] == '0' && name[1]))
        return NODE_NONE;
    for (; *name; name++) {
        if (*name < '0' || *name > '9')
            return NODE_NONE;
        value = value * 10 + (uint64_t)(*name - '0');
        if (value >= bound)
            return NODE_NONE;
    }
    return (uint32_t)value;
}

/* ids[v] is the id of the v-th name. Returns true if the names are the ids themselves: all names
 * differ, so N numbers below N are all of them. */
static bool ids_assign(const struct draft *draft, uint32_t *ids)
{
    uint32_t count = draft->names.count;
    for (uint32_t v = 0; v < count; v++) {
        ids[v] = name_number(node_text(draft, v), count);
        if (ids[v] == NODE_NONE) {
            for (v = 0; v < count; v++)
                ids[v] = v;
            return false;
        }
    }
    return true;
}

/* Checks repeated links within one run of links between the same two nodes. */
static enum err repeats_judge(const struct draft *draft, const struct pair *run, uint32_t size,
                              uint8_t *dropped)
{
    bool seen[2] = {false, false}; /* per direction */
    for (uint32_t i = 0; i < size; i++) {
        const struct draft_link *at = &draft->links[run[i].index];
        bool backward = draft->directed && at->link.a > at->link.b;
        if (seen[backward] && draft->repeat == REPEAT_REFUSED)
            return draft_fail(
                draft, at->line,
                "'%.60s' and '%.60s' are linked twice, but the file is not a multigraph",
                node_text(draft, at->link.a), node_text(draft, at->link.b));
        dropped[run[i].index] = seen[backward] && draft->repeat == REPEAT_SAME;
        seen[backward] = true;
    }
    return OK;
}

/* The next arc of a run, from `i`, that goes up (or down) in node numbers. */
static uint32_t arc_next(const struct draft *draft, const struct pair *run, uint32_t size,
                         uint32_t i, bool backward, const uint8_t *dropped)
{
    for (; i < size; i++) {
        const struct link *link = &draft->links[run[i].index].link;
        if (!dropped[run[i].index] && (link->a > link->b) == backward)
            break;
    }
    return i;
}

/* The i-th arc one way and the i-th arc back are one cable. It keeps the position of its first arc,
 * and the other arc is dropped. */
static enum err arcs_join(struct draft *draft, const struct pair *run, uint32_t size,
                          uint8_t *dropped)
{
    for (uint32_t ahead = 0, back = 0;; ahead++, back++) {
        ahead = arc_next(draft, run, size, ahead, false, dropped);
        back = arc_next(draft, run, size, back, true, dropped);
        if (ahead == size && back == size)
            return OK;
        if (ahead == size || back == size) {
            const struct draft_link *lone = &draft->links[run[ahead == size ? back : ahead].index];
            return draft_fail(
                draft, lone->line,
                "the file is directed, but the arc from '%.60s' to '%.60s' has no reverse",
                node_text(draft, lone->link.a), node_text(draft, lone->link.b));
        }
        uint32_t second = run[ahead < back ? back : ahead].index;
        struct link *kept = &draft->links[run[ahead < back ? ahead : back].index].link;
        const struct link *other = &draft->links[second].link;
        if (kept->a_port == PORT_ANY)
            kept->a_port = other->b_port;
        if (kept->b_port == PORT_ANY)
            kept->b_port = other->a_port;
        dropped[second] = 1;
    }
}

/* Checks repeated pairs and joins arcs; removes the links that are dropped. */
static enum err links_settle(struct draft *draft)
{
    uint32_t count = draft->link_count, kept = 0;
    if (draft->repeat == REPEAT_PARALLEL && !draft->directed)
        return OK;
    struct pair *pairs = array_new(count, sizeof *pairs);
    uint8_t *dropped = array_new(count, 1);
    enum err err = pairs && dropped ? OK : why_memory(draft->why);
    for (uint32_t e = 0; !err && e < count; e++) {
        uint32_t a = draft->links[e].link.a, b = draft->links[e].link.b;
        pairs[e] = (struct pair){a < b ? a : b, a < b ? b : a, e};
    }
    if (!err)
        qsort(pairs, count, sizeof *pairs, pair_compare);
    for (uint32_t from = 0, to; !err && from < count; from = to) {
        for (to = from + 1;
             to < count && pairs[to].low == pairs[from].low && pairs[to].high == pairs[from].high;)
            to++;
        err = repeats_judge(draft, pairs + from, to - from, dropped);
        if (!err && draft->directed)
            err = arcs_join(draft, pairs + from, to - from, dropped);
    }
    for (uint32_t e = 0; !err && e < count; e++)
        if (!dropped[e])
            draft->links[kept++] = draft->links[e];
    if (!err)
        draft->link_count = kept;
    free(pairs);
    free(dropped);
    return err;
}

/* graph_make has found a port that is used twice; finds the line of its second use. */
static enum err port_blame(const struct draft *draft)
{
    uint32_t count = draft->link_count;
    struct pair *ends = array_new(2 * (size_t)count, sizeof *ends);
    if (!ends)
        return why_memory(draft->why);
    for (uint32_t e = 0; e < count; e++) {
        const struct link *link = &draft->links[e].link;
        ends[2 * e] = (struct pair){link->a, link->a_port, e};
        ends[2 * e + 1] = (struct pair){link->b, link->b_port, e};
    }
    qsort(ends, 2 * (size_t)count, sizeof *ends, pair_compare);
    const struct pair *blame = NULL;
    for (uint32_t i = 1; i < 2 * count; i++)
        if (ends[i].high != PORT_ANY && ends[i].low == ends[i - 1].low &&
            ends[i].high == ends[i - 1].high && (!blame || ends[i].index < blame->index))
            blame = &ends[i];
    assert(blame);
    enum err err =
        draft_fail(draft, draft->links[blame->index].line, "port %u of node '%.60s' has two cables",
                   blame->high, node_text(draft, blame->low));
    free(ends);
    return err;
}

static enum err graph_draft(const struct draft *draft, const uint32_t *ids, bool direct,
                            struct topology *out)
{
    struct link *links = array_new(draft->link_count, sizeof *links);
    if (!links)
        return why_memory(draft->why);
    for (uint32_t e = 0; e < draft->link_count; e++) {
        links[e] = draft->links[e].link;
        links[e].a = ids[links[e].a];
        links[e].b = ids[links[e].b];
    }
    enum err err = topology_init(out, TOPOLOGY_OTHER, direct, draft->names.count, links,
                                 draft->link_count, draft->why);
    free(links);
    return err == ERR_INPUT ? port_blame(draft) : err;
}

/* If the file does not say it, a network is direct unless some node has a number of servers other
 * than one. */
static bool direct_decide(const struct draft *draft)
{
    if (draft->direct_said)
        return draft->direct;
    for (uint32_t v = 0; v < draft->names.count; v++)
        if (draft->nodes[v].site.has_servers && draft->nodes[v].site.site.servers != 1)
            return false;
    return true;
}

static uint32_t node_line(const struct draft_node *node)
{
    return node->declared ? node->declared : node->named;
}

static enum err sites_fill(const struct draft *draft, const uint32_t *ids, struct topology *out)
{
    uint64_t servers = 0;
    for (uint32_t v = 0; v < draft->names.count; v++) {
        const struct draft_node *node = &draft->nodes[v];
        struct site *site = &out->sites[ids[v]];
        uint32_t line = node_line(node);
        *site = node->site.site;
        if (!node->site.has_servers)
            site->servers = out->direct;
        if (out->direct && site->servers != 1)
            return draft_fail(
                draft, line,
                "node '%.60s' has %u servers; in a direct network every node is one server",
                node_text(draft, v), site->servers);
        uint64_t used = topology_used_ports(out, ids[v]);
        if (site->ports && used > site->ports)
            return draft_fail(draft, line, "node '%.60s' has %u ports, but uses %llu",
                              node_text(draft, v), site->ports, (unsigned long long)used);
        servers += site->servers;
        if (servers > UINT32_MAX)
            return draft_fail(draft, line, "there are more than %u servers, the maximum",
                              UINT32_MAX);
    }
    topology_count_servers(out);
    return OK;
}

static enum err port_fits(const struct draft *draft, const struct topology *out, uint32_t node,
                          uint32_t id, uint32_t port, uint32_t line)
{
    uint32_t ports = out->sites[id].ports;
    if (port == PORT_ANY)
        return OK;
    if (ports && port >= ports)
        return draft_fail(draft, line,
                          "there is no port %u: node '%.60s' has %u ports, numbered from 0", port,
                          node_text(draft, node), ports);
    if (port > DRAFT_PORT_MAX && port >= graph_degree(&out->graph, id))
        return draft_fail(draft, line, "port %u of node '%.60s' is above the maximum, %u", port,
                          node_text(draft, node), DRAFT_PORT_MAX);
    return OK;
}

static enum err ports_fit(const struct draft *draft, const uint32_t *ids,
                          const struct topology *out)
{
    for (uint32_t e = 0; e < draft->link_count; e++) {
        const struct draft_link *at = &draft->links[e];
        enum err err =
            port_fits(draft, out, at->link.a, ids[at->link.a], at->link.a_port, at->line);
        if (!err)
            err = port_fits(draft, out, at->link.b, ids[at->link.b], at->link.b_port, at->line);
        if (err)
            return err;
    }
    return OK;
}

static enum err names_fill(const struct draft *draft, struct topology *out)
{
    out->names = array_new(draft->names.count, sizeof *out->names);
    if (!out->names)
        return why_memory(draft->why);
    for (uint32_t v = 0; v < draft->names.count; v++) {
        out->names[v] = strdup(node_text(draft, v));
        if (!out->names[v])
            return why_memory(draft->why);
    }
    return OK;
}

static void axes_fill(const struct draft *draft, struct topology *out)
{
    uint64_t product = 1;
    for (uint32_t axis = 0; axis < draft->axis_count && product <= GRAPH_NODE_MAX; axis++)
        product *= draft->axis_size[axis];
    if (draft->axis_count == 0 || product != out->graph.node_count)
        return;
    out->axis_count = draft->axis_count;
    memcpy(out->axis_size, draft->axis_size, sizeof draft->axis_size);
}

enum err draft_finish(struct draft *draft, uint32_t line, struct topology *out)
{
    enum err err = declared_check(draft, line);
    if (!err)
        err = links_settle(draft);
    if (err)
        return err;
    uint32_t *ids = array_new(draft->names.count, sizeof *ids);
    if (!ids)
        return why_memory(draft->why);
    bool numbered = ids_assign(draft, ids);
    err = graph_draft(draft, ids, direct_decide(draft), out);
    if (err)
        goto free_ids;
    err = sites_fill(draft, ids, out);
    if (!err)
        err = ports_fit(draft, ids, out);
    if (!err && !numbered)
        err = names_fill(draft, out);
    if (!err) {
        axes_fill(draft, out);
        err = format_trust_spec(out, draft->spec, draft->why);
    }
    if (err)
        topology_fini(out);
free_ids:
    free(ids);
    return err;
}
