#pragma once
/* service: code that runs on every server of a cluster and sees the packets on their way.
 *
 * A service is data: one `const struct weft_service` with a table of functions. It is compiled in,
 * or a shared object that exports it under the name `weft_service`:
 *
 *     weftd --service ./counter.so
 *
 * Each server runs an instance, with zeroed memory of the size it asked for. All its functions are
 * called by the node's one thread and must return soon: no waiting, no clock, no files, no threads,
 * no randomness but weft_random. So the same service runs in the simulator, and a seed replays it.
 *
 * Packets have one owner. deliver() gives you one: send it on, answer with it, weft_done() it, or
 * weft_refuse() it if it makes no sense.
 * intercept() lends you one: return WEFT_PASS and it travels on (changed if you changed it), or
 * WEFT_TAKEN and it is yours. Sending gives it away, also when sending fails.
 *
 * docs/guide/service.md explains examples/counter.c, a whole service. */

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API __attribute__((visibility("default")))

#define WEFT_SERVICE_VERSION 1 /* of this header; a plug-in made for another is refused */
#define WEFT_PAYLOAD_MAX     8900
#define WEFT_HEADER_SIZE     40 /* of a packet, before its payload */
#define WEFT_KEY_SIZE        20
#define WEFT_NOBODY          UINT32_MAX

typedef uint32_t weft_server; /* numbered from 0 as in the topology */

struct weft_key {
    uint8_t bytes[WEFT_KEY_SIZE]; /* highest first; the last eight route */
};

struct weft_self;   /* one service on one server */
struct weft_packet; /* use the functions below */
struct weft_report; /* what stats() writes to */

enum weft_verdict { WEFT_PASS, WEFT_TAKEN };

enum weft_queue {
    WEFT_QUEUE_FIFO,     /* first in first out; full: the newcomer is dropped */
    WEFT_QUEUE_PRIORITY, /* by weft_set_priority; full: the least goes */
    WEFT_QUEUE_NEWEST,   /* last in first out; full: the oldest is dropped */
    WEFT_QUEUE_OWN, /* the service's own: poll(); what passes or is sent waits as FIFO, and goes
                     * first */
};

/* Any may be NULL. */
struct weft_service_ops {
    /* Once, before anything else; a negative errno refuses to run. */
    int (*start)(struct weft_self *self);
    void (*stop)(struct weft_self *self);
    /* A packet for a key whose root we are, for this server, or from a neighbour. */
    void (*deliver)(struct weft_self *self, struct weft_packet *packet);
    /* A packet of this service passes: it is neither from here nor for here. */
    enum weft_verdict (*intercept)(struct weft_self *self, struct weft_packet *packet);
    /* WEFT_QUEUE_OWN: the next packet for that port, with its header at most `room` bytes, or NULL;
     * asked after weft_wake. The packet was addressed by weft_address_*. */
    struct weft_packet *(*poll)(struct weft_self *self, unsigned port, uint32_t room);
    /* A server can be reached now, and could not before; or the other way round. */
    void (*peer_up)(struct weft_self *self, weft_server server);
    void (*peer_down)(struct weft_self *self, weft_server server);
    void (*timer)(struct weft_self *self, uint64_t cookie);
    /* A program on this machine asks something; answer by weft_answer, now or later. */
    void (*request)(struct weft_self *self, uint64_t client, const void *bytes, uint32_t size);
    /* Says weft_stat() for each of its numbers. */
    void (*stats)(struct weft_self *self, struct weft_report *report);
    /* A program that asked something has hung up; its number is never given to another. */
    void (*gone)(struct weft_self *self, uint64_t client);
};

struct weft_service {
    uint32_t version; /* WEFT_SERVICE_VERSION */
    const char *name; /* as in `weft nodes --json`; letters, digits, - */
    uint16_t id;      /* the same everywhere; 1 to 255 are weft's own, yours are from 256 on */
    uint16_t weight;  /* share of a busy link; 0: 1 */
    enum weft_queue queue;
    uint32_t queue_packets; /* that may wait; 0: 256; at most 480,000 */
    uint32_t size;          /* bytes of memory of an instance */
    const void *local;      /* what other services on this server may call: weft_local */
    const struct weft_service_ops *ops;
};

/* ---- where we are ---- */

WEFT_API void *weft_memory(struct weft_self *self); /* of the instance, zeroed at the start */
WEFT_API weft_server weft_here(const struct weft_self *self);
WEFT_API uint32_t weft_server_count(const struct weft_self *self); /* planned, up or not */
WEFT_API int64_t weft_now(const struct weft_self *self);           /* nanoseconds; no wall's time */
WEFT_API uint64_t weft_random(struct weft_self *self);
/* More memory, zeroed and freed with the node; only in start(). NULL: none left. */
WEFT_API void *weft_allocate(struct weft_self *self, uint32_t size);
/* Called once with the cookie at that moment or soon after. -ENOSPC: 64 are set already. */
WEFT_API int weft_timer(struct weft_self *self, int64_t at, uint64_t cookie);
/* `local` of another service, by name; and that one's instance here. NULL: it does not run. */
WEFT_API const void *weft_local(struct weft_self *self, const char *name, struct weft_self **other);

