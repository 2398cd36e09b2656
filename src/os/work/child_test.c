/* Checks programs that run in child processes: results, limits, and that nothing survives. */
#include "os/work/child.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/forbid_test.h"
#include "base/test.h"
#include "transport/clock.h"

#define SERVER   5
#define PATIENCE (60 * NSEC_PER_SEC)

static char folder[64];
static struct child_keeper keeper;
static _Atomic bool never; /* cancelled */
static char output[4096];

static int scene_open(void **state)
{
    struct why why = {0};
    strcpy(folder, "/tmp/weft-child-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(child_keeper_open(&keeper, folder, &why), OK);
    return 0;
}

static unsigned entries(void)
{
    unsigned count = 0;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));)
        count += entry->d_name[0] != '.';
    closedir(opened);
    return count;
}

static int scene_close(void **state)
{
    child_keeper_close(&keeper);
    assert_int_equal(entries(), 0); /* all folders of children are gone */
    assert_int_equal(rmdir(folder), 0);
    return 0;
}

/* Runs a command of the shell with the caller's limits; stores the output as a string. */
static int64_t run_limited(const char *command, struct weft_child child)
{
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    child.words = words;
    child.output = output;
    child.output_room = child.output_room ? child.output_room : sizeof output - 1;
    int64_t result = child_run_program(&keeper, SERVER, &child, &never);
    output[child.output_size] = '\0';
    return child.signal ? -1000 - child.signal : result;
}

static int64_t run(const char *command)
{
    return run_limited(command, (struct weft_child){0});
}

static bool runs(int pid)
{
    char path[32], state = 'X';
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool read = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    fclose(file);
    return read && state != 'Z' && state != 'X';
}

/* Waits until a process has ended. */
static void await_end(int pid)
{
    nsec deadline = clock_after(PATIENCE);
    assert_true(pid > 1);
    while (runs(pid)) {
        assert_false(clock_is_past(deadline));
        clock_nap(1000000);
    }
}

static void output_and_exit_code_come_back(void **state)
{
    assert_int_equal(run("echo hello; exit 7"), 7);
    assert_string_equal(output, "hello\n");
    assert_int_equal(run("echo lost >&2"), 0);
    assert_string_equal(output, "");
    assert_int_equal(run_limited("echo kept >&2", (struct weft_child){.errors = true}), 0);
    assert_string_equal(output, "kept\n");
    assert_int_equal(run("kill -9 $$"), -1000 - SIGKILL);
}

static void input_arrives_whole(void **state)
{
    static char input[3000000];
    for (size_t i = 0; i < sizeof input; i++)
        input[i] = (char)('a' + i % 26);
    struct weft_child child = {.input = input, .input_size = sizeof input};
    assert_int_equal(run_limited("wc -c | tr -d ' '", child), 0);
    assert_string_equal(output, "3000000\n");
    assert_int_equal(run_limited("exit 3", child), 3); /* a program that reads nothing */
    assert_int_equal(run("wc -c | tr -d ' '"), 0);
    assert_string_equal(output, "0\n");
}

static void a_child_has_a_folder_and_variables_of_its_own(void **state)
{
    char expected[128];
    setenv("WEFT_SECRET", "x", 1);
    assert_int_equal(run("ls -A | wc -l; test $PWD = $HOME && test $HOME = $TMPDIR && pwd -P"), 0);
    int size = snprintf(expected, sizeof expected, "0\n%s/node-5.child-", folder);
    assert_memory_equal(output, expected, (size_t)size);
    assert_int_equal(run("mkdir -p a/b; echo x >a/b/c; env | grep -c WEFT_"), 0);
    assert_string_equal(output, "1\n"); /* WEFT_SERVER, and not what the server has */
    assert_int_equal(run("echo $WEFT_SERVER"), 0);
    assert_string_equal(output, "5\n");
    assert_int_equal(run("ls /proc/self/fd | wc -l"), 0);
    assert_string_equal(output, "4\n"); /* 0, 1, 2, and the one with which ls reads the folder */
}

static void a_program_that_cannot_start_is_reported(void **state)
{
    const char *const missing[] = {"/nowhere/program", NULL};
    const char *const text[] = {"/etc/passwd", NULL};
    struct weft_child child = {.words = missing, .output = output, .output_room = 10};
    assert_int_equal(child_run_program(&keeper, SERVER, &child, &never), -ENOENT);
    child.words = text;
    assert_int_equal(child_run_program(&keeper, SERVER, &child, &never), -EACCES);
}

static void limits_hold(void **state)
{
    /* The limit of processor time is tested only by its signal: otherwise the test would have to
     * compute for a second. */
    struct weft_child child = {
        .memory = UINT64_C(64) << 20, .file_size = 51200, .processor = 2 * NSEC_PER_SEC - 1};
    assert_int_equal(run_limited("ulimit -v; ulimit -f; ulimit -t; ulimit -c", child), 0);
    assert_string_equal(output, "65536\n100\n2\n0\n");
    assert_int_equal(run("kill -XCPU $$"), -1000 - SIGXCPU);
    assert_int_not_equal(run_limited("dd if=/dev/zero of=/dev/null bs=100M count=1", child), 0);
    assert_int_not_equal(run_limited("head -c 100000 /dev/zero >file", child), 0);
    assert_int_equal(run_limited("sleep 1000", (struct weft_child){.time = NSEC_PER_SEC / 5}),
                     -ETIME);
    assert_int_equal(run_limited("yes", (struct weft_child){.output_room = 100}), -EMSGSIZE);
    assert_int_equal(strlen(output), 100);
}

/* Starts a process that leaves the process group, and another that leaves that one's, and waits
 * until both run; their numbers are in the file `pid`. */
