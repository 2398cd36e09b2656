#pragma once
/* load_report: the result of `weft route load` and `weft route worst`, and the
 * capacity that both compare it with. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/call.h"
#include "flow/worst/capacity.h"
#include "flow/worst/worst.h"
#include "routing/load/load.h"
#include "routing/route.h"

struct load_report {
    const char *name;            /* of the network; borrowed, as the user wrote it */
    const struct router *router; /* borrowed */
    const char *traffic;         /* its name; borrowed */
    bool from_file;              /* the traffic is a file, and throughput is a factor */
    struct load load;            /* owned */
    bool has_capacity;
    struct capacity capacity;
    bool channels;    /* list all channels */
    bool is_worst;    /* `worst` and `permutation` are set */
    bool permutation; /* list the whole permutation */
    struct worst worst;
};

/* Computes the load and the traffic of the report, and `worst` for a worst case. */
typedef enum err load_report_find(struct load_report *report, const struct call *call,
                                  struct why *why);

/* The option of load_report_run. */
#define LOAD_REPORT_OPTION                                                                         \
    {                                                                                              \
        "gap", "SHARE", "relative gap of the bounds of the capacity (default 0.001)"               \
    }

/* Runs the whole command: opens network and algorithm, calls `find`, compares with the capacity,
 * and makes the result. --gap sets how closely the capacity is computed. For a large network it is
 * computed only if --gap is given. */
MUST_CHECK enum err load_report_run(struct call *call, load_report_find *find, struct why *why);
