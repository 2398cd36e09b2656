#pragma once
/* cluster: the cluster that a command is about: its run directory, file, wiring and plan. */

#include <stdbool.h>

#include "cli/cluster/cluster_health.h"
#include "cli/core/call.h"
#include "node/plan.h"
#include "os/cluster/cluster_file.h"

/* Of every command about a running cluster. */
/* clang-format off */
#define CLUSTER_OPTIONS                                                                            \
    {"dir", "DIR", "the cluster's folder (WEFT_DIR; weft in XDG_RUNTIME_DIR; /tmp/weft-UID)"}
/* clang-format on */

#define CLUSTER_SURVEY_NSEC 2000000000LL /* that servers have to answer with a snapshot */

struct cluster {
    char folder[CLUSTER_FOLDER_MAX + 1];
    char
        hint[CLUSTER_FOLDER_MAX + 8]; /* " --dir FOLDER" for advice; empty for the default folder */
    struct cluster_file file;
    struct topology topology;
    struct plan plan;
    /* If it is commissioned, the machine of each process: at each place the one that has it (0:
     * none); while `up` starts them, in no order. Else NULL. Owned. */
    uint32_t *serials;
};

/* The folder that the option, WEFT_DIR or the default says: $XDG_RUNTIME_DIR/weft, or
 * /tmp/weft-UID. Refuses what is too long. Need not exist. */
MUST_CHECK enum err cluster_find(struct cluster *cluster, const struct call *call, struct why *why);

/* Finds it, and reads what `up` wrote there; refuses if there is no cluster. */
MUST_CHECK enum err cluster_open(struct cluster *cluster, const struct call *call, struct why *why);
void cluster_close(struct cluster *cluster);

/* Makes topology and plan of the words or the file that `up` was given. */
MUST_CHECK enum err cluster_plan(struct cluster *cluster, const char *word, struct why *why);

/* A server by its number or name. */
MUST_CHECK enum err cluster_server(const struct cluster *cluster, const char *word, node_id *server,
                                   struct why *why);
/* Room for "13 (1,1,1)". */
#define CLUSTER_NAME_SIZE 96
const char *cluster_name(const struct cluster *cluster, node_id server,
                         char name[CLUSTER_NAME_SIZE]);

/* Commands that change who lives exclude each other by a lock on the folder itself, which ends with
 * the command. */
MUST_CHECK enum err cluster_exclude(const struct cluster *cluster, int *handle, struct why *why);

/* How many processes of the cluster live, by their locks. */
uint32_t cluster_lives(const struct cluster *cluster);

/* Asks all at once how they are; those that do not answer in time are silent. */
MUST_CHECK enum err cluster_survey(const struct cluster *cluster, struct cluster_seen *seen,
                                   int64_t patience, struct why *why);
struct cluster_seen *cluster_seen_new(const struct cluster *cluster); /* NULL; the caller frees */

/* A server that answers: the one of option --from, or the first. Refuses if there is none. */
MUST_CHECK enum err cluster_from(const struct cluster *cluster, const struct call *call,
                                 node_id *server, struct why *why);

/* "13 is dead; 'weft revive 13' starts it again". */
MUST_CHECK enum err cluster_dead(const struct cluster *cluster, node_id server, struct why *why);
/* "13 does not answer: ...", by a negative errno, and how to start it anew. If it died meanwhile,
 * it is dead. */
MUST_CHECK enum err cluster_silent(const struct cluster *cluster, node_id server, int error,
                                   struct why *why);
