/* hosts: process 0 of the crowd asks, all others host servers. It ends them by a signal, so that a
 * sleeping process never has to wake up only to check whether the measurement is over. */
#include "measured/hosts.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "os/cable/cable.h"
#include "os/cluster/cluster_ask.h"
#include "os/cluster/cluster_file.h"
#include "os/host/host.h"
#include "services/control/control_wire.h"
#include "services/services.h"
#include "transport/clock.h"

#define READY_NSEC     (90 * NSEC_PER_SEC) /* the machine may be busy with something else */
#define ANSWER_SECONDS 30
#define POLL_NSEC      (20 * 1000 * 1000LL)

struct hosts {
    const struct hosts_plan *plan;
    struct plan wiring;
    struct crowd *crowd;  /* as the asking process sees it */
    pid_t ids[CROWD_MAX]; /* shared; each hosting process writes its own before they meet */
    int handles[];        /* of the asking process: a connection to each server */
};

/* ---- a hosting process ---- */

/* Not shared: set by the signal handler of the process, read by its one thread. */
static volatile sig_atomic_t stopping;
static struct host *stopping_host;

static void on_signal(int number)
{
    stopping = 1;
    host_wake(stopping_host);
}

/* Writes the servers of this process; returns how many there are. */
static uint32_t servers_deal(const struct hosts *hosts, uint32_t process, node_id *servers)
{
    uint32_t total = hosts->wiring.server_count, count = hosts->plan->process_count;
    uint32_t first = (uint32_t)((uint64_t)total * process / count);
    uint32_t end = (uint32_t)((uint64_t)total * (process + 1) / count);
    for (uint32_t i = first; i < end; i++)
        servers[i - first] = i;
    return end - first;
}

static void links_make(struct crowd *crowd, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", crowd->folder, CLUSTER_LINKS_FOLDER);
    if (mkdir(path, 0700) && errno != EEXIST)
        crowd_fail(crowd, "%s: %s", path, strerror(errno));
}

static void host_process(struct hosts *hosts, struct crowd *crowd)
{
    const struct hosts_plan *plan = hosts->plan;
    uint32_t process = crowd->index - 1, total = hosts->wiring.server_count;
    char links[CLUSTER_PATH_SIZE];
    struct why why = {0};
    node_id *servers = array_new(total, sizeof *servers);
    uint64_t *lives = array_new(total, sizeof *lives);
    if (!servers || !lives)
        crowd_fail(crowd, "out of memory");
    for (uint32_t i = 0; i < total; i++)
        lives[i] = 1;
    if (plan->polling)
        crowd_pin(process);
    links_make(crowd, links, sizeof links);
    const struct host_config config = {
        .plan = &hosts->wiring,
        .servers = servers,
        .lives = lives,
        .server_count = servers_deal(hosts, process, servers),
        .folder = crowd->folder,
        .links = links,
        .transport = cables_transport(plan->transport),
        .address = "127.0.0.1",
        .rate_bps = plan->rate,
        .separate = plan->separate,
        .services = services_all,
        .spin = plan->polling    ? READY_NSEC
                : plan->sleeping ? -1
                                 : 0,
        .yield = plan->sleeping ? -1 : 0,
    };
    if (host_open(&stopping_host, &config, &why))
        crowd_fail(crowd, "%s", why.text);
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    hosts->ids[process] = getpid();
    crowd_meet(crowd);
    host_run(stopping_host, &stopping, NSEC_NEVER);
    action.sa_handler = SIG_IGN;
    sigaction(SIGTERM, &action, NULL);
    host_close(stopping_host);
}

/* ---- the asking process ---- */

void hosts_fail(struct hosts *hosts, const char *what)
{
    crowd_fail(hosts->crowd, "%s", what);
}

const struct plan *hosts_wiring(const struct hosts *hosts)
{
    return &hosts->wiring;
}

void hosts_tell(struct hosts *hosts, node_id server, uint16_t service, const void *bytes,
                size_t size)
{
    int result = cluster_tell(hosts->handles[server], service, bytes, size);
    if (result < 0)
        crowd_fail(hosts->crowd, "cannot send a request to server %u: %s", server,
                   strerror(-result));
}

/* Waits for a second at a time: while the whole machine stands still the clock goes on, and a
 * server that stood still, too, has its time to answer. */
