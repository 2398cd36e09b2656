/* keyspace: the kind of the topology decides which of two algorithms makes the lists: facets.c or
 * levels.c. */
#include "keyspace/keyspace.h"

#include <stdlib.h>

#include "base/bitset.h"
#include "base/check.h"
#include "keyspace/keyspace_impl.h"

static bool has_facets(const struct topology *topology)
{
    bool cube = topology->kind == TOPOLOGY_TORUS || topology->kind == TOPOLOGY_NOVACUBE;
    return cube && (topology->axis_count == 2 || topology->axis_count == 3);
}

enum err keyspace_init(struct keyspace *keyspace, const struct topology *topology, struct why *why)
{
    if (!topology->direct)
        return why_fail(why, ERR_USAGE,
                        "%s: has switches; keys need a topology in which each node is a server",
                        topology->spec[0] ? topology->spec : topology_kind_name(topology->kind));
    if (topology->graph.node_count == 0)
        return why_fail(why, ERR_USAGE, "the topology has no server; a key needs at least one");
    *keyspace = (struct keyspace){
        .server_count = topology->graph.node_count,
        .sequence_count = KEYSPACE_SEQUENCE_MAX,
        .axis_size = {1, 1, 1},
        .graph = &topology->graph,
    };
    if (!has_facets(topology))
        return OK;
    keyspace->axis_count = topology->axis_count;
    for (uint32_t axis = 0; axis < topology->axis_count; axis++)
        keyspace->axis_size[axis] = topology->axis_size[axis];
    return facets_init(keyspace, why);
}

void keyspace_fini(struct keyspace *keyspace)
{
    free(keyspace->places);
    *keyspace = (struct keyspace){0};
}

struct place_group keyspace_group(const struct keyspace *keyspace, uint64_t route)
{
    /* Only the low half chooses the sequence, so that the sequence is independent of the home: with
     * up to 2^32 servers the high half decides the home. The divisors are constants, so the
     * compiler emits no division. */
    uint32_t w = (uint32_t)route;
    if (keyspace->axis_count == 0)
        return (struct place_group){levels_home(keyspace->server_count, route), w % 48};
    return (struct place_group){facets_home(keyspace, route),
                                keyspace->axis_count == 2 ? w % 8 : w % 48};
}

unsigned keyspace_servers(const struct keyspace *keyspace, struct place_group group,
                          keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                          unsigned most)
{
    assert(group.home < keyspace->server_count && group.sequence < keyspace->sequence_count);
    if (keyspace->places)
        return facets_servers(keyspace, group, alive, context, out, most);
    return levels_servers(keyspace, group, alive, context, scratch, out, most);
}

size_t keyspace_scratch_size(const struct keyspace *keyspace)
{
    return keyspace->places ? 0 : levels_scratch_size(keyspace->server_count);
}

static bool bit_alive(const void *context, node_id server)
{
    return bitset_has(context, server);
}

node_id keyspace_heir(const struct keyspace *keyspace, struct place_group group,
                      const uint64_t *alive, void *scratch)
{
    node_id heir = NODE_NONE;
    keyspace_servers(keyspace, group, bit_alive, alive, scratch, &heir, 1);
    return heir;
}
