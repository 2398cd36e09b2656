#pragma once
/* refuse_each: what happens when there is no memory. Every allocation of a task is refused in turn;
 * the task must say so, as ERR_MEMORY with its line, and must give back all it had. */
#include "allocations.h"
#include "base/err.h"
#include "base/test.h"

/* Something to do, with a word about what; OK, or an error with nothing left. */
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
            fail_msg("%s, allocation %ld: error %d '%s', %ld left", what, n, (int)err, why.text,
                     live - held);
    }
    fail_msg("%s: no end of allocations", what);
}
