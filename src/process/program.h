#pragma once
/* program: runs another program without a shell. */

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/text.h"

/* Starts words[0], found in PATH unless it is a path. The handles become its standard input, output
 * and error. A detached program gets a new session and the default action for every signal, so that
 * it outlives us and Ctrl-C does not reach it; any other program shares our terminal. Returns 0 or
 * a positive errno, ENOENT if there is no such program. The caller waits for the process. */
MUST_CHECK int program_start(const char *const *words, const int handles[3], bool detached,
                             pid_t *pid);

/* Waits until a process that we started has ended. Returns its exit code, or 128 + the signal that
 * ended it; a negative errno if it is not our child. */
int program_wait(pid_t pid);

struct program {
    bool missing;     /* there is no such program */
    int status;       /* from program_wait */
    struct text out;  /* its standard output; owned */
    struct text fail; /* its standard error; owned */
};

/* Runs words[0] to its end with these arguments and this input. Fails only if the system refuses; a
 * missing program and a bad exit code are reported in the result. */
MUST_CHECK enum err program_run(struct program *program, const char *const *words,
                                const struct text *input, struct why *why);
void program_fini(struct program *program);
