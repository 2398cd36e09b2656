#pragma once
/* ripc: messages between services that are named by 64-bit ids, on one host or on many.
 *
 * A *context* is one open instance of the library in a process. A *service* is an id that the
 * process has bound in a context; it sends and receives. No daemon is needed: contexts of one
 * domain find each other, over shared memory on one host and over libfabric or datagrams between
 * hosts.
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
 * Rules for every call:
 *  - A call returns >= 0 or a negative errno, which ripc_strerror explains. Nothing that a peer
 *    does makes the library print, assert or exit.
 *  - A deadline is absolute, in nanoseconds of CLOCK_MONOTONIC. RIPC_NOW means: do not wait.
 *    RIPC_FOREVER means: never time out. A call returns -ETIMEDOUT when its deadline has passed,
 *    and -EAGAIN when it would have to wait but the deadline is RIPC_NOW.
 *  - An operation that was accepted completes exactly once.
 *  - All calls may be made from any thread. A context has one lock; threads that need full speed
 *    each open a context of their own.
 *  - A child of fork() cannot use what its parent has opened: every call on it returns -ECHILD, or
 *    NULL, and changes nothing. Only ripc_folder, ripc_service_id and ripc_short, which read the
 *    child's own memory, still work. Buffers of ripc_alloc stay mapped, and are shared with the
 *    parent. The child may open contexts of its own. Before fork() returns in the child, all
 *    descriptors of the library are closed there, those of ripc_fd and ripc_notice_fd too: a child
 *    that outlives its parent does not keep the parent's ids. A callback may fork, but in the child
 *    it should execute another program or end the process: when it returns there, its thread ends.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RIPC_API __attribute__((visibility("default")))

typedef uint64_t ripc_id; /* the id of a service or of a group; 0 is never a valid id */

struct ripc;         /* a context */
struct ripc_service; /* an id that this process has bound */
struct ripc_notice;  /* a counter of notifications from peers */

#define RIPC_NOW     ((int64_t)0)
#define RIPC_FOREVER INT64_MAX

/* The largest message of one short item, in bytes. In any other message, each short item needs 2
 * more bytes, each long item 33 and each return buffer 48; these count towards the limit. */
#define RIPC_SHORT_MAX  8900
#define RIPC_ITEM_MAX   64  /* short items, long items and return buffers of a message, each */
#define RIPC_REASON_MAX 320 /* bytes of a reason, with its terminating 0 */

RIPC_API int64_t ripc_now(void);
RIPC_API int64_t ripc_after(int64_t nsec); /* the deadline `nsec` from now; never overflows */

/* Returns the text for a negative result. Never NULL. */
RIPC_API const char *ripc_strerror(int error);

/* ---- contexts ---- */

enum ripc_open_flag {
    RIPC_MANUAL = 1, /* start no thread: the caller's ripc_progress does its work */
};

/* A field that is 0 or NULL takes the value of its environment variable (WEFT_...), or else the
 * default that follows it in the comment. */
struct ripc_config {
    const char *domain;     /* WEFT_DOMAIN, "default": contexts see only contexts of their own
                             * domain */
    const char *names;      /* WEFT_NAMES, "host", or with a node "directory": name services, see
                             * weft-names(5) */
    const char *transports; /* WEFT_TRANSPORTS, "shm"; with an address "shm,fabric,udp"; with a node
                             * also "routed". Without libfabric, fabric is left out; if fabric or a
                             * provider was asked for explicitly, ripc_open returns -ENOPKG */
    const char *address;    /* WEFT_ADDRESS, none: our IP address, for peers on other hosts */
    const char *provider;   /* WEFT_PROVIDER, "tcp": the libfabric provider */
    const void *secret; /* content of WEFT_SECRET_FILE, none: secret that all members of the cluster
                         * share */
    size_t secret_size;
    uint32_t flags;      /* of enum ripc_open_flag */
    uint32_t ring_slots; /* 512: messages in flight between two services; a power of two */
    uint32_t ring_bytes; /* 256 KiB: bytes in flight between two services, not counting the first
                          * few of each message */
    int64_t spin_nsec;   /* how long a waiting call polls before it yields; < 0: not at all */
    int64_t yield_nsec;  /* how long it then yields before it blocks; < 0: not at all */
    char *reason;        /* RIPC_REASON_MAX bytes; a failing ripc_open writes the reason here. Or
                          * NULL */
    const char *node;    /* WEFT_NODE, none: socket of the node on this server; gives access to the
                          * whole cluster */
    uint16_t port;       /* WEFT_PORT, a free one: TCP port at `address` to which peers connect, for
                          * files of names; one context at a time has it */
};

