#pragma once
/* sst_multicast: messages that all members of a group get in the same order, on a
 * shared state table.
 *
 * Every member sends and every member delivers, its own messages too. A message is
 * delivered when all members have it, so that whatever one member delivered every
 * member delivers that stays and does not fail, and at the same place of the order: also
 * when members fail, leave and join in between.
 *
 *     static void deliver(struct sst_multicast *multicast,
 *                         const struct sst_multicast_message *messages, unsigned count,
 *                         void *argument);
 *     struct sst_multicast *multicast;
 *
 *     sst_multicast_open(ripc, &(struct sst_multicast_config){.table = 9, .slot_size = 64,
 *                        .members_wanted = 4, .deliver = deliver}, &multicast);
 *     sst_multicast_send(multicast, "hello", 5, ripc_after(1000000000));
 *
 * A sender has a ring of slots in its row; a slot is free again when all members have taken
 * its message. Who cannot keep up therefore slows the senders down, and nothing is lost.
 *
 * The rules of sst.h hold here too. */

#include <weft/sst.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SST_SLOT_SIZE_MAX  (1u << 20)
#define SST_SLOT_COUNT_MAX (1u << 16)

struct sst_multicast;

struct sst_multicast_message {
    const void *data; /* valid until the callback returns; at a multiple of 8 */
    uint32_t size;
    uint32_t row; /* the sender's, as long as it is a member */
    ripc_id member;
    uint64_t sequence; /* the same at every member; grows, with gaps */
};

/* Called where triggers run. It may send, but not wait (-EDEADLK). */
typedef void sst_multicast_deliver(struct sst_multicast *multicast,
                                   const struct sst_multicast_message *messages, unsigned count,
                                   void *argument);

/* Who the members are from now on. */
struct sst_multicast_view {
    uint64_t epoch;
    uint64_t sequence; /* all messages of it have at least that one */
    const uint32_t *rows;
    uint32_t row_count;
};

/* Called like the other, between the same two messages at all members that were
 * members before. */
typedef void sst_multicast_change(struct sst_multicast *multicast,
                                  const struct sst_multicast_view *view, void *argument);

/* Zero or NULL anywhere means the default. What is the same for all members: table,
 * slot_size, slot_count, rows_max. */
struct sst_multicast_config {
    uint64_t table;          /* the group's name; no other table may have it; not 0 */
    uint32_t slot_size;      /* 64: bytes of a message at most */
    uint32_t slot_count;     /* 256: messages of a member under way at most */
    uint32_t ring_count;     /* 4 * slot_count: messages kept here that not all have yet */
    uint32_t members_wanted; /* 1: opening waits until so many are members */
    uint32_t rows_max;       /* 64 */
    uint32_t flags;          /* SST_MANUAL: the caller's sst_multicast_step does all the work */
    ripc_id member;          /* our name; 0: a random one */
    int64_t deadline;        /* for opening; 0: ten seconds */
    int64_t spin_nsec;       /* as in struct sst_config */
    int64_t yield_nsec;      /* the same */
    sst_multicast_deliver *deliver;
    sst_multicast_change *change; /* or NULL */
    sst_upcall *upcall;           /* news of the table, or NULL */
    void *argument;               /* of all three */
    char *reason;                 /* RIPC_REASON_MAX bytes where a failing open says why, or NULL */
};

/* As sst_open; the callbacks may be called before it returns, with the multicast that it
 * will return. */
RIPC_API int sst_multicast_open(struct ripc *ripc, const struct sst_multicast_config *config,
                                struct sst_multicast **multicast);

/* Waits until all members have what we sent, leaves, and frees everything: what others sent and
 * is not delivered here by then never is. Always closes;
 * -ETIMEDOUT: some of it may be lost, or the others will see a failure. */
RIPC_API int sst_multicast_close(struct sst_multicast *multicast, int64_t deadline);

/* Sends one message. From then on it is delivered, unless this process fails.
 *   -EMSGSIZE      it is larger than a slot
 *   -EAGAIN        RIPC_NOW: no slot is free, or the members are just changing
 *   -ETIMEDOUT     the same until the deadline
 *   -ESTALE        the others went on without us
 *   -EDEADLK       a callback waits */
RIPC_API int sst_multicast_send(struct sst_multicast *multicast, const void *data, size_t size,
                                int64_t deadline);

/* Sends several, all that there is room for in one step, which is much cheaper.
 * Waits until the deadline for room for the rest. Returns how many it sent, in their order; an
 * error only if it sent none. */
RIPC_API int sst_multicast_send_many(struct sst_multicast *multicast, const struct iovec *messages,
                                     unsigned count, int64_t deadline);

/* As sst_step, for SST_MANUAL. */
RIPC_API int sst_multicast_step(struct sst_multicast *multicast, int64_t deadline);

/* The table, to ask who its members are. Its rows and predicates are ours. */
RIPC_API struct sst *sst_multicast_table(const struct sst_multicast *multicast);

struct sst_multicast_stats {
    uint64_t sent, sent_batches;           /* messages of ours, and how many times we put some */
    uint64_t delivered, delivered_batches; /* messages, and calls of deliver */
    uint64_t nulls;                        /* times we passed our turn, to stop nobody */
    uint64_t waits;                        /* times a send found no room */
    uint64_t views;                        /* sets of members that we ran under */
    uint64_t sent_again;                   /* messages that a change of members made wait */
};
RIPC_API int sst_multicast_stats(struct sst_multicast *multicast,
                                 struct sst_multicast_stats *stats);

#ifdef __cplusplus
}
#endif
