#include "routing/paths/path_set.h"

#include "base/test.h"

static void paths_are_kept_with_their_pair(void **state)
{
    static const uint32_t there[] = {4, 7, 1}, back[] = {0};
    struct path_set set = {0};
    assert_int_equal(path_set_pair(&set, NULL), OK);
    assert_int_equal(path_set_path(&set, there, 3, NULL), OK);
    assert_int_equal(path_set_path(&set, back, 1, NULL), OK);
    assert_int_equal(path_set_pair(&set, NULL), OK); /* without a path */
    assert_int_equal(path_set_pair(&set, NULL), OK);
    assert_int_equal(path_set_path(&set, NULL, 0, NULL), OK); /* from a node to itself */

    assert_int_equal(set.pair_count, 3);
    assert_int_equal(set.path_count, 3);
    assert_int_equal(set.hop_count, 4);
    const size_t firsts[] = {0, 2, 2, 3};
    assert_memory_equal(set.pair_first, firsts, sizeof firsts);
    assert_int_equal(path_set_hops(&set, 0), 3);
    assert_int_equal(path_set_hops(&set, 1), 1);
    assert_int_equal(path_set_hops(&set, 2), 0);
    assert_memory_equal(path_set_channels(&set, 0), there, sizeof there);
    assert_memory_equal(path_set_channels(&set, 1), back, sizeof back);
    path_set_fini(&set);
    assert_null(set.channels);
}

static void lengths_are_sums_along_the_path(void **state)
{
    static const uint32_t one[] = {2, 0}, other[] = {1, 1};
    static const double weights[] = {0.5, 8, 0.25};
    struct path_set set = {0};
    assert_int_equal(path_set_pair(&set, NULL), OK);
    assert_int_equal(path_set_path(&set, one, 2, NULL), OK);
    assert_int_equal(path_set_path(&set, other, 2, NULL), OK);
    assert_true(path_set_length(&set, 0, weights) == 0.75);
    assert_true(path_set_length(&set, 1, weights) == 16);
    path_set_clear(&set);
    assert_int_equal(path_set_pair(&set, NULL), OK);
    assert_int_equal(path_set_path(&set, other, 1, NULL), OK);
    assert_int_equal(set.path_count, 1);
    assert_true(path_set_length(&set, 0, weights) == 8);
    path_set_fini(&set);
}

TEST_MAIN(TEST(paths_are_kept_with_their_pair), TEST(lengths_are_sums_along_the_path))
