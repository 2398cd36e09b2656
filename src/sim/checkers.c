#include "sim/checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/check.h"

const struct checker_ops *const checker_table[CHECKER_COUNT] = {
    &checker_roots, &checker_ledger, &checker_routes, &checker_leaks, &checker_fair,
};

enum err checkers_open(struct checkers *checkers, const struct checker_view *view, struct why *why)
{
    *checkers = (struct checkers){.view = *view};
    for (unsigned i = 0; i < CHECKER_COUNT; i++) {
        struct checker *checker = &checkers->list[i];
        checker->ops = checker_table[i];
        checker->all = checkers;
        checker->memory = calloc(1, checker->ops->size ? checker->ops->size : 1);
        enum err err = !checker->memory     ? why_memory(why)
                       : checker->ops->open ? checker->ops->open(checker, why)
                                            : OK;
        if (err) {
            checkers_close(checkers);
            return err;
        }
    }
    return OK;
}

void checkers_close(struct checkers *checkers)
{
    for (unsigned i = 0; i < CHECKER_COUNT; i++) {
        struct checker *checker = &checkers->list[i];
        if (!checker->memory)
            continue;
        if (checker->ops->close)
            checker->ops->close(checker);
        free(checker->memory);
        checker->memory = NULL;
    }
}

void checkers_phase(struct checkers *checkers, enum checker_phase phase)
{
    checkers->phase = phase;
    CHECKERS_TELL(checkers, phase, phase);
}

void checker_fail(struct checker *checker, const char *format, ...)
{
    struct checkers *all = checker->all;
    if (all->failures++)
        return;
    all->failed = checker->ops->name;
    all->failed_at = all->view.now(all->view.context);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(all->text, sizeof all->text, format, arguments);
    va_end(arguments);
}
