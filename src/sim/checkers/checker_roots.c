/* checker_roots: two servers that reach each other never deliver packets to the same key. */

#include "sim/checkers/checker.h"
#include "sim/checkers/checker_oracle.h"

static enum err roots_open(struct checker *checker, struct why *why)
{
    const struct checker_view *view = &checker->all->view;
    struct checker_oracle *oracle = checker->memory;
    enum err err = checker_oracle_init(oracle, view->plan, why);
    oracle->port = view->port;
    oracle->settled = view->settled;
    oracle->context = view->context;
    return err;
}

static void roots_close(struct checker *checker)
{
    checker_oracle_fini(checker->memory);
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
    checker_oracle_up(checker->memory, at, port, counts_on, checker);
}

static void roots_down(struct checker *checker, node_id at)
{
    checker_oracle_changed(checker->memory);
}

static void roots_delivered(struct checker *checker, node_id at, const struct packet *packet)
{
    if (packet->kind != PACKET_TO_KEY)
        return;
    node_id rightful = checker_oracle_rightful(checker->memory, packet->route, at);
    if (rightful != NODE_NONE)
        checker_fail(checker,
                     "server %u delivers a packet for key %016llx, but %u comes first, is settled "
                     "and is reachable",
                     at, (unsigned long long)packet->route, rightful);
}

const struct checker_ops checker_roots = {
    .name = "roots",
    .size = sizeof(struct checker_oracle),
    .open = roots_open,
    .close = roots_close,
    .up = roots_up,
    .down = roots_down,
    .delivered = roots_delivered,
};
