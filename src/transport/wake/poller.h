#pragma once
/* poller: watches descriptors and timers, and calls their owners back.
 *
 * All callbacks run with the poller's lock held. All calls except poller_wake and poller_step are
 * made with the lock held, also from callbacks. A callback may add and remove anything, itself
 * included. */

#include <stdint.h>

#include "base/err.h"
#include "transport/clock.h"
#include "transport/wake/lock.h"

struct poller;

typedef void poller_ready(void *owner, uint32_t events); /* EPOLL... bits */
typedef void poller_fired(void *owner);

struct poller_watch; /* one descriptor */

struct poller_timer {
    nsec at; /* NSEC_NEVER while it is not set */
    poller_fired *fired;
    void *owner;
    unsigned slot; /* private to the poller */
};

/* The lock is borrowed. Closing asserts that every watch was removed; timers that are still set are
 * dropped. */
MUST_CHECK int poller_open(struct poller **poller, struct lock *lock);
void poller_close(struct poller *poller); /* NULL is allowed; no thread may be in poller_step */

MUST_CHECK int poller_add(struct poller *poller, int fd, uint32_t events, poller_ready *ready,
                          void *owner, struct poller_watch **watch);
MUST_CHECK int poller_change(struct poller *poller, struct poller_watch *watch, uint32_t events);

/* Stops watching the descriptor entirely until the next poller_change. While it is ignored, a
 * process that makes it readable does no work for this poller. An empty set of events would not
 * achieve this: the system would still examine a descriptor that is itself an epoll set. */
void poller_ignore(struct poller *poller, struct poller_watch *watch);

/* From here on, the callback of the watch is not called. The descriptor must still be open, and
 * stays open. */
void poller_remove(struct poller *poller, struct poller_watch *watch); /* NULL is allowed */
/* The same if other code has closed the descriptor. The system may go on watching its file as long
 * as another process has it open, so the watch keeps its memory until the poller closes. */
void poller_lose(struct poller *poller, struct poller_watch *watch);

/* Zero the timer, fill in fired and owner, then set it as often as needed. Setting a timer that is
 * already set cannot fail; NSEC_NEVER unsets it. */
MUST_CHECK int poller_set(struct poller *poller, struct poller_timer *timer, nsec at);
void poller_unset(struct poller *poller, struct poller_timer *timer);
/* For a timer that is set: makes it fire at `at`, unless it fires earlier. */
void poller_set_by(struct poller *poller, struct poller_timer *timer, nsec at);

/* Waits until a descriptor is ready, a timer fires, poller_wake is called or `until` is reached,
 * then runs the callbacks. Takes the lock itself. Returns how many callbacks ran. Only one thread
 * at a time does this: a second thread that calls poller_step meanwhile only waits until there is
 * work or `until` is reached, and returns 0. */
int poller_step(struct poller *poller, nsec until);

/* Makes the current or next poller_step return at once. May be called by any thread. */
void poller_wake(struct poller *poller);

/* Becomes readable when poller_step has something to do, timers included. */
int poller_fd(struct poller *poller);
