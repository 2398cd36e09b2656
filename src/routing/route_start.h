#pragma once
/* route_start: what algorithms whose packets all start alike share. */

#include "routing/route.h"

/* `start_count` and `start` of an algorithm whose packets all start alike, in
 * the zeroed state. */
uint32_t route_one_start(const struct router *router, uint32_t from, uint32_t to);
double route_only_start(const struct router *router, uint32_t from, uint32_t to, uint32_t index,
                        struct route_state *state);
