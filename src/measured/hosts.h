#pragma once
/* hosts: a cluster of real processes that lives for one measurement. Each process hosts some of the
 * servers of a topology as weftd does (os/host/host.h); one more asks their services and counts.
 * What it finds out it leaves in memory of crowd_memory.
 *
 * Whatever happens, no process and no file is left (crowd.h). */

#include "measured/crowd.h"
#include "node/plan.h"

struct hosts;

struct hosts_plan {
    const char *name;       /* for errors */
    const char *spec;       /* of the topology */
    uint32_t process_count; /* servers are dealt to them in blocks; at most CROWD_MAX - 1 */
    const char *transport;  /* between processes: "shm", "udp" */
    uint64_t rate;          /* bits a second of each direction of a link; 0: as fast as it goes */
    bool separate;          /* one packet a frame */
    bool polling;           /* never sleeps; only with a core for each process, which they get */
    bool sleeping;          /* sleeps as soon as there is nothing to do */
    void (*run)(struct hosts *hosts, const void *argument); /* by the process that asks, when all
                                                             * servers reach each other */
    const void *argument;
};

MUST_CHECK enum err hosts_run(const struct hosts_plan *plan, struct why *why);

/* --- for the process that asks; it ends where it cannot go on --- */

const struct plan *hosts_wiring(const struct hosts *hosts);

/* One connection to each server lasts as long as the cluster: services see who has hung up. */
void hosts_tell(struct hosts *hosts, node_id server, uint16_t service, const void *bytes,
                size_t size);
/* The next answer of that server; returns its size. */
size_t hosts_hear(struct hosts *hosts, node_id server, void *bytes, size_t size, nsec deadline);

/* Processor time of all processes that host, so far, in seconds. */
double hosts_cpu(const struct hosts *hosts);

__attribute__((noreturn)) void hosts_fail(struct hosts *hosts, const char *what);
