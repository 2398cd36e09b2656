#include "cli/store/zipf.h"

#include "base/test.h"

#define DRAWS 400000

/* Counts how often each rank comes, and compares with the closed form: of that many draws a count
 * strays from its mean by more than 5 standard deviations once in a million times. */
static void compare(uint64_t count, double exponent, uint64_t seed)
{
    static unsigned found[1001];
    struct zipf zipf = zipf_make(count, exponent);
    struct rng rng = rng_make(seed, 1);
    double sum = 0;
    for (uint64_t rank = 1; rank <= count; rank++) {
        sum += pow((double)rank, -exponent);
        found[rank] = 0;
    }
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t rank = zipf_next(&zipf, &rng);
        assert_in_range(rank, 1, count);
        found[rank]++;
    }
    for (uint64_t rank = 1; rank <= count; rank++) {
        double share = pow((double)rank, -exponent) / sum;
        assert_within(found[rank], DRAWS * share, 5 * sqrt(DRAWS * share * (1 - share)) + 1);
    }
}

static void ranks_have_the_probabilities_of_the_closed_form(void **state)
{
    print_message("# seeds 1 to 5\n");
    compare(1, 0.99, 1);
    compare(2, 0.99, 2);
    compare(1000, 0.99, 3);
    compare(300, 0.5, 4);
    compare(50, 1.5, 5);
}

static void a_large_number_of_ranks_needs_no_table(void **state)
{
    struct zipf zipf = zipf_make(UINT64_C(1) << 40, 0.99);
    struct rng rng = rng_make(6, 1);
    unsigned first = 0, far = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t rank = zipf_next(&zipf, &rng);
        assert_in_range(rank, 1, UINT64_C(1) << 40);
        first += rank == 1;
        far += rank > UINT64_C(1) << 39;
    }
    assert_in_range(first, DRAWS / 40, DRAWS / 25); /* 1 / sum is 0.0314 */
    assert_in_range(far, DRAWS / 60, DRAWS / 30);   /* 0.0249 */
}

TEST_MAIN(TEST(ranks_have_the_probabilities_of_the_closed_form),
          TEST(a_large_number_of_ranks_needs_no_table))
