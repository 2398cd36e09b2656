#pragma once
/* doorbell: how a sleeping service is woken from another process.
 *
 * The page lies in shared memory. Whoever is about to sleep says so in it,
 * looks once more at its rings, and sleeps; whoever has put something into a
 * ring looks whether somebody sleeps, and only then makes a system call. The
 * two looks are ordered by a barrier that the *sleeper* pays for (membarrier
 * where the kernel has it), because sleeping is slow anyway and sending is not.
 *
 * The page is not trusted: whatever a peer writes there costs us a needless
 * wake-up, or a sleep of at most DOORBELL_NAP_NSEC, which is
 * a safety timeout: what peers that keep to the rules do never needs it. */

#include <stdatomic.h>
#include <stdint.h>

#include "base/err.h"
#include "base/list.h"
#include "transport/clock.h"
#include "transport/memfile.h"
#include "transport/wake/safety.h"

#define DOORBELL_NAP_NSEC SAFETY_NSEC(100 * 1000 * 1000LL)

/* How long a sleep lasts at most on all bells of this process: DOORBELL_NAP_NSEC. Only tests of
 * wake-ups write it, relaxed: they store NSEC_NEVER before the first sleep. */
extern _Atomic nsec doorbell_nap;

enum doorbell_sleep {
    DOORBELL_AWAKE,
    DOORBELL_FUTEX, /* a thread sleeps in doorbell_wait */
    DOORBELL_FD,    /* an event loop waits for the descriptor */
};

struct doorbell_page;

struct doorbell {
    struct memfile file; /* fd -1 where the page is the caller's */
    struct doorbell_page *page;
    int event_fd; /* becomes readable when rung, after prepare FD; or -1 */
    int far_fd;   /* what is sent here arrives there; or -1 */
    _Bool has_membarrier;
    struct list polled; /* in a list of bells that a polled transport rings */
};

MUST_CHECK int doorbell_open(struct doorbell *bell);
void doorbell_close(struct doorbell *bell);

/* The same on memory of the caller's, DOORBELL_PLACED_SIZE zeroed and aligned bytes of
 * shared memory that outlive the bell. It has no descriptor: sleeping is by DOORBELL_FUTEX
 * only, and it cannot be shared but by sharing the memory. */
#define DOORBELL_PLACED_SIZE 64
void doorbell_open_on(struct doorbell *bell, void *page);

/* Does another thread sleep on it, or is about to, as far as its page says? A hint. */
_Bool doorbell_is_slept_on(const struct doorbell *bell);

/* Sleeping is three steps: prepare, look at everything that could have rung,
 * then wait if there was nothing (else cancel), all three from one thread. Wait returns when rung,
 * at the deadline, or after a nap; the caller looks again in any case. Several threads may sleep on
 * one bell. */
void doorbell_prepare(struct doorbell *bell, enum doorbell_sleep how);
void doorbell_wait(struct doorbell *bell, nsec deadline); /* after prepare FUTEX */
void doorbell_cancel(struct doorbell *bell);

/* After prepare FD: waits for the bell or for another descriptor. */
void doorbell_wait_with(struct doorbell *bell, int fd, nsec deadline);

/* Empties the descriptor after an event loop woke. */
void doorbell_clear(struct doorbell *bell);

/* For an event loop that watches a descriptor of its own, which whoever rings makes readable: it
 * sleeps from arm until it is rung or disarmed, whatever this thread does meanwhile. Arm, fence,
 * look at everything that could have rung; one fence, or one prepare, serves all bells that were
 * armed before it. */
void doorbell_arm(struct doorbell *bell);
void doorbell_fence(const struct doorbell *bell);
void doorbell_disarm(struct doorbell *bell);

/* Rings our own bell: a thread of ours has something for the service. */
void doorbell_ring(struct doorbell *bell);

/* The same, and the descriptor becomes readable even if nobody prepared. */
void doorbell_ring_always(struct doorbell *bell);

/* A peer's bell. The descriptors are taken over, also on failure. */
struct ringer {
    struct memfile file;
    struct doorbell_page *page;
    int event_fd;     /* the far end of the owner's; -1 if it is on memory of the caller's */
    _Bool must_fence; /* one of the two processes lacks membarrier */
};

#define DOORBELL_FD_COUNT 2

/* Two descriptors to send to a peer: page and event; the caller's to close. */
MUST_CHECK int doorbell_share(const struct doorbell *bell, int fds[DOORBELL_FD_COUNT]);
MUST_CHECK int ringer_open(struct ringer *ringer, const int fds[DOORBELL_FD_COUNT]);
/* Of a bell that its owner opened on that memory, mapped here for writing. */
void ringer_open_on(struct ringer *ringer, void *page);
void ringer_close(struct ringer *ringer);

/* To be called after something was published with release order. Returns true
 * if somebody slept and was woken. */
_Bool ringer_ring(struct ringer *ringer);
