#pragma once
/* fabric_pair: two contexts in two processes that have lifelines and the fabric transport, and
 * nothing above them. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "transport/domain.h"
#include "transport/transport.h"
#include "transport/wake/lock.h"
#include "transport/wake/thread.h"

#define PAIR_SKIP 77 /* exit status: the provider is not available */

struct fabric_side {
    int channel; /* to the other side, for messages of the test itself */
    struct lock lock;
    struct poller *poller;
    struct thread keeper;
    _Atomic bool stopping; /* release: set by the thread that joins the keeper */
    struct transport *transport;
    const struct transport_ops *ops;
    struct doorbell bell;
    struct lifelines *lines;
    struct context_address address;
    uint8_t card[160];
    unsigned turns; /* polls so far */

    /* Under the lock. */
    struct transport_link *link; /* NULL until up */
    struct lifeline *line;       /* NULL once down */
    bool down;
    struct outlet *outlet;
    bool answered;
    struct inlet *inlet;
};

/* An assertion for processes that have no test framework. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# %s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* The provider under test: WEFT_TEST_PROVIDER, or tcp. */
const char *pair_provider(void);

/* A folder for the sockets, and its removal. */
void pair_folder_make(void);
void pair_folder_remove(void);

/* What the other side does; its result is the exit status. */
typedef int pair_role(int channel, int argument);

/* Call it at the beginning of main(): it does not return in a process that plays the other side.
 * The list of roles ends with NULL. */
void pair_init(int count, char **words, pair_role *const *roles);

/* Starts the other side: this program again, which runs `role` and ends, by itself after two
 * minutes. A mere fork would not work: the child would inherit what libfabric has open, and the
 * kernel lets only the process that opened an RDMA device use it. Each side gets its end of the
 * channel. */
pid_t pair_start(pair_role *role, int argument, int *channel);
/* Returns the exit status, or minus the signal. */
int pair_wait(pid_t peer);

/* Opens the context; exits with PAIR_SKIP if the provider is not available. */
void side_open(struct fabric_side *side);
/* Opens the link to the other side; both call it at the same time, one of them with `calls`. */
void side_link(struct fabric_side *side, int channel, bool calls);
/* Closes the link and its pipes. */
void side_unlink(struct fabric_side *side);
void side_close(struct fabric_side *side);
/* Opens an outlet; the other side gets its inlet by side_await_inlet. Frames may be pushed before
 * the answer. */
void side_open_outlet(struct fabric_side *side);
void side_await_inlet(struct fabric_side *side);

void channel_send(int channel, const void *data, size_t size);
bool channel_receive(int channel, void *data, size_t size); /* false: the other side is gone */

/* Call it with the lock held, after a poll that found nothing: makes progress if `spin`, else drops
 * the lock and sleeps on the bell. False once the link is down. */
bool side_pause(struct fabric_side *side, bool spin);

/* Waiting calls, which take the lock; they return 0 or a negative errno. */
int side_push(struct fabric_side *side, const struct frame_head *head, const struct iovec *pieces,
              unsigned piece_count, bool spin);
int side_pull(struct fabric_side *side, struct frame *frame, bool spin);
void side_release(struct fabric_side *side, const struct frame *frame);
int side_acknowledge(struct fabric_side *side, uint64_t token, int64_t status);
int side_collect(struct fabric_side *side, struct acknowledgement *ack, bool spin);
struct region *side_region(struct fabric_side *side, void *base, size_t size);
void side_region_close(struct fabric_side *side, struct region *region);
int side_share(struct fabric_side *side, struct region *region, void *base, size_t size,
               uint32_t rights, struct remote_memory *out);

/* A transfer, and the wait for it. */
struct move {
    struct transfer transfer; /* first */
    struct fabric_side *side;
    int done_count;
    int status;
};
int side_move_start(struct fabric_side *side, struct move *move, bool writes,
                    const struct remote_memory *remote, uint64_t offset, void *local, size_t size,
                    struct region *region);
int side_move_wait(struct fabric_side *side, struct move *move, bool spin);
int side_move(struct fabric_side *side, bool writes, const struct remote_memory *remote,
              uint64_t offset, void *local, size_t size, struct region *region, bool spin);
