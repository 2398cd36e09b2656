#pragma once
/* commands: all commands. Only main uses the table directly; a command finds it in its call. */

#include "cli/core/command.h"

extern const struct command_table command_table;

extern const struct command command_bench;
extern const struct command command_cas;
extern const struct command command_touch;
extern const struct command command_completion;
extern const struct command command_cut;
extern const struct command command_del;
extern const struct command command_down;
extern const struct command command_get;
extern const struct command command_heal;
extern const struct command command_help;
extern const struct command command_incr;
extern const struct command command_kill;
extern const struct command command_ls;
extern const struct command command_nodes;
extern const struct command command_paper_all;
extern const struct command command_paper_list;
extern const struct command command_paper_run;
extern const struct command command_ping;
extern const struct command command_put;
extern const struct command command_revive;
extern const struct command command_ripc_clean;
extern const struct command command_ripc_list;
extern const struct command command_ripc_ping;
extern const struct command command_ripc_recv;
extern const struct command command_ripc_send;
extern const struct command command_ripc_serve;
extern const struct command command_ripc_trace;
extern const struct command command_route_deadlock;
extern const struct command command_route_list;
extern const struct command command_route_load;
extern const struct command command_route_path;
extern const struct command command_route_rules;
extern const struct command command_route_worst;
extern const struct command command_service_list;
extern const struct command command_service_show;
extern const struct command command_sim_chaos;
extern const struct command command_sim_churn;
extern const struct command command_sim_run;
extern const struct command command_sst_demo;
extern const struct command command_sst_watch;
extern const struct command command_stat;
extern const struct command command_status;
extern const struct command command_store_bench;
extern const struct command command_store_drain;
extern const struct command command_store_replace;
extern const struct command command_store_scrub;
extern const struct command command_store_status;
extern const struct command command_store_verify;
extern const struct command command_top;
extern const struct command command_topo_build;
extern const struct command command_topo_cable;
extern const struct command command_topo_check;
extern const struct command command_topo_diff;
extern const struct command command_topo_draw;
extern const struct command command_topo_export;
extern const struct command command_topo_grow;
extern const struct command command_topo_measure;
extern const struct command command_topo_show;
extern const struct command command_up;
extern const struct command command_version;
extern const struct command command_where;
