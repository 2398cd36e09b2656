/* weft status */
#include <errno.h>
#include <stdlib.h>

#include "cli/cluster/cluster.h"
#include "cli/cluster/cluster_data.h"
#include "cli/cluster/cluster_store.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/show/drop_result.h"
#include "transport/clock.h"

#define WAIT_MAX   3600
#define AGAIN_NSEC 100000000LL
#define STORE_NSEC 1000000000LL /* for the reports about the store */

struct status {
    struct call *call;
    struct cluster cluster;
    struct cluster_seen *seen;
    struct cluster_health health;
    bool has_store; /* the cluster runs one */
    struct cluster_store store;
};

static const char status_page[] =
    "{health}\n"
    "{#reasons}  {code}: {text}\n{/}"
    "cluster   {topology} over {wire}{?rate} at {rate/1e9%g} Gbit/s{/}, "
    "{processes|process|processes}, in {folder}\n"
    "{?stored}data      of {stored|server|servers} in {data}\n{/}"
    "{?settings}settings  {#settings|, }{.}{/}\n{/}"
    "servers   {servers.live} of {servers.planned} live{?dead}, {dead} dead{/}"
    "{?silent}, {silent} silent{/}{?servers.joining}, {servers.joining} joining{/}"
    "{?split}, in {servers.parts} parts{/}\n"
    "links     {links.up} of {links.planned} up{#links_shown}, {count} {state}{/}\n"
    "traffic   {traffic.sent} packets sent, {traffic.delivered} delivered, {traffic.intercepted} "
    "intercepted; {traffic.packet_hops} packet-hops, {traffic.bytes} bytes\n"
    "{?traffic.waiting}waiting   {traffic.waiting} packets, until the roots of their keys have "
    "settled\n{/}"
    "drops     {#drops_shown|; }{count} {reason}{:}none{/}\n";

static enum health verdict(const struct status *status)
{
    enum health health = status->health.health;
    enum health store = status->has_store ? cluster_store_health(&status->store) : HEALTH_OK;
    return store > health ? store : health;
}

static void reasons_put(const struct status *status, struct result *result)
{
    result_array(result, "reasons");
    for (int i = 0; i < HEALTH_CODES; i++) {
        enum health_code code = (enum health_code)i;
        if (!status->health.reasons[code])
            continue;
        result_object(result, NULL);
        result_string(result, "code", health_code_names[code]);
        result_string(result, "severity", health_names[health_severity(code)]);
        cluster_health_reason(&status->health, code, &status->cluster.plan, status->seen,
                              result_words(result, "text"));
        result_end(result);
    }
    for (int i = 0; status->has_store && i < CLUSTER_STORE_CODES; i++) {
        enum cluster_store_code code = (enum cluster_store_code)i;
        if (!cluster_store_has(&status->store, code))
            continue;
        result_object(result, NULL);
        result_string(result, "code", cluster_store_names[code]);
        result_string(result, "severity", health_names[cluster_store_severity(code)]);
        cluster_store_reason(&status->store, code, &status->cluster.plan,
                             result_words(result, "text"));
        result_end(result);
    }
    result_end(result);
}

static void ids_put(const struct status *status, struct result *result, const char *key,
                    enum cluster_server state)
{
    result_array(result_flat(result), key);
    for (node_id v = 0; v < status->cluster.plan.server_count; v++)
        if (status->seen[v].state == state)
            result_uint(result, NULL, v);
    result_end(result);
}

static void servers_put(const struct status *status, struct result *result)
{
    const struct cluster_health *health = &status->health;
    result_object(result, "servers");
    result_uint(result, "planned", health->server_count);
    result_uint(result, "live", health->live);
    result_uint(result, "joining", health->joining);
    result_uint(result, "parts", health->part_count);
    ids_put(status, result, "dead", SERVER_DEAD);
    ids_put(status, result, "silent", SERVER_SILENT);
    result_end(result);
    result_uint(result_hide(result), "dead", health->dead);
    result_uint(result_hide(result), "silent", health->silent);
    result_bool(result_hide(result), "split", health->part_count > 1);
}

static void links_put(const struct status *status, struct result *result)
{
    const struct cluster_health *health = &status->health;
    result_object(result, "links");
    result_uint(result, "planned", health->cable_count);
    for (int state = 0; state < LINK_STATES; state++)
        result_uint(result, cluster_link_names[state], health->links[state]);
    result_array(result, "not_up");
    for (uint32_t i = 0; i < health->cable_count; i++) {
        const struct cluster_cable *cable = &health->cables[i];
        if (cable->state == LINK_UP)
            continue;
        result_object(result_flat(result), NULL);
        result_uint(result, "a", cable->a);
        result_uint(result, "a_port", cable->a_port);
        result_uint(result, "b", cable->b);
        result_uint(result, "b_port", cable->b_port);
        result_string(result, "state", cluster_link_names[cable->state]);
        result_end(result);
    }
    result_end(result);
    result_end(result);
    result_array(result_hide(result), "links_shown");
    for (int state = LINK_UP + 1; state < LINK_STATES; state++) {
        if (!health->links[state])
            continue;
        result_object(result, NULL);
        result_uint(result, "count", health->links[state]);
        result_string(result, "state", cluster_link_names[state]);
        result_end(result);
    }
    result_end(result);
}

/* Adds the values of parameters that `up` was given. */
static void settings_put(const struct cluster_file *file, struct result *result)
{
    result_array(result, "settings");
    for (size_t i = 0; i < file->settings.count; i++) {
        const struct setting *setting = &file->settings.items[i];
        text_printf(result_words(result, NULL), "%s.%s=%s", setting->service, setting->name,
                    setting->value);
    }
    result_end(result);
}

