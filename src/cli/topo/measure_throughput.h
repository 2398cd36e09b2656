#pragma once
/* measure_throughput: the part of `weft topo measure` for --throughput and
 * related options: computes a flow with its certificate, verifies a certificate
 * from a file, computes a bound without a flow, or finds the servers at full
 * capacity. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/core/call.h"
#include "flow/concurrent/certificate.h"
#include "flow/concurrent/full_capacity.h"
#include "flow/matching/longest.h"
#include "topology/measure/distance.h"
#include "topology/topology.h"

enum throughput_mode {
    THROUGHPUT_NONE,
    THROUGHPUT_SOLVE,    /* --throughput */
    THROUGHPUT_VERIFY,   /* --flow --verify, of an existing file */
    THROUGHPUT_BOUND,    /* --bound */
    THROUGHPUT_CAPACITY, /* --full-capacity */
};

/* What the options ask for; strings are borrowed from the call. */
struct throughput_plan {
    enum throughput_mode mode;
    const char *traffic; /* a pattern's name or a file; NULL: what the flow file says */
    double gap;
    enum certificate_routing routing;
    uint32_t ways;
    const char *flow;
    bool verify;
    uint64_t seed;
    uint32_t threads;
};

/* Reads the options; refuses those that cannot be combined. */
MUST_CHECK enum err throughput_plan_read(struct throughput_plan *plan, const struct call *call,
                                         struct why *why);

/* The result. */
struct throughput {
    struct throughput_plan plan;
    struct certificate_about about; /* traffic, routing, ways and seed, also of a file */
    const char *traffic_file;       /* borrowed; the file with the demands, or NULL */
    double lower;                   /* NaN if only a bound was asked for */
    double upper;
    uint64_t phases; /* of a flow that was computed here */
    uint64_t demands;
    double demand_total;
    double local;
    bool verified;
    double load_max;                  /* of the busiest channel, if verified */
    struct longest_matching matching; /* if that is the traffic */
    struct full_capacity capacity;    /* owned */
};

void throughput_fini(struct throughput *found);

/* Carries out the plan. `spec` is the topology as the user wrote it; `failed`
 * tells whether links or nodes were removed; `tally` has the distances of all
 * servers. */
MUST_CHECK enum err throughput_measure(struct throughput *found, const struct throughput_plan *plan,
                                       const struct topology *topology, const char *spec,
                                       bool failed, const struct distance_tally *tally,
                                       struct why *why);
