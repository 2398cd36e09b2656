#pragma once
/* lifeline_impl: one connection, as the files of this folder see it, lowest layer first.
 *   lifeline_cut.c    the end of a line
 *   lifeline_queue.c  bytes and descriptors through the socket
 *   lifeline.c        the hello, receiving, and the calls
 *   lifelines.c       listening, connecting, all lines of a context */

#include <sys/socket.h>

#include "transport/domain.h"
#include "transport/lifeline/lifeline.h"
#include "transport/lifeline/lifeline_wire.h"

enum lifeline_state {
    LIFELINE_CONNECTING,
    LIFELINE_GREETING, /* waiting for the peer's greeting */
    LIFELINE_PROVING,  /* waiting for the peer's proof */
    LIFELINE_UP,
    LIFELINE_DOWN, /* cut; the reaper will call down() and free() */
};

/* How a TCP connection notices a silence: each side makes itself heard after so long, and gives the
 * connection up when it has not heard the other for so long. */
enum { TCP_IDLE_SEC = 2, TCP_TIMEOUT_MSEC = 6000 };

/* A message, or the rest of one, that the socket did not take. */
struct lifeline_parcel {
    struct lifeline_parcel *next;
    size_t size;
    size_t sent; /* bytes already sent; streams only */
    unsigned fd_count;
    int fds[CONTROL_FD_MAX]; /* owned duplicates */
    uint8_t bytes[];
};

struct lifeline {
    struct lifelines *lines;
    struct lifeline *next;
    struct lifeline *previous;
    enum lifeline_state state;
    bool outgoing;
    bool local; /* a Unix socket */
    bool known; /* the owner knows the line, so down() will be called for it */
    bool reading;
    bool out_wanted; /* we watch for EPOLLOUT */
    bool reset_seen;
    bool reached; /* outgoing: was connected, perhaps to be closed again */
    bool rests;   /* does not read, because descriptors for the next message are lacking */
    bool broken;  /* a send failed, and thereby took the error of the socket: the next read finds
                   * an orderly end, which there was not */
    bool ended;   /* of a stream: the peer closed its end in an orderly way */
    int fd;
    int pid;
    int reason;     /* why the line is down */
    nsec suspended; /* clock_suspended() when the line came up */
    struct poller_watch *watch;
    struct poller_timer timer; /* for the hello, or for the next try to connect, send or read */
    nsec deadline;             /* of the hello */
    nsec retry_wait;           /* until the next try to connect, after the peer closed the last */
    void *data;
    struct context_address to;    /* the address to connect to */
    struct context_address peer;  /* the peer's own, once up */
    struct lifeline_hello *hello; /* the peer's, until up */
    uint8_t digests[2][HELLO_DIGEST];
    struct lifeline_parcel *queue;
    struct lifeline_parcel **queue_end;
    size_t queued_size;
    unsigned queued_fds;
    size_t input_size;
    uint8_t input[LIFELINE_FRAME_MAX]; /* of a stream: bytes received so far */
};

struct lifelines {
    struct poller *poller;
    struct attachment *attachment; /* borrowed, or NULL */
    bool fabric_only;
    const struct lifeline_events *events;
    void *owner;
    struct context_address address;
    char folder[128];
    const uint8_t *card;
    size_t card_size;
    bool keyed;
    uint8_t key[LIFELINE_KEY_SIZE];
    nsec hello_nsec;
    int lock_fd; /* holds the lock of context.HEX */
    int unix_fd;
    int tcp_fd;
    struct poller_watch *unix_watch;
    struct poller_watch *tcp_watch;
    struct poller_timer reaper; /* always set, so that setting it to the present cannot fail */
    struct poller_timer rest;   /* pauses accept() when descriptors run out; always set, too */
    struct lifeline *live;
    struct lifeline *doomed;
    struct lifeline **doomed_end;
    unsigned greeting_count; /* incoming lines that are not up */
    struct lifelines_counts counts;
};

/* lifeline.c */
void lifeline_ready(void *owner, uint32_t events);
void lifeline_greet(struct lifeline *line); /* call it once connected: sends our greeting */

/* lifeline_queue.c */
/* Sends or queues one message. */
MUST_CHECK int lifeline_put(struct lifeline *line, const struct control_head *head,
                            const uint8_t *body, const int *fds);
void lifeline_flush(struct lifeline *line); /* may cut the line */
/* Returns 1 and a message, 0 if there is none now, or why there will be no more. -EMFILE: there is
 * one, but no room for its descriptors. The caller owns the message's descriptors. */
MUST_CHECK int lifeline_get(struct lifeline *line, struct control *control);
/* Would lifeline_get return a message, or -EPROTO, without a look at the socket? */
bool lifeline_has_read(const struct lifeline *line);
void control_close_fds(struct control *control);
/* A TCP connection was reset. Had the peer time to give it up, because it did not hear us? Given is
 * how long ago we last heard the peer, and how long this host was suspended meanwhile. */
bool lifeline_was_silent(uint32_t heard_msec, nsec suspended);
/* Stops reading for a moment, or reads again. */
void lifeline_rest(struct lifeline *line, bool rests);

/* lifeline_cut.c; lifeline_cut() is in lifeline.h */
/* The socket failed for that reason. Cuts the line; or, if it is ours and the peer closed it before
 * the hello was complete, connects again a little later. (A peer with too many unfinished hellos
 * closes some of them. If the peer's process has ended, the next try is refused.) */
void lifeline_fail(struct lifeline *line, int reason);
void lifeline_shut(struct lifeline *line); /* closes its socket, timer and queue */
void lifeline_free(struct lifeline *line);
/* Writes the name of the file that the context keeps locked. */
void lifelines_file(uint64_t context, char name[DOMAIN_FILE_MAX]);
void lifelines_reap(void *owner); /* timer callback: frees the doomed lines */
void lifeline_queue_clear(struct lifeline *line);
void lifeline_parcel_free(struct lifeline_parcel *parcel);
void lifeline_fds_close(int *fds, unsigned count);