static void report(const struct status *status)
{
    const struct cluster_file *file = &status->cluster.file;
    const struct cluster_health *health = &status->health;
    struct result *result = call_result(status->call, status_page);
    result_string(result, "health", health_names[verdict(status)]);
    reasons_put(status, result);
    result_string(result, "folder", status->cluster.folder);
    result_string(result, "data", file->data ? file->data : "");
    result_uint(result_hide(result), "stored", cluster_data_count(&status->cluster));
    result_string(result, "topology", file->topology);
    result_string(result, "wire", cluster_transport_words[file->transport]);
    result_uint(result, "rate", file->rate);
    result_uint(result, "processes", file->process_count);
    settings_put(file, result);
    servers_put(status, result);
    links_put(status, result);
    result_object(result, "traffic");
    result_uint(result, "sent", health->sent);
    result_uint(result, "delivered", health->delivered);
    result_uint(result, "intercepted", health->intercepted);
    result_uint(result, "packet_hops", health->packets_out);
    result_uint(result, "frames", health->frames_out);
    result_uint(result, "bytes", health->bytes_out);
    result_uint(result, "waiting", health->waiting);
    result_end(result);
    drop_result(result, "drops", health->drops);
}

/* Asks about the store, if there is one. */
static enum err store_take(struct status *status, struct why *why)
{
    const struct care_request request = {.kind = CARE_STATUS, .patience = STORE_NSEC};
    cluster_store_fini(&status->store);
    int result = cluster_store_ask(&status->store, status->cluster.folder,
                                   status->cluster.plan.server_count, CARE_NONE, &request);
    status->has_store = result == 0;
    return result == -ENOMEM ? why_memory(why) : OK;
}

static enum err status_take(struct status *status, double wait, struct why *why)
{
    int64_t deadline = clock_after((int64_t)(wait * 1e9));
    for (;;) {
        enum err err = cluster_survey(&status->cluster, status->seen, CLUSTER_SURVEY_NSEC, why);
        if (!err)
            err = cluster_health(&status->health, &status->cluster.plan, status->seen, why);
        if (!err)
            err = store_take(status, why);
        if (err || verdict(status) == HEALTH_OK || clock_now() >= deadline)
            return err;
        cluster_health_fini(&status->health);
        clock_nap(AGAIN_NSEC);
    }
}

static enum err status_run(struct call *call, struct why *why)
{
    struct status status = {.call = call};
    double wait = 0;
    enum err err = call_real(call, "wait", 0, WAIT_MAX, &wait, why);
    if (!err)
        err = cluster_open(&status.cluster, call, why);
    if (err)
        return err;
    status.seen = cluster_seen_new(&status.cluster);
    err = status.seen ? status_take(&status, wait, why) : why_memory(why);
    if (!err)
        report(&status);
    call->no = !err && verdict(&status) != HEALTH_OK;
    cluster_store_fini(&status.store);
    cluster_health_fini(&status.health);
    free(status.seen);
    cluster_close(&status.cluster);
    return err;
}

static const struct option status_options[] = {
    CLUSTER_OPTIONS,
    {"wait", "S", "seconds to wait until the verdict is OK (default 0)"},
    {0},
};

const struct command command_status = {
    .name = "status",
    .group = "cluster",
    .arguments = "",
    .summary = "print the health of a cluster, its servers, links, traffic and drops",
    .description =
        "Asks all servers at once and prints a verdict: OK, WARN or ERR. Then it prints a line "
        "for each reason, and the servers, links, traffic and drops, added up over the servers "
        "that answer. The exit code is 0 if the verdict is OK and 1 otherwise.\n\n"
        "A server is alive if a process holds its lock. A link is up only if both of its ends "
        "report that. The reasons are:\n\n"
        "  ALL_SERVERS_DOWN  ERR   no process of the cluster runs\n"
        "  CLUSTER_SPLIT     ERR   not all live servers reach each other\n"
        "  SERVERS_DOWN      WARN  servers are dead; others have taken over their keys\n"
        "  LINKS_MISWIRED    WARN  a cable leads to a port other than planned\n"
        "  SERVERS_SILENT    WARN  the process runs but does not answer within two seconds\n"
        "  SERVICES_STUCK    WARN  a function of a service has not returned for a second, and "
        "blocks "
        "its server\n"
        "  SERVERS_JOINING   WARN  servers run but do not answer for keys yet\n"
        "  DEATHS_UNNOTICED  WARN  a server has not noticed yet that another one is dead\n"
        "  LINKS_CUT         WARN  links were cut by weft cut\n"
        "  LINKS_DOWN        WARN  a link between live servers is down\n"
        "  ROUTES_DIFFER     WARN  servers have different link states, which are still "
        "spreading\n"
        "  SERVICES_FULL     WARN  a service holds its whole share of packets and gets no more\n"
        "  SERVICES_MISTAKEN WARN  a service uses a function of weft wrongly; the server's log "
        "says how\n"
        "  SERVICES_SLOW     OK    a function of a service ran for more than a millisecond, which "
        "delays all packets\n\n"
        "If the cluster runs a store, the reasons of weft store status are among them. STORE_SHORT "
        "tells how many copies are missing, how much is to be recovered, how fast that goes, and "
        "how long it will take.\n\n"
        "With --json: health, reasons (code, severity, text), folder, data, topology, wire, rate, "
        "processes, settings (values of parameters that weft up was given), servers, links (with "
        "not_up, a list), traffic, drops by reason.",
    .options = status_options,
    .examples = "  weft status\n"
                "  weft status --wait 10 && echo all is well\n"
                "  weft status --json | jq .servers.dead",
    .run = status_run,
};
