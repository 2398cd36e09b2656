#pragma once
/* run: runs a service on a simulated cluster under a load, and fills a table of results.
 *
 * Local programs of the servers make the load: they start bench or ping, or send one request after
 * the other to a service. A run is a function of its settings. */

#include "sim/world/latency.h"
#include "sim/world/simulation.h"
#include "sim/world/world.h"

enum run_load {
    RUN_NOTHING,
    RUN_KEYS,     /* bench: packets to random keys */
    RUN_SERVERS,  /* bench: to random servers */
    RUN_LINKS,    /* bench: to neighbours, as much as links carry */
    RUN_PINGS,    /* ping: each server pings one other, again and again */
    RUN_REQUESTS, /* a text sent to the service, again and again */
    RUN_CHECKER,  /* what a checker from outside does (weft/simulation.h) */
};

#define RUN_REQUEST_MAX 512
#define RUN_ANSWER_MAX  80
#define RUN_NUMBERS_MAX 256

struct run_settings {
    const struct plan *plan;
    const struct weft_service *const *services; /* ends with NULL */
    const struct configuration *configuration;  /* of the services; NULL: the defaults; borrowed */
    struct sim_link_settings link;
    uint64_t seed;
    bool boot; /* start from nothing; the load waits until all servers have found each other */
    psec length;
    enum run_load load;
    double rate;         /* packets, pings or requests per second and server */
    uint32_t size;       /* of a payload */
    uint16_t service;    /* RUN_REQUESTS: the receiver */
    const char *request; /* RUN_REQUESTS; each # becomes a random number below 1,000 */
    const struct observer *observer;
    const struct weft_checker *checker; /* RUN_CHECKER */
    struct simulation_record *record;   /* of its run; or NULL */
};

struct run_number {
    const char *service, *name; /* constants of the services */
    uint64_t value;             /* sum over all servers */
};

struct run_result {
    psec booted; /* when all servers had found each other; 0: they began so */
    psec length; /* of the load */
    uint64_t sent, delivered, intercepted, drops[DROP_COUNT];
    uint64_t asked, refused, answered; /* RUN_PINGS, RUN_REQUESTS */
    struct latency one_way;            /* from send to delivery */
    struct latency round;              /* from request to answer, or of pings */
    char answer[RUN_ANSWER_MAX];       /* RUN_REQUESTS: the first answer, or "" */
    uint32_t answer_size;
    struct world_counts counts;   /* of the load only */
    struct sim_link_counts links; /* of the load only */
    double busy_mean, busy_most;  /* share of the links' time; 0 where links take no time */
    struct run_number numbers[RUN_NUMBERS_MAX];
    unsigned number_count;
    uint64_t hash;
    size_t memory;
    bool failed; /* RUN_CHECKER: the checker says that something is wrong */
    struct simulation_failure failure;
};

/* A refusal by a service is ERR_USAGE; servers that do not find each other are ERR_SYSTEM. */
MUST_CHECK enum err run_scenario(const struct run_settings *settings, struct run_result *result,
                                 struct why *why);
