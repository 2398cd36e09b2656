#pragma once
/* keyspace: which servers a key belongs to, in order.
 *
 * A key is 160 bits, of which the last 64 route. Its *home* is the server it belongs to when all is
 * well; the list goes on with who takes over if that fails, then who if that fails too, and so on:
 * a walk, breadth first, over the whole topology as planned. The list never depends on who is up;
 * whoever wants the servers that can be reached leaves the others out, so the order survives any
 * sequence of failures.
 *
 *   torus, NovaCube (2 or 3 axes)   the high bits give the home coordinate, axis by axis, x first,
 *           by multiplication and shift: of a size that is a power of two just its bits. The low 32
 *           modulo 8 or 48 pick a sequence: one of 4 or 8 facets, one of 2 or 6 orders of the axes
 *           (facets.c). Jump cables play no part
 *   any other direct topology       home by consistent hash over server ids, so that the server
 *           that is added takes its share of the keys and no other key moves; then breadth first
 *           over the cables, each level shuffled by home and sequence, one of 48 (levels.c)
 *
 * All keys of one (home, sequence) share the list: a placement group.
 * Pure, immutable once made; owns its tables. */

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
    uint8_t bytes[KEY_SIZE]; /* highest first; the last eight route */
};

/* -- key_test.c -- */

uint64_t key_route(const struct key *key);            /* its last 64 bits */
struct key key_make(uint64_t route);                  /* high bits zero */
struct key key_hash(const void *name, uint32_t size); /* SHA-1 of a name: uniform */
/* 40 hexadecimal digits, or fewer, taken as the lowest; false if it is none. */
bool key_parse(struct key *key, const char *text);
void key_text(const struct key *key, char out[2 * KEY_SIZE + 1]);

struct keyspace {
    uint32_t server_count;
    uint32_t sequence_count;               /* 8 or 48; of a graph 48 */
    uint32_t axis_count;                   /* 2 or 3; 0: a graph */
    uint32_t axis_size[KEYSPACE_AXIS_MAX]; /* 1 where there is no such axis */
    /* Of axes: for each order of them server_count places as steps from home, axis by axis, each in
     * its bits of a word. A facet only says which way the steps go, so it needs no table. */
    uint32_t *places; /* owned; NULL: a graph */
    uint32_t place_shift[KEYSPACE_AXIS_MAX];
    uint32_t place_mask[KEYSPACE_AXIS_MAX];
    const struct graph *graph; /* borrowed */
};

/* -- keyspace_test.c compares all of it with brute force -- */

/* The topology is borrowed and must be direct: each node a server. */
MUST_CHECK enum err keyspace_init(struct keyspace *keyspace, const struct topology *topology,
                                  struct why *why);
void keyspace_fini(struct keyspace *keyspace);

struct place_group {
    node_id home;
    uint32_t sequence;
};

/* Home and sequence of a key. It runs once a hop: a few nanoseconds, and no division. */
struct place_group keyspace_group(const struct keyspace *keyspace, uint64_t route);

/* The first `most` servers of the list for which alive() holds (NULL: all); returns how many.
 * GetServersForKey of the paper. Allocates nothing. Where there are axes it needs no scratch; of a
 * graph that is keyspace_scratch_size() bytes, aligned as malloc does, whatever they hold. */
typedef bool keyspace_alive(const void *context, node_id server);
unsigned keyspace_servers(const struct keyspace *keyspace, struct place_group group,
                          keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                          unsigned most);
size_t keyspace_scratch_size(const struct keyspace *keyspace); /* 0 where there are axes */

/* Of a group whose home is down. */
node_id keyspace_heir(const struct keyspace *keyspace, struct place_group group,
                      const uint64_t *alive, void *scratch);

/* The first server of the list whose bit is set in `alive` (server_count bits), or NODE_NONE.
 * Scratch as above; it is only used if the home's bit is not set. */
static inline node_id keyspace_root(const struct keyspace *keyspace, struct place_group group,
                                    const uint64_t *alive, void *scratch)
{
    return bitset_has(alive, group.home) ? group.home
                                         : keyspace_heir(keyspace, group, alive, scratch);
}
