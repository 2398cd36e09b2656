#include "program/place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/fork/descriptor.h"

static int written(int size)
{
    return size < PLACE_SIZE ? 0 : -ENAMETOOLONG;
}

int place_folder(const char *dir, char out[PLACE_SIZE])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    if (dir && !*dir)
        return -EINVAL;
    if (!dir)
        dir = getenv("WEFT_DIR");
    if (dir && *dir)
        return written(snprintf(out, PLACE_SIZE, "%s", dir));
    if (runtime && *runtime)
        return written(snprintf(out, PLACE_SIZE, "%s/weft", runtime));
    return written(snprintf(out, PLACE_SIZE, "/tmp/weft-%u", (unsigned)getuid()));
}

int place_socket(const char *folder, uint32_t server, char out[PLACE_SIZE])
{
    return written(snprintf(out, PLACE_SIZE, "%s/node-%" PRIu32 ".socket", folder, server));
}

int place_next(const char *folder, uint32_t *server)
{
    DIR *entries = descriptor_folder(folder);
    const struct dirent *entry;
    bool first = *server == UINT32_MAX;
    uint32_t best = UINT32_MAX;
    if (!entries)
        return -errno;
    while ((entry = readdir(entries))) {
        uint32_t number;
        char name[32];
        if (sscanf(entry->d_name, "node-%" SCNu32 ".socket", &number) != 1)
            continue;
        snprintf(name, sizeof name, "node-%" PRIu32 ".socket", number);
        bool later = first || number > *server;
        if (later && number < best && !strcmp(name, entry->d_name))
            best = number;
    }
    descriptor_folder_close(entries);
    *server = best;
    return best == UINT32_MAX ? -ENOENT : 0;
}
