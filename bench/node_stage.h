#pragma once
/* node_stage: what the programs of bench/node.c share: a chain of servers, hosted by processes on
 * this machine, in a run directory of their own. */

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

/* A chain of so many servers: 0 - 1 - 2 ... */
void stage_open(struct node_stage *stage, uint32_t servers);
void stage_close(struct node_stage *stage); /* ends its processes, too */

/* A host of some servers (a bit each) in this process. */
struct host *stage_host(struct node_stage *stage, uint32_t servers,
                        const struct weft_service *service, nsec spin, nsec yield);
/* The same in a process of its own, on that processor (-1: any), until the stage closes. */
void stage_spawn(struct node_stage *stage, uint32_t servers, const struct weft_service *service,
                 int processor, nsec spin, nsec yield);
/* Passes until `from`, which is here, reaches `to` and has a settled link state. */
void stage_settle(struct host *host, node_id from, node_id to, uint32_t reachable);

/* The same with another host of this thread that has to pass, too. */
void stage_settle_with(struct host *host, struct host *other, node_id from, node_id to,
                       uint32_t reachable);

void stage_pause(const struct node_stage *stage, bool on); /* its processes */
void stage_pin(int processor);
void stage_unpin(void);
/* This process, and what it starts from now on, before all ordinary ones; false: not allowed. */
bool stage_realtime(bool on);
double stage_cpu_seconds(pid_t pid); /* that the process has used */
