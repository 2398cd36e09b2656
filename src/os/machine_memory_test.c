#include "os/machine_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

#define GIB (UINT64_C(1) << 30)

static char folder[] = "/tmp/weft-machine-memory-XXXXXX";
static const char *const folders[] = {"",        "/proc",     "/proc/self",
                                      "/groups", "/groups/a", "/groups/a/b"};
#define FOLDER_COUNT (sizeof folders / sizeof folders[0])
static const char *const files[] = {"/proc/meminfo", "/proc/self/cgroup", "/groups/a/memory.max",
                                    "/groups/a/b/memory.max"};
#define FILE_COUNT (sizeof files / sizeof files[0])

static char path[128];

static const char *in_folder(const char *name)
{
    snprintf(path, sizeof path, "%s%s", folder, name);
    return path;
}

static void file_put(unsigned file, const char *text)
{
    FILE *out = fopen(in_folder(files[file]), "w");
    assert_non_null(out);
    fputs(text, out);
    assert_int_equal(fclose(out), 0);
}

static int folders_make(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    for (unsigned i = 1; i < FOLDER_COUNT; i++)
        if (mkdir(in_folder(folders[i]), 0700))
            return -1;
    return 0;
}

static int folders_remove(void **state)
{
    for (unsigned i = 0; i < FILE_COUNT; i++)
        unlink(in_folder(files[i]));
    for (unsigned i = FOLDER_COUNT; i-- > 0;)
        rmdir(in_folder(folders[i]));
    return 0;
}

static uint64_t found(void)
{
    char proc[64], groups[64];
    snprintf(proc, sizeof proc, "%s/proc", folder);
    snprintf(groups, sizeof groups, "%s/groups", folder);
    return machine_memory_in(proc, groups);
}

static void the_least_limit_is_found(void **state)
{
    assert_int_equal(found(), 0); /* nothing is known */
    file_put(0, "MemTotal:        4194304 kB\nMemFree: 1 kB\nSwapTotal:       1048576 kB\n");
    assert_int_equal(found(), 5 * GIB);
    file_put(1, "1:name=systemd:/\n0::/a/b\n");
    assert_int_equal(found(), 5 * GIB);
    file_put(3, "max\n");
    assert_int_equal(found(), 5 * GIB);
    file_put(2, "2147483648\n"); /* of the group above */
    assert_int_equal(found(), 2 * GIB);
    file_put(3, "1073741824\n");
    assert_int_equal(found(), GIB);
    file_put(3, "8589934592\n");
    assert_int_equal(found(), 2 * GIB);
}

static void this_machine_has_memory(void **state)
{
    assert_true(machine_memory() > (UINT64_C(1) << 24));
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(the_least_limit_is_found),
                                       TEST(this_machine_has_memory)};
    return cmocka_run_group_tests(tests, folders_make, folders_remove);
}
