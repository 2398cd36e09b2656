/* host_wait: the loop, and how it waits when a pass finds nothing. */
#include <sched.h>

#include "os/cable/cable.h"
#include "os/host/host_impl.h"
#include "transport/wake/wait.h"

#define POLL_NSEC           (500 * 1000LL) /* between two polls of the sockets when busy ... */
#define POLL_SOON_NSEC      (20 * 1000LL)  /* ... and while programs send requests by socket */
#define LISTEN_NSEC         NSEC_PER_SEC   /* so long after a request by socket others may come */
#define GLANCES_NSEC        (50 * 1000LL)  /* between two passes while it yields */
#define YIELD_VAIN_NSEC     1000           /* less than a switch to another process and back */
#define YIELD_LONG_NSEC     (200 * 1000LL) /* a yield that takes this long was a mistake */
#define YIELD_REST_NSEC_MAX (640 * 1000 * 1000LL) /* each pause is twice the last, up to this */

enum {
    YIELDS_VAIN_MAX = 8,
};

/* The moment when work is due if nothing arrives: a timer, or a shaped link's next frame. */
static nsec host_due(const struct host *host)
{
    nsec due = host->due;
    for (uint32_t i = 0; host->starved_count && i < host->config.server_count; i++) {
        const struct host_node *node = &host->nodes[i];
        for (port_set left = node->starved; left; left &= left - 1) {
            const struct port *port = node->ports[__builtin_ctz(left)];
            nsec busy = shaper_busy_until(&port->shaper, host->now);
            due = busy && busy < due ? busy : due;
        }
    }
    return due;
}

/* Announces that it sleeps, polls once more, then sleeps. From here on the transport is left to the
 * poller: a call of cables_progress would take it back. */
static void host_sleep(struct host *host, nsec until)
{
    client_sockets_arm(&host->client_sockets);
    doorbell_prepare(&host->bell, DOORBELL_FD);
    int moved = host->cables ? cables_arm(host->cables) : 0;
    if (!host_poll(host) && !moved) {
        nsec due = host_due(host);
        host_usage_rest(host);
        poller_step(host->poller, due < until ? due : until);
        (void)host_awake(host);
    }
    doorbell_cancel(&host->bell);
    client_sockets_disarm(&host->client_sockets);
}

/* How host_run waits: it polls, yields, sleeps. */
struct patience {
    bool waiting; /* it polls or yields before it sleeps */
    bool polls;   /* it polls; after that it yields */
    struct wait poll;
    nsec yields_from; /* when it began to yield; 0: not yet */
    nsec yields_for;  /* how long it yields; negative: not at all */
    unsigned vain;    /* consecutive yields that no process used */
};

static void patience_begin(struct patience *patience, const struct host *host)
{
    bool yields = host->now >= host->yield_again;
    *patience = (struct patience){
        .waiting = true, .polls = true, .yields_for = yields ? host->config.yield : -1};
    wait_start(&patience->poll, host->config.spin, -1);
}

/* Yielding is the fastest way to wait for a process that shares our processor. It is the slowest if
 * a process that computes shares it: that process keeps the processor for milliseconds, and a
 * yielding process cannot be woken. A host that notices this sleeps instead for a while. And
 * yielding is futile where the scheduler keeps the processes of a cluster in separate groups: then
 * it only spins, and the process that we wait for may be waiting for our processor. */
static void patience_judge(struct patience *patience, struct host *host, nsec now, nsec took)
{
    patience->vain = took < YIELD_VAIN_NSEC ? patience->vain + 1 : 0;
    if (took < YIELD_LONG_NSEC) {
        host->yield_rest = YIELD_REST_NSEC;
        return;
    }
    host->yield_again = now + host->yield_rest;
    if (host->yield_rest < YIELD_REST_NSEC_MAX)
        host->yield_rest *= 2;
}

/* Has anything arrived? Only the rings are checked: of all processes that take turns on a processor
 * most find nothing, and a full pass of each would cost a packet a fifth of its travel time. */
