#include "cli/core/completion.h"

#include <ctype.h>
#include <string.h>

#include "routing/route.h"
#include "topology/generators.h"

enum value_kind {
    VALUE_OTHER, /* for example a number: nothing to complete */
    VALUE_CHOICE,
    VALUE_SPEC, /* the SPEC of a topology, or a file */
    VALUE_FILE,
    VALUE_CHOICE_FILE, /* a choice, or a file */
    VALUE_FOLDER,
    VALUE_FIGURE,
    VALUE_ALGORITHM,
    VALUE_SETTING, /* of a parameter */
};

static enum value_kind value_kind(const char *placeholder)
{
    if (strncmp(placeholder, "SERVICE.NAME=", 13) == 0)
        return VALUE_SETTING;
    if (strstr(placeholder, "SPEC") || strstr(placeholder, "PLAN"))
        return VALUE_SPEC;
    if (strstr(placeholder, "FILE"))
        return islower((unsigned char)*placeholder) ? VALUE_CHOICE_FILE : VALUE_FILE;
    if (strstr(placeholder, "DIR"))
        return VALUE_FOLDER;
    if (strstr(placeholder, "FIGURE"))
        return VALUE_FIGURE;
    if (strcmp(placeholder, "NAME") == 0)
        return VALUE_ALGORITHM;
    if (!strchr(placeholder, '|'))
        return VALUE_OTHER;
    for (const char *at = placeholder; *at; at++)
        if (islower((unsigned char)*at))
            return VALUE_CHOICE;
    return VALUE_OTHER;
}

/* Prints "[svg|dot...]" as "svg dot"; words in capitals are not choices. */
static void choices_print(struct text *out, const char *placeholder)
{
    for (const char *at = placeholder; *at; at++) {
        if (*at == '|')
            text_puts(out, " ");
        else if (!strchr("[].", *at) && !isupper((unsigned char)*at))
            text_add(out, at, 1);
    }
}

static void algorithms_print(struct text *out)
{
    for (const struct route_algorithm *const *each = route_algorithms; *each; each++)
        text_printf(out, "%s%s", each == route_algorithms ? "" : " ", (*each)->name);
}

/* Prints the generators as "torus:", because parameters follow without a space. */
static void generators_print(struct text *out, const char *end)
{
    for (size_t i = 0; generator_name(i); i++)
        text_printf(out, "%s:%s", generator_name(i), end);
}

static void first_words(struct text *out, const struct command_table *table)
{
    const char *space = "";
    for (int i = 0; table->commands[i]; i++) {
        size_t size = strcspn(table->commands[i]->name, " ");
        bool seen = false;
        for (int k = 0; k < i && !seen; k++)
            seen = strcspn(table->commands[k]->name, " ") == size &&
                   memcmp(table->commands[k]->name, table->commands[i]->name, size) == 0;
        if (seen)
            continue;
        text_printf(out, "%s%.*s", space, (int)size, table->commands[i]->name);
        space = " ";
    }
}

/* --- bash; zsh uses the same script --- */

static void bash_reply(struct text *out, const char *placeholder, const char *indent)
{
    switch (value_kind(placeholder)) {
    case VALUE_CHOICE:
        text_printf(out, "%sCOMPREPLY=($(compgen -W '", indent);
        choices_print(out, placeholder);
        text_puts(out, "' -- \"$word\"))\n");
        break;
    case VALUE_SPEC:
        text_printf(out, "%sCOMPREPLY=($(compgen -W '", indent);
        generators_print(out, " ");
        text_printf(out,
                    "' -- \"$word\"))\n"
                    "%s[[ ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2> /dev/null\n"
                    "%slocal IFS=$'\\n'\n"
                    "%scompopt -o filenames 2> /dev/null\n"
                    "%sCOMPREPLY+=($(compgen -f -- \"$word\"))\n",
                    indent, indent, indent, indent);
        break;
    case VALUE_CHOICE_FILE:
        text_printf(out, "%sCOMPREPLY=($(compgen -W '", indent);
        choices_print(out, placeholder);
        text_printf(out,
                    "' -- \"$word\"))\n"
                    "%slocal IFS=$'\\n'\n"
                    "%scompopt -o filenames 2> /dev/null\n"
                    "%sCOMPREPLY+=($(compgen -f -- \"$word\"))\n",
                    indent, indent, indent);
        break;
    case VALUE_FILE:
    case VALUE_FOLDER: /* names may contain spaces, so only a newline ends one */
        text_printf(out,
                    "%slocal IFS=$'\\n'\n"
                    "%scompopt -o filenames 2> /dev/null\n"
                    "%sCOMPREPLY=($(compgen %s -- \"$word\"))\n",
                    indent, indent, indent, value_kind(placeholder) == VALUE_FILE ? "-f" : "-d");
        break;
    case VALUE_FIGURE:
        text_printf(out,
                    "%sCOMPREPLY=($(compgen -W \"$(weft paper list --names 2> /dev/null)\" "
                    "-- \"$word\"))\n",
                    indent);
        break;
    case VALUE_SETTING: /* the value follows without a space */
        text_printf(out,
                    "%sCOMPREPLY=($(compgen -S = -W \"$(weft service list --names 2> /dev/null)\" "
                    "-- \"$word\"))\n"
                    "%scompopt -o nospace 2> /dev/null\n",
                    indent, indent);
        break;
    case VALUE_ALGORITHM:
        text_printf(out, "%sCOMPREPLY=($(compgen -W '", indent);
        algorithms_print(out);
        text_puts(out, "' -- \"$word\"))\n");
        break;
    case VALUE_OTHER:
        text_printf(out, "%s:\n", indent);
        break;
    }
}

