#pragma once
/* program: what other parts of weft need besides the calls of weft/weft.h. */

#include <weft/weft.h>

#include "transport/clock.h"

/* As weft_attach, until the deadline. */
int program_attach(const char *dir, uint32_t server, unsigned flags, nsec deadline,
                   struct weft_attachment **attachment);
