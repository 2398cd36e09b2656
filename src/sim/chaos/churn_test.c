/* Checks that every packet is accounted for, that no server delivers another's keys, and that a
 * seed determines the run. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "sim/chaos/churn.h"

struct fixture {
    struct topology topology;
    struct plan plan;
};

static void fixture_open(struct fixture *fixture, const char *spec)
{
    struct why why;
    assert_int_equal(topology_build(&fixture->topology, spec, &why), OK);
    assert_int_equal(plan_init(&fixture->plan, &fixture->topology, &why), OK);
}

static void fixture_close(struct fixture *fixture)
{
    plan_fini(&fixture->plan);
    topology_fini(&fixture->topology);
}

static struct churn_settings settings_make(const struct fixture *fixture)
{
    return (struct churn_settings){
        .plan = &fixture->plan,
        .failures = 4 * CHURN_MILLIONTHS,
        .down = CHURN_MILLIONTHS / 10,
        .packets = 200 * 1000,
        .payload = 100,
        .length = 10 * PSEC_PER_SECOND,
        .hello_nsec = 50000000,
        .seed = 7,
    };
}

static struct churn_result churn_of(const struct churn_settings *settings)
{
    struct churn_result result;
    struct why why = {0};
    print_message("# seed %llu\n", (unsigned long long)settings->seed);
    assert_int_equal(churn_run(settings, &result, &why), OK);
    assert_int_equal(result.sent, result.delivered + churn_dropped(&result));
    assert_int_equal(result.misdelivered, 0);
    return result;
}

static void every_packet_is_accounted_for(void **state)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4",
                                        "jellyfish:n=20,degree=4,seed=3"};
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct fixture fixture;
        fixture_open(&fixture, specs[i]);
        struct churn_settings settings = settings_make(&fixture);
        struct churn_result result = churn_of(&settings);
        assert_true(result.failures > 20 && result.failures < 70); /* about 40 */
        assert_true(result.returns <= result.failures && result.returns + 10 > result.failures);
        assert_true(result.down > 0.04 && result.down < 0.2);
        assert_true(churn_dropped(&result) > 0 && result.delivered > result.sent / 2);
        fixture_close(&fixture);
    }
}

/* If neighbours notice a failure at once, packets go to the failed server only until the news has
 * spread. */
static void a_lost_carrier_is_noticed_sooner_than_silence(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:3x3x3");
    struct churn_settings settings = settings_make(&fixture);
    struct churn_result silent = churn_of(&settings);
    settings.carrier = true;
    struct churn_result told = churn_of(&settings);
    assert_true(10 * churn_dropped(&told) < churn_dropped(&silent));
    fixture_close(&fixture);
}

static void times_are_exponentially_distributed(void **state)
{
    enum { DRAWS = 20000 };
    const psec mean = 1000000000;
    struct rng rng = rng_make(5, 0);
    double sum = 0;
    print_message("# seed 5\n");
    for (int i = 0; i < DRAWS; i++) {
        uint64_t random = rng_next(&rng);
        double expected = -log(ldexp((double)random, -64)) * (double)mean;
        double found = (double)churn_exponential(random, mean);
        assert_true(fabs(found - expected) < 10);
        sum += found;
    }
    assert_true(fabs(sum / DRAWS / (double)mean - 1) < 0.03);
    assert_true(churn_exponential(UINT64_MAX, mean) < 10);
    assert_true(churn_exponential(0, mean) < 45 * mean);
}

static void nothing_is_lost_without_failures(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:3x3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.failures = 0;
    settings.length = 2 * PSEC_PER_SECOND;
    struct churn_result result = churn_of(&settings);
    assert_int_equal(result.delivered, result.sent);
    assert_int_equal(result.sent, 27 * 2 * 200);
    assert_int_equal(result.failures, 0);
    fixture_close(&fixture);
}

/* This seed once made servers wait for each other forever: their messages went in circles.
 */
static void all_returning_servers_settle(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:4x4x4");
    struct churn_settings settings = settings_make(&fixture);
    settings.failures = 15 * CHURN_MILLIONTHS;
    settings.length = 4 * PSEC_PER_SECOND;
    settings.packets = 50 * 1000;
    settings.seed = 1;
    assert_int_equal(churn_of(&settings).left, 0);
    fixture_close(&fixture);
}

static void a_seed_determines_the_run(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.length = 3 * PSEC_PER_SECOND;
    struct churn_result one = churn_of(&settings), same = churn_of(&settings);
    settings.seed++;
    struct churn_result other = churn_of(&settings);
    assert_int_equal(one.hash, same.hash);
    assert_int_equal(one.delivered, same.delivered);
    assert_true(one.hash != other.hash);
    fixture_close(&fixture);
}

static void a_server_that_answers_for_its_keys_too_early_is_detected(void **state)
{
    struct fixture fixture;
    struct churn_result result;
    struct why why = {0};
    fixture_open(&fixture, "torus:3x3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.plants = PLANTED_BIT(ROOTS_OVERLAP);
    settings.seed = 10;
    settings.packets = 1000 * 1000;
    result.misdelivered = 0;
    for (; settings.seed < 20 && !result.misdelivered; settings.seed++)
        assert_int_equal(churn_run(&settings, &result, &why), OK);
    print_message("# seed %llu\n", (unsigned long long)settings.seed - 1);
    assert_true(result.misdelivered > 0);
    assert_non_null(strstr(result.first, "comes first"));
    fixture_close(&fixture);
}

TEST_MAIN(TEST(every_packet_is_accounted_for), TEST(times_are_exponentially_distributed),
          TEST(a_lost_carrier_is_noticed_sooner_than_silence),
          TEST(nothing_is_lost_without_failures), TEST(all_returning_servers_settle),
          TEST(a_seed_determines_the_run),
          TEST(a_server_that_answers_for_its_keys_too_early_is_detected))
