/* weft: the command line.
 *
 * main finds the command in the table, lets it work, prints its result or its
 * one line of refusal, and turns the outcome into an exit code: 0 success,
 * 1 failure, 2 bad usage. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/help.h"
#include "cli/core/page.h"
#include "cli/core/progress.h"

static int exit_code(enum err err)
{
    return err == OK ? 0 : err == ERR_USAGE ? 2 : 1;
}

static int refuse(enum err err, const struct why *why)
{
    fprintf(stderr, "weft: %s\n", why->text[0] ? why->text : err_text(err));
    return exit_code(err);
}

/* How many of the words name the command; 0 if they do not. */
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
    if (!err)
        err = call_flush(&call, &why);
    result_fini(&call.result);
    text_fini(&call.out);
    return err ? refuse(err, &why) : exit_code(call.health);
}

/* The first word of two, and not the second of any. */
static int run_group(const char *group, int count, char **words)
{
    struct why why;
    if (count == 0)
        return refuse(why_fail(&why, ERR_USAGE, "%s: which of its commands? see 'weft help %s'",
                               group, group),
                      &why);
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "-h") == 0) {
        char *help[] = {(char *)group};
        return run(&command_help, 1, help);
    }
    return refuse(why_fail(&why, ERR_USAGE, "%s %s: no such command; see 'weft help %s'", group,
                           words[0], group),
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
        return 2;
    }
    const struct command *command = command_find(argc - 1, argv + 1, &used);
    if (command)
        return run(command, argc - 1 - used, argv + 1 + used);

    if (help_is_group(&command_table, argv[1]))
        return run_group(argv[1], argc - 2, argv + 2);
    struct why why;
    return refuse(why_fail(&why, ERR_USAGE, "%s: no such command; see 'weft help'", argv[1]), &why);
}
