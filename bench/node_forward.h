#pragma once
/* node_forward: what a node forwards between two shared-memory links on one core. */

#include "bench.h"

void forward_run(struct bench *bench);
