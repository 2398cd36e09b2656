#include "cli/cluster/cluster_disk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/statvfs.h>

#define ADVICE "free some space, or use another folder with weft up --dir"

/* Space of a run directory: 9 servers took 88 KiB in 49 files, 125 took 1,068 KiB in 629. */
#define FOLDER_BYTES (32u << 10)
#define SERVER_BYTES (8u << 10) /* a block each for the lock and the log */
#define LINK_BYTES   128u       /* in topology.json, and again in wiring.json */
#define FOLDER_FILES 16u
#define SERVER_FILES 8u /* with the place and the findings of a commissioned machine */

#define FULL_BYTES (16u << 10) /* if less is free, it may be reserved and unusable */
#define FULL_FILES 4u

struct room {
    uint64_t bytes, files;
};

/* Returns the free space of the disk of a folder; without limit if it is not known. */
static struct room room_left(const char *folder)
{
    struct statvfs disk;
    struct room room = {UINT64_MAX, UINT64_MAX};
    if (statvfs(folder, &disk))
        return room;
    if (disk.f_blocks) /* a tmpfs without a limit has size 0 */
        room.bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (disk.f_files) /* some file systems have no fixed number of files */
        room.files = disk.f_favail;
    return room;
}

static struct room room_needed(const struct cluster *cluster)
{
    uint64_t servers = cluster->file.server_count;
    uint64_t links = cluster->topology.graph.link_count;
    return (struct room){FOLDER_BYTES + servers * SERVER_BYTES + 2 * links * LINK_BYTES,
                         FOLDER_FILES + servers * SERVER_FILES};
}

enum err cluster_disk_check(const struct cluster *cluster, struct why *why)
{
    struct room left = room_left(cluster->folder), need = room_needed(cluster);
    if (left.bytes < need.bytes)
        return why_fail(why, ERR_SYSTEM,
                        "%s: its disk is full: %" PRIu64 " KiB are left, but %u servers need about "
                        "%" PRIu64 "; " ADVICE,
                        cluster->folder, left.bytes >> 10, cluster->file.server_count,
                        need.bytes >> 10);
    if (left.files < need.files)
        return why_fail(why, ERR_SYSTEM,
                        "%s: its disk is full: it has room for %" PRIu64
                        " more files, but %u servers need about %" PRIu64 "; " ADVICE,
                        cluster->folder, left.files, cluster->file.server_count, need.files);
    return OK;
}

bool cluster_disk_is_full(const char *folder)
{
    struct room left = room_left(folder);
    return left.bytes < FULL_BYTES || left.files < FULL_FILES;
}

bool cluster_disk_error(int error)
{
    return error == ENOSPC || error == EDQUOT;
}

bool cluster_disk_said(const char *line)
{
    return strstr(line, strerror(ENOSPC)) || strstr(line, strerror(EDQUOT));
}

enum err cluster_disk_fail(const char *folder, struct why *why)
{
    return why_fail(why, ERR_SYSTEM, "%s: its disk is full; " ADVICE, folder);
}
