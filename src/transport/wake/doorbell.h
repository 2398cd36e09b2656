#pragma once
/* doorbell: wakes a sleeping service from another process.
 *
 * The page is in shared memory. A thread that is about to sleep records that in the page, looks at
 * its ring buffers once more, and sleeps. A thread that has put something into a ring buffer checks
 * the page for sleepers, and makes a system call only if there is one. A barrier orders the store
 * and the load on each side. The *sleeper* pays for it (membarrier where the kernel has it),
 * because sleeping is slow anyway and sending is not.
 *
 * The page is not trusted: the worst that a peer can cause by writing to it is a needless wake-up,
 * or a sleep of at most DOORBELL_NAP_NSEC. That is a safety timeout, which peers that keep to the
 * rules never need. */

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/clock.h"
#include "transport/memfile.h"
#include "transport/wake/safety.h"

#define DOORBELL_NAP_NSEC SAFETY_NSEC(100 * 1000 * 1000LL)

/* The longest sleep on any bell of this process: DOORBELL_NAP_NSEC. Only tests of wake-ups write
 * it, relaxed: they store NSEC_NEVER before the first sleep. */
extern _Atomic nsec doorbell_nap;

enum doorbell_sleep {
    DOORBELL_AWAKE,
    DOORBELL_FUTEX, /* a thread sleeps in doorbell_wait */
    DOORBELL_FD,    /* an event loop waits for the descriptor */
};

struct doorbell_page;

struct doorbell {
    struct memfile file; /* fd is -1 if the page is the caller's memory */
    struct doorbell_page *page;
    int event_fd; /* after prepare FD, becomes readable when the bell is rung; or -1 */
    int far_fd;   /* the other end: what is sent here arrives at event_fd; or -1 */
    _Bool has_membarrier;
    struct list polled; /* links the bells that a polled transport rings */
};

MUST_CHECK int doorbell_open(struct doorbell *bell);
void doorbell_close(struct doorbell *bell);

/* Opens a bell on the caller's memory: DOORBELL_PLACED_SIZE zeroed and aligned bytes of shared
 * memory that outlive the bell. Such a bell has no descriptor: threads sleep on it by
 * DOORBELL_FUTEX only, and the only way to share it is to share the memory. */
#define DOORBELL_PLACED_SIZE 64
void doorbell_open_on(struct doorbell *bell, void *page);

/* Does the page say that another thread sleeps on the bell or is about to? A hint. */
_Bool doorbell_is_slept_on(const struct doorbell *bell);

/* Sleeping takes three steps, all by one thread: prepare, look at everything that could have rung
 * the bell, then wait if there was nothing, or cancel if there was. Wait returns when the bell is
 * rung, at the deadline, or after doorbell_nap; the caller looks again in any case. Several threads
 * may sleep on one bell. */
void doorbell_prepare(struct doorbell *bell, enum doorbell_sleep how);
void doorbell_wait(struct doorbell *bell, nsec deadline); /* after prepare FUTEX */
void doorbell_cancel(struct doorbell *bell);

/* After prepare FD: waits for the bell or for another descriptor. */
void doorbell_wait_with(struct doorbell *bell, int fd, nsec deadline);

/* As doorbell_wait, for a thread that has blocked signals: sleeps with the given mask, and returns
 * -EINTR if the handler of a signal ran meanwhile, whether or not it was installed with SA_RESTART,
 * else 0. After prepare FD no signal is missed, but only one thread at a time may sleep on a bell
 * in this way. After prepare FUTEX any number of threads may, but a signal that is handled between
 * the change of the mask and the sleep does not end the sleep. */
int doorbell_wait_interruptibly(struct doorbell *bell, const sigset_t *mask, nsec deadline);

/* Empties the descriptor after an event loop woke up. */
void doorbell_clear(struct doorbell *bell);

/* For an event loop that watches a descriptor of its own, which the ringer makes readable. The loop
 * counts as asleep from arm until the bell is rung or disarmed, whatever this thread does
 * meanwhile. Arm, fence, then look at everything that could have rung the bell. One fence, or one
 * prepare, serves all bells that were armed before it. */
void doorbell_arm(struct doorbell *bell);
void doorbell_fence(const struct doorbell *bell);
void doorbell_disarm(struct doorbell *bell);

/* Rings our own bell: a thread of this process has something for the service. */
void doorbell_ring(struct doorbell *bell);

/* Also makes the descriptor readable if no thread has prepared to sleep. */
void doorbell_ring_always(struct doorbell *bell);

/* A peer's bell. Opening takes over the descriptors, even on failure. */
struct ringer {
    struct memfile file;
    struct doorbell_page *page;
    int event_fd;     /* the other end of the owner's socket; -1 if the bell has no descriptor */
    _Bool must_fence; /* one of the two processes lacks membarrier */
};

#define DOORBELL_FD_COUNT 2

/* Makes two descriptors to send to a peer: the page and the event socket. The caller closes
 * them. */
MUST_CHECK int doorbell_share(const struct doorbell *bell, int fds[DOORBELL_FD_COUNT]);
MUST_CHECK int ringer_open(struct ringer *ringer, const int fds[DOORBELL_FD_COUNT]);
/* For a bell that its owner opened on this memory, which is mapped here for writing. */
void ringer_open_on(struct ringer *ringer, void *page);
void ringer_close(struct ringer *ringer);

/* Call this after publishing something with release order. Returns true if a sleeper was woken. */
_Bool ringer_ring(struct ringer *ringer);
