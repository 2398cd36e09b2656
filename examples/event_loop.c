/* event_loop: a service inside an epoll loop, together with a timer.
 *
 * A service has a descriptor that becomes readable when there is something to receive, once it is
 * armed. The order matters: receive everything, arm, and sleep only if arming returns 0. If a
 * message came after the last receive, arming fails.
 *
 *     cc -o event_loop event_loop.c $(pkg-config --cflags --libs weft)
 *     ./event_loop */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define COLLECTOR_ID  1006
#define REPORT_COUNT  100
#define PERIOD_NSEC   10000000
#define BURST         16
#define PATIENCE_MSEC 10000
#define DEADLINE      ripc_after(10000000000)

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

/* The same for system calls. */
static int must_system(const char *what, int result)
{
    return (int)must(what, result < 0 ? -errno : result);
}

static void reporter_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_event event = {0};
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, 0, 0, &service));
    must("watch", ripc_watch(service, COLLECTOR_ID));
    while (event.kind != RIPC_UP)
        must("wait for the collector", ripc_poll(service, &event, 1, DEADLINE));
    for (uint64_t i = 0; i < REPORT_COUNT; i++)
        must("send", ripc_send(service, COLLECTOR_ID, &i, sizeof i, DEADLINE));
    ripc_close(ripc, DEADLINE);
}

/* Receives everything that has arrived, and arms the descriptor. */
static uint64_t collect(struct ripc_service *service)
{
    struct ripc_message messages[BURST];
    uint64_t taken = 0;
    int armed;
    do {
        int count;
        while ((count = ripc_receive(service, messages, BURST, RIPC_NOW)) > 0) {
            for (int i = 0; i < count; i++)
                ripc_release(&messages[i]);
            taken += (uint64_t)count;
        }
        if (count != -EAGAIN)
            must("receive", count);
        armed = ripc_arm(service); /* -EAGAIN: something came after the last receive */
    } while (armed == -EAGAIN);
    must("arm", armed);
    return taken;
}

static int watched_add(int loop, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    return epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event);
}

static void collector_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, COLLECTOR_ID, 0, &service));

    struct itimerspec period = {{0, PERIOD_NSEC}, {0, PERIOD_NSEC}};
    int loop = must_system("epoll", epoll_create1(EPOLL_CLOEXEC));
    int timer = must_system("timer", timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
    int mail = (int)must("descriptor", ripc_fd(service)); /* belongs to the service: do not close
                                                           * it */
    must_system("timer", timerfd_settime(timer, 0, &period, NULL));
    must_system("epoll", watched_add(loop, timer));
    must_system("epoll", watched_add(loop, mail));

    uint64_t ticks = 0, reports = collect(service); /* armed from here on */
    while (reports < REPORT_COUNT) {
        struct epoll_event events[2];
        int count = must_system("epoll", epoll_wait(loop, events, 2, PATIENCE_MSEC));
        if (count == 0) {
            fprintf(stderr, "collector: no message and no timer for 10 s\n");
            exit(EXIT_FAILURE);
        }
        for (int i = 0; i < count; i++) {
            uint64_t expired;
            if (events[i].data.fd == mail)
                reports += collect(service);
            else if (read(timer, &expired, sizeof expired) == sizeof expired)
                ticks += expired;
        }
    }
    printf("collector: %" PRIu64 " reports, and the timer %s\n", reports,
           ticks ? "ticked meanwhile" : "had no time to tick");
    close(timer);
    close(loop);
    ripc_close(ripc, DEADLINE);
}

int main(void)
{
    pid_t child = fork(); /* before any context is open: a child must not use its parent's
                           * contexts */
    if (child < 0) {
        perror("fork");
        return EXIT_FAILURE;
    }
    if (child == 0) {
        reporter_run();
        return EXIT_SUCCESS;
    }
    int status;
    collector_run();
    return waitpid(child, &status, 0) == child && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
