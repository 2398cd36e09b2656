#include "cli/cluster/cluster.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/core/load.h"
#include "os/cluster/cluster_ask.h"
#include "os/cluster/serial_file.h"
#include "os/host/watchdog.h"
#include "program/place.h"
#include "transport/clock.h"

static enum err folder_choose(const struct call *call, char *folder, size_t size, bool *usual,
                              struct why *why)
{
    const char *chosen = call_option(call, "dir");
    char text[PLACE_SIZE];
    *usual = !chosen;
    /* The check below refuses a name that was cut off. */
    if (place_folder(chosen, text) == -EINVAL)
        return why_fail(why, ERR_USAGE, "--dir: expected the name of a folder");
    for (size_t end = strlen(text); end > 1 && text[end - 1] == '/'; end--)
        text[end - 1] = '\0';
    enum err err = cluster_folder_check(text, why);
    if (!err)
        snprintf(folder, size, "%s", text);
    return err;
}

enum err cluster_find(struct cluster *cluster, const struct call *call, struct why *why)
{
    bool usual;
    *cluster = (struct cluster){0};
    enum err err = folder_choose(call, cluster->folder, sizeof cluster->folder, &usual, why);
    if (!err && !usual)
        snprintf(cluster->hint, sizeof cluster->hint, " --dir %s", cluster->folder);
    return err;
}