/* Opens a context. A NULL config means all defaults.
 *
 * If the context uses a node and that node dies, all paths through it break. Operations on these
 * paths complete with -EPIPE. Short messages on them are lost; they never arrive later or twice.
 * (RIPC_LOST reports those that may not have arrived; `doubtful` in ripc_stats counts them.) The
 * library reconnects to the node, first after 50 ms and then at growing intervals of up to 1 s.
 * Once the node is back, the context gets a new address there and claims its services and groups
 * again. Until then:
 *  - sends over the node wait until their deadline, like any send without a path;
 *  - ripc_bind and ripc_join wait for up to 5 s;
 *  - peers on this host that are reached without the node stay connected;
 *  - peers elsewhere see the services disappear and return (RIPC_DOWN and RIPC_UP, or RIPC_MOVED),
 *    and for a moment their sends to services that are not back yet may fail.
 * If another process has claimed an id in the meantime, that process keeps it. */
RIPC_API int ripc_open(const struct ripc_config *config, struct ripc **ripc);

/* Closes the context. Waits until the deadline for operations under way to complete, and for
 * messages that were sent to arrive. (Over shm they arrive at once; over udp, fabric and routed
 * they need a moment.) Stops waiting for a receiver that is dead or has accepted nothing for 2 s.
 * Then cancels the remaining operations, unbinds all services and frees everything, messages and
 * buffers included. RIPC_NOW skips the waiting. Always closes. -ETIMEDOUT: an operation was
 * cancelled, or messages that were sent may not have arrived. The last messages of a process that
 * exits without this call, or calls _exit during it, may be lost. Waiting calls of other threads
 * return -ECANCELED. Only one thread may call this, once, and no thread may begin another call on
 * the context afterwards. */
RIPC_API int ripc_close(struct ripc *ripc, int64_t deadline);

/* Returns the folder of the context's domain on this host, which has a file for each id. If
 * ripc_bind or ripc_join returns -ENOSPC, its file system is full. Valid until ripc_close. */
RIPC_API const char *ripc_folder(const struct ripc *ripc);

/* Does all work that is due now, without waiting, and returns the number of things done. A
 * RIPC_MANUAL context makes progress only here and in its waiting calls. */
RIPC_API int ripc_progress(struct ripc *ripc);

/* ---- services ---- */

/* Binds a service. Id 0 chooses a random id. -EADDRINUSE: a live process holds the id; -ETIMEDOUT:
 * the name services have not answered for 5 s; -ENOSPC: no space for its file in ripc_folder. */
RIPC_API int ripc_bind(struct ripc *ripc, ripc_id id, uint32_t flags,
                       struct ripc_service **service);

/* Unbinds and frees the service. First waits, as ripc_close does, for messages that it sent to
 * arrive, but gives up after 2 s without progress. Operations under way complete with -ECANCELED.
 * Messages of this service that were not released become invalid. -ETIMEDOUT: the service is
 * unbound, but messages that it sent may not have arrived.
 *
 * Messages that were sent to the service and not received are dropped. Each sender gets RIPC_LOST
 * with the exact number of its messages, including those that it sent before it heard of the
 * unbinding; `dropped_unread` in ripc_stats counts those that had arrived here. Call ripc_retire
 * first to drop none. */
