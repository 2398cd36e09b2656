#include "paper/verdict.h"

#include <math.h>

#include "base/check.h"

enum verdict verdict_of(const struct figure_claim *claim)
{
    const struct says *says = &claim->says;
    double found = claim->found, slack = says->tolerance;
    bool holds = false;
    if (claim->not_run)
        return VERDICT_NOT_RUN;
    if (isnan(found))
        return VERDICT_MISSING;
    switch (says->relation) {
    case RELATION_EQUAL:
        holds = fabs(found - says->number) <= slack;
        break;
    case RELATION_ABOVE:
        holds = found > says->number - slack;
        break;
    case RELATION_BELOW:
        holds = found < says->number + slack;
        break;
    case RELATION_AT_MOST:
        holds = found <= says->number + slack;
        break;
    case RELATION_BETWEEN:
        holds = found >= says->number - slack && found <= says->high + slack;
        break;
    }
    return holds ? VERDICT_AGREES : VERDICT_DIFFERS;
}

const char *verdict_text(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_AGREES:
        return "agrees";
    case VERDICT_DIFFERS:
        return "differs";
    case VERDICT_NOT_RUN:
        return "not run at this size";
    case VERDICT_MISSING:
        return "cannot be reproduced";
    case VERDICT_COUNT:
        break;
    }
    assert_unreachable();
}

const char *relation_text(enum relation relation)
{
    switch (relation) {
    case RELATION_EQUAL:
        return "equal";
    case RELATION_ABOVE:
        return "above";
    case RELATION_BELOW:
        return "below";
    case RELATION_AT_MOST:
        return "at_most";
    case RELATION_BETWEEN:
        return "between";
    }
    assert_unreachable();
}
