#include "os/work/crew.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/check.h"
#include "os/crash.h"
#include "os/work/child.h"
#include "transport/clock.h"
#include "transport/wake/thread.h"

#define LATE_NSEC  (2 * NSEC_PER_SEC) /* then a stopping server names the service it waits for */
#define NICE_MOST  19
#define HANDS_ROOM 4 /* at first */

/* A *hand* is one worker thread. The host's thread gives an operation only to a hand that has none,
 * so that the two need no lock: a thread of low priority that holds a lock could keep the host
 * waiting. */
struct hand {
    struct thread thread;
    struct crew *crew;
    sem_t go; /* the host posts it; its order carries the member that follows */
    struct work_operation *operation; /* NULL: the thread ends */
    struct hand *next;                /* that is idle; the host's thread only */
};

/* What an operation's `world` holds while it is under way. `next` belongs to the thread, then to
 * the list of ended operations; the rest to the host's thread. */
struct errand {
    struct work_operation *next;
    struct hand *hand; /* NULL: there was no thread for it */
    struct crew_server *server;
    struct work_operation *before, *after; /* in the list of its server */
};
static_assert(sizeof(struct errand) <= sizeof((struct work_operation){0}.world), "it fits");

struct crew {
    int event_fd;
    struct child_keeper keeper; /* constant */
    struct hand **hands;        /* all; only the host's thread uses this and the next three */
    uint32_t hand_count, hand_room;
    struct hand *idle; /* hands without an operation */
    /* Operations that have ended, the latest first. A thread pushes with release order, which
     * carries the result and all that the function wrote; the host's thread takes the whole list
     * with acquire order. */
    struct work_operation *_Atomic ended;
};

struct crew_server {
    struct crew *crew;
    node_id number;
    struct crew_events events;
    struct work_operation *under_way; /* a list */
    bool ends;                        /* done() is not called any more */
};

static struct errand *errand_of(struct work_operation *operation)
{
    return (struct errand *)(void *)operation->world;
}

/* ---- opening and closing ---- */

enum err crew_open(struct crew **out, const char *children, struct why *why)
{
    struct crew *crew = calloc(1, sizeof *crew);
    if (!crew)
        return why_memory(why);
    crew->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (crew->event_fd < 0) {
        int error = errno;
        free(crew);
        return why_fail(why, ERR_SYSTEM, "cannot set up worker threads: %s", strerror(error));
    }
    enum err err = children ? child_keeper_open(&crew->keeper, children, why) : OK;
    if (err) {
        close(crew->event_fd);
        free(crew);
        return err;
    }
    *out = crew;
    return OK;
}

void crew_close(struct crew *crew)
{
    if (!crew)
        return;
    for (uint32_t i = 0; i < crew->hand_count; i++) {
        struct hand *hand = crew->hands[i];
        hand->operation = NULL;
        sem_post(&hand->go);
        thread_join(&hand->thread);
        sem_destroy(&hand->go);
        free(hand);
    }
    assert(!crew_waiting(crew)); /* all operations were reaped */
    child_keeper_close(&crew->keeper);
    close(crew->event_fd);
    free(crew->hands);
    free(crew);
}

enum err crew_server_open(struct crew_server **out, struct crew *crew, node_id number,
                          const struct crew_events *events, struct why *why)
{
    struct crew_server *server = calloc(1, sizeof *server);
    if (!server)
        return why_memory(why);
    server->crew = crew;
    server->number = number;
    server->events = *events;
    *out = server;
    return OK;
}

void crew_server_close(struct crew_server *server)
{
    assert(!server || !server->under_way);
    free(server);
}

/* ---- the threads ---- */

/* Only the push onto an empty list makes the descriptor readable: the host takes all operations at
 * once. */
static void operation_end(struct crew *crew, struct work_operation *operation)
{
    struct work_operation *last = atomic_load_explicit(&crew->ended, memory_order_relaxed);
    do
        errand_of(operation)->next = last;
    while (!atomic_compare_exchange_weak_explicit(&crew->ended, &last, operation,
                                                  memory_order_release, memory_order_relaxed));
    if (!last)
        (void)!eventfd_write(crew->event_fd, 1);
}

/* Lets threads that wake up for packets run first. A real-time policy of the process would
 * otherwise apply to this thread, too. */
static void priority_lower(void)
{
    const struct sched_param none = {0};
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, 0, NICE_MOST); /* of this thread */
}

static int64_t operation_run(struct crew *crew, struct work_operation *operation)
{
    if (atomic_load_explicit(&operation->cancelled, memory_order_relaxed))
        return -ECANCELED;
    if (operation->child)
        return child_run_program(&crew->keeper, errand_of(operation)->server->number,
                                 operation->child, &operation->cancelled);
    crash_work(operation->service, errand_of(operation)->server->number);
    int64_t result = operation->run(operation);
    crash_work(NULL, NODE_NONE);
    return result;
}