RIPC_API int ripc_unbind(struct ripc_service *service);

enum ripc_retire_flag {
    RIPC_MOVES = 1, /* the id will be bound again, here or by another process */
};

/* Begins an orderly end of the service: its senders send nothing more, and it still receives
 * everything that they have sent. Does not wait. The service also leaves its groups.
 *
 *     ripc_retire(service, RIPC_MOVES);
 *     while ((result = ripc_receive(service, &message, 1, deadline)) == 1)
 *         handle(&message); // and release it
 *     ripc_unbind(service); // result is -ESHUTDOWN: nothing is lost
 *
 * ripc_receive returns -ESHUTDOWN once every sender holds or has ended and all that they sent has
 * been received. It returns -ETIMEDOUT if a sender does not answer, because it is stopped or
 * unreachable, or has a RIPC_MANUAL context and makes no call. What is not received until
 * ripc_unbind is lost, and reported as there.
 *
 * Meanwhile a send to the service waits until its deadline (RIPC_NOW: -EAGAIN, and RIPC_CREDIT
 * later). After ripc_unbind it continues to wait if the service was retired with RIPC_MOVES: as
 * soon as a process has bound the id, it sends there, so that the messages of one sender arrive in
 * order, the last ones at the old holder before the next ones at the new holder. Without RIPC_MOVES
 * the send returns -ENOENT, as it does for a sender that had not sent to this id before. It also
 * returns -ENOENT if the process dies before it has called ripc_unbind.
 * -EALREADY: the service already retires. */
RIPC_API int ripc_retire(struct ripc_service *service, uint32_t flags);

RIPC_API ripc_id ripc_service_id(const struct ripc_service *service);

/* A group is an id that many services join; a message to it goes to all of them. ripc_join: -EINVAL
 * for the id 0 or that of the service itself, -EALREADY: the service is a member, -EADDRINUSE: a
 * service has that id, -ESHUTDOWN: ripc_retire was called. ripc_leave: -ENOENT if it is no
 * member. When the last member has left, a service can be bound to the id. */
RIPC_API int ripc_join(struct ripc_service *service, ripc_id group);
RIPC_API int ripc_leave(struct ripc_service *service, ripc_id group);

/* ---- sending ---- */

/* A message. Short items are copied into it, so their memory may be reused when the call returns.
 * Long items stay where they are (in memory of ripc_alloc or ripc_register) until the operation
 * completes. Return buffers are memory that the receiver may fill with the long items of its reply;
 * for a NULL base the library allocates the buffer. */
struct ripc_send {
    ripc_id to;
    const struct iovec *shorts;
    const struct iovec *longs;
    const struct iovec *returns;
    uint16_t short_count;
    uint16_t long_count;
    uint16_t return_count;
    uint64_t user;    /* returned with the completion event */
    int64_t deadline; /* for connecting and for credit; RIPC_NOW: -EAGAIN instead of waiting */
};

