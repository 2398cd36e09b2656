#pragma once
/* sim_socket: simulated TCP connections between services (weft/descriptor.h) and simulated clients.
 *
 * A test or a load generator plays the clients: it connects them to a listener of a simulated
 * server, sends bytes, and is called with the bytes that come back. It may also listen at an
 * address outside of the servers, to which services connect.
 *
 *     struct sim_socket *client = sim_client_connect(world_sockets(world), 3, 7400, &events, me);
 *     sim_client_send(client, "get x\n", 6); // at once: the bytes go when it is connected
 *     world_run(world, ...);                 // events.connected, events.received ...
 *     sim_client_reads(client, false);       // it does not read any more
 *     sim_client_reset(client);
 *
 * Each direction of a connection holds a limited number of bytes, in flight or unread. Bytes arrive
 * in order, after a delay, in pieces; a write may take fewer bytes than there is room for; and a
 * write may break the connection. All this is decided by the seed. As with TCP, closing an end with
 * unread bytes resets the connection, and bytes that arrived are lost with a reset.
 *
 * Deterministic; one thread. The end of a service belongs to its env_descriptor (base/env.h). The
 * end of a client belongs to this module, which frees it as struct sim_client_events says. */

#include <stddef.h>

#include "base/env.h"
#include "base/err.h"
#include "sim/engine/engine.h"

#define SIM_SOCKET_PARTS  1000000u                    /* chances are given in millionths */
#define SIM_SOCKET_BUFFER 65536u                      /* default of `buffer` */
#define SIM_SOCKET_DELAY  (20 * 1000 * PSEC_PER_NSEC) /* default of `delay` */

struct sim_socket_settings {
    psec delay;       /* from one end to the other; 0: the default */
    psec jitter;      /* up to this much more */
    uint32_t buffer;  /* bytes that a direction holds; 0: the default */
    uint32_t split;   /* chance that what is written arrives in several pieces */
    uint32_t shorten; /* chance that a write takes fewer bytes than there is room for, or none */
    uint32_t reset;   /* chance that a write breaks the connection */
};

struct sim_sockets; /* all sockets of a world */
struct sim_socket;  /* a listener, or one end of a connection */

/* What the sockets need of their world. */
struct sim_sockets_world {
    psec (*now)(void *owner);
    void (*due)(void *owner); /* sim_sockets_next has changed; also after each run */
    /* A descriptor has its turn (node_descriptor). False: its server is paused; see
     * sim_sockets_resume. */
    bool (*turn)(void *owner, node_id server, struct env_descriptor *descriptor, unsigned ready);
    void *owner;
};

MUST_CHECK enum err sim_sockets_open(struct sim_sockets **all,
                                     const struct sim_socket_settings *settings,
                                     const struct sim_sockets_world *world, uint64_t seed,
                                     struct why *why);
void sim_sockets_close(struct sim_sockets *all); /* ends of services were closed; NULL is allowed */
psec sim_sockets_next(const struct sim_sockets *all);             /* PSEC_NEVER: nothing is due */
void sim_sockets_run(struct sim_sockets *all);                    /* all that is due */
void sim_sockets_resume(struct sim_sockets *all, node_id server); /* it is not paused any more */

/* ---- the calls of services: as in struct env_descriptor_ops ---- */

MUST_CHECK int sim_socket_listen(struct sim_sockets *all, node_id server,
                                 struct env_descriptor *descriptor,
                                 const struct env_address *address);
MUST_CHECK int sim_socket_connect(struct sim_sockets *all, node_id server,
                                  struct env_descriptor *descriptor,
                                  const struct env_address *address);
int sim_socket_result(const struct env_descriptor *descriptor);
MUST_CHECK int sim_socket_accept(struct env_descriptor *listener,
                                 struct env_descriptor *descriptor);
int64_t sim_socket_read(struct env_descriptor *descriptor, void *bytes, uint32_t size);
int64_t sim_socket_write(struct env_descriptor *descriptor, const void *bytes, uint32_t size);
int sim_socket_finish(const struct env_descriptor *descriptor);
int sim_socket_port(const struct env_descriptor *descriptor);
void sim_socket_changed(struct env_descriptor *descriptor);
bool sim_socket_close(struct env_descriptor *descriptor); /* true */

/* ---- clients ---- */

/* Called from sim_sockets_run. Each may be NULL. These functions may use and close any client. */
struct sim_client_events {
    /* 0; or -ECONNREFUSED: the client is gone afterwards. */
    void (*connected)(void *context, struct sim_socket *client, int result);
    void (*received)(void *context, struct sim_socket *client, const void *bytes, uint32_t size);
    /* 0: the service sends no more; the client may go on sending, and is closed by the test.
     * -ECONNRESET: the connection broke; the client is gone afterwards. */
    void (*ended)(void *context, struct sim_socket *client, int result);
};

/* Connects to a listener of that server. */
struct sim_socket *sim_client_connect(struct sim_sockets *all, node_id server, uint16_t port,
                                      const struct sim_client_events *events, void *context);
/* Services that connect to this address reach clients with these events; connected() is the first
 * of them. A loopback address belongs to each server itself, and cannot be used. */
void sim_client_listen(struct sim_sockets *all, const char *address, uint16_t port,
                       const struct sim_client_events *events, void *context);
/* The client keeps what does not fit yet. */
void sim_client_send(struct sim_socket *client, const void *bytes, uint32_t size);
void sim_client_reads(struct sim_socket *client, bool reads); /* at first: true */
void sim_client_finish(struct sim_socket *client);            /* after all that was sent */
void sim_client_close(struct sim_socket *client);             /* what waits to be sent is lost */
void sim_client_reset(struct sim_socket *client);

struct sim_socket_counts {
    uint64_t connections; /* made */
    uint64_t refused;     /* no listener, or too many clients wait at it */
    uint64_t pieces, shortened, resets;
    uint64_t open; /* sockets now, with listeners */
};
void sim_sockets_count(const struct sim_sockets *all, struct sim_socket_counts *counts);
