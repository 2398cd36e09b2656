#pragma once
/* history_search: tries all orders of the operations of a key (Wing and Gong 1993), and remembers
 * which sets of operations in which state led nowhere (Lowe 2017). It knows nothing of
 * history_check but what one operation does (history_model.h), and is the oracle of its tests.
 *
 * It takes exponential time. Keys with more than 64 operations, and those that need more than about
 * a million states, are undecided. */

#include "services/store/history/history.h"

#define HISTORY_SEARCH_OPS_MAX 64

enum history_verdict history_search(const struct history *history, struct history_finding *finding);
