#pragma once
/* completion: scripts by which shells complete the commands, options and values of the table of
 * commands.
 *
 * The placeholder of a value in the table says what the value may be:
 *   svg|dot       one of these words; svg|dot|FILE: one of them, or a file
 *   SPEC or PLAN  a file, or the beginning of a topology
 *   FILE          a file
 *   DIR           a folder
 *   FIGURE        an entry of `weft paper list`
 *   NAME          an algorithm of routing
 * SPEC, PLAN, FILE, DIR and FIGURE may also be a part of the placeholder (SPEC|FILE). */

#include <stdbool.h>

#include "base/text.h"
#include "cli/core/command.h"

/* Writes the script for "bash", "zsh" or "fish"; returns false for any other. */
bool completion_script(struct text *out, const struct command_table *table, const char *shell);
