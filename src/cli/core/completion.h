#pragma once
/* completion: the table of commands as scripts for the shells, so that Tab
 * knows every command, option and kind of value.
 *
 * What a value may be is read off its placeholder in the table: lower-case
 * words with bars between them (svg|dot) are the choices, and with |FILE at
 * their end a file is as good; DIR is a folder, a name with FILE in it a file,
 * one with SPEC in it also the start of a topology's words, FIGURE an entry of
 * `weft paper list`. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

/* "bash", "zsh" or "fish"; false for any other. */
bool completion_script(struct text *out, const struct command_table *table, const char *shell);
