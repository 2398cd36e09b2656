#pragma once
/* stream_way: a stream over three hops of a cluster of 27 processes, against raw packets on the
 * same way, in turn; alone, and while all other servers send streams, too. */

#include "bench.h"

void stream_way(struct bench *bench);
