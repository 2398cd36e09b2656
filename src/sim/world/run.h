#pragma once
/* run: a service on a simulated cluster under a load, from the first packet to a table of results.
 *
 * The load is what local programs ask of their servers: they start bench or ping, or put one
 * request after the other to any service. A run is a function of its settings alone. */

#include "sim/world/latency.h"
#include "sim/world/world.h"

enum run_load {
    RUN_NOTHING,
    RUN_KEYS,     /* bench: packets to random keys */
    RUN_SERVERS,  /* bench: to random servers */
    RUN_LINKS,    /* bench: to neighbours, as much as links take */
    RUN_PINGS,    /* ping: each server another, over and over */
    RUN_REQUESTS, /* a text to the service, again and again */
};

#define RUN_REQUEST_MAX 512
#define RUN_ANSWER_MAX  80
#define RUN_NUMBERS_MAX 256

struct run_settings {
    const struct plan *plan;
    const struct weft_service *const *services; /* ends with NULL */
    struct sim_link_settings link;
    uint64_t seed;
    bool boot; /* it starts from nothing, and the load waits until all have found each other */
    psec length;
    enum run_load load;
    double rate;         /* packets, pings or requests a second of each server */
    uint32_t size;       /* of a payload */
    uint16_t service;    /* RUN_REQUESTS: who is asked */
    const char *request; /* RUN_REQUESTS; each # becomes a random number below 1,000 */
    const struct observer *observer;
};

struct run_number {
    const char *service, *name; /* constants of the services */
    uint64_t value;             /* of all servers */
};

struct run_result {
    psec booted; /* when all had found each other; 0: they began so */
    psec length; /* of the load */
    uint64_t sent, delivered, intercepted, drops[DROP_COUNT];
    uint64_t asked, refused, answered; /* RUN_PINGS, RUN_REQUESTS */
    struct latency one_way;            /* from send to delivery */
    struct latency round;              /* from request to answer, or of pings */
    char answer[RUN_ANSWER_MAX];       /* the first, of RUN_REQUESTS; "" */
    uint32_t answer_size;
    struct world_counts counts;   /* of the load alone */
    struct sim_link_counts links; /* of the load alone */
    double busy_mean, busy_most;  /* share of the links' time; 0 where they take none */
    struct run_number numbers[RUN_NUMBERS_MAX];
    unsigned number_count;
    uint64_t hash;
    size_t memory;
};

/* A refusal of a service is ERR_USAGE; servers that do not find each other are ERR_SYSTEM. */
MUST_CHECK enum err run_scenario(const struct run_settings *settings, struct run_result *result,
                                 struct why *why);