/* Refuses a folder of another user, who could control our servers. */
static enum err folder_own(const struct cluster *cluster, struct why *why)
{
    struct stat info;
    if (stat(cluster->folder, &info))
        return errno == ENOENT || errno == ENOTDIR
                   ? why_fail(why, ERR_USAGE, "%s: no cluster here; 'weft up%s' starts one",
                              cluster->folder, cluster->hint)
                   : why_fail(why, ERR_INPUT, "%s: %s", cluster->folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return why_fail(why, ERR_USAGE, "%s: is not a folder", cluster->folder);
    if (info.st_uid != geteuid())
        return why_fail(why, ERR_USAGE, "%s: belongs to another user; choose another --dir",
                        cluster->folder);
    return OK;
}

enum err cluster_plan(struct cluster *cluster, const char *word, struct why *why)
{
    enum err err = load_topology(&cluster->topology, word, why);
    if (err)
        return err;
    err = plan_init(&cluster->plan, &cluster->topology, why);
    if (err) {
        topology_fini(&cluster->topology);
        cluster->topology = (struct topology){0};
    }
    return err;
}

enum err cluster_open(struct cluster *cluster, const struct call *call, struct why *why)
{
    char path[CLUSTER_PATH_SIZE];
    enum err err = cluster_find(cluster, call, why);
    if (!err)
        err = folder_own(cluster, why);
    if (err)
        return err;
    snprintf(path, sizeof path, "%s/%s", cluster->folder, CLUSTER_FILE_NAME);
    if (access(path, F_OK) && errno == ENOENT)
        return why_fail(why, ERR_USAGE, "%s: no cluster here; 'weft up%s' starts one",
                        cluster->folder, cluster->hint);
    err = cluster_file_read(&cluster->file, cluster->folder, why);
    if (err)
        return err;
    snprintf(path, sizeof path, "%s/%s", cluster->folder, CLUSTER_TOPOLOGY_NAME);
    err = cluster_plan(cluster, path, why);
    if (!err && cluster->plan.server_count != cluster->file.server_count) {
        err = why_fail(why, ERR_INPUT,
                       "%s: has %u servers, but %s has %u; 'weft down%s' removes the cluster", path,
                       cluster->plan.server_count, CLUSTER_FILE_NAME, cluster->file.server_count,
                       cluster->hint);
    }
    if (!err && cluster->file.commissioned) {
        cluster->serials = calloc(cluster->file.server_count, sizeof *cluster->serials);
        err = !cluster->serials ? why_memory(why)
                                : serial_places_find(cluster->serials, cluster->folder,
                                                     cluster->file.server_count, why);
    }
    if (err)
        cluster_close(cluster);
    return err;
}

void cluster_close(struct cluster *cluster)
{
    if (cluster->plan.topology) {
        plan_fini(&cluster->plan);
        topology_fini(&cluster->topology);
    }
    cluster_file_fini(&cluster->file);
    free(cluster->serials);
    *cluster = (struct cluster){0};
}

enum err cluster_server(const struct cluster *cluster, const char *word, node_id *server,
                        struct why *why)
{
    uint32_t node = topology_find(&cluster->topology, word);
    if (node == NODE_NONE)
        return why_fail(why, ERR_USAGE, "no server %.40s; the servers of %s are 0 to %u", word,
                        cluster->folder, cluster->plan.server_count - 1);
    *server = node;
    return OK;
}

const char *cluster_name(const struct cluster *cluster, node_id server,
                         char name[CLUSTER_NAME_SIZE])
{
    char buffer[NODE_NAME_SIZE];
    uint32_t at[AXIS_MAX];
    const struct topology *topology = &cluster->topology;
    int size = snprintf(name, CLUSTER_NAME_SIZE, "%.32s", topology_name(topology, server, buffer));
    if (topology->axis_count < 2 || topology->axis_count > 3)
        return name;
    topology_coordinate(topology, server, at);
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        size += snprintf(name + size, CLUSTER_NAME_SIZE - (size_t)size, "%s%u", axis ? "," : " (",
                         at[axis]);
    snprintf(name + size, CLUSTER_NAME_SIZE - (size_t)size, ")");
    return name;
}

enum err cluster_exclude(const struct cluster *cluster, int *handle, struct why *why)
{
    *handle = open(cluster->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*handle < 0)
        return why_fail(why, ERR_SYSTEM, "%s: %s", cluster->folder, strerror(errno));
    if (flock(*handle, LOCK_EX | LOCK_NB) == 0)
        return OK;
    int error = errno;
    close(*handle);
    *handle = -1;
    if (error == EWOULDBLOCK)
        return why_fail(why, ERR_SYSTEM,
                        "%s: another weft up, down or revive is running there; wait until it ends",
                        cluster->folder);
    return why_fail(why, ERR_SYSTEM, "%s: %s", cluster->folder, strerror(error));
}

/* ---- surveys ---- */

uint32_t cluster_lives(const struct cluster *cluster)
{
    uint32_t lives = 0;
    for (node_id v = 0; v < cluster->file.server_count; v++)
        lives += cluster_lock_holder(cluster->folder, v) > 0;
    return lives;
}

struct cluster_seen *cluster_seen_new(const struct cluster *cluster)
{
    return calloc(cluster->plan.server_count, sizeof(struct cluster_seen));
}

/* Takes the answer of one server, if it is its snapshot. */
static bool snapshot_take(const struct cluster *cluster, const struct cluster_ask *ask,
                          struct control_snapshot *snapshot)
{
    struct control_answer answer;
    struct reader in = reader_make(ask->answer, ask->result < 0 ? 0 : (size_t)ask->result);
    return ask->result > 0 && control_answer_read(&in, &answer) == 0 && !answer.error &&
           answer.kind == CONTROL_SNAPSHOT && control_snapshot_read(&in, snapshot) == 0 &&
           snapshot->node.self == ask->server &&
           snapshot->server_count == cluster->plan.server_count;
}

/* Notes whether a service blocks that silent server, as its watchdog reports. */
static void stuck_take(const struct cluster *cluster, node_id server, struct cluster_seen *seen)
{
    struct watchdog_stuck stuck;
    static_assert(sizeof stuck.service == sizeof seen->stuck_service, "names of services");
    seen->stuck_service[0] = '\0';
    if (seen->state != SERVER_SILENT || !watchdog_read(cluster->folder, server, &stuck) ||
        stuck.pid != seen->pid)
        return;
    memcpy(seen->stuck_service, stuck.service, sizeof stuck.service);
    memcpy(seen->stuck_function, stuck.function, sizeof stuck.function);
    seen->stuck_seconds = (double)(clock_wall() - stuck.since) / 1e9;
}

enum err cluster_survey(const struct cluster *cluster, struct cluster_seen *seen, int64_t patience,
                        struct why *why)
{
    static const struct control_request request = {.kind = CONTROL_SNAPSHOT};
    uint8_t question[CONTROL_REQUEST_MAX];
    size_t question_size = control_request_write(&request, question);
    uint32_t count = cluster->plan.server_count, asked = 0;
    struct cluster_ask *asks = calloc(count, sizeof *asks);
    uint8_t *answers = malloc((size_t)count * CONTROL_ANSWER_MAX);
    if (!asks || !answers) {
        free(asks);
        free(answers);
        return why_memory(why);
    }
    for (node_id v = 0; v < count; v++) {
        pid_t pid = cluster_lock_holder(cluster->folder, v);
        seen[v].pid = pid > 0 ? pid : 0;
        seen[v].state = pid > 0 ? SERVER_SILENT : SERVER_DEAD;
        if (pid > 0)
            asks[asked++] = (struct cluster_ask){v,
                                                 CONTROL_SERVICE,
                                                 question,
                                                 question_size,
                                                 answers + (size_t)v * CONTROL_ANSWER_MAX,
                                                 CONTROL_ANSWER_MAX,
                                                 0};
    }
    cluster_ask(cluster->folder, asks, asked, clock_after(patience));
    for (uint32_t i = 0; i < asked; i++) {
        struct cluster_seen *one = &seen[asks[i].server];
        if (snapshot_take(cluster, &asks[i], &one->snapshot)) {
            one->state = SERVER_LIVE;
        } else if (cluster_lock_holder(cluster->folder, asks[i].server) <= 0) {
            one->state = SERVER_DEAD; /* it died after the request */
            one->pid = 0;
        }
        stuck_take(cluster, asks[i].server, one);
    }
    free(asks);
    free(answers);
    return OK;
}

enum err cluster_dead(const struct cluster *cluster, node_id server, struct why *why)
{
    char name[CLUSTER_NAME_SIZE];
    return why_fail(why, ERR_SYSTEM, "server %s is dead; 'weft revive %u%s' starts it again",
                    cluster_name(cluster, server, name), server, cluster->hint);
}

enum err cluster_silent(const struct cluster *cluster, node_id server, int error, struct why *why)
{
    char name[CLUSTER_NAME_SIZE];
    if (cluster_lock_holder(cluster->folder, server) <= 0)
        return cluster_dead(cluster, server, why);
    return why_fail(
        why, ERR_SYSTEM,
        "server %s does not answer: %s; 'weft kill %u%s' ends it and 'weft revive %u%s' "
        "starts it again",
        cluster_name(cluster, server, name), strerror(-error), server, cluster->hint, server,
        cluster->hint);
}

enum err cluster_from(const struct cluster *cluster, const struct call *call, node_id *server,
                      struct why *why)
{
    const char *from = call_option(call, "from");
    if (from) {
        enum err err = cluster_server(cluster, from, server, why);
        if (!err && cluster_lock_holder(cluster->folder, *server) <= 0)
            err = cluster_dead(cluster, *server, why);
        return err;
    }
    for (*server = 0; *server < cluster->plan.server_count; ++*server)
        if (cluster_lock_holder(cluster->folder, *server) > 0)
            return OK;
    return why_fail(why, ERR_SYSTEM,
                    "%s: none of its servers is alive; 'weft down%s' removes the cluster",
                    cluster->folder, cluster->hint);
}
