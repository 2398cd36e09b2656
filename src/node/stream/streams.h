#pragma once
/* streams: the streams of one service on one server (weft/stream.h), without the node around them.
 * Pure.
 *
 * A stream is one direction. The sender asks with OPEN, addressed to a server or to a key; the
 * receiver answers with ACCEPT, which names its server, run and stream. From then on both ends are
 * bound to each other: each packet names both ends, and a packet that names an end that does not
 * exist is answered with END. The service at the receiver learns of the stream by the first packet
 * that names the receiver's end, so the service never sees an old OPEN.
 *
 * An end that hears nothing for a second sends PROBE; the other answers ALIVE, or END if it does
 * not know the stream. An end that hears nothing for the time `patience` ends the stream.
 *
 * A stream to a key is bound to the root that accepted it. If the sender sees another root, or the
 * root finds that it no longer is the root, the sender opens the stream again, from the place that
 * the old root's service had acknowledged, or ends it.
 *
 * Bytes wait in the memory of the service. streams_poll makes a packet when a port has room; its
 * bytes stay in the service's memory (packet->piece) if the world gathers them.
 *
 *   segment    the packets            transit     the sender's window
 *   moments    timers                 assembly   the receiver's window
 *   turns      shares by weight       ends.c     how streams begin and end
 *   outgoing.c, incoming.c            the two ends
 *   calls.c    the calls of a service digest     checks of bytes
 *   piece      bytes that a port takes from the memory of a service
 *
 * The node calls these functions; streams_host is what they need of the node. No function of the
 * service is called from inside a function that the service called. */

#include <weft/stream.h>

#include "base/env.h"
#include "keyspace/keyspace.h"
#include "node/packet.h"
#include "node/planted.h"

struct streams;

struct streams_host {
    /* Makes a packet with room for `stored` bytes of payload that will carry `size`; NULL: none
     * left. */
    struct packet *(*make)(struct streams_host *host, uint32_t size, uint32_t stored);
    /* Sends a packet; takes it. */
    void (*send)(struct streams_host *host, struct packet *packet, node_id server);
    void (*send_key)(struct streams_host *host, struct packet *packet, const struct key *key);
    /* Sets the destination of a packet that streams_poll returns. */
    void (*address)(struct streams_host *host, struct packet *packet, node_id server);
    /* First ports of the shortest paths; 0: unreachable. */
    port_set (*ports)(struct streams_host *host, node_id server);
    /* The root of a key as far as is known; NODE_NONE: undecided. */
    node_id (*root)(struct streams_host *host, const struct key *key);
    bool (*is_root)(struct streams_host *host, uint64_t route);
    /* So many packets of the service wait here that more would soon be dropped. */
    bool (*is_crowded)(struct streams_host *host);
    /* The service used that function wrongly, for that reason. */
    void (*mistake)(struct streams_host *host, const char *function, const char *reason);
    /* streams_poll has packets for these ports. */
    void (*wake)(struct streams_host *host, port_set ports);
    node_id here;
    uint32_t server_count;
    bool gathers; /* the bytes of a packet may be elsewhere (packet->piece) */
    env_nsec now; /* set before each call of a function of streams */
    struct weft_self *self;
    uint64_t faults; /* bugs that a test planted (node/planted.h) */
};

/* Everything that happened so far. */
struct streams_counts {
    uint64_t opened, accepted, ended;
    uint64_t segments, resent; /* sent, with the resent ones */
    uint64_t copied;           /* of those: the bytes were copied before a port took them */
    uint64_t received, repeats, damaged;
    uint64_t moved;
};

/* Bytes of memory that streams_init needs for its structs (streams_size), and for the bytes that it
 * keeps for incoming streams (streams_window_size). Both are aligned to 64. The second memory is
 * touched only when it is needed. */
size_t streams_size(const struct weft_streams *settings);
size_t streams_window_size(const struct weft_streams *settings);
/* Checks the settings; NULL: they are good, else what is wrong. */
const char *streams_refused(const struct weft_streams *settings);
/* `run` is random and not 0. All is borrowed; the small memory is zeroed. */
struct streams *streams_init(void *memory, void *window, const struct weft_streams *settings,
                             struct streams_host *host, uint64_t run);

/* A packet of a stream arrived, for this server or for a key; the caller keeps the packet. */
void streams_receive(struct streams *streams, const struct packet *packet);
/* The next packet for that port, with its header at most `room` bytes; NULL: see egress_poll. */
struct packet *streams_poll(struct streams *streams, unsigned port, uint32_t room);
/* Does what is due; call it at streams_next. */
void streams_run(struct streams *streams);
env_nsec streams_next(const struct streams *streams);
/* Paths or roots have changed. */
void streams_routes(struct streams *streams);
const struct streams_counts *streams_count(const struct streams *streams);
uint32_t streams_live(const struct streams *streams); /* streams in use, of both directions */
void streams_check(const struct streams *streams);    /* asserts invariants */

/* ---- calls of the service: see weft/stream.h ---- */

int streams_open(struct streams *streams, node_id server, const struct key *key,
                 const struct weft_stream_options *options, struct weft_stream **out);
int streams_send(struct streams *streams, struct weft_stream *stream, struct weft_call *call,
                 const void *bytes, uint64_t size, bool more);
int streams_finish(struct streams *streams, struct weft_stream *stream);
void streams_cancel(struct streams *streams, struct weft_stream *stream);
void streams_acknowledge(struct streams *streams, struct weft_stream *stream, uint64_t place);
void streams_resume(struct streams *streams, struct weft_stream *stream);
void streams_deadline(struct streams *streams, struct weft_stream *stream, env_nsec deadline);
