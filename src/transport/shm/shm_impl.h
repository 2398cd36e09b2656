#pragma once
/* shm_impl: shared memory as its three files see it.
 *   shm.c         the transport and what it knows of each peer
 *   shm_pipe.c    frames and acknowledgements: a ring and two doorbells
 *   shm_memory.c  regions of ours, and the peers' that are mapped here */

#include "base/id_map.h"
#include "base/list.h"
#include "transport/ring/ring.h"
#include "transport/transport.h"

/* What a link says over the lifeline. */
enum shm_control {
    SHM_SLAB = CONTROL_TRANSPORT, /* key, size, writable; one descriptor */
    SHM_FORGET,                   /* key */
};

#define SHM_SLAB_MAX 4096 /* of one peer, mapped at a time: a bound for its greed */

struct shm {
    struct transport transport;
    struct list links;
    struct ring_shape shape;
};

struct shm_link {
    struct transport_link link;
    struct shm *shm;
    struct list node;      /* of shm.links */
    struct lifeline *line; /* borrowed; NULL once the peer is lost */
    int pid;
    struct id_map shared; /* keys of our slabs that it has: how (enum shm_sharing) */
    struct id_map mapped; /* by key: struct shm_slab, owned */
};

struct shm_region {
    struct region region;
    struct shm *shm;
    const uint8_t *base;
    size_t size;
    const struct memfile *file; /* NULL: foreign memory */
    uint64_t key;               /* random; 0: foreign memory */
};

struct shm_outlet {
    struct outlet outlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_sender ring;
    struct ringer ringer; /* of the receiver; page NULL until it has answered */
};

struct shm_inlet {
    struct inlet inlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_receiver ring;
    struct ringer ringer; /* of the sender */
};

extern const struct pipe_ops shm_pipe_ops;
extern const struct memory_ops shm_memory_ops;
int shm_link_control(struct transport_link *link, struct control *control);
void shm_link_unmap(struct shm_link *link);
