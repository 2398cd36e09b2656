/* store: the calls of weft/store.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/array.h"
#include "program/store/line.h"
#include "transport/fork/descriptor.h"
#include "transport/fork/owner.h"
#include "transport/wake/monitor.h"

struct weft_store {
    struct owner owner;
    struct monitor monitor; /* protects `busy`; the rest belongs to the thread that set it */
    bool busy;              /* a thread is in a call */
    struct window window;
    struct line line;
    int epoll_fd; /* of weft_store_fd; -1: none. Contains the attachment's and the next one */
    int timer_fd; /* becomes readable when something is to be done */
};

static const struct {
    int error;
    const char *text;
} texts[] = {
    {ENOENT, "there is no such key"},
    {EEXIST, "the key exists already"},
    {ESTALE, "the key has another version"},
    {ETIMEDOUT, "no answer until the deadline; it may have happened, or may still happen"},
    {ENOTCONN, "no server could be reached; nothing happened"},
    {EHOSTUNREACH, "too few servers of the store are there; nothing happened"},
    {EBUSY, "the servers have too many requests under way; nothing happened"},
    {ENOSPC, "the servers have no more space; nothing happened"},
    {EFBIG, "the key or the value is too large"},
    {ERANGE, "the value is not a number below 2^64, or would be none"},
    {EMSGSIZE, "the value is larger than the memory given"},
    {EAGAIN, "nothing has arrived, or too many requests are under way"},
    {ENODATA, "no request is under way"},
    {EINVAL, "the request makes no sense"},
    {ENOSYS, "the server does not run the store; see weft up --service store"},
};

const char *weft_store_strerror(int error)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].error == -error)
            return texts[i].text;
    return weft_strerror(error);
}

/* ---- opening ---- */

static void store_free(struct weft_store *store)
{
    line_close(&store->line);
    window_fini(&store->window);
    if (store->epoll_fd >= 0)
        descriptor_close(store->epoll_fd);
    if (store->timer_fd >= 0)
        descriptor_close(store->timer_fd);
    free(store);
}

int weft_store_open(const char *dir, uint32_t server, struct weft_store **out)
{
    if (!out)
        return -EINVAL;
    struct weft_store *store = array_new(1, sizeof *store);
    if (!store)
        return -ENOMEM;
    store->monitor = (struct monitor)MONITOR_INIT;
    store->epoll_fd = store->timer_fd = -1;
    window_init(&store->window, entropy_u64());
    int result = owner_make(&store->owner);
    if (!result)
        result = line_open(&store->line, dir, server);
    if (result) {
        store_free(store);
        return result;
    }
    *out = store;
    return 0;
}

/* ---- one call after the other ---- */

static int store_check(const struct weft_store *store)
{
    if (!store)
        return -EINVAL;
    return owner_is_here(&store->owner) ? 0 : -ECHILD;
}

static int enter(struct weft_store *store, nsec deadline)
{
    int result = store_check(store);
    if (result)
        return result;
    monitor_take(&store->monitor);
    while (store->busy && !result)
        result = deadline == WEFT_NOW ? -EAGAIN : monitor_wait(&store->monitor, deadline);
    if (!store->busy) {
        store->busy = true;
        result = 0;
    }
    monitor_drop(&store->monitor);
    return result;
}

static int leave(struct weft_store *store, int result)
{
    monitor_take(&store->monitor);
    store->busy = false;
    monitor_wake(&store->monitor);
    monitor_drop(&store->monitor);
    return result;
}

int weft_store_close(struct weft_store *store)
{
    int result = store_check(store);
    if (!result)
        store_free(store);
    return result;
}

/* ---- progress ---- */

/* Does what is due, then waits until the deadline, or until more is due, for a message. -EAGAIN,
 * -ETIMEDOUT: the deadline has passed. */
static int progress(struct weft_store *store, nsec deadline)
{
    struct window *window = &store->window;
    unsigned open_before = window->open_count;
    if (deadline > clock_now())
        line_move(&store->line, window, deadline);
    window_expire(window, clock_now());
    int result = line_send(&store->line, window, deadline);
    if (result || window->open_count < open_before)
        return result;
    nsec next = window_next(window);
    result = line_receive(&store->line, window, next < deadline ? next : deadline);
    window_expire(window, clock_now());
    bool nothing = result == -ETIMEDOUT || result == -EAGAIN;
    return nothing && !clock_is_past(deadline) ? 0 : result;
}

