#pragma once
/* load_report: what `weft route load` and `weft route worst` found out, as text
 * and as JSON, and the capacity both compare it with. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/call.h"
#include "flow/worst/capacity.h"
#include "flow/worst/worst.h"
#include "routing/load/load.h"
#include "routing/route.h"

struct load_report {
    const char *name;            /* of the network; borrowed, as the person gave it */
    const struct router *router; /* borrowed */
    const char *traffic;         /* its name; borrowed */
    bool from_file;              /* then throughput is a factor */
    struct load load;            /* owned */
    bool has_capacity;
    struct capacity capacity;
    bool channels;    /* list all of them */
    bool is_worst;    /* `worst` and `permutation` count */
    bool permutation; /* list all of it */
    struct worst worst;
};

/* Finds what the report is about: load, traffic, and worst where it is one. */
typedef enum err load_report_find(struct load_report *report, const struct call *call,
                                  struct why *why);

/* The option row of load_report_run. */
#define LOAD_REPORT_OPTION                                                                         \
    {                                                                                              \
        "gap", "SHARE", "how closely to find a capacity that no formula gives (default 0.001)"     \
    }

/* The whole command: opens network and algorithm, finds, compares with the capacity, --gap closely,
 * and makes the result. A network too large for a capacity has none unless --gap asks for it. */
MUST_CHECK enum err load_report_run(struct call *call, load_report_find *find, struct why *why);
