#pragma once
/* drop_result: packets that were dropped, by reason, in a result. */

#include "cli/core/result.h"
#include "node/node.h"

/* An object with a count for every reason; and, for the page, the list `drops_shown` of those that
 * are not 0, with `count` and `reason` of each. */
void drop_result(struct result *result, const char *key, const uint64_t drops[DROP_COUNT]);
