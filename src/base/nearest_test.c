#include "base/nearest.h"

#include <assert.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static unsigned distance(const char *a, const char *b)
{
    return nearest_distance(a, strlen(a), b, strlen(b));
}

static void each_kind_of_mistake_costs_one(void **state)
{
    assert_int_equal(distance("torus", "torus"), 0);
    assert_int_equal(distance("tours", "torus"), 1);  /* exchanged */
    assert_int_equal(distance("degre", "degree"), 1); /* left out */
    assert_int_equal(distance("seeed", "seed"), 1);   /* added */
    assert_int_equal(distance("mequre", "mesure"), 1);
    assert_int_equal(distance("", "abc"), 3);
    assert_int_equal(distance("abc", ""), 3);
    assert_int_equal(distance("kitten", "sitting"), 3);
    assert_int_equal(distance("ca", "abc"), 3); /* nothing is inserted between exchanged letters */
    assert_int_equal(distance("TORUS", "torus"), 0);
}

/* The definition, without a table. */
static unsigned slow_distance(const char *a, size_t i, const char *b, size_t j)
{
    if (i == 0 || j == 0)
        return (unsigned)(i + j);
    unsigned best = slow_distance(a, i - 1, b, j - 1) + (a[i - 1] != b[j - 1]);
    unsigned other = slow_distance(a, i - 1, b, j) + 1;
    best = other < best ? other : best;
    other = slow_distance(a, i, b, j - 1) + 1;
    best = other < best ? other : best;
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        other = slow_distance(a, i - 2, b, j - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

static void the_table_agrees_with_the_definition(void **state)
{
    struct rng rng = rng_make(1, 0);
    for (int round = 0; round < 2000; round++) {
        char a[6], b[6];
        size_t a_size = rng_below(&rng, 6), b_size = rng_below(&rng, 6);
        for (int i = 0; i < 6; i++) {
            a[i] = (char)('a' + rng_below(&rng, 3));
            b[i] = (char)('a' + rng_below(&rng, 3));
        }
        assert_int_equal(nearest_distance(a, a_size, b, b_size),
                         slow_distance(a, a_size, b, b_size));
    }
}

static const char *hint_of(const char *word)
{
    static const char *const allowed[] = {"degree-diameter", "fattree", "jellyfish", "novacube",
                                          "torus",           "seed",    "n",         NULL};
    static struct nearest nearest;
    nearest = nearest_make(word, strlen(word));
    nearest_try_all(&nearest, allowed);
    return nearest_hint(&nearest);
}

static void misspelt_words_get_the_word_that_was_meant(void **state)
{
    assert_string_equal(hint_of("tours"), " (did you mean 'torus'?)");
    assert_string_equal(hint_of("Torus"), " (did you mean 'torus'?)");
    assert_string_equal(hint_of("jelyfsh"), " (did you mean 'jellyfish'?)");
    assert_string_equal(hint_of("fat-tree"), " (did you mean 'fattree'?)");
    assert_string_equal(hint_of("sed"), " (did you mean 'seed'?)");
}

static void the_beginning_of_a_word_is_enough(void **state)
{
    assert_string_equal(hint_of("nova"), " (did you mean 'novacube'?)");
    assert_string_equal(hint_of("degree"), " (did you mean 'degree-diameter'?)");
    assert_string_equal(hint_of("je"), "");
}

static void other_words_get_no_hint(void **state)
{
    static const char long_word[] = "torustorustorustorustorustorustorustorustorustorus";
    static_assert(sizeof long_word > NEAREST_SIZE_MAX, "it is too long for a hint");
    assert_string_equal(hint_of(""), "");
    assert_string_equal(hint_of("m"), ""); /* one mistake away from "n", like every letter */
    assert_string_equal(hint_of("mesh"), "");
    assert_string_equal(hint_of("hypercube"), "");
    assert_string_equal(hint_of(long_word), "");
}

static void the_nearest_of_several_words_wins_and_the_first_of_equals(void **state)
{
    struct nearest nearest = nearest_make("seeds", 5);
    nearest_try(&nearest, "sends");
    nearest_try(&nearest, "reeds");
    assert_string_equal(nearest.best, "sends");
    nearest_try(&nearest, "seeding");
    assert_string_equal(nearest.best, "sends");
}

static void only_the_given_bytes_of_the_word_count(void **state)
{
    struct nearest nearest = nearest_make("degre=6", 5);
    nearest_try(&nearest, "degree");
    assert_string_equal(nearest_hint(&nearest), " (did you mean 'degree'?)");
}

TEST_MAIN(TEST(each_kind_of_mistake_costs_one), TEST(the_table_agrees_with_the_definition),
          TEST(misspelt_words_get_the_word_that_was_meant), TEST(the_beginning_of_a_word_is_enough),
          TEST(other_words_get_no_hint),
          TEST(the_nearest_of_several_words_wins_and_the_first_of_equals),
          TEST(only_the_given_bytes_of_the_word_count))
