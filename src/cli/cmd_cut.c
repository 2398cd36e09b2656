/* weft cut, weft heal */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/call.h"
#include "cli/cluster.h"
#include "cli/commands.h"
#include "os/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC (5 * NSEC_PER_SEC)

struct cut {
    struct call *call;
    struct cluster cluster;
    node_id a, b;
    bool cut;
    uint32_t cables;
    uint32_t ends; /* that were told */
};

/* One end of one cable; a dead server has nothing to cut. */
static enum err end_tell(struct cut *cut, node_id server, uint32_t port, struct why *why)
{
    static uint8_t answer[CONTROL_ANSWER_MAX];
    struct reader in;
    struct control_request request = {.kind = CONTROL_CUT, .port = (uint8_t)port, .cut = cut->cut};
    if (cluster_lock_holder(cut->cluster.folder, server) <= 0)
        return OK;
    int error = cluster_control(cut->cluster.folder, server, &request, answer, &in,
                                clock_after(ANSWER_NSEC));
    if (error)
        return why_fail(why, ERR_SYSTEM, "server %u does not answer: %s", server, strerror(-error));
    cut->ends++;
    return OK;
}

/* All cables between the two; there may be several. */
static enum err cables_tell(struct cut *cut, struct why *why)
{
    const struct plan *plan = &cut->cluster.plan;
    enum err err = OK;
    for (uint32_t port = 0; port < plan->port_count && !err; port++) {
        const struct plan_end *end = plan_end(plan, cut->a, port);
        if (end->server != cut->b)
            continue;
        cut->cables++;
        err = end_tell(cut, cut->a, port, why);
        if (!err)
            err = end_tell(cut, end->server, end->port, why);
    }
    if (!err && !cut->cables)
        return why_fail(why, ERR_USAGE, "%s and %s: no link between them", cut->call->arguments[0],
                        cut->call->arguments[1]);
    if (!err && !cut->ends)
        return why_fail(why, ERR_SYSTEM, "%s and %s: both are dead", cut->call->arguments[0],
                        cut->call->arguments[1]);
    return err;
}

static void report(const struct cut *cut)
{
    char a[CLUSTER_NAME_SIZE], b[CLUSTER_NAME_SIZE];
    if (!cut->call->json) {
        text_printf(&cut->call->out, "link %s - %s is %s%s\n",
                    cluster_name(&cut->cluster, cut->a, a), cluster_name(&cut->cluster, cut->b, b),
                    cut->cut ? "cut" : "mended",
                    cut->ends < 2 * cut->cables ? "; one end is dead" : "");
        return;
    }
    struct json json = json_make(&cut->call->out, true);
    json_object(&json);
    json_put_uint(&json, "a", cut->a);
    json_put_uint(&json, "b", cut->b);
    json_put_bool(&json, "cut", cut->cut);
    json_put_uint(&json, "cables", cut->cables);
    json_put_uint(&json, "ends", cut->ends);
    json_end(&json, '}');
}

static enum err change_run(struct call *call, bool cuts, struct why *why)
{
    struct cut cut = {.call = call, .cut = cuts};
    enum err err = cluster_open(&cut.cluster, call, why);
    if (err)
        return err;
    err = cluster_server(&cut.cluster, call->arguments[0], &cut.a, why);
    if (!err)
        err = cluster_server(&cut.cluster, call->arguments[1], &cut.b, why);
    if (!err)
        err = cables_tell(&cut, why);
    if (!err)
        report(&cut);
    cluster_close(&cut.cluster);
    return err;
}

static enum err cut_run(struct call *call, struct why *why)
{
    return change_run(call, true, why);
}

static enum err heal_run(struct call *call, struct why *why)
{
    return change_run(call, false, why);
}

static const struct option cut_options[] = {
    CLUSTER_OPTIONS,
    {0},
};

const struct command command_cut = {
    .name = "cut",
    .group = "cluster",
    .arguments = "A B",
    .summary = "cut the link between two servers",
    .description = "Both ends of the link between the servers A and B stop to send and to listen, "
                   "as if somebody had pulled the cable; packets take other ways. weft heal mends "
                   "it. A server that is started anew finds all its links whole.\n\n"
                   "With --json: a, b, cut, cables, ends that were told.",
    .options = cut_options,
    .examples = "  weft cut 0 1\n"
                "  weft cut 0 1 && weft status; weft heal 0 1",
    .run = cut_run,
};

const struct command command_heal = {
    .name = "heal",
    .group = "cluster",
    .arguments = "A B",
    .summary = "mend a link that was cut",
    .description = "The link between the servers A and B works again at both of its ends; it is "
                   "taken into routes once every server has seen it.\n\n"
                   "With --json: a, b, cut, cables, ends that were told.",
    .options = cut_options,
    .examples = "  weft heal 0 1",
    .run = heal_run,
};
