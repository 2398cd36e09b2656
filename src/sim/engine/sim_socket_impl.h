#pragma once
/* sim_socket_impl: the parts of simulated sockets, for the files of this folder.
 *
 *   sim_socket.c   one socket: bytes, ends, when it is due
 *   sim_client.c   the ends that tests play
 *   sim_sockets.c  the ends of services; all sockets
 *
 * Each file calls only files above it in this list. */

#include "base/list.h"
#include "base/rng.h"
#include "sim/engine/sim_socket.h"

#define OUTSIDE UINT32_MAX /* the server of a client */

struct sim_piece {
    struct sim_piece *next;
    psec at; /* when it arrives */
    uint32_t size, taken;
    uint8_t bytes[];
};

struct sim_pieces {
    struct sim_piece *first, **end;
    uint32_t held; /* bytes */
};

enum sim_socket_state { LISTENS, CONNECTS, CONNECTED };

struct sim_socket {
    struct sim_sockets *all;
    struct list node; /* in `sockets` */
    enum sim_socket_state state;
    node_id server;             /* OUTSIDE: of a client */
    struct env_descriptor *env; /* of a service; NULL: not accepted yet, or of a client */
    const struct sim_client_events *events;
    void *context;
    uint16_t port;
    struct sim_socket *peer; /* NULL: it has closed its end */
    struct sim_pieces in;    /* to be read here */
    psec arrives;            /* the last of those */
    psec end_at;             /* when the end of the stream arrives; PSEC_NEVER */
    psec fails_at;           /* when the connection is found broken; PSEC_NEVER ... */
    int failure;             /* ... with this result */
    psec room_at;            /* when more may be written; PSEC_NEVER: when the peer has read */
    bool finished;           /* it sends no more */
    bool deaf;               /* a client that does not read */
    bool told_end;           /* a client was told of the end */
    bool finishes;           /* a client finishes when all is sent */
    bool waits;              /* its server is paused */
    struct sim_pieces out;   /* of a client: not written yet */
    struct list backlog;     /* of a listener: ends that wait to be accepted */
    struct list pending;     /* in a backlog */
    psec due;                /* in the heap if not PSEC_NEVER */
    size_t slot;             /* there */
    uint64_t number;         /* order among equal moments */
    psec turn_at;            /* no earlier turn */
};

struct sim_outside {
    struct sim_outside *next;
    char *address;
    uint16_t port;
    const struct sim_client_events *events;
    void *context;
};

struct sim_sockets {
    struct sim_socket_settings settings;
    struct sim_sockets_world world;
    struct rng rng;
    struct list sockets;
    struct sim_outside *outside;
    struct sim_socket **heap;
    size_t heap_count, heap_room;
    struct sim_socket *current; /* whose turn it is; NULL: it was closed */
    uint64_t number;
    uint16_t next_port;
    struct sim_socket_counts counts;
};

/* sim_socket.c */
void *memory_or_end(void *memory); /* NULL ends the simulation */
psec sockets_now(const struct sim_sockets *all);
psec sockets_later(struct sim_sockets *all); /* when what is sent now arrives */
struct sim_socket *sockets_find(const struct sim_sockets *all, node_id server, uint16_t port);
struct sim_socket *socket_new(struct sim_sockets *all, enum sim_socket_state state, node_id server);
void socket_free(struct sim_socket *socket);
/* Ends one end of a connection; the peer finds the end of the stream, or a reset. */
void socket_end(struct sim_socket *socket, bool reset);
void listener_end(struct sim_socket *listener);
void socket_join(struct sim_socket *one, struct sim_socket *other);
/* Begins to connect that end to the listener; NULL: there is none. */
void socket_connect(struct sim_socket *socket, struct sim_socket *listener);
/* Something about the socket has changed: computes when it is due. */
void socket_settle(struct sim_socket *socket);
void socket_set_due(struct sim_socket *socket, psec due);
bool socket_is_broken(const struct sim_socket *socket);
psec socket_read_at(const struct sim_socket *socket); /* when there is something to read */
psec socket_write_at(const struct sim_socket *socket);
int64_t socket_get(struct sim_socket *socket, void *bytes, uint32_t size);
int64_t socket_put(struct sim_socket *socket, const void *bytes, uint32_t size);
void socket_finish(struct sim_socket *socket);
void pieces_add(struct sim_pieces *pieces, psec at, const uint8_t *bytes, uint32_t size);

/* sim_client.c: the client may be gone afterwards; then all->current is NULL. */
void client_step(struct sim_socket *client);
