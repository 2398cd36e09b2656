/* weft nodes */
#include <stdlib.h>
#include <string.h>

#include "cli/cluster/cluster.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/service/service_values.h"
#include "os/cluster/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC (2 * NSEC_PER_SEC)

static const char nodes_page[] =
    "{=<><>>>>>>>}"
    "server\tpid\tstate\tlinks\treaches\tsent\tdelivered\tout\tdropped\tage\n"
    "{#nodes}{label}\t{?pid}{pid}{/}\t{state}\t"
    "{?live}{links}\t{reaches}\t{sent}\t{delivered}\t{packets_out}\t{dropped}\t{age%.1f} s"
    "{:}\t\t\t\t\t\t{/}\n{/}{/}";

struct nodes {
    struct call *call;
    struct cluster cluster;
    struct cluster_seen *seen;
};

static const char *state_word(const struct cluster_seen *seen)
{
    if (seen->state != SERVER_LIVE)
        return seen->state == SERVER_DEAD ? "dead" : "silent";
    return seen->snapshot.node.settled ? "up" : "joining";
}

static uint32_t links_up(const struct control_snapshot *snapshot, uint32_t *planned)
{
    uint32_t up = 0;
    *planned = 0;
    for (uint32_t port = 0; port < snapshot->port_count; port++) {
        up += snapshot->ports[port].state == PORT_UP;
        *planned += snapshot->ports[port].state != PORT_ABSENT;
    }
    return up;
}

static uint64_t dropped(const struct node_snapshot *snapshot)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        sum += snapshot->drops[i];
    return sum;
}

static const char *const port_words[] = {
    [PORT_ABSENT] = "absent",     [PORT_DOWN] = "down", [PORT_HEARD] = "heard",
    [PORT_COMING] = "coming",     [PORT_UP] = "up",     [PORT_CUT] = "cut",
    [PORT_MISWIRED] = "miswired",
};

static void port_put(struct result *result, uint32_t number, const struct port_snapshot *port)
{
    result_object(result, NULL);
    result_uint(result, "port", number);
    result_string(result, "state", port_words[port->state]);
    result_uint(result, "peer", port->peer);
    result_uint(result, "peer_port", port->peer_port);
    if (port->found != NODE_NONE) {
        result_uint(result, "found", port->found);
        result_uint(result, "found_port", port->found_port);
    }
    result_uint(result, "packets_out", port->packets_out);
    result_uint(result, "bytes_out", port->bytes_out);
    result_uint(result, "frames_out", port->frames_out);
    result_uint(result, "packets_in", port->packets_in);
    result_uint(result, "bytes_in", port->bytes_in);
    result_uint(result, "busy", port->busy);
    result_end(result);
}

/* ---- what services report: counters and parameters ---- */

/* The lists of a server, sorted by service. */
struct reports {
    struct result *result;
    char service[CONTROL_NAME_MAX + 1]; /* whose object is open; empty: none */
};

static void reports_enter(struct reports *reports, const char *service)
{
    if (strcmp(reports->service, service) == 0)
        return;
    if (*reports->service)
        result_end(reports->result);
    result_object(reports->result, result_copy(reports->result, service));
    strcpy(reports->service, service);
}

/* Adds the next entry of an answer; false: there is none. */
typedef bool report_put(struct reports *reports, struct reader *in);

static bool counter_put(struct reports *reports, struct reader *in)
{
    struct control_stat stat;
    if (control_stat_read(in, &stat) != 1)
        return false;
    reports_enter(reports, stat.service);
    result_uint(reports->result, result_copy(reports->result, stat.name), stat.value);
    return true;
}

static bool parameter_put(struct reports *reports, struct reader *in)
{
    struct control_parameter parameter;
    if (control_parameter_read(in, &parameter) != 1)
        return false;
    reports_enter(reports, parameter.service);
    service_value_put(reports->result, result_copy(reports->result, parameter.name), parameter.type,
                      parameter.value);
    return true;
}

/* Adds a whole list, which may need several answers. */
static void reports_put(const struct nodes *nodes, node_id server, enum control_request_kind kind,
                        const char *key, report_put *put, struct result *result)
{
    static uint8_t bytes[CONTROL_ANSWER_MAX];
    struct control_request request = {.kind = kind};
    struct reports reports = {.result = result};
    uint32_t total = 1;
    result_object(result, key);
    while (request.first < total) {
        struct reader in;
        uint32_t before = request.first;
        if (cluster_control(nodes->cluster.folder, server, &request, bytes, &in,
                            clock_after(ANSWER_NSEC)) < 0)
            break;
        total = control_stats_read(&in);
        while (put(&reports, &in))
            request.first++;
        if (request.first == before)
            break;
    }
    if (*reports.service)
        result_end(result);
    result_end(result);
}

