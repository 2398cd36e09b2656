#include "os/data/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "node/plan.h"

#define FILE_SIZE_MAX 4096
#define FOLDER_FLAGS  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define PREFIX        DATA_FOLDER_PREFIX

/* ---- folders ---- */

/* Makes a folder durably if it is missing. Returns a negative errno. */
static int folder_make(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700))
        return errno == EEXIST ? 0 : -errno;
    return fsync(parent) ? -errno : 0;
}

/* Opens a folder by its path, and makes it and the folders above it if they are missing. */
static int path_open(const char *path)
{
    char name[PATH_MAX];
    int at = open(path[0] == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0 && *(path += strspn(path, "/"))) {
        size_t size = strcspn(path, "/");
        int result = size < sizeof name ? 0 : -ENAMETOOLONG, next = -1;
        if (!result) {
            memcpy(name, path, size);
            name[size] = '\0';
            result = folder_make(at, name);
            next = result ? -1 : openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
            result = result ? result : next < 0 ? -errno : 0;
        }
        close(at);
        if (result)
            return result;
        at = next;
        path += size;
    }
    return at < 0 ? -errno : at;
}

void data_servers(const char *data, void (*each)(void *context, node_id server), void *context)
{
    DIR *entries = opendir(data);
    if (!entries)
        return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char *end;
        const char *digits = entry->d_name + strlen(PREFIX);
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0 || *digits < '0' || *digits > '9')
            continue;
        unsigned long id = strtoul(digits, &end, 10);
        if (!*end && id < NODE_NONE)
            each(context, (node_id)id);
    }
    closedir(entries);
}

static void lowest_keep(void *context, node_id server)
{
    node_id *lowest = context;
    *lowest = server < *lowest ? server : *lowest;
}

node_id data_first_server(const char *data)
{
    node_id lowest = NODE_NONE;
    data_servers(data, lowest_keep, &lowest);
    return lowest;
}

/* ---- the owner ---- */

/* Names a folder or file in reasons: "DATA/server-3". */
struct place {
    char text[PATH_MAX];
};

static struct place place_of(const char *data, node_id server)
{
    struct place place;
    snprintf(place.text, sizeof place.text, "%s/" PREFIX "%u", data, server);
    return place;
}

static enum err owner_load(struct data_owner *owner, int file, const char *name, struct why *why)
{
    char data[FILE_SIZE_MAX];
    ssize_t size = pread(file, data, sizeof data, 0);
    if (size < 0)
        return why_fail(why, ERR_INPUT, "%s: %s", name, strerror(errno));
    return data_owner_parse(owner, name, data, (size_t)size, why);
}

enum err data_owner_read(struct data_owner *owner, const char *data, node_id server,
                         struct why *why)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s/" PREFIX "%u/" DATA_FILE_NAME, data, server);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return why_fail(why, ERR_INPUT, "%s: %s", name, strerror(errno));
    enum err err = owner_load(owner, file, name, why);
    close(file);
    return err;
}

static int owner_save(const struct data_owner *owner, int file, int folder)
{
    struct text text = {0};
    data_owner_write(owner, &text);
    if (text.failed) {
        text_fini(&text);
        return -ENOMEM;
    }
    ssize_t size = pwrite(file, text.data, text.size, 0);
    int result = size == (ssize_t)text.size ? 0 : size < 0 ? -errno : -ENOSPC;
    if (!result && (ftruncate(file, (off_t)text.size) || fsync(file) || fsync(folder)))
        result = -errno;
    text_fini(&text);
    return result;
}

/* Is there nothing but server.json? Then the server ended while it made the folder. */
static bool folder_is_new(int folder)
{
    bool alone = true;
    int copy = openat(folder, ".", FOLDER_FLAGS);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    for (struct dirent *entry; alone && (entry = readdir(entries));)
        alone = entry->d_name[0] == '.' || strcmp(entry->d_name, DATA_FILE_NAME) == 0;
    closedir(entries);
    return alone;
}

/* Takes the lock, then compares the owner, or becomes the owner of a new folder. */
static enum err owner_claim(struct data_folder *folder, const struct data_owner *owner,
                            const char *place, struct why *why)
{
    struct data_owner found;
    struct why unread = {0};
    folder->lock =
        openat(folder->folder, DATA_FILE_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (folder->lock < 0)
        return why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s", place,
                        strerror(errno));
    if (flock(folder->lock, LOCK_EX | LOCK_NB))
        return why_fail(why, ERR_SYSTEM,
                        errno == EWOULDBLOCK
                            ? "%s: another server uses this data directory; end it first, or "
                              "choose another --data"
                            : "%s: cannot be locked",
                        place);
    if (owner_load(&found, folder->lock, place, &unread)) {
        int result = folder_is_new(folder->folder) ? owner_save(owner, folder->lock, folder->folder)
                                                   : -EINVAL;
        if (result == -EINVAL)
            return why_fail(why, ERR_SYSTEM, "%s", unread.text);
        return result ? why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s",
                                 place, strerror(-result))
                      : OK;
    }
    if (found.cluster != owner->cluster)
        return why_fail(why, ERR_SYSTEM,
                        "%s: has the data of another cluster (%s, %u servers); choose another "
                        "--data",
                        place, found.topology, found.server_count);
    if (found.server != owner->server)
        return why_fail(why, ERR_SYSTEM,
                        "%s: has the data of server %u, not of server %u; restore the folder's "
                        "name",
                        place, found.server, owner->server);
    return OK;
}

/* ---- opening and closing ---- */

static int services_open(struct data_folder *folder, const char *const *services)
{
    for (; *services; services++) {
        assert(folder->count < DATA_SERVICES_MAX);
        int result = folder_make(folder->folder, *services);
        if (result)
            return result;
        int handle = openat(folder->folder, *services, FOLDER_FLAGS);
        if (handle < 0)
            return -errno;
        folder->services[folder->count].name = *services;
        folder->services[folder->count++].folder = handle;
    }
    return 0;
}

enum err data_folder_open(struct data_folder *folder, const char *data,
                          const struct data_owner *owner, const char *const *services,
                          struct why *why)
{
    *folder = (struct data_folder){.folder = -1, .lock = -1};
    struct place place = place_of(data, owner->server);
    folder->folder = path_open(place.text);
    if (folder->folder < 0) {
        int error = -folder->folder;
        folder->folder = -1;
        return why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s", place.text,
                        strerror(error));
    }
    enum err err = owner_claim(folder, owner, place.text, why);
    if (!err) {
        int result = services_open(folder, services);
        if (result)
            err = why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s", place.text,
                           strerror(-result));
    }
    if (err)
        data_folder_close(folder);
    return err;
}

void data_folder_close(struct data_folder *folder)
{
    while (folder->count > 0)
        close(folder->services[--folder->count].folder);
    if (folder->lock >= 0)
        close(folder->lock);
    if (folder->folder >= 0)
        close(folder->folder);
    *folder = (struct data_folder){.folder = -1, .lock = -1};
}

int data_folder_of(const struct data_folder *folder, const char *service)
{
    for (unsigned i = 0; i < folder->count; i++)
        if (strcmp(folder->services[i].name, service) == 0)
            return folder->services[i].folder;
    return -1;
}
