#pragma once
/* ripc: messages between services named by 64-bit ids, wherever they run.
 *
 * A *context* is one process's door to the others; a *service* is a name in
 * it that sends and receives. Nothing else has to run: contexts of one domain
 * find each other by themselves, over shared memory on one host and over
 * libfabric or datagrams between hosts.
 *
 *     struct ripc *ripc;
 *     struct ripc_service *service;
 *     struct ripc_message message;
 *
 *     ripc_open(NULL, &ripc);
 *     ripc_bind(ripc, 42, 0, &service);
 *     while (ripc_receive(service, &message, 1, RIPC_FOREVER) == 1) {
 *         ripc_send(service, message.from, message.data, message.size, RIPC_FOREVER);
 *         ripc_release(&message);
 *     }
 *
 * Rules that hold for every call:
 *  - it returns >= 0, or a negative errno (ripc_strerror explains it); nothing
 *    prints, asserts or exits because of what a peer did;
 *  - a deadline is absolute, in nanoseconds of CLOCK_MONOTONIC; RIPC_NOW never
 *    waits, RIPC_FOREVER never gives up; -ETIMEDOUT says it has passed (and
 *    -EAGAIN that with RIPC_NOW there was nothing to do);
 *  - an operation that was accepted completes exactly once;
 *  - all calls may come from any thread. A context has one lock: threads that
 *    talk at full speed open a context each.
 *  - after fork() the child must not touch its parent's contexts. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIPC_API __attribute__((visibility("default")))

typedef uint64_t ripc_id; /* the name of a service or of a group; 0 is nobody */

struct ripc;         /* a context */
struct ripc_service; /* a bound name */
struct ripc_notice;  /* somewhere that notifications arrive */

#define RIPC_NOW     ((int64_t)0)
#define RIPC_FOREVER INT64_MAX

/* Bytes of a message of one short item. All others have to hold, beside their
 * short items, 2 for each of them, 33 for each long item and 32 for each return
 * buffer. */
#define RIPC_SHORT_MAX  8900
#define RIPC_ITEM_MAX   64  /* short items, long items and return buffers of a message, each */
#define RIPC_REASON_MAX 320 /* bytes of a reason, with its end */

RIPC_API int64_t ripc_now(void);
RIPC_API int64_t ripc_after(int64_t nsec); /* the deadline that far from now; never overflows */

/* What a negative result means, in ripc's words. Never NULL. */
RIPC_API const char *ripc_strerror(int error);

/* ---- contexts ---- */

enum ripc_open_flag {
    RIPC_MANUAL = 1, /* no library thread: the caller's ripc_progress does all of its work */
};

/* Zero or NULL anywhere means: the environment's variable, else the default. */
struct ripc_config {
    const char *domain;     /* WEFT_DOMAIN, "default": contexts of other domains do not exist */
    const char *names;      /* WEFT_NAMES, "host", with a node "directory": list; weft-names(5) */
    const char *transports; /* WEFT_TRANSPORTS, "shm", with an address "shm,fabric,udp", and with a
                             * node "routed" too. fabric is left out where libfabric is not
                             * installed; -ENOPKG if it, or a provider, was named */
    const char *address;    /* WEFT_ADDRESS, none: our IP address, for peers on other hosts */
    const char *provider;   /* WEFT_PROVIDER, "tcp": libfabric's provider for fabric */
    const void *secret; /* WEFT_SECRET_FILE's content, none: what members of the cluster share */
    size_t secret_size;
    uint32_t flags;      /* of enum ripc_open_flag */
    uint32_t ring_slots; /* 512: messages in flight between two services; a power of two */
    uint32_t ring_bytes; /* 256 KiB: their bytes beyond the first few of each */
    int64_t spin_nsec;   /* how long a wait polls before it yields; < 0: at once */
    int64_t yield_nsec;  /* how long it yields before it blocks; < 0: at once */
    char *reason;        /* RIPC_REASON_MAX bytes where a failing open says why, or NULL */
    const char *node;    /* WEFT_NODE, none: socket of our server's node, for peers elsewhere in the
                          * cluster */
};

/* A NULL config is all defaults.
 *
 * With a node: when it dies, all ways that lead through it break. Operations
 * under way there complete with -EPIPE; short messages that were under way are
 * lost (ripc_stats counts those of which we do not know) and never come later
 * or twice. The library calls the node again, after 50 ms and then ever later
 * up to 1 s, until it is back, takes a new address there and claims its services
 * and groups anew. Meanwhile sends wait, as those without a way do, until their
 * deadline; ripc_bind and ripc_join wait for 5 s; peers of this host that are
 * reached without the node stay. Peers elsewhere see the services go and come
 * (RIPC_DOWN and RIPC_UP, or RIPC_MOVED), and for a moment may get errors of
 * sends to who is not back yet. An id that another has taken meanwhile is his. */
