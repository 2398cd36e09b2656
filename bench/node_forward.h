#pragma once
/* node_forward: how much a node forwards between two shared-memory links on one core. */

#include "bench.h"

void forward_run(struct bench *bench);
