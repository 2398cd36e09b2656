#pragma once
/* tools: runs other programs in a role of a pair. */

#include "measured/pair.h"

#define TOOL_OUTPUT_SIZE 8192

/* Runs the program words[0], which is looked up in PATH, to its end, and returns
 * its output. It runs on the core of the role, or on all cores if `everywhere`.
 * Ends the role if the program is missing or fails. */
void tool_run(struct pair *pair, const char *const *words, bool everywhere,
              char output[TOOL_OUTPUT_SIZE]);
