#pragma once
/* keyspace: which servers a key belongs to, in order.
 *
 * A key has 160 bits; its last 64 bits decide its route. The *home* of a key is the server that the
 * key belongs to when no server has failed. The list of a key begins with its home and goes on with
 * the server that takes over if the home fails, then with the server that takes over if both fail,
 * and so on: a breadth-first walk over the whole topology as planned. The list never depends on
 * which servers are up. A caller that wants reachable servers skips the others, so the order
 * survives any sequence of failures.
 *
 *   torus, NovaCube (2 or 3 axes)
 *           The high bits give the home's coordinate, axis by axis, x first, by multiplication and
 *           shift: if the size of an axis is a power of two, the coordinate is a group of bits.
 *           The low 32 bits modulo 8 or 48 choose the sequence: one of 4 or 8 facets, and one of 2
 *           or 6 orders of the axes (facets.c). Jump cables are ignored.
 *   any other direct topology
 *           The home is a consistent hash over server ids, so an added server takes its share of
 *           the keys and no other key moves. Then the list goes breadth first over the cables; each
 *           level is shuffled by the home and by the sequence, which is one of 48 (levels.c).
 *
 * All keys with the same home and the same sequence share one list: they form a placement group. A
 * keyspace is pure and immutable once made; it owns its tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/env.h"
#include "base/err.h"
#include "topology/topology.h"

#define KEY_SIZE              20
#define KEYSPACE_AXIS_MAX     3
#define KEYSPACE_SEQUENCE_MAX 48

struct key {
    uint8_t bytes[KEY_SIZE]; /* most significant first; the last eight decide the route */
};

/* -- key_test.c -- */

uint64_t key_route(const struct key *key);            /* the last 64 bits */
struct key key_make(uint64_t route);                  /* high bits zero */
struct key key_hash(const void *name, uint32_t size); /* SHA-1 of a name: uniform */
/* Reads 1 to 40 hexadecimal digits; fewer than 40 are the lowest digits of the key. Returns false
 * if the text is not a key; `key` is then unchanged. */
bool key_parse(struct key *key, const char *text);
void key_text(const struct key *key, char out[2 * KEY_SIZE + 1]);

struct keyspace {
    uint32_t server_count;
    uint32_t sequence_count;               /* 8 or 48; 48 for a graph */
    uint32_t axis_count;                   /* 2 or 3; 0 for a graph */
    uint32_t axis_size[KEYSPACE_AXIS_MAX]; /* 1 for an axis that does not exist */
    /* Tables for topologies with axes. For each order of the axes there are server_count places. A
     * place is the number of steps from home along each axis, packed into one word. A facet only
     * decides the direction of the steps, so it needs no table. */
    uint32_t *places; /* owned; NULL for a graph */
    uint32_t place_shift[KEYSPACE_AXIS_MAX];
    uint32_t place_mask[KEYSPACE_AXIS_MAX];
    const struct graph *graph; /* borrowed */
};

/* -- keyspace_test.c compares all of these functions with brute force -- */

/* Borrows the topology, which must be direct: each node is a server. */
MUST_CHECK enum err keyspace_init(struct keyspace *keyspace, const struct topology *topology,
                                  struct why *why);
void keyspace_fini(struct keyspace *keyspace);

struct place_group {
    node_id home;
    uint32_t sequence;
};

/* Returns home and sequence of a key. It runs at every hop, so it takes a few nanoseconds and does
 * not divide. */
struct place_group keyspace_group(const struct keyspace *keyspace, uint64_t route);

/* Writes the first `most` servers of the list for which alive() holds (NULL: all) to `out` and
 * returns their number. This is GetServersForKey of the paper. It allocates nothing. A topology
 * with axes needs no scratch. For a graph, `scratch` is keyspace_scratch_size() bytes of any
 * content, aligned as malloc aligns. */
typedef bool keyspace_alive(const void *context, node_id server);
unsigned keyspace_servers(const struct keyspace *keyspace, struct place_group group,
                          keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                          unsigned most);
size_t keyspace_scratch_size(const struct keyspace *keyspace); /* 0 for a topology with axes */

/* keyspace_root() for a group whose home is down. */
node_id keyspace_heir(const struct keyspace *keyspace, struct place_group group,
                      const uint64_t *alive, void *scratch);

/* Returns the first server of the list whose bit is set in `alive` (server_count bits), or
 * NODE_NONE. `scratch` as above; it is only used if the home's bit is not set. */
static inline node_id keyspace_root(const struct keyspace *keyspace, struct place_group group,
                                    const uint64_t *alive, void *scratch)
{
    return bitset_has(alive, group.home) ? group.home
                                         : keyspace_heir(keyspace, group, alive, scratch);
}
