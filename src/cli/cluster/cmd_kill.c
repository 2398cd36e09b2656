/* weft kill, weft revive */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster/cluster_end.h"
#include "cli/cluster/cluster_start.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "transport/clock.h"

#define SECONDS_MAX 3600

struct companions {
    const struct cluster *cluster;
    node_id server;
};

static bool pick_companions(const void *context, node_id server)
{
    const struct companions *all = context;
    const struct cluster_file *file = &all->cluster->file;
    return file->process_of[server] == file->process_of[all->server];
}

/* Reports what happened to the process of a server, and which servers it hosts. */
static void report(struct call *call, const struct cluster *cluster, node_id server,
                   const char *verb, int pid, double seconds)
{
    struct companions all = {cluster, server};
    uint32_t count = 0;
    struct result *result = call_result(call, "server{?several}s{/} {list} {verb} (pid {pid})"
                                              "{?seconds}, joined after {seconds%.2f} s{/}\n");
    result_array(result, "servers");
    for (node_id v = 0; v < cluster->plan.server_count; v++) {
        if (!pick_companions(&all, v))
            continue;
        result_uint(result, NULL, v);
        count++;
    }
    result_end(result);
    result_bool(result_hide(result), "several", count != 1);
    cluster_list_servers(result_words(result_hide(result), "list"), &cluster->plan, pick_companions,
                         &all);
    result_string(result_hide(result), "verb", verb);
    result_uint(result, "pid", (uint64_t)pid);
    if (seconds > 0)
        result_number(result, "seconds", seconds);
}

static enum err server_kill(struct call *call, const struct cluster *cluster, node_id server,
                            struct why *why)
{
    char name[CLUSTER_NAME_SIZE];
    int pid = cluster_kill(cluster->folder, server);
    if (pid == -ESRCH)
        return cluster_dead(cluster, server, why);
    if (pid == -ETIMEDOUT)
        return why_fail(why, ERR_SYSTEM, "server %s: its process was killed but does not end",
                        cluster_name(cluster, server, name));
    if (pid < 0)
        return why_fail(why, ERR_SYSTEM, "server %s: %s", cluster_name(cluster, server, name),
                        strerror(-pid));
    report(call, cluster, server, "killed", pid, 0);
    return OK;
}

static enum err kill_run(struct call *call, struct why *why)
{
    struct cluster cluster;
    node_id server;
    enum err err = cluster_open(&cluster, call, why);
    if (err)
        return err;
    err = cluster_server(&cluster, call->arguments[0], &server, why);
    if (!err)
        err = server_kill(call, &cluster, server, why);
    cluster_close(&cluster);
    return err;
}

static const struct option kill_options[] = {
    CLUSTER_OPTIONS,
    {0},
};

const struct command command_kill = {
    .name = "kill",
    .group = "cluster",
    .arguments = "ID",
    .summary = "kill the process of a server",
    .description =
        "Ends the process of a server as if its power had failed: with SIGKILL, which goes only "
        "to the process that holds the lock of the server. Returns when the process has ended. "
        "Servers that share the process die with it. The other servers notice the failure and take "
        "over the keys. weft revive starts the process again.\n\n"
        "With --json: servers, pid.",
    .options = kill_options,
    .examples = "  weft kill 13\n"
                "  weft kill 13 && weft status",
    .run = kill_run,
};

/* ---- revive ---- */

static enum err process_revive(struct call *call, const struct cluster *cluster, node_id server,
                               double seconds, struct why *why)
{
    char weftd[4096];
    struct cluster_start start;
    uint32_t process = cluster->file.process_of[server];
    pid_t pid = cluster_lock_holder(cluster->folder, server);
    if (pid > 0)
        return why_fail(why, ERR_NO, "server %u is running (pid %d)", server, (int)pid);
    enum err err = cluster_weftd(weftd, sizeof weftd, why);
    if (!err)
        err = cluster_start_init(&start, cluster, why);
    if (err)
        return err;
    err = cluster_spawn(cluster, weftd, process, &start.pids[process], why);
    if (!err) {
        pid = start.pids[process];
        err = cluster_start_wait(&start, seconds, why);
    }
    if (!err)
        report(call, cluster, server, "revived", pid, (double)(clock_now() - start.begun) / 1e9);
    cluster_start_fini(&start);
    return err;
}

static enum err revive_run(struct call *call, struct why *why)
{
    struct cluster cluster;
    node_id server;
    double seconds = CLUSTER_WAIT_SECONDS;
    int exclusion = -1;
    enum err err = cluster_open(&cluster, call, why);
    if (err)
        return err;
    err = cluster_server(&cluster, call->arguments[0], &server, why);
    if (!err)
        err = call_real(call, "wait", 0, SECONDS_MAX, &seconds, why);
    if (!err)
        err = cluster_exclude(&cluster, &exclusion, why);
    if (!err) {
        stop_catch();
        err = process_revive(call, &cluster, server, seconds, why);
        close(exclusion);
    }
    cluster_close(&cluster);
    return err;
}

static const struct option revive_options[] = {
    CLUSTER_OPTIONS,
    {"wait", "S", "seconds to wait until it has joined again (default 60)"},
    {0},
};

const struct command command_revive = {
    .name = "revive",
    .group = "cluster",
    .arguments = "ID",
    .summary = "start a dead server again",
    .description =
        "Starts the process of a dead server, with all servers that share it, and waits until they "
        "have joined: they answer for their keys again, and reach all other servers that answer, "
        "except servers behind cut links. If that takes longer than --wait seconds, the process "
        "keeps running, and weft status shows its state.\n\n"
        "With --json: servers, pid, seconds.",
    .options = revive_options,
    .examples = "  weft revive 13",
    .run = revive_run,
};
