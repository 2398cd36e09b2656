#include "cli/cluster/cluster_health.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

#define LISTED          12 /* names in a line; further ones are counted */
#define MISWIRED_LISTED 4  /* ends: as many as two exchanged cables have */

const char *const cluster_link_names[LINK_STATES] = {
    [LINK_UP] = "up",     [LINK_COMING] = "coming", [LINK_DOWN] = "down",
    [LINK_LOST] = "lost", [LINK_CUT] = "cut",       [LINK_MISWIRED] = "miswired",
};

const char *const health_names[] = {"OK", "WARN", "ERR"};

const char *const health_code_names[HEALTH_CODES] = {
#define HEALTH_NAME(name, severity) #name,
    HEALTH_LIST(HEALTH_NAME)
#undef HEALTH_NAME
};

enum health health_severity(enum health_code code)
{
    static const enum health severities[HEALTH_CODES] = {
#define HEALTH_SEVERITY(name, severity) severity,
        HEALTH_LIST(HEALTH_SEVERITY)
#undef HEALTH_SEVERITY
    };
    return severities[code];
}

void cluster_health_fini(struct cluster_health *health)
{
    free(health->part_of);
    free(health->part_size);
    free(health->cables);
    *health = (struct cluster_health){0};
}

/* ---- servers ---- */

static bool is_live(const struct cluster_seen *seen)
{
    return seen->state == SERVER_LIVE;
}

static bool is_stuck(const struct cluster_seen *seen)
{
    return seen->state == SERVER_SILENT && seen->stuck_service[0];
}

static bool is_full(const struct control_trouble *trouble)
{
    return trouble->kept >= trouble->share;
}

static bool has_mistakes(const struct control_trouble *trouble)
{
    return trouble->mistakes > 0;
}

static bool is_slow(const struct control_trouble *trouble)
{
    return trouble->slow > 0;
}

static void servers_count(struct cluster_health *health, const struct cluster_seen *seen)
{
    for (node_id v = 0; v < health->server_count; v++) {
        const struct control_snapshot *snapshot = &seen[v].snapshot;
        health->dead += seen[v].state == SERVER_DEAD;
        health->silent += seen[v].state == SERVER_SILENT;
        health->stuck += is_stuck(&seen[v]);
        if (!is_live(&seen[v]))
            continue;
        health->live++;
        for (uint32_t i = 0; i < snapshot->trouble_count; i++) {
            health->full += is_full(&snapshot->troubles[i]);
            health->mistaken += has_mistakes(&snapshot->troubles[i]);
            health->slow += is_slow(&snapshot->troubles[i]);
        }
        health->joining += !snapshot->node.settled;
        health->sent += snapshot->node.sent;
        health->delivered += snapshot->node.delivered;
        health->intercepted += snapshot->node.intercepted;
        health->waiting += snapshot->node.limbo;
        for (unsigned i = 0; i < DROP_COUNT; i++)
            health->drops[i] += snapshot->node.drops[i];
        for (uint32_t port = 0; port < snapshot->port_count; port++) {
            health->packets_out += snapshot->ports[port].packets_out;
            health->bytes_out += snapshot->ports[port].bytes_out;
            health->frames_out += snapshot->ports[port].frames_out;
        }
    }
}

static bool counts_on_dead(const struct cluster_health *health, const struct cluster_seen *seen,
                           node_id server)
{
    for (node_id v = 0; v < health->server_count; v++)
        if (seen[v].state == SERVER_DEAD && control_reaches(&seen[server].snapshot, v))
            return true;
    return false;
}

/* ---- parts ---- */

/* Two live servers are in one part if one of them reaches the other. */
static void part_walk(struct cluster_health *health, const struct cluster_seen *seen, node_id from,
                      uint32_t part, node_id *stack)
{
    uint32_t depth = 0;
    stack[depth++] = from;
    health->part_of[from] = part;
    while (depth > 0) {
        node_id v = stack[--depth];
        health->part_size[part]++;
        for (node_id u = 0; u < health->server_count; u++) {
            if (health->part_of[u] != UINT32_MAX || !is_live(&seen[u]) ||
                !(control_reaches(&seen[v].snapshot, u) || control_reaches(&seen[u].snapshot, v)))
                continue;
            health->part_of[u] = part;
            stack[depth++] = u;
        }
    }
}

