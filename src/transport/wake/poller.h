#pragma once
/* poller: descriptors and timers, and who wants to know about them.
 *
 * All callbacks run with the poller's lock held; all calls but poller_wake and
 * poller_step are made with it held, from callbacks too. A callback may add
 * and remove anything, itself included. */

#include <stdint.h>

#include "base/err.h"
#include "transport/clock.h"
#include "transport/wake/lock.h"

struct poller;

typedef void poller_ready(void *owner, uint32_t events); /* EPOLL... bits */
typedef void poller_fired(void *owner);

struct poller_watch; /* one descriptor */

struct poller_timer {
    nsec at; /* NSEC_NEVER while it rests */
    poller_fired *fired;
    void *owner;
    unsigned slot; /* the poller's own */
};

/* The lock is borrowed. Closing asserts that every watch was removed; timers
 * that are still set are forgotten. */
MUST_CHECK int poller_open(struct poller **poller, struct lock *lock);
void poller_close(struct poller *poller); /* NULL is allowed; nobody is in poller_step */

MUST_CHECK int poller_add(struct poller *poller, int fd, uint32_t events, poller_ready *ready,
                          void *owner, struct poller_watch **watch);
MUST_CHECK int poller_change(struct poller *poller, struct poller_watch *watch, uint32_t events);

/* Not told of at all until the next change, which costs whoever makes it readable nothing: even
 * without events the system would look through a descriptor that is itself a set of others. */
void poller_ignore(struct poller *poller, struct poller_watch *watch);

/* Never called back from here on. The fd stays open, and must be open still. */
void poller_remove(struct poller *poller, struct poller_watch *watch); /* NULL is allowed */

/* Zero the timer, set fired and owner, then set it as often as wanted. Setting
 * one that is set already cannot fail; NSEC_NEVER unsets it. */
MUST_CHECK int poller_set(struct poller *poller, struct poller_timer *timer, nsec at);
void poller_unset(struct poller *poller, struct poller_timer *timer);

/* Waits until something is ready, a timer fires, somebody wakes it or `until`;
 * calls back. Takes the lock itself. Returns how many callbacks ran. One
 * thread at a time does that work: while one is inside, another that comes
 * only waits until there is some or `until`, and returns 0. */
int poller_step(struct poller *poller, nsec until);

/* Makes the current or next poller_step return at once. Any thread. */
void poller_wake(struct poller *poller);

/* Readable when poller_step has something to do, timers included. */
int poller_fd(struct poller *poller);
