/* weft status */
#include <inttypes.h>
#include <stdlib.h>

#include "base/json.h"
#include "cli/cluster/cluster.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "transport/clock.h"

#define WAIT_MAX   3600
#define AGAIN_NSEC 100000000LL

struct status {
    struct call *call;
    struct cluster cluster;
    struct cluster_seen *seen;
    struct cluster_health health;
};

/* ---- for people ---- */

static void servers_text(const struct status *status)
{
    const struct cluster_health *health = &status->health;
    struct text *out = &status->call->out;
    text_printf(out, "servers   %u of %u live", health->live, health->server_count);
    if (health->dead)
        text_printf(out, ", %u dead", health->dead);
    if (health->silent)
        text_printf(out, ", %u silent", health->silent);
    if (health->joining)
        text_printf(out, ", %u joining", health->joining);
    if (health->part_count > 1)
        text_printf(out, ", in %u parts", health->part_count);
    text_puts(out, "\n");
}

static void links_text(const struct status *status)
{
    const struct cluster_health *health = &status->health;
    struct text *out = &status->call->out;
    text_printf(out, "links     %u of %u up", health->links[LINK_UP], health->cable_count);
    for (int state = LINK_UP + 1; state < LINK_STATES; state++)
        if (health->links[state])
            text_printf(out, ", %u %s", health->links[state], cluster_link_names[state]);
    text_puts(out, "\n");
}

static void traffic_text(const struct status *status)
{
    const struct cluster_health *health = &status->health;
    struct text *out = &status->call->out;
    uint64_t dropped = 0;
    text_printf(out,
                "traffic   %" PRIu64 " packets sent, %" PRIu64 " delivered, %" PRIu64
                " taken up on their way; %" PRIu64 " packet-hops, %" PRIu64 " bytes\n",
                health->sent, health->delivered, health->intercepted, health->packets_out,
                health->bytes_out);
    if (health->waiting)
        text_printf(out, "waiting   %" PRIu64 " packets, for their keys' roots to settle\n",
                    health->waiting);
    text_puts(out, "drops     ");
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        if (health->drops[i])
            text_printf(out, "%s%" PRIu64 " %s", dropped ? "; " : "", health->drops[i],
                        drop_texts[i]);
        dropped += health->drops[i];
    }
    text_puts(out, dropped ? "\n" : "none\n");
}

static void status_text(const struct status *status)
{
    const struct cluster_file *file = &status->cluster.file;
    struct text *out = &status->call->out;
    text_printf(out, "%s\n", health_names[status->health.health]);
    for (int code = 0; code < HEALTH_CODES; code++) {
        if (!status->health.reasons[code])
            continue;
        text_printf(out, "  %s: ", health_code_names[code]);
        cluster_health_reason(&status->health, (enum health_code)code, &status->cluster.plan,
                              status->seen, out);
        text_puts(out, "\n");
    }
    text_printf(out, "cluster   %s over %s", file->topology, cluster_wire_words[file->wire]);
    if (file->rate)
        text_printf(out, " at %g Gbit/s", (double)file->rate / 1e9);
    text_printf(out, ", ");
    text_count(out, file->process_count, "process", "processes");
    text_printf(out, ", in %s\n", status->cluster.folder);
    servers_text(status);
    links_text(status);
    traffic_text(status);
}

/* ---- as an object ---- */

static void reasons_json(const struct status *status, struct json *json)
{
    json_key(json, "reasons");
    json_array(json);
    for (int code = 0; code < HEALTH_CODES; code++) {
        struct text line = {0};
        if (!status->health.reasons[code])
            continue;
        cluster_health_reason(&status->health, (enum health_code)code, &status->cluster.plan,
                              status->seen, &line);
        json_object(json);
        json_put_string(json, "code", health_code_names[code]);
        json_put_string(json, "severity", health_names[health_severity((enum health_code)code)]);
        json_put_string(json, "text", text_ok(&line) ? line.data : "");
        json_end(json, '}');
        text_fini(&line);
    }
    json_end(json, ']');
}

static void ids_json(const struct status *status, struct json *json, const char *key,
                     enum cluster_server state)
{
    json_key(json, key);
    json_array(json);
    json->indent = false;
    for (node_id v = 0; v < status->cluster.plan.server_count; v++)
        if (status->seen[v].state == state)
            json_uint(json, v);
    json_end(json, ']');
    json->indent = true;
}

static void servers_json(const struct status *status, struct json *json)
{
    const struct cluster_health *health = &status->health;
    json_key(json, "servers");
    json_object(json);
    json_put_uint(json, "planned", health->server_count);
    json_put_uint(json, "live", health->live);
    json_put_uint(json, "joining", health->joining);
    json_put_uint(json, "parts", health->part_count);
    ids_json(status, json, "dead", SERVER_DEAD);
    ids_json(status, json, "silent", SERVER_SILENT);
    json_end(json, '}');
}

