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

/* Reads a key: 0x and 1 to 40 hexadecimal digits, or exactly 40 digits without 0x. Any other word
 * is a name; its key is the SHA-1 of the name. */
MUST_CHECK enum err cluster_target_key(struct cluster_target *target, const char *word,
                                       struct why *why);

/* Reads a server, if the word is the number or name of one; otherwise a key, as above. A short
 * decimal number that no server has is refused: it is more likely a mistake than the name of a key.
 */
MUST_CHECK enum err cluster_target_any(struct cluster_target *target, const struct cluster *cluster,
                                       const char *word, struct why *why);