/* Gives number 0 to the largest part. */
static void largest_first(struct cluster_health *health)
{
    uint32_t largest = 0;
    for (uint32_t part = 1; part < health->part_count; part++)
        if (health->part_size[part] > health->part_size[largest])
            largest = part;
    if (largest == 0)
        return;
    uint32_t size = health->part_size[0];
    health->part_size[0] = health->part_size[largest];
    health->part_size[largest] = size;
    for (node_id v = 0; v < health->server_count; v++)
        if (health->part_of[v] == 0 || health->part_of[v] == largest)
            health->part_of[v] = health->part_of[v] == 0 ? largest : 0;
}

static enum err parts_find(struct cluster_health *health, const struct cluster_seen *seen,
                           struct why *why)
{
    uint32_t count = health->server_count;
    node_id *stack = malloc(count * sizeof *stack);
    health->part_of = malloc(count * sizeof *health->part_of);
    health->part_size = calloc(count, sizeof *health->part_size);
    if (!stack || !health->part_of || !health->part_size) {
        free(stack);
        return why_memory(why);
    }
    for (node_id v = 0; v < count; v++)
        health->part_of[v] = UINT32_MAX;
    for (node_id v = 0; v < count; v++)
        if (is_live(&seen[v]) && health->part_of[v] == UINT32_MAX)
            part_walk(health, seen, v, health->part_count++, stack);
    free(stack);
    largest_first(health);
    return OK;
}

/* Tells whether the server does not reach another one of its part. */
static bool misses_one(const struct cluster_health *health, const struct cluster_seen *seen,
                       node_id server)
{
    for (node_id v = 0; v < health->server_count; v++)
        if (health->part_of[v] == health->part_of[server] &&
            !control_reaches(&seen[server].snapshot, v))
            return true;
    return false;
}

/* Returns the digest that most servers of a part have; the first if several are as frequent. */
static uint64_t usual_digest(const struct cluster_health *health, const struct cluster_seen *seen,
                             uint32_t part)
{
    uint64_t usual = 0;
    uint32_t most = 0;
    for (node_id v = 0; v < health->server_count; v++) {
        uint32_t same = 0;
        if (health->part_of[v] != part)
            continue;
        for (node_id u = v; u < health->server_count; u++)
            same += health->part_of[u] == part &&
                    seen[u].snapshot.node.digest == seen[v].snapshot.node.digest;
        if (same > most) {
            most = same;
            usual = seen[v].snapshot.node.digest;
        }
        if (most > health->part_size[part] / 2)
            break;
    }
    return usual;
}

static void agreement_find(struct cluster_health *health, const struct cluster_seen *seen)
{
    for (uint32_t part = 0; part < health->part_count; part++) {
        uint64_t usual = usual_digest(health, seen, part);
        for (node_id v = 0; v < health->server_count; v++)
            health->unagreed +=
                health->part_of[v] == part &&
                (seen[v].snapshot.node.digest != usual || misses_one(health, seen, v));
    }
    for (node_id v = 0; v < health->server_count; v++)
        health->unnoticing += is_live(&seen[v]) && counts_on_dead(health, seen, v);
}

/* ---- links ---- */

static enum port_state end_state(const struct cluster_seen *seen, node_id server, uint32_t port)
{
    const struct control_snapshot *snapshot = &seen[server].snapshot;
    if (!is_live(&seen[server]) || port >= snapshot->port_count)
        return PORT_ABSENT;
    return snapshot->ports[port].state;
}

static bool is_near(enum port_state state)
{
    return state == PORT_UP || state == PORT_COMING;
}

static enum cluster_link link_judge(const struct cluster_seen *seen,
                                    const struct cluster_cable *cable)
{
    enum port_state a = end_state(seen, cable->a, cable->a_port);
    enum port_state b = end_state(seen, cable->b, cable->b_port);
    if (a == PORT_MISWIRED || b == PORT_MISWIRED)
        return LINK_MISWIRED;
    if (a == PORT_CUT || b == PORT_CUT)
        return LINK_CUT;
    if (!is_live(&seen[cable->a]) || !is_live(&seen[cable->b]))
        return LINK_LOST;
    if (a == PORT_UP && b == PORT_UP)
        return LINK_UP;
    return is_near(a) && is_near(b) ? LINK_COMING : LINK_DOWN;
}

