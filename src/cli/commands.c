#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_topo_build,
    &command_topo_cable,
    &command_topo_check,
    &command_topo_export,
    &command_help,
    &command_version,
    NULL,
};

const struct option common_options[] = {
    {"json", NULL, "print one JSON object"},
    {"help", NULL, "explain this command"},
    {0},
};
