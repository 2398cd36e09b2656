#include "cli/commands.h"

#include <stddef.h>

const struct command *const commands[] = {
    &command_topo_build, &command_help, &command_completion, &command_version, NULL,
};

const struct command_group command_groups[] = {
    {"topo", "topologies", "plan a network: build, measure, grow, wire and draw a topology"},
    {"", "weft itself", "plan, run and program a cluster without switches"},
    {0},
};

const struct option common_options[] = {
    {"json", NULL, "print one JSON object"},
    {"help", NULL, "explain this command"},
    {0},
};
