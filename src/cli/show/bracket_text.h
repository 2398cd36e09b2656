#pragma once
/* bracket_text: two proved bounds as text that is still correct: the lower bound
 * is rounded down, the upper one up. */

#include "base/text.h"

/* Prints "0.7312 to 0.738" with at least `digits` digits, and as many as are needed
 * to distinguish the two; prints one number if they differ by rounding only. */
void bracket_text(struct text *out, double lower, double upper, int digits);

/* Prints the upper bound only. */
void bracket_text_upper(struct text *out, double upper, int digits);