RIPC_API int ripc_open(const struct ripc_config *config, struct ripc **ripc);

/* Waits until the deadline for operations under way, and until whatever was
 * sent is with its receivers or these are dead: what was sent over shm always
 * is, over udp, fabric and routed it takes a moment. A receiver that takes
 * nothing for 2 s is given up before the deadline. Then cancels the rest,
 * unbinds and frees everything, messages and buffers too. Always succeeds in
 * closing; -ETIMEDOUT says that something had to be cancelled, or was sent and
 * may not have arrived. RIPC_NOW waits for nothing. A process that ends without
 * this call, or by _exit meanwhile, may take along what it sent last. */
RIPC_API int ripc_close(struct ripc *ripc, int64_t deadline);

/* Does what is to be done now without waiting: a RIPC_MANUAL context needs it
 * (its waiting calls do it too). Returns how many things it did. */
RIPC_API int ripc_progress(struct ripc *ripc);

/* ---- services ---- */

/* Id 0 chooses a random one. -EADDRINUSE: somebody alive has it; -ETIMEDOUT:
 * those who keep the names have not answered for 5 s. */
RIPC_API int ripc_bind(struct ripc *ripc, ripc_id id, uint32_t flags,
                       struct ripc_service **service);

/* Waits for what the service has sent as ripc_close does, at most for 2 s in
 * which nothing moves; completes what is under way with -ECANCELED and frees the
 * service; its messages not yet released become invalid. -ETIMEDOUT: it is
 * unbound, and some that it sent may not have arrived. */
RIPC_API int ripc_unbind(struct ripc_service *service);

RIPC_API ripc_id ripc_service_id(const struct ripc_service *service);

/* A group is an id that delivers to all its members. */
RIPC_API int ripc_join(struct ripc_service *service, ripc_id group);
RIPC_API int ripc_leave(struct ripc_service *service, ripc_id group);

/* ---- sending ---- */

/* A message. Short items travel inside it and are gathered: the memory is free
 * again when the call returns. Long items stay where they are (in memory of
 * ripc_alloc or ripc_register) until the operation completes. Return buffers
 * are offered to the receiver for its long replies; a NULL base lets the
 * library allocate one of that size. */
struct ripc_send {
    ripc_id to;
    const struct iovec *shorts;
    const struct iovec *longs;
    const struct iovec *returns;
    uint16_t short_count;
    uint16_t long_count;
    uint16_t return_count;
    uint64_t user;    /* comes back with the completion */
    int64_t deadline; /* for a way to the peer and for credit; RIPC_NOW: -EAGAIN if there is none */
};

/* Returns 0 when nothing is left to complete, or the operation's number (> 0),
 * which completes once the receiver has all long items or refuses them.
 *   -ENOENT        nobody has that id
 *   -EAGAIN        no credit now (an event tells when there is), or not connected yet
 *   -ETIMEDOUT     as -EAGAIN, until the deadline; nothing was sent
 *   -EMSGSIZE      short items beyond RIPC_SHORT_MAX, or too many items
 *   -EFAULT        a long item is in memory that is not registered
 *   -EOPNOTSUPP    long items, and no way to the peer can carry them
 *   -ECONNREFUSED  nobody listens where the id is said to be, or its process refuses us
 *                  (it has enough pipes from ours, or closes)
 *   -EHOSTUNREACH  we have no transport in common with its process
 *   -EPIPE         its process, or the way to it, is gone; nothing was sent
 * To a group: each member gets it or, with -EAGAIN, none does. */
RIPC_API int64_t ripc_send_message(struct ripc_service *service, const struct ripc_send *send);

/* One short item. Returns 0 or an error of above. */
RIPC_API int ripc_send(struct ripc_service *service, ripc_id to, const void *data, size_t size,
                       int64_t deadline);

/* Which transport carries what we send to `to` now: "shm", "fabric" or "udp";
 * NULL while there is no way, as before the first send. */
RIPC_API const char *ripc_transport(struct ripc_service *service, ripc_id to);

/* Takes a return buffer back. -ENOENT: it is not on offer; -EALREADY: it was
 * used, or is being used, just now. A buffer is back by itself when its item
 * arrived, and when the peer died. */
RIPC_API int ripc_withdraw(struct ripc_service *service, void *base, int64_t deadline);

/* ---- completions and other news ---- */

enum ripc_event_kind {
    RIPC_DONE = 1, /* an operation completed: operation, user, status */
    RIPC_CREDIT,   /* a send to `id` that got -EAGAIN may be tried again */
    RIPC_UP,       /* a watched id: somebody has it now */
    RIPC_MOVED,    /* a watched id: another process has it now, or it is elsewhere in the cluster */
    RIPC_DOWN,     /* a watched id: nobody has it any more */
};

