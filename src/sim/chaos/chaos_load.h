#pragma once
/* chaos_load: the services that give a simulated cluster something to do.
 *
 *   load    sends numbered packets to random keys and servers, some of them by way of a stop;
 *           answers some, takes some up on their way, holds a few back for a while
 *   press   three services of different weights that fill a port for as long as they are told
 *
 * They are told by node_local with the orders below. Each is an ordinary service. */

#include <weft/service.h>

#include "node/node.h"

#define CHAOS_LOAD        240 /* service ids */
#define CHAOS_PRESS       241
#define CHAOS_PRESS_COUNT 3

struct chaos_load_order {
    int64_t interval_nsec; /* between two bursts, on average; 0: no more */
};

struct chaos_press_order {
    uint32_t port;
    uint32_t size;       /* of a packet's payload */
    int64_t length_nsec; /* from now */
};

extern const struct weft_service chaos_load_service;
extern const struct weft_service chaos_press_services[CHAOS_PRESS_COUNT];

/* What one server's load has seen. */
struct chaos_load_counts {
    uint64_t made, refused, got, answered, relayed, picked, held, damaged;
};
