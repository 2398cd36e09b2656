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
#define FILE_FLAGS    (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define PREFIX        DATA_FOLDER_PREFIX
#define FRESH_NAME    DATA_FILE_NAME ".new" /* server.json until it is whole */
#define CLAIMS_MAX    10                    /* attempts, if other processes start or end */
#define REFUSED       1

/* ---- folders ---- */

/* Makes a folder durably if it is missing; *made is set if it was. Returns a negative errno. */
static int folder_make(int parent, const char *name, bool *made)
{
    *made = false;
    if (mkdirat(parent, name, 0700))
        return errno == EEXIST ? 0 : -errno;
    *made = true;
    return fsync(parent) ? -errno : 0;
}

int data_path_open(const char *path, bool *made)
{
    char name[PATH_MAX];
    int at = open(path[0] == '/' ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *made = false;
    while (at >= 0 && *(path += strspn(path, "/"))) {
        size_t size = strcspn(path, "/");
        int result = size < sizeof name ? 0 : -ENAMETOOLONG, next = -1;
        if (!result) {
            memcpy(name, path, size);
            name[size] = '\0';
            result = folder_make(at, name, made);
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

static enum err place_fail(const struct place *place, int error, struct why *why)
{
    return why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s", place->text,
                    strerror(error));
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
    int file = open(name, FILE_FLAGS | O_RDONLY);
    if (file < 0)
        return why_fail(why, ERR_INPUT, "%s: %s", name, strerror(errno));
    enum err err = owner_load(owner, file, name, why);
    close(file);
    return err;
}

/* Is there nothing but server.json, or a part of it? Then a start ended while it made the folder.
 */
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
        alone = entry->d_name[0] == '.' || strcmp(entry->d_name, DATA_FILE_NAME) == 0 ||
                strcmp(entry->d_name, FRESH_NAME) == 0;
    closedir(entries);
    return alone;
}

static enum err owner_compare(const struct data_owner *found, const struct data_owner *owner,
                              const char *place, struct why *why)
{
    bool alike =
        found->server_count == owner->server_count && strcmp(found->topology, owner->topology) == 0;
    if (found->cluster != owner->cluster)
        return why_fail(why, ERR_SYSTEM,
                        "%s: has the data of another cluster%s (%s, %u servers); choose another "
                        "--data, or move this folder away",
                        place, alike ? " of the same topology" : "", found->topology,
                        found->server_count);
    if (found->server != owner->server)
        return why_fail(why, ERR_SYSTEM,
                        "%s: has the data of server %u, not of server %u; restore the folder's "
                        "name",
                        place, found->server, owner->server);
    return OK;
}

/* Compares the owner of a folder. `file` is its server.json; -1: it has none. *blank: the folder
 * has no owner and no data, so it may be taken. */
static enum err owner_judge(int folder, int file, const struct data_owner *owner, const char *place,
                            bool *blank, struct why *why)
{
    char name[PATH_MAX + sizeof DATA_FILE_NAME];
    struct data_owner found;
    struct why unread = {0};
    snprintf(name, sizeof name, "%s/" DATA_FILE_NAME, place);
    *blank = false;
    if (file >= 0 && !owner_load(&found, file, name, &unread))
        return owner_compare(&found, owner, place, why);
    *blank = folder_is_new(folder);
    if (*blank)
        return OK;
    if (file < 0)
        return why_fail(why, ERR_SYSTEM,
                        "%s: is missing, but the folder has data of services; restore the file, or "
                        "move the folder away",
                        name);
    return why_fail(why, ERR_SYSTEM, "%s", unread.text);
}

enum err data_folder_check(const char *data, const struct data_owner *owner, struct why *why)
{
    struct place place = place_of(data, owner->server);
    bool blank;
    int folder = open(place.text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = folder < 0 ? -1 : openat(folder, DATA_FILE_NAME, FILE_FLAGS | O_RDONLY);
    enum err err = OK;
    if (file >= 0 || (folder >= 0 && errno == ENOENT))
        err = owner_judge(folder, file, owner, place.text, &blank, why);
    else if (errno != ENOENT)
        err = place_fail(&place, errno, why);
    if (file >= 0)
        close(file);
    if (folder >= 0)
        close(folder);
    return err;
}

/* ---- claiming ---- */

/* Does the name still lead to the open file? Otherwise its lock has no meaning. */
static bool is_named(int folder, const char *name, int file)
{
    struct stat open_one, named;
    return !fstat(file, &open_one) && !fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) &&
           open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

/* -EAGAIN: another process has just replaced or removed the file. */
static int file_lock(int folder, const char *name, int file)
{
    if (flock(file, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return is_named(folder, name, file) ? 0 : -EAGAIN;
}

static int owner_save(const struct data_owner *owner, int file)
{
    struct text text = {0};
    data_owner_write(owner, &text);
    if (text.failed) {
        text_fini(&text);
        return -ENOMEM;
    }
    ssize_t size = pwrite(file, text.data, text.size, 0);
    int result = size == (ssize_t)text.size ? 0 : size < 0 ? -errno : -ENOSPC;
    if (!result && (ftruncate(file, (off_t)text.size) || fsync(file)))
        result = -errno;
    text_fini(&text);
    return result;
}

/* Writes server.json beside its name, because a full disk must leave either none or a whole one.
 * The file is locked before it has the name, so it is never seen without its lock. */
static int owner_make(struct data_folder *folder, const struct data_owner *owner)
{
    int file = openat(folder->folder, FRESH_NAME, FILE_FLAGS | O_RDWR | O_CREAT, S_IRUSR | S_IWUSR);
    if (file < 0)
        return -errno;
    int result = file_lock(folder->folder, FRESH_NAME, file);
    if (result) {
        close(file);
        return result;
    }
    bool missing = folder->lock < 0;
    if (missing && !faccessat(folder->folder, DATA_FILE_NAME, F_OK, AT_SYMLINK_NOFOLLOW))
        result = -EAGAIN; /* another process has just made it */
    if (!result)
        result = owner_save(owner, file);
    if (!result && renameat(folder->folder, FRESH_NAME, folder->folder, DATA_FILE_NAME))
        result = -errno;
    if (result) {
        unlinkat(folder->folder, FRESH_NAME, 0);
        close(file);
        return result;
    }
    if (!missing)
        close(folder->lock);
    folder->lock = file;
    folder->made_owner = true;
    return fsync(folder->folder) ? -errno : 0;
}

/* Takes the lock, then compares the owner, or becomes the owner of a new folder. REFUSED: the
 * reason is written. */
static int owner_try(struct data_folder *folder, const struct data_owner *owner,
                     const struct place *place, struct why *why)
{
    bool blank;
    folder->lock = openat(folder->folder, DATA_FILE_NAME, FILE_FLAGS | O_RDWR);
    if (folder->lock < 0 && errno != ENOENT)
        return -errno;
    int result = folder->lock < 0 ? 0 : file_lock(folder->folder, DATA_FILE_NAME, folder->lock);
    if (result)
        return result;
    if (owner_judge(folder->folder, folder->lock, owner, place->text, &blank, why))
        return REFUSED;
    return blank ? owner_make(folder, owner) : 0;
}

static enum err owner_claim(struct data_folder *folder, const struct data_owner *owner,
                            const struct place *place, struct why *why)
{
    int result;
    for (unsigned i = 0; i < CLAIMS_MAX; i++) {
        result = owner_try(folder, owner, place, why);
        if (result != -EAGAIN)
            break;
        if (folder->lock >= 0)
            close(folder->lock);
        folder->lock = -1;
    }
    if (result == REFUSED)
        return ERR_SYSTEM;
    if (result == -EBUSY || result == -EAGAIN)
        return why_fail(why, ERR_SYSTEM,
                        "%s: another server uses this data directory; end it first, or choose "
                        "another --data",
                        place->text);
    return result ? place_fail(place, -result, why) : OK;
}

/* ---- opening and closing ---- */

static int services_open(struct data_folder *folder, const char *const *services)
{
    for (; *services; services++) {
        assert(folder->count < DATA_SERVICES_MAX);
        bool made;
        int result = folder_make(folder->folder, *services, &made);
        int handle = result ? -1 : openat(folder->folder, *services, FOLDER_FLAGS);
        if (!result && handle < 0)
            result = -errno;
        if (result) {
            if (made)
                unlinkat(folder->folder, *services, AT_REMOVEDIR);
            return result;
        }
        folder->services[folder->count].name = *services;
        folder->services[folder->count].made = made;
        folder->services[folder->count++].folder = handle;
    }
    return 0;
}

enum err data_folder_open(struct data_folder *folder, const char *data,
                          const struct data_owner *owner, const char *const *services,
                          struct why *why)
{
    *folder = (struct data_folder){.folder = -1, .lock = -1, .server = owner->server};
    struct place place = place_of(data, owner->server);
    int result = data_path_open(place.text, &folder->made);
    if (result < 0)
        return place_fail(&place, -result, why);
    folder->folder = result;
    enum err err = owner_claim(folder, owner, &place, why);
    if (!err) {
        result = services_open(folder, services);
        if (result)
            err = place_fail(&place, -result, why);
    }
    if (err)
        data_folder_withdraw(folder);
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

/* A folder in which there is a file is not removed, and then server.json stays, too: with it the
 * next start finds whose folder it is. */
void data_folder_withdraw(struct data_folder *folder)
{
    for (unsigned i = 0; i < folder->count; i++)
        if (folder->services[i].made)
            unlinkat(folder->folder, folder->services[i].name, AT_REMOVEDIR);
    if (folder->made_owner && folder_is_new(folder->folder)) {
        unlinkat(folder->folder, DATA_FILE_NAME, 0);
        folder->made_owner = false;
    }
    if (folder->made && !folder->made_owner) { /* it is not removed if another server has it now */
        char name[sizeof PREFIX + 10];
        int parent = openat(folder->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        snprintf(name, sizeof name, PREFIX "%u", folder->server);
        if (parent >= 0) {
            unlinkat(parent, name, AT_REMOVEDIR);
            close(parent);
        }
    }
    data_folder_close(folder);
}

int data_folder_of(const struct data_folder *folder, const char *service)
{
    for (unsigned i = 0; i < folder->count; i++)
        if (strcmp(folder->services[i].name, service) == 0)
            return folder->services[i].folder;
    return -1;
}
