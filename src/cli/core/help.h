#pragma once
/* help: the table of commands as text for a terminal. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

void help_overview(struct text *out, const struct command_table *table);

/* The command of this name, or the group's, as one JSON object; "" is all.
 * False if there is none. */
bool help_json(struct text *out, const struct command_table *table, const char *name);
void help_command(struct text *out, const struct command *command);

/* All commands whose first word this is, a line each; false if there is none. */
bool help_group(struct text *out, const struct command_table *table, const char *word);
bool help_is_group(const struct command_table *table, const char *word);