static void links_json(const struct status *status, struct json *json)
{
    const struct cluster_health *health = &status->health;
    json_key(json, "links");
    json_object(json);
    json_put_uint(json, "planned", health->cable_count);
    for (int state = 0; state < LINK_STATES; state++)
        json_put_uint(json, cluster_link_names[state], health->links[state]);
    json_key(json, "not_up");
    json_array(json);
    for (uint32_t i = 0; i < health->cable_count; i++) {
        const struct cluster_cable *cable = &health->cables[i];
        if (cable->state == LINK_UP)
            continue;
        json_object(json);
        json->indent = false;
        json_put_uint(json, "a", cable->a);
        json_put_uint(json, "a_port", cable->a_port);
        json_put_uint(json, "b", cable->b);
        json_put_uint(json, "b_port", cable->b_port);
        json_put_string(json, "state", cluster_link_names[cable->state]);
        json_end(json, '}');
        json->indent = true;
    }
    json_end(json, ']');
    json_end(json, '}');
}

static void status_json(const struct status *status)
{
    const struct cluster_file *file = &status->cluster.file;
    const struct cluster_health *health = &status->health;
    struct json json = json_make(&status->call->out, true);
    json_object(&json);
    json_put_string(&json, "health", health_names[health->health]);
    reasons_json(status, &json);
    json_put_string(&json, "folder", status->cluster.folder);
    json_put_string(&json, "topology", file->topology);
    json_put_string(&json, "wire", cluster_wire_words[file->wire]);
    json_put_uint(&json, "rate", file->rate);
    json_put_uint(&json, "processes", file->process_count);
    servers_json(status, &json);
    links_json(status, &json);
    json_key(&json, "traffic");
    json_object(&json);
    json_put_uint(&json, "sent", health->sent);
    json_put_uint(&json, "delivered", health->delivered);
    json_put_uint(&json, "intercepted", health->intercepted);
    json_put_uint(&json, "packet_hops", health->packets_out);
    json_put_uint(&json, "frames", health->frames_out);
    json_put_uint(&json, "bytes", health->bytes_out);
    json_put_uint(&json, "waiting", health->waiting);
    json_end(&json, '}');
    json_key(&json, "drops");
    json_object(&json);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        json_put_uint(&json, drop_names[i], health->drops[i]);
    json_end(&json, '}');
    json_end(&json, '}');
}

/* ---- */

static enum err status_take(struct status *status, double wait, struct why *why)
{
    int64_t deadline = clock_after((int64_t)(wait * 1e9));
    for (;;) {
        enum err err = cluster_look(&status->cluster, status->seen, CLUSTER_LOOK_NSEC, why);
        if (!err)
            err = cluster_health(&status->health, &status->cluster.plan, status->seen, why);
        if (err || status->health.health == HEALTH_OK || clock_now() >= deadline)
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
    if (!err && call->json)
        status_json(&status);
    else if (!err)
        status_text(&status);
    if (!err && status.health.health != HEALTH_OK)
        call->health = ERR_SYSTEM;
    cluster_health_fini(&status.health);
    free(status.seen);
    cluster_close(&status.cluster);
    return err;
}

static const struct option status_options[] = {
    CLUSTER_OPTIONS,
    {"wait", "S", "seconds to wait until all is well (0)"},
    {0},
};

const struct command command_status = {
    .name = "status",
    .group = "cluster",
    .arguments = "",
    .summary = "is the cluster well? its servers, links, traffic and drops",
    .description =
        "Asks every server at once and prints a word, OK, WARN or ERR; then why, a line for each "
        "reason; then servers, links, traffic and drops, summed over those that live. It exits "
        "with 0 if the word is OK and with 1 otherwise.\n\n"
        "Who lives is the kernel's word: the process that holds the server's lock. A link is up "
        "only if both of its ends say so. The reasons are:\n\n"
        "  ALL_SERVERS_DOWN  ERR   no process of the cluster lives\n"
        "  CLUSTER_SPLIT     ERR   live servers do not all reach each other\n"
        "  SERVERS_DOWN      WARN  these are dead; others have taken over their keys\n"
        "  LINKS_MISWIRED    WARN  a cable leads elsewhere than the plan says\n"
        "  SERVERS_SILENT    WARN  their processes live and do not answer in two seconds\n"
        "  SERVERS_JOINING   WARN  they live and answer for no key yet\n"
        "  DEATHS_UNNOTICED  WARN  somebody still counts on a dead server\n"
        "  LINKS_CUT         WARN  by weft cut\n"
        "  LINKS_DOWN        WARN  between servers that live\n"
        "  ROUTES_DIFFER     WARN  servers know different links: news is on its way\n\n"
        "With --json: health, reasons (code, severity, text), folder, topology, wire, rate, "
        "processes, servers, links (with not_up, a list), traffic, drops by reason.",
    .options = status_options,
    .examples = "  weft status\n"
                "  weft status --wait 10 && echo all is well\n"
                "  weft status --json | jq .servers.dead",
    .run = status_run,
};
