/* checker_leaks: when all servers have stopped and all links are empty, every packet has been
 * released. */

#include "sim/checkers/checker.h"

static void leaks_phase(struct checker *checker, enum checker_phase phase)
{
    const struct checker_view *view = &checker->all->view;
    uint64_t live = phase == PHASE_OVER ? view->live(view->context) : 0;
    if (live)
        checker_fail(checker, "%llu packets were never released", (unsigned long long)live);
}

const struct checker_ops checker_leaks = {
    .name = "leaks",
    .phase = leaks_phase,
};
