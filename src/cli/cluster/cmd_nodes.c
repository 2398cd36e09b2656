/* weft nodes */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cli/cluster/cluster.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/show/table_text.h"
#include "os/cluster/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC (2 * NSEC_PER_SEC)
#define CELL_SIZE   CLUSTER_NAME_SIZE

enum column { SERVER, PID, STATE, LINKS, REACHES, SENT, DELIVERED, OUT, DROPPED, AGE, COLUMNS };

static const struct table_text_column columns[COLUMNS] = {
    [SERVER] = {"server", false, true},       [PID] = {"pid", true, false},
    [STATE] = {"state", false, false},        [LINKS] = {"links", true, false},
    [REACHES] = {"reaches", true, false},     [SENT] = {"sent", true, false},
    [DELIVERED] = {"delivered", true, false}, [OUT] = {"out", true, false},
    [DROPPED] = {"dropped", true, false},     [AGE] = {"age", true, false},
};

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

static double age(const struct control_snapshot *snapshot)
{
    return (double)(snapshot->now - snapshot->started) / 1e9;
}

/* ---- a table ---- */

__attribute__((format(printf, 4, 5))) static void cell_print(struct table_text_cell *cells,
                                                             char (*texts)[CELL_SIZE],
                                                             enum column column, const char *format,
                                                             ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(texts[column], CELL_SIZE, format, list);
    va_end(list);
    cells[column].text = texts[column];
}

static void row_fill(const struct nodes *nodes, node_id server, struct table_text_cell *cells,
                     char (*texts)[CELL_SIZE])
{
    const struct cluster_seen *seen = &nodes->seen[server];
    const struct control_snapshot *snapshot = &seen->snapshot;
    char name[CLUSTER_NAME_SIZE];
    uint32_t planned, up;
    for (int column = 0; column < COLUMNS; column++)
        cells[column] = (struct table_text_cell){"", TABLE_TEXT_PLAIN};
    cell_print(cells, texts, SERVER, "%s", cluster_name(&nodes->cluster, server, name));
    cell_print(cells, texts, STATE, "%s", state_word(seen));
    if (seen->pid)
        cell_print(cells, texts, PID, "%d", seen->pid);
    if (seen->state != SERVER_LIVE)
        return;
    up = links_up(snapshot, &planned);
    cell_print(cells, texts, LINKS, "%u/%u", up, planned);
    cell_print(cells, texts, REACHES, "%u", snapshot->node.reachable);
    cell_print(cells, texts, SENT, "%" PRIu64, snapshot->node.sent);
    cell_print(cells, texts, DELIVERED, "%" PRIu64, snapshot->node.delivered);
    cell_print(cells, texts, OUT, "%" PRIu64, snapshot->node.packets_out);
    cell_print(cells, texts, DROPPED, "%" PRIu64, dropped(&snapshot->node));
    cell_print(cells, texts, AGE, "%.1f s", age(snapshot));
}

static enum err nodes_text(const struct nodes *nodes, struct why *why)
{
    uint32_t count = nodes->cluster.plan.server_count;
    struct table_text_cell *cells = calloc((size_t)count * COLUMNS, sizeof *cells);
    char(*texts)[CELL_SIZE] = calloc((size_t)count * COLUMNS, sizeof *texts);
    if (!cells || !texts) {
        free(cells);
        free(texts);
        return why_memory(why);
    }
    for (node_id v = 0; v < count; v++)
        row_fill(nodes, v, cells + (size_t)v * COLUMNS, texts + (size_t)v * COLUMNS);
    struct table_text table = {columns, cells, COLUMNS, count};
    struct table_text_style style = {0};
    table_text(&nodes->call->out, &table, &style);
    free(cells);
    free(texts);
    return OK;
}

/* ---- objects ---- */

static const char *const port_words[] = {
    [PORT_ABSENT] = "absent",     [PORT_DOWN] = "down", [PORT_HEARD] = "heard",
    [PORT_COMING] = "coming",     [PORT_UP] = "up",     [PORT_CUT] = "cut",
    [PORT_MISWIRED] = "miswired",
};

static void port_json(struct json *json, uint32_t number, const struct port_snapshot *port)
{
    json_object(json);
    json_put_uint(json, "port", number);
    json_put_string(json, "state", port_words[port->state]);
    json_put_uint(json, "peer", port->peer);
    json_put_uint(json, "peer_port", port->peer_port);
    if (port->found != NODE_NONE) {
        json_put_uint(json, "found", port->found);
        json_put_uint(json, "found_port", port->found_port);
    }
    json_put_uint(json, "packets_out", port->packets_out);
    json_put_uint(json, "bytes_out", port->bytes_out);
    json_put_uint(json, "frames_out", port->frames_out);
    json_put_uint(json, "packets_in", port->packets_in);
    json_put_uint(json, "bytes_in", port->bytes_in);
    json_put_uint(json, "busy", port->busy);
    json_end(json, '}');
}