#define LEAVE                                                                                      \
    "setsid sh -c 'setsid sleep 1000 & echo $! $$ >new; mv new pid; sleep 1000' & "                \
    "while ! test -e pid; do sleep 0.01; done; "

/* Finds the numbers that a program wrote into its folder. False: not yet. */
static bool pids_find(int pids[2])
{
    bool found = false;
    DIR *opened = opendir(folder);
    assert_non_null(opened);
    for (struct dirent *entry; (entry = readdir(opened));) {
        char path[400];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s/pid", folder, entry->d_name);
        FILE *file = fopen(path, "re");
        if (!file)
            continue;
        found = fscanf(file, "%d %d", &pids[0], &pids[1]) == 2;
        fclose(file);
    }
    closedir(opened);
    return found;
}

static void pids_await(int pids[2])
{
    nsec deadline = clock_after(PATIENCE);
    while (!pids_find(pids)) {
        assert_false(clock_is_past(deadline));
        clock_nap(1000000);
    }
}

static void all_processes_of_a_child_end_with_it(void **state)
{
    int pids[2];
    assert_int_equal(run(LEAVE "cat pid; exit 4"), 4);
    assert_int_equal(sscanf(output, "%d %d", &pids[0], &pids[1]), 2);
    await_end(pids[0]);
    await_end(pids[1]);
}

/* The keeper has descriptors 0 to 3, so it receives one of the three that come with a request. */
static void a_keeper_without_descriptors_fails_one_call(void **state)
{
    struct rlimit usual, scarce;
    assert_int_equal(prlimit(keeper.pid, RLIMIT_NOFILE, NULL, &usual), 0);
    scarce = (struct rlimit){.rlim_cur = 5, .rlim_max = usual.rlim_max};
    assert_int_equal(prlimit(keeper.pid, RLIMIT_NOFILE, &scarce, NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run("exit 7"), -ECHILD);
    assert_int_equal(prlimit(keeper.pid, RLIMIT_NOFILE, &usual, NULL), 0);
    assert_int_equal(run("exit 7"), 7);
}

/* Runs in a process of its own, because what is forbidden stays so. */
static int run_where_pidfd_is_not_permitted(void)
{
    const char *const words[] = {"/bin/sh", "-c", LEAVE "sleep 1000", NULL};
    struct weft_child child = {.words = words};
    struct why why = {0};
    if (!forbid_call(SYS_pidfd_open))
        return 77;
    if (child_keeper_open(&keeper, folder, &why))
        return 1;
    int64_t result = child_run_program(&keeper, SERVER, &child, &never);
    child_keeper_close(&keeper);
    return result == -EPERM ? 0 : 2;
}

static void a_system_without_pidfd_is_reported_and_nothing_survives(void **state)
{
    pid_t process = fork();
    assert_true(process >= 0);
    if (!process)
        _exit(run_where_pidfd_is_not_permitted());
    int status = 1;
    assert_int_equal(waitpid(process, &status, 0), process);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(entries(), 0);
}

struct killer {
    _Atomic bool cancelled;
    int pids[2];
};

static void *cancel_when_it_runs(void *argument)
{
    struct killer *killer = argument;
    pids_await(killer->pids);
    atomic_store_explicit(&killer->cancelled, true, memory_order_relaxed);
    return NULL;
}

static void a_cancelled_child_is_killed_with_all_its_processes(void **state)
{
    struct killer killer = {0};
    const char *const words[] = {"/bin/sh", "-c", LEAVE "sleep 1000", NULL};
    struct weft_child child = {.words = words, .time = PATIENCE};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancel_when_it_runs, &killer), 0);
    assert_int_equal(child_run_program(&keeper, SERVER, &child, &killer.cancelled), -ECANCELED);
    pthread_join(thread, NULL);
    await_end(killer.pids[0]);
    await_end(killer.pids[1]);
}

/* Plays a server: sends the process id of its keeper, runs a program, and is killed. */
static _Noreturn void server_run(int told)
{
    const char *const words[] = {"/bin/sh", "-c", LEAVE "sleep 1000", NULL};
    struct weft_child child = {.words = words};
    struct why why = {0};
    struct child_keeper own;
    if (child_keeper_open(&own, folder, &why))
        _exit(1);
    (void)!write(told, &own.pid, sizeof own.pid);
    close(told);
    (void)child_run_program(&own, SERVER, &child, &never);
    _exit(0);
}

static void nothing_survives_a_server_that_is_killed(void **state)
{
    int ends[2], keeper_pid, pids[2];
    nsec deadline = clock_after(PATIENCE);
    assert_int_equal(pipe(ends), 0);
    pid_t server = fork();
    assert_true(server >= 0);
    if (server == 0)
        server_run(ends[1]);
    close(ends[1]);
    assert_int_equal(read(ends[0], &keeper_pid, sizeof keeper_pid), sizeof keeper_pid);
    close(ends[0]);
    pids_await(pids);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    await_end(keeper_pid);
    await_end(pids[0]);
    await_end(pids[1]);
    while (entries()) {
        assert_false(clock_is_past(deadline));
        clock_nap(1000000);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

TEST_MAIN(CASE(output_and_exit_code_come_back), CASE(input_arrives_whole),
          CASE(a_child_has_a_folder_and_variables_of_its_own),
          CASE(a_program_that_cannot_start_is_reported),
          CASE(a_keeper_without_descriptors_fails_one_call),
          CASE(a_system_without_pidfd_is_reported_and_nothing_survives), CASE(limits_hold),
          CASE(all_processes_of_a_child_end_with_it),
          CASE(a_cancelled_child_is_killed_with_all_its_processes),
          CASE(nothing_survives_a_server_that_is_killed))
