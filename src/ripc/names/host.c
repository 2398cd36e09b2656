/* host: claims as files in the domain's folder, for contexts of one host.
 *
 *   claim.ID          of a service
 *   claim.ID.MEMBER   of a member of a group
 *
 * both in 16 hexadecimal digits. The claimant keeps its file locked, so the kernel tells whether
 * the claimant is alive; the content is one sealed record. A file that is not locked has no owner:
 * the next claimant takes it over.
 *
 * A context that asks for an id watches the folder from then on. A process that dies closes its
 * files, and the watch reports this a moment before the lock is released: such a file is checked
 * again a few times. Where the system has no watches left, the files of the wanted ids are checked
 * periodically. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "base/list.h"
#include "ripc/names/holding.h"
#include "ripc/names/names_impl.h"
#include "transport/domain.h"
#include "transport/fork/descriptor.h"

enum {
    ENTRIES_MAX = 65536, /* of the folder, read by one listing */
    MEMBERS_MAX = 1024,  /* of a group, tracked on one host */
    RECHECK_MAX = 64,    /* files that were closed but are still locked; with more, all are
                          * checked */
    READS_MAX = 16,      /* of events, in one wake-up */
};

#define RECHECK_FIRST_NSEC (2 * 1000 * 1000LL)
#define RECHECK_LAST_NSEC  (64 * 1000 * 1000LL)

/* A claim of ours, and its file, which we keep locked. */
struct locked_claim {
    struct holding holding; /* must be first */
    int fd;
};

struct recheck {
    uint64_t id;
    uint64_t member;
};

struct host_names {
    struct name_service service;
    struct names *names;
    struct poller *poller;
    char folder[DOMAIN_PATH_MAX];
    struct seal seal;
    struct id_map holdings; /* struct locked_claim */
    int watch_fd;           /* -1 until this context asks for an id */
    struct poller_watch *watch;
    struct poller_timer rescan; /* used instead of the watch where there is none */
    struct poller_timer recheck_timer;
    nsec recheck_wait;
    unsigned recheck_count; /* RECHECK_MAX + 1: check all wanted ids */
    struct recheck rechecks[RECHECK_MAX];
};

static struct host_names *host_of(struct name_service *service)
{
    return container_of(service, struct host_names, service);
}

/* ---- files ---- */

static int file_path(const struct host_names *host, char out[DOMAIN_PATH_MAX + DOMAIN_FILE_MAX],
                     uint64_t id, uint64_t member)
{
    char name[CLAIM_NAME_SIZE];
    claim_name_write(name, id, member);
    return snprintf(out, DOMAIN_PATH_MAX + DOMAIN_FILE_MAX, "%s/%s", host->folder, name);
}

enum claimant { CLAIMANT_DEAD = -1, CLAIMANT_UNSURE = 0, CLAIMANT_LIVES = 1 };

/* Tells whether the lock is held, and by which claimant. What is in the file was written by the
 * holder of the lock. Unsure: locked, but without a valid record (yet). */
static enum claimant file_claimant(struct host_names *host, uint64_t id, uint64_t member,
                                   struct claim *claim)
{
    char name[CLAIM_NAME_SIZE];
    uint8_t record[CLAIM_RECORD_SIZE + 1];
    size_t size;
    claim_name_write(name, id, member);
    int alive = domain_file_read(host->folder, name, record, sizeof record, &size);
    if (alive <= 0) {
        names_lacks(host->names, alive);
        return alive == 0 ? CLAIMANT_DEAD : CLAIMANT_UNSURE;
    }
    int result = claim_record_read(claim, &host->seal, record, size);
    if (result == -EKEYREJECTED)
        names_counts(host->names)->forged++;
    if (result < 0 || claim->id != id || claim->member != member)
        return CLAIMANT_UNSURE;
    return CLAIMANT_LIVES;
}

