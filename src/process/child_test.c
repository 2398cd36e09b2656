#include "process/child.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static void end_with(void *argument)
{
    _exit(*(int *)argument);
}

static void sleep_long(void *argument)
{
    for (;;)
        pause();
}

static void a_child_runs_its_function_and_ends(void **state)
{
    int code = 7, status;
    pid_t child = child_start(end_with, &code);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(WEXITSTATUS(status), 7);
}

static void a_killed_child_is_gone(void **state)
{
    pid_t child = child_start(sleep_long, NULL);
    child_kill(child);
    assert_int_equal(kill(child, 0), -1);
    assert_int_equal(errno, ESRCH);
    child_kill(0); /* no child */
}

/* The middle process starts a child, reports its id, and is killed. */
static void middle_run(void *argument)
{
    const int *pipe_ends = argument;
    pid_t child = child_start(sleep_long, NULL);
    (void)!write(pipe_ends[1], &child, sizeof child);
    for (;;)
        pause();
}

static void no_child_outlives_its_parent(void **state)
{
    int pipe_ends[2];
    pid_t grandchild;
    char nothing;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t middle = child_start(middle_run, pipe_ends);
    close(pipe_ends[1]); /* held by the middle process and its child from now on */
    assert_int_equal(read(pipe_ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
    child_kill(middle);
    assert_int_equal(read(pipe_ends[0], &nothing, 1), 0); /* both are gone, or we hang here */
    close(pipe_ends[0]);
}

static void children_are_waited_for_together(void **state)
{
    struct children children = {0};
    int well = 0, badly = 1;
    assert_true(children_add(&children, end_with, &well));
    assert_true(children_add(&children, end_with, &well));
    assert_true(children_wait(&children, clock_after(60 * NSEC_PER_SEC)));
    children_end(&children);

    assert_true(children_add(&children, sleep_long, NULL));
    assert_true(children_add(&children, end_with, &badly));
    assert_false(children_wait(&children, clock_after(600 * NSEC_PER_SEC)));
    pid_t sleeper = children.ids[0];
    children_end(&children);
    assert_int_equal(kill(sleeper, 0), -1);

    assert_true(children_add(&children, sleep_long, NULL));
    assert_false(children_wait(&children, clock_now())); /* the time is up at once */
    children_end(&children);
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static void a_folder_is_removed_with_its_contents(void **state)
{
    struct child_folder folder;
    char path[CHILD_FOLDER_SIZE + 8];
    assert_int_equal(child_folder_make(&folder), 0);
    snprintf(path, sizeof path, "%s/file", folder.path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_true(exists(folder.path));
    child_folder_remove(&folder);
    assert_false(exists(folder.path));
}

TEST_MAIN(TEST(a_child_runs_its_function_and_ends), TEST(a_killed_child_is_gone),
          TEST(no_child_outlives_its_parent), TEST(children_are_waited_for_together),
          TEST(a_folder_is_removed_with_its_contents))
