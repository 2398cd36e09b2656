#pragma once
/* chaos_load: the services that load a simulated cluster.
 *
 *   load    sends numbered packets to random keys and servers, some through a stop;
 *           answers some, intercepts some on their way, holds a few back for a while.
 *           It also records whether the node calls it as weft/service.h says
 *   press   three services of different weights that saturate a port for a given time
 *
 * Requests (node_local) with the orders below control them. Each is an ordinary service. */

#include <weft/service.h>

#include "node/node.h"
#include "sim/checkers/checker.h"

#define CHAOS_LOAD        CHECKER_LOAD_FIRST /* service ids */
#define CHAOS_PRESS       (CHAOS_LOAD + 1)
#define CHAOS_PRESS_COUNT (CHECKER_LOAD_LAST - CHAOS_LOAD)

struct chaos_load_order {
    int64_t interval_nsec; /* between two bursts, on average; 0: stop */
};

/* A question of a local program: for up to that many keys of which the server is root by
 * weft_is_root, the service answers with the key. */
struct chaos_load_question {
    uint32_t keys;
};

struct chaos_press_order {
    uint32_t port;
    uint32_t size;       /* of a packet's payload */
    int64_t length_nsec; /* from now */
};

extern const struct weft_service chaos_load_service;
extern const struct weft_service chaos_press_services[CHAOS_PRESS_COUNT];

/* Counters of one server's load, and what it observed (struct checker_observed). */
struct chaos_load_counts {
    uint64_t made, refused, got, answered, relayed, picked, held, damaged;
    uint64_t peers, peers_repeated, passes_wrong, misdelivered, timers_early;
};
