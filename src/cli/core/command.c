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
