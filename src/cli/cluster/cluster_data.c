#include "cli/cluster/cluster_data.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/data/data_erase.h"
#include "os/data/data_folder.h"
#include "transport/clock.h"

static const char *word_of(const char *variable)
{
    const char *word = getenv(variable);
    return word && *word ? word : NULL;
}

static void path_choose(const struct cluster *cluster, const char *chosen, char *path, size_t size)
{
    bool named = cluster->hint[0] || word_of("WEFT_DIR");
    if (!chosen)
        chosen = word_of("WEFT_DATA");
    if (chosen)
        snprintf(path, size, "%s", chosen);
    else if (!named && word_of("XDG_STATE_HOME"))
        snprintf(path, size, "%s/weft", word_of("XDG_STATE_HOME"));
    else if (!named && word_of("HOME"))
        snprintf(path, size, "%s/.local/state/weft", word_of("HOME"));
    else
        snprintf(path, size, "%s.data", cluster->folder);
}

/* The folder need not exist, so realpath cannot be used. */
static enum err path_make_absolute(const char *path, char **out, struct why *why)
{
    char here[PATH_MAX];
    if (path[0] == '/') {
        *out = strdup(path);
        return *out ? OK : why_memory(why);
    }
    if (!getcwd(here, sizeof here))
        return why_fail(why, ERR_SYSTEM, "the current folder has no name: %s", strerror(errno));
    return asprintf(out, "%s/%s", here, path) < 0 ? why_memory(why) : OK;
}

/* ---- whose data it is ---- */

struct survey {
    const struct cluster_file *file;
    node_id known;    /* the lowest server with data of this topology; NODE_NONE: none has */
    uint64_t cluster; /* the id of that data, or of a new cluster */
    node_id refused;  /* the lowest server whose folder is refused, and why */
    struct why why;
};

static void id_look(void *context, node_id server)
{
    struct survey *survey = context;
    const struct cluster_file *file = survey->file;
    struct data_owner owner;
    struct why ignored;
    if (server >= survey->known || data_owner_read(&owner, file->data, server, &ignored) ||
        owner.server_count != file->server_count || strcmp(owner.topology, file->topology) != 0)
        return;
    survey->known = server;
    survey->cluster = owner.cluster;
}

static void folder_look(void *context, node_id server)
{
    struct survey *survey = context;
    const struct cluster_file *file = survey->file;
    struct why why = {0};
    struct data_owner owner = {
        .cluster = file->data_id, .server_count = file->server_count, .server = server};
    snprintf(owner.topology, sizeof owner.topology, "%s", file->topology);
    if (server >= survey->refused || !data_folder_check(file->data, &owner, &why))
        return;
    survey->refused = server;
    survey->why = why;
}

/* Any folder may be lost or torn, so all are asked. The servers start at the same time, so they
 * would make folders that are missing before one of them refuses. */
static enum err data_identify(struct cluster_file *file, bool used, struct why *why)
{
    struct survey survey = {
        .file = file, .known = NODE_NONE, .cluster = file->id, .refused = NODE_NONE};
    data_servers(file->data, id_look, &survey);
    file->data_id = survey.cluster;
    if (used)
        data_servers(file->data, folder_look, &survey);
    return survey.refused == NODE_NONE ? OK : why_fail(why, ERR_INPUT, "%s", survey.why.text);
}

enum err cluster_data_choose(struct cluster *cluster, const struct call *call, bool used,
                             struct why *why)
{
    struct cluster_file *file = &cluster->file;
    const char *chosen = call_option(call, "data");
    char path[PATH_MAX];
    if (chosen && !*chosen)
        return why_fail(why, ERR_USAGE, "--data: expected the name of a folder");
    path_choose(cluster, chosen, path, sizeof path);
    enum err err = path_make_absolute(path, &file->data, why);
    return err ? err : data_identify(file, used, why);
}

static void server_look(void *context, node_id server)
{
    *(bool *)context = true;
}

enum err cluster_data_begin(struct cluster *cluster, bool used, struct cluster_data_start *start,
                            struct why *why)
{
    *start = (struct cluster_data_start){.lock.folder = -1};
    if (!used)
        return OK;
    enum err err = data_lock_take(&start->lock, cluster->file.data, why);
    if (err)
        return err;
    data_servers(cluster->file.data, server_look, &start->servers);
    return data_identify(&cluster->file, true, why);
}

void cluster_data_end(const struct cluster *cluster, struct cluster_data_start *start, bool failed)
{
    const struct cluster_file *file = &cluster->file;
    if (start->lock.folder < 0)
        return;
    if (failed && !start->servers)
        data_withdraw(file->data, file->data_id);
    if (failed && start->lock.made)
        (void)!rmdir(file->data); /* it stays if there is anything in it */
    data_lock_release(&start->lock);
}

uint32_t cluster_data_count(const struct cluster *cluster)
{
    return cluster->file.data ? data_count(cluster->file.data, cluster->file.data_id) : 0;
}

enum err cluster_data_leave(const struct cluster *cluster, bool erase, uint32_t *stored,
                            struct why *why)
{
    *stored = cluster_data_count(cluster);
    if (!erase || !*stored)
        return OK;
    return data_erase(cluster->file.data, cluster->file.data_id, stored, why);
}
