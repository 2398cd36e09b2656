#pragma once
/* streams_world: the streams of a few servers and a network between them that loses, repeats,
 * delays and reorders packets, for the tests of streams. The service at each server sends messages
 * whose bytes follow from the subject of the stream, the number of the message and the offset, and
 * checks every byte that arrives. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/test.h"
#include "node/stream/piece.h"
#include "node/stream/streams_impl.h"

#define NET_SERVERS  4
#define NET_PORTS    2
#define NET_FLYING   20000
#define NET_SUBJECTS 512
#define NET_MESSAGES 64 /* of a stream at most */
#define NET_CALLS    4  /* of a stream under way at once */
#define NET_SIZE_MAX 300000
#define MSEC         1000000LL

struct net_flying {
    env_nsec at;
    uint64_t order;
    struct packet *packet;
    node_id from, to;
};

struct net_letter {
    struct weft_call call;
    struct net_sender *sender;
    uint8_t *bytes;
};

/* An outgoing stream as its service knows it. */
struct net_sender {
    struct weft_stream *stream;
    uint64_t subject;
    uint32_t wanted; /* messages in all */
    uint32_t sent;   /* handed to the stream */
    uint32_t done;   /* acknowledged */
    uint32_t failed; /* ended with an error */
    uint32_t moved;
    uint64_t moved_messages;
    unsigned reason; /* 0: open */
    node_id at;
    struct net_letter letters[NET_CALLS];
};

struct net_receiver {
    uint64_t subject, message, offset;
    bool stalled;
    uint64_t place; /* explicit acknowledgement that is still to come */
    uint64_t begun; /* the offset at which the message began to arrive here */
    uint8_t *bytes; /* of the message that arrives: NET_SIZE_MAX; NULL: without target() */
};

struct net_server {
    struct streams_host host;
    struct net *net;
    struct streams *streams;
    void *memory, *window;
    env_nsec free_at[NET_PORTS];
    uint64_t runs;
    unsigned asked; /* whether it is crowded */
};

struct net {
    struct weft_streams settings;
    struct net_server servers[NET_SERVERS];
    struct packet_pool *pool;
    struct rng rng;
    env_nsec now;
    struct net_flying *flying;
    uint32_t flying_count;
    uint64_t order;
    uint32_t loss, repeat; /* in thousandths */
    uint32_t damage;       /* the same */
    env_nsec delay, jitter;
    env_nsec packet_time; /* a port sends one packet in this time */
    node_id root;         /* of all keys */
    bool cut[NET_SERVERS];
    uint32_t stall; /* in thousandths: how often a service takes less than all */
    bool stalled;   /* a service has taken less than all */
    bool hold;      /* ... and does not go on */
    bool unchecked; /* bytes may be wrong */
    struct net_sender senders[NET_SUBJECTS]; /* by subject */
    uint32_t sender_count;
    uint32_t complete[NET_SUBJECTS][NET_MESSAGES]; /* how often each message arrived whole */
    uint32_t ended_in, opened_in;
    uint64_t bytes_of[NET_SUBJECTS]; /* arrived */
    uint64_t copied;                 /* packets whose bytes were copied by the sender */
    uint32_t unsent;                 /* in thousandths: packets that no port takes */
    bool at_once;                    /* services acknowledge from inside arrived() */
    uint32_t targeted;               /* pieces that arrived where target() said */
    uint32_t mistakes;               /* of services */
    const char *mistake;             /* the last one */
};

/* ---- messages ---- */

static inline uint8_t net_byte(uint64_t subject, uint64_t message, uint64_t offset)
{
    return (uint8_t)(hash_mix(subject << 32 ^ message << 16 ^ (offset >> 3)) >> 8 * (offset & 7));
}

/* From empty to several windows. */
static inline uint64_t net_size(uint64_t subject, uint64_t message)
{
    uint64_t random = hash_mix(subject * 31 + message * 7 + 3);
    switch (random % 5) {
    case 0:
        return random >> 8 & 1;
    case 1:
        return random >> 8 & 63;
    case 2:
        return SEGMENT_BYTES_MAX - 1 + (random >> 8) % 3;
    case 3:
        return (random >> 8) % 40000;
    default:
        return (random >> 8) % NET_SIZE_MAX;
    }
}

/* ---- the service ---- */

static inline struct net_server *net_server_of(struct weft_self *self)
{
    return (struct net_server *)(void *)self;
}

