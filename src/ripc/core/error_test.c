#include <errno.h>
#include <limits.h>

#include <weft/ripc.h>

#include "base/test.h"

static void errors_have_texts_of_our_own_or_the_systems(void **state)
{
    assert_string_equal(ripc_strerror(0), "success");
    assert_string_equal(ripc_strerror(7), "success");
    assert_string_equal(ripc_strerror(-EADDRINUSE), "somebody alive has that id");
    assert_string_equal(ripc_strerror(-ENOMEM), "Cannot allocate memory");
    assert_string_equal(ripc_strerror(-99999), "unknown error");
    assert_non_null(ripc_strerror(INT_MIN + 1));
}

TEST_MAIN(TEST(errors_have_texts_of_our_own_or_the_systems))
