/* checker_links: a server takes a link down only for a reason, and has no link up that the operator
 * cut or whose carrier is gone.
 *
 * A reason is: the other end of the link is not up (any more); the server received no valid hello
 * or rows for the silence; it was stopped, and has just returned; the operator cut the link; the
 * driver reported the other end gone; the other server took a higher incarnation. */

#include <stdlib.h>

#include "sim/checkers/checker.h"

struct link_end {
    env_nsec heard; /* the last valid hello or rows */
    bool cut;
    bool gone; /* no carrier */
};

struct link_ends {
    struct link_end *ends; /* by server and port */
    psec *returned;        /* by server: when it went on after a stop */
};

static struct link_end *end_of(struct checker *checker, node_id at, unsigned port)
{
    struct link_ends *links = checker->memory;
    return &links->ends[(size_t)at * checker->all->view.plan->port_count + port];
}

static enum err links_open(struct checker *checker, struct why *why)
{
    const struct plan *plan = checker->all->view.plan;
    struct link_ends *links = checker->memory;
    links->ends = calloc((size_t)plan->server_count * plan->port_count, sizeof *links->ends);
    links->returned = calloc(plan->server_count, sizeof *links->returned);
    return links->ends && links->returned ? OK : why_memory(why);
}

static void links_close(struct checker *checker)
{
    struct link_ends *links = checker->memory;
    free(links->ends);
    free(links->returned);
}

/* A server that starts again knows of no cut and no missing carrier. */
static void links_started(struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    env_nsec now = view->clock(view->context, at);
    for (unsigned port = 0; port < view->plan->port_count; port++)
        *end_of(checker, at, port) = (struct link_end){.heard = now};
}

static void links_heard(struct checker *checker, node_id at, unsigned port)
{
    const struct checker_view *view = &checker->all->view;
    end_of(checker, at, port)->heard = view->clock(view->context, at);
}

static void links_cut(struct checker *checker, node_id at, unsigned port, bool cut)
{
    end_of(checker, at, port)->cut = cut;
}

static void links_carrier(struct checker *checker, node_id at, unsigned port, bool on)
{
    end_of(checker, at, port)->gone = !on;
}

static void links_returned(struct checker *checker, node_id at, env_nsec left, env_nsec back)
{
    const struct checker_view *view = &checker->all->view;
    ((struct link_ends *)checker->memory)->returned[at] = view->now(view->context);
}

static bool is_usable(enum port_state state)
{
    return state == PORT_UP || state == PORT_COMING;
}

static void links_fell(struct checker *checker, node_id at, unsigned port)
{
    const struct checker_view *view = &checker->all->view;
    const struct link_ends *links = checker->memory;
    const struct link_end *end = end_of(checker, at, port);
    const struct plan_end *other = plan_end(view->plan, at, port);
    env_nsec silent = view->clock(view->context, at) - end->heard;
    if (view->rewinds || end->cut || end->gone || silent >= view->silence ||
        links->returned[at] == view->now(view->context) ||
        !is_usable(view->port(view->context, other->server, other->port)))
        return;
    checker_fail(checker,
                 "server %u takes its link to %u down, though it received a hello %lld us before "
                 "and the other end is up",
                 at, other->server, (long long)silent / 1000);
}

static void check_usable(struct checker *checker, node_id at, unsigned port)
{
    const struct checker_view *view = &checker->all->view;
    const struct link_end *end = end_of(checker, at, port);
    if ((end->cut || end->gone) && is_usable(view->port(view->context, at, port)))
        checker_fail(checker, "server %u uses port %u, %s", at, port,
                     end->cut ? "which the operator cut" : "whose other end is gone");
}

static void links_up(struct checker *checker, node_id at, unsigned port)
{
    check_usable(checker, at, port);
}

static void links_sampled(struct checker *checker, psec when)
{
    const struct plan *plan = checker->all->view.plan;
    for (node_id at = 0; at < plan->server_count; at++)
        for (unsigned port = 0; port < plan->port_count; port++)
            check_usable(checker, at, port);
}

const struct checker_ops checker_links = {
    .name = "links",
    .size = sizeof(struct link_ends),
    .open = links_open,
    .close = links_close,
    .started = links_started,
    .heard = links_heard,
    .cut = links_cut,
    .carrier = links_carrier,
    .returned = links_returned,
    .fell = links_fell,
    .up = links_up,
    .sampled = links_sampled,
};
