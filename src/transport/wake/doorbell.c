/* doorbell: the page, and the protocol between sleeper and ringer.
 *
 *   sleeper                             ringer
 *   note the count                      publish in a ring buffer, release
 *   record in the page that we sleep    (full fence, if one of the two lacks membarrier)
 *   barrier                             does the page name sleepers?
 *   look at the ring buffers            if so: add 1 to the count, clear the sleepers,
 *   sleep while the count is the same          wake them all
 *
 * Either the sleeper sees what was published or the ringer sees the sleeper: each side stores, then
 * loads what the other side stored, and between the store and the load there must be a full barrier
 * on both sides. membarrier executes one in every process that is running and has registered, so
 * the ringer's side can be a plain load.
 *
 * The count (how often the bell was rung) and the set of sleepers are the two halves of one word,
 * so that one atomic step both counts and removes the sleepers from the word. A thread that was
 * removed sees it by the count, and a thread that comes later is not removed by mistake.
 *
 * The event descriptor is one end of a pair of datagram sockets, not an eventfd: a peer could make
 * our write to an eventfd block, but not a send with MSG_DONTWAIT. */
#include "transport/wake/doorbell.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "transport/fork/descriptor.h"

#define PAGE_SIZE 4096

/* The low half of `word` counts rings; sleepers sleep on it. Above it are the number of sleeping
 * threads and a bit for the event descriptor. */
#define WORD_RINGS(word) ((uint32_t)(word))
#define WORD_THREAD      (1ULL << 32)
#define WORD_EVENT       (1ULL << 63)
#define WORD_SLEEPERS    (~0ULL << 32)
#define RING_TRIES       64 /* honest contention ends sooner; a hostile peer could write for ever */

struct doorbell_page {
    /* Written by sleepers (the owner's threads) and ringers (all). Accesses are relaxed: the word
     * carries nothing but itself, and the order to the rings' contents comes from the barriers
     * above. */
    _Atomic uint64_t word;
    /* Written once by the owner before it shares the page: whether the owner executes the
     * barrier. */
    _Atomic uint32_t owner_has_membarrier;
};
static_assert(sizeof(struct doorbell_page) <= PAGE_SIZE, "one page is shared");
static_assert(sizeof(struct doorbell_page) <= DOORBELL_PLACED_SIZE, "or the caller's memory");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the futex is the low half of the word");

_Atomic nsec doorbell_nap = DOORBELL_NAP_NSEC;

/* What this thread saw when it prepared to sleep; a thread sleeps on one bell at a time. */
static _Thread_local struct {
    uint32_t rings;
    enum doorbell_sleep how;
    const struct doorbell *bell; /* NULL while it is not about to sleep */
} nap;

static int membarrier(int command)
{
    return (int)syscall(SYS_membarrier, command, 0, 0);
}

/* Once per process would be enough, but the kernel answers repeated registrations at once, and a
 * child of fork is a new process. */
