#pragma once
/* ripc_waits: what waiting costs on this machine. The thresholds of
 * transport/wake/wait.h follow from it: polling is worth about as long as blocking
 * and being woken would take, yielding while it costs little. */

#include "bench.h"

void waits_run(struct bench *bench);