static enum err links_judge(struct cluster_health *health, const struct plan *plan,
                            const struct cluster_seen *seen, struct why *why)
{
    uint32_t ends = plan->server_count * plan->port_count;
    health->cables = calloc(ends / 2 + 1, sizeof *health->cables);
    if (!health->cables)
        return why_memory(why);
    for (node_id v = 0; v < plan->server_count; v++) {
        for (uint32_t port = 0; port < plan->port_count; port++) {
            const struct plan_end *end = plan_end(plan, v, port);
            if (end->server == NODE_NONE || end->server < v ||
                (end->server == v && end->port < port))
                continue;
            struct cluster_cable *cable = &health->cables[health->cable_count++];
            *cable = (struct cluster_cable){v, end->server, port, end->port, LINK_UP};
            cable->state = link_judge(seen, cable);
            health->links[cable->state]++;
        }
    }
    assert(health->cable_count <= ends / 2);
    return OK;
}

/* ---- the verdict ---- */

static void reasons_find(struct cluster_health *health)
{
    bool *reasons = health->reasons;
    reasons[HEALTH_ALL_SERVERS_DOWN] = health->live + health->silent == 0;
    reasons[HEALTH_CLUSTER_SPLIT] = health->part_count > 1;
    reasons[HEALTH_LINKS_MISWIRED] = health->links[LINK_MISWIRED] > 0;
    reasons[HEALTH_SERVERS_DOWN] = health->dead > 0 && health->dead < health->server_count;
    reasons[HEALTH_SERVERS_SILENT] = health->silent > 0;
    reasons[HEALTH_SERVERS_JOINING] = health->joining > 0;
    reasons[HEALTH_DEATHS_UNNOTICED] = health->unnoticing > 0;
    reasons[HEALTH_LINKS_CUT] = health->links[LINK_CUT] > 0;
    reasons[HEALTH_LINKS_DOWN] = health->links[LINK_DOWN] + health->links[LINK_COMING] > 0;
    reasons[HEALTH_ROUTES_DIFFER] = health->unagreed > 0;
    reasons[HEALTH_SERVICES_FULL] = health->full > 0;
    reasons[HEALTH_SERVICES_MISTAKEN] = health->mistaken > 0;
    reasons[HEALTH_SERVICES_STUCK] = health->stuck > 0;
    reasons[HEALTH_SERVICES_SLOW] = health->slow > 0;
    for (int code = 0; code < HEALTH_CODES; code++)
        if (reasons[code] && health_severity((enum health_code)code) > health->health)
            health->health = health_severity((enum health_code)code);
}

enum err cluster_health(struct cluster_health *health, const struct plan *plan,
                        const struct cluster_seen *seen, struct why *why)
{
    *health = (struct cluster_health){.server_count = plan->server_count};
    servers_count(health, seen);
    enum err err = parts_find(health, seen, why);
    if (!err)
        err = links_judge(health, plan, seen, why);
    if (err) {
        cluster_health_fini(health);
        return err;
    }
    agreement_find(health, seen);
    reasons_find(health);
    return OK;
}

/* ---- texts ---- */

void cluster_list_servers(struct text *out, const struct plan *plan, cluster_pick *pick,
                          const void *context)
{
    char buffer[NODE_NAME_SIZE];
    uint32_t listed = 0, more = 0;
    for (node_id v = 0; v < plan->server_count; v++) {
        if (!pick(context, v))
            continue;
        if (listed == LISTED) {
            more++;
            continue;
        }
        text_printf(out, "%s%s", listed++ ? ", " : "", topology_name(plan->topology, v, buffer));
    }
    if (more)
        text_printf(out, " and %u more", more);
}

struct asked {
    const struct cluster_health *health;
    const struct cluster_seen *seen;
};

static bool pick_dead(const void *context, node_id server)
{
    const struct asked *asked = context;
    return asked->seen[server].state == SERVER_DEAD;
}

static bool pick_silent(const void *context, node_id server)
{
    const struct asked *asked = context;
    return asked->seen[server].state == SERVER_SILENT;
}

static bool pick_joining(const void *context, node_id server)
{
    const struct asked *asked = context;
    return is_live(&asked->seen[server]) && !asked->seen[server].snapshot.node.settled;
}

/* Selects the servers that are not in the largest part. */
static bool pick_apart(const void *context, node_id server)
{
    const struct asked *asked = context;
    return is_live(&asked->seen[server]) && asked->health->part_of[server] != 0;
}

