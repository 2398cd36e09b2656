#pragma once
/* rules_report: the result of `weft route rules`, about tables that it made or read. */

#include "cli/core/call.h"
#include "routing/rules/rule_replay.h"
#include "routing/rules/rule_tables.h"
#include "routing/rules/rules.h"
#include "topology/topology.h"

struct rules_report {
    const char *name; /* the topology as the user wrote it; borrowed */
    const struct topology *topology;
    struct rules_order order;
    enum rules_encoding encoding;
    const char *file; /* read or written; borrowed; NULL if none */
    bool read;        /* the file was read */
    struct rule_counts counts;
    uint32_t labels; /* see struct rules; 0 if tables were read */
    struct rule_replay replay;
};

/* "k-shortest", "ecmp" */
const char *rules_report_algorithm(const struct rules_report *report);

void rules_report(struct call *call, const struct rules_report *report);
