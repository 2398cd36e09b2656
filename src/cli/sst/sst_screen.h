#pragma once
/* sst_screen: where a live table is shown: drawn over itself on a terminal, one after the
 * other elsewhere. Colours are for terminals, and for those who do not set NO_COLOR. */

#include <stdbool.h>
#include <stdint.h>

#include "cli/core/call.h"
#include "cli/show/table_text.h"

struct sst_screen {
    bool live; /* a terminal whose cursor can be moved */
    bool colour;
    uint32_t drawn; /* lines that the next frame replaces */
    uint64_t frames;
};

struct sst_screen sst_screen_make(void);

/* As wide as the terminal is now. */
struct table_text_style sst_screen_style(const struct sst_screen *screen);

/* Shows lines in place of those shown last. */
MUST_CHECK enum err sst_screen_show(struct sst_screen *screen, struct call *call,
                                    const struct text *lines, struct why *why);

/* Whatever follows stands below what is shown. */
void sst_screen_leave(struct sst_screen *screen);
