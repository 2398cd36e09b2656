/* owner: an object belongs to the process that opened it, whichever way its children are made. The
 * order of the tests matters: the first ones run before this process owns anything. */
#include "transport/fork/owner.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/fork/descriptor.h"

static struct owner owner;
static int kept = -1; /* a recorded descriptor */

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Runs the function in a child. Returns what it returned. */
static int in_child(int (*run)(void), bool bare)
{
    int status;
    pid_t pid = bare ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, 0) : fork();
    if (pid == 0)
        _exit(run());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int kept_is_open(void)
{
    return is_open(kept);
}

static void a_process_without_objects_shares_its_descriptors(void **state)
{
    kept = DESCRIPTOR_OPEN(open("/dev/null", O_RDONLY));
    assert_int_equal(in_child(kept_is_open, false), 1);
}

static int owner_is_mine(void)
{
    return owner_is_here(&owner);
}

static void an_object_belongs_to_its_process(void **state)
{
    assert_int_equal(owner_make(&owner), 0);
    assert_true(owner_is_here(&owner));
    assert_int_equal(in_child(owner_is_mine, false), 0);
    assert_int_equal(in_child(owner_is_mine, true), 0);
    assert_true(owner_is_here(&owner));
}

static void a_child_of_an_owner_has_no_descriptors(void **state)
{
    assert_int_equal(in_child(kept_is_open, false), 0);
    assert_int_equal(in_child(kept_is_open, true), 1); /* no handler ran */
    assert_true(is_open(kept));
}

/* 0 if the child's own object belongs to the child, and the parent's still does not. */
static int own_object(void)
{
    struct owner own, second;
    if (owner_make(&own) || !owner_is_here(&own) || owner_is_here(&owner) || is_open(kept))
        return 1;
    int fd = DESCRIPTOR_OPEN(open("/dev/null", O_RDONLY));
    if (owner_make(&second) || !owner_is_here(&second) || !owner_is_here(&own) || !is_open(fd))
        return 2;
    pid_t pid = fork();
    if (pid == 0) {
        bool wrong = owner_is_here(&own) || owner_is_here(&owner) || is_open(fd) ||
                     owner_make(&second) || !owner_is_here(&second) || owner_is_here(&own) ||
                     owner_is_here(&owner);
        _exit(wrong ? 1 : 0);
    }
    int status;
    return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 3;
}

static void a_child_owns_what_it_opens(void **state)
{
    assert_int_equal(in_child(own_object, false), 0);
    assert_int_equal(in_child(own_object, true), 0);
    assert_true(owner_is_here(&owner) && is_open(kept));
}

/* A fork handler of the program, which runs before ours, may still open and close. */
static void program_prepares(void)
{
    descriptor_close(DESCRIPTOR_OPEN(open("/dev/null", O_RDONLY)));
}

static void program_continues(void)
{
    struct owner own;
    program_prepares();
    assert_int_equal(owner_make(&own), 0);
}

static void fork_handlers_of_the_program_may_open_objects(void **state)
{
    assert_int_equal(pthread_atfork(program_prepares, program_continues, program_continues), 0);
    assert_int_equal(in_child(owner_is_mine, false), 0);
    assert_true(owner_is_here(&owner));
    descriptor_close(kept);
}

TEST_MAIN(TEST(a_process_without_objects_shares_its_descriptors),
          TEST(an_object_belongs_to_its_process), TEST(a_child_of_an_owner_has_no_descriptors),
          TEST(a_child_owns_what_it_opens), TEST(fork_handlers_of_the_program_may_open_objects))