/* Sends a message. Returns 0 if it is complete, or the number (> 0) of an operation that completes
 * once the receiver has taken or rejected all long items.
 *   -ENOENT        no process holds that id
 *   -EAGAIN        no credit (a RIPC_CREDIT event follows when there is), not connected yet, or
 *                 the receiver retires or moves (ripc_retire)
 *   -ETIMEDOUT     the same until the deadline; nothing was sent
 *   -EMSGSIZE      short items beyond RIPC_SHORT_MAX, or too many items
 *   -EFAULT        a long item is in memory that is not registered
 *   -EOPNOTSUPP    there are long items, but no path to the peer can carry them
 *   -ECONNREFUSED  nothing listens at the address of the id, or the peer's process refuses us
 *                 (it is closing, or it has as many pipes from this process as it accepts)
 *   -EHOSTUNREACH  this context has no transport in common with the peer's process
 *   -ENETUNREACH   this host has no route to the address of the peer or of the name service
 *   -EPIPE         the peer's process, or the path to it, is gone; nothing was sent
 *   -EMFILE        this process has no free descriptor (-ENFILE: the system has none, -ENOMEM: no
 *                 memory), so the id could not be found or connected; nothing was sent. The id is
 *                 not reported as gone. If the receiver's process has none, the send waits
 * Only -EAGAIN's reasons are waited for until the deadline; the other errors are returned at once.
 * A message to a group goes to every member or, with -EAGAIN, -EMFILE, -ENFILE and -ENOMEM while
 * the members are looked up and connected, to none.
 *
 * A message that was accepted (the result is >= 0) is received by the program that has the id,
 * unless that program unbinds the id, closes its context, dies or has no free descriptors for the
 * first message before it has received it. Then RIPC_LOST reports it. There are two exceptions: a
 * message whose operation was cancelled; and if more than 1,024 senders of a service have ended and
 * it has not received their messages, it drops those of some of them (dropped_unread in
 * ripc_stats). */
RIPC_API int64_t ripc_send_message(struct ripc_service *service, const struct ripc_send *send);

/* Sends one short item. Returns 0 or an error of ripc_send_message. */
RIPC_API int ripc_send(struct ripc_service *service, ripc_id to, const void *data, size_t size,
                       int64_t deadline);

/* Returns the transport that carries messages to `to` now: "shm", "fabric", "udp" or "routed". NULL
 * if no path is open, for example before the first send. */
RIPC_API const char *ripc_transport(struct ripc_service *service, ripc_id to);

/* Takes a return buffer back, also if the peer has not received the message that offered it. After
 * it returns 0, the peer does not write into the buffer any more; items of its reply that would
 * have gone there are pulled. -ENOENT: the buffer is not on offer; -EALREADY: the peer has written
 * an item into it, which arrives with a message, or is writing one now. An offer also ends when the
 * program receives the buffer's item.
 *
 * If the peer's process has died, no process writes into the buffer. The call returns 0 if this
 * context notices the death during the call, or has noticed it and messages of the peer are still
 * to be received or released. Should the program then receive an item that was written into the
 * buffer, the item's status is -ESTALE. After the last of these messages the offer has ended by
 * itself, and the call returns -ENOENT: the buffer belongs to the program. If the peer has unbound
 * its service, the call returns 0.
 *
 * Over shm the peer does not have to answer, and may be stopped: the call does not wait. (Of the
 * buffers that a context has on offer at once, this holds for 4,096.) Over other transports the
 * peer's library answers, whatever its program does; if its context is RIPC_MANUAL, in its next
 * call. -ETIMEDOUT, or -EAGAIN for RIPC_NOW: there is no answer yet, for example because the peer's
 * process is stopped. The buffer is then still on offer; call again. -ENOBUFS: too many messages
 * wait for the peer. */
RIPC_API int ripc_withdraw(struct ripc_service *service, void *base, int64_t deadline);

/* ---- completions and other events ---- */

enum ripc_event_kind {
    RIPC_DONE = 1, /* an operation completed: operation, user, status */
    RIPC_CREDIT,   /* a send to `id` that returned -EAGAIN can be retried */
    RIPC_UP,       /* watched id: a process holds it now */
    RIPC_MOVED,    /* watched id: another process holds it now, or its holder has moved in the
                    * cluster */
    RIPC_DOWN,     /* watched id: no process holds it any more */
    RIPC_LOST,     /* messages to `id` that were accepted were not received: count, since, status */
};

