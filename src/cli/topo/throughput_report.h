#pragma once
/* throughput_report: what measure_throughput found out, as lines of the report
 * of `weft topo measure` and as fields of its JSON object. */

#include "base/json.h"
#include "base/text.h"
#include "cli/topo/measure_throughput.h"
#include "topology/topology.h"

/* Keys that are null, and named as not measured, unless asked for. */
extern const char *const throughput_keys[];
extern const char *const capacity_keys[];

void throughput_report_json(struct json *json, const struct throughput *found,
                            const struct topology *topology);

/* Lines whose labels are as wide as the others' of the report. */
void throughput_report_text(struct text *out, const struct throughput *found,
                            const struct topology *topology);
