#pragma once
/* rate_text: how fast a link is, as people write it. */

#include <stdint.h>

#include "base/err.h"

/* "1Gbps", "250M", "64000": bits a second; the value of --rate. */
MUST_CHECK enum err rate_text_parse(const char *text, uint64_t *rate, struct why *why);
