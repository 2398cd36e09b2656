#include "cli/cluster/cluster_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/cluster/cluster_disk.h"
#include "cli/cluster/cluster_health.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "topology/graph.h"
#include "topology/measure/parts.h"
#include "transport/clock.h"

#define POLL_NSEC   100000000LL /* between two surveys; each is some work for every server */
#define ANSWER_NSEC 500000000LL
#define CALM_NSEC   5000000000LL /* for the last links, after all servers reach each other */
#define LINE_SIZE   160

enum err cluster_start_init(struct cluster_start *start, const struct cluster *cluster,
                            struct why *why)
{
    *start = (struct cluster_start){.cluster = cluster, .begun = clock_now()};
    start->seen = cluster_seen_new(cluster);
    start->pids = calloc(cluster->file.process_count, sizeof *start->pids);
    if (start->seen && start->pids)
        return OK;
    cluster_start_fini(start);
    return why_memory(why);
}

void cluster_start_fini(struct cluster_start *start)
{
    free(start->seen);
    free(start->pids);
    free(start->parts);
    start->seen = NULL;
    start->pids = NULL;
    start->parts = NULL;
}

static bool is_ours(const struct cluster_start *start, node_id server)
{
    return start->pids[start->cluster->file.process_of[server]] > 0;
}

static bool leads(enum cluster_link state)
{
    return state == LINK_UP || state == LINK_COMING || state == LINK_DOWN;
}

/* Finds the parts: live servers are in one part if a path without a cut link connects them. */
static enum err parts_find(struct cluster_start *start, const struct cluster_health *health,
                           struct why *why)
{
    struct graph graph;
    uint32_t count = 0;
    struct link *links = array_new(health->cable_count, sizeof *links);
    if (!links)
        return why_memory(why);
    for (uint32_t i = 0; i < health->cable_count; i++) {
        const struct cluster_cable *cable = &health->cables[i];
        if (leads(cable->state))
            links[count++] = (struct link){cable->a, cable->b, PORT_ANY, PORT_ANY};
    }
    enum err err = graph_make(&graph, health->server_count, links, count, why);
    free(links);
    if (err)
        return err;
    free(start->parts);
    err = parts_label(&graph, &start->parts, why);
    graph_fini(&graph);
    return err;
}

/* A server is ready if it has settled and if, by its own snapshot, it reaches all servers of its
 * part. */
static bool is_ready(const struct cluster_start *start, node_id server)
{
    const struct cluster_seen *seen = &start->seen[server];
    if (seen->state != SERVER_LIVE || !seen->snapshot.node.settled)
        return false;
    for (node_id v = 0; v < start->cluster->plan.server_count; v++)
        if (start->parts[v] == start->parts[server] && !control_reaches(&seen->snapshot, v))
            return false;
    return true;
}

/* Returns "; its log ends: ..." or "; its log is empty". */
static const char *log_end(const struct cluster_start *start, node_id server, char *text,
                           size_t size)
{
    char line[LINE_SIZE];
    cluster_log_line(start->cluster, server, line, sizeof line);
    snprintf(text, size, "; its log %s%s", line[0] ? "ends: " : "is empty", line);
    return text;
}

/* Tells whether a full disk ended the server: the last line of its log says so or, if the log is
 * empty, the disk is full now. Not the disk of the data directory, which that line names. */
static bool disk_ends(const struct cluster_start *start, node_id server)
{
    char line[LINE_SIZE];
    cluster_log_line(start->cluster, server, line, sizeof line);
    if (strstr(line, "the data directory"))
        return false;
    return line[0] ? cluster_disk_said(line) : cluster_disk_is_full(start->cluster->folder);
}

static enum err deaths_check(const struct cluster_start *start, struct why *why)
{
    char how[64], line[LINE_SIZE + 32];
    const struct cluster_file *file = &start->cluster->file;
    for (node_id v = 0; v < file->server_count; v++) {
        pid_t *pid = &start->pids[file->process_of[v]];
        if (!cluster_ended(*pid, how, sizeof how))
            continue;
        *pid = 0;
        if (disk_ends(start, v))
            return cluster_disk_fail(start->cluster->folder, why);
        bool serial = file->commissioned;
        return why_fail(why, ERR_SYSTEM, "%s %u ended (%s)%s", serial ? "serial" : "server",
                        serial ? start->cluster->serials[v] : v, how,
                        log_end(start, v, line, sizeof line));
    }
    return OK;
}

static enum err late_tell(const struct cluster_start *start, double seconds, struct why *why)
{
    char line[LINE_SIZE + 32];
    uint32_t late = 0;
    node_id first = NODE_NONE;
    for (node_id v = 0; v < start->cluster->plan.server_count; v++) {
        if (!is_ours(start, v) || is_ready(start, v))
            continue;
        late++;
        first = first == NODE_NONE ? v : first;
    }
    if (first == NODE_NONE)
        return OK;
    if (cluster_disk_is_full(start->cluster->folder))
        return cluster_disk_fail(start->cluster->folder, why);
    const struct cluster_seen *seen = &start->seen[first];
    const char *what = seen->state != SERVER_LIVE     ? "does not answer"
                       : !seen->snapshot.node.settled ? "has not joined"
                                                      : "does not reach all others";
    return why_fail(why, ERR_SYSTEM, "after %.0f s %u of %u servers %s not ready: server %u %s%s",
                    seconds, late, start->cluster->plan.server_count, late == 1 ? "is" : "are",
                    first, what,
                    start->cluster->file.commissioned /* it is not known which process it is */
                        ? "; see the logs of the machines"
                        : log_end(start, first, line, sizeof line));
}

/* Asks all servers once. *calm: no server is still joining, all links between live servers are up,
 * and all routes agree. */
static enum err survey(struct cluster_start *start, bool *calm, struct why *why)
{
    struct cluster_health health;
    enum err err = cluster_survey(start->cluster, start->seen, ANSWER_NSEC, why);
    if (!err)
        err = cluster_health(&health, &start->cluster->plan, start->seen, why);
    if (err)
        return err;
    err = parts_find(start, &health, why);
    *calm = !health.reasons[HEALTH_SERVERS_JOINING] && !health.reasons[HEALTH_LINKS_DOWN] &&
            !health.reasons[HEALTH_ROUTES_DIFFER];
    cluster_health_fini(&health);
    return err;
}

static bool all_ready(const struct cluster_start *start)
{
    uint32_t ready = 0, wanted = 0;
    for (node_id v = 0; v < start->cluster->plan.server_count; v++) {
        wanted += is_ours(start, v);
        ready += is_ours(start, v) && is_ready(start, v);
    }
    progress_show("servers ready", ready, wanted);
    return ready == wanted;
}

enum err cluster_start_wait(struct cluster_start *start, double seconds, struct why *why)
{
    int64_t deadline = clock_after((int64_t)(seconds * 1e9)), calm_by = 0;
    for (;;) {
        bool calm = false;
        enum err err = deaths_check(start, why);
        if (!err)
            err = survey(start, &calm, why);
        if (err)
            return err;
        bool ready = all_ready(start);
        if (ready && !calm_by)
            calm_by = clock_after(CALM_NSEC);
        if (ready && (calm || clock_now() >= calm_by))
            return OK;
        if (stop_asked())
            return why_fail(why, ERR_SYSTEM, "interrupted");
        if (clock_now() >= deadline)
            return ready ? OK : late_tell(start, seconds, why);
        ripc_call_sleep(clock_after(POLL_NSEC));
    }
}
