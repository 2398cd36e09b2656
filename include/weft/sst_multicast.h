#pragma once
/* sst_multicast: messages that all members of a group receive in the same order, on a shared state
 * table.
 *
 * Every member sends, and every member delivers all messages, its own included. A message is
 * delivered when all members have it. Therefore, what one member delivers is delivered by every
 * member that neither leaves nor fails, at the same position in the order, even when members fail,
 * leave or join in between. In a divided network at most one part of the members goes on; the
 * others deliver nothing more and are expelled (-ESTALE, SST_EXPELLED). So no two members of a
 * group deliver different messages with the same sequence number. A process that can reach no
 * member when it opens the group founds a second group; when the network is whole again, the
 * members of that second group are expelled (SST_EXPELLED).
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
 * A sender has a ring of slots in its row. A slot is free again when all members have taken its
 * message. So a slow member slows the senders down, and nothing is lost.
 *
 * The rules of sst.h apply here too. */

#include <weft/sst.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SST_SLOT_SIZE_MAX  (1u << 20)
#define SST_SLOT_COUNT_MAX (1u << 16)

struct sst_multicast;

struct sst_multicast_message {
    const void *data; /* valid until the callback returns; 8-byte aligned */
    uint32_t size;
    uint32_t row; /* row of the sender, as long as it is a member */
    ripc_id member;
    uint64_t sequence; /* the same at every member; increases, with gaps */
};

/* Called on the thread that runs the triggers. The callback may send but must not wait
 * (-EDEADLK). */
typedef void sst_multicast_deliver(struct sst_multicast *multicast,
                                   const struct sst_multicast_message *messages, unsigned count,
                                   void *argument);

/* The members from now on. */
struct sst_multicast_view {
    uint64_t epoch;
    uint64_t sequence; /* messages sent in this view have at least this sequence number */
    const uint32_t *rows;
    uint32_t row_count;
};

/* Called on the thread that runs the triggers, between the same two messages at all members that
 * were members before. */
typedef void sst_multicast_change(struct sst_multicast *multicast,
                                  const struct sst_multicast_view *view, void *argument);

/* A field that is 0 or NULL takes the default, which its comment gives first. table, slot_size,
 * slot_count and rows_max must be the same for all members. */
struct sst_multicast_config {
    uint64_t table;          /* name of the group; no other table may use it; not 0 */
    uint32_t slot_size;      /* 64: largest message, in bytes */
    uint32_t slot_count;     /* 256: messages of one member that may be under way */
    uint32_t ring_count;     /* 4 * slot_count: messages kept by this member until all have them */
    uint32_t members_wanted; /* 1: opening waits until there are this many members */
    uint32_t rows_max;       /* 64 */
    uint32_t flags;          /* SST_MANUAL: the caller's sst_multicast_step does all the work */
    ripc_id member;          /* id of this member; 0: a random one */
    int64_t deadline;        /* ten seconds from now: opening fails after this time */
    int64_t spin_nsec;       /* as in struct sst_config */
    int64_t yield_nsec;      /* the same */
    sst_multicast_deliver *deliver;
    sst_multicast_change *change; /* or NULL */
    sst_upcall *upcall;           /* events of the table, or NULL */
    void *argument;               /* passed to all three */
    char *reason;                 /* RIPC_REASON_MAX bytes; a failing open writes the reason here.
                                   * Or NULL */
};

/* As sst_open. The callbacks may be called before it returns, with the same multicast pointer. */
RIPC_API int sst_multicast_open(struct ripc *ripc, const struct sst_multicast_config *config,
                                struct sst_multicast **multicast);

/* Waits until all members have what this member sent, leaves, and frees everything. Messages of
 * others that are not delivered here by then are never delivered here. Everything is freed even if
 * an error is returned. -ETIMEDOUT: some messages may be lost, or the other members see this member
 * as failed. */
RIPC_API int sst_multicast_close(struct sst_multicast *multicast, int64_t deadline);

/* Sends one message. It will be delivered unless this process fails or is expelled.
 *   -EMSGSIZE      the message is larger than a slot
 *   -EAGAIN        RIPC_NOW: no slot is free, or the membership is changing
 *   -ETIMEDOUT     the deadline passed before a slot was free and the membership was stable
 *   -ESTALE        this member was expelled: it will not receive what the others deliver
 *   -EDEADLK       called from a callback and would have to wait */
RIPC_API int sst_multicast_send(struct sst_multicast *multicast, const void *data, size_t size,
                                int64_t deadline);

/* Sends several messages, as many at once as there is room for, which is much cheaper. Waits until
 * the deadline for room for the rest. Returns the number sent, in order; an error only if none was
 * sent. */
RIPC_API int sst_multicast_send_many(struct sst_multicast *multicast, const struct iovec *messages,
                                     unsigned count, int64_t deadline);

/* As sst_step, for SST_MANUAL. */
RIPC_API int sst_multicast_step(struct sst_multicast *multicast, int64_t deadline);

/* Returns the table, for example to ask for its members. Its rows and predicates belong to the
 * multicast. */
RIPC_API struct sst *sst_multicast_table(const struct sst_multicast *multicast);

struct sst_multicast_stats {
    uint64_t sent, sent_batches;           /* messages of this member, and batches in which they
                                            * were put */
    uint64_t delivered, delivered_batches; /* messages, and calls of deliver */
    uint64_t nulls;                        /* turns that this member skipped so as not to block the
                                            * others */
    uint64_t waits;                        /* sends that found no room */
    uint64_t views;                        /* how many views there were so far */
    uint64_t sent_again;                   /* messages that a change of members delayed */
};
RIPC_API int sst_multicast_stats(struct sst_multicast *multicast,
                                 struct sst_multicast_stats *stats);

#ifdef __cplusplus
}
#endif
