#pragma once
/* check: assertions that stay on in every build.
 *
 * `assert` guards against our own mistakes and is never compiled out (the build never defines
 * NDEBUG). `check_slow` calls a function that walks a whole structure, in debug and sanitizer
 * builds (WEFT_SLOW_CHECKS). */

#include <assert.h>
#include <stdlib.h>

#ifdef NDEBUG
#error "weft keeps its assertions: do not define NDEBUG"
#endif

#ifdef WEFT_SLOW_CHECKS
#define check_slow(call) (call)
#else
#define check_slow(call) ((void)0)
#endif

#define assert_unreachable()                                                                       \
    do {                                                                                           \
        assert(!"unreachable");                                                                    \
        abort();                                                                                   \
    } while (0)