struct ripc_event {
    enum ripc_event_kind kind;
    int status; /* 0, -EPIPE: the peer died, unbound or was cut off, -ENOBUFS: it rejected an item,
                   or -ECANCELED */
    int64_t operation;
    uint64_t user;
    ripc_id id; /* the peer */
    /* RIPC_LOST: of the messages and notifications that this service sent to `id`, the last `since`
     * were sent after the loss; the `count` before these are lost (status 0), or some of them are
     * (status -EPIPE: the process died, and it is not known which of its last messages it had
     * received). If a lost message has an operation, that completes with an error, too. */
    uint64_t count;
    uint64_t since;
};

/* Takes up to `max` events and returns their number. Waits for the first. Apart from completions,
 * at most 4,096 events wait to be taken; the statistics also count losses that are reported by no
 * event. */
RIPC_API int ripc_poll(struct ripc_service *service, struct ripc_event *events, unsigned max,
                       int64_t deadline);

/* Waits for one operation, consumes its event and returns its status. -EINVAL: the operation does
 * not exist, or its event was already taken. */
RIPC_API int ripc_wait(struct ripc_service *service, int64_t operation, int64_t deadline);

/* Completes the operation with -ECANCELED unless it has already completed. When this returns 0, no
 * peer reads the operation's memory any more. If the receiver's program has not received the
 * message by then, it does not receive any part of it, and no RIPC_LOST follows. The receiver
 * answers when its program next calls ripc_receive; -ETIMEDOUT, or -EAGAIN for RIPC_NOW: it has not
 * answered yet, and the operation will complete with -ECANCELED or with its outcome. */
RIPC_API int ripc_cancel(struct ripc_service *service, int64_t operation, int64_t deadline);

/* From now on, reports RIPC_UP, RIPC_MOVED and RIPC_DOWN for the id. These events come from the
 * name services: after RIPC_DOWN the pipe to a dead process may stay open for a moment, and
 * messages sent in that moment are lost (RIPC_LOST). -EINVAL: the id is 0; -EALREADY: the service
 * watches it. ripc_unwatch: -ENOENT if it does not. */
RIPC_API int ripc_watch(struct ripc_service *service, ripc_id id);
RIPC_API int ripc_unwatch(struct ripc_service *service, ripc_id id);

/* ---- receiving ---- */

struct ripc_item {
    void *data;    /* the long item, or NULL until it has arrived */
    uint64_t size; /* as declared by the sender */
    int status;    /* 0: arrived; -EINPROGRESS: pending, call ripc_fetch or ripc_reject; else the
                    * error */
    bool returned; /* the item is in a return buffer of this service */
    bool owned;    /* the library allocated the memory; the caller frees it with ripc_free */
};

struct ripc_message {
    ripc_id from;
    ripc_id to;       /* the service, or the group to which the message was sent */
    const void *data; /* all short items, one after the other; valid until ripc_release */
    uint32_t size;
    uint16_t short_count;
    uint16_t long_count;
    uint16_t return_count; /* return buffers that the sender offers */
    uint16_t reserved;
    uint32_t cookie;         /* private to the library */
    struct ripc_item *longs; /* array of long_count items; valid until ripc_release */
    void *internal[3];
};

/* Takes up to `max` messages and returns their number. Waits for the first. A long item that fits a
 * window is already in it; a window is used once. -ESHUTDOWN: ripc_retire was called, and
 * everything that was sent to the service has been received. */
RIPC_API int ripc_receive(struct ripc_service *service, struct ripc_message *messages, unsigned max,
                          int64_t deadline);

/* Returns the short item with that index, and its size unless `size` is NULL; NULL if there is no
 * such item. */
RIPC_API const void *ripc_short(const struct ripc_message *message, unsigned index, size_t *size);

/* Releases the message and rejects its pending items. An unreleased message keeps part of its
 * sender's credit: copy a message that you need for long. Releasing twice is harmless. */
RIPC_API void ripc_release(struct ripc_message *message);

/* Copies a pending long item to `to`. -EMSGSIZE: the item is larger than `size`; -ESTALE: it is not
 * pending; -ECANCELED: the sender cancelled it; -EPIPE: the sender died. A copy that has begun is
 * finished even after the deadline. */
