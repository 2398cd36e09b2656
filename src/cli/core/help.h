#pragma once
/* help: the help texts of the commands for a terminal. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

void help_overview(struct text *out, const struct command_table *table);

/* Prints the command or the group of this name as one JSON object; "" is all
 * commands. Returns false if there is none. */
bool help_json(struct text *out, const struct command_table *table, const char *name);
void help_command(struct text *out, const struct command *command);

/* Prints a line for each command of the group. Returns false if there is none. */
bool help_group(struct text *out, const struct command_table *table, const char *word);
bool help_is_group(const struct command_table *table, const char *word);
