#pragma once
/* packet: the unit that travels from server to server, and its memory.
 *
 * On the wire a packet is a header of 40 bytes and at most 8,900 of payload; numbers are most
 * significant byte first (docs/protocol.md):
 *
 *    0  version (1)           1  kind, priority, stream, marked
 *    2  service (2)           4  hops left                5  hops taken
 *    6  payload bytes (2)     8  source server (4)
 *   12  destination: a key of 20 bytes, or a server (4) and zeroes, or zeroes (a neighbour)
 *   32  identity (4): the sender's own, for replies and traces
 *   36  check (4): covers the header except the two hop bytes, so that a damaged packet does not go
 *       astray. The receiving service checks the payload
 *
 * In memory a packet is this struct and its bytes, which are beside it (pool) or where the link put
 * them (a ring of shared memory). `stored` bytes are present; the rest up to `size` are zeroes that
 * no program reads, so that a simulated jumbo frame costs as little as a small one. If `piece` is
 * set, those bytes are there instead: only from the moment when a port asks for a packet until the
 * port has sent it (env.h: gathers), because the memory belongs to a service. The port calls a
 * function of stream/piece.h, which makes the checks of the packet.
 *
 * A packet that stays in a process keeps its fields (`read`); the node parses a packet that came as
 * bytes. A node that forwards a packet changes only hops and hops_left, in the struct: code that
 * writes a packet out as bytes calls packet_seal_hops first. The node seals a packet that a service
 * changed.
 *
 * A packet has one owner at a time. packet_done() returns it to its pool. */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/env.h"

struct key; /* keyspace.h */

#define PACKET_HEADER_SIZE 40
#define PACKET_PAYLOAD_MAX 8900
#define PACKET_SIZE_MAX    (PACKET_HEADER_SIZE + PACKET_PAYLOAD_MAX)
#define PACKET_VERSION     1
#define PORT_MAX           32 /* ports per server */
#define PORT_NONE          UINT8_MAX
#define SERVER_MAX         UINT16_MAX /* servers per cluster */

typedef uint32_t port_set; /* a bit each */

enum packet_kind {
    PACKET_TO_NEIGHBOUR, /* the server at the other end of the link, whichever it is */
    PACKET_TO_SERVER,
    PACKET_TO_KEY,
};

#define PACKET_KIND_MASK      0x03
#define PACKET_PRIORITY_SHIFT 2 /* three bits: 0 to 7, 7 goes first in a queue by priority */
#define PACKET_PRIORITY_MAX   7
#define PACKET_STREAM         0x20 /* of a stream (weft/stream.h) */
#define PACKET_MARKED         0x40 /* of a stream: it waited in a long queue on its way */

/* How a service of this server has the packet. */
enum packet_kept {
    PACKET_FREE,   /* it does not */
    PACKET_HELD,   /* it made the packet or got it, and neither sent nor released it */
    PACKET_LOOPED, /* it sent the packet to this very server, and will get it in the next turn */
};

struct packet_pool;
struct weft_self; /* node_impl.h */

struct packet {
    struct packet *next; /* in a queue's list or the free list; belongs to the owner */
    struct packet *previous;
    struct packet_pool *pool; /* where it came from */
    uint8_t *bytes;           /* header and payload */
    uint32_t size;            /* on the wire, with the header */
    uint32_t stored;          /* bytes of that in memory; at least the header */
    union {
        uint64_t order;   /* of arrival in its queue; on a link: the moment when it arrives */
        uint64_t *digest; /* with a piece, which is never queued: where its digest goes */
    };
    /* The header's fields, as packet_read reads and packet_seal writes them. */
    uint16_t service;
    uint8_t kind;
    uint8_t priority;
    uint8_t hops_left;
    uint8_t hops;
    uint8_t port_in; /* PORT_NONE: made on this server */
    uint8_t slot;    /* of its service on this server; set by the node */
    bool read;       /* the fields are those of the header: no need to parse it again */
    bool changed;    /* the fields have changed: seal it before it travels on */
    bool unseen;     /* it went to limbo on arrival: its service here has not intercepted it yet */
    uint8_t kept;    /* enum packet_kept; if not 0, it counts in the share of `keeper` */
    bool stream;     /* PACKET_STREAM: for the streams of its service, not for deliver() */
    bool marked;     /* PACKET_MARKED */
    uint16_t room;   /* while kept: the largest `stored` that weft_set_size allows */
    node_id source;
    node_id server; /* of PACKET_TO_SERVER the destination; of PACKET_TO_KEY the root when it was
                     * queued */
    port_set ports; /* by which it may leave; set when it is queued */
    uint32_t identity;
    uint64_t route;           /* of PACKET_TO_KEY: the last 64 bits of the key */
    const uint8_t *piece;     /* NULL, or the bytes that follow the stored ones; borrowed */
    uint64_t trail;           /* the simulator's number of this packet for its checkers; else 0 */
    struct weft_self *keeper; /* the service that holds it, or held it last; NULL: none did */
};

struct packet_pool_ops {
    /* Returns a packet with room for `stored` bytes and zeroed header fields; NULL: none left. */
    struct packet *(*take)(struct packet_pool *pool, uint32_t stored);
    void (*give)(struct packet_pool *pool, struct packet *packet);
};

struct packet_pool {
    const struct packet_pool_ops *ops;
    uint64_t live;      /* taken and not yet returned */
    uint64_t abandoned; /* of those: packets that services still held when their nodes closed */
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

/* Writes the header from the struct's fields, with the check. Only the destination key is not
 * written: it is in the bytes already. */
void packet_seal(struct packet *packet);
/* Writes only the two hop bytes, the ones that change on the way. */
static inline void packet_seal_hops(struct packet *packet)
{
    packet->bytes[4] = packet->hops_left;
    packet->bytes[5] = packet->hops;
}

/* The size of the next packet in a frame, as its header says. It is `left` if the rest is too short
 * for a header or for the size in the header; packet_read then rejects the packet. */
static inline uint32_t packet_extent(const uint8_t *bytes, uint32_t left)
{
    if (left < PACKET_HEADER_SIZE)
        return left;
    uint32_t size = PACKET_HEADER_SIZE + ((uint32_t)bytes[6] << 8 | bytes[7]);
    return size < left ? size : left;
}

/* Reads the header into the struct's fields. `stored` bytes are present; size is set from the
 * header. False: damaged, another version, or longer than `most` bytes. */
bool packet_read(struct packet *packet, uint32_t most);

void packet_set_key(struct packet *packet, const struct key *key); /* sets kind, key and route */
void packet_get_key(const struct packet *packet, struct key *key);
void packet_set_server(struct packet *packet, node_id server);

/* A pool of equal buffers with its own memory, for the driver of nodes; one thread. */
struct packet_pool *packet_pool_open(uint32_t count, uint32_t stored); /* NULL: no memory */
/* Asserts that all packets are back, except abandoned ones. */
void packet_pool_close(struct packet_pool *pool);