static inline void net_more(struct net_sender *sender);

static inline void net_done(struct weft_self *self, struct weft_call *call)
{
    struct net_letter *letter = container_of(call, struct net_letter, call);
    struct net_sender *sender = letter->sender;
    const struct net *net = net_server_of(self)->net;
    if (call->result < 0) {
        sender->failed++;
    } else {
        assert_true(net->complete[sender->subject][sender->done] > 0);
        sender->done++;
    }
    free(letter->bytes);
    letter->bytes = NULL;
    if (!sender->reason && call->result >= 0)
        net_more(sender);
}

static struct net *net_of_sender; /* the net that is being tested: tests use one at a time */

static inline void net_more(struct net_sender *sender)
{
    struct net_server *server = &net_of_sender->servers[sender->at];
    while (sender->sent < sender->wanted) {
        struct net_letter *letter = NULL;
        for (unsigned i = 0; i < NET_CALLS && !letter; i++)
            letter = sender->letters[i].bytes ? NULL : &sender->letters[i];
        if (!letter)
            return;
        uint64_t size = net_size(sender->subject, sender->sent);
        letter->bytes = malloc(size + 1);
        for (uint64_t i = 0; i < size; i++)
            letter->bytes[i] = net_byte(sender->subject, sender->sent, i);
        letter->sender = sender;
        letter->call.done = net_done;
        int result = streams_send(server->streams, sender->stream, &letter->call, letter->bytes,
                                  size, false);
        if (result < 0) {
            free(letter->bytes);
            letter->bytes = NULL;
            return;
        }
        sender->sent++;
    }
    (void)streams_finish(server->streams, sender->stream);
}

/* Some pieces have no target, among them those that a damaged packet invents. */
static inline void *net_target(struct weft_self *self, struct weft_stream *stream, uint64_t message,
                               uint64_t offset, uint32_t size)
{
    struct net_receiver *receiver = weft_stream_context(stream);
    assert_non_null(receiver);
    assert_true(size > 0 && size <= SEGMENT_BYTES_MAX);
    assert_true(receiver->message == UINT64_MAX || receiver->message == message);
    assert_true(receiver->message == UINT64_MAX || receiver->offset == offset);
    bool fits = offset + size <= NET_SIZE_MAX && hash_mix(message ^ offset << 8) % 8;
    return fits ? receiver->bytes + offset : NULL;
}

/* Nothing has spoiled the bytes that this message has received so far. */
static inline void net_unspoiled(const struct net *net, const struct net_receiver *receiver)
{
    if (!receiver->bytes || net->unchecked)
        return;
    for (uint64_t i = receiver->begun; i < receiver->offset; i++)
        assert_int_equal(receiver->bytes[i], net_byte(receiver->subject, receiver->message, i));
}

static inline void net_put(struct net *net, struct net_receiver *receiver,
                           const struct weft_stream_piece *piece, uint32_t take)
{
    if (!receiver->bytes || piece->offset + piece->size > NET_SIZE_MAX)
        return;
    if (piece->bytes == receiver->bytes + piece->offset)
        net->targeted++;
    else if (take)
        memcpy(receiver->bytes + piece->offset, piece->bytes, take);
}

static inline void net_opened(struct weft_self *self, struct weft_stream *stream)
{
    struct net *net = net_server_of(self)->net;
    struct net_receiver *receiver = calloc(1, sizeof *receiver + NET_SIZE_MAX);
    receiver->subject = weft_stream_subject(stream);
    receiver->message = UINT64_MAX; /* the first piece says */
    receiver->bytes = net->settings.target ? (uint8_t *)(receiver + 1) : NULL;
    weft_stream_set_context(stream, receiver);
    net->opened_in++;
}