/* Reports the content of a file. True if a live process holds the claim. */
static bool file_tell(struct host_names *host, uint64_t id, uint64_t member)
{
    struct claim claim;
    switch (file_claimant(host, id, member, &claim)) {
    case CLAIMANT_LIVES:
        /* Fails if the id is ours, or without memory; the next question tries again. */
        (void)names_learn(host->names, &host->service, &claim, NSEC_NEVER, true);
        return true;
    case CLAIMANT_DEAD:
        names_given_up(host->names, &host->service, id, member, 0);
        return false;
    case CLAIMANT_UNSURE:
        return false;
    }
    assert_unreachable();
}

typedef bool file_each(struct host_names *host, uint64_t id, uint64_t member); /* false: stop */

/* Visits all claims in the folder, of one id or (0) of any. False if a callback returned false. */
static bool folder_walk(struct host_names *host, uint64_t wanted, file_each *each)
{
    bool more = true;
    DIR *folder = descriptor_folder(host->folder);
    if (!folder) {
        names_lacks(host->names, -errno);
        return true;
    }
    for (int i = 0; i < ENTRIES_MAX && more; i++) {
        uint64_t id, member;
        const struct dirent *entry = readdir(folder);
        if (!entry)
            break;
        if (claim_name_read(entry->d_name, &id, &member) && (!wanted || id == wanted))
            more = each(host, id, member);
    }
    descriptor_folder_close(folder);
    return more;
}

static bool member_tell(struct host_names *host, uint64_t id, uint64_t member)
{
    file_tell(host, id, member);
    return true;
}

static bool group_tell(struct host_names *host, uint64_t id, uint64_t member)
{
    if (member != id)
        file_tell(host, id, member);
    return true;
}

/* An id belongs to a service or to a group: if a live service holds it, there is no group to look
 * for. */
static void id_tell(void *owner, uint64_t id)
{
    struct host_names *host = owner;
    if (file_tell(host, id, id))
        return;
    uint64_t *members = array_new(MEMBERS_MAX, sizeof *members);
    if (!members)
        return;
    /* First the members that were reported before and may be gone, then all that exist now. */
    unsigned count = names_told(host->names, &host->service, id, members, MEMBERS_MAX);
    for (unsigned i = 0; i < count; i++)
        file_tell(host, id, members[i]);
    free(members);
    folder_walk(host, id, group_tell);
}

/* ---- the watch ---- */

static void rescan_start(struct host_names *host)
{
    nsec at = clock_after(names_tuning(host->names)->rescan_wait);
    if (poller_set(host->poller, &host->rescan, at) < 0)
        return; /* no memory: the next question checks again */
}

static void rescan_fired(void *owner)
{
    struct host_names *host = owner;
    rescan_start(host);
    names_each_wanted(host->names, id_tell, host);
}

static void recheck_fired(void *owner)
{
    struct host_names *host = owner;
    struct recheck rechecks[RECHECK_MAX];
    unsigned count = host->recheck_count;
    host->recheck_wait *= 2;
    if (host->recheck_wait > RECHECK_LAST_NSEC) {
        host->recheck_count = 0;
    } else {
        int result =
            poller_set(host->poller, &host->recheck_timer, clock_after(host->recheck_wait));
        assert(result == 0); /* the slot that the timer had is still free */
    }
    if (count > RECHECK_MAX) {
        names_each_wanted(host->names, id_tell, host);
        return;
    }
    memcpy(rechecks, host->rechecks, count * sizeof *rechecks);
    for (unsigned i = 0; i < count; i++)
        file_tell(host, rechecks[i].id, rechecks[i].member);
}

static void recheck_add(struct host_names *host, uint64_t id, uint64_t member)
{
    if (host->recheck_count < RECHECK_MAX)
        host->rechecks[host->recheck_count] = (struct recheck){id, member};
    if (host->recheck_count <= RECHECK_MAX)
        host->recheck_count++;
    host->recheck_wait = RECHECK_FIRST_NSEC;
    if (poller_set(host->poller, &host->recheck_timer, clock_after(host->recheck_wait)) < 0)
        host->recheck_count = 0;
}