static void list_cables(struct text *out, const struct cluster_health *health,
                        const struct plan *plan, enum cluster_link one, enum cluster_link other)
{
    char a[NODE_NAME_SIZE], b[NODE_NAME_SIZE];
    uint32_t listed = 0, more = 0;
    for (uint32_t i = 0; i < health->cable_count; i++) {
        const struct cluster_cable *cable = &health->cables[i];
        if (cable->state != one && cable->state != other)
            continue;
        if (listed == LISTED) {
            more++;
            continue;
        }
        text_printf(out, "%s%s - %s", listed++ ? ", " : "",
                    topology_name(plan->topology, cable->a, a),
                    topology_name(plan->topology, cable->b, b));
    }
    if (more)
        text_printf(out, " and %u more", more);
}

/* "4:2 leads to 8:1, not to 5:3", each end as server:port */
static void miswired_end(struct text *out, const struct plan *plan, const struct cluster_seen *seen,
                         node_id server, uint32_t port, uint32_t *listed)
{
    char own[NODE_NAME_SIZE], found[NODE_NAME_SIZE], planned[NODE_NAME_SIZE];
    const struct topology *topology = plan->topology;
    const struct port_snapshot *snapshot = &seen[server].snapshot.ports[port];
    if (end_state(seen, server, port) != PORT_MISWIRED || snapshot->found >= plan->server_count)
        return;
    if ((*listed)++ >= MISWIRED_LISTED)
        return;
    text_printf(out, "%s%s:%u leads to %s:%u, not to %s:%u", *listed > 1 ? "; " : "",
                topology_name(topology, server, own), port,
                topology_name(topology, snapshot->found, found), snapshot->found_port,
                topology_name(topology, snapshot->peer, planned), snapshot->peer_port);
}

static void list_miswired(struct text *out, const struct cluster_health *health,
                          const struct plan *plan, const struct cluster_seen *seen)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < health->cable_count; i++) {
        const struct cluster_cable *cable = &health->cables[i];
        if (cable->state != LINK_MISWIRED)
            continue;
        miswired_end(out, plan, seen, cable->a, cable->a_port, &listed);
        miswired_end(out, plan, seen, cable->b, cable->b_port, &listed);
    }
    if (listed > MISWIRED_LISTED)
        text_printf(out, "; and %u more ends", listed - MISWIRED_LISTED);
}

static void list_parts(struct text *out, const struct cluster_health *health)
{
    for (uint32_t part = 0; part < health->part_count && part < LISTED; part++)
        text_printf(out, "%s%u", part ? " + " : "", health->part_size[part]);
    if (health->part_count > LISTED)
        text_puts(out, " + ...");
}

static void full_put(struct text *out, const struct control_trouble *trouble)
{
    text_printf(out, " (%u packets; %llu more refused)", trouble->kept,
                (unsigned long long)trouble->over_share);
}

static void mistakes_put(struct text *out, const struct control_trouble *trouble)
{
    text_printf(out, " (%llu)", (unsigned long long)trouble->mistakes);
}

static void slow_put(struct text *out, const struct control_trouble *trouble)
{
    text_printf(out, " (%llu times; %s for %.1f ms)", (unsigned long long)trouble->slow,
                node_callback_names[trouble->slow_in], (double)trouble->slow_nsec / 1e6);
}

/* The services that `pick` selects: "hoard on 4 (256 packets; 17 more refused), ..." */
static void list_services(struct text *out, const struct plan *plan,
                          const struct cluster_seen *seen,
                          bool (*pick)(const struct control_trouble *trouble),
                          void (*put)(struct text *out, const struct control_trouble *trouble))
{
    char name[NODE_NAME_SIZE];
    uint32_t listed = 0, more = 0;
    for (node_id v = 0; v < plan->server_count; v++) {
        const struct control_snapshot *snapshot = &seen[v].snapshot;
        for (uint32_t i = 0; is_live(&seen[v]) && i < snapshot->trouble_count; i++) {
            const struct control_trouble *trouble = &snapshot->troubles[i];
            if (!pick(trouble))
                continue;
            if (listed == LISTED) {
                more++;
                continue;
            }
            text_printf(out, "%s%s on %s", listed++ ? ", " : "", trouble->service,
                        topology_name(plan->topology, v, name));
            put(out, trouble);
        }
    }
    if (more)
        text_printf(out, " and %u more", more);
}

