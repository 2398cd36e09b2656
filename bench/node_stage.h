#pragma once
/* node_stage: shared by the programs of bench/node.c: a chain of servers, hosted by processes on
 * this machine, in their own run directory. */

#include "bench.h"
#include "node/plan.h"
#include "os/host/host.h"

#define STAGE_SERVERS_MAX   8
#define STAGE_PROCESSES_MAX 8

struct node_stage {
    char folder[64];
    struct topology topology;
    struct plan plan;
    pid_t pids[STAGE_PROCESSES_MAX];
    unsigned pid_count;
    uint64_t life;
};

/* Makes a chain of that many servers: 0 - 1 - 2 ... */
void stage_open(struct node_stage *stage, uint32_t servers);
void stage_close(struct node_stage *stage); /* also ends its processes */

/* Opens a host of some servers (a bit each) in this process. */
struct host *stage_host(struct node_stage *stage, uint32_t servers,
                        const struct weft_service *service, nsec spin, nsec yield);
/* Like stage_host, in a separate process on that processor (-1: any), until the stage closes. */
void stage_spawn(struct node_stage *stage, uint32_t servers, const struct weft_service *service,
                 int processor, nsec spin, nsec yield);
/* Runs the host until server `from`, which it hosts, reaches `to` and has a settled link state. */
void stage_settle(struct host *host, node_id from, node_id to, uint32_t reachable);

/* Like stage_settle, and also runs another host of this thread. */
void stage_settle_with(struct host *host, struct host *other, node_id from, node_id to,
                       uint32_t reachable);

void stage_pause(const struct node_stage *stage, bool on); /* stops or continues its processes */
void stage_unpin(void);
/* Gives this process, and processes that it starts, priority over all ordinary ones. Returns false
 * if that is not permitted. */
bool stage_realtime(bool on);
double stage_cpu_seconds(pid_t pid); /* used by the process so far */
