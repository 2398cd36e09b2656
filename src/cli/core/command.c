#include "cli/core/command.h"

#include <string.h>

const struct option common_options[] = {
    {"json", NULL, "print one JSON object"},
    {"help", NULL, "explain this command"},
    {0},
};

bool command_in_group(const struct command *command, const char *word)
{
    size_t size = strlen(word);
    if (command->group)
        return strcmp(command->group, word) == 0;
    if (size == 0)
        return !strchr(command->name, ' ');
    return strncmp(command->name, word, size) == 0 && command->name[size] == ' ';
}

bool command_is_spoken(const struct command_table *table, const struct command_group *group)
{
    size_t size = strlen(group->name);
    for (int i = 0; size && table->commands[i]; i++)
        if (strncmp(table->commands[i]->name, group->name, size) == 0 &&
            table->commands[i]->name[size] == ' ')
            return true;
    return false;
}

const char *command_last_word(const struct command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

void command_nearest(const struct command_table *table, struct nearest *nearest)
{
    for (int i = 0; table->commands[i]; i++)
        nearest_try(nearest, table->commands[i]->name);
    for (const struct command_group *group = table->groups; group->name; group++)
        if (!group->unspoken || command_is_spoken(table, group))
            nearest_try(nearest, group->name);
    const char *whole = nearest->best;
    for (int i = 0; table->commands[i]; i++) {
        const char *before = nearest->best;
        nearest_try(nearest, command_last_word(table->commands[i]));
        if (nearest->best != before)
            whole = table->commands[i]->name;
    }
    nearest->best = whole;
}