static inline uint32_t net_arrived(struct weft_self *self, struct weft_stream *stream,
                                   const struct weft_stream_piece *piece)
{
    struct net *net = net_server_of(self)->net;
    struct net_receiver *receiver = weft_stream_context(stream);
    assert_non_null(receiver);
    if (receiver->message == UINT64_MAX) {
        receiver->message = piece->message;
        receiver->offset = receiver->begun = piece->offset;
    }
    assert_int_equal(piece->message, receiver->message);
    assert_int_equal(piece->offset, receiver->offset);
    uint32_t take = piece->size;
    if (piece->size && rng_below(&net->rng, 1000) < net->stall) {
        take = (uint32_t)rng_below(&net->rng, piece->size);
        receiver->stalled = net->stalled = true;
    }
    const uint8_t *bytes = piece->bytes;
    for (uint32_t i = 0; i < take && !net->unchecked; i++)
        assert_int_equal(bytes[i], net_byte(receiver->subject, piece->message, piece->offset + i));
    net_put(net, receiver, piece, take);
    receiver->offset += take;
    net->bytes_of[receiver->subject] += take;
    if (take == piece->size && piece->last) {
        assert_int_equal(receiver->offset, net_size(receiver->subject, piece->message));
        net_unspoiled(net, receiver);
        net->complete[receiver->subject][piece->message]++;
        receiver->message++;
        receiver->offset = receiver->begun = 0;
        receiver->place = net->at_once ? 0 : piece->place;
        if (net->at_once)
            streams_acknowledge(net_server_of(self)->streams, stream, piece->place);
    }
    return take;
}

static inline void net_moved(struct weft_self *self, struct weft_stream *stream, uint64_t messages)
{
    struct net_sender *sender = weft_stream_context(stream);
    sender->moved++;
    sender->moved_messages = messages;
    assert_int_equal(messages, sender->done);
}

static inline void net_ended(struct weft_self *self, struct weft_stream *stream,
                             enum weft_stream_reason reason)
{
    struct net *net = net_server_of(self)->net;
    if (weft_stream_is_incoming(stream)) {
        struct net_receiver *receiver = weft_stream_context(stream);
        net_unspoiled(net, receiver);
        free(receiver);
        net->ended_in++;
        return;
    }
    struct net_sender *sender = weft_stream_context(stream);
    for (unsigned i = 0; i < NET_CALLS; i++)
        assert_null(sender->letters[i].bytes); /* each call was done */
    sender->reason = reason;
    sender->stream = NULL;
}

/* ---- the network ---- */

static inline struct net_server *net_host(struct streams_host *host)
{
    return container_of(host, struct net_server, host);
}

static inline struct packet *net_make(struct streams_host *host, uint32_t size, uint32_t stored)
{
    struct packet *packet = packet_take(net_host(host)->net->pool, PACKET_SIZE_MAX);
    if (!packet)
        return NULL;
    packet->size = PACKET_HEADER_SIZE + size;
    packet->stored = PACKET_HEADER_SIZE + stored;
    packet->source = host->here;
    return packet;
}

static inline void net_fly(struct net *net, struct packet *packet, node_id from, node_id to)
{
    bool lost = rng_below(&net->rng, 1000) < net->loss || net->cut[from] || net->cut[to];
    if (lost || net->flying_count == NET_FLYING) {
        packet_done(packet);
        return;
    }
    env_nsec at = net->now + net->delay;
    if (from == to)
        at = net->now;
    else if (net->jitter)
        at += (env_nsec)rng_below(&net->rng, (uint64_t)net->jitter);
    net->flying[net->flying_count++] = (struct net_flying){at, net->order++, packet, from, to};
}

