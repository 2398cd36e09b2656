#pragma once
/* bench: loads the links and counts the packets that arrive. bench_wire.h has its requests.
 *
 * BENCH_SATURATE keeps links busy by polling: a packet is made when a link has room for it, so that
 * no link is idle and no packet waits. The other modes send at a given rate, through the ordinary
 * queue; packets that the queue does not accept are counted as refused. The n-th packet of a run is
 * sent at a moment that depends only on n and the rate, to the nanosecond; a late timer sends all
 * packets that are due. Runs of different servers begin at a random point of the first interval.
 *
 * Packets are hollow: only a few bytes of their payload are in memory. */

#include "services/bench/bench_wire.h"

extern const struct weft_service service_bench;
