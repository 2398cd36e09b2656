#pragma once
/* manual: the table of commands as manual pages, so that a page cannot name
 * an option that is not there. weft(1) is the overview and explains the
 * commands of one word; each group has a page of its own, weft-topo(1). */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

/* The page in roff; `group` is "" for weft(1). False if there is no such. */
bool manual_page(struct text *out, const struct command_table *table, const char *group);
