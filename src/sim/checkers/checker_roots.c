/* checker_roots: two servers that reach each other never deliver packets to the same key; and no
 * server does that before it has settled.
 *
 * Whether a server has settled is what the server says, and is also checked independently: after
 * its start, or after its return from a stop of at least the silence, it answers for keys only when
 * one of its links is or was up, or when the silence has passed. */

#include <stdlib.h>

#include "sim/checkers/checker.h"
#include "sim/checkers/checker_oracle.h"

struct tenure {
    env_nsec since; /* its start or return, by its clock */
    bool was_up;    /* one of its links came up since then */
};

struct roots {
    struct checker_oracle oracle;
    struct tenure *tenures; /* by server */
};

static enum err roots_open(struct checker *checker, struct why *why)
{
    const struct checker_view *view = &checker->all->view;
    struct roots *roots = checker->memory;
    enum err err = checker_oracle_init(&roots->oracle, view->plan, why);
    roots->oracle.port = view->port;
    roots->oracle.settled = view->settled;
    roots->oracle.context = view->context;
    roots->tenures = calloc(view->plan->server_count, sizeof *roots->tenures);
    return err || roots->tenures ? err : why_memory(why);
}

static void roots_close(struct checker *checker)
{
    struct roots *roots = checker->memory;
    checker_oracle_fini(&roots->oracle);
    free(roots->tenures);
}

static bool counts_on(void *context, node_id one, node_id other)
{
    struct checker *checker = context;
    const struct checker_view *view = &checker->all->view;
    if (view->counts_on(view->context, one, other))
        return true;
    checker_fail(checker,
                 "server %u considers %u unreachable, though links that are up at both ends "
                 "connect them: it would deliver the other's keys",
                 one, other);
    return false;
}

/* A key can get a second root only when a link comes up and connects servers. At that moment each
 * of these servers must count on all others. */
static void roots_up(struct checker *checker, node_id at, unsigned port)
{
    struct roots *roots = checker->memory;
    roots->tenures[at].was_up = true;
    checker_oracle_up(&roots->oracle, at, port, counts_on, checker);
}

static void roots_down(struct checker *checker, node_id at)
{
    checker_oracle_changed(&((struct roots *)checker->memory)->oracle);
}

static void roots_started(struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    struct roots *roots = checker->memory;
    roots->tenures[at] = (struct tenure){.since = view->clock(view->context, at)};
}

static void roots_returned(struct checker *checker, node_id at, env_nsec left, env_nsec back)
{
    struct roots *roots = checker->memory;
    if (back - left >= checker->all->view.silence)
        roots->tenures[at] = (struct tenure){.since = back};
}

static bool has_link(const struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    for (unsigned port = 0; port < view->plan->port_count; port++)
        if (view->port(view->context, at, port) == PORT_UP)
            return true;
    return false;
}

/* A server may start with links that are up (node_settle), for which roots_up is not called. */
static void roots_sampled(struct checker *checker, psec now)
{
    struct roots *roots = checker->memory;
    for (node_id at = 0; at < checker->all->view.plan->server_count; at++)
        roots->tenures[at].was_up |= has_link(checker, at);
}

static bool may_answer(struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    const struct roots *roots = checker->memory;
    const struct tenure *tenure = &roots->tenures[at];
    return tenure->was_up || !view->plan->ports[at] || has_link(checker, at) ||
           view->clock(view->context, at) - tenure->since >= view->silence;
}

static void check_root(struct checker *checker, node_id at, uint64_t route, const char *what)
{
    const struct checker_view *view = &checker->all->view;
    struct roots *roots = checker->memory;
    node_id rightful = checker_oracle_rightful(&roots->oracle, route, at);
    if (rightful != NODE_NONE)
        checker_fail(checker,
                     "server %u %s key %016llx, but %u comes first, is settled and is reachable",
                     at, what, (unsigned long long)route, rightful);
    else if (!view->settled(view->context, at))
        checker_fail(checker, "server %u %s key %016llx, but is not settled", at, what,
                     (unsigned long long)route);
    else if (!may_answer(checker, at))
        checker_fail(checker,
                     "server %u %s key %016llx, but since its start or return no link was up, and "
                     "the silence has not passed",
                     at, what, (unsigned long long)route);
}

static void roots_delivered(struct checker *checker, node_id at, const struct packet *packet)
{
    if (packet->kind == PACKET_TO_KEY)
        check_root(checker, at, packet->route, "delivers a packet for");
}

static void roots_answered(struct checker *checker, node_id at, uint64_t route)
{
    check_root(checker, at, route, "answers for");
}

const struct checker_ops checker_roots = {
    .name = "roots",
    .size = sizeof(struct roots),
    .open = roots_open,
    .close = roots_close,
    .up = roots_up,
    .down = roots_down,
    .started = roots_started,
    .returned = roots_returned,
    .sampled = roots_sampled,
    .delivered = roots_delivered,
    .answered = roots_answered,
};
