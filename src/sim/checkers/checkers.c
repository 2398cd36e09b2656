/* checkers: the list of the checkers that always run, opened and called together. */

#include "sim/checkers/checker.h"

#include <stdlib.h>

#include "base/check.h"

static const struct checker_ops *const checker_table[CHECKER_COUNT] = {
    &checker_roots,  &checker_silence, &checker_links, &checker_ledger,
    &checker_routes, &checker_calls,   &checker_leaks, &checker_fair,
};

static enum err checker_open(struct checkers *checkers, const struct checker_ops *ops,
                             struct why *why)
{
    if (checkers->count == CHECKER_MAX)
        return why_fail(why, ERR_USAGE, "too many checkers: at most %d", CHECKER_MAX);
    struct checker *checker = &checkers->list[checkers->count];
    checker->ops = ops;
    checker->all = checkers;
    checker->memory = calloc(1, ops->size ? ops->size : 1);
    if (!checker->memory)
        return why_memory(why);
    checkers->count++;
    return ops->open ? ops->open(checker, why) : OK;
}

enum err checkers_open(struct checkers *checkers, const struct checker_view *view,
                       const struct checker_ops *const *more, struct why *why)
{
    *checkers = (struct checkers){.view = *view};
    enum err err = OK;
    for (unsigned i = 0; !err && i < CHECKER_COUNT; i++)
        err = checker_open(checkers, checker_table[i], why);
    for (; !err && more && *more; more++)
        err = checker_open(checkers, *more, why);
    if (err)
        checkers_close(checkers);
    return err;
}

void checkers_close(struct checkers *checkers)
{
    for (unsigned i = 0; i < checkers->count; i++) {
        struct checker *checker = &checkers->list[i];
        if (checker->ops->close)
            checker->ops->close(checker);
        free(checker->memory);
    }
    checkers->count = 0;
}

void checkers_phase(struct checkers *checkers, enum checker_phase phase)
{
    checkers->phase = phase;
    CHECKERS_TELL(checkers, phase, phase);
}
