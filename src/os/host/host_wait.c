/* host_wait: the loop, and how it waits when a pass finds nothing. */
#include <sched.h>

#include "os/cable/cable.h"
#include "os/host/host_impl.h"
#include "transport/wake/wait.h"

#define POLL_NSEC           (500 * 1000LL) /* between two looks at sockets when busy */
#define GLANCES_NSEC        (50 * 1000LL)  /* between two passes while it yields */
#define YIELD_VAIN_NSEC     1000           /* less than a switch to another process and back */
#define YIELD_LONG_NSEC     (200 * 1000LL) /* a yield that takes so long was a mistake */
#define YIELD_REST_NSEC_MAX (640 * 1000 * 1000LL) /* each rest is twice the last, up to this */

enum {
    YIELDS_VAIN_MAX = 8,
};

/* When something is due if nothing comes: a timer, or a shaped link's next byte. */
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

/* Says that it sleeps, looks once more, and does. The transport is left to the poller from here on:
 * one more poll would take it back. */
static void host_sleep(struct host *host, nsec until)
{
    client_sockets_arm(&host->client_sockets);
    doorbell_prepare(&host->bell, DOORBELL_FD);
    int moved = host->cables ? cables_arm(host->cables) : 0;
    if (!host_poll(host) && !moved) {
        nsec due = host_due(host);
        poller_step(host->poller, due < until ? due : until);
    }
    doorbell_cancel(&host->bell);
    client_sockets_disarm(&host->client_sockets);
}

/* How host_run waits: polls, yields, sleeps. */
struct patience {
    bool waiting; /* before it sleeps */
    bool polls;   /* still */
    struct wait poll;
    nsec yields_from; /* 0: not yet */
    nsec yields_for;  /* negative: not at all */
    unsigned vain;    /* yields in a row that nobody took */
};

static void patience_begin(struct patience *patience, const struct host *host)
{
    bool yields = host->now >= host->yield_again;
    *patience = (struct patience){
        .waiting = true, .polls = true, .yields_for = yields ? host->config.yield : -1};
    wait_start(&patience->poll, host->config.spin, -1);
}

/* Yielding is the fastest way to wait for a process that shares our processor. It is the slowest if
 * somebody else does who computes: he keeps it for milliseconds, and nobody can wake who is not
 * asleep; whoever finds that out sleeps instead, for a while. And it is no way at all where the
 * scheduler keeps the processes of a cluster apart: there it only spins, and whoever we wait for
 * may wait for our processor. */
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

/* Has something come? A glance at the rings: of all who take turns on a processor most find
 * nothing, and a pass by each would cost the packet under way a fifth of its time. */
static bool host_glance(const struct host *host)
{
    for (uint32_t i = 0; i < host->outside_count; i++)
        if (host->outside[i]->ops->waiting(host->outside[i]))
            return true;
    return client_sockets_waiting(&host->client_sockets);
}

/* Yields until something came or it is time for a pass anyway; false: for sleep. */
static bool patience_yields(struct patience *patience, struct host *host)
{
    nsec now = host->now, pass = host->starved_count ? now : now + GLANCES_NSEC;
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

/* Beside the loop, which has it inlined. */
bool host_pass(struct host *host)
{
    if (host->cables)
        cables_progress(host->cables);
    return host_poll(host);
}

/* Who always has something to do neither yields nor sleeps by itself. */
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
    host->poll_at = 0;
    while (!*stop) {
        /* Polled only while a peer may answer soon; else the poller has the transport. */
        bool happened = patience.waiting ? host_pass(host) : host_poll(host);
        if (host->now >= until)
            return;
        if (host->now >= host->poll_at) {
            poller_step(host->poller, 0);
            host->poll_at = host->now + POLL_NSEC;
        }
        if (host->eager)
            patience_begin(&patience, host);
        host->eager = false;
        turn_end(host, happened, &turn_began);
        if (!happened && patience_ends(&patience, host)) {
            host_sleep(host, until);
            host->poll_at = clock_now() + POLL_NSEC;
        }
    }
}

void host_wake(struct host *host)
{
    poller_wake(host->poller);
}
