#include "fio.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench.h"

/* Finds the number of writes a second in fio's output of one line for each group (terse, version
 * 3): field 49 is the writes' IOPS. */
static double terse_iops(char *line)
{
    for (int field = 1; line; field++) {
        char *end = strchr(line, ';');
        if (field == 49)
            return strtod(line, NULL);
        line = end ? end + 1 : NULL;
    }
    return 0;
}

double fio_rate(const char *folder, uint32_t size, uint32_t group, unsigned jobs, uint32_t file,
                int seconds)
{
    char command[1200], line[8192], files[600];
    snprintf(files, sizeof files, "%s/fio", folder);
    if (mkdir(folder, 0700) && errno != EEXIST)
        bench_fail("%s: %s", folder, strerror(errno));
    if (mkdir(files, 0700) && errno != EEXIST)
        bench_fail("%s: %s", files, strerror(errno));
    snprintf(command, sizeof command,
             "fio --name=log --directory='%s' --rw=write --bs=%u --fdatasync=%u --ioengine=psync "
             "--numjobs=%u --group_reporting --time_based --runtime=%d --size=%u --fallocate=none "
             "--create_on_open=1 --overwrite=0 --output-format=terse --terse-version=3 2>&1",
             files, size, group, jobs, seconds, file);
    FILE *out = popen(command, "r");
    double rate = 0;
    while (out && fgets(line, sizeof line, out))
        rate = strncmp(line, "3;", 2) == 0 ? terse_iops(line) : rate;
    if (!out || pclose(out) || rate <= 0)
        bench_fail("fio failed; it is in the Debian package fio (tools/setup bench)");
    snprintf(command, sizeof command, "rm -r '%s'", files);
    if (system(command))
        bench_fail("cannot remove %s", files);
    return rate;
}
