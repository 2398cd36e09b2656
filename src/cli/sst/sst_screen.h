#pragma once
/* sst_screen: shows pictures of a table: each over the last one on a terminal, one after the
 * other elsewhere. Colours are used on terminals unless NO_COLOR is set. */

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

/* Returns a style with the current width of the terminal. */
struct table_text_style sst_screen_style(const struct sst_screen *screen);

/* Shows lines in place of the last ones. */
MUST_CHECK enum err sst_screen_show(struct sst_screen *screen, struct call *call,
                                    const struct text *lines, struct why *why);

/* Keeps the lines that are shown; later output follows below. */
void sst_screen_leave(struct sst_screen *screen);
