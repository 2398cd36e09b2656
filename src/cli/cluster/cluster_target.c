#include "cli/cluster/cluster_target.h"

#include <string.h>

#define HEXADECIMAL "0123456789abcdefABCDEF"

enum err cluster_target_key(struct cluster_target *target, const char *word, struct why *why)
{
    size_t size = strlen(word);
    bool marked = strncmp(word, "0x", 2) == 0;
    *target = (struct cluster_target){.is_key = true};
    if (size == 0)
        return why_fail(why, ERR_USAGE, "expected a key or a name");
    if (marked || (size == 2 * KEY_SIZE && strspn(word, HEXADECIMAL) == size)) {
        if (!key_parse(&target->key, marked ? word + 2 : word))
            return why_fail(why, ERR_USAGE, "%.60s: a key is 0x and 1 to %d hexadecimal digits",
                            word, 2 * KEY_SIZE);
        return OK;
    }
    target->key = key_hash(word, (uint32_t)size);
    return OK;
}

enum err cluster_target_any(struct cluster_target *target, const struct cluster *cluster,
                            const char *word, struct why *why)
{
    size_t size = strlen(word);
    uint32_t node = topology_find(&cluster->topology, word);
    if (node != NODE_NONE) {
        *target = (struct cluster_target){.server = node};
        return OK;
    }
    if (size > 0 && size < 2 * KEY_SIZE && strspn(word, "0123456789") == size)
        return cluster_server(cluster, word, &target->server, why);
    return cluster_target_key(target, word, why);
}