/* Lets a packet fly, perhaps twice, perhaps damaged. */
static inline void net_leave(struct net *net, struct packet *packet, node_id from, node_id to)
{
    if (net->unsent && rng_below(&net->rng, 1000) < net->unsent) {
        packet_done(packet); /* the port went down when it had asked for the packet */
        return;
    }
    net->copied += !packet->piece && packet->size > 4000;
    piece_gather(packet);
    if (rng_below(&net->rng, 1000) < net->repeat) {
        struct packet *copy = packet_take(net->pool, PACKET_SIZE_MAX);
        if (copy) {
            uint8_t *bytes = copy->bytes;
            *copy = *packet;
            copy->bytes = bytes;
            memcpy(bytes, packet->bytes, packet->size);
            net_fly(net, copy, from, to);
        }
    }
    if (rng_below(&net->rng, 1000) < net->damage && packet->size > PACKET_HEADER_SIZE) {
        uint64_t bit = rng_below(&net->rng, 8 * (uint64_t)(packet->size - PACKET_HEADER_SIZE));
        packet_payload(packet)[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    net_fly(net, packet, from, to);
}

static inline void net_send(struct streams_host *host, struct packet *packet, node_id server)
{
    packet->kind = PACKET_TO_SERVER;
    net_leave(net_host(host)->net, packet, host->here, server);
}

static inline void net_send_key(struct streams_host *host, struct packet *packet,
                                const struct key *key)
{
    struct net *net = net_host(host)->net;
    packet_set_key(packet, key);
    net_leave(net, packet, host->here, net->root);
}

static inline void net_address(struct streams_host *host, struct packet *packet, node_id server)
{
    packet->kind = PACKET_TO_SERVER;
    packet->server = server;
}

static inline port_set net_ports(struct streams_host *host, node_id server)
{
    return (1u << NET_PORTS) - 1;
}

static inline node_id net_root(struct streams_host *host, const struct key *key)
{
    return net_host(host)->net->root;
}

static inline bool net_is_crowded(struct streams_host *host)
{
    return ++net_host(host)->asked % 3 == 0; /* this must change nothing but moments */
}

static inline bool net_is_root(struct streams_host *host, uint64_t route)
{
    return net_host(host)->net->root == host->here;
}

static inline void net_mistake(struct streams_host *host, const char *function, const char *reason)
{
    struct net *net = net_host(host)->net;
    net->mistakes++;
    net->mistake = reason;
}

static inline void net_wake(struct streams_host *host, port_set ports)
{
}

/* ---- time ---- */

static inline void net_clock(struct net *net)
{
    for (node_id id = 0; id < NET_SERVERS; id++)
        net->servers[id].host.now = net->now;
}

/* Steps a server: what is due, then its ports. */
static inline void net_step(struct net *net, node_id id)
{
    struct net_server *server = &net->servers[id];
    for (unsigned i = 0; i < 100 && streams_next(server->streams) <= net->now; i++)
        streams_run(server->streams);
    for (unsigned port = 0; port < NET_PORTS; port++) {
        while (server->free_at[port] <= net->now) {
            struct packet *packet = streams_poll(server->streams, port, PACKET_SIZE_MAX);
            if (!packet)
                break;
            server->free_at[port] = net->now + net->packet_time;
            net_leave(net, packet, id, packet->server);
        }
    }
}

/* Calls back for each incoming stream of a server. */
static inline void net_each_incoming(struct net_server *server,
                                     void (*each)(struct net_server *server,
                                                  struct weft_stream *stream))
{
    for (uint32_t i = 0; i < server->streams->count; i++) {
        struct weft_stream *stream = &server->streams->streams[i];
        if (stream->is_incoming && stream->state == STREAM_OPEN && stream->context)
            each(server, stream);
    }
}

static inline void net_resume_one(struct net_server *server, struct weft_stream *stream)
{
    struct net *net = server->net;
    struct net_receiver *receiver = stream->context;
    if (receiver->stalled && !rng_below(&net->rng, 3)) {
        receiver->stalled = false;
        streams_resume(server->streams, stream);
    }
    if (net->settings.acknowledges && receiver->place && !rng_below(&net->rng, 10)) {
        streams_acknowledge(server->streams, stream, receiver->place);
        receiver->place = 0;
    }
}

/* Some services that took less than all, or acknowledge later, do so now. */
static inline void net_resume(struct net *net)
{
    if (net->hold || (!net->stalled && !net->settings.acknowledges))
        return;
    for (node_id id = 0; id < NET_SERVERS; id++)
        net_each_incoming(&net->servers[id], net_resume_one);
}

static inline int net_first(const struct net *net)
{
    int first = -1;
    for (uint32_t i = 0; i < net->flying_count; i++)
        if (first < 0 || net->flying[i].at < net->flying[first].at ||
            (net->flying[i].at == net->flying[first].at &&
             net->flying[i].order < net->flying[first].order))
            first = (int)i;
    return first;
}

static inline void net_run(struct net *net, env_nsec length)
{
    env_nsec until = net->now + length;
    while (net->now < until) {
        int first = net_first(net);
        env_nsec next = first >= 0 ? net->flying[first].at : until;
        for (node_id id = 0; id < NET_SERVERS; id++) {
            env_nsec due = streams_next(net->servers[id].streams);
            next = due < next ? due : next;
            for (unsigned port = 0; port < NET_PORTS; port++)
                if (net->servers[id].free_at[port] > net->now &&
                    net->servers[id].free_at[port] < next)
                    next = net->servers[id].free_at[port];
        }
        net->now = next > net->now ? next : net->now;
        if (net->now > until)
            net->now = until;
        net_clock(net);
        if (first >= 0 && net->flying[first].at <= net->now) {
            struct net_flying flying = net->flying[first];
            net->flying[first] = net->flying[--net->flying_count];
            streams_receive(net->servers[flying.to].streams, flying.packet);
            packet_done(flying.packet);
        }
        net_resume(net);
        for (node_id id = 0; id < NET_SERVERS; id++)
            net_step(net, id);
        if (first < 0 && next >= until)
            break;
    }
    net->now = until;
    net_clock(net);
}

/* ---- beginning and end ---- */

static inline void net_start(struct net *net, node_id id)
{
    struct net_server *server = &net->servers[id];
    server->net = net;
    server->memory = calloc(1, streams_size(&net->settings));
    server->window = malloc(streams_window_size(&net->settings));
    server->host = (struct streams_host){
        .make = net_make,
        .send = net_send,
        .send_key = net_send_key,
        .address = net_address,
        .ports = net_ports,
        .root = net_root,
        .is_root = net_is_root,
        .is_crowded = net_is_crowded,
        .mistake = net_mistake,
        .wake = net_wake,
        .here = id,
        .server_count = NET_SERVERS,
        .gathers = true,
        .now = net->now,
        .self = (struct weft_self *)(void *)server,
    };
    server->streams = streams_init(server->memory, server->window, &net->settings, &server->host,
                                   hash_mix(((uint64_t)id << 32) + ++server->runs));
}

static inline void net_forget(struct net_server *server, struct weft_stream *stream)
{
    free(stream->context);
}

/* The server ends, with its service. */
static inline void net_crash(struct net *net, node_id id)
{
    struct net_server *server = &net->servers[id];
    net_each_incoming(server, net_forget);
    for (uint32_t i = 0; i < server->streams->count; i++) { /* ended() was not called yet */
        struct weft_stream *stream = &server->streams->streams[i];
        if (stream->is_incoming && stream->state == STREAM_ENDING)
            free(stream->context);
    }
    for (uint32_t i = 0; i < net->sender_count; i++) {
        struct net_sender *sender = &net->senders[i];
        if (sender->at != id || sender->reason)
            continue;
        for (unsigned letter = 0; letter < NET_CALLS; letter++) {
            free(sender->letters[letter].bytes);
            sender->letters[letter].bytes = NULL;
        }
        sender->reason = UINT32_MAX;
    }
    free(server->memory);
    free(server->window);
}

static inline struct net *net_open(uint64_t seed, const struct weft_streams *settings)
{
    struct net *net = calloc(1, sizeof *net);
    net->settings = *settings;
    net->settings.opened = net_opened;
    net->settings.arrived = net_arrived;
    net->settings.moved = net_moved;
    net->settings.ended = net_ended;
    net->pool = packet_pool_open(4000, PACKET_SIZE_MAX);
    net->flying = calloc(NET_FLYING, sizeof *net->flying);
    net->rng = rng_make(seed, 1);
    net->now = 1000 * MSEC;
    net->delay = MSEC / 20;
    net->packet_time = MSEC / 100;
    net_of_sender = net;
    for (node_id id = 0; id < NET_SERVERS; id++)
        net_start(net, id);
    return net;
}

/* Opens a stream that will carry so many messages. */
static inline struct net_sender *net_stream(struct net *net, node_id from, node_id to, bool key,
                                            uint32_t messages,
                                            const struct weft_stream_options *options)
{
    struct net_sender *sender = &net->senders[net->sender_count];
    struct weft_stream_options own = options ? *options : (struct weft_stream_options){0};
    struct key any = {{0}};
    assert_true(net->sender_count < NET_SUBJECTS && messages <= NET_MESSAGES);
    *sender = (struct net_sender){.subject = net->sender_count++, .wanted = messages, .at = from};
    own.subject = sender->subject;
    if (streams_open(net->servers[from].streams, to, key ? &any : NULL, &own, &sender->stream)) {
        sender->reason = UINT32_MAX;
        return sender;
    }
    weft_stream_set_context(sender->stream, sender);
    net_more(sender);
    return sender;
}

static inline void net_close(struct net *net)
{
    for (node_id id = 0; id < NET_SERVERS; id++) {
        streams_check(net->servers[id].streams);
        net_crash(net, id);
    }
    while (net->flying_count)
        packet_done(net->flying[--net->flying_count].packet);
    packet_pool_close(net->pool); /* asserts that all packets are back */
    free(net->flying);
    free(net);
}
