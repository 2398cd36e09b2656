#pragma once
/* cluster_target: reads the arguments KEY, NAME and ID of commands about a cluster. */

#include <stdbool.h>

#include "cli/cluster/cluster.h"
#include "keyspace/keyspace.h"

struct cluster_target {
    bool is_key;
    struct key key;
    node_id server; /* if it is not a key */
};

/* Reads a key: 0x and up to 40 hexadecimal digits, or 40 of them. Any other word is a name, whose
 * key is its SHA-1. */
MUST_CHECK enum err cluster_target_key(struct cluster_target *target, const char *word,
                                       struct why *why);

/* Reads a server, if the word is its number or name; otherwise a key as above. A number of no
 * server is refused, because it is hardly meant as a name. */
MUST_CHECK enum err cluster_target_any(struct cluster_target *target, const struct cluster *cluster,
                                       const char *word, struct why *why);
