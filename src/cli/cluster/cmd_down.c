/* weft down */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cluster/cluster_data.h"
#include "cli/cluster/cluster_end.h"
#include "cli/cluster/cluster_log.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "transport/clock.h"

#define GRACE_SECONDS 5
#define GRACE_MAX     600

struct downed {
    uint32_t lived, forced, others;
    uint32_t crashed; /* processes, while they ended */
    bool made_folder;
    bool erases;     /* --erase-data */
    uint32_t stored; /* servers whose data was kept or erased */
};

static void report(struct call *call, const struct cluster *cluster, const struct downed *downed)
{
    struct result *result = call_result(
        call, "{servers|server|servers} ended{?forced}, {forced} of them killed{/}"
              "{?crashed}; {crashed|process|processes} crashed{/}; {folder} is "
              "{?removed}removed{:}cleared{/}\n"
              "{?files_left}{files_left|other file was|other files were} left there\n{/}"
              "{?stored}the data of {stored|server|servers} {?erased}was erased from{:}stays "
              "in{/} {data}\n{/}");
    result_string(result, "folder", cluster->folder);
    result_uint(result, "servers", downed->lived);
    result_uint(result, "forced", downed->forced);
    result_uint(result, "crashed", downed->crashed);
    result_uint(result, "files_left", downed->others);
    result_string(result, "data", cluster->file.data ? cluster->file.data : "");
    result_uint(result, "stored", downed->stored);
    result_bool(result, "erased", downed->erases);
    result_bool(result_hide(result), "removed", downed->made_folder && !downed->others);
}

/* Does not need cluster.json, which may be unreadable: the locks tell which processes run. */
static enum err cluster_take_down(struct call *call, struct cluster *cluster, double grace,
                                  struct why *why)
{
    struct why unread;
    struct downed downed = {.erases = call_has(call, "erase-data")};
    if (!cluster_file_read(&cluster->file, cluster->folder, &unread)) {
        downed.lived = cluster_lives(cluster);
        downed.made_folder = cluster->file.made_folder;
    } else if (downed.erases) {
        return why_fail(why, ERR_INPUT, "--erase-data: %s", unread.text);
    }
    struct cluster_logs logs;
    cluster_logs_mark(&logs, cluster->folder);
    int forced = cluster_end(cluster->folder, (int64_t)(grace * 1e9));
    downed.crashed = cluster_logs_tell(&logs, &call->notes);
    cluster_logs_fini(&logs);
    call->no = downed.crashed > 0;
    if (forced < 0)
        return why_fail(why, ERR_SYSTEM, "%s: cannot end the processes of the cluster: %s",
                        cluster->folder, strerror(-forced));
    downed.forced = (uint32_t)forced;
    enum err err = cluster_data_leave(cluster, downed.erases, &downed.stored, why);
    if (!err)
        err = cluster_remove(cluster->folder, downed.made_folder, &downed.others, why);
    if (!err)
        report(call, cluster, &downed);
    return err;
}

static enum err down_run(struct call *call, struct why *why)
{
    struct cluster cluster;
    double grace = GRACE_SECONDS;
    int exclusion;
    enum err err = cluster_find(&cluster, call, why);
    if (!err)
        err = call_real(call, "grace", 0, GRACE_MAX, &grace, why);
    if (!err && !cluster_remains(cluster.folder))
        err = why_fail(why, ERR_USAGE, "%s: no cluster runs here, so there is nothing to end",
                       cluster.folder);
    if (!err)
        err = cluster_exclude(&cluster, &exclusion, why);
    if (err)
        return err;
    err = cluster_take_down(call, &cluster, grace, why);
    cluster_file_fini(&cluster.file);
    close(exclusion);
    return err;
}

static const struct option down_options[] = {
    CLUSTER_OPTIONS,
    {"grace", "S", "seconds until processes that have not ended are killed (default 5)"},
    {"erase-data", NULL, "also remove what services of this cluster keep in the data directory"},
    {0},
};

const struct command command_down = {
    .name = "down",
    .group = "cluster",
    .arguments = "",
    .summary = "end a cluster and remove its files",
    .description =
        "Asks every process of the cluster to end, kills those that have not ended after --grace "
        "seconds, and then removes the files that weft made in the run directory, and the "
        "directory itself if weft up made it and it is empty. It also removes the files of a "
        "cluster whose processes were killed.\n\n"
        "The logs are removed, too. So it prints on standard error what the servers wrote there "
        "about their services while they ended: mistakes in stop(), a function that did not "
        "return, a crash; at most ten lines. The exit code is 1 if a process crashed while it "
        "ended.\n\n"
        "What services keep in the data directory stays there, and the command says where: the "
        "next "
        "weft up of this topology with this data directory finds it. With --erase-data the folders "
        "of this cluster's servers are removed from it, once all servers have ended; there is no "
        "question and no way back. Other files in the data directory stay.\n\n"
        "Only processes that hold the lock of a server in that directory are signalled.\n\n"
        "With --json: folder, servers that were ended, forced, crashed (processes), files_left, "
        "data, stored (servers "
        "whose data "
        "was kept, or erased), erased.",
    .options = down_options,
    .examples = "  weft down\n"
                "  weft down --dir /tmp/small --grace 0\n"
                "  weft down --erase-data",
    .run = down_run,
};
