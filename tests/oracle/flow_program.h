#pragma once
/* flow_program: maximum concurrent flow as the linear program of textbooks, for CLP: an oracle that
 * shares nothing with the solver.
 *
 * Variables: per source and channel, the flow of that source on the channel; last, the throughput
 * t. Rows: per source and node, what arrives minus what leaves is t times the demand (the source's
 * own row is left out, because it follows from the others); per channel, the sum of all flows is at
 * most 1. */

#include "routing/paths/path_set.h"
#include "routing/traffic/traffic.h"
#include "topology/graph.h"

/* The exact optimum; NaN if CLP fails. */
double flow_program_solve(const struct graph *graph, const struct traffic *traffic);

/* The same if demand i may only use its paths of a set. */
double flow_program_solve_paths(const struct graph *graph, const struct traffic *traffic,
                                const struct path_set *paths);
