/* churn: every packet is accounted for, nobody delivers what is another's, and a seed is a run. */
#include "base/test.h"
#include "sim/churn.h"

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
        .failures = 4,
        .down = 0.1,
        .packets = 200,
        .payload = 100,
        .seconds = 10,
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
        assert_true(result.failures > 20 && result.failures < 70); /* 40, or nearly */
        assert_true(result.returns <= result.failures && result.returns + 10 > result.failures);
        assert_true(result.down > 0.04 && result.down < 0.2);
        assert_true(churn_dropped(&result) > 0 && result.delivered > result.sent / 2);
        fixture_close(&fixture);
    }
}

static void nothing_is_lost_where_nobody_fails(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:3x3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.failures = 0;
    settings.seconds = 2;
    struct churn_result result = churn_of(&settings);
    assert_int_equal(result.delivered, result.sent);
    assert_int_equal(result.sent, 27 * 2 * 200);
    assert_int_equal(result.failures, 0);
    fixture_close(&fixture);
}

/* Once it made servers wait for each other for good: what they say to each other went in circles.
 */
static void all_who_return_settle(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:4x4x4");
    struct churn_settings settings = settings_make(&fixture);
    settings.failures = 15;
    settings.seconds = 4;
    settings.packets = 50;
    settings.seed = 1;
    assert_int_equal(churn_of(&settings).left, 0);
    fixture_close(&fixture);
}

static void a_seed_is_a_run(void **state)
{
    struct fixture fixture;
    fixture_open(&fixture, "torus:3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.seconds = 3;
    struct churn_result one = churn_of(&settings), same = churn_of(&settings);
    settings.seed++;
    struct churn_result other = churn_of(&settings);
    assert_int_equal(one.hash, same.hash);
    assert_int_equal(one.delivered, same.delivered);
    assert_true(one.hash != other.hash);
    fixture_close(&fixture);
}

static void a_server_that_takes_its_keys_at_once_is_found_out(void **state)
{
    struct fixture fixture;
    struct churn_result result;
    struct why why = {0};
    fixture_open(&fixture, "torus:3x3x3");
    struct churn_settings settings = settings_make(&fixture);
    settings.plants = NODE_FAULT_ROOTS_OVERLAP;
    settings.packets = 1000;
    assert_int_equal(churn_run(&settings, &result, &why), OK);
    assert_true(result.misdelivered > 0);
    fixture_close(&fixture);
}

TEST_MAIN(TEST(every_packet_is_accounted_for), TEST(nothing_is_lost_where_nobody_fails),
          TEST(all_who_return_settle), TEST(a_seed_is_a_run),
          TEST(a_server_that_takes_its_keys_at_once_is_found_out))
