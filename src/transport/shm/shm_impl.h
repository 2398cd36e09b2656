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
    struct link link;
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

int shm_outlet_open(struct link *link, struct doorbell *bell, struct parcel *offer,
                    struct outlet **outlet);
int shm_outlet_answer(struct outlet *outlet, struct parcel *answer);
void shm_outlet_close(struct outlet *outlet);
int shm_inlet_open(struct link *link, struct doorbell *bell, struct parcel *offer,
                   struct parcel *answer, struct inlet **inlet);
void shm_inlet_close(struct inlet *inlet);
int shm_push(struct outlet *outlet, const struct frame_head *head, const struct iovec *pieces,
             unsigned piece_count);
bool shm_room(struct outlet *outlet, size_t size);
int shm_collect(struct outlet *outlet, struct acknowledgement *out, unsigned max);
int shm_pull(struct inlet *inlet, struct frame *out, unsigned max);
bool shm_waiting(const struct inlet *inlet);
void shm_release(struct inlet *inlet, const struct frame *frame);
int shm_acknowledge(struct inlet *inlet, uint64_t token, int64_t status);

int shm_region_open(struct transport *transport, void *base, size_t size,
                    const struct memfile *file, struct region **region);
void shm_region_close(struct region *region);
int shm_share(struct link *link, struct region *region, void *piece, size_t size, uint32_t rights,
              struct remote_memory *out);
int shm_read(struct link *link, const struct remote_memory *from, uint64_t offset, void *to,
             size_t size, struct region *region, struct transfer *transfer);
int shm_write(struct link *link, const struct remote_memory *to, uint64_t offset, const void *from,
              size_t size, struct region *region, struct transfer *transfer);
int shm_map(struct link *link, const struct remote_memory *memory, bool writable,
            struct mapping *mapping);
void shm_unmap(struct mapping *mapping);
int shm_link_control(struct link *link, struct control *control);
void shm_link_unmap(struct shm_link *link);
