#pragma once
/* manual: manual pages from the table of commands, so that a page cannot name an
 * option that does not exist. weft(1) is the overview and explains the commands of
 * one word; each group has its own page, such as weft-topo(1). */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

/* Writes the page in roff; `group` is "" for weft(1). Returns false if there is no such group. */
bool manual_page(struct text *out, const struct command_table *table, const char *group);
