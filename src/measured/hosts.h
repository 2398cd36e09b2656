#pragma once
/* hosts: a cluster of real processes for one measurement. Each process hosts some of the servers of
 * a topology as weftd does (os/host/host.h). One more process, the asking process, sends requests
 * to their services and counts. It leaves its results in memory of crowd_memory.
 *
 * No process and no file remains, even if the measurement fails (crowd.h). */

#include "measured/crowd.h"
#include "node/plan.h"

struct hosts;

struct hosts_plan {
    const char *name;       /* for errors */
    const char *spec;       /* of the topology */
    uint32_t process_count; /* that share the servers in blocks; at most CROWD_MAX - 1 */
    const char *transport;  /* between processes: "shm", "udp" */
    uint64_t rate;          /* bits a second of each direction of a link; 0: no limit */
    bool separate;          /* one packet in each frame */
    bool polling;           /* never sleep; needs a core for each process, to which it is bound */
    bool sleeping;          /* sleep as soon as there is nothing to do */
    void (*run)(struct hosts *hosts, const void *argument); /* called by the asking process when
                                                             * all servers reach each other */
    const void *argument;
};

MUST_CHECK enum err hosts_run(const struct hosts_plan *plan, struct why *why);

/* --- for the asking process; these calls end it if they fail --- */

const struct plan *hosts_wiring(const struct hosts *hosts);

/* Sends a request. The connection to each server stays open for the whole measurement, because
 * services notice when a client disconnects. */
void hosts_tell(struct hosts *hosts, node_id server, uint16_t service, const void *bytes,
                size_t size);
/* Waits for the next answer of that server. Returns its size. */
size_t hosts_hear(struct hosts *hosts, node_id server, void *bytes, size_t size, uint32_t seconds);
/* Waits until all servers reach each other, as they do when the measurement begins. */
void hosts_await(struct hosts *hosts);

/* Returns the processor time of all hosting processes so far, in seconds. */
double hosts_cpu(const struct hosts *hosts);

__attribute__((noreturn)) void hosts_fail(struct hosts *hosts, const char *what);
