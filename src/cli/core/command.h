#pragma once
/* command: what the command line can do, as data.
 *
 * One table (commands.c), which main passes to all that need it, gives the dispatcher its
 * functions, `weft help` its text, man its pages and the shell its completion, so that they cannot
 * disagree. A command's file exports one `const struct command`. */

#include <stdbool.h>

#include "base/err.h"
#include "base/nearest.h"

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
    const struct option *options; /* its own; --json and --help are every command's */
    const char *examples;         /* lines of shell, or NULL */
    bool streams;                 /* prints while it runs, so no progress is shown */

    /* Does it. The result goes into the call, a refusal into why. */
    enum err (*run)(struct call *call, struct why *why);
};

/* Commands of two words share their first: "topo", "paper". Others that belong together say so. */
struct command_group {
    const char *name;    /* "topo"; "" holds the other commands of one word; NULL ends the list */
    const char *title;   /* over its commands in the overview */
    const char *summary; /* one line for the manual, no full stop */
    bool unspoken;       /* its commands have one word, and the group's name is not said */
};

/* Everything that weft can do. main passes it down, so that no command depends on the others. */
struct command_table {
    const struct command *const *commands; /* ends with NULL */
    const struct command_group *groups;
};

/* --json and --help, which every command takes. */
extern const struct option common_options[];

/* Is it one of the group's? The group "" holds the commands of one word. */
bool command_in_group(const struct command *command, const char *word);

/* "measure" of "topo measure". */
const char *command_last_word(const struct command *command);

/* Tries the names of all commands and groups. A command of two words is also found by its second
 * one alone; `best` is the whole name. */
void command_nearest(const struct command_table *table, struct nearest *nearest);
