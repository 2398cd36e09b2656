/* weft where */
#include "base/json.h"
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_target.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "os/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC      (2 * NSEC_PER_SEC)
#define REPLICAS_DEFAULT 3
#define PATH_MAX_HOPS    128 /* as many as packets have */

struct where {
    struct call *call;
    struct cluster cluster;
    struct cluster_target target;
    node_id from, home;
    struct control_where answer;
    uint32_t path_count;
    node_id path[PATH_MAX_HOPS + 1]; /* from here to the root, both too */
    bool whole;                      /* the path leads there */
};

static enum err where_ask(struct where *where, uint32_t replicas, struct why *why)
{
    static uint8_t bytes[CONTROL_ANSWER_MAX];
    struct reader in;
    struct control_request request = {
        .kind = CONTROL_WHERE, .most = (uint8_t)replicas, .key = where->target.key};
    int error = cluster_control(where->cluster.folder, where->from, &request, bytes, &in,
                                clock_after(ANSWER_NSEC));
    if (!error)
        error = control_where_read(&in, &where->answer);
    if (error)
        return cluster_silent(&where->cluster, where->from, error, why);
    return OK;
}

/* The first of the ports that the server itself would take; NODE_NONE: it knows no way. */
static node_id next_hop(const struct where *where, node_id at, node_id to)
{
    static uint8_t bytes[CONTROL_ANSWER_MAX];
    struct reader in;
    struct control_route route = {0};
    struct control_request request = {.kind = CONTROL_ROUTE, .server = to};
    int error =
        cluster_control(where->cluster.folder, at, &request, bytes, &in, clock_after(ANSWER_NSEC));
    if (!error)
        error = control_route_read(&in, &route);
    if (error || !route.ports)
        return NODE_NONE;
    unsigned port = (unsigned)__builtin_ctz(route.ports);
    if (port >= where->cluster.plan.port_count)
        return NODE_NONE;
    return plan_end(&where->cluster.plan, at, port)->server;
}

/* Each server on the way is asked for the next, so it is the way that a packet would go now. */
static void path_walk(struct where *where)
{
    node_id at = where->from, to = where->answer.root;
    where->path[where->path_count++] = at;
    while (at != to && where->path_count <= PATH_MAX_HOPS) {
        at = next_hop(where, at, to);
        if (at == NODE_NONE)
            return;
        where->path[where->path_count++] = at;
    }
    where->whole = at == to;
}

static void where_text(const struct where *where)
{
    struct text *out = &where->call->out;
    const char *word = where->call->arguments[0];
    struct why ignored;
    node_id server;
    char name[CLUSTER_NAME_SIZE], key[2 * KEY_SIZE + 1];
    key_text(&where->target.key, key);
    text_printf(out, "key       %s\n", key);
    if (!cluster_server(&where->cluster, word, &server, &ignored)) /* weft ping would take it so */
        text_printf(out, "          of the name \"%.40s\"; weft nodes shows server %u\n", word,
                    server);
    text_printf(out, "home      %s\n", cluster_name(&where->cluster, where->home, name));
    if (where->answer.root == NODE_NONE) {
        text_printf(out, "root      server %u cannot tell yet%s\n", where->from,
                    where->answer.settled ? "" : ": it is still joining");
        return;
    }
    text_printf(out, "root      %s%s\n", cluster_name(&where->cluster, where->answer.root, name),
                where->answer.root == where->home ? "" : ", for its home cannot be reached");
    text_puts(out, "replicas  ");
    for (uint32_t i = 0; i < where->answer.count; i++)
        text_printf(out, "%s%s", i ? ", " : "",
                    cluster_name(&where->cluster, where->answer.places[i].server, name));
    text_puts(out, "\npath      ");
    for (uint32_t i = 0; i < where->path_count; i++)
        text_printf(out, "%s%s", i ? " - " : "",
                    cluster_name(&where->cluster, where->path[i], name));
    if (where->whole) {
        text_puts(out, ", ");
        text_count(out, where->path_count - 1, "hop", "hops");
    } else {
        text_puts(out, " and no further: routes are changing");
    }
    text_puts(out, "\n");
}

static void where_json(const struct where *where)
{
    char key[2 * KEY_SIZE + 1];
    struct json json = json_make(&where->call->out, true);
    key_text(&where->target.key, key);
    json_object(&json);
    json_put_string(&json, "key", key);
    json_put_uint(&json, "home", where->home);
    if (where->answer.root == NODE_NONE)
        json_put_null(&json, "root");
    else
        json_put_uint(&json, "root", where->answer.root);
    json_put_uint(&json, "from", where->from);
    json_key(&json, "replicas");
    json_array(&json);
    for (uint32_t i = 0; i < where->answer.count; i++) {
        json_object(&json);
        json_put_uint(&json, "server", where->answer.places[i].server);
        json_put_uint(&json, "hops", where->answer.places[i].distance);
        json_end(&json, '}');
    }
    json_end(&json, ']');
    json_key(&json, "path");
    json_array(&json);
    json.indent = false;
    for (uint32_t i = 0; i < where->path_count; i++)
        json_uint(&json, where->path[i]);
    json_end(&json, ']');
    json.indent = true;
    json_put_bool(&json, "arrives", where->whole);
    json_end(&json, '}');
}

static enum err where_find(struct where *where, struct why *why)
{
    uint64_t replicas = REPLICAS_DEFAULT;
    struct call *call = where->call;
    enum err err = call_uint(call, "replicas", 1, CONTROL_PLACES_MAX, &replicas, why);
    if (!err)
        err = cluster_target_key(&where->target, call->arguments[0], why);
    if (!err)
        err = cluster_from(&where->cluster, call, &where->from, why);
    if (!err)
        err = where_ask(where, (uint32_t)replicas, why);
    if (err)
        return err;
    where->home = keyspace_group(&where->cluster.plan.keyspace, key_route(&where->target.key)).home;
    if (where->answer.root < where->cluster.plan.server_count)
        path_walk(where);
    else
        where->answer.root = NODE_NONE;
    return OK;
}

static enum err where_run(struct call *call, struct why *why)
{
    struct where where = {.call = call};
    enum err err = cluster_open(&where.cluster, call, why);
    if (err)
        return err;
    err = where_find(&where, why);
    if (!err && call->json)
        where_json(&where);
    else if (!err)
        where_text(&where);
    cluster_close(&where.cluster);
    return err;
}

static const struct option where_options[] = {
    CLUSTER_OPTIONS,
    {"from", "ID", "ask that server, and begin the path there (the first that lives)"},
    {"replicas", "N", "servers of the key to list (3)"},
    {0},
};

const struct command command_where = {
    .name = "where",
    .group = "cluster",
    .arguments = "KEY|NAME",
    .summary = "who has a key, and the way there",
    .description =
        "Tells the key's home, the server it belongs to when all is well; its root, the server "
        "that has it now; who comes after that if it fails; and the way from here, each server "
        "being asked for the next.\n\n"
        "KEY is 0x and up to 40 hexadecimal digits, or 40 of them; any other word is a NAME, "
        "whose key is its SHA-1, also one that is a server's number.\n\n"
        "With --json: key, home, root (null if it cannot be told yet), from, replicas (server, "
        "hops), path, arrives.",
    .options = where_options,
    .examples = "  weft where photo.jpg\n"
                "  weft where 0x1f --from 26 --replicas 6",
    .run = where_run,
};
