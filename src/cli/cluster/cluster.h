#pragma once
/* cluster: the cluster that a command works on: its run directory, settings, topology and plan. */

#include <stdbool.h>

#include "cli/cluster/cluster_health.h"
#include "cli/core/call.h"
#include "node/plan.h"
#include "os/cluster/cluster_file.h"

/* The option of all commands about a running cluster. */
/* clang-format off */
#define CLUSTER_OPTIONS                                                                            \
    {"dir", "DIR", "the run directory (default: WEFT_DIR, XDG_RUNTIME_DIR/weft, /tmp/weft-UID)"}
/* clang-format on */

#define CLUSTER_SURVEY_NSEC 2000000000LL /* timeout for the snapshots of servers */

struct cluster {
    char folder[CLUSTER_FOLDER_MAX + 1];
    char
        hint[CLUSTER_FOLDER_MAX + 8]; /* " --dir FOLDER" for advice; empty for the default folder */
    struct cluster_file file;
    struct topology topology;
    struct plan plan;
    /* The serial numbers of the machines of a commissioned cluster; NULL for any other cluster. By
     * place (0: no machine), but by process while `up` starts the processes and their places are
     * not known. Owned. */
    uint32_t *serials;
};

/* Finds the folder: the option --dir, else WEFT_DIR, else $XDG_RUNTIME_DIR/weft, else
 * /tmp/weft-UID. Refuses a name that is too long. The folder need not exist. */
MUST_CHECK enum err cluster_find(struct cluster *cluster, const struct call *call, struct why *why);

/* Finds the folder and reads the files that `up` wrote; refuses if there is no cluster. */
MUST_CHECK enum err cluster_open(struct cluster *cluster, const struct call *call, struct why *why);
void cluster_close(struct cluster *cluster);

/* Makes topology and plan from the SPEC or the file that `up` was given. */
MUST_CHECK enum err cluster_plan(struct cluster *cluster, const char *word, struct why *why);

/* Finds a server by its number or name. */
MUST_CHECK enum err cluster_server(const struct cluster *cluster, const char *word, node_id *server,
                                   struct why *why);
/* Room for "13 (1,1,1)". */
#define CLUSTER_NAME_SIZE 96
const char *cluster_name(const struct cluster *cluster, node_id server,
                         char name[CLUSTER_NAME_SIZE]);

/* Locks the folder until the command ends. Commands that start or end servers exclude each other by
 * this lock. */
MUST_CHECK enum err cluster_exclude(const struct cluster *cluster, int *handle, struct why *why);

/* Returns how many servers run: those whose locks are held. */
uint32_t cluster_lives(const struct cluster *cluster);

/* Asks all servers at once for their snapshots. A server that runs but does not answer within
 * `patience` nanoseconds is silent. */
MUST_CHECK enum err cluster_survey(const struct cluster *cluster, struct cluster_seen *seen,
                                   int64_t patience, struct why *why);
struct cluster_seen *cluster_seen_new(const struct cluster *cluster); /* or NULL; caller frees */

/* Finds a server that runs: the server of option --from, or the first one that runs. Refuses if
 * there is none. */
MUST_CHECK enum err cluster_from(const struct cluster *cluster, const struct call *call,
                                 node_id *server, struct why *why);

/* Fails with "13 is dead; 'weft revive 13' starts it again". */
MUST_CHECK enum err cluster_dead(const struct cluster *cluster, node_id server, struct why *why);
/* Fails with "13 does not answer: ...", the text of the negative errno `error`, and how to restart
 * the server. If the server has died meanwhile, fails like cluster_dead. */
MUST_CHECK enum err cluster_silent(const struct cluster *cluster, node_id server, int error,
                                   struct why *why);
