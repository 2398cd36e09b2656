/* node_trip_kernel: round trip of a datagram through the kernel; both ends poll, in two processes
 * on two processors. Over loopback, and through a chain of network namespaces joined by veth pairs,
 * each of which forwards IP. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_stage.h"
#include "node_trip.h"
#include "token.h"

#define SIZE 64

struct kernel_path {
    unsigned namespaces; /* made by us */
    char name[32];       /* their names without the number */
    int fd;              /* connected to the other end */
    pid_t pid;           /* of the process at the other end */
};

static struct sockaddr_in address_make(const char *text, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, text, &address.sin_addr);
    return address;
}

static int udp_bind(const char *text, uint16_t *port)
{
    struct sockaddr_in address = address_make(text, *port);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        bench_fail("udp: %s", strerror(errno));
    *port = ntohs(address.sin_port);
    return fd;
}

static _Noreturn void echo_run(int fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    bench_pin(1);
    for (;;) {
        uint8_t bytes[SIZE];
        struct sockaddr_in from;
        socklen_t size = sizeof from;
        ssize_t got =
            recvfrom(fd, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)&from, &size);
        if (got > 0)
            (void)!sendto(fd, bytes, (size_t)got, MSG_DONTWAIT, (struct sockaddr *)&from, size);
    }
}

static void path_start(struct kernel_path *path, int echo, const char *there, uint16_t port)
{
    struct sockaddr_in address = address_make(there, port);
    path->pid = fork();
    if (path->pid < 0)
        bench_fail("cannot fork");
    if (path->pid == 0)
        echo_run(echo);
    close(echo);
    kill(path->pid, SIGSTOP);
    if (connect(path->fd, (struct sockaddr *)&address, sizeof address))
        bench_fail("udp to %s: %s", there, strerror(errno));
}

struct kernel_path *kernel_loopback(void)
{
    struct kernel_path *path = calloc(1, sizeof *path);
    uint16_t here = 0, there = 0;
    if (!path)
        bench_fail("not enough memory");
    path->fd = udp_bind("127.0.0.1", &here);
    int echo = udp_bind("127.0.0.1", &there);
    path_start(path, echo, "127.0.0.1", there);
    return path;
}

/* ---- namespaces ---- */

__attribute__((format(printf, 1, 2))) static bool shell(const char *format, ...)
{
    char command[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    return system(command) == 0; /* NOLINT: the command is our own */
}

static void namespaces_remove(struct kernel_path *path)
{
    for (unsigned i = 0; i < path->namespaces; i++)
        (void)shell("ip netns del %s%u 2>/dev/null", path->name, i);
}

/* Adds namespace i and its link to the one before: 10.77.i.1 - 10.77.i.2. */
static bool namespace_add(struct kernel_path *path, unsigned i)
{
    const char *name = path->name;
    if (!shell("ip netns add %s%u 2>/dev/null", name, i))
        return false;
    path->namespaces = i + 1;
    if (!shell("ip -n %s%u link set lo up && ip netns exec %s%u sysctl -qw net.ipv4.ip_forward=1 "
               "net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0",
               name, i, name, i))
        return false;
    return i == 0 ||
           shell("ip -n %s%u link add right type veth peer name left netns %s%u && "
                 "ip -n %s%u addr add 10.77.%u.1/24 dev right && ip -n %s%u link set right up && "
                 "ip -n %s%u addr add 10.77.%u.2/24 dev left && ip -n %s%u link set left up",
                 name, i - 1, name, i, name, i - 1, i, name, i - 1, name, i, i, name, i);
}

/* Routes all higher networks to the right and all lower ones to the left. */
static bool namespace_route(const struct kernel_path *path, unsigned i, unsigned links)
{
    bool done = true;
    for (unsigned other = 1; other <= links; other++) {
        if (other > i + 1)
            done &= shell("ip -n %s%u route add 10.77.%u.0/24 via 10.77.%u.2", path->name, i, other,
                          i + 1);
        if (other < i)
            done &=
                shell("ip -n %s%u route add 10.77.%u.0/24 via 10.77.%u.1", path->name, i, other, i);
    }
    return done;
}

/* Opens a socket in that namespace; a socket stays in the namespace in which it was made. */
static int namespace_socket(const struct kernel_path *path, unsigned i, const char *text,
                            uint16_t port)
{
    char name[64];
    int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    snprintf(name, sizeof name, "/run/netns/%s%u", path->name, i);
    int there = open(name, O_RDONLY | O_CLOEXEC);
    if (home < 0 || there < 0 || setns(there, CLONE_NEWNET))
        bench_fail("cannot enter %s", name);
    int fd = udp_bind(text, &port);
    if (setns(home, CLONE_NEWNET))
        bench_fail("cannot leave %s", name);
    close(home);
    close(there);
    return fd;
}

struct kernel_path *kernel_namespaces(unsigned links, char *why, size_t why_size)
{
    struct kernel_path *path = calloc(1, sizeof *path);
    char last[32];
    if (!path)
        bench_fail("not enough memory");
    snprintf(path->name, sizeof path->name, "weft-bench-%d-", (int)getpid());
    bool made = geteuid() == 0;
    for (unsigned i = 0; made && i <= links; i++)
        made = namespace_add(path, i);
    for (unsigned i = 0; made && i <= links; i++)
        made = namespace_route(path, i, links);
    if (!made) {
        snprintf(why, why_size, "%s",
                 geteuid() ? "network namespaces need root" : "`ip netns` does not work here");
        namespaces_remove(path);
        free(path);
        return NULL;
    }
    snprintf(last, sizeof last, "10.77.%u.2", links);
    path->fd = namespace_socket(path, 0, "10.77.1.1", 7000);
    path_start(path, namespace_socket(path, links, last, 7000), last, 7000);
    return path;
}

/* ---- */

double kernel_trip(struct kernel_path *path, unsigned turns)
{
    static double times[TURNS_MAX];
    struct bench clock = {0};
    uint8_t bytes[SIZE] = {0};
    kill(path->pid, SIGCONT);
    for (unsigned i = 0; i < turns; i++) {
        double begin = bench_seconds(&clock), sent = begin;
        (void)!send(path->fd, bytes, sizeof bytes, 0);
        while (recv(path->fd, bytes, sizeof bytes, MSG_DONTWAIT) < 0)
            if (bench_seconds(&clock) - sent >
                1) { /* lost: happens to the first ones while addresses are resolved */
                (void)!send(path->fd, bytes, sizeof bytes, 0);
                sent = bench_seconds(&clock);
            }
        times[i] = (bench_seconds(&clock) - begin) * 1e6;
    }
    kill(path->pid, SIGSTOP);
    return bench_median(times, (int)turns);
}

void kernel_close(struct kernel_path *path)
{
    kill(path->pid, SIGKILL);
    waitpid(path->pid, NULL, 0);
    close(path->fd);
    namespaces_remove(path);
    free(path);
}
