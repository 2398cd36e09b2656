#pragma once
/* cluster_target: the words KEY, NAME and ID of commands about a cluster. */

#include <stdbool.h>

#include "cli/cluster/cluster.h"
#include "keyspace/keyspace.h"

struct cluster_target {
    bool is_key;
    struct key key;
    node_id server; /* if it is none */
};

/* 0x and up to 40 hexadecimal digits, or 40 of them, are a key; any other word is a name, and its
 * key the SHA-1 of that. */
MUST_CHECK enum err cluster_target_key(struct cluster_target *target, const char *word,
                                       struct why *why);

/* A server of the cluster, if the word is its number or name; else as above. A number that is no
 * server's is refused: nobody means the key of the name "99". */
MUST_CHECK enum err cluster_target_any(struct cluster_target *target, const struct cluster *cluster,
                                       const char *word, struct why *why);
