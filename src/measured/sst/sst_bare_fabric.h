#pragma once
/* bare_fabric: reads and writes over libfabric. */

#include "measured/crowd.h"
#include "measured/sst/sst_bare_kind.h"

/* Run by both processes; node 0 is the process with index 0. */
void bare_fabric_operate(struct crowd *crowd, const struct bare_job *job, struct bare_board *board);
void bare_fabric_trips(struct crowd *crowd, const struct bare_job *job, struct bare_board *board,
                       struct trip_log *log);
