#pragma once
/* call: one invocation of a command: its arguments, its options, and the output
 * it collects. Output is printed only after the command has succeeded, so that a
 * failure prints one line and no partial result. Only commands that report events
 * while they run print earlier. */

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
        const char *value; /* borrowed; NULL for an option without a value */
    } options[CALL_OPTION_MAX];
    int option_count;
    bool json;
    bool help;
    struct result result; /* printed, as JSON or as text, when the command has succeeded */
    struct result item;   /* of call_item: a line of text */
    struct text out;      /* the output of a command that has no result */
    struct text notes;    /* lines for standard error beside the output */
    bool no;              /* the result answers a question with "no": the exit code is 1 */
};

/* Parses the arguments after the command's name: --name value, --name=value,
 * --name, and -- before arguments that begin with a dash. */
MUST_CHECK enum err call_parse(struct call *call, const struct command_table *table,
                               const struct command *command, int count, char **words,
                               struct why *why);

/* Begins the result; `page` shows it as text. */
struct result *call_result(struct call *call, const char *page);

/* Begins an item of a command that prints while it runs: with --json an object in the open array of
 * the result, otherwise a line of text, which `page` shows. */
struct result *call_item(struct call *call, const char *page);
void call_item_end(struct call *call);

/* Prints the collected output and empties it. Fails if the output cannot be
 * written, for example because the disk is full. */
MUST_CHECK enum err call_flush(struct call *call, struct why *why);

/* Returns the value of an option, or NULL if it was not given; if it was given
 * more than once, the last value. An option that the command does not list is a
 * bug and asserts. */
const char *call_option(const struct call *call, const char *name);
bool call_has(const struct call *call, const char *name);

/* Returns the output file that an option names, or NULL. "-" is refused, because
 * standard output has the report. */
MUST_CHECK enum err call_out_file(const struct call *call, const char *name, const char **path,
                                  struct why *why);

/* Refuses the file that an option names if its ending is not in `endings` (".csv"), which ends with
 * NULL; `advice` is appended to the error text, or is "". Names without an ending, folders and
 * devices are accepted. Commands call this before they start to work. */
MUST_CHECK enum err call_out_ending(const struct call *call, const char *name,
                                    const char *const *endings, const char *advice,
                                    struct why *why);

/* These functions read a value of a type within a range; `*value` keeps its default if the option
 * is not given. */
MUST_CHECK enum err call_uint(const struct call *call, const char *name, uint64_t low,
                              uint64_t high, uint64_t *value, struct why *why);
MUST_CHECK enum err call_real(const struct call *call, const char *name, double low, double high,
                              double *value, struct why *why);

/* Finds the option's value in a list of words that ends with NULL. */
MUST_CHECK enum err call_choice(const struct call *call, const char *name,
                                const char *const *choices, int *value, struct why *why);