/* ---- keys and servers ---- */

WEFT_API struct weft_key weft_key_of(const void *name, uint32_t size); /* SHA-1 */
/* The servers of a key that can be reached, in order: root, who is next if that fails, ... */
WEFT_API unsigned weft_servers(struct weft_self *self, const struct weft_key *key, weft_server *out,
                               unsigned most);
WEFT_API bool weft_is_root(struct weft_self *self,
                           const struct weft_key *key); /* is it ours now? */
WEFT_API bool weft_reaches(const struct weft_self *self, weft_server server);
WEFT_API unsigned weft_distance(const struct weft_self *self,
                                weft_server server); /* hops; UINT32_MAX */
WEFT_API unsigned weft_port_count(const struct weft_self *self);
/* Who is at the other end of a port, if the link is up; else WEFT_NOBODY. */
WEFT_API weft_server weft_neighbour(const struct weft_self *self, unsigned port);

/* ---- packets ---- */

/* With `size` bytes of payload, zeroed if few; NULL: none left (counted). */
WEFT_API struct weft_packet *weft_packet(struct weft_self *self, uint32_t size);
/* The same, but of the payload only the first `stored` bytes are in memory; the others travel as
 * zeroes. For benchmarks. */
WEFT_API struct weft_packet *weft_packet_hollow(struct weft_self *self, uint32_t size,
                                                uint32_t stored);
WEFT_API void weft_done(struct weft_packet *packet);
/* The same of one that makes no sense: counted among the drops of this server. */
WEFT_API void weft_refuse(struct weft_self *self, struct weft_packet *packet);

WEFT_API void *weft_payload(struct weft_packet *packet);
WEFT_API uint32_t weft_size(const struct weft_packet *packet); /* of the payload, in memory */
WEFT_API uint32_t
weft_size_sent(const struct weft_packet *packet); /* as it travels: hollow ones more */
/* Shortens it, or grows it up to what it was made with. */
WEFT_API void weft_set_size(struct weft_packet *packet, uint32_t size);
WEFT_API weft_server weft_source(const struct weft_packet *packet);
WEFT_API unsigned weft_hops(const struct weft_packet *packet); /* links it has crossed */
WEFT_API uint32_t weft_identity(const struct weft_packet *packet);
WEFT_API void weft_set_identity(struct weft_packet *packet, uint32_t identity);
WEFT_API void weft_set_priority(struct weft_packet *packet,
                                unsigned priority); /* 0 to 7, the first */
WEFT_API bool weft_is_for_key(const struct weft_packet *packet, struct weft_key *key);
WEFT_API unsigned weft_port_in(const struct weft_packet *packet); /* UINT32_MAX: made here */

/* ---- sending ---- */

/* All take the packet. 0, or: -EHOSTUNREACH no way to that server, -ENOBUFS the queue is full;
 * then it was dropped and counted. To whom it is addressed may be a stop on the way: whoever gets
 * it there sends it on. The source stays who made it. */
WEFT_API int weft_send_key(struct weft_self *self, struct weft_packet *packet,
                           const struct weft_key *key);
WEFT_API int weft_send_server(struct weft_self *self, struct weft_packet *packet,
                              weft_server server);
/* Over that link to whoever is there. */
WEFT_API int weft_send_port(struct weft_self *self, struct weft_packet *packet, unsigned port);
/* Back to its source, who then sees us as the source; identity and payload as they are. */
WEFT_API int weft_reply(struct weft_self *self, struct weft_packet *packet);

/* WEFT_QUEUE_OWN: says where a packet goes without sending it, and over which ports it may leave
 * (a bit each; 0: no way). */
WEFT_API uint32_t weft_address_key(struct weft_self *self, struct weft_packet *packet,
                                   const struct weft_key *key);
WEFT_API uint32_t weft_address_server(struct weft_self *self, struct weft_packet *packet,
                                      weft_server server);
WEFT_API uint32_t weft_address_port(struct weft_self *self, struct weft_packet *packet,
                                    unsigned port);
/* Something waits for those ports: poll() will be asked. */
WEFT_API void weft_wake(struct weft_self *self, uint32_t ports);

/* ---- local programs, and numbers ---- */

/* 0; -EAGAIN: the program does not take its answers, and this one is dropped; -EPIPE: it is gone.
 */
WEFT_API int weft_answer(struct weft_self *self, uint64_t client, const void *bytes, uint32_t size);
WEFT_API void weft_stat(struct weft_report *report, const char *name, uint64_t value);

#ifdef __cplusplus
}
#endif