/* Begins a request. -EAGAIN: the window is full. */
static int begin(struct weft_store *store, const struct weft_store_request *request, nsec deadline,
                 struct pending **pending)
{
    struct window *window = &store->window;
    int result = window_check(request);
    if (result)
        return result;
    if (!window_has_numbers(window)) {
        if (window->open_count)
            return -EAGAIN;
        window_renew(window, entropy_u64());
    }
    return window_add(window, request, deadline, clock_now(), pending);
}

/* Copies what was answered, as far as there is room. */
static int answer_copy(const struct pending *pending, struct weft_store_answer *answer, void *value,
                       size_t room)
{
    size_t size = pending->value ? pending->answer.value_size : 0;
    if (answer)
        *answer = pending->answer;
    if (size && room)
        memcpy(value, pending->value, size < room ? size : room);
    return size > room ? -EMSGSIZE : pending->answer.result;
}

/* ---- any request ---- */

static int ask(struct weft_store *store, const struct weft_store_request *request,
               struct weft_store_answer *answer, void *value, size_t room, nsec deadline)
{
    struct pending *pending;
    int result;
    while ((result = begin(store, request, deadline, &pending)) == -EAGAIN) {
        result = progress(store, deadline);
        if (result)
            return result;
    }
    if (result)
        return result;
    while (!result && !pending->ended)
        result = progress(store, deadline);
    if (result == -EAGAIN || result == -ETIMEDOUT)
        window_expire(&store->window, pending->deadline);
    if (!pending->ended)
        window_end(&store->window, pending, result);
    result = answer_copy(pending, answer, value, room);
    window_take(pending);
    return result;
}

int weft_store_ask(struct weft_store *store, const struct weft_store_request *request,
                   struct weft_store_answer *answer, void *value, size_t room, int64_t deadline)
{
    if (room && !value)
        return -EINVAL;
    int result = enter(store, deadline);
    return result ? result : leave(store, ask(store, request, answer, value, room, deadline));
}

int weft_store_post(struct weft_store *store, const struct weft_store_request *request,
                    uint64_t *ticket, int64_t deadline)
{
    struct pending *pending;
    if (!ticket)
        return -EINVAL;
    int result = enter(store, deadline);
    if (result)
        return result;
    result = begin(store, request, deadline, &pending);
    if (!result) {
        *ticket = pending->answer.ticket;
        (void)line_send(&store->line, &store->window, WEFT_NOW); /* weft_store_take tries again */
    }
    return leave(store, result);
}

static int take(struct weft_store *store, struct weft_store_answer *answer, void *value,
                size_t room, nsec deadline)
{
    struct window *window = &store->window;
    int result = 0;
    while (list_is_empty(&window->ended)) {
        if (window->open_count == 0) {
            /* What the attachment says must not keep the descriptor readable. */
            while (!line_receive(&store->line, window, WEFT_NOW))
                ;
            return -ENODATA;
        }
        if (result)
            return result;
        result = progress(store, deadline);
    }
    struct pending *pending = container_of(window->ended.next, struct pending, link);
    if (answer_copy(pending, answer, value, room) == -EMSGSIZE)
        return -EMSGSIZE;
    window_take(pending);
    return 1;
}

int weft_store_take(struct weft_store *store, struct weft_store_answer *answer, void *value,
                    size_t room, int64_t deadline)
{
    if (!answer || (room && !value))
        return -EINVAL;
    int result = enter(store, deadline);
    return result ? result : leave(store, take(store, answer, value, room, deadline));
}

/* ---- event loops ---- */

static int fd_open(struct weft_store *store)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = DESCRIPTOR_OPEN(epoll_create1(EPOLL_CLOEXEC));
    int timer = DESCRIPTOR_OPEN(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    int result = set < 0 || timer < 0 || epoll_ctl(set, EPOLL_CTL_ADD, timer, &event) ? -errno : 0;
    if (!result)
        result = line_watch(&store->line, set);
    if (result) {
        if (set >= 0)
            descriptor_close(set);
        if (timer >= 0)
            descriptor_close(timer);
        return result;
    }
    store->epoll_fd = set;
    store->timer_fd = timer;
    return 0;
}