RIPC_API int ripc_fetch(struct ripc_message *message, unsigned index, void *to, size_t size,
                        int64_t deadline);
RIPC_API int ripc_reject(struct ripc_message *message, unsigned index);

/* ---- memory ---- */

/* Memory that peers on this host can map, so that long items need no extra copy. ripc_free: -EINVAL
 * if ripc_alloc did not return this pointer, -EALREADY if it is already free, -EBUSY while a send,
 * window or grant uses it. (Of memory that it gave back to the system, the library remembers the
 * last 64 pieces; freeing an older one again is -EINVAL.) */
RIPC_API void *ripc_alloc(struct ripc *ripc, size_t size);
RIPC_API void *ripc_resize(struct ripc *ripc, void *data, size_t size);
RIPC_API int ripc_free(struct ripc *ripc, void *data);

/* Registers memory that the program allocated itself. -EFAULT: the memory is not mapped; -EEXIST:
 * it overlaps registered memory. ripc_unregister returns -EBUSY while a send, window or grant uses
 * the memory. */
RIPC_API int ripc_register(struct ripc *ripc, void *base, size_t size);
RIPC_API int ripc_unregister(struct ripc *ripc, void *base);

/* A window is writable memory that receives one long item. An item goes into the smallest window
 * that holds it: first among the windows of its service, then among those of the whole context
 * (service NULL). ripc_window_remove returns -ENOENT if there is no such window or it was used. */
RIPC_API int ripc_window_add(struct ripc *ripc, struct ripc_service *service, void *base,
                             size_t size);
RIPC_API int ripc_window_remove(struct ripc *ripc, struct ripc_service *service, void *base);

enum ripc_right { RIPC_READ = 1, RIPC_WRITE = 2 };

/* The right of one peer to access a piece of registered memory. It is plain data, to be sent to
 * that peer. Only a process that has `peer` bound can use it. */
struct ripc_grant {
    ripc_id owner;
    uint64_t key; /* random */
    uint64_t size;
};

RIPC_API int ripc_grant(struct ripc_service *service, ripc_id peer, void *base, size_t size,
                        uint32_t rights, struct ripc_grant *grant);

/* Withdraws the grant. After it returns 0, the peer cannot access the memory any more. */
RIPC_API int ripc_revoke(struct ripc_service *service, const struct ripc_grant *grant,
                         int64_t deadline);

/* Read or write the granted memory. -EACCES: there is no such grant for this process, it was
 * revoked, or it lacks the right; -ERANGE: beyond the size of the grant. */
RIPC_API int ripc_read(struct ripc_service *service, const struct ripc_grant *grant,
                       uint64_t offset, void *to, size_t size, int64_t deadline);
RIPC_API int ripc_write(struct ripc_service *service, const struct ripc_grant *grant,
                        uint64_t offset, const void *from, size_t size, int64_t deadline);

/* ---- notifications ---- */

/* Plain data, to be sent to the peers that will notify us. */
struct ripc_handle {
    ripc_id service;
    uint64_t token;
};

/* Called on a library thread. `count` notifications came since the last call; `value` is from the
 * last of them. The callback may call ripc. */
typedef void ripc_notice_callback(void *argument, uint64_t count, uint64_t value);

/* With a callback, notifications call it. With NULL, use ripc_notice_wait or ripc_notice_fd. */
RIPC_API int ripc_notice_open(struct ripc *ripc, ripc_notice_callback *callback, void *argument,
                              struct ripc_notice **notice, struct ripc_handle *handle);
/* Waits for a running callback to return, unless called from inside it. -EBUSY: a thread is in
 * ripc_notice_wait. */
RIPC_API int ripc_notice_close(struct ripc_notice *notice);

