#include "node_stage.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "os/cable/cable.h"
#include "topology/format/format.h"
#include "transport/wake/thread.h"

#define SETTLE_NSEC  (20 * NSEC_PER_SEC)
#define SILENCE_NSEC (1000 * NSEC_PER_SEC) /* a busy driver sends no hellos */

void stage_open(struct node_stage *stage, uint32_t servers)
{
    struct text text = {0};
    struct why why = {0};
    *stage = (struct node_stage){.life = 1};
    snprintf(stage->folder, sizeof stage->folder, "/dev/shm/weft-bench-XXXXXX");
    if (!mkdtemp(stage->folder))
        bench_fail("cannot make a folder in /dev/shm");
    for (uint32_t i = 0; i + 1 < servers; i++)
        text_printf(&text, "%u %u\n", i, i + 1);
    if (format_read(&stage->topology, FORMAT_EDGELIST, "chain", text.data, text.size, &why))
        bench_fail("%s", why.text);
    text_fini(&text);
    stage->topology.direct = true;
    if (plan_init(&stage->plan, &stage->topology, &why))
        bench_fail("%s", why.text);
}

void stage_pause(const struct node_stage *stage, bool on)
{
    for (unsigned i = 0; i < stage->pid_count; i++)
        kill(stage->pids[i], on ? SIGSTOP : SIGCONT);
}

void stage_unpin(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; i < CPU_SETSIZE; i++)
        CPU_SET((size_t)i, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        bench_fail("cannot use all processors again");
}

bool stage_realtime(bool on)
{
    const struct sched_param param = {.sched_priority = on};
    return !sched_setscheduler(0, on ? SCHED_RR : SCHED_OTHER, &param);
}

struct host *stage_host(struct node_stage *stage, uint32_t servers,
                        const struct weft_service *service, nsec spin, nsec yield)
{
    node_id ids[STAGE_SERVERS_MAX];
    uint64_t lives[STAGE_SERVERS_MAX];
    const struct weft_service *list[] = {service, NULL};
    struct host_config config = {
        .plan = &stage->plan,
        .servers = ids,
        .lives = lives,
        .folder = stage->folder,
        .links = stage->folder,
        .transport = cables_transport("shm"),
        .services = list,
        .silence_nsec = SILENCE_NSEC,
        .spin = spin,
        .yield = yield,
    };
    for (; servers; servers &= servers - 1) {
        ids[config.server_count] = (node_id)__builtin_ctz(servers);
        lives[config.server_count++] = ++stage->life + (uint64_t)clock_wall();
    }
    struct host *host = NULL;
    struct why why = {0};
    thread_switch_lightly(); /* as weftd does */
    if (host_open(&host, &config, &why))
        bench_fail("%s", why.text);
    return host;
}

static volatile sig_atomic_t ended; /* in a child; written by its signal handler */

static void on_term(int number)
{
    ended = 1;
}

void stage_spawn(struct node_stage *stage, uint32_t servers, const struct weft_service *service,
                 int processor, nsec spin, nsec yield)
{
    pid_t pid = fork();
    if (pid < 0)
        bench_fail("cannot fork");
    if (pid > 0) {
        stage->pids[stage->pid_count++] = pid;
        return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, on_term);
    bench_pin(processor);
    struct host *host = stage_host(stage, servers, service, spin, yield);
    while (!ended)
        host_run(host, &ended, clock_after(NSEC_PER_SEC / 10));
    host_close(host);
    _exit(0);
}

void stage_settle(struct host *host, node_id from, node_id to, uint32_t reachable)
{
    stage_settle_with(host, NULL, from, to, reachable);
}

void stage_settle_with(struct host *host, struct host *other, node_id from, node_id to,
                       uint32_t reachable)
{
    nsec until = clock_after(SETTLE_NSEC);
    volatile sig_atomic_t never = 0;
    for (;;) {
        struct node_snapshot snapshot;
        host_run(host, &never, clock_after(1000 * 1000));
        if (other)
            host_run(other, &never, clock_after(1000 * 1000));
        node_snapshot(host_node(host, from), &snapshot);
        if (snapshot.settled && snapshot.reachable == reachable &&
            node_ports_to(host_node(host, from), to))
            return;
        if (clock_now() > until)
            bench_fail("the servers do not reach each other");
    }
}

void stage_close(struct node_stage *stage)
{
    for (unsigned i = 0; i < stage->pid_count; i++)
        kill(stage->pids[i], SIGTERM);
    for (unsigned i = 0; i < stage->pid_count; i++)
        waitpid(stage->pids[i], NULL, 0);
    plan_fini(&stage->plan);
    topology_fini(&stage->topology);
    if (rmdir(stage->folder))
        bench_fail("%s is not empty", stage->folder);
}

double stage_cpu_seconds(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
        bench_fail("cannot read the processor time of process %d", (int)pid);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}
