#pragma once
/* route_start: shared by algorithms in which all packets start in the same state. */

#include "routing/route.h"

/* `start_count` and `start` of an algorithm in which all packets start in the zeroed state. */
uint32_t route_one_start(const struct router *router, uint32_t from, uint32_t to);
double route_only_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                        struct route_state *state);
