#include "cli/commands.h"

#include <stddef.h>

/* One line each, so that adding a command changes one line. */
/* clang-format off */
static const struct command *const commands[] = {
    &command_up,
    &command_down,
    &command_status,
    &command_nodes,
    &command_top,
    &command_where,
    &command_ping,
    &command_bench,
    &command_kill,
    &command_revive,
    &command_cut,
    &command_heal,
    &command_topo_build,
    &command_topo_export,
    &command_topo_show,
    &command_topo_measure,
    &command_topo_draw,
    &command_topo_grow,
    &command_topo_diff,
    &command_topo_cable,
    &command_topo_check,
    &command_route_list,
    &command_route_path,
    &command_route_load,
    &command_route_worst,
    &command_route_deadlock,
    &command_route_rules,
    &command_ripc_serve,
    &command_ripc_ping,
    &command_ripc_send,
    &command_ripc_recv,
    &command_ripc_list,
    &command_ripc_trace,
    &command_ripc_clean,
    &command_sst_demo,
    &command_sst_watch,
    &command_sim_chaos,
    &command_sim_churn,
    &command_sim_run,
    &command_paper_list,
    &command_paper_run,
    &command_paper_all,
    &command_help,
    &command_completion,
    &command_version,
    NULL,
};
/* clang-format on */

static const struct command_group groups[] = {
    {"cluster", "clusters", "run a cluster on this machine: start, inspect, break, repair, stop",
     true},
    {"topo", "topologies", "plan a network: build, measure, grow, cable and draw a topology",
     false},
    {"route", "routing", "routing algorithms on a topology: paths, loads, worst cases, deadlock",
     false},
    {"ripc", "messages", "messages between services with ids: send, receive, list, trace, clean up",
     false},
    {"sst", "tables", "tables of state that processes share: a demo, and a viewer", false},
    {"sim", "simulation", "simulate a cluster: loads, churn, faults", false},
    {"paper", "the papers", "reproduce the figures of the papers that weft is based on", false},
    {"", "weft itself", "plan, run and program a cluster without switches", false},
    {0},
};

const struct command_table command_table = {commands, groups};
