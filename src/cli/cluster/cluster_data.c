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

enum err cluster_data_choose(struct cluster *cluster, const struct call *call, struct why *why)
{
    struct cluster_file *file = &cluster->file;
    const char *chosen = call_option(call, "data");
    char path[PATH_MAX];
    struct data_owner owner;
    struct why ignored;
    if (chosen && !*chosen)
        return why_fail(why, ERR_USAGE, "--data: expected the name of a folder");
    path_choose(cluster, chosen, path, sizeof path);
    enum err err = path_make_absolute(path, &file->data, why);
    if (err)
        return err;
    file->data_id = file->id;
    node_id server = data_first_server(file->data);
    /* Data of another topology gets another id here, so that each server refuses it. */
    if (server != NODE_NONE && !data_owner_read(&owner, file->data, server, &ignored) &&
        owner.server_count == file->server_count && !strcmp(owner.topology, file->topology))
        file->data_id = owner.cluster;
    return OK;
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
