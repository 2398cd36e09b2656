#pragma once
/* verdict: whether the paper's number and ours agree, and the texts of verdicts. */

#include "paper/figure.h"

/* Compares `found` with the paper's number under the claim's relation and
 * tolerance. A claim without a `found` was not run or cannot be reproduced. */
enum verdict verdict_of(const struct figure_claim *claim);

/* "agrees", "differs", "not run at this size", "cannot be reproduced". */
const char *verdict_text(enum verdict verdict);

/* "equal", "above", "below", "at_most", "between". */
const char *relation_text(enum relation relation);