/* The numbers of its services, in as many answers as that takes. */
static void services_json(const struct nodes *nodes, node_id server, struct json *json)
{
    static uint8_t bytes[CONTROL_ANSWER_MAX];
    struct control_request request = {.kind = CONTROL_STATS};
    struct control_stat stat;
    char open[CONTROL_NAME_MAX + 1] = "";
    uint32_t total = 1;
    json_key(json, "services");
    json_object(json);
    while (request.first < total) {
        struct reader in;
        uint32_t before = request.first;
        if (cluster_control(nodes->cluster.folder, server, &request, bytes, &in,
                            clock_after(ANSWER_NSEC)) < 0)
            break;
        total = control_stats_read(&in);
        while (control_stat_read(&in, &stat) == 1) {
            if (strcmp(open, stat.service) != 0) {
                if (*open)
                    json_end(json, '}');
                json_key(json, stat.service);
                json_object(json);
                strcpy(open, stat.service);
            }
            json_put_uint(json, stat.name, stat.value);
            request.first++;
        }
        if (request.first == before)
            break;
    }
    if (*open)
        json_end(json, '}');
    json_end(json, '}');
}

static void node_json(const struct nodes *nodes, node_id server, struct json *json)
{
    const struct cluster_seen *seen = &nodes->seen[server];
    const struct node_snapshot *snapshot = &seen->snapshot.node;
    char buffer[NODE_NAME_SIZE];
    json_object(json);
    json_put_uint(json, "id", server);
    json_put_string(json, "name", topology_name(&nodes->cluster.topology, server, buffer));
    json_put_string(json, "state", state_word(seen));
    json_put_uint(json, "process", nodes->cluster.file.process_of[server]);
    if (seen->pid)
        json_put_uint(json, "pid", (uint64_t)seen->pid);
    else
        json_put_null(json, "pid");
    if (seen->state == SERVER_LIVE) {
        json_put_uint(json, "incarnation", snapshot->incarnation);
        json_put_number(json, "age", age(&seen->snapshot));
        json_put_uint(json, "reaches", snapshot->reachable);
        json_put_uint(json, "waiting", snapshot->limbo);
        json_put_uint(json, "sent", snapshot->sent);
        json_put_uint(json, "delivered", snapshot->delivered);
        json_put_uint(json, "intercepted", snapshot->intercepted);
        json_put_uint(json, "packets_in", snapshot->packets_in);
        json_put_uint(json, "packets_out", snapshot->packets_out);
        json_put_uint(json, "recomputations", snapshot->recomputations);
        json_put_uint(json, "rows_taken", snapshot->rows_taken);
        json_put_uint(json, "rows_refused", snapshot->rows_refused);
        json_key(json, "drops");
        json_object(json);
        for (unsigned i = 0; i < DROP_COUNT; i++)
            json_put_uint(json, drop_names[i], snapshot->drops[i]);
        json_end(json, '}');
        json_key(json, "ports");
        json_array(json);
        for (uint32_t port = 0; port < seen->snapshot.port_count; port++)
            if (seen->snapshot.ports[port].state != PORT_ABSENT)
                port_json(json, port, &seen->snapshot.ports[port]);
        json_end(json, ']');
        services_json(nodes, server, json);
    }
    json_end(json, '}');
}

static void nodes_json(const struct nodes *nodes)
{
    struct json json = json_make(&nodes->call->out, true);
    json_object(&json);
    json_key(&json, "nodes");
    json_array(&json);
    for (node_id v = 0; v < nodes->cluster.plan.server_count; v++)
        node_json(nodes, v, &json);
    json_end(&json, ']');
    json_end(&json, '}');
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
    if (!err && call->json)
        nodes_json(&nodes);
    else if (!err)
        err = nodes_text(&nodes, why);
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
    .summary = "every server of a cluster and what it counts",
    .description =
        "A line for each server: its number and place, its process, whether it is up, joining "
        "(it answers for no key yet), silent (its process does not answer) or dead; links that "
        "are up, servers it reaches, packets that its services sent, that were delivered to them, "
        "that left by its links (its own, "
        "others' and hellos), that were dropped; and how "
        "long it has been running.\n\n"
        "With --json all numbers: nodes, a list of id, name, state, process, pid, incarnation, "
        "age, reaches, waiting, sent, delivered, intercepted, packets_in, packets_out, "
        "recomputations, "
        "rows_taken, "
        "rows_refused, drops by reason, ports (with state, peer and counters) and services with "
        "their numbers.",
    .options = nodes_options,
    .examples = "  weft nodes\n"
                "  weft nodes --json | jq '.nodes[] | select(.state == \"dead\") | .id'",
    .run = nodes_run,
};
