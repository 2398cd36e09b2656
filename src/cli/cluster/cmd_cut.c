/* weft cut, weft heal */
#include "cli/cluster/cluster.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "os/cluster/cluster_ask.h"
#include "transport/clock.h"

#define ANSWER_NSEC (5 * NSEC_PER_SEC)

/* One end of one cable. */
struct end {
    node_id server;
    uint32_t port;
    bool was_cut; /* the state to restore after a failure */
};

struct cut {
    struct call *call;
    struct cluster cluster;
    node_id a, b;
    bool cut;
    uint32_t cables; /* between the two; there may be several */
    uint32_t told;   /* ends that were changed; a dead server has none */
    struct end ends[2 * PORT_MAX];
};

static void ends_find(struct cut *cut)
{
    const struct plan *plan = &cut->cluster.plan;
    for (uint32_t port = 0; port < plan->port_count; port++) {
        const struct plan_end *far = plan_end(plan, cut->a, port);
        if (far->server != cut->b)
            continue;
        struct end *ends = &cut->ends[2 * cut->cables++];
        ends[0] = (struct end){.server = cut->a, .port = port};
        ends[1] = (struct end){.server = far->server, .port = far->port};
    }
}

static bool is_dead(const struct cut *cut, node_id server)
{
    return cluster_lock_holder(cut->cluster.folder, server) <= 0;
}

/* Asks both servers first, so that nothing changes at one end if the other is hung: a hung server
 * would carry out the request when it continues. */
static enum err server_ask(struct cut *cut, node_id server, struct why *why)
{
    static uint8_t answer[CONTROL_ANSWER_MAX];
    static struct control_snapshot snapshot;
    static const struct control_request request = {.kind = CONTROL_SNAPSHOT};
    struct reader in;
    if (is_dead(cut, server))
        return OK;
    int error = cluster_control(cut->cluster.folder, server, &request, answer, &in,
                                clock_after(ANSWER_NSEC));
    if (!error)
        error = control_snapshot_read(&in, &snapshot);
    if (error)
        return is_dead(cut, server) ? OK : cluster_silent(&cut->cluster, server, error, why);
    for (uint32_t i = 0; i < 2 * cut->cables; i++) {
        struct end *end = &cut->ends[i];
        if (end->server == server)
            end->was_cut = snapshot.ports[end->port].state == PORT_CUT;
    }
    return OK;
}

static enum err end_tell(struct cut *cut, const struct end *end, bool cuts, struct why *why)
{
    static uint8_t answer[CONTROL_ANSWER_MAX];
    struct reader in;
    struct control_request request = {.kind = CONTROL_CUT, .port = (uint8_t)end->port, .cut = cuts};
    if (is_dead(cut, end->server))
        return OK;
    int error = cluster_control(cut->cluster.folder, end->server, &request, answer, &in,
                                clock_after(ANSWER_NSEC));
    if (error)
        return is_dead(cut, end->server) ? OK
                                         : cluster_silent(&cut->cluster, end->server, error, why);
    cut->told++;
    return OK;
}

/* Changes all ends, or none. */
static enum err ends_tell(struct cut *cut, struct why *why)
{
    struct why ignored;
    for (uint32_t i = 0; i < 2 * cut->cables; i++) {
        enum err err = end_tell(cut, &cut->ends[i], cut->cut, why);
        if (!err)
            continue;
        while (i--)
            (void)!end_tell(cut, &cut->ends[i], cut->ends[i].was_cut, &ignored);
        return err;
    }
    return OK;
}

static enum err link_change(struct cut *cut, struct why *why)
{
    ends_find(cut);
    if (!cut->cables)
        return why_fail(why, ERR_USAGE, "%s and %s: there is no link between them",
                        cut->call->arguments[0], cut->call->arguments[1]);
    enum err err = server_ask(cut, cut->a, why);
    if (!err)
        err = server_ask(cut, cut->b, why);
    if (!err)
        err = ends_tell(cut, why);
    if (!err && !cut->told)
        return why_fail(why, ERR_SYSTEM, "%s and %s: both are dead", cut->call->arguments[0],
                        cut->call->arguments[1]);
    return err;
}

static void report(const struct cut *cut)
{
    char name[CLUSTER_NAME_SIZE];
    struct result *result =
        call_result(cut->call, "link {a_name} - {b_name} is {?cut}cut{:}repaired{/}"
                               "{?one_dead}; one end is dead{/}\n");
    result_uint(result, "a", cut->a);
    result_string(result_hide(result), "a_name", cluster_name(&cut->cluster, cut->a, name));
    result_uint(result, "b", cut->b);
    result_string(result_hide(result), "b_name", cluster_name(&cut->cluster, cut->b, name));
    result_bool(result, "cut", cut->cut);
    result_uint(result, "cables", cut->cables);
    result_uint(result, "ends", cut->told);
    result_bool(result_hide(result), "one_dead", cut->told < 2 * cut->cables);
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
        err = link_change(&cut, why);
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
    .description =
        "Both ends of the link between the servers A and B stop sending and receiving, as if the "
        "cable had been pulled; packets take other paths. weft heal repairs the link. A "
        "restarted server has no cut links. If one of the two servers runs but does not answer, "
        "nothing is cut.\n\n"
        "With --json: a, b, cut, cables, ends (that were changed).",
    .options = cut_options,
    .examples = "  weft cut 0 1\n"
                "  weft cut 0 1 && weft status; weft heal 0 1",
    .run = cut_run,
};

const struct command command_heal = {
    .name = "heal",
    .group = "cluster",
    .arguments = "A B",
    .summary = "repair a link that was cut",
    .description =
        "The link between the servers A and B works again at both of its ends; routes use it "
        "once every server has learned of it. If one of the two servers runs but does not "
        "answer, nothing is changed.\n\n"
        "With --json: a, b, cut, cables, ends (that were changed).",
    .options = cut_options,
    .examples = "  weft heal 0 1",
    .run = heal_run,
};
