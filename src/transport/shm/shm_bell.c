/* shm_bell: the bells of a peer's services, each opened once for all pipes of a link.
 *
 * Every offer and every answer carries the descriptors of a bell, because the sender of them does
 * not know which bells we still have open. The inode number of the bell's page tells whether we
 * have it: memory files of one host never have the same number while both exist, and a peer that
 * sends the page of one bell with the socket of another harms only its own wake-ups. */
#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/shm/shm_impl.h"

#define BELLS_MAX 4096

static void descriptors_close(const int fds[DOORBELL_FD_COUNT])
{
    for (unsigned i = 0; i < DOORBELL_FD_COUNT; i++)
        descriptor_close(fds[i]);
}

static int bell_new(struct shm_link *link, uint64_t inode, const int fds[DOORBELL_FD_COUNT],
                    struct shm_bell **out)
{
    struct shm_bell *bell = calloc(1, sizeof *bell);
    if (!bell) {
        descriptors_close(fds);
        return -ENOMEM;
    }
    bell->inode = inode;
    bell->users = 1;
    int result = ringer_open(&bell->ringer, fds);
    if (!result && !id_map_put(&link->bells, inode, bell)) {
        ringer_close(&bell->ringer);
        result = -ENOMEM;
    }
    if (result) {
        free(bell);
        return result;
    }
    *out = bell;
    return 0;
}

int shm_bell_open(struct shm_link *link, const int fds[DOORBELL_FD_COUNT], struct shm_bell **out)
{
    struct stat page;
    if (fstat(fds[0], &page)) {
        descriptors_close(fds);
        return -EPROTO;
    }
    struct shm_bell *bell = id_map_get(&link->bells, page.st_ino);
    if (!bell)
        return bell_new(link, page.st_ino, fds, out);
    descriptors_close(fds);
    bell->users++;
    *out = bell;
    return 0;
}

void shm_bell_close(struct shm_link *link, struct shm_bell *bell)
{
    assert(bell->users > 0);
    if (--bell->users)
        return;
    id_map_take(&link->bells, bell->inode);
    ringer_close(&bell->ringer);
    free(bell);
}

bool shm_bells_are_many(const struct shm_link *link)
{
    struct rlimit limit;
    size_t max = BELLS_MAX;
    if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 4 < max)
        max = limit.rlim_cur / 4;
    return link->bells.count > max;
}