/* Notifies the owner of the handle. Notifications are counted and never lost while both processes
 * live. They arrive after all earlier writes and messages of this service to that process. -ENOENT:
 * no process holds the id of the handle, or its owner has no notice with that token. The first call
 * for a handle asks the owner and waits for the answer; with RIPC_NOW it does not wait, and may
 * return 0 for a wrong token until the answer has come. If the notice is closed, the owner says so
 * after the next notification. */
RIPC_API int ripc_notify(struct ripc_service *service, const struct ripc_handle *handle,
                         uint64_t value, int64_t deadline);

/* Returns the number of notifications since the last call (at most INT_MAX), and the last value. */
RIPC_API int ripc_notice_wait(struct ripc_notice *notice, uint64_t *value, int64_t deadline);
RIPC_API int ripc_notice_fd(struct ripc_notice *notice); /* readable while notifications are
                                                          * pending */

/* ---- event loops ---- */

/* A file descriptor that belongs to the service. It becomes readable when ripc_receive or ripc_poll
 * of the service has something to return, provided that ripc_arm has returned 0 since the last such
 * call. ripc_arm returns -EAGAIN if something is already waiting. RIPC_LOST alone counts only if
 * the program has called ripc_poll for this service before. */
RIPC_API int ripc_fd(struct ripc_service *service);
RIPC_API int ripc_arm(struct ripc_service *service);

/* ---- statistics and tools ---- */

struct ripc_stats {
    uint64_t sent, sent_bytes;
    uint64_t received, received_bytes;
    uint64_t long_sent, long_sent_bytes;
    uint64_t long_received, long_received_bytes;
    uint64_t no_credit;             /* sends that found no credit */
    uint64_t pending;               /* long items that found no window */
    uint64_t rejected;              /* pending items that were rejected */
    uint64_t dropped_unknown;       /* messages for services that are not bound here */
    uint64_t protocol_errors;       /* peers that were disconnected because they broke the
                                     * protocol */
    uint64_t peers_lost;            /* peers that died or were disconnected */
    uint64_t claims_forged;         /* claims with a wrong seal, ignored */
    uint64_t claims_conflict;       /* claims of other processes to ids of this one */
    uint64_t garbage;               /* malformed datagrams and connections */
    uint64_t blocks;                /* waits that went to sleep */
    uint64_t wakes;                 /* sleeping peers that had to be woken */
    uint64_t buffers, buffer_bytes; /* allocated by ripc_alloc at present */
    uint64_t operations;            /* under way at present */
    uint64_t doubtful; /* messages sent that may or may not have been received: the receiver died
                        * before it released them, or ripc_close or ripc_unbind did not wait
                        * for them */
    uint64_t lost;     /* messages sent that were certainly not received, because the receiver
                        * unbound its id or closed its context */
    uint64_t dropped_unread; /* messages that had arrived for services of this context, and were not
                              * received before ripc_unbind, or when more than 1,024 senders had
                              * ended */
};

RIPC_API int ripc_stats(struct ripc *ripc, struct ripc_stats *stats);

/* Calls back for every name known in the domain: services with chosen or random ids, and groups
 * (once per member). The multicast name service asks the network first and waits 0.15 s for
 * answers. The callback must not call ripc. */
struct ripc_name {
    ripc_id id;
    ripc_id member; /* of a group: the member service; else equal to id */
    uint64_t context;
    uint64_t incarnation;
    bool group;
    bool local;       /* on this host */
    int pid;          /* 0 if not on this host */
    char address[64]; /* "host", or ip:port */
};
typedef void ripc_list_callback(void *argument, const struct ripc_name *name);
RIPC_API int ripc_list(struct ripc *ripc, ripc_list_callback *callback, void *argument);

/* Removes what killed processes of the domain left behind. NULL means WEFT_DOMAIN or "default".
 * Returns the number of files removed in the domain's folder. Files that libfabric's shm provider
 * keeps elsewhere, for all domains, are removed but not counted. */
RIPC_API int ripc_clean(const char *domain);

#ifdef __cplusplus
}
#endif
