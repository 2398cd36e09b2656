#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_topo_build,
    &command_topo_export,
    &command_topo_show,
    &command_topo_measure,
    &command_topo_draw,
    &command_topo_grow,
    &command_topo_diff,
    &command_topo_cable,
    &command_topo_check,
    &command_help,
    &command_version,
    NULL,
};

const struct option common_options[] = {
    {"json", NULL, "print one JSON object"},
    {"help", NULL, "explain this command"},
    {0},
};
