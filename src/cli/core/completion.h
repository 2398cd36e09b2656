#pragma once
/* completion: scripts for shells that complete all commands, options and kinds of
 * values of the table of commands.
 *
 * The placeholder of a value in the table tells what the value may be: words in
 * lower case separated by bars (svg|dot) are the choices, with |FILE at the end
 * also a file; DIR is a folder; a placeholder that contains FILE is a file, one
 * that contains SPEC also the beginning of a topology; FIGURE is an entry of
 * `weft paper list`. */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

/* Writes the script for "bash", "zsh" or "fish"; returns false for any other. */
bool completion_script(struct text *out, const struct command_table *table, const char *shell);
