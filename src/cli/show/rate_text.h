#pragma once
/* rate_text: reads the rate of a link. */

#include <stdint.h>

#include "base/err.h"

/* Reads the value of --rate: "1Gbps", "250M", "64000" are bits a second. */
MUST_CHECK enum err rate_text_parse(const char *text, uint64_t *rate, struct why *why);