static void bash_options(struct text *out, const struct option *options)
{
    for (; options && options->name; options++)
        text_printf(out, "--%s ", options->name);
}

/* Completes the values of options. */
static void bash_values(struct text *out, const struct option *options)
{
    for (; options && options->name; options++) {
        if (!options->value)
            continue;
        text_printf(out, "        if [[ $last == --%s ]]; then\n", options->name);
        bash_reply(out, options->value, "            ");
        text_puts(out, "            return\n        fi\n");
    }
}

/* Writes one branch of the case over command names: completes the values of its
 * options, then its options, then its arguments. */
static void bash_command(struct text *out, const struct command *command)
{
    text_printf(out, "    '%s')\n", command->name);
    bash_values(out, command->options);
    text_puts(out, "        if [[ $word == -* ]]; then\n            COMPREPLY=($(compgen -W '");
    bash_options(out, command->options);
    bash_options(out, common_options);
    text_puts(out, "' -- \"$word\"))\n            return\n        fi\n");
    bash_reply(out, command->arguments, "        ");
    text_puts(out, "        ;;\n");
}

/* Completes the second words of commands of two words. */
static void bash_groups(struct text *out, const struct command_table *table)
{
    for (const struct command_group *group = table->groups; group->name; group++) {
        size_t size = strlen(group->name);
        if (!command_is_spoken(table, group))
            continue;
        text_printf(out, "    '%s')\n        COMPREPLY=($(compgen -W '", group->name);
        for (int i = 0; table->commands[i]; i++)
            if (strncmp(table->commands[i]->name, group->name, size) == 0 &&
                table->commands[i]->name[size] == ' ')
                text_printf(out, "%s ", table->commands[i]->name + size + 1);
        text_puts(out, "' -- \"$word\"))\n        ;;\n");
    }
}

static void bash_script(struct text *out, const struct command_table *table)
{
    text_puts(out, "_weft()\n{\n"
                   "    local words=(\"${COMP_WORDS[@]}\") count=$COMP_CWORD\n"
                   "    local word=${words[count]} last=${words[count - 1]}\n"
                   "    COMPREPLY=()\n"
                   "    # what follows help is completed as if help were not there\n"
                   "    if [[ ${words[1]} == help && $word != -* ]] && ((count > 1)); then\n"
                   "        words=(\"${words[0]}\" \"${words[@]:2}\")\n"
                   "        count=$((count - 1))\n"
                   "    fi\n"
                   "    if ((count == 1)); then\n"
                   "        COMPREPLY=($(compgen -W '");
    first_words(out, table);
    text_puts(out, "' -- \"$word\"))\n        return\n    fi\n"
                   "    local name=${words[1]}\n"
                   "    case $name in\n    ");
    const char *bar = "";
    for (const struct command_group *group = table->groups; group->name; group++) {
        if (!command_is_spoken(table, group))
            continue;
        text_printf(out, "%s%s", bar, group->name);
        bar = " | ";
    }
    text_puts(out, ")\n        ((count > 2)) && name=\"$name ${words[2]}\"\n        ;;\n    esac\n"
                   "    case $name in\n");
    bash_groups(out, table);
    for (int i = 0; table->commands[i]; i++)
        bash_command(out, table->commands[i]);
    text_puts(out, "    esac\n}\n");
}

/* --- fish --- */