static void event_handle(struct host_names *host, const struct inotify_event *event)
{
    uint64_t id, member;
    if (event->mask & IN_Q_OVERFLOW) {
        names_each_wanted(host->names, id_tell, host);
        return;
    }
    if (!event->len || !claim_name_read(event->name, &id, &member) || !names_wants(host->names, id))
        return;
    if (file_tell(host, id, member) && event->mask & IN_CLOSE_WRITE)
        recheck_add(host, id, member);
}

static void watch_ready(void *owner, uint32_t events)
{
    struct host_names *host = owner;
    for (int i = 0; i < READS_MAX; i++) {
        _Alignas(struct inotify_event) char buffer[4096];
        ssize_t size = read(host->watch_fd, buffer, sizeof buffer);
        if (size <= 0)
            return;
        for (char *at = buffer; at < buffer + size;) {
            const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
            at += sizeof *event + event->len;
            event_handle(host, event);
        }
    }
}

static void watch_stop(struct host_names *host)
{
    poller_remove(host->poller, host->watch);
    host->watch = NULL;
    if (host->watch_fd >= 0)
        descriptor_close(host->watch_fd);
    host->watch_fd = -1;
}

/* Call before the first scan, so that no change between the two is missed. */
static void watch_start(struct host_names *host)
{
    if (host->watch || host->rescan.at != NSEC_NEVER)
        return;
    host->watch_fd = DESCRIPTOR_OPEN(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (host->watch_fd >= 0 &&
        inotify_add_watch(host->watch_fd, host->folder,
                          IN_MODIFY | IN_CLOSE_WRITE | IN_DELETE | IN_ONLYDIR) >= 0 &&
        poller_add(host->poller, host->watch_fd, EPOLLIN, watch_ready, host, &host->watch) >= 0)
        return;
    host->watch = NULL;
    watch_stop(host);
    rescan_start(host);
}

/* ---- the operations ---- */

static struct locked_claim *locked_of(struct holding *holding)
{
    return container_of(holding, struct locked_claim, holding);
}

/* Unlinks while the file is locked, so that no other process can have taken it. */
static void locked_free(void *owner, struct holding *holding)
{
    char path[DOMAIN_PATH_MAX + DOMAIN_FILE_MAX];
    file_path(owner, path, holding->claim.id, holding->claim.member);
    unlink(path);
    descriptor_close(locked_of(holding)->fd);
    free(locked_of(holding));
}

static void host_close(struct name_service *service)
{
    struct host_names *host = host_of(service);
    holdings_fini(&host->holdings, locked_free, host);
    watch_stop(host);
    poller_unset(host->poller, &host->rescan);
    poller_unset(host->poller, &host->recheck_timer);
    seal_fini(&host->seal);
    free(host);
}

static int host_open(struct name_service **service, struct names *names, const char *argument,
                     const struct names_config *config, struct why *why)
{
    if (argument)
        return why_fail(why, -EINVAL, "name service host takes no argument, not '%s'", argument);
    if (!config->folder || strlen(config->folder) >= DOMAIN_PATH_MAX)
        return why_fail(why, -EINVAL, "name service host has no folder, or one too long");
    struct host_names *host = array_new(1, sizeof *host);
    if (!host)
        return why_fail(why, -ENOMEM, "not enough memory");
    host->service.ops = &name_service_host;
    host->names = names;
    host->poller = config->poller;
    strcpy(host->folder, config->folder);
    host->watch_fd = -1;
    host->rescan = (struct poller_timer){.at = NSEC_NEVER, .fired = rescan_fired, .owner = host};
    host->recheck_timer =
        (struct poller_timer){.at = NSEC_NEVER, .fired = recheck_fired, .owner = host};
    int result = seal_init(&host->seal, config->key);
    if (result < 0) {
        free(host);
        return why_fail(why, result, "libsodium cannot be initialised");
    }
    *service = &host->service;
    return 0;
}

static bool member_lives(struct host_names *host, uint64_t id, uint64_t member)
{
    char name[CLAIM_NAME_SIZE];
    claim_name_write(name, id, member);
    return domain_file_alive(host->folder, name) > 0;
}

static bool is_no_live_member(struct host_names *host, uint64_t id, uint64_t member)
{
    return member == id || !member_lives(host, id, member);
}

/* True if the id of a service is already held by a group, or vice versa. */
static bool id_is_otherwise(struct host_names *host, const struct claim *claim)
{
    return claim->group ? member_lives(host, claim->id, claim->id)
                        : !folder_walk(host, claim->id, is_no_live_member);
}

/* Truncates first: otherwise the old record would remain valid if nothing can be written. (An
 * incomplete record is invalid anyway.) */
static int record_write(struct host_names *host, int fd, const struct claim *claim)
{
    uint8_t record[CLAIM_RECORD_SIZE];
    claim_record_write(claim, &host->seal, record);
    if (ftruncate(fd, 0))
        return -errno;
    ssize_t size = pwrite(fd, record, sizeof record, 0);
    return size == sizeof record ? 0 : size < 0 ? -errno : -ENOSPC;
}

static int host_announce(struct name_service *service, const struct claim *claim)
{
    struct host_names *host = host_of(service);
    char name[CLAIM_NAME_SIZE];
    if (id_is_otherwise(host, claim))
        return -EADDRINUSE;
    claim_name_write(name, claim->id, claim->member);
    struct locked_claim *locked = array_new(1, sizeof *locked);
    if (!locked)
        return -ENOMEM;
    int fd = domain_file_lock(host->folder, name);
    if (fd < 0) {
        free(locked);
        return fd == -EBUSY ? -EADDRINUSE : fd;
    }
    *locked = (struct locked_claim){.holding.claim = *claim, .fd = fd};
    int result = record_write(host, fd, claim);
    if (result == 0 && !holdings_put(&host->holdings, &locked->holding))
        result = -ENOMEM;
    if (result < 0)
        locked_free(host, &locked->holding);
    return result;
}

static void host_withdraw(struct name_service *service, const struct claim *claim)
{
    struct host_names *host = host_of(service);
    struct holding *holding = holdings_find(&host->holdings, claim->id, claim->member);
    assert(holding); /* names withdraws only what is held here */
    holdings_take(&host->holdings, holding);
    locked_free(host, holding);
}

static void host_renew(struct name_service *service, const struct claim *claim)
{
    struct host_names *host = host_of(service);
    struct holding *holding = holdings_find(&host->holdings, claim->id, claim->member);
    assert(holding); /* names renews only what is held here */
    holding->claim = *claim;
    /* If there is no room for the record, no process finds us by this claim until there is room
     * again. */
    (void)!record_write(host, locked_of(holding)->fd, claim);
}

static void host_ask(struct name_service *service, uint64_t id)
{
    struct host_names *host = host_of(service);
    watch_start(host);
    id_tell(host, id);
}

static void host_list(struct name_service *service)
{
    folder_walk(host_of(service), 0, member_tell);
}

static int host_alive(struct name_service *service, const struct claim *claim)
{
    struct claim found;
    switch (file_claimant(host_of(service), claim->id, claim->member, &found)) {
    case CLAIMANT_LIVES:
        return found.address.context == claim->address.context ? 1 : -1;
    case CLAIMANT_DEAD:
        return -1;
    case CLAIMANT_UNSURE:
        return 0;
    }
    assert_unreachable();
}

const struct name_service_ops name_service_host = {
    .word = "host",
    .once = true,
    .open = host_open,
    .close = host_close,
    .announce = host_announce,
    .withdraw = host_withdraw,
    .renew = host_renew,
    .ask = host_ask,
    .list = host_list,
    .alive = host_alive,
};