/* Returns 0 if the descriptors of an event loop are there. */
static int fd_need(struct weft_store *store)
{
    return store->epoll_fd < 0 ? fd_open(store) : 0;
}

int weft_store_fd(struct weft_store *store)
{
    int result = enter(store, WEFT_FOREVER);
    if (result)
        return result;
    result = fd_need(store);
    return leave(store, result ? result : store->epoll_fd);
}

/* A loop may arm first and ask for the descriptor then, so arming makes it, too. */
static int arm(struct weft_store *store)
{
    struct itimerspec timer = {0};
    nsec next = window_next(&store->window);
    int result = fd_need(store);
    if (result)
        return result;
    if (!list_is_empty(&store->window.ended))
        return -EAGAIN;
    if (next != INT64_MAX)
        timer.it_value = clock_timespec(next > 0 ? next : 1);
    if (timerfd_settime(store->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL))
        return -errno;
    return weft_attachment_arm(store->line.attachment);
}

int weft_store_arm(struct weft_store *store)
{
    int result = enter(store, WEFT_FOREVER);
    return result ? result : leave(store, arm(store));
}

/* ---- the usual requests ---- */

int weft_store_get(struct weft_store *store, const void *key, size_t key_size, void *value,
                   size_t room, uint64_t *version, int64_t deadline)
{
    const struct weft_store_request request = {
        .op = WEFT_STORE_GET, .key = key, .key_size = key_size};
    struct weft_store_answer answer = {0};
    int result = weft_store_ask(store, &request, &answer, value, room, deadline);
    if (version && (result >= 0 || result == -EMSGSIZE))
        *version = answer.version;
    return result;
}

int weft_store_put(struct weft_store *store, const void *key, size_t key_size, const void *value,
                   size_t value_size, int64_t deadline)
{
    return weft_store_put_for(store, key, key_size, value, value_size, 0, deadline);
}

int weft_store_put_for(struct weft_store *store, const void *key, size_t key_size,
                       const void *value, size_t value_size, int64_t ttl, int64_t deadline)
{
    const struct weft_store_request request = {.op = WEFT_STORE_PUT,
                                               .key = key,
                                               .key_size = key_size,
                                               .value = value,
                                               .value_size = value_size,
                                               .ttl = ttl};
    return weft_store_ask(store, &request, NULL, NULL, 0, deadline);
}

int weft_store_touch(struct weft_store *store, const void *key, size_t key_size, int64_t ttl,
                     int64_t deadline)
{
    const struct weft_store_request request = {
        .op = WEFT_STORE_TOUCH, .key = key, .key_size = key_size, .ttl = ttl};
    return weft_store_ask(store, &request, NULL, NULL, 0, deadline);
}

int weft_store_exchange(struct weft_store *store, const void *key, size_t key_size,
                        const void *value, size_t value_size, uint64_t *version, int64_t deadline)
{
    if (!version)
        return -EINVAL;
    const struct weft_store_request request = {.op = WEFT_STORE_PUT,
                                               .condition = *version ? WEFT_STORE_IF_VERSION
                                                                     : WEFT_STORE_IF_ABSENT,
                                               .key = key,
                                               .key_size = key_size,
                                               .value = value,
                                               .value_size = value_size,
                                               .version = *version};
    struct weft_store_answer answer = {0};
    int result = weft_store_ask(store, &request, &answer, NULL, 0, deadline);
    if (!result || result == -EEXIST || result == -ESTALE)
        *version = answer.version;
    return result;
}

int weft_store_delete(struct weft_store *store, const void *key, size_t key_size, int64_t deadline)
{
    const struct weft_store_request request = {
        .op = WEFT_STORE_DELETE, .key = key, .key_size = key_size};
    return weft_store_ask(store, &request, NULL, NULL, 0, deadline);
}

int weft_store_add(struct weft_store *store, const void *key, size_t key_size, int64_t delta,
                   uint64_t *number, int64_t deadline)
{
    const struct weft_store_request request = {.op = delta < 0 ? WEFT_STORE_DECR : WEFT_STORE_INCR,
                                               .key = key,
                                               .key_size = key_size,
                                               .delta =
                                                   delta < 0 ? -(uint64_t)delta : (uint64_t)delta};
    struct weft_store_answer answer = {0};
    int result = weft_store_ask(store, &request, &answer, NULL, 0, deadline);
    if (!result && number)
        *number = answer.number;
    return result;
}
