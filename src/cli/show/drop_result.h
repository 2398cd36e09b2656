#pragma once
/* drop_result: dropped packets by reason, as part of a result. */

#include "cli/core/result.h"
#include "node/node.h"

/* Adds an object with a count for every reason and, for the page, the list `drops_shown` of the
 * reasons whose count is not 0, with `count` and `reason`. */
void drop_result(struct result *result, const char *key, const uint64_t drops[DROP_COUNT]);