static void live_put(const struct nodes *nodes, node_id server, struct result *result)
{
    const struct control_snapshot *seen = &nodes->seen[server].snapshot;
    const struct node_snapshot *node = &seen->node;
    uint32_t planned, up = links_up(seen, &planned);
    text_printf(result_words(result_hide(result), "links"), "%u/%u", up, planned);
    result_uint(result, "incarnation", node->incarnation);
    result_number(result, "age", (double)(seen->now - seen->started) / 1e9);
    result_uint(result, "reaches", node->reachable);
    result_uint(result, "waiting", node->limbo);
    result_uint(result, "sent", node->sent);
    result_uint(result, "delivered", node->delivered);
    result_uint(result, "intercepted", node->intercepted);
    result_uint(result, "packets_in", node->packets_in);
    result_uint(result, "packets_out", node->packets_out);
    result_uint(result, "recomputations", node->recomputations);
    result_uint(result, "rows_taken", node->rows_taken);
    result_uint(result, "rows_refused", node->rows_refused);
    result_uint(result_hide(result), "dropped", dropped(node));
    result_object(result, "drops");
    for (unsigned i = 0; i < DROP_COUNT; i++)
        result_uint(result, drop_names[i], node->drops[i]);
    result_end(result);
    result_array(result, "ports");
    for (uint32_t port = 0; port < seen->port_count; port++)
        if (seen->ports[port].state != PORT_ABSENT)
            port_put(result, port, &seen->ports[port]);
    result_end(result);
    if (nodes->call->json) { /* the page does not show them, and they need more requests */
        reports_put(nodes, server, CONTROL_STATS, "services", counter_put, result);
        reports_put(nodes, server, CONTROL_PARAMETERS, "parameters", parameter_put, result);
    }
}

static void node_put(const struct nodes *nodes, node_id server, struct result *result)
{
    const struct cluster_seen *seen = &nodes->seen[server];
    char name[NODE_NAME_SIZE], label[CLUSTER_NAME_SIZE];
    result_object(result, NULL);
    result_uint(result, "id", server);
    result_string(result, "name", topology_name(&nodes->cluster.topology, server, name));
    result_string(result_hide(result), "label", cluster_name(&nodes->cluster, server, label));
    result_string(result, "state", state_word(seen));
    result_uint(result, "process", nodes->cluster.file.process_of[server]);
    result_uint_if(result, "pid", seen->pid != 0, (uint64_t)seen->pid);
    result_bool(result_hide(result), "live", seen->state == SERVER_LIVE);
    if (seen->state == SERVER_LIVE)
        live_put(nodes, server, result);
    if (seen->state == SERVER_SILENT && seen->stuck_service[0]) {
        result_object(result, "stuck");
        result_string(result, "service", seen->stuck_service);
        result_string(result, "function", seen->stuck_function);
        result_number(result, "seconds", seen->stuck_seconds);
        result_end(result);
    }
    result_end(result);
}

static void nodes_put(const struct nodes *nodes)
{
    struct result *result = call_result(nodes->call, nodes_page);
    result_array(result, "nodes");
    for (node_id v = 0; v < nodes->cluster.plan.server_count; v++)
        node_put(nodes, v, result);
    result_end(result);
}

static enum err nodes_run(struct call *call, struct why *why)
{
    struct nodes nodes = {.call = call};
    enum err err = cluster_open(&nodes.cluster, call, why);
    if (err)
        return err;
    nodes.seen = cluster_seen_new(&nodes.cluster);
    err = nodes.seen ? cluster_survey(&nodes.cluster, nodes.seen, CLUSTER_SURVEY_NSEC, why)
                     : why_memory(why);
    if (!err)
        nodes_put(&nodes);
    free(nodes.seen);
    cluster_close(&nodes.cluster);
    return err;
}

static const struct option nodes_options[] = {
    CLUSTER_OPTIONS,
    {0},
};

const struct command command_nodes = {
    .name = "nodes",
    .group = "cluster",
    .arguments = "",
    .summary = "list the servers of a cluster with their counters",
    .description =
        "Prints a line for each server: its number and position; its process; its state: up, "
        "joining (it does not answer for keys yet), silent (its process does not answer) or dead; "
        "how many of its links are up; how many servers it reaches; the packets that its services "
        "sent, those that were delivered to its services, those that left over its links (its own, "
        "forwarded ones and hellos), and those that were dropped; and how long it has been "
        "running.\n\n"
        "With --json all counters: nodes, a list of id, name, state, process, pid, incarnation, "
        "age, reaches, waiting, sent, delivered, intercepted, packets_in, packets_out, "
        "recomputations, rows_taken, rows_refused, drops by reason, ports (with state, peer and "
        "counters), services with their counters, and parameters: the values in effect by service "
        "(sizes in bytes, durations in seconds). A silent server that a service blocks has stuck: "
        "the "
        "service, its function, and the seconds since it was called. The counter slow of a service "
        "is "
        "the number of calls of its functions that ran for more than a millisecond.",
    .options = nodes_options,
    .examples = "  weft nodes\n"
                "  weft nodes --json | jq '.nodes[] | select(.state == \"dead\") | .id'",
    .run = nodes_run,
};
