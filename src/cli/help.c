#include "cli/help.h"

#include <string.h>

static bool in_group(const struct command *command, const char *word)
{
    size_t size = strlen(word);
    return strncmp(command->name, word, size) == 0 && command->name[size] == ' ';
}

static void help_line(struct text *out, const struct command *command)
{
    text_printf(out, "  %-18s %s\n", command->name, command->summary);
}

void help_overview(struct text *out)
{
    text_puts(out, "weft: plan, run and program a cluster without switches\n\n"
                   "usage: weft COMMAND ...\n\n");
    for (int i = 0; commands[i]; i++)
        help_line(out, commands[i]);
    text_puts(out, "\n'weft help COMMAND' explains one. All take --json where they print a "
                   "result.\n");
}

bool help_is_group(const char *word)
{
    for (int i = 0; commands[i]; i++)
        if (in_group(commands[i], word))
            return true;
    return false;
}

bool help_group(struct text *out, const char *word)
{
    if (!help_is_group(word))
        return false;
    text_printf(out, "usage: weft %s COMMAND ...\n\n", word);
    for (int i = 0; commands[i]; i++)
        if (in_group(commands[i], word))
            help_line(out, commands[i]);
    text_printf(out, "\n'weft help %s COMMAND' explains one.\n", word);
    return true;
}

static void help_options(struct text *out, const struct option *options)
{
    for (; options && options->name; options++) {
        size_t width = strlen(options->name) + (options->value ? strlen(options->value) + 1 : 0);
        text_printf(out, "  --%s%s%s", options->name, options->value ? " " : "",
                    options->value ? options->value : "");
        if (width < 22)
            text_printf(out, "%*s%s\n", (int)(23 - width), "", options->help);
        else
            text_printf(out, "\n%27s%s\n", "", options->help);
    }
}

void help_command(struct text *out, const struct command *command)
{
    text_printf(out, "usage: weft %s%s%s%s\n\n%s\n\noptions:\n", command->name,
                *command->arguments ? " " : "", command->arguments,
                command->options && command->options->name ? " [--option ...]" : "",
                command->description);
    help_options(out, command->options);
    help_options(out, common_options);
    if (command->examples)
        text_printf(out, "\nexamples:\n%s\n", command->examples);
}
