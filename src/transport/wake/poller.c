/* poller: epoll for descriptors, a binary heap for timers, and one timerfd armed for the top of the
 * heap, so that the epoll descriptor alone shows whether there is work. An eventfd carries
 * poller_wake.
 *
 * The lock is not held while epoll_wait sleeps: meanwhile other threads may add, change and remove
 * watches, which epoll allows, and set timers, which re-arms the timerfd and so ends the sleep in
 * time. A watch may be removed after epoll has fetched an event for it and before we get the lock;
 * therefore a removed watch is marked, and freed only at the end of the step.
 *
 * Invariants, under the lock: heap[i]->slot == i + 1; no child is earlier than its parent; armed <=
 * heap[0]->at; retired watches exist only while a thread is inside poller_step. */
#include "transport/wake/poller.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"

enum {
    EVENTS_MAX = 64,  /* handled by one step */
    RETIRED_MAX = 64, /* then the sleeping thread is woken to free them */
};

struct poller_watch {
    int fd;
    bool removed;
    bool absent; /* ignored for now: not in the epoll set */
    poller_ready *ready;
    void *owner;
    struct poller_watch *next; /* in the list of retired or of lost ones */
};

struct poller {
    struct lock *lock;
    int epoll_fd;
    int wake_fd;
    int timer_fd;
    bool stepping;
    nsec armed; /* when the timerfd is set to fire */
    struct poller_timer **heap;
    size_t timer_count;
    size_t timer_capacity;
    size_t watch_count;
    size_t retired_count;
    struct poller_watch *retired;
    struct poller_watch *lost; /* removed, and freed when the poller closes */
};

static int poller_own(struct poller *poller, int fd, int *own)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = own};
    return epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int poller_open(struct poller **out, struct lock *lock)
{
    struct poller *poller = array_new(1, sizeof *poller);
    if (!poller)
        return -ENOMEM;
    poller->lock = lock;
    poller->armed = NSEC_NEVER;
    poller->epoll_fd = DESCRIPTOR_OPEN(epoll_create1(EPOLL_CLOEXEC));
    poller->wake_fd = DESCRIPTOR_OPEN(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    poller->timer_fd = DESCRIPTOR_OPEN(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    int result = 0;
    if (poller->epoll_fd < 0 || poller->wake_fd < 0 || poller->timer_fd < 0)
        result = -errno;
    if (!result)
        result = poller_own(poller, poller->wake_fd, &poller->wake_fd);
    if (!result)
        result = poller_own(poller, poller->timer_fd, &poller->timer_fd);
    if (result) {
        poller_close(poller);
        return result;
    }
    *out = poller;
    return 0;
}

static void watches_free(struct poller_watch **list)
{
    while (*list) {
        struct poller_watch *watch = *list;
        *list = watch->next;
        free(watch);
    }
}

void poller_close(struct poller *poller)
{
    if (!poller)
        return;
    assert(!poller->stepping && !poller->watch_count && !poller->retired);
    if (poller->timer_fd >= 0)
        descriptor_close(poller->timer_fd);
    if (poller->wake_fd >= 0)
        descriptor_close(poller->wake_fd);
    if (poller->epoll_fd >= 0)
        descriptor_close(poller->epoll_fd);
    for (size_t i = 0; i < poller->timer_count; i++)
        poller->heap[i]->slot = 0;
    watches_free(&poller->lost);
    free(poller->heap);
    free(poller);
}

/* ---- descriptors ---- */

int poller_add(struct poller *poller, int fd, uint32_t events, poller_ready *ready, void *owner,
               struct poller_watch **out)
{
    struct poller_watch *watch = array_new(1, sizeof *watch);
    if (!watch)
        return -ENOMEM;
    *watch = (struct poller_watch){.fd = fd, .ready = ready, .owner = owner};
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (epoll_ctl(poller->epoll_fd, EPOLL_CTL_ADD, fd, &event)) {
        int error = errno;
        free(watch);
        return -error;
    }
    poller->watch_count++;
    *out = watch;
    return 0;
}

int poller_change(struct poller *poller, struct poller_watch *watch, uint32_t events)
{
    assert(!watch->removed);
    struct epoll_event event = {.events = events, .data.ptr = watch};
    int operation = watch->absent ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(poller->epoll_fd, operation, watch->fd, &event))
        return -errno;
    watch->absent = false;
    return 0;
}

void poller_ignore(struct poller *poller, struct poller_watch *watch)
{
    assert(!watch->removed);
    if (!watch->absent)
        watch->absent = epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL) == 0;
}