struct ripc_event {
    enum ripc_event_kind kind;
    int status; /* 0, or: -EPIPE the peer died, -ENOBUFS it rejected an item, -ECANCELED */
    int64_t operation;
    uint64_t user;
    ripc_id id; /* the peer */
};

/* Takes up to `max` events; waits for the first. Returns how many. */
RIPC_API int ripc_poll(struct ripc_service *service, struct ripc_event *events, unsigned max,
                       int64_t deadline);

/* Waits for one operation and returns its status; its event is consumed.
 * -EINVAL: no such operation is under way or unreported. */
RIPC_API int ripc_wait(struct ripc_service *service, int64_t operation, int64_t deadline);

/* Completes the operation with -ECANCELED, unless it has completed. The
 * memory is free when this returns: no peer reads it any more. */
RIPC_API int ripc_cancel(struct ripc_service *service, int64_t operation, int64_t deadline);

/* RIPC_UP, RIPC_MOVED and RIPC_DOWN for an id, from now on. These are news of names:
 * the pipe to one who died may break a moment after its RIPC_DOWN, and what is
 * sent meanwhile is lost as if it had been sent just before. */
RIPC_API int ripc_watch(struct ripc_service *service, ripc_id id);
RIPC_API int ripc_unwatch(struct ripc_service *service, ripc_id id);

/* ---- receiving ---- */

struct ripc_item {
    void *data;    /* where the long item lies, or NULL while it has not arrived */
    uint64_t size; /* what the sender says */
    int status;    /* 0 arrived; -EINPROGRESS pending: ripc_fetch or ripc_reject it; else why not */
    bool returned; /* it lies in a return buffer of ours */
    bool owned;    /* the library allocated the memory: ripc_free it when done */
};

struct ripc_message {
    ripc_id from;
    ripc_id to;       /* the service, or the group it was sent to */
    const void *data; /* all short items, one after the other; in place, until ripc_release */
    uint32_t size;
    uint16_t short_count;
    uint16_t long_count;
    uint16_t return_count; /* return buffers that came with it */
    uint16_t reserved;
    uint32_t cookie;         /* the library's */
    struct ripc_item *longs; /* long_count of them, until ripc_release */
    void *internal[3];
};

/* Takes up to `max` messages; waits for the first. Returns how many. Items
 * that fit a window are in it; each used window is consumed. */
RIPC_API int ripc_receive(struct ripc_service *service, struct ripc_message *messages, unsigned max,
                          int64_t deadline);

/* The short item with that index and its size; NULL if there is none. */
RIPC_API const void *ripc_short(const struct ripc_message *message, unsigned index, size_t *size);

/* Gives the message back. Held messages hold their sender's credit: a service
 * that keeps one for long copies it and lets go. Pending items are rejected.
 * Releasing twice is harmless. */
RIPC_API void ripc_release(struct ripc_message *message);

/* Copies a pending long item to `to`. -EMSGSIZE: it is larger than `size`;
 * -ESTALE: it is not pending; -ECANCELED: its sender took it back; -EPIPE: its
 * sender died. Once begun it is finished, whatever the deadline. */
RIPC_API int ripc_fetch(struct ripc_message *message, unsigned index, void *to, size_t size,
                        int64_t deadline);
RIPC_API int ripc_reject(struct ripc_message *message, unsigned index);

/* ---- memory ---- */

/* Memory that peers can reach without a copy. ripc_free: -EINVAL if it is not
 * ripc_alloc's, -EALREADY if it is free, -EBUSY while a send, window
 * or grant uses it. */
RIPC_API void *ripc_alloc(struct ripc *ripc, size_t size);
RIPC_API void *ripc_resize(struct ripc *ripc, void *data, size_t size);
RIPC_API int ripc_free(struct ripc *ripc, void *data);

/* Foreign memory. -EFAULT: it is not mapped; -EEXIST: it overlaps what is
 * registered. -EBUSY at unregistering: a send, window or grant uses it. */
RIPC_API int ripc_register(struct ripc *ripc, void *base, size_t size);
RIPC_API int ripc_unregister(struct ripc *ripc, void *base);

/* Where long items go: the smallest window that holds the item, of the
 * service's own first, then of those for all (service NULL). Any writable
 * memory. -ENOENT at removing: there is none, or it was used. */
RIPC_API int ripc_window_add(struct ripc *ripc, struct ripc_service *service, void *base,
                             size_t size);
RIPC_API int ripc_window_remove(struct ripc *ripc, struct ripc_service *service, void *base);

enum ripc_right { RIPC_READ = 1, RIPC_WRITE = 2 };

/* The right of one peer to reach a piece of registered memory. Plain data,
 * to be sent to that peer. Only a process that has `peer` bound can use it. */
