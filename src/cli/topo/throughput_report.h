#pragma once
/* throughput_report: adds the result of measure_throughput to the result of
 * `weft topo measure`, whose page is in measure_report.c. */

#include "cli/core/result.h"
#include "cli/topo/measure_throughput.h"
#include "topology/topology.h"

/* Keys that are null, and listed as not measured, unless they are requested. */
extern const char *const throughput_keys[];
extern const char *const capacity_keys[];

/* Tells whether the bounds are further apart than --gap, or a step is undecided. */
bool throughput_gap_missed(const struct throughput *found);

void throughput_report(struct result *result, const struct throughput *found,
                       const struct topology *topology);
