#include "os/realtime.h"

#include <linux/capability.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "os/host/host_scene.h"

/* Runs in a process of its own, because the next test needs an ordinary one. */
static int status_of(int (*run)(void))
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(run());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int begin(void)
{
    struct why why;
    struct sched_param param;
    if (realtime_begin(&why) || sched_getparam(0, &param))
        return 1;
    if (sched_getscheduler(0) != (SCHED_RR | SCHED_RESET_ON_FORK) || param.sched_priority != 1)
        return 2;
    pid_t child = fork();
    if (!child)
        _exit(sched_getscheduler(0));
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return 3;
    return WEXITSTATUS(status) == SCHED_OTHER ? 0 : 4; /* processes that it starts are ordinary */
}

static void a_permitted_process_becomes_real_time(void **state)
{
    struct why why = {0};
    if (realtime_check(&why)) {
        assert_non_null(strstr(why.text, "CAP_SYS_NICE"));
        print_message("not permitted for this user: %s\n", why.text);
        skip();
    }
    assert_int_equal(sched_getscheduler(0), SCHED_OTHER); /* the check changed nothing */
    assert_int_equal(status_of(begin), 0);
}

static int begin_without_right(void)
{
    const struct rlimit none = {0};
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    struct why why = {0};
    if (setrlimit(RLIMIT_RTPRIO, &none) || syscall(SYS_capget, &head, data))
        return 1;
    data[CAP_TO_INDEX(CAP_SYS_NICE)].effective &= ~CAP_TO_MASK(CAP_SYS_NICE);
    if (syscall(SYS_capset, &head, data))
        return 2;
    if (realtime_check(&why) != ERR_SYSTEM || !strstr(why.text, "CAP_SYS_NICE"))
        return 3;
    return sched_getscheduler(0) == SCHED_OTHER ? 0 : 4;
}

static void an_unpermitted_process_learns_what_is_missing(void **state)
{
    assert_int_equal(status_of(begin_without_right), 0);
}

/* ---- a host that is always busy ---- */

static _Atomic uint64_t *turns; /* turns of each process, written only by that process, relaxed */

static void busy_timer(struct weft_self *self, uint64_t cookie)
{
    atomic_fetch_add_explicit(&turns[0], 1, memory_order_relaxed);
    assert_int_equal(weft_timer(self, weft_now(self), 0), 0);
}

static int busy_start(struct weft_self *self)
{
    busy_timer(self, 0);
    return 0;
}

/* Starts a process of the same real-time class as the other process on the same processor, without
 * time slices: a process that does not yield keeps the processor. */
static pid_t turn_taker(void (*run)(struct scene *scene), struct scene *scene)
{
    const struct sched_param lowest = {.sched_priority = 1};
    cpu_set_t all, one;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid)
        return pid;
    int last = 0;
    CPU_ZERO(&one);
    sched_getaffinity(0, sizeof all, &all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        last = CPU_ISSET(cpu, &all) ? cpu : last;
    CPU_SET((size_t)last, &one);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_FIFO, &lowest))
        _exit(1);
    run(scene);
    _exit(1);
}

static void busy_run(struct scene *scene)
{
    static const volatile sig_atomic_t never = 0;
    host_run(scene_host(scene, 1 << 0), &never, NSEC_NEVER);
}

static void other_run(struct scene *scene)
{
    for (;;) {
        atomic_fetch_add_explicit(&turns[1], 1, memory_order_relaxed);
        sched_yield();
    }
}

static void turns_wait(unsigned who)
{
    uint64_t before = atomic_load_explicit(&turns[who], memory_order_relaxed);
    nsec until = clock_after(SCENE_NSEC);
    while (atomic_load_explicit(&turns[who], memory_order_relaxed) < before + 20) {
        assert_true(clock_now() < until);
        usleep(1000);
    }
}

static void a_busy_host_yields(void **state)
{
    static const struct weft_service_ops ops = {.start = busy_start, .timer = busy_timer};
    static const struct weft_service busy = {
        .version = WEFT_SERVICE_VERSION, .name = "busy", .id = 300, .ops = &ops};
    static const struct weft_service *const services[] = {&busy, NULL};
    struct scene scene;
    struct why why;
    if (realtime_check(&why))
        skip();
    turns =
        mmap(NULL, sizeof *turns * 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(turns != MAP_FAILED);
    scene_open(&scene, "torus:2", services);
    scene.config.spin = -1;
    scene.config.turn = 1000 * 1000;
    pid_t pids[2] = {turn_taker(busy_run, &scene)};
    turns_wait(0);
    pids[1] = turn_taker(other_run, &scene);
    for (unsigned i = 0; i < 5; i++) {
        turns_wait(1);
        turns_wait(0);
    }
    for (unsigned i = 0; i < 2; i++) {
        kill(pids[i], SIGKILL);
        assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
    }
    scene.hosts[0] = scene_host(&scene, 1 << 0); /* cleans up after the killed process */
    scene_close(&scene);
    munmap(turns, sizeof *turns * 2);
}

TEST_MAIN(TEST(a_permitted_process_becomes_real_time),
          TEST(an_unpermitted_process_learns_what_is_missing), TEST(a_busy_host_yields))
