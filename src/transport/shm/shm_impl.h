#pragma once
/* shm_impl: what the three files of the shared memory transport share.
 *   shm.c         the transport and its links
 *   shm_pipe.c    frames and acknowledgements: a ring and two doorbells
 *   shm_memory.c  our regions, and peers' regions that are mapped here */

#include "base/id_map.h"
#include "base/list.h"
#include "transport/ring/ring.h"
#include "transport/transport.h"

/* The messages of a link over the lifeline. */
enum shm_control {
    SHM_SLAB = CONTROL_TRANSPORT, /* key, size, writable; one descriptor */
    SHM_FORGET,                   /* key */
};

#define SHM_SLAB_MAX 4096 /* slabs that one peer may have mapped here at a time */

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
    struct id_map shared; /* keys of our slabs that the peer has: enum shm_sharing */
    struct id_map mapped; /* peer's slabs by key: struct shm_slab, owned */
};

struct shm_region {
    struct region region;
    struct shm *shm;
    const uint8_t *base;
    size_t size;
    const struct memfile *file; /* NULL: not a memory file */
    uint64_t key;               /* random; 0: not a memory file */
};

struct shm_outlet {
    struct outlet outlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_sender ring;
    struct ringer ringer; /* the receiver's bell; page is NULL until the receiver has answered */
};

struct shm_inlet {
    struct inlet inlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_receiver ring;
    struct ringer ringer; /* the sender's bell */
};

extern const struct pipe_ops shm_pipe_ops;
extern const struct memory_ops shm_memory_ops;
int shm_link_control(struct transport_link *link, struct control *control);
void shm_link_unmap(struct shm_link *link);