static void *hand_run(void *argument)
{
    struct hand *hand = argument;
    struct crash_worker crash;
    crash_worker_begin(&crash);
    priority_lower();
    for (;;) {
        while (sem_wait(&hand->go))
            ;
        struct work_operation *operation = hand->operation;
        if (!operation)
            return NULL;
        operation->result = operation_run(hand->crew, operation);
        operation_end(hand->crew, operation); /* the host may give us the next one */
    }
}

/* ---- the host's thread ---- */

/* Starts one more thread; NULL: the system refuses. */
static struct hand *hand_add(struct crew *crew)
{
    if (crew->hand_count == crew->hand_room) {
        uint32_t room = crew->hand_room ? 2 * crew->hand_room : HANDS_ROOM;
        struct hand **hands = realloc(crew->hands, room * sizeof(struct hand *));
        if (!hands)
            return NULL;
        crew->hands = hands;
        crew->hand_room = room;
    }
    struct hand *hand = calloc(1, sizeof *hand);
    if (!hand)
        return NULL;
    hand->crew = crew;
    sem_init(&hand->go, 0, 0);
    if (thread_start(&hand->thread, "weft-work", hand_run, hand)) {
        sem_destroy(&hand->go);
        free(hand);
        return NULL;
    }
    crew->hands[crew->hand_count++] = hand;
    return hand;
}

static struct hand *hand_take(struct crew *crew)
{
    struct hand *hand = crew->idle;
    if (!hand)
        return hand_add(crew);
    crew->idle = hand->next;
    return hand;
}

static void list_add(struct crew_server *server, struct work_operation *operation)
{
    struct errand *errand = errand_of(operation);
    *errand = (struct errand){.server = server, .after = server->under_way};
    if (errand->after)
        errand_of(errand->after)->before = operation;
    server->under_way = operation;
}

static void list_remove(struct crew_server *server, struct work_operation *operation)
{
    struct errand *errand = errand_of(operation);
    if (errand->after)
        errand_of(errand->after)->before = errand->before;
    if (errand->before)
        errand_of(errand->before)->after = errand->after;
    else
        server->under_way = errand->after;
}

void crew_begin(struct crew_server *server, struct work_operation *operation)
{
    struct crew *crew = server->crew;
    assert(!server->ends);
    list_add(server, operation);
    struct hand *hand = hand_take(crew);
    errand_of(operation)->hand = hand;
    if (!hand) {
        operation->result = -EAGAIN;
        operation_end(crew, operation);
        return;
    }
    hand->operation = operation;
    sem_post(&hand->go);
}

bool crew_waiting(const struct crew *crew)
{
    return atomic_load_explicit(&crew->ended, memory_order_relaxed) != NULL;
}

bool crew_reap(struct crew *crew)
{
    struct work_operation *latest, *next, *first = NULL;
    if (!crew_waiting(crew))
        return false;
    latest = atomic_exchange_explicit(&crew->ended, NULL, memory_order_acquire);
    for (; latest; latest = next) { /* reverses the list */
        next = errand_of(latest)->next;
        errand_of(latest)->next = first;
        first = latest;
    }
    for (; first; first = next) {
        struct crew_server *server = errand_of(first)->server;
        struct hand *hand = errand_of(first)->hand;
        next = errand_of(first)->next;
        if (hand) {
            hand->next = crew->idle;
            crew->idle = hand;
        }
        list_remove(server, first);
        if (server->ends)
            continue;
        server->events.ready(server->events.owner);
        first->done(first);
    }
    return true;
}

void crew_server_end(struct crew_server *server)
{
    struct crew *crew = server->crew;
    nsec late = clock_after(LATE_NSEC);
    server->ends = true;
    for (struct work_operation *at = server->under_way; at; at = errand_of(at)->after)
        atomic_store_explicit(&at->cancelled, true, memory_order_relaxed);
    while (server->under_way) {
        struct pollfd end = {.fd = crew->event_fd, .events = POLLIN};
        if (poll(&end, 1, 100) > 0)
            crew_clear(crew);
        crew_reap(crew);
        if (server->under_way && clock_is_past(late)) {
            const char *service = server->under_way->service;
            late = NSEC_NEVER;
            server->events.late(server->events.owner, service);
        }
    }
}

int crew_descriptor(const struct crew *crew)
{
    return crew->event_fd;
}

void crew_clear(struct crew *crew)
{
    eventfd_t count;
    (void)!eventfd_read(crew->event_fd, &count);
}
