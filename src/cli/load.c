#include "cli/load.h"

enum err load_topology(struct topology *topology, const char *word, struct why *why)
{
    if (topology_is_spec(word))
        return topology_build(topology, word, why);
    return why_fail(why, ERR_USAGE, "%s: neither a topology such as torus:3x3x3 nor a file", word);
}
