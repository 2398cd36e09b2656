#pragma once
/* refuse_each: refuses every allocation of a task in turn. The task must report this, as ERR_MEMORY
 * with its text, and must release everything that it had. */
#include "allocations.h"
#include "base/err.h"
#include "base/test.h"

/* A task that `what` describes. Returns OK, or an error with everything released. */
typedef enum err (*task)(const char *what, struct why *why);

static void refuse_each(task run, const char *what)
{
    enum { ALLOCATIONS_MAX = 100000 };
    long held = live;
    struct why why = {""};
    refuse_at = -1;
    enum err err = run(what, &why);
    if (err)
        fail_msg("%s: %s", what, why.text);
    assert_int_equal(live, held);
    for (long n = 0; n < ALLOCATIONS_MAX; n++) {
        why.text[0] = '\0';
        refuse_at = n;
        refused = false;
        err = run(what, &why);
        refuse_at = -1;
        if (!refused) {
            assert_true(n > 0);
            return;
        }
        if (err != ERR_MEMORY || strcmp(why.text, "not enough memory") != 0 || live != held)
            fail_msg("%s, allocation %ld: error %d '%s', %ld leaked", what, n, (int)err, why.text,
                     live - held);
    }
    fail_msg("%s: too many allocations", what);
}
