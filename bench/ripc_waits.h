#pragma once
/* ripc_waits: the cost of waiting on this machine. The thresholds of transport/wake/wait.h follow
 * from it: polling is worthwhile for about as long as blocking and a wake-up would take, yielding
 * while it costs little. */

#include "bench.h"

void waits_run(struct bench *bench);
