/* weft: the command line.
 *
 * main finds the command in the table, runs it, prints its result or one line of error, and
 * returns the exit code. weft(1) explains the codes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/err.h"
#include "base/nearest.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/help.h"
#include "cli/core/page.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/core/terminal.h"

enum {
    EXIT_YES = 0,
    EXIT_NO = 1,        /* the answer is no, or the machine or a peer failed */
    EXIT_WRONG = 2,     /* a wrong request, or input that cannot be read */
    EXIT_STOPPED = 128, /* plus the number of the signal, as in shells */
};

static int exit_code(enum err err)
{
    switch (err) {
    case OK:
        return EXIT_YES;
    case ERR_USAGE:
    case ERR_INPUT:
        return EXIT_WRONG;
    case ERR_NO:
    case ERR_MEMORY:
    case ERR_SYSTEM:
        return EXIT_NO;
    }
    assert_unreachable();
}

static int refuse(enum err err, const struct why *why)
{
    fprintf(stderr, "weft: %s\n", why->text[0] ? why->text : err_text(err));
    return exit_code(err);
}

/* Returns how many of the words name the command; 0 if they do not. */
static int name_match(const struct command *command, int count, char **words)
{
    const char *at = command->name;
    int matched = 0;
    while (*at) {
        size_t size = strcspn(at, " ");
        if (matched == count || strlen(words[matched]) != size ||
            memcmp(words[matched], at, size) != 0)
            return 0;
        matched++;
        at += size + strspn(at + size, " ");
    }
    return matched;
}

static const struct command *command_find(int count, char **words, int *used)
{
    const struct command *best = NULL;
    *used = 0;
    for (int i = 0; command_table.commands[i]; i++) {
        int matched = name_match(command_table.commands[i], count, words);
        if (matched > *used) {
            *used = matched;
            best = command_table.commands[i];
        }
    }
    return best;
}

static enum err work(struct call *call, struct why *why)
{
    if (!call->command->streams)
        progress_start(call->command->name);
    enum err err = call->command->run(call, why);
    progress_stop();
    if (!err && call->result.page)
        (call->json ? result_json : page_print)(&call->result, &call->out);
    return err;
}

static int run(const struct command *command, int count, char **words)
{
    struct why why = {""};
    static struct call call;
    enum err err = call_parse(&call, &command_table, command, count, words, &why);
    if (!err && call.help)
        help_command(&call.out, command);
    else if (!err)
        err = work(&call, &why);
    if (!command->streams)
        terminal_await(STDOUT_FILENO);
    if (!err)
        err = call_flush(&call, &why);
    if (text_ok(&call.notes) && call.notes.size)
        fputs(call.notes.data, stderr);
    result_fini(&call.result);
    text_fini(&call.out);
    text_fini(&call.notes);
    int code = err ? refuse(err, &why) : call.no ? EXIT_NO : EXIT_YES;
    return stop_asked() ? EXIT_STOPPED + stop_signal() : code;
}

/* Handles `weft topo`, `weft topo help [...]` and `weft topo nonsense` of a group of commands. */
static int run_group(const char *group, int count, char **words)
{
    struct why why;
    if (count == 0) {
        struct text out = {0};
        int code = refuse(why_fail(&why, ERR_USAGE, "%s: a command is missing", group), &why);
        (void)help_group(&out, &command_table, group);
        fprintf(stderr, "\n%s", text_ok(&out) ? out.data : "");
        text_fini(&out);
        return code;
    }
    bool help = strcmp(words[0], "help") == 0;
    if (help || strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        words[0] = (char *)group; /* 'weft topo help build' is 'weft help topo build' */
        return run(&command_help, help ? count : 1, words);
    }
    struct nearest nearest = nearest_make(words[0], strlen(words[0]));
    for (int i = 0; command_table.commands[i]; i++)
        if (command_in_group(command_table.commands[i], group))
            nearest_try(&nearest, command_last_word(command_table.commands[i]));
    return refuse(why_fail(&why, ERR_USAGE, "%s %s: no such command%s; see 'weft help %s'", group,
                           words[0], nearest_hint(&nearest), group),
                  &why);
}

int main(int argc, char **argv)
{
    int used;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        argv[1] = "version";
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        argv[1] = "help";
    if (argc < 2) {
        struct text out = {0};
        help_overview(&out, &command_table);
        fputs(text_ok(&out) ? out.data : "", stderr);
        text_fini(&out);
        return EXIT_WRONG;
    }
    const struct command *command = command_find(argc - 1, argv + 1, &used);
    if (command)
        return run(command, argc - 1 - used, argv + 1 + used);

    if (help_is_group(&command_table, argv[1]))
        return run_group(argv[1], argc - 2, argv + 2);
    struct why why;
    struct nearest nearest = nearest_make(argv[1], strlen(argv[1]));
    command_nearest(&command_table, &nearest);
    return refuse(why_fail(&why, ERR_USAGE, "%s: no such command%s; see 'weft help'", argv[1],
                           nearest_hint(&nearest)),
                  &why);
}