static void fish_quoted(struct text *out, const char *string)
{
    text_puts(out, "'");
    for (; *string; string++)
        text_printf(out, *string == '\'' || *string == '\\' ? "\\%c" : "%c", *string);
    text_puts(out, "'");
}

static void fish_value(struct text *out, const char *placeholder)
{
    switch (value_kind(placeholder)) {
    case VALUE_CHOICE:
        text_puts(out, " -x -a '");
        choices_print(out, placeholder);
        text_puts(out, "'");
        break;
    case VALUE_SPEC:
        text_puts(out, " -r -F -a '");
        generators_print(out, " ");
        text_puts(out, "'");
        break;
    case VALUE_FILE:
        text_puts(out, " -r -F");
        break;
    case VALUE_CHOICE_FILE:
        text_puts(out, " -r -F -a '");
        choices_print(out, placeholder);
        text_puts(out, "'");
        break;
    case VALUE_FOLDER:
        text_puts(out, " -x -a '(__fish_complete_directories)'");
        break;
    case VALUE_FIGURE:
        text_puts(out, " -x -a '(weft paper list --names 2> /dev/null)'");
        break;
    case VALUE_SETTING:
        text_puts(out, " -x -a '(weft service list --names 2> /dev/null)='");
        break;
    case VALUE_ALGORITHM:
        text_puts(out, " -x -a '");
        algorithms_print(out);
        text_puts(out, "'");
        break;
    case VALUE_OTHER:
        text_puts(out, " -x");
        break;
    }
}

static void fish_option(struct text *out, const char *seen, const struct option *option)
{
    text_printf(out, "complete -c weft -n '%s' -l %s", seen, option->name);
    if (option->value)
        fish_value(out, option->value);
    text_puts(out, " -d ");
    fish_quoted(out, option->help);
    text_puts(out, "\n");
}

static void fish_command(struct text *out, const struct command *command)
{
    char seen[160];
    struct text condition = {0};
    const char *space = strchr(command->name, ' ');
    int size = (int)strcspn(command->name, " ");
    if (space)
        text_printf(&condition,
                    "__fish_seen_subcommand_from %.*s; and "
                    "__fish_seen_subcommand_from %s",
                    size, command->name, space + 1);
    else
        text_printf(&condition, "__fish_seen_subcommand_from %s", command->name);
    if (!text_ok(&condition) || condition.size >= sizeof seen) {
        out->failed |= !text_ok(&condition);
        text_fini(&condition);
        return;
    }
    strcpy(seen, condition.data);
    text_fini(&condition);

    if (space)
        text_printf(out, "complete -c weft -f -n '__fish_seen_subcommand_from %.*s' -a %s -d ",
                    size, command->name, space + 1);
    else
        text_printf(out, "complete -c weft -f -n __fish_use_subcommand -a %s -d ", command->name);
    fish_quoted(out, command->summary);
    text_puts(out, "\n");
    for (const struct option *option = command->options; option && option->name; option++)
        fish_option(out, seen, option);
    for (const struct option *option = common_options; option->name; option++)
        fish_option(out, seen, option);
    if (value_kind(command->arguments) != VALUE_OTHER) {
        text_printf(out, "complete -c weft -n '%s'", seen);
        fish_value(out, command->arguments);
        text_puts(out, "\n");
    }
}

static void fish_script(struct text *out, const struct command_table *table)
{
    for (const struct command_group *group = table->groups; group->name; group++) {
        if (!command_is_spoken(table, group))
            continue;
        text_printf(out, "complete -c weft -f -n __fish_use_subcommand -a %s -d ", group->name);
        fish_quoted(out, group->summary);
        text_puts(out, "\n");
    }
    for (int i = 0; table->commands[i]; i++)
        fish_command(out, table->commands[i]);
}

bool completion_script(struct text *out, const struct command_table *table, const char *shell)
{
    if (strcmp(shell, "bash") == 0) {
        text_puts(out, "# Completion of weft for bash; made by weft completion bash.\n");
        bash_script(out, table);
        text_puts(out, "complete -F _weft weft\n");
    } else if (strcmp(shell, "zsh") == 0) {
        text_puts(out, "#compdef weft\n# Completion of weft for zsh; made by weft completion "
                       "zsh.\nautoload -U +X bashcompinit && bashcompinit\n");
        bash_script(out, table);
        text_puts(out, "complete -F _weft weft\n");
    } else if (strcmp(shell, "fish") == 0) {
        text_puts(out, "# Completion of weft for fish; made by weft completion fish.\n");
        fish_script(out, table);
    } else {
        return false;
    }
    return true;
}
