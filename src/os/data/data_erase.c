#include "os/data/data_erase.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "node/plan.h"
#include "os/data/data_folder.h"

#define DESCRIPTORS_MAX 16 /* that the walk keeps open */

struct survey {
    const char *data;
    uint64_t cluster;
    uint32_t count;
    node_id busy; /* a server that runs; NODE_NONE: none */
    bool erases;
    int error; /* the first that occurred while removing */
};

static bool is_busy(const struct survey *survey, node_id server)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" DATA_FOLDER_PREFIX "%u/" DATA_FILE_NAME, survey->data,
             server);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool busy = file >= 0 && flock(file, LOCK_EX | LOCK_NB);
    if (file >= 0)
        close(file);
    return busy;
}

static int entry_remove(const char *path, const struct stat *info, int type, struct FTW *at)
{
    return remove(path) ? errno : 0;
}

/* Stops the walk at a file of a service that is not empty, and at what it cannot look into. */
static int entry_look(const char *path, const struct stat *info, int type, struct FTW *at)
{
    return type == FTW_DNR || type == FTW_NS || (type == FTW_F && at->level > 1 && info->st_size);
}

static void server_withdraw(void *context, node_id server)
{
    const struct survey *survey = context;
    struct data_owner owner;
    struct why ignored;
    char path[PATH_MAX];
    if (data_owner_read(&owner, survey->data, server, &ignored) ||
        owner.cluster != survey->cluster || is_busy(survey, server))
        return;
    snprintf(path, sizeof path, "%s/" DATA_FOLDER_PREFIX "%u", survey->data, server);
    if (!nftw(path, entry_look, DESCRIPTORS_MAX, FTW_PHYS))
        (void)!nftw(path, entry_remove, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
}

void data_withdraw(const char *data, uint64_t cluster)
{
    struct survey survey = {.data = data, .cluster = cluster};
    data_servers(data, server_withdraw, &survey);
}

static void server_visit(void *context, node_id server)
{
    struct survey *survey = context;
    struct data_owner owner;
    struct why ignored;
    char path[PATH_MAX];
    if (data_owner_read(&owner, survey->data, server, &ignored) || owner.cluster != survey->cluster)
        return;
    survey->count++;
    if (!survey->erases) {
        if (is_busy(survey, server))
            survey->busy = server;
        return;
    }
    snprintf(path, sizeof path, "%s/" DATA_FOLDER_PREFIX "%u", survey->data, server);
    int error = nftw(path, entry_remove, DESCRIPTORS_MAX, FTW_DEPTH | FTW_PHYS);
    if (error && !survey->error)
        survey->error = error < 0 ? errno : error;
}

uint32_t data_count(const char *data, uint64_t cluster)
{
    struct survey survey = {.data = data, .cluster = cluster};
    data_servers(data, server_visit, &survey);
    return survey.count;
}

enum err data_erase(const char *data, uint64_t cluster, uint32_t *erased, struct why *why)
{
    struct survey survey = {.data = data, .cluster = cluster, .busy = NODE_NONE};
    data_servers(data, server_visit, &survey);
    if (survey.busy != NODE_NONE)
        return why_fail(why, ERR_SYSTEM,
                        "%s: server %u runs on its data, so nothing was erased; end it first", data,
                        survey.busy);
    survey.erases = true;
    survey.count = 0;
    data_servers(data, server_visit, &survey);
    *erased = survey.count;
    if (survey.error)
        return why_fail(why, ERR_SYSTEM, "%s: cannot erase all data: %s", data,
                        strerror(survey.error));
    (void)!rmdir(data); /* it stays if there is anything else in it */
    return OK;
}
