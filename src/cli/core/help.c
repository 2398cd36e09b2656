#include "cli/core/help.h"

#include <string.h>

#include "base/json.h"

static void help_line(struct text *out, const struct command *command)
{
    text_printf(out, "  %-18s %s\n", command->name, command->summary);
}

void help_overview(struct text *out, const struct command_table *table)
{
    text_puts(out, "weft: plan, run and program a cluster without switches\n\n"
                   "usage: weft COMMAND ...\n\n");
    for (const struct command_group *group = table->groups; group->name; group++) {
        text_printf(out, "%s\n", group->title);
        for (int i = 0; table->commands[i]; i++)
            if (command_in_group(table->commands[i], group->name))
                help_line(out, table->commands[i]);
        text_puts(out, "\n");
    }
    text_puts(out, "'weft help COMMAND' explains a command. All commands that print a result take "
                   "--json.\n\n"
                   "Exit codes: 0 yes, or done; 1 no, or a failure; 2 a wrong request, or input\n"
                   "that cannot be read; 130 after Ctrl-C. weft(1) has the details.\n");
}

static void options_json(struct json *json, const struct option *options)
{
    for (; options && options->name; options++) {
        json_object(json);
        json_put_string(json, "name", options->name);
        if (options->value)
            json_put_string(json, "value", options->value);
        json_put_string(json, "help", options->help);
        json_end(json, '}');
    }
}

static void command_json(struct json *json, const struct command *command)
{
    json_object(json);
    json_put_string(json, "name", command->name);
    json_put_string(json, "arguments", command->arguments);
    json_put_string(json, "summary", command->summary);
    json_put_string(json, "description", command->description);
    json_key(json, "options");
    json_array(json);
    options_json(json, command->options);
    options_json(json, common_options);
    json_end(json, ']');
    if (command->examples)
        json_put_string(json, "examples", command->examples);
    else
        json_put_null(json, "examples");
    json_end(json, '}');
}

bool help_json(struct text *out, const struct command_table *table, const char *name)
{
    bool found = false;
    struct json json = json_make(out, true);
    json_object(&json);
    json_key(&json, "commands");
    json_array(&json);
    for (int i = 0; table->commands[i]; i++) {
        if (*name && strcmp(table->commands[i]->name, name) != 0 &&
            !command_in_group(table->commands[i], name))
            continue;
        command_json(&json, table->commands[i]);
        found = true;
    }
    json_end(&json, ']');
    json_end(&json, '}');
    return found;
}

bool help_is_group(const struct command_table *table, const char *word)
{
    if (!*word)
        return false;
    for (int i = 0; table->commands[i]; i++)
        if (command_in_group(table->commands[i], word))
            return true;
    return false;
}

static bool help_is_unspoken(const struct command_table *table, const char *word)
{
    for (const struct command_group *group = table->groups; group->name; group++)
        if (strcmp(group->name, word) == 0)
            return group->unspoken;
    return false;
}

bool help_group(struct text *out, const struct command_table *table, const char *word)
{
    if (!help_is_group(table, word))
        return false;
    const char *spoken = help_is_unspoken(table, word) ? "" : word;
    const char *space = *spoken ? " " : "";
    text_printf(out, "usage: weft %s%sCOMMAND ...\n\n", spoken, space);
    for (int i = 0; table->commands[i]; i++)
        if (command_in_group(table->commands[i], word))
            help_line(out, table->commands[i]);
    text_printf(out, "\n'weft help %s%sCOMMAND' explains a command.\n", spoken, space);
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

/* Prints a description: paragraphs are wrapped, lines that begin with two spaces are not. */
static void help_description(struct text *out, const char *text)
{
    while (*text) {
        size_t size = strcspn(text, "\n");
        if (size == 0 || strncmp(text, "  ", 2) == 0) {
            text_printf(out, "%.*s\n", (int)size, text);
        } else {
            while (text[size] && text[size + 1] != '\n' && strncmp(text + size + 1, "  ", 2) != 0)
                size += 1 + strcspn(text + size + 1, "\n");
            text_wrap(out, text, size, 0, 80);
        }
        text += size + (text[size] == '\n');
    }
}

void help_command(struct text *out, const struct command *command)
{
    text_printf(out, "usage: weft %s%s%s%s\n\n", command->name, *command->arguments ? " " : "",
                command->arguments,
                command->options && command->options->name ? " [--option ...]" : "");
    help_description(out, command->description);
    text_puts(out, "\noptions:\n");
    help_options(out, command->options);
    help_options(out, common_options);
    if (command->examples)
        text_printf(out, "\nexamples:\n%s\n", command->examples);
}
