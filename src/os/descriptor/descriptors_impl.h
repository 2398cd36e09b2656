#pragma once
/* descriptors_impl: one watched descriptor, for the files of this folder.
 *
 *   watched.c      watching, readiness, the queue, reading and writing
 *   descriptors.c  opening and accepting; the turns
 *
 * Each file calls only files above it in this list.
 *
 * Invariant, except during its own turn: a descriptor is in the queue if it is ready for something
 * that its node wants. One in the queue may have become unready meanwhile; then its turn is
 * skipped. */

#include <sys/types.h>

#include "os/descriptor/descriptors.h"

enum watched_kind {
    WATCHED_LISTENER,
    WATCHED_SOCKET, /* a stream */
    WATCHED_OTHER,  /* anything else: each read may return one message */
};

struct watched {
    struct descriptors *all;
    struct env_descriptor *env;
    void *owner;
    struct poller_watch *watch;
    struct list node; /* in the queue */
    int fd;
    int failure;   /* of a connect that failed at once: a negative errno */
    uint8_t kind;  /* enum watched_kind */
    uint8_t ready; /* for ENV_READ, ENV_WRITE, as far as is known */
    bool adopted;  /* the service knows `fd`, and may close it by mistake */
    bool hung;     /* the peer has ended, or an error is there: a short read may not be the last */
    dev_t device;  /* of an adopted one: these two tell whether `fd` is still the same file */
    ino_t inode;
    struct poller_timer retry; /* of a listener; always set: accepts again after a shortage */
};

/* Watches the descriptor, which is not blocking. It is closed by watched_close; on failure it stays
 * the caller's. -EMFILE: too many are open. */
MUST_CHECK int watched_open(struct descriptors *all, void *owner, struct env_descriptor *env,
                            int fd, enum watched_kind kind);
/* The service gave us that descriptor, and knows its number. False: errno has the reason. */
MUST_CHECK bool watched_adopt(struct watched *watched);
/* The descriptor became ready for something. */
void watched_ready(struct watched *watched, unsigned ready);
