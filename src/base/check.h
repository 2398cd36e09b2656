#pragma once
/* check: assertions that stay on in every build.
 *
 * `assert` guards against our own mistakes and is never compiled out (the
 * build never defines NDEBUG). `assert_slow` is for checks that walk a whole
 * structure; it is on in debug and sanitizer builds (WEFT_SLOW_CHECKS). */

#include <assert.h>
#include <stdlib.h>

#ifdef NDEBUG
#error "weft keeps its assertions: do not define NDEBUG"
#endif

#ifdef WEFT_SLOW_CHECKS
#define assert_slow(condition) assert(condition)
#else
#define assert_slow(condition) ((void)sizeof(condition))
#endif

#define assert_unreachable()                                                                       \
    do {                                                                                           \
        assert(!"unreachable");                                                                    \
        abort();                                                                                   \
    } while (0)
