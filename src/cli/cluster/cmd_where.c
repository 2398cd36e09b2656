/* weft where */
#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_target.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "os/cluster/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC      (2 * NSEC_PER_SEC)
#define REPLICAS_DEFAULT 3
#define PATH_MAX_HOPS    128 /* the limit of packets */

struct where {
    struct call *call;
    struct cluster cluster;
    struct cluster_target target;
    node_id from, home;
    struct control_where answer;
    uint32_t path_count;
    node_id path[PATH_MAX_HOPS + 1]; /* from the first server to the root, both included */
    bool whole;                      /* the path reaches the root */
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

/* Asks a server for its next hop to the root; NODE_NONE: it has no route. */
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

/* Asks each server on the path for the next one, so this is the path that a packet takes now. */
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

static const char where_page[] =
    "key       {key}\n"
    "{?mistaken}          of the name \"{word%.40s}\"; weft nodes shows server {taken}\n{/}"
    "home      {home_name}\n"
    "{?rooted}root      {root_name}{?moved}, because its home cannot be reached{/}\n"
    "replicas  {#replicas|, }{name}{/}\n"
    "path      {#path_names| - }{.}{/}"
    "{?arrives}, {hops|hop|hops}{:}; it ends here because routes are changing{/}\n"
    "{:}root      server {from} does not know it yet{?settled}{:}: it is still joining{/}\n{/}";

static void root_put(const struct where *where, struct result *result)
{
    node_id root = where->answer.root;
    char name[CLUSTER_NAME_SIZE];
    bool rooted = root != NODE_NONE;
    result_uint_if(result, "root", rooted, root);
    result_bool(result_hide(result), "rooted", rooted);
    result_bool(result_hide(result), "moved", root != where->home);
    result_bool(result_hide(result), "settled", where->answer.settled);
    if (rooted)
        result_string(result_hide(result), "root_name", cluster_name(&where->cluster, root, name));
}

static void path_put(const struct where *where, struct result *result)
{
    char name[CLUSTER_NAME_SIZE];
    result_array(result_flat(result), "path");
    for (uint32_t i = 0; i < where->path_count; i++)
        result_uint(result, NULL, where->path[i]);
    result_end(result);
    result_array(result_hide(result), "path_names");
    for (uint32_t i = 0; i < where->path_count; i++)
        result_string(result, NULL, cluster_name(&where->cluster, where->path[i], name));
    result_end(result);
    result_uint(result_hide(result), "hops", where->path_count ? where->path_count - 1 : 0);
    result_bool(result, "arrives", where->whole);
}

static void report(const struct where *where)
{
    struct result *result = call_result(where->call, where_page);
    const char *word = where->call->arguments[0];
    char key[2 * KEY_SIZE + 1], name[CLUSTER_NAME_SIZE];
    struct why ignored;
    node_id taken = 0;
    /* weft ping would read the word as a server */
    bool mistaken = !cluster_server(&where->cluster, word, &taken, &ignored);
    key_text(&where->target.key, key);
    result_string(result, "key", key);
    result_string(result_hide(result), "word", word);
    result_bool(result_hide(result), "mistaken", mistaken);
    result_uint(result_hide(result), "taken", taken);
    result_uint(result, "home", where->home);
    result_string(result_hide(result), "home_name",
                  cluster_name(&where->cluster, where->home, name));
    root_put(where, result);
    result_uint(result, "from", where->from);
    result_array(result, "replicas");
    for (uint32_t i = 0; i < where->answer.count; i++) {
        node_id server = where->answer.replicas[i].server;
        result_object(result, NULL);
        result_uint(result, "server", server);
        result_uint(result, "hops", where->answer.replicas[i].distance);
        result_string(result_hide(result), "name", cluster_name(&where->cluster, server, name));
        result_end(result);
    }
    result_end(result);
    path_put(where, result);
}

static enum err where_find(struct where *where, struct why *why)
{
    uint64_t replicas = REPLICAS_DEFAULT;
    struct call *call = where->call;
    enum err err = call_uint(call, "replicas", 1, CONTROL_REPLICAS_MAX, &replicas, why);
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
    if (!err)
        report(&where);
    cluster_close(&where.cluster);
    return err;
}

static const struct option where_options[] = {
    CLUSTER_OPTIONS,
    {"from", "ID", "the server to ask, where the path begins (default: the first that answers)"},
    {"replicas", "N", "number of servers of the key to list (default 3)"},
    {0},
};

const struct command command_where = {
    .name = "where",
    .group = "cluster",
    .arguments = "KEY|NAME",
    .summary = "print which server has a key, and the path to it",
    .description =
        "Prints the home of a key (the server that it belongs to if all servers are up), its root "
        "(the server that it belongs to now), its replicas (the root and the servers that follow "
        "if the root fails), and the path from one server to the root. The command asks each "
        "server on the path for the next one.\n\n"
        "KEY is 0x and up to 40 hexadecimal digits, or 40 hexadecimal digits. Any other word is "
        "a NAME, whose key is its SHA-1, even if it is the number of a server.\n\n"
        "With --json: key, home, root (null if it is not known yet), from, replicas (server, "
        "hops), path, arrives.",
    .options = where_options,
    .examples = "  weft where photo.jpg\n"
                "  weft where 0x1f --from 26 --replicas 6",
    .run = where_run,
};
