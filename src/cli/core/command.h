#pragma once
/* command: the commands of weft as data.
 *
 * One table (commands.c), which main passes on, has the functions of all commands and the texts for
 * `weft help`, the manual pages and the completion of the shells, so that these cannot disagree.
 * The file of a command exports one `const struct command`. */

#include <stdbool.h>

#include "base/err.h"
#include "base/nearest.h"

struct call;

struct option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* placeholder for its value, as "N" or "FILE"; NULL: it takes none */
    const char *help;  /* one line */
};

struct command {
    const char *name;        /* "topo measure" */
    const char *group;       /* "cluster"; NULL: the first word of a name of two words, else "" */
    const char *arguments;   /* "SPEC|FILE"; "" for none. [X] is optional, X... repeats */
    const char *summary;     /* one line, no full stop */
    const char *description; /* paragraphs between blank lines; a line that begins
                              * with two spaces is not wrapped */
    const struct option *options; /* without --json and --help, which all commands have */
    const char *examples;         /* lines of shell, or NULL */
    bool streams;                 /* prints while it runs, so no progress is shown */

    /* Runs the command. The result goes into the call, the reason of a failure into why. */
    enum err (*run)(struct call *call, struct why *why);
};

/* A group of commands: those of two words with the same first word ("topo", "paper"), or commands
 * of one word that name the group in `group`. */
struct command_group {
    const char *name;    /* "topo"; "": the other commands of one word; NULL ends the list */
    const char *title;   /* above its commands in the overview */
    const char *summary; /* one line for the manual, no full stop */
    bool unspoken;       /* its commands do not, or not all, begin with the name of the group */
};

/* All commands. main passes the table on, so that no command depends on the others. */
struct command_table {
    const struct command *const *commands; /* ends with NULL */
    const struct command_group *groups;
};

/* --json and --help, which all commands have. */
extern const struct option common_options[];

/* Tells whether the command is in the group. The group "" has the commands of one word. */
bool command_in_group(const struct command *command, const char *word);

/* Tells whether the name of the group is the first word of some command. */
bool command_is_spoken(const struct command_table *table, const struct command_group *group);

/* Returns the second word of a name: "measure" of "topo measure". */
const char *command_last_word(const struct command *command);

/* Compares the word with the names of all commands and groups, and with the second words of
 * commands; `best` is the whole name. */
void command_nearest(const struct command_table *table, struct nearest *nearest);
