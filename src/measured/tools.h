#pragma once
/* tools: other programs that a role of a pair runs. */

#include "measured/pair.h"

#define TOOL_OUTPUT_SIZE 8192

/* Runs words[0], found in PATH, to its end, on the role's core unless
 * `everywhere`, and keeps what it printed. Ends the role if it is missing
 * or fails. */
void tool_run(struct pair *pair, const char *const *words, bool everywhere,
              char output[TOOL_OUTPUT_SIZE]);
