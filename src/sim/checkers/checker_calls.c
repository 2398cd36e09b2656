/* checker_calls: the node calls the functions of services as weft/service.h says. The service that
 * loads each server records what it is told (chaos_load.c); the set of servers that it was told are
 * up must always be the set that its node reaches. */

#include "sim/checkers/checker.h"

static void peers_check(struct checker *checker, node_id at, const struct checker_observed *found)
{
    const struct checker_view *view = &checker->all->view;
    const struct node *node = view->node(view->context, at);
    uint64_t reached = 0;
    if (!node)
        return;
    for (node_id server = 0; server < view->plan->server_count; server++)
        if (server != at && node_reaches(node, server))
            checker_peers_add(&reached, server);
    if (found->peers != reached)
        checker_fail(checker,
                     "server %u: the servers that peer_up and peer_down reported are not those "
                     "that it reaches",
                     at);
}

static void server_check(struct checker *checker, node_id at)
{
    const struct checker_view *view = &checker->all->view;
    struct checker_observed found;
    if (!view->observed(view->context, at, &found))
        return;
    if (found.peers_repeated)
        checker_fail(checker, "server %u: peer_up or peer_down repeats what was reported before",
                     at);
    if (found.passes_wrong && !view->damages)
        checker_fail(checker,
                     "server %u: a packet arrives that intercept() did not see exactly once on "
                     "each server that it passed",
                     at);
    if (found.misdelivered)
        checker_fail(checker,
                     "server %u: a packet arrives that has another source or destination than it "
                     "was sent with",
                     at);
    if (found.timers_early)
        checker_fail(checker, "server %u: a timer came early", at);
    enum checker_phase phase = checker->all->phase;
    if ((phase == PHASE_STEADY || phase == PHASE_QUIET) && found.timer_overdue)
        checker_fail(checker, "server %u: a timer did not come", at);
    peers_check(checker, at, &found);
}

static void all_check(struct checker *checker)
{
    for (node_id at = 0; at < checker->all->view.plan->server_count; at++)
        server_check(checker, at);
}

static void calls_phase(struct checker *checker, enum checker_phase phase)
{
    if (phase != PHASE_STOP && phase != PHASE_OVER)
        all_check(checker);
}

static void calls_sampled(struct checker *checker, psec at)
{
    all_check(checker);
}

const struct checker_ops checker_calls = {
    .name = "calls",
    .phase = calls_phase,
    .sampled = calls_sampled,
};
