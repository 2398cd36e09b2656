#pragma once
/* descriptors: sockets, TAP devices and pipes of services (weft/descriptor.h), which the poller of
 * a host watches.
 *
 * The system reports each change once (EPOLLET). What a descriptor is ready for is kept here, until
 * a call finds nothing more: so neither a pause nor a short write needs a system call to change
 * what is watched. A descriptor that is ready for something that its node wants waits in a queue,
 * and gets its turn in a pass of the host, a few in each pass.
 *
 * One thread. The node owns struct env_descriptor; this module owns the rest. */

#include "base/env.h"
#include "base/err.h"
#include "base/list.h"
#include "transport/wake/poller.h"

struct watched;

/* A descriptor of that owner has its turn. The function may close it. */
typedef void descriptors_turn(void *owner, struct env_descriptor *descriptor, unsigned ready);

struct descriptors {
    struct list queue; /* of watched: ready for what their nodes want, the next one first */
    bool heard;        /* set when a descriptor enters the queue; the host clears it */
    struct poller *poller;
    descriptors_turn *turn;
    struct watched *current; /* whose turn it is; NULL: none, or it was closed */
    uint32_t count, most;    /* open; and allowed */
    int spare;               /* closed to refuse a client when no descriptor is left */
};

/* `most` is how many may be open; 0: as many as the limit of the process leaves beside its other
 * needs. The poller is borrowed. */
void descriptors_open(struct descriptors *all, struct poller *poller, descriptors_turn *turn,
                      uint32_t most);
void descriptors_close(struct descriptors *all); /* all of them were closed */

/* Gives turns to descriptors in the queue: a few, and not for long. */
void descriptors_pass(struct descriptors *all);

static inline bool descriptors_waiting(const struct descriptors *all)
{
    return !list_is_empty(&all->queue);
}

/* The operations of struct env_descriptor_ops (base/env.h). */
MUST_CHECK int descriptors_listen(struct descriptors *all, void *owner, struct env_descriptor *env,
                                  const struct env_address *address);
MUST_CHECK int descriptors_connect(struct descriptors *all, void *owner, struct env_descriptor *env,
                                   const struct env_address *address);
MUST_CHECK int descriptors_adopt(struct descriptors *all, void *owner, struct env_descriptor *env,
                                 int fd);
MUST_CHECK int descriptors_accept(struct env_descriptor *listener, struct env_descriptor *env);
MUST_CHECK int watched_result(const struct env_descriptor *env);
int64_t watched_read(struct env_descriptor *env, void *bytes, uint32_t size);
int64_t watched_write(struct env_descriptor *env, const void *bytes, uint32_t size);
int watched_finish(const struct env_descriptor *env);
int watched_port(const struct env_descriptor *env);
void watched_changed(struct env_descriptor *env);
/* False: the service has closed it already. */
bool watched_close(struct env_descriptor *env);
