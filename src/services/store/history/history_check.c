#include "services/store/history/history_check.h"

#include "services/store/history/history_fill_impl.h"
#include "services/store/history/history_line_impl.h"

static enum history_verdict key_check(const struct history_key *key,
                                      struct history_finding *finding)
{
    struct line line;
    enum history_verdict verdict = line_init(&line, key, finding);
    if (verdict == HISTORY_FINE)
        verdict = fill_judge(&line, finding);
    line_fini(&line);
    return verdict;
}

enum history_verdict history_check(const struct history *history, struct history_finding *finding)
{
    return history_each_key(history, key_check, finding);
}