static bool membarrier_register(void)
{
    int known = membarrier(MEMBARRIER_CMD_QUERY);
    if (known < 0 || !(known & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
        return false;
    return membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) == 0;
}

/* gcc warns that ThreadSanitizer does not support fences. What it misses here concerns only
 * atomics, which it never reports. */
static inline void full_fence(void)
{
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wtsan"
#endif
    atomic_thread_fence(memory_order_seq_cst);
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
}

static long futex(struct doorbell_page *page, int operation, uint32_t value,
                  const struct timespec *until)
{
    return syscall(SYS_futex, &page->word, operation, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void doorbell_clean(struct doorbell *bell)
{
    *bell = (struct doorbell){.file.fd = -1, .event_fd = -1, .far_fd = -1};
    list_init(&bell->polled);
}

static void doorbell_begin(struct doorbell *bell, void *page)
{
    bell->page = page;
    bell->has_membarrier = membarrier_register();
    atomic_store_explicit(&bell->page->owner_has_membarrier, bell->has_membarrier,
                          memory_order_release);
}

int doorbell_open(struct doorbell *bell)
{
    doorbell_clean(bell);
    int result = memfile_open(&bell->file, "weft-doorbell", PAGE_SIZE);
    if (result)
        return result;
    int pair[2];
    if (descriptor_pair(SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, pair)) {
        result = -errno;
        memfile_close(&bell->file);
        return result;
    }
    bell->event_fd = pair[0];
    bell->far_fd = pair[1];
    doorbell_begin(bell, bell->file.base);
    return 0;
}

void doorbell_open_on(struct doorbell *bell, void *page)
{
    assert(page && (uintptr_t)page % DOORBELL_PLACED_SIZE == 0);
    doorbell_clean(bell);
    doorbell_begin(bell, page);
}

void doorbell_close(struct doorbell *bell)
{
    if (!bell->page)
        return;
    assert(list_is_empty(&bell->polled)); /* else it would be rung after it is closed */
    if (bell->event_fd >= 0)
        descriptor_close(bell->event_fd);
    if (bell->far_fd >= 0)
        descriptor_close(bell->far_fd);
    memfile_close(&bell->file);
    doorbell_clean(bell);
}

_Bool doorbell_is_slept_on(const struct doorbell *bell)
{
    uint64_t sleepers =
        atomic_load_explicit(&bell->page->word, memory_order_relaxed) & WORD_SLEEPERS;
    return sleepers > (nap.bell == bell ? WORD_THREAD : 0);
}

void doorbell_prepare(struct doorbell *bell, enum doorbell_sleep how)
{
    assert(how == DOORBELL_FUTEX || (how == DOORBELL_FD && bell->event_fd >= 0));
    _Atomic uint64_t *word = &bell->page->word;
    uint64_t before = how == DOORBELL_FUTEX
                          ? atomic_fetch_add_explicit(word, WORD_THREAD, memory_order_relaxed)
                          : atomic_fetch_or_explicit(word, WORD_EVENT, memory_order_relaxed);
    nap.rings = WORD_RINGS(before);
    nap.how = how;
    nap.bell = bell;
    doorbell_fence(bell);
}

void doorbell_fence(const struct doorbell *bell)
{
    full_fence(); /* pairs with the fence of ringers that must fence */
    if (bell->has_membarrier)
        membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
}

void doorbell_arm(struct doorbell *bell)
{
    atomic_fetch_or_explicit(&bell->page->word, WORD_EVENT, memory_order_relaxed);
}

void doorbell_disarm(struct doorbell *bell)
{
    atomic_fetch_and_explicit(&bell->page->word, ~WORD_EVENT, memory_order_relaxed);
}

/* Removes this thread from the word, unless a ringer has already done so. */
void doorbell_cancel(struct doorbell *bell)
{
    _Atomic uint64_t *word = &bell->page->word;
    uint64_t seen = atomic_load_explicit(word, memory_order_relaxed);
    nap.bell = NULL;
    for (unsigned i = 0; i < RING_TRIES && WORD_RINGS(seen) == nap.rings; i++) {
        uint64_t less = nap.how == DOORBELL_FUTEX ? seen - WORD_THREAD : seen & ~WORD_EVENT;
        if (atomic_compare_exchange_weak_explicit(word, &seen, less, memory_order_relaxed,
                                                  memory_order_relaxed))
            return;
    }
}

static nsec nap_end(nsec deadline)
{
    nsec until = clock_after(atomic_load_explicit(&doorbell_nap, memory_order_relaxed));
    if (until > deadline)
        until = deadline > 0 ? deadline : 0;
    return until;
}

void doorbell_wait(struct doorbell *bell, nsec deadline)
{
    assert(nap.how == DOORBELL_FUTEX);
    nsec until = nap_end(deadline);
    struct timespec moment = clock_timespec(until);
    futex(bell->page, FUTEX_WAIT_BITSET, nap.rings, &moment);
    doorbell_cancel(bell);
}

void doorbell_wait_with(struct doorbell *bell, int fd, nsec deadline)
{
    assert(nap.how == DOORBELL_FD);
    nsec left = nap_end(deadline) - clock_now();
    struct timespec span = clock_timespec(left > 0 ? left : 0);
    struct pollfd fds[2] = {{.fd = bell->event_fd, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    ppoll(fds, 2, &span, NULL);
    doorbell_cancel(bell);
    doorbell_clear(bell);
}

/* The system swaps the mask and sleeps in one step. */
static bool nap_by_event(struct doorbell *bell, const sigset_t *mask, nsec deadline)
{
    nsec left = nap_end(deadline) - clock_now();
    struct timespec span = clock_timespec(left > 0 ? left : 0);
    struct pollfd fd = {.fd = bell->event_fd, .events = POLLIN};
    bool handled = ppoll(&fd, 1, &span, mask) < 0 && errno == EINTR;
    doorbell_cancel(bell);
    doorbell_clear(bell);
    return handled;
}

/* Because it has a timeout, the system does not resume this sleep after a handler. */
static bool nap_by_futex(struct doorbell *bell, const sigset_t *mask, nsec deadline)
{
    struct timespec moment = clock_timespec(nap_end(deadline));
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, mask, &blocked);
    bool handled = futex(bell->page, FUTEX_WAIT_BITSET, nap.rings, &moment) < 0 && errno == EINTR;
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    doorbell_cancel(bell);
    return handled;
}

int doorbell_wait_interruptibly(struct doorbell *bell, const sigset_t *mask, nsec deadline)
{
    bool handled = nap.how == DOORBELL_FD ? nap_by_event(bell, mask, deadline)
                                          : nap_by_futex(bell, mask, deadline);
    return handled ? -EINTR : 0;
}

void doorbell_clear(struct doorbell *bell)
{
    /* A socket queues few datagrams; the bound keeps a peer that fills it all the time from holding
     * us here. */
    for (unsigned i = 0; i < 1024; i++) {
        uint8_t byte;
        if (recv(bell->event_fd, &byte, sizeof byte, MSG_DONTWAIT) < 0)
            return;
    }
}

/* Returns which sleepers there were, and counts a ring if there were any. */
static uint64_t page_take_sleepers(struct doorbell_page *page)
{
    uint64_t seen = atomic_load_explicit(&page->word, memory_order_relaxed);
    for (unsigned i = 0; i < RING_TRIES && (seen & WORD_SLEEPERS); i++) {
        uint64_t rung = WORD_RINGS(seen + 1);
        if (atomic_compare_exchange_weak_explicit(&page->word, &seen, rung, memory_order_relaxed,
                                                  memory_order_relaxed))
            break;
    }
    return seen & WORD_SLEEPERS;
}

static bool page_ring(struct doorbell_page *page, int event_fd)
{
    uint64_t sleepers = page_take_sleepers(page);
    if (!sleepers)
        return false;
    if (sleepers & ~WORD_EVENT)
        futex(page, FUTEX_WAKE, INT_MAX, NULL);
    if ((sleepers & WORD_EVENT) && event_fd >= 0) { /* below 0: a peer set the bit wrongly */
        /* A full socket is readable already. */
        uint8_t byte = 0;
        (void)!send(event_fd, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    return true;
}

void doorbell_ring(struct doorbell *bell)
{
    full_fence();
    page_ring(bell->page, bell->far_fd);
}

void doorbell_ring_always(struct doorbell *bell)
{
    uint8_t byte = 0;
    assert(bell->far_fd >= 0);
    doorbell_ring(bell);
    (void)!send(bell->far_fd, &byte, sizeof byte, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int doorbell_share(const struct doorbell *bell, int fds[DOORBELL_FD_COUNT])
{
    fds[0] = memfile_share(&bell->file, 1);
    if (fds[0] < 0)
        return fds[0];
    fds[1] = DESCRIPTOR_OPEN(fcntl(bell->far_fd, F_DUPFD_CLOEXEC, 0));
    if (fds[1] >= 0)
        return 0;
    int result = -errno;
    descriptor_close(fds[0]);
    return result;
}

static void ringer_begin(struct ringer *ringer, void *page)
{
    ringer->page = page;
    /* Both processes must have membarrier. The flag is read once, so a peer that changes it later
     * harms only its own wake-ups. */
    ringer->must_fence =
        !atomic_load_explicit(&ringer->page->owner_has_membarrier, memory_order_acquire) ||
        !membarrier_register();
}

int ringer_open(struct ringer *ringer, const int fds[DOORBELL_FD_COUNT])
{
    *ringer = (struct ringer){.event_fd = fds[1]};
    int result = memfile_map(&ringer->file, fds[0], PAGE_SIZE, 1);
    int domain = 0;
    socklen_t size = sizeof domain;
    if (!result && (getsockopt(fds[1], SOL_SOCKET, SO_DOMAIN, &domain, &size) || domain != AF_UNIX))
        result = -EPROTO;
    if (result) {
        ringer_close(ringer);
        return result;
    }
    descriptor_close(
        ringer->file.fd); /* the mapping suffices; one descriptor per pipe would be many */
    ringer->file.fd = -1;
    ringer_begin(ringer, ringer->file.base);
    return 0;
}

void ringer_open_on(struct ringer *ringer, void *page)
{
    assert(page && (uintptr_t)page % DOORBELL_PLACED_SIZE == 0);
    *ringer = (struct ringer){.file.fd = -1, .event_fd = -1};
    ringer_begin(ringer, page);
}

void ringer_close(struct ringer *ringer)
{
    memfile_close(&ringer->file);
    if (ringer->event_fd >= 0)
        descriptor_close(ringer->event_fd);
    *ringer = (struct ringer){.file.fd = -1, .event_fd = -1};
}

_Bool ringer_ring(struct ringer *ringer)
{
    if (ringer->must_fence)
        full_fence();
    return page_ring(ringer->page, ringer->event_fd);
}
