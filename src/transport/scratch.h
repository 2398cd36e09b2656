#pragma once
/* scratch: the start of most tests of transports and names: a domain folder of their own, so that
 * tests can run side by side, and a count of open descriptors, to find leaks. */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/domain.h"

#define SCRATCH_DOMAIN "test"

struct scratch {
    char above[32]; /* WEFT_FOLDER; short, because the paths of sockets begin with it */
    char folder[DOMAIN_PATH_MAX];
};

static inline void scratch_open(struct scratch *scratch)
{
    struct why why = {""};
    *scratch = (struct scratch){.above = "/tmp/weft-test-XXXXXX"};
    assert_non_null(mkdtemp(scratch->above));
    assert_int_equal(setenv("WEFT_FOLDER", scratch->above, 1), 0);
    if (domain_open(scratch->folder, SCRATCH_DOMAIN, &why))
        fail_msg("%s", why.text);
}

/* Asserts that the folder is empty, and removes it. */
static inline void scratch_close(const struct scratch *scratch)
{
    assert_int_equal(rmdir(scratch->folder), 0);
    assert_int_equal(rmdir(scratch->above), 0);
}

/* Counts this process's open descriptors. The one used for counting is always included. */
static inline unsigned scratch_descriptors(void)
{
    unsigned count = 0;
    DIR *entries = opendir("/proc/self/fd");
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count;
}
