#pragma once
/* keyspace: which servers a key belongs to, in order.
 *
 * A key is 160 bits, of which the last 64 route. Its *home* is the server it belongs to when all is
 * well; the list goes on with who takes over if that fails, then who if that fails too, and so on:
 * a walk, breadth first, over the whole topology as planned. The list never depends on who is up;
 * whoever wants the servers that can be reached leaves the others out, so the order survives any
 * sequence of failures.
 *
 *   torus, NovaCube (2 or 3 axes)   the high bits give the home coordinate, axis by axis, by
 *           multiplication and shift; the rest w picks one of 4 x 2 or 8 x 6 sequences (facet and
 *           order of axes). Sequences are relative to the home: a table serves all homes
 *   any other direct topology       home by jump consistent hash over server ids; then breadth
 *           first over the cables, each level shuffled by w modulo 48
 *
 * All keys of one (home, sequence) share the list: a placement group.
 * Pure, immutable once made; owns its tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/err.h"
#include "topology/topology.h"

#define KEY_SIZE 20

struct key {
    uint8_t bytes[KEY_SIZE]; /* highest first; the last eight route */
};

struct keyspace {
    uint32_t server_count;
    uint32_t sequence_count; /* 8, 48; of a graph 48 */
    uint32_t axis_count;     /* 0: a graph */
    uint32_t axis_size[3];
    const struct graph *graph; /* borrowed */
    uint32_t *offsets; /* torus: sequence_count lists of server_count places relative to home */
};

/* -- keyspace_test.c compares all of it with brute force -- */

/* The topology is borrowed and must be direct: each node a server. */
MUST_CHECK enum err keyspace_init(struct keyspace *keyspace, const struct topology *topology,
                                  struct why *why);
void keyspace_fini(struct keyspace *keyspace);

uint64_t key_route(const struct key *key);            /* its last 64 bits */
struct key key_make(uint64_t route);                  /* high bits zero */
struct key key_hash(const void *name, uint32_t size); /* SHA-1 of a name: uniform */
/* 40 hexadecimal digits, or fewer, taken as the lowest; false if it is none. */
bool key_parse(struct key *key, const char *text);
void key_text(const struct key *key, char out[2 * KEY_SIZE + 1]);

struct place_group {
    node_id home;
    uint32_t sequence;
};

/* Home and sequence of a key. A few nanoseconds: it runs once a hop. */
struct place_group keyspace_group(const struct keyspace *keyspace, uint64_t route);

/* The first `most` servers of the list for which alive() holds (NULL: all); returns how many.
 * keyspace_servers of the papers. Allocates nothing where there are axes; graphs take
 * `scratch`, of keyspace_scratch_size() bytes. */
typedef bool keyspace_alive(const void *context, node_id server);
unsigned keyspace_servers(const struct keyspace *keyspace, struct place_group group,
                          keyspace_alive *alive, const void *context, void *scratch, node_id *out,
                          unsigned most);
size_t keyspace_scratch_size(const struct keyspace *keyspace);

/* The first server of the list whose bit is set in `alive` (server_count bits), or NODE_NONE. */
node_id keyspace_root(const struct keyspace *keyspace, struct place_group group,
                      const uint64_t *alive, void *scratch);