size_t hosts_hear(struct hosts *hosts, node_id server, void *bytes, size_t size, uint32_t seconds)
{
    int result;
    do {
        result = cluster_hear(hosts->handles[server], bytes, size, clock_after(NSEC_PER_SEC));
        if (result == -ETIMEDOUT)
            seconds--;
    } while (result == -EINTR || (result == -ETIMEDOUT && seconds > 0));
    if (result < 0)
        crowd_fail(hosts->crowd, "server %u does not answer: %s", server, strerror(-result));
    return (size_t)result;
}

double hosts_cpu(const struct hosts *hosts)
{
    double sum = 0;
    for (uint32_t i = 0; i < hosts->plan->process_count; i++) {
        clockid_t clock;
        struct timespec time;
        if (clock_getcpuclockid(hosts->ids[i], &clock) || clock_gettime(clock, &time))
            crowd_fail(hosts->crowd, "cannot read the processor time of a hosting process");
        sum += (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
    }
    return sum;
}

/* A server is ready when it answers for keys, reaches all servers, and all its links are up. */
static bool server_is_ready(struct hosts *hosts, node_id server)
{
    static struct control_snapshot snapshot; /* too large for a stack */
    static uint8_t bytes[CONTROL_ANSWER_MAX];
    const struct control_request request = {.kind = CONTROL_SNAPSHOT, .token = 1};
    uint8_t question[CONTROL_REQUEST_MAX];
    struct control_answer answer;
    hosts_tell(hosts, server, CONTROL_SERVICE, question, control_request_write(&request, question));
    size_t size = hosts_hear(hosts, server, bytes, sizeof bytes, ANSWER_SECONDS);
    struct reader in = reader_make(bytes, size);
    if (control_answer_read(&in, &answer) < 0 || answer.error ||
        control_snapshot_read(&in, &snapshot) < 0)
        crowd_fail(hosts->crowd, "server %u sent a malformed answer", server);
    if (!snapshot.node.settled || snapshot.node.reachable != hosts->wiring.server_count)
        return false;
    for (uint32_t port = 0; port < snapshot.port_count; port++)
        if (snapshot.ports[port].state != PORT_UP && snapshot.ports[port].state != PORT_ABSENT)
            return false;
    return true;
}

void hosts_await(struct hosts *hosts)
{
    nsec deadline = clock_after(READY_NSEC);
    for (node_id server = 0; server < hosts->wiring.server_count;) {
        if (server_is_ready(hosts, server)) {
            server++;
            continue;
        }
        if (clock_now() > deadline)
            crowd_fail(hosts->crowd, "server %u does not reach all other servers in time", server);
        clock_nap(POLL_NSEC);
    }
}

static void ask_process(struct hosts *hosts, struct crowd *crowd)
{
    hosts->crowd = crowd;
    crowd_meet(crowd); /* now all servers accept connections */
    for (node_id server = 0; server < hosts->wiring.server_count; server++) {
        hosts->handles[server] = cluster_connect(crowd->folder, server);
        if (hosts->handles[server] < 0)
            crowd_fail(crowd, "cannot connect to server %u: %s", server,
                       strerror(-hosts->handles[server]));
    }
    hosts_await(hosts);
    hosts->plan->run(hosts, hosts->plan->argument);
    for (uint32_t i = 0; i < hosts->plan->process_count; i++)
        kill(hosts->ids[i], SIGTERM);
}

static void process_run(struct crowd *crowd, const void *argument)
{
    struct hosts *hosts = *(struct hosts *const *)argument;
    if (crowd->index == 0)
        ask_process(hosts, crowd);
    else
        host_process(hosts, crowd);
}

/* ---- the parent ---- */

enum err hosts_run(const struct hosts_plan *plan, struct why *why)
{
    struct topology topology;
    struct crowd_end end;
    assert(plan->process_count > 0 && plan->process_count < CROWD_MAX);
    enum err err = topology_build(&topology, plan->spec, why);
    if (err)
        return err;
    size_t size = sizeof(struct hosts) + topology.graph.node_count * sizeof(int);
    struct hosts *hosts = crowd_memory(size);
    if (!hosts) {
        err = why_memory(why);
        goto topology_free;
    }
    hosts->plan = plan;
    err = plan_init(&hosts->wiring, &topology, why);
    if (err)
        goto memory_free;
    assert(hosts->wiring.server_count >= plan->process_count);
    const struct crowd_play play = {plan->name, plan->process_count + 1, process_run, &hosts};
    err = crowd_run(&play, &end, why);
    if (!err && end.missing)
        err = why_fail(why, ERR_SYSTEM, "%s: %s", plan->name, end.reason);
    plan_fini(&hosts->wiring);
memory_free:
    crowd_memory_free(hosts, size);
topology_free:
    topology_fini(&topology);
    return err;
}
