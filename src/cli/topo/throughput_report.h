#pragma once
/* throughput_report: what measure_throughput found out, as part of the result of
 * `weft topo measure`, whose page is in measure_report.c. */

#include "cli/core/result.h"
#include "cli/topo/measure_throughput.h"
#include "topology/topology.h"

/* Keys that are null, and named as not measured, unless asked for. */
extern const char *const throughput_keys[];
extern const char *const capacity_keys[];

/* The solver ended before the bracket was as narrow as --gap asks, or left a step undecided. */
bool throughput_gap_missed(const struct throughput *found);

void throughput_report(struct result *result, const struct throughput *found,
                       const struct topology *topology);
