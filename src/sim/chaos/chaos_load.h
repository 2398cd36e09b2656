#pragma once
/* chaos_load: the services that load a simulated cluster.
 *
 *   load    sends numbered packets to random keys and servers, some through a stop;
 *           answers some, intercepts some on their way, holds a few back for a while
 *   press   three services of different weights that saturate a port for a given time
 *
 * Requests (node_local) with the orders below control them. Each is an ordinary service. */

#include <weft/service.h>

#include "node/node.h"

#define CHAOS_LOAD        240 /* service ids */
#define CHAOS_PRESS       241
#define CHAOS_PRESS_COUNT 3

struct chaos_load_order {
    int64_t interval_nsec; /* between two bursts, on average; 0: stop */
};

struct chaos_press_order {
    uint32_t port;
    uint32_t size;       /* of a packet's payload */
    int64_t length_nsec; /* from now */
};

extern const struct weft_service chaos_load_service;
extern const struct weft_service chaos_press_services[CHAOS_PRESS_COUNT];

/* Counters of one server's load. */
struct chaos_load_counts {
    uint64_t made, refused, got, answered, relayed, picked, held, damaged;
};