static bool host_glance(const struct host *host)
{
    for (uint32_t i = 0; i < host->outside_count; i++)
        if (host->outside[i]->ops->waiting(host->outside[i]))
            return true;
    if (host->files && files_waiting(host->files))
        return true;
    if (host->crew && crew_waiting(host->crew))
        return true;
    if (host->descriptors && descriptors_waiting(host->descriptors))
        return true;
    return client_sockets_waiting(&host->client_sockets);
}

/* Programs have sent requests by socket lately, or descriptors of services had events. Only the
 * system knows of the next one, so a host that polls or yields asks the system in every pass; a
 * program would otherwise wait until the host sleeps. Without them no pass makes a system call. */
static bool host_listens(const struct host *host)
{
    return host->now < host->listen_until;
}

/* The sockets were polled at that moment. */
static void host_heard(struct host *host, nsec now)
{
    if (host->client_sockets.asked || (host->descriptors && host->descriptors->heard))
        host->listen_until = now + LISTEN_NSEC;
    host->client_sockets.asked = false;
    if (host->descriptors)
        host->descriptors->heard = false;
    host->poll_at = now + (now < host->listen_until ? POLL_SOON_NSEC : POLL_NSEC);
}

/* Polls the sockets if it is time to; true: something was done. */
static bool host_hear(struct host *host, bool idle)
{
    if (host->now < host->poll_at && !(idle && host_listens(host)))
        return false;
    int called = poller_step(host->poller, 0);
    host_heard(host, host->now);
    host_usage_look(host);
    return called > 0;
}

/* Yields until something arrives or a pass is due anyway; false: it is time to sleep. */
static bool patience_yields(struct patience *patience, struct host *host)
{
    bool soon = host->starved_count || host_listens(host);
    nsec now = host->now, pass = soon ? now : now + GLANCES_NSEC;
    if (!patience->yields_from)
        patience->yields_from = now;
    do {
        bool is_vain = host->config.yield_is_partial && patience->vain >= YIELDS_VAIN_MAX;
        if (is_vain || now - patience->yields_from >= patience->yields_for)
            return false;
        sched_yield();
        nsec after = clock_now();
        patience_judge(patience, host, after, after - now);
        now = after;
    } while (now < pass && now < host->due && !host_glance(host));
    return true;
}

/* Waits a little; true: it is time to sleep. */
static bool patience_ends(struct patience *patience, struct host *host)
{
    if (patience->waiting && patience->polls)
        patience->polls = wait_turn(&patience->poll, NSEC_NEVER) != WAIT_BLOCK;
    patience->waiting = patience->waiting && (patience->polls || patience_yields(patience, host));
    return !patience->waiting;
}

/* Also called outside this file; the loop below inlines it. */
bool host_pass(struct host *host)
{
    if (host->cables)
        cables_progress(host->cables);
    return host_poll(host);
}

/* Lets other processes run: a host that always has work would never yield or sleep without this. */
static void turn_end(const struct host *host, bool happened, nsec *began)
{
    if (!happened) {
        *began = host->now;
    } else if (host->config.turn && host->now - *began >= host->config.turn) {
        sched_yield();
        *began = clock_now();
    }
}

void host_run(struct host *host, const volatile sig_atomic_t *stop, nsec until)
{
    struct patience patience = {0};
    nsec turn_began = clock_now();
    host_usage_begin(host);
    host->poll_at = 0;
    while (!*stop) {
        /* The transport is polled only while a peer may answer soon; otherwise the poller watches
         * it. */
        bool happened = patience.waiting ? host_pass(host) : host_poll(host);
        if (host->now >= until)
            return;
        happened |= host_hear(host, !happened);
        if (host->eager)
            patience_begin(&patience, host);
        host->eager = false;
        turn_end(host, happened, &turn_began);
        if (!happened && patience_ends(&patience, host)) {
            host_sleep(host, until);
            host_heard(host, clock_now());
        }
    }
}

void host_wake(struct host *host)
{
    poller_wake(host->poller);
}
