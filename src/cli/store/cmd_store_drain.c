/* weft store drain, weft store replace */
#include <errno.h>
#include <inttypes.h>

#include "cli/commands.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/store/store_care.h"
#include "transport/clock.h"

#define AGAIN_NSEC 200000000LL

static const char drain_page[] =
    "server {server} {?keeps}keeps its groups again{:}"
    "{?empty}keeps nothing any more{:}hands over its groups; {groups|is|are} left{/}{/}\n";

/* Has every server that answers heard that this was decided? */
static bool is_decided(const struct cluster_store *store, enum care_duty duty)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < store->end.server_count; i++) {
        const struct care_report *report = &store->reports[i];
        if (!cluster_store_reported(store, i) || report->state != CARE_MEMBER)
            continue;
        if (report->counts[CARE_DUTY] != duty || report->epoch != store->epoch)
            return false;
        count++;
    }
    return count > 0;
}

/* The groups of which the server has a copy that counts. */
static uint64_t groups_of(const struct cluster_store *store, uint32_t server)
{
    return cluster_store_reported(store, server) ? store->reports[server].counts[CARE_GROUPS_HELD]
                                                 : 0;
}

static bool is_whole(const struct cluster_store *store)
{
    const uint64_t *sums = store->sums;
    return !sums[CARE_COPIES_MISSING] && !sums[CARE_GROUPS_STARTING] &&
           !sums[CARE_GROUPS_WAITING] && !store->unknown;
}

/* Gives the order until it is decided, and with `waits` until its work is done. */
static enum err order(struct store_care *care, struct call *call, node_id server,
                      enum care_duty duty, bool waits, struct why *why)
{
    struct care_request request = {.kind = CARE_ORDER, .server = server, .duty = duty};
    for (uint64_t most = 0;;) {
        enum err err = store_care_ask(care, call, &request, why);
        if (err)
            return err;
        uint64_t left = groups_of(&care->store, server);
        bool drains = duty == CARE_DRAINS;
        bool done = is_whole(&care->store) && (!drains || left == 0);
        if (is_decided(&care->store, duty) && (!waits || done || stop_asked()))
            return OK;
        if (stop_asked())
            return why_fail(why, ERR_SYSTEM, "stopped before it was decided");
        most = left > most ? left : most;
        progress_show("groups handed over", most - left, most);
        store_care_close(care);
        clock_nap(AGAIN_NSEC);
    }
}

/* The server that the command is about. */
static enum err server_find(const struct call *call, node_id *server, struct why *why)
{
    struct cluster cluster;
    enum err err = cluster_open(&cluster, call, why);
    if (err)
        return err;
    err = cluster_server(&cluster, call->arguments[0], server, why);
    cluster_close(&cluster);
    return err;
}

static enum err drain_run(struct call *call, struct why *why)
{
    struct store_care care;
    node_id server;
    bool undo = call_has(call, "undo");
    enum err err = server_find(call, &server, why);
    if (!err)
        err = order(&care, call, server, undo ? CARE_KEEPS : CARE_DRAINS, call_has(call, "wait"),
                    why);
    if (err)
        return err;
    uint64_t left = groups_of(&care.store, server);
    struct result *result = call_result(call, drain_page);
    result_uint(result, "server", server);
    result_uint(result, "groups", left);
    result_bool(result, "keeps", undo);
    result_bool(result_hide(result), "empty", !undo && left == 0);
    store_care_close(&care);
    return OK;
}

static const struct option drain_options[] = {
    STORE_CARE_OPTIONS,
    {"undo", NULL, "the server is to keep its groups again"},
    {"wait", NULL,
     "wait until it keeps nothing any more, or with --undo until all copies are made"},
    {0},
};

const struct command command_store_drain = {
    .name = "store drain",
    .arguments = "ID",
    .summary = "let other servers take over all that a server of the store keeps",
    .description =
        "Other servers learn the groups of this server; when they have them, it gives up its own "
        "copies, so there are never fewer copies than before. Then it can be ended, and nothing is "
        "missing. It goes on to answer programs, and it has a vote. The order stays when servers "
        "restart, until --undo. It is refused if so few servers would be left that they could not "
        "make all copies.\n\n"
        "Without --wait the command returns when the servers have decided; weft store status shows "
        "how many groups are left.\n\n"
        "With --json: server, groups (that it still keeps), keeps (true after --undo).",
    .options = drain_options,
    .examples = "  weft store drain 4 --wait && weft kill 4\n"
                "  weft store drain 4 --undo",
    .run = drain_run,
};

/* ---- replace ---- */

static const char replace_page[] =
    "server {server} is replaced: others make its copies now{?lost}; what only it had is given up"
    "{/}\n"
    "{?unavailable}{unavailable|group is|groups are} still not available, because {unavailable|a "
    "server|servers} that may have more {unavailable|is|are} away\n{/}";

/* Refuses to give up what is not lost, and says how much will be. */
static enum err warn(struct call *call, node_id server, struct why *why)
{
    struct store_care care;
    struct care_request request = {.kind = CARE_STATUS};
    enum err err = store_care_ask(&care, call, &request, why);
    if (err)
        return err;
    uint64_t named = 0;
    for (uint32_t i = 0; i < care.store.end.server_count; i++) {
        const struct care_report *report = &care.store.reports[i];
        for (uint32_t j = 0; cluster_store_reported(&care.store, i) && j < report->trouble_count;
             j++)
            named +=
                report->troubles[j].reason == CARE_AWAY && report->troubles[j].server == server;
    }
    uint64_t all = care.store.sums[CARE_GROUPS_UNAVAILABLE];
    text_printf(&call->notes,
                "weft: warning: what was written last into %s%" PRIu64
                " groups is lost if only server %u has it; %" PRIu64
                " groups are not available now\n",
                named < all ? "at least " : "", named, server, all);
    store_care_close(&care);
    return OK;
}

static enum err replace_run(struct call *call, struct why *why)
{
    struct store_care care;
    node_id server;
    bool lost = call_has(call, "lost");
    enum err err = server_find(call, &server, why);
    if (!err && lost)
        err = warn(call, server, why);
    if (!err)
        err = order(&care, call, server, lost ? CARE_LOST : CARE_REPLACED, call_has(call, "wait"),
                    why);
    if (err)
        return err;
    struct result *result = call_result(call, replace_page);
    result_uint(result, "server", server);
    result_bool(result, "lost", lost);
    result_uint(result, "unavailable", care.store.sums[CARE_GROUPS_UNAVAILABLE]);
    store_care_close(&care);
    return OK;
}

static const struct option replace_options[] = {
    STORE_CARE_OPTIONS,
    {"lost", NULL, "give up what only this server has: some groups may lose what was written last"},
    {"wait", NULL, "wait until all copies are made"},
    {0},
};

const struct command command_store_replace = {
    .name = "store replace",
    .arguments = "ID",
    .summary = "let others stand in at once for a server that will not come back",
    .description =
        "For a server that is dead, or whose disk is. Other servers make copies of its groups at "
        "once, instead of after store.recover, and it has no vote any more. When it comes back, "
        "with its disk or a new one, it keeps its groups again. A server that takes part in the "
        "store cannot be replaced; weft store drain is for that.\n\n"
        "Groups of which this server may have writes that no other server has stay unavailable: "
        "they wait for it. With --lost these writes are given up, and the groups go on with what "
        "the other servers have. A warning says how many groups wait for it. This cannot be "
        "undone.\n\n"
        "With --json: server, lost, unavailable (groups).",
    .options = replace_options,
    .examples = "  weft store replace 4 --wait",
    .run = replace_run,
};
