#pragma once
/* command: what the command line can do, as data.
 *
 * One table (commands.c) gives the dispatcher its functions, `weft help` its
 * text, man its pages and the shell its completion, so that they cannot
 * disagree. A command's file exports one `const struct command`. */

#include <stdbool.h>

#include "base/err.h"

struct call;

struct option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* what follows it, "N" or "FILE"; NULL for a switch */
    const char *help;  /* one line */
};

struct command {
    const char *name;             /* "topo measure" */
    const char *group;            /* "cluster"; NULL: the first of its two words, or "" */
    const char *arguments;        /* "SPEC|FILE"; "" for none. [X] is optional, X... repeats */
    const char *summary;          /* one line, no full stop */
    const char *description;      /* paragraphs between blank lines; a line that begins
                                   * with two spaces is shown as it stands */
    const struct option *options; /* its own; --json and --help are everybody's */
    const char *examples;         /* lines of shell, or NULL */
    bool streams;                 /* prints while it runs, so no progress is shown */

    /* Does it. Results go to call->out, a refusal into why. */
    enum err (*run)(struct call *call, struct why *why);
};

/* Commands of two words share their first: "topo", "paper". Others that belong together say so. */
struct command_group {
    const char *name;    /* "topo"; "" holds the other commands of one word; NULL ends the list */
    const char *title;   /* over its commands in the overview */
    const char *summary; /* one line for the manual, no full stop */
    bool unspoken;       /* its commands have one word, and the group's name is not said */
};

extern const struct command *const commands[]; /* ends with NULL */
extern const struct command_group command_groups[];
extern const struct option common_options[];
