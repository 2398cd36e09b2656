#pragma once
/* call: one invocation of a command: its words, its options, and the output
 * it collects. Nothing reaches standard output before the command has
 * succeeded, so a failure prints one line and no half of a result; only a
 * command that reports what happens while it runs prints as it goes. */

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/core/command.h"
#include "cli/core/result.h"

#define CALL_ARGUMENT_MAX 64
#define CALL_OPTION_MAX   64

struct call {
    const struct command_table *table;
    const struct command *command;
    const char *arguments[CALL_ARGUMENT_MAX]; /* borrowed from argv */
    int argument_count;
    struct {
        const struct option *option;
        const char *value; /* borrowed; NULL for a switch */
    } options[CALL_OPTION_MAX];
    int option_count;
    bool json;
    bool help;
    struct result result; /* printed, as JSON or as text, when the command has succeeded */
    struct result item;   /* of call_item: a line of text */
    struct text out;      /* the same for a command that writes its output itself */
    bool no;              /* the result answers a question with no: the exit code is 1 */
};

/* Parses the words after the command's name. Knows --name value,
 * --name=value, --switch, and -- before words that begin with a dash. */
MUST_CHECK enum err call_parse(struct call *call, const struct command_table *table,
                               const struct command *command, int count, char **words,
                               struct why *why);

/* Begins the result, of which `page` is the text. */
struct result *call_result(struct call *call, const char *page);

/* An item that a command which streams has found: with --json an object of the array that is open
 * in the result, else a line of its own, of which `page` is the text. */
struct result *call_item(struct call *call, const char *page);
void call_item_end(struct call *call);

/* Prints what has been collected and begins anew. Full disks and closed pipes
 * show up here. */
MUST_CHECK enum err call_flush(struct call *call, struct why *why);

/* The value of an option, or NULL if it was not given. Naming an option that
 * the command does not list is a bug and asserts. The last one given wins. */
const char *call_option(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);

/* The file that an option has written, or NULL. "-" is refused: the report is
 * printed there, and a file of that name is what nobody wants. */
MUST_CHECK enum err call_out_file(const struct call *call, const char *name, const char **path,
                                  struct why *why);

/* Refuses the file that an option names if its ending is none of `endings` (".csv"), which NULL
 * ends; `advice` closes the refusal, or is "". Names without an ending pass, and so do folders and
 * devices. Commands ask this before they begin to work. */
MUST_CHECK enum err call_out_ending(const struct call *call, const char *name,
                                    const char *const *endings, const char *advice,
                                    struct why *why);

/* Values with a type and a range; `*value` keeps its default if not given. */
MUST_CHECK enum err call_uint(const struct call *call, const char *name, uint64_t low,
                              uint64_t high, uint64_t *value, struct why *why);
MUST_CHECK enum err call_real(const struct call *call, const char *name, double low, double high,
                              double *value, struct why *why);

/* Index of the option's value in a NULL-ended list of words. */
MUST_CHECK enum err call_choice(const struct call *call, const char *name,
                                const char *const *choices, int *value, struct why *why);
