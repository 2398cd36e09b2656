#include "os/shared_memory.h"

#include <string.h>
#include <sys/resource.h>

#include "base/test.h"

#define LINK_SIZE ((size_t)1 << 20)

static void available_memory_is_not_refused(void **state)
{
    struct why why = {0};
    assert_int_equal(shared_memory_check(SHARED_MEMORY_PAGE, &why), OK);
    assert_int_equal(shared_memory_check(LINK_SIZE, &why), OK);
    assert_string_equal(why.text, "");
}

/* A page of shared memory is still available, so links that do not use shared memory would work. */
static void links_too_large_for_the_memory_get_advice_to_use_udp(void **state)
{
    struct why why = {0};
    assert_int_equal(shared_memory_check((size_t)1 << 60, &why), ERR_SYSTEM);
    assert_non_null(strstr(why.text, "--wire udp"));
}

static void an_exceeded_limit_is_named(void **state)
{
    struct why why = {0};
    struct rlimit limit, none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    enum err err = shared_memory_check(LINK_SIZE, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(err, ERR_SYSTEM);
    assert_non_null(strstr(why.text, "ulimit -n"));
    assert_null(strstr(why.text, "udp")); /* every server has a doorbell */
}

TEST_MAIN(TEST(available_memory_is_not_refused),
          TEST(links_too_large_for_the_memory_get_advice_to_use_udp),
          TEST(an_exceeded_limit_is_named))