struct ripc_grant {
    ripc_id owner;
    uint64_t key; /* random */
    uint64_t size;
};

RIPC_API int ripc_grant(struct ripc_service *service, ripc_id peer, void *base, size_t size,
                        uint32_t rights, struct ripc_grant *grant);

/* When it returns 0 the peer reaches the memory no more. */
RIPC_API int ripc_revoke(struct ripc_service *service, const struct ripc_grant *grant,
                         int64_t deadline);

/* -EACCES: no such grant for us, or revoked, or without that right;
 * -ERANGE: beyond its size. */
RIPC_API int ripc_read(struct ripc_service *service, const struct ripc_grant *grant,
                       uint64_t offset, void *to, size_t size, int64_t deadline);
RIPC_API int ripc_write(struct ripc_service *service, const struct ripc_grant *grant,
                        uint64_t offset, const void *from, size_t size, int64_t deadline);

/* ---- notifications ---- */

/* Plain data, to be sent to whoever shall notify us. */
struct ripc_handle {
    ripc_id service;
    uint64_t token;
};

/* Called on a library thread; `count` notifications since the last call, the
 * last of them with `value`. It may call ripc. */
typedef void ripc_notice_callback(void *argument, uint64_t count, uint64_t value);

/* With a callback, or (NULL) for ripc_notice_wait and ripc_notice_fd. */
RIPC_API int ripc_notice_open(struct ripc *ripc, ripc_notice_callback *callback, void *argument,
                              struct ripc_notice **notice, struct ripc_handle *handle);
/* Waits for its callback to return, unless called from inside it. -EBUSY: a
 * thread waits for it. */
RIPC_API int ripc_notice_close(struct ripc_notice *notice);

/* Counted, never lost while both live, and after every earlier write and
 * message of this service to that process. */
RIPC_API int ripc_notify(struct ripc_service *service, const struct ripc_handle *handle,
                         uint64_t value, int64_t deadline);

/* Returns how many came since the last call (at most INT_MAX), with the last value. */
RIPC_API int ripc_notice_wait(struct ripc_notice *notice, uint64_t *value, int64_t deadline);
RIPC_API int ripc_notice_fd(struct ripc_notice *notice); /* readable while some wait */

/* ---- event loops ---- */

/* A descriptor that becomes readable when ripc_receive or ripc_poll of this
 * service has something, provided ripc_arm returned 0 since the last look.
 * ripc_arm: -EAGAIN if something waits already. Belongs to the service. */
RIPC_API int ripc_fd(struct ripc_service *service);
RIPC_API int ripc_arm(struct ripc_service *service);

/* ---- looking inside ---- */

struct ripc_stats {
    uint64_t sent, sent_bytes;
    uint64_t received, received_bytes;
    uint64_t long_sent, long_sent_bytes;
    uint64_t long_received, long_received_bytes;
    uint64_t no_credit;             /* sends that found none */
    uint64_t pending;               /* long items that found no window */
    uint64_t rejected;              /* of those, refused */
    uint64_t dropped_unknown;       /* messages for services that are not here */
    uint64_t protocol_errors;       /* peers cut off because of what they wrote */
    uint64_t peers_lost;            /* processes that died or were cut off */
    uint64_t claims_forged;         /* names with a wrong seal, ignored */
    uint64_t claims_conflict;       /* others that claim what is ours */
    uint64_t garbage;               /* datagrams and connections that were not ours to read */
    uint64_t blocks;                /* waits that went to sleep */
    uint64_t wakes;                 /* peers that had to be woken */
    uint64_t buffers, buffer_bytes; /* from ripc_alloc, now */
    uint64_t operations;            /* under way, now */
    uint64_t doubtful; /* messages over udp and routed whose receiver was lost before it was known
                        * to have them */
};

RIPC_API int ripc_stats(struct ripc *ripc, struct ripc_stats *stats);

/* Calls back for every name that is known in the domain: chosen services,
 * random ones and groups (once per member). Over multicast it asks first, and
 * waits 0.15 s for the answers. The callback may not call ripc. */
struct ripc_name {
    ripc_id id;
    ripc_id member; /* of a group: the service; else the id itself */
    uint64_t context;
    uint64_t incarnation;
    bool group;
    bool local;       /* on this host */
    int pid;          /* 0 if not on this host */
    char address[64]; /* "host", or ip:port */
};
typedef void ripc_list_callback(void *argument, const struct ripc_name *name);
RIPC_API int ripc_list(struct ripc *ripc, ripc_list_callback *callback, void *argument);

/* Removes what killed processes of the domain left behind; NULL: WEFT_DOMAIN
 * or "default". Returns how many files of the domain that was; what libfabric's
 * shm provider keeps elsewhere, for all domains, is removed uncounted. */
RIPC_API int ripc_clean(const char *domain);

#ifdef __cplusplus
}
#endif
