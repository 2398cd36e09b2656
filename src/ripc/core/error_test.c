#include <errno.h>
#include <limits.h>

#include <weft/ripc.h>

#include "base/test.h"

static void every_error_has_a_text_from_ripc_or_from_the_system(void **state)
{
    assert_string_equal(ripc_strerror(0), "success");
    assert_string_equal(ripc_strerror(7), "success");
    assert_string_equal(ripc_strerror(-EADDRINUSE), "a live process holds that id");
    assert_string_equal(ripc_strerror(-ENETUNREACH),
                        "this host has no route to the peer's address");
    assert_string_equal(ripc_strerror(-ENOMEM), "Cannot allocate memory");
    assert_string_equal(ripc_strerror(-99999), "unknown error");
    assert_non_null(ripc_strerror(INT_MIN + 1));
}

TEST_MAIN(TEST(every_error_has_a_text_from_ripc_or_from_the_system))
