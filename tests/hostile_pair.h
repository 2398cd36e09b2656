#pragma once
/* hostile_pair: two connected contexts in one process, and the ring between them, for tests in
 * which one of the two writes what no honest sender writes. */

#include <errno.h>
#include <string.h>

#include "ripc/core/peer.h"
#include "ripc/core/remote.h"
#include "ripc/message/message.h"
#include "ripc/scene/scene.h"
#include "transport/shm/shm_impl.h"

struct hostile_pair {
    struct ripc *here, *there;
    struct ripc_service *client, *server; /* client (41) in here, server (42) in there */
};

/* Opens two connected contexts; a manual one makes progress only inside its own calls. */
static inline struct hostile_pair pair_open(uint32_t here_flags, uint32_t there_flags)
{
    struct ripc_config here = {.flags = here_flags}, there = {.flags = there_flags};
    struct hostile_pair pair = {.here = scene_open(&here), .there = scene_open(&there)};
    struct ripc_message message;
    pair.client = scene_bind(pair.here, 41);
    pair.server = scene_bind(pair.there, 42);
    int64_t deadline = scene_deadline();
    int result;
    do { /* alternating, as two processes would */
        result = ripc_send(pair.client, 42, "hello", 5, RIPC_NOW);
        ripc_progress(pair.there);
        assert_true(ripc_now() < deadline);
    } while (result == -EAGAIN);
    assert_int_equal(result, 0);
    while (ripc_receive(pair.server, &message, 1, RIPC_NOW) != 1) {
        ripc_progress(pair.here);
        assert_true(ripc_now() < deadline);
    }
    ripc_release(&message);
    return pair;
}

static inline void pair_close(struct hostile_pair *pair)
{
    scene_close(pair->here);
    scene_close(pair->there);
}

/* The ring for the service's messages to that id; one must have been sent before. */
static inline struct ring_sender *ring_to(struct ripc_service *from, ripc_id to)
{
    const struct remote *remote = id_map_get(&from->remotes, to);
    return &((struct shm_outlet *)remote->outlet)->ring;
}

/* The body of the last small frame that was pushed. */
static inline uint8_t *ring_last_body(const struct ring_sender *ring)
{
    enum { SLOT_SIZE = 128, SLOT_BODY = 32 };
    return (uint8_t *)ring->slots + ((ring->tail - 1) & ring->slot_mask) * SLOT_SIZE + SLOT_BODY;
}

/* Pushes a message without any check, as a malicious peer might. Under the lock of the sender's
 * context, whose thread may close the ring as soon as the receiver cuts it. */
static inline void ring_forge(struct ripc_service *from, ripc_id to,
                              const struct message_head *head, const void *body, size_t size)
{
    struct iovec piece = {(void *)(uintptr_t)body, size};
    struct frame_head frame = message_head_write(head);
    lock_take(&from->ripc->lock);
    int result = ring_push(ring_to(from, to), &frame, &piece, 1);
    lock_drop(&from->ripc->lock);
    assert_int_equal(result, 0);
}
