/* weft help, weft version */
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/help.h"
#include "cli/core/manual.h"

/* Prints the help of a command or of a group, or the list of all commands if the name is empty.
 * Returns false if nothing has this name. */
static bool help_text(struct text *out, const struct command_table *table, const char *name)
{
    if (!*name) {
        help_overview(out, table);
        return true;
    }
    for (int i = 0; table->commands[i]; i++) {
        if (strcmp(table->commands[i]->name, name) == 0) {
            help_command(out, table->commands[i]);
            return true;
        }
    }
    return help_group(out, table, name);
}

static enum err help_run(struct call *call, struct why *why)
{
    char name[128] = "";
    bool manual = call_has(call, "man");
    for (int i = 0; i < call->argument_count; i++) {
        if (strlen(name) + strlen(call->arguments[i]) + 2 > sizeof name)
            return why_fail(why, ERR_USAGE, "help: no such command");
        if (i)
            strcat(name, " ");
        strcat(name, call->arguments[i]);
    }
    if (manual && manual_page(&call->out, call->table, name))
        return OK;
    if (manual)
        return why_fail(why, ERR_USAGE,
                        "help: no manual page of '%s'; there is one for each group of commands, "
                        "such as topo",
                        name);
    if (call->json ? help_json(&call->out, call->table, name)
                   : help_text(&call->out, call->table, name))
        return OK;
    struct nearest nearest = nearest_make(name, strlen(name));
    command_nearest(call->table, &nearest);
    return why_fail(why, ERR_USAGE, "help: no command '%s'%s; 'weft help' lists them", name,
                    nearest_hint(&nearest));
}

static const struct option help_options[] = {
    {"man", NULL, "print the manual page of weft or of a group of commands, in roff format"},
    {0},
};

const struct command command_help = {
    .name = "help",
    .arguments = "[COMMAND...]",
    .summary = "list all commands, or explain one",
    .description =
        "Lists all commands, or explains the command or the group of commands that is named.",
    .options = help_options,
    .examples = "  weft help topo measure\n"
                "  weft help --man topo | man -l -",
    .run = help_run,
};

static enum err version_run(struct call *call, struct why *why)
{
    result_flat(&call->result);
    result_string(call_result(call, "weft {version}\n"), "version", WEFT_VERSION);
    return OK;
}

const struct command command_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version of weft",
    .description = "Prints the version.",
    .run = version_run,
};
