/* checker_silence: a server that handles a packet or a request has no link that it considers usable
 * (up, or coming) and from which it received nothing for the silence, by its own clock. Such a
 * server may have been stopped: its neighbours have taken the link down, and its successors answer
 * for its keys.
 *
 * Any message of a neighbour counts here, also a damaged one, so the checker never knows of less
 * than the server. */

#include <stdlib.h>

#include "sim/checkers/checker.h"

struct silence {
    env_nsec *last;   /* by server and port: when a message of the neighbour was received */
    env_nsec *looked; /* by server: the moment of its last check */
};

static env_nsec *last_of(struct checker *checker, node_id at)
{
    struct silence *silence = checker->memory;
    return &silence->last[(size_t)at * checker->all->view.plan->port_count];
}

static enum err silence_open(struct checker *checker, struct why *why)
{
    const struct plan *plan = checker->all->view.plan;
    struct silence *silence = checker->memory;
    silence->last = calloc((size_t)plan->server_count * plan->port_count, sizeof *silence->last);
    silence->looked = calloc(plan->server_count, sizeof *silence->looked);
    return silence->last && silence->looked ? OK : why_memory(why);
}

static void silence_close(struct checker *checker)
{
    struct silence *silence = checker->memory;
    free(silence->last);
    free(silence->looked);
}

static env_nsec clock_of(const struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    return view->clock(view->context, at);
}

/* A server may start with links that are up (node_settle). */
static void silence_started(struct checker *checker, node_id at)
{
    struct silence *silence = checker->memory;
    env_nsec now = clock_of(checker, at);
    for (unsigned port = 0; port < checker->all->view.plan->port_count; port++)
        last_of(checker, at)[port] = now;
    silence->looked[at] = now - 1;
}

/* What is true at the first event of a moment stays true in it: time does not pass. */
static void look(struct checker *checker, node_id at, const char *what)
{
    const struct checker_view *view = &checker->all->view;
    struct silence *silence = checker->memory;
    env_nsec now = clock_of(checker, at);
    if (silence->looked[at] == now)
        return;
    silence->looked[at] = now;
    for (unsigned port = 0; port < view->plan->port_count; port++) {
        enum port_state state = view->port(view->context, at, port);
        env_nsec silent = now - last_of(checker, at)[port];
        if ((state == PORT_UP || state == PORT_COMING) && silent >= view->silence)
            checker_fail(checker,
                         "server %u %s, though it considers port %u usable and received no hello "
                         "there for %lld us: it may have been replaced",
                         at, what, port, (long long)silent / 1000);
    }
}

static void silence_received(struct checker *checker, node_id at, unsigned port,
                             const struct packet *packet)
{
    look(checker, at, "takes packets");
    if (packet->service == 0)
        last_of(checker, at)[port] = clock_of(checker, at);
}

static void silence_delivered(struct checker *checker, node_id at, const struct packet *packet)
{
    look(checker, at, "delivers a packet");
}

static void silence_taken(struct checker *checker, node_id at, uint64_t trail)
{
    look(checker, at, "intercepts a packet");
}

static void silence_sent(struct checker *checker, node_id at, const struct packet *packet)
{
    look(checker, at, "sends a packet");
}

static void silence_answered(struct checker *checker, node_id at, uint64_t route)
{
    look(checker, at, "answers a local program");
}

const struct checker_ops checker_silence = {
    .name = "silence",
    .size = sizeof(struct silence),
    .open = silence_open,
    .close = silence_close,
    .started = silence_started,
    .received = silence_received,
    .delivered = silence_delivered,
    .taken = silence_taken,
    .sent = silence_sent,
    .answered = silence_answered,
};
