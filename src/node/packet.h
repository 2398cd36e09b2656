#pragma once
/* packet: what travels from server to server, and the memory it lies in.
 *
 * On the wire a packet is a header of 40 bytes and at most 8,900 of payload; numbers with the
 * highest byte first (docs/protocol.md):
 *
 *    0  version (1)           1  kind: packet_kind, and PACKET_FLAGS
 *    2  service (2)           4  hops that are left      5  hops taken
 *    6  payload bytes (2)     8  source server (4)
 *   12  destination: a key of 20 bytes, or a server (4) and zeroes, or zeroes (a neighbour)
 *   32  identity (4): the sender's own, for replies and traces
 *   36  check (4): of the header but the two hop bytes, so that a packet that was damaged is not
 *       sent astray. Payloads are checked by whom they concern
 *
 * In memory a packet is this struct and bytes: beside it (pool), or where the link put them (a
 * ring of shared memory). `stored` bytes are there; the rest up to `size` are zeroes that nobody
 * needs to see, so that a simulated jumbo frame costs as little as a small one.
 *
 * A packet that stays in a process keeps its fields (`read`); one that came as bytes is parsed by
 * the node. On its way the node changes only hops and hops_left, in the struct: whoever makes bytes
 * of a packet calls packet_seal_hops first. What a service changes the node seals.
 *
 * A packet has one owner at a time. packet_done() gives it back to where it came from. */

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

struct key; /* keyspace.h */

#define PACKET_HEADER_SIZE 40
#define PACKET_PAYLOAD_MAX 8900
#define PACKET_SIZE_MAX    (PACKET_HEADER_SIZE + PACKET_PAYLOAD_MAX)
#define PACKET_VERSION     1
#define PORT_MAX           32 /* ports of a server */
#define PORT_NONE          UINT8_MAX
#define SERVER_MAX         UINT16_MAX /* servers of a cluster */

typedef uint32_t port_set; /* a bit each */

enum packet_kind {
    PACKET_TO_NEIGHBOUR, /* the server at the other end of the link, whoever it is */
    PACKET_TO_SERVER,
    PACKET_TO_KEY,
};

#define PACKET_KIND_MASK      0x03
#define PACKET_PRIORITY_SHIFT 2 /* three bits: 0 to 7, 7 goes first in a queue by priority */
#define PACKET_PRIORITY_MAX   7

struct packet_pool;

struct packet {
    struct packet *next; /* of a queue's list, or of the free ones; the owner's */
    struct packet *previous;
    struct packet_pool *pool; /* where it came from */
    uint8_t *bytes;           /* header and payload */
    uint32_t size;            /* on the wire, with the header */
    uint32_t stored;          /* of that in memory; at least the header */
    uint64_t order;           /* of arrival in its queue; a link's: when it arrives */
    /* The header as it was read, or as it will be written; packet_seal and packet_read. */
    uint16_t service;
    uint8_t kind;
    uint8_t priority;
    uint8_t hops_left;
    uint8_t hops;
    uint8_t port_in; /* PORT_NONE: made here */
    uint8_t slot;    /* of the service here; set by the node */
    bool read;       /* the fields are those of the header: no need to parse it again */
    bool changed;    /* they are not any more: to be sealed before it travels on */
    bool unseen;     /* it went to limbo as it came: its service here was not asked yet */
    node_id source;
    node_id server; /* of PACKET_TO_SERVER; of PACKET_TO_KEY who was its root when it was queued */
    port_set ports; /* it may take; set when it is queued */
    uint32_t identity;
    uint64_t route; /* of PACKET_TO_KEY: the last 64 bits of the key */
    uint64_t trail; /* the simulator's: which packet this is to its checkers; else 0 */
};

struct packet_pool_ops {
    /* A packet with room for `stored` bytes, zeroed header fields; NULL: none left. */
    struct packet *(*take)(struct packet_pool *pool, uint32_t stored);
    void (*give)(struct packet_pool *pool, struct packet *packet);
};

struct packet_pool {
    const struct packet_pool_ops *ops;
    uint64_t live; /* taken and not given back */
};

static inline struct packet *packet_take(struct packet_pool *pool, uint32_t stored)
{
    return pool->ops->take(pool, stored);
}

static inline void packet_done(struct packet *packet)
{
    packet->pool->ops->give(packet->pool, packet);
}

static inline uint8_t *packet_payload(const struct packet *packet)
{
    return packet->bytes + PACKET_HEADER_SIZE;
}

/* Writes the header from the struct's fields, all of it but the destination's key, which stands in
 * the bytes already, and the check. */
void packet_seal(struct packet *packet);
/* Only the two hop bytes: what changes on the way. */
static inline void packet_seal_hops(struct packet *packet)
{
    packet->bytes[4] = packet->hops_left;
    packet->bytes[5] = packet->hops;
}

/* How many of the bytes of a frame are its next packet, as its header says; all of them if the rest
 * is too short for a header or for what the header says, which packet_read then refuses. */
static inline uint32_t packet_extent(const uint8_t *bytes, uint32_t left)
{
    if (left < PACKET_HEADER_SIZE)
        return left;
    uint32_t size = PACKET_HEADER_SIZE + ((uint32_t)bytes[6] << 8 | bytes[7]);
    return size < left ? size : left;
}

/* Reads the header into the struct's fields. `stored` bytes are there; size is set from the header.
 * False: damaged, another version, or longer than `most` bytes. */
bool packet_read(struct packet *packet, uint32_t most);

void packet_set_key(struct packet *packet, const struct key *key); /* kind, key, route */
void packet_get_key(const struct packet *packet, struct key *key);
void packet_set_server(struct packet *packet, node_id server);

/* A pool of equal buffers in memory of its own, for whoever drives nodes; one thread. */
struct packet_pool *packet_pool_open(uint32_t count, uint32_t stored); /* NULL: no memory */
void packet_pool_close(struct packet_pool *pool);                      /* all are back */
