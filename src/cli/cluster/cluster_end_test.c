#include "cli/cluster/cluster_end.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/clock.h"

/* Sockets that each process has open. The kernel closes them after it has released the locks of the
 * process, so the process ends some time after its locks are free. */
#define SOCKETS 1000

static char folder[CLUSTER_PATH_SIZE];

static void begin(void)
{
    strcpy(folder, "/tmp/weft-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
}

static void finish(void)
{
    uint32_t others;
    struct why why;
    assert_int_equal(cluster_remove(folder, true, &others, &why), OK);
    assert_int_equal(others, 0);
}

/* Starts a process that holds the locks of `count` servers and takes long to end. A stubborn one
 * ignores SIGTERM. */
static pid_t holder_start(node_id first, uint32_t count, bool stubborn)
{
    int told[2];
    char wrong = 0;
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        uint64_t incarnation;
        for (node_id server = first; server < first + count; server++)
            wrong |= cluster_lock_take(folder, server, &incarnation) < 0;
        int sockets[SOCKETS]; /* closed by the kernel */
        for (int i = 0; i < SOCKETS; i++)
            sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
        signal(SIGTERM, stubborn ? SIG_IGN : SIG_DFL);
        wrong |= sockets[0] < 0;
        while (write(told[1], &wrong, 1) == 1)
            pause();
        _exit(1);
    }
    assert_int_equal(read(told[0], &wrong, 1), 1);
    assert_int_equal(wrong, 0);
    close(told[0]);
    close(told[1]);
    return child;
}

/* Tells whether this child has ended, whether or not it was reaped already. */
static bool is_gone(pid_t child)
{
    siginfo_t info = {0};
    int result = waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG);
    return result ? errno == ECHILD : info.si_pid == child;
}

static void cluster_kill_returns_after_the_process_has_ended(void **state)
{
    begin();
    assert_int_equal(cluster_kill(folder, 3), -ESRCH);
    for (int i = 0; i < 10; i++) {
        pid_t child = holder_start(3, 1, true);
        assert_int_equal(cluster_kill(folder, 3), child);
        assert_true(is_gone(child));
        assert_int_equal(cluster_kill(folder, 3), -ESRCH);
    }
    finish();
}

static void cluster_end_returns_after_all_processes_have_ended(void **state)
{
    begin();
    assert_int_equal(cluster_end(folder, 0), 0);
    for (int i = 0; i < 5; i++) {
        pid_t polite = holder_start(0, 1, false), several = holder_start(1, 3, false);
        pid_t stopped = holder_start(4, 1, false);
        assert_int_equal(kill(stopped, SIGSTOP), 0);
        assert_int_equal(cluster_end(folder, 60 * NSEC_PER_SEC), 0);
        assert_true(is_gone(polite));
        assert_true(is_gone(several));
        assert_true(is_gone(stopped));
    }
    finish();
}

static void a_process_that_does_not_end_is_killed(void **state)
{
    begin();
    pid_t stubborn = holder_start(2, 3, true);
    assert_int_equal(cluster_end(folder, NSEC_PER_SEC / 10), 3);
    assert_true(is_gone(stubborn));
    finish();
}

TEST_MAIN(TEST(cluster_kill_returns_after_the_process_has_ended),
          TEST(cluster_end_returns_after_all_processes_have_ended),
          TEST(a_process_that_does_not_end_is_killed))
