#include "os/data/data_lock.h"

#include <errno.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/data/data_folder.h"

#define TRIES_MAX 10 /* if starts that fail remove the folder again and again */

/* Does the name still lead to the open folder? */
static bool is_named(const char *data, int folder)
{
    struct stat open_one, named;
    return !fstat(folder, &open_one) && !stat(data, &named) && open_one.st_ino == named.st_ino &&
           open_one.st_dev == named.st_dev;
}

/* -ENOENT: a start that failed has just removed the folder. */
static int lock_try(struct data_lock *lock, const char *data)
{
    bool made;
    int folder = data_path_open(data, &made);
    if (folder < 0)
        return folder;
    int result = flock(folder, LOCK_EX | LOCK_NB) ? -errno : is_named(data, folder) ? 0 : -ENOENT;
    if (result) {
        close(folder);
        return result;
    }
    *lock = (struct data_lock){.folder = folder, .made = made};
    return 0;
}

enum err data_lock_take(struct data_lock *lock, const char *data, struct why *why)
{
    int result = -ENOENT;
    *lock = (struct data_lock){.folder = -1};
    for (unsigned i = 0; i < TRIES_MAX && result == -ENOENT; i++)
        result = lock_try(lock, data);
    if (result == -EWOULDBLOCK)
        return why_fail(why, ERR_SYSTEM,
                        "%s: another weft up starts servers on this data directory; wait until it "
                        "ends, or choose another --data",
                        data);
    if (result)
        return why_fail(why, ERR_SYSTEM, "%s: the data directory cannot be used: %s", data,
                        strerror(-result));
    return OK;
}

void data_lock_release(struct data_lock *lock)
{
    if (lock->folder >= 0)
        close(lock->folder);
    *lock = (struct data_lock){.folder = -1};
}
