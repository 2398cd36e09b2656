#pragma once
/* verdict: from two numbers to one word. */

#include "paper/figure.h"

/* Compares `found` with the paper's number under the claim's relation and
 * tolerance. A found that is not a number was not reproduced. */
enum verdict verdict_of(const struct figure_claim *claim);

/* "agrees", "differs", "cannot be reproduced". */
const char *verdict_text(enum verdict verdict);

/* "equal", "above", "below", "at_most", "between". */
const char *relation_text(enum relation relation);
