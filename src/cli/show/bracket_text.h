#pragma once
/* bracket_text: two proved bounds as text that claims no more than they do:
 * the lower one is rounded down, the upper one up. */

#include "base/text.h"

/* "0.7312 to 0.738", with as many digits as distinguish them, `digits` at least;
 * one number if they differ by rounding only. */
void bracket_text(struct text *out, double lower, double upper, int digits);

/* The upper one alone. */
void bracket_text_upper(struct text *out, double upper, int digits);
