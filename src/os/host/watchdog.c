#include "os/host/watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/cluster/cluster_file.h"
#include "transport/clock.h"
#include "transport/wake/thread.h"

#define LOOK_NSEC (NSEC_PER_SEC / 4)
/* A function hangs if so many looks find the same call. Looks are counted and not time: a process
 * that was stopped makes none meanwhile. */
#define LOOKS_STUCK 4
#define ENDING      "stuck"

struct watchdog {
    struct watchdog_config config;
    struct thread thread;
    pthread_mutex_t lock; /* protects `ends` */
    pthread_cond_t wake;
    bool ends;
};

/* ---- the file ---- */

static node_id number_of(const struct watchdog_server *server)
{
    return atomic_load_explicit(&server->server, memory_order_relaxed);
}

static void stuck_write(const struct watchdog *watchdog, const struct watchdog_server *server,
                        const char *service, const char *function)
{
    char path[CLUSTER_PATH_SIZE];
    cluster_path(path, watchdog->config.folder, number_of(server), ENDING);
    FILE *file = fopen(path, "we");
    if (!file)
        return; /* the log has it */
    fprintf(file, "%s %s %" PRId64 " %d\n", service, function, server->seen.since, (int)getpid());
    fclose(file);
}

static void stuck_remove(const struct watchdog *watchdog, const struct watchdog_server *server)
{
    char path[CLUSTER_PATH_SIZE];
    cluster_path(path, watchdog->config.folder, number_of(server), ENDING);
    unlink(path);
}

bool watchdog_read(const char *folder, node_id server, struct watchdog_stuck *stuck)
{
    char path[CLUSTER_PATH_SIZE];
    static_assert(SERVICE_NAME_MAX == 32, "the format below");
    cluster_path(path, folder, server, ENDING);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    int fields = fscanf(file, "%32[0-9A-Za-z-] %32[a-z_] %" SCNd64 " %d", stuck->service,
                        stuck->function, &stuck->since, &stuck->pid);
    fclose(file);
    return fields == 4 && stuck->pid > 0;
}

/* ---- the thread ---- */

static void say(const struct watchdog *watchdog, const struct watchdog_server *server,
                const char *text)
{
    if (watchdog->config.said)
        watchdog->config.said(watchdog->config.owner, number_of(server), text);
}

static void look_own(const struct watchdog *watchdog, struct watchdog_server *server)
{
    char text[200];
    uint64_t call = atomic_load_explicit(&server->pulse.call, memory_order_relaxed);
    const struct weft_service *service =
        atomic_load_explicit(&server->pulse.service, memory_order_relaxed);
    unsigned which = call & 0xff;
    if (call != server->seen.call || !which) {
        if (server->seen.told) {
            stuck_remove(watchdog, server);
            snprintf(text, sizeof text, "a function of a service has returned after %.1f s",
                     (double)(clock_wall() - server->seen.since) / 1e9);
            say(watchdog, server, text);
        }
        server->seen.call = call;
        server->seen.looks = 0;
        server->seen.told = false;
        server->seen.since = clock_wall();
        return;
    }
    if (++server->seen.looks < LOOKS_STUCK || server->seen.told || which >= CALLBACK_COUNT)
        return;
    server->seen.told = true;
    stuck_write(watchdog, server, service->name, node_callback_names[which]);
    snprintf(text, sizeof text, "service %s: %s() has not returned for %.1f s; the server hangs",
             service->name, node_callback_names[which],
             (double)(clock_wall() - server->seen.since) / 1e9);
    say(watchdog, server, text);
}

/* Is a silent neighbour on this machine blocked by a service? */
static void look_around(const struct watchdog *watchdog, struct watchdog_server *server)
{
    struct watchdog_stuck stuck;
    char text[200];
    port_set silent = atomic_load_explicit(&server->silent, memory_order_relaxed);
    server->seen.told_of &= silent;
    for (port_set left = silent & ~server->seen.told_of; left; left &= left - 1) {
        unsigned port = (unsigned)__builtin_ctz(left);
        node_id peer = plan_end(watchdog->config.plan, number_of(server), port)->server;
        if (!watchdog_read(watchdog->config.folder, peer, &stuck) || stuck.pid == getpid() ||
            kill(stuck.pid, 0))
            continue;
        server->seen.told_of |= (port_set)1 << port;
        snprintf(text, sizeof text,
                 "port %u to %u: silent, because service %s of server %u has not returned from "
                 "%s() for %.1f s",
                 port, peer, stuck.service, peer, stuck.function,
                 (double)(clock_wall() - stuck.since) / 1e9);
        say(watchdog, server, text);
    }
}

static bool nap(struct watchdog *watchdog)
{
    struct timespec until = clock_timespec(clock_after(LOOK_NSEC));
    pthread_mutex_lock(&watchdog->lock);
    if (!watchdog->ends)
        pthread_cond_clockwait(&watchdog->wake, &watchdog->lock, CLOCK_MONOTONIC, &until);
    bool ends = watchdog->ends;
    pthread_mutex_unlock(&watchdog->lock);
    return !ends;
}

static void *watchdog_run(void *argument)
{
    struct watchdog *watchdog = argument;
    while (nap(watchdog))
        for (uint32_t i = 0; i < watchdog->config.server_count; i++) {
            struct watchdog_server *server = &watchdog->config.servers[i];
            look_own(watchdog, server);
            if (atomic_load_explicit(&server->silent, memory_order_relaxed))
                look_around(watchdog, server);
        }
    return NULL;
}

enum err watchdog_start(struct watchdog **out, const struct watchdog_config *config,
                        struct why *why)
{
    struct watchdog *watchdog = calloc(1, sizeof *watchdog);
    if (!watchdog)
        return why_memory(why);
    watchdog->config = *config;
    for (uint32_t i = 0; i < config->server_count; i++) /* the last process may have been killed */
        if (number_of(&config->servers[i]) != NODE_NONE)
            stuck_remove(watchdog, &config->servers[i]);
    pthread_mutex_init(&watchdog->lock, NULL);
    pthread_cond_init(&watchdog->wake, NULL);
    int result = thread_start(&watchdog->thread, "weft-watchdog", watchdog_run, watchdog);
    if (result) {
        free(watchdog);
        return why_fail(why, ERR_SYSTEM, "cannot start a thread: %s",
                        strerror(result < 0 ? -result : result));
    }
    *out = watchdog;
    return OK;
}

void watchdog_stop(struct watchdog *watchdog)
{
    if (!watchdog)
        return;
    pthread_mutex_lock(&watchdog->lock);
    watchdog->ends = true;
    pthread_cond_signal(&watchdog->wake);
    pthread_mutex_unlock(&watchdog->lock);
    thread_join(&watchdog->thread);
    for (uint32_t i = 0; i < watchdog->config.server_count; i++)
        if (watchdog->config.servers[i].seen.told)
            stuck_remove(watchdog, &watchdog->config.servers[i]);
    pthread_cond_destroy(&watchdog->wake);
    pthread_mutex_destroy(&watchdog->lock);
    free(watchdog);
}
