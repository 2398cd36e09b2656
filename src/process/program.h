#pragma once
/* program: another program, run to its end without a shell. */

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct program {
    bool missing;     /* there is no such program */
    int status;       /* its exit code, or 128 + the signal that ended it */
    struct text out;  /* what it wrote to standard output; owned */
    struct text fail; /* ... and to standard error; owned */
};

/* Runs words[0], found in PATH, with the words and this input. Fails only if
 * the system refuses; a missing program and a bad exit are in the result. */
MUST_CHECK enum err program_run(struct program *program, const char *const *words,
                                const struct text *input, struct why *why);
void program_fini(struct program *program);