/* "spin on 4 (deliver, for 12 s), ..." */
static void list_stuck(struct text *out, const struct cluster_health *health,
                       const struct plan *plan, const struct cluster_seen *seen)
{
    char name[NODE_NAME_SIZE];
    uint32_t listed = 0;
    text_count(out, health->stuck, "service does", "services do");
    text_puts(out, " not return, and the servers of that process hang: ");
    for (node_id v = 0; v < plan->server_count && listed < LISTED; v++)
        if (is_stuck(&seen[v]))
            text_printf(out, "%s%s on %s (%s, for %.0f s)", listed++ ? ", " : "",
                        seen[v].stuck_service, topology_name(plan->topology, v, name),
                        seen[v].stuck_function, seen[v].stuck_seconds);
}

void cluster_health_reason(const struct cluster_health *health, enum health_code code,
                           const struct plan *plan, const struct cluster_seen *seen,
                           struct text *out)
{
    struct asked asked = {health, seen};
    switch (code) {
    case HEALTH_ALL_SERVERS_DOWN:
        text_printf(out, "no process of the cluster runs");
        break;
    case HEALTH_CLUSTER_SPLIT:
        text_printf(out, "not all live servers reach each other: ");
        list_parts(out, health);
        text_puts(out, " servers; not in the largest part: ");
        cluster_list_servers(out, plan, pick_apart, &asked);
        break;
    case HEALTH_LINKS_MISWIRED:
        text_count(out, health->links[LINK_MISWIRED], "link is", "links are");
        text_puts(out, " not wired as planned (server:port): ");
        list_miswired(out, health, plan, seen);
        break;
    case HEALTH_SERVERS_DOWN:
        text_printf(out, "%u of %u servers %s dead: ", health->dead, health->server_count,
                    health->dead == 1 ? "is" : "are");
        cluster_list_servers(out, plan, pick_dead, &asked);
        break;
    case HEALTH_SERVERS_SILENT:
        text_count(out, health->silent, "server runs but does", "servers run but do");
        text_puts(out, " not answer: ");
        cluster_list_servers(out, plan, pick_silent, &asked);
        break;
    case HEALTH_SERVERS_JOINING:
        text_count(out, health->joining, "server is", "servers are");
        text_puts(out, " still joining: ");
        cluster_list_servers(out, plan, pick_joining, &asked);
        break;
    case HEALTH_DEATHS_UNNOTICED:
        text_count(out, health->unnoticing, "server has", "servers have");
        text_puts(out, " not noticed yet that other servers are dead");
        break;
    case HEALTH_LINKS_CUT:
        text_count(out, health->links[LINK_CUT], "link is", "links are");
        text_puts(out, " cut: ");
        list_cables(out, health, plan, LINK_CUT, LINK_CUT);
        break;
    case HEALTH_LINKS_DOWN:
        text_count(out, health->links[LINK_DOWN] + health->links[LINK_COMING], "link", "links");
        text_puts(out, " between live servers not up: ");
        list_cables(out, health, plan, LINK_DOWN, LINK_COMING);
        break;
    case HEALTH_ROUTES_DIFFER:
        text_count(out, health->unagreed, "server has", "servers have");
        text_puts(out, " another link state than most");
        break;
    case HEALTH_SERVICES_FULL:
        text_count(out, health->full, "service holds", "services hold");
        text_puts(out, " as many packets as allowed, and gets no more: ");
        list_services(out, plan, seen, is_full, full_put);
        break;
    case HEALTH_SERVICES_MISTAKEN:
        text_count(out, health->mistaken, "service uses", "services use");
        text_puts(out, " functions of weft wrongly (see the server's log; number of times): ");
        list_services(out, plan, seen, has_mistakes, mistakes_put);
        break;
    case HEALTH_SERVICES_STUCK:
        list_stuck(out, health, plan, seen);
        break;
    case HEALTH_SERVICES_SLOW:
        text_count(out, health->slow, "service has", "services have");
        text_puts(out, " functions that ran for more than 1 ms, and delayed all packets: ");
        list_services(out, plan, seen, is_slow, slow_put);
        break;
    case HEALTH_CODES:
        assert_unreachable();
    }
}