void poller_remove(struct poller *poller, struct poller_watch *watch)
{
    if (!watch)
        return;
    assert(!watch->removed && poller->watch_count > 0);
    int result = watch->absent ? 0 : epoll_ctl(poller->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    assert(result == 0); /* else the owner closed the descriptor too early */
    poller->watch_count--;
    if (!poller->stepping) {
        free(watch);
        return;
    }
    watch->removed = true;
    watch->next = poller->retired;
    poller->retired = watch;
    if (++poller->retired_count >= RETIRED_MAX)
        poller_wake(poller);
}

void poller_lose(struct poller *poller, struct poller_watch *watch)
{
    assert(!watch->removed && poller->watch_count > 0);
    poller->watch_count--;
    watch->removed = true;
    watch->next = poller->lost;
    poller->lost = watch;
}

/* ---- timers ---- */

static void heap_put(struct poller *poller, size_t at, struct poller_timer *timer)
{
    poller->heap[at] = timer;
    timer->slot = (unsigned)at + 1;
}

/* Moves the timer at `at` up or down to its place in the heap. */
static void heap_settle(struct poller *poller, size_t at)
{
    struct poller_timer *timer = poller->heap[at];
    while (at > 0 && poller->heap[(at - 1) / 2]->at > timer->at) {
        heap_put(poller, at, poller->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= poller->timer_count)
            break;
        if (child + 1 < poller->timer_count &&
            poller->heap[child + 1]->at < poller->heap[child]->at)
            child++;
        if (poller->heap[child]->at >= timer->at)
            break;
        heap_put(poller, at, poller->heap[child]);
        at = child;
    }
    heap_put(poller, at, timer);
}

static void poller_arm(struct poller *poller, nsec at)
{
    struct itimerspec when = {{0}, {0}};
    if (at != NSEC_NEVER) /* a time of zero would disarm it */
        when.it_value = clock_timespec(at > 0 ? at : 1);
    int result = timerfd_settime(poller->timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
    assert(result == 0);
    poller->armed = at;
}

int poller_set(struct poller *poller, struct poller_timer *timer, nsec at)
{
    if (at == NSEC_NEVER) {
        poller_unset(poller, timer);
        return 0;
    }
    if (!timer->slot) {
        if (!array_reserve(&poller->heap, &poller->timer_capacity, poller->timer_count + 1,
                           sizeof(struct poller_timer *)))
            return -ENOMEM;
        heap_put(poller, poller->timer_count++, timer);
    }
    timer->at = at;
    heap_settle(poller, timer->slot - 1);
    if (at < poller->armed) /* armed too early costs only one step without work */
        poller_arm(poller, at);
    return 0;
}

void poller_set_by(struct poller *poller, struct poller_timer *timer, nsec at)
{
    assert(timer->slot);
    if (at >= timer->at)
        return;
    int result = poller_set(poller, timer, at);
    assert(result == 0); /* setting a timer that is set cannot fail */
}

void poller_unset(struct poller *poller, struct poller_timer *timer)
{
    timer->at = NSEC_NEVER;
    if (!timer->slot)
        return;
    size_t at = timer->slot - 1;
    assert(at < poller->timer_count && poller->heap[at] == timer);
    timer->slot = 0;
    struct poller_timer *last = poller->heap[--poller->timer_count];
    if (last == timer)
        return;
    heap_put(poller, at, last);
    heap_settle(poller, at);
}

/* Each timer that is set now fires at most once, so that a timer that always sets itself to the
 * past cannot hold us here. */
static int poller_fire(struct poller *poller)
{
    nsec now = clock_now();
    int count = 0;
    for (size_t left = poller->timer_count; left > 0 && poller->timer_count > 0; left--) {
        struct poller_timer *timer = poller->heap[0];
        if (timer->at > now)
            break;
        poller_unset(poller, timer);
        timer->fired(timer->owner);
        count++;
    }
    poller_arm(poller, poller->timer_count ? poller->heap[0]->at : NSEC_NEVER);
    return count;
}

/* ---- the step ---- */

static int poller_sleep(int epoll_fd, struct epoll_event *events, nsec until)
{
    nsec left = until == NSEC_NEVER ? 0 : until - clock_now();
    struct timespec timeout = clock_timespec(left > 0 ? left : 0);
    int count =
        epoll_pwait2(epoll_fd, events, EVENTS_MAX, until == NSEC_NEVER ? NULL : &timeout, NULL);
    if (count < 0 && errno == ENOSYS) {
        nsec left_msec = left > 0 ? (left + 999999) / 1000000 : 0;
        int most = until == NSEC_NEVER ? -1 : (int)(left_msec < 60000 ? left_msec : 60000);
        count = epoll_wait(epoll_fd, events, EVENTS_MAX, most);
    }
    return count > 0 ? count : 0; /* an interrupted wait counts as a short one */
}

/* Another thread is in poller_step: waits until there is work, which that thread does. */
static void poller_wait_beside(int epoll_fd, nsec until)
{
    struct pollfd descriptor = {.fd = epoll_fd, .events = POLLIN};
    nsec left = until == NSEC_NEVER ? 0 : until - clock_now();
    struct timespec timeout = clock_timespec(left > 0 ? left : 0);
    if (until == NSEC_NEVER || left > 0)
        (void)ppoll(&descriptor, 1, until == NSEC_NEVER ? NULL : &timeout, NULL);
}

static int poller_dispatch(struct poller *poller, const struct epoll_event *events, int count)
{
    int called = 0;
    bool timer_due = false;
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &poller->wake_fd) {
            uint64_t ignored;
            (void)!read(poller->wake_fd, &ignored, sizeof ignored);
        } else if (events[i].data.ptr == &poller->timer_fd) {
            timer_due = true;
        } else {
            struct poller_watch *watch = events[i].data.ptr;
            if (watch->removed)
                continue;
            watch->ready(watch->owner, events[i].events);
            called++;
        }
    }
    return timer_due ? called + poller_fire(poller) : called;
}

int poller_step(struct poller *poller, nsec until)
{
    struct epoll_event events[EVENTS_MAX];
    lock_take(poller->lock);
    bool busy = poller->stepping;
    poller->stepping = true;
    lock_drop(poller->lock);
    if (busy) {
        poller_wait_beside(poller->epoll_fd, until);
        return 0;
    }
    int count = poller_sleep(poller->epoll_fd, events, until);
    lock_take(poller->lock);
    int called = poller_dispatch(poller, events, count);
    poller->stepping = false;
    watches_free(&poller->retired);
    poller->retired_count = 0;
    lock_drop(poller->lock);
    return called;
}

void poller_wake(struct poller *poller)
{
    uint64_t one = 1;
    (void)!write(poller->wake_fd, &one, sizeof one); /* fails only if already readable */
}

int poller_fd(struct poller *poller)
{
    return poller->epoll_fd;
}
