/* weft down */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/cluster/cluster_end.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "transport/clock.h"

#define GRACE_SECONDS 5
#define GRACE_MAX     600

struct downed {
    uint32_t lived, forced, others;
    bool made_folder;
};

static void report(struct call *call, const struct cluster *cluster, const struct downed *downed)
{
    if (!call->json) {
        text_count(&call->out, downed->lived, "server", "servers");
        text_printf(&call->out, " ended");
        if (downed->forced)
            text_printf(&call->out, ", %u by force", downed->forced);
        text_printf(&call->out, "; %s is %s\n", cluster->folder,
                    downed->made_folder && !downed->others ? "removed" : "cleared");
        if (downed->others) {
            text_count(&call->out, downed->others, "other file was", "other files were");
            text_puts(&call->out, " left there\n");
        }
        return;
    }
    struct json json = json_make(&call->out, true);
    json_object(&json);
    json_put_string(&json, "folder", cluster->folder);
    json_put_uint(&json, "servers", downed->lived);
    json_put_uint(&json, "forced", downed->forced);
    json_put_uint(&json, "files_left", downed->others);
    json_end(&json, '}');
}

/* Whatever cluster.json says, if it can be read at all: the locks tell who lives. */
static enum err cluster_take_down(struct call *call, struct cluster *cluster, double grace,
                                  struct why *why)
{
    struct why unread;
    struct downed downed = {0};
    if (!cluster_file_read(&cluster->file, cluster->folder, &unread)) {
        downed.lived = cluster_lives(cluster);
        downed.made_folder = cluster->file.made_folder;
        cluster_file_fini(&cluster->file);
    }
    int forced = cluster_end(cluster->folder, (int64_t)(grace * 1e9));
    if (forced < 0)
        return why_fail(why, ERR_SYSTEM, "%s: its processes cannot be ended: %s", cluster->folder,
                        strerror(-forced));
    downed.forced = (uint32_t)forced;
    enum err err = cluster_remove(cluster->folder, downed.made_folder, &downed.others, why);
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
        err = why_fail(why, ERR_SYSTEM, "%s: no cluster here; nothing to end", cluster.folder);
    if (!err)
        err = cluster_exclude(&cluster, &exclusion, why);
    if (err)
        return err;
    err = cluster_take_down(call, &cluster, grace, why);
    close(exclusion);
    return err;
}

static const struct option down_options[] = {
    CLUSTER_OPTIONS,
    {"grace", "S", "seconds until those that do not end are killed (5)"},
    {0},
};

const struct command command_down = {
    .name = "down",
    .group = "cluster",
    .arguments = "",
    .summary = "end a cluster and remove what it made",
    .description =
        "Asks every process of the cluster to end, kills those that have not after --grace "
        "seconds, and, when all are gone, removes the files of the run directory that weft made, "
        "and the directory itself if weft up made it and nothing else lies there. It also clears "
        "what is left of a cluster whose processes were killed.\n\n"
        "Only processes that hold the lock of a server in that directory are signalled.\n\n"
        "With --json: folder, servers that were ended, forced, files_left.",
    .options = down_options,
    .examples = "  weft down\n"
                "  weft down --dir /tmp/small --grace 0",
    .run = down_run,
};
