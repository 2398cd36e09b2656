#pragma once
/* shm_impl: what the four files of the shared memory transport share.
 *   shm.c         the transport and its links
 *   shm_pipe.c    frames and acknowledgements: a ring and two doorbells
 *   shm_bell.c    the doorbells of a peer's services
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
    struct id_map bells;  /* peer's bells that pipes use, by inode: struct shm_bell, owned */
};

struct shm_region {
    struct region region;
    struct shm *shm;
    const uint8_t *base;
    size_t size;
    const struct memfile *file; /* NULL: not a memory file */
    uint64_t key;               /* random; 0: not a memory file */
};

/* The bell of one service of the peer. All pipes of the link from and to that service use it. */
struct shm_bell {
    struct ringer ringer;
    uint64_t inode; /* of its page; the key in shm_link.bells */
    unsigned users; /* pipe ends */
};

struct shm_outlet {
    struct outlet outlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_sender ring;
    struct shm_bell *bell; /* the receiver's; NULL until the receiver has answered */
};

struct shm_inlet {
    struct inlet inlet;
    struct shm_link *link;
    struct memfile file;
    struct ring_receiver ring;
    struct shm_bell *bell; /* the sender's */
};

extern const struct pipe_ops shm_pipe_ops;
extern const struct memory_ops shm_memory_ops;
int shm_link_control(struct transport_link *link, struct control *control);
void shm_link_unmap(struct shm_link *link);

/* Opens the bell of a peer's service, or takes the one that is open. Takes over the descriptors,
 * even on failure. */
MUST_CHECK int shm_bell_open(struct shm_link *link, const int fds[DOORBELL_FD_COUNT],
                             struct shm_bell **bell);
void shm_bell_close(struct shm_link *link, struct shm_bell *bell);
/* A bell uses one of our descriptors: has this peer opened more than its share of them? */
bool shm_bells_are_many(const struct shm_link *link);
