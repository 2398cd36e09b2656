#include "transport/domain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/scratch.h"

static void file_make(const char *folder, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

static int file_exists(const char *folder, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void file_unlink(const char *folder, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(unlink(path), 0);
}

static void names_of_domains_are_checked(void **state)
{
    struct scratch scratch;
    char folder[DOMAIN_PATH_MAX];
    struct why why;
    scratch_open(&scratch);
    static const char *const bad[] = {
        "",    ".",        "..",   ".hidden", "a/b",
        "a b", "\xc3\xa9", "a\nb", "x/../y",  "123456789012345678901234567890123",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        why.text[0] = '\0';
        assert_int_equal(domain_open(folder, bad[i], &why), -EINVAL);
        assert_non_null(strstr(why.text, "invalid domain"));
    }
    assert_int_equal(domain_open(folder, NULL, &why), -EINVAL);
    char deep[80];
    memset(deep, 'x', sizeof deep);
    memcpy(deep, "/tmp/", 5);
    deep[79] = '\0';
    assert_int_equal(setenv("WEFT_FOLDER", deep, 1), 0);
    assert_int_equal(domain_open(folder, SCRATCH_DOMAIN, &why), -ENAMETOOLONG);
    scratch_close(&scratch);
}

static void a_folder_accessible_to_others_is_refused(void **state)
{
    struct scratch scratch;
    char folder[DOMAIN_PATH_MAX], link[120];
    struct why why;
    scratch_open(&scratch);
    struct stat made;
    assert_int_equal(stat(scratch.folder, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0700);

    assert_int_equal(chmod(scratch.folder, 0750), 0);
    assert_int_equal(domain_open(folder, SCRATCH_DOMAIN, &why), -EPERM);
    assert_non_null(strstr(why.text, "is accessible to other users"));
    assert_int_equal(chmod(scratch.folder, 0700), 0);

    assert_int_equal(chmod(scratch.above, 0701), 0);
    assert_int_equal(domain_open(folder, SCRATCH_DOMAIN, &why), -EPERM);
    assert_int_equal(chmod(scratch.above, 0700), 0);

    snprintf(link, sizeof link, "%s/linked", scratch.above);
    assert_int_equal(symlink(SCRATCH_DOMAIN, link), 0);
    assert_int_equal(domain_open(folder, "linked", &why), -EPERM);
    assert_non_null(strstr(why.text, "link"));
    assert_int_equal(unlink(link), 0);

    if (geteuid() != 0) { /* root may use /usr: it owns what it makes there */
        assert_int_equal(setenv("WEFT_FOLDER", "/usr", 1), 0);
        assert_int_equal(domain_open(folder, SCRATCH_DOMAIN, &why), -EPERM);
    }
    scratch_close(&scratch);
}

static void a_lock_lasts_as_long_as_its_descriptor(void **state)
{
    struct scratch scratch;
    scratch_open(&scratch);
    assert_int_equal(domain_file_alive(scratch.folder, "claim.1"), 0);
    int fd = domain_file_lock(scratch.folder, "claim.1");
    assert_true(fd >= 0);
    assert_int_equal(domain_file_lock(scratch.folder, "claim.1"), -EBUSY);
    assert_int_equal(domain_file_alive(scratch.folder, "claim.1"), 1);
    assert_int_equal(domain_clean(scratch.folder), 0);
    close(fd);
    assert_int_equal(domain_file_alive(scratch.folder, "claim.1"), 0);
    fd = domain_file_lock(scratch.folder, "claim.1");
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(domain_file_lock(scratch.folder, "../claim"), -EINVAL);
    assert_int_equal(domain_file_alive(scratch.folder, "a/b"), -EINVAL);
    assert_int_equal(domain_file_alive("/nowhere", "claim.1"), 0);
    assert_int_equal(domain_clean("/nowhere"), -ENOENT);
    assert_int_equal(domain_clean(scratch.folder), 1);
    scratch_close(&scratch);
}

/* A daemon may run without standard input, so 0 may be any descriptor. */
static void descriptor_0_can_be_a_folder_or_a_file(void **state)
{
    struct scratch scratch;
    char folder[DOMAIN_PATH_MAX], bytes[8];
    size_t got;
    scratch_open(&scratch);
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    assert_int_equal(domain_open(folder, SCRATCH_DOMAIN, NULL), 0);
    int fd = domain_file_lock(scratch.folder, "claim.1");
    assert_true(fd > 0); /* meanwhile the folder has 0 */
    assert_int_equal(write(fd, "words", 5), 5);
    assert_int_equal(domain_file_alive(scratch.folder, "claim.1"), 1);
    assert_int_equal(domain_file_read(scratch.folder, "claim.1", bytes, sizeof bytes, &got), 1);
    assert_int_equal(got, 5);
    assert_memory_equal(bytes, "words", 5);
    assert_true(domain_file_named(scratch.folder, "claim.1", fd));
    assert_int_equal(domain_clean(scratch.folder), 0);
    close(fd);
    assert_int_equal(domain_clean(scratch.folder), 1);
    assert_int_equal(domain_file_read(scratch.folder, "claim.1", bytes, sizeof bytes, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1); /* everything was closed */
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
    scratch_close(&scratch);
}

static void only_the_files_of_a_killed_process_are_removed(void **state)
{
    struct scratch scratch;
    int ready[2];
    char byte;
    scratch_open(&scratch);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (domain_file_lock(scratch.folder, "context.1") < 0 ||
            domain_file_lock(scratch.folder, "claim.1") < 0 ||
            domain_file_lock(scratch.folder, "trace.1") < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(1);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    file_make(scratch.folder, "socket.1");
    file_make(scratch.folder, "socket.2"); /* without a context's file */
    file_make(scratch.folder, "notes");    /* not a file of this kind */
    int mine = domain_file_lock(scratch.folder, "context.3");
    assert_true(mine >= 0);
    file_make(scratch.folder, "socket.3");
    assert_int_equal(domain_clean(scratch.folder), 1);
    assert_int_equal(domain_file_alive(scratch.folder, "context.1"), 1);

    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(domain_clean(scratch.folder), 4);
    assert_true(file_exists(scratch.folder, "context.3"));
    assert_true(file_exists(scratch.folder, "socket.3"));
    close(mine);
    assert_int_equal(domain_clean(scratch.folder), 2);
    file_unlink(scratch.folder, "notes");
    close(ready[0]);
    close(ready[1]);
    scratch_close(&scratch);
}

/* Locks the name again and again, and each time is its only owner although another process cleans
 * all the time. */
static void cleaning_does_not_disturb_new_owners(void **state)
{
    enum { TURNS = 20000 };
    struct scratch scratch;
    scratch_open(&scratch);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (;;)
            domain_clean(scratch.folder);
    }
    for (int i = 0; i < TURNS; i++) {
        int fd = domain_file_lock(scratch.folder, "claim.1");
        if (fd < 0 || !file_exists(scratch.folder, "claim.1")) {
            kill(child, SIGKILL);
            fail_msg("turn %d: %d", i, fd);
        }
        close(fd); /* as if killed: the file stays */
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    domain_clean(scratch.folder);
    scratch_close(&scratch);
}

TEST_MAIN(TEST(descriptor_0_can_be_a_folder_or_a_file), TEST(names_of_domains_are_checked),
          TEST(a_folder_accessible_to_others_is_refused),
          TEST(a_lock_lasts_as_long_as_its_descriptor),
          TEST(only_the_files_of_a_killed_process_are_removed),
          TEST(cleaning_does_not_disturb_new_owners))
