#include "os/cluster/configuration_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_SIZE_MAX (1u << 20)

enum err configuration_file_read(struct configuration *configuration, const char *path,
                                 struct why *why)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return why_fail(why, ERR_INPUT, "%.200s: %s", path, strerror(errno));
    char *data = malloc(FILE_SIZE_MAX);
    enum err err;
    if (!data) {
        err = why_memory(why);
    } else {
        errno = 0;
        size_t size = fread(data, 1, FILE_SIZE_MAX, file);
        if (ferror(file)) /* also of a folder */
            err = why_fail(why, ERR_INPUT, "%.200s: %s", path, strerror(errno));
        else if (size == FILE_SIZE_MAX)
            err = why_fail(why, ERR_INPUT, "%.200s: too large for a configuration file", path);
        else
            err = configuration_parse(configuration, path, data, size, why);
    }
    free(data);
    fclose(file);
    return err;
}
