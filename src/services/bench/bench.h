#pragma once
/* bench: loads the links and counts what arrives. See bench_wire.h for what it can be asked.
 *
 * BENCH_SATURATE keeps links busy by being polled: a packet is made when a link has room for it, so
 * that no link idles and nothing waits. The other modes send at a rate by the clock, through the
 * ordinary queue, and what that does not take is counted as refused. The n-th packet of a run is
 * sent at a moment that depends on n and the rate alone, to the nanosecond; a late timer sends what
 * it missed. Runs of different servers begin at a random part of the first interval.
 *
 * Packets are hollow: of their payload a few bytes are in memory. */

#include "services/bench/bench_wire.h"

extern const struct weft_service service_bench;
