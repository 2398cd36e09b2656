#pragma once
/* host_scene: what tests of hosts share: a folder in shared memory, a plan, and hosts that run some
 * of the plan's servers. The only thread of the test steps all hosts. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/test.h"
#include "os/cable/cable.h"
#include "os/host/host.h"

#define SCENE_HOSTS   4
#define SCENE_SERVERS 32
#define SCENE_NSEC    (120 * NSEC_PER_SEC) /* a test that waits for this long has failed */

struct scene {
    char folder[64];
    struct topology topology;
    struct plan plan;
    struct host *hosts[SCENE_HOSTS]; /* NULL: none */
    struct host_config config;       /* what all hosts have in common */
};

static inline void scene_open(struct scene *scene, const char *spec,
                              const struct weft_service *const *services)
{
    struct why why;
    *scene = (struct scene){0};
    snprintf(scene->folder, sizeof scene->folder, "/dev/shm/weft-host-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    assert_int_equal(topology_build(&scene->topology, spec, &why), OK);
    assert_int_equal(plan_init(&scene->plan, &scene->topology, &why), OK);
    scene->config = (struct host_config){
        .plan = &scene->plan,
        .folder = scene->folder,
        .links = scene->folder,
        .transport = cables_transport("shm"),
        .address = "127.0.0.1",
        .services = services,
        .spin = -1,
        .yield = -1,
    };
}

/* Opens a host of the servers whose bits are set. */
static inline struct host *scene_host(struct scene *scene, uint32_t servers)
{
    node_id ids[SCENE_SERVERS];
    uint64_t lives[SCENE_SERVERS];
    struct host_config config = scene->config;
    config.servers = ids;
    config.lives = lives;
    for (; servers; servers &= servers - 1) {
        ids[config.server_count] = (node_id)__builtin_ctz(servers);
        lives[config.server_count++] = (uint64_t)clock_wall();
    }
    struct host *host = NULL;
    struct why why = {0};
    if (host_open(&host, &config, &why))
        fail_msg("%s", why.text);
    return host;
}

static inline void scene_step(struct scene *scene)
{
    static const volatile sig_atomic_t never = 0;
    for (unsigned i = 0; i < SCENE_HOSTS; i++)
        if (scene->hosts[i])
            host_run(scene->hosts[i], &never, clock_after(50 * 1000));
}

/* Returns whether the server, which is in this host, is settled and reaches that many servers,
 * including itself. */
static inline bool scene_reaches(struct scene *scene, unsigned host, node_id server, uint32_t count)
{
    struct node_snapshot snapshot;
    node_snapshot(host_node(scene->hosts[host], server), &snapshot);
    return snapshot.settled && snapshot.reachable == count;
}

#define scene_until(scene, condition)                                                              \
    do {                                                                                           \
        for (nsec scene_end_ = clock_after(SCENE_NSEC); !(condition);) {                           \
            if (clock_now() > scene_end_)                                                          \
                fail_msg("still false at the deadline: " #condition);                              \
            scene_step(scene);                                                                     \
        }                                                                                          \
    } while (0)

static inline void scene_close_host(struct scene *scene, unsigned host)
{
    host_close(scene->hosts[host]);
    scene->hosts[host] = NULL;
}

/* Fails if anything is left in the folder. */
static inline void scene_close(struct scene *scene)
{
    for (unsigned i = 0; i < SCENE_HOSTS; i++)
        scene_close_host(scene, i);
    plan_fini(&scene->plan);
    topology_fini(&scene->topology);
    assert_int_equal(rmdir(scene->folder), 0);
}
