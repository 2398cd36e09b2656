/* Checks that schedules are a function of the seed, stay within the storm, and heal every fault. */
#include "sim/chaos/fault.h"

#include <string.h>

#include "base/test.h"
#include "node/test_plan.h"

#define SEEDS 60

static const struct fault_settings settings = {
    .kinds = FAULT_ALL,
    .disks = true,
    .begin = 100 * PSEC_PER_SECOND,
    .end = 101 * PSEC_PER_SECOND,
    .silence = PSEC_PER_SECOND / 10,
    .hello = PSEC_PER_SECOND / 50,
};

static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=27,degree=6",
                                    "torus:2x2"};

static void schedule_is_sound(const struct test_plan *test, const struct fault_schedule *schedule)
{
    int open = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct fault *fault = &schedule->faults[i];
        assert_true(fault->at >= settings.begin && fault->at <= settings.end);
        assert_true(!fault->begins || fault->at < settings.end);
        assert_true(i == 0 || schedule->faults[i - 1].at <= fault->at);
        assert_true(schedule->kinds >> fault->kind & 1);
        assert_true(fault->server < test->plan.server_count);
        if (!fault_is_of_server(fault->kind))
            assert_true(plan_end(&test->plan, fault->server, fault->port)->server != NODE_NONE);
        open += fault->begins ? 1 : -1;
        assert_true(open >= 0);
    }
    assert_int_equal(open, 0);
}

static void every_fault_has_an_end_and_a_valid_place(void **state)
{
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_plan test;
        test_plan_open(&test, specs[i]);
        uint32_t seen = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct fault_schedule schedule;
            assert_int_equal(fault_schedule_make(&schedule, &test.plan, seed, &settings, NULL), OK);
            assert_true(schedule.count > 0);
            schedule_is_sound(&test, &schedule);
            seen |= schedule.kinds;
            fault_schedule_fini(&schedule);
        }
        assert_int_equal(seen, FAULT_ALL);
        test_plan_close(&test);
    }
}

/* If all kinds are allowed, every seed has a fault, and none is of a cable. If only faults of
 * cables are allowed, no seed has a fault. */
static void a_lone_server_has_only_the_faults_of_servers(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:1");
    struct fault_settings links = settings;
    links.kinds = 0;
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        links.kinds |= (uint32_t)!fault_is_of_server((enum fault_kind)kind) << kind;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fault_schedule schedule;
        assert_int_equal(fault_schedule_make(&schedule, &test.plan, seed, &settings, NULL), OK);
        assert_true(schedule.count > 0);
        assert_int_equal(schedule.kinds & links.kinds, 0);
        schedule_is_sound(&test, &schedule);
        fault_schedule_fini(&schedule);
        assert_int_equal(fault_schedule_make(&schedule, &test.plan, seed, &links, NULL), OK);
        assert_int_equal(schedule.count, 0);
        assert_int_equal(schedule.kinds, 0);
        fault_schedule_fini(&schedule);
    }
    test_plan_close(&test);
}

static void a_seed_makes_the_same_schedule_again(void **state)
{
    struct test_plan test;
    test_plan_open(&test, specs[0]);
    struct fault_schedule one, again, other;
    assert_int_equal(fault_schedule_make(&one, &test.plan, 7, &settings, NULL), OK);
    assert_int_equal(fault_schedule_make(&again, &test.plan, 7, &settings, NULL), OK);
    assert_int_equal(fault_schedule_make(&other, &test.plan, 8, &settings, NULL), OK);
    assert_int_equal(one.count, again.count);
    for (size_t i = 0; i < one.count; i++) {
        assert_true(one.faults[i].at == again.faults[i].at);
        assert_int_equal(one.faults[i].kind, again.faults[i].kind);
        assert_int_equal(one.faults[i].server, again.faults[i].server);
        assert_true(one.faults[i].amount == again.faults[i].amount);
    }
    assert_true(other.count != one.count || other.faults[0].at != one.faults[0].at);
    fault_schedule_fini(&one);
    fault_schedule_fini(&again);
    fault_schedule_fini(&other);
    test_plan_close(&test);
}

/* Leaving out one kind does not change the others: this is how a failure is reduced. */
static void kinds_do_not_affect_each_other(void **state)
{
    struct test_plan test;
    test_plan_open(&test, specs[0]);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fault_schedule all, some;
        struct fault_settings fewer = settings;
        assert_int_equal(fault_schedule_make(&all, &test.plan, seed, &settings, NULL), OK);
        fewer.kinds = all.kinds & -all.kinds;
        assert_int_equal(fault_schedule_make(&some, &test.plan, seed, &fewer, NULL), OK);
        assert_int_equal(some.kinds, fewer.kinds);
        size_t found = 0;
        for (size_t i = 0; i < all.count; i++) {
            if (!(fewer.kinds >> all.faults[i].kind & 1))
                continue;
            assert_true(found < some.count);
            assert_true(all.faults[i].at == some.faults[found].at);
            assert_int_equal(all.faults[i].server, some.faults[found].server);
            found++;
        }
        assert_int_equal(found, some.count);
        fault_schedule_fini(&all);
        fault_schedule_fini(&some);
    }
    test_plan_close(&test);
}

static void only_servers_with_disks_have_faults_of_disks(void **state)
{
    struct test_plan test;
    test_plan_open(&test, specs[0]);
    struct fault_settings without = settings, disks = settings;
    without.disks = false;
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        if (!fault_is_of_disk((enum fault_kind)kind))
            disks.kinds &= ~(1u << kind);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct fault_schedule schedule;
        assert_int_equal(fault_schedule_make(&schedule, &test.plan, seed, &without, NULL), OK);
        assert_int_equal(schedule.kinds & disks.kinds, 0);
        fault_schedule_fini(&schedule);
        assert_int_equal(fault_schedule_make(&schedule, &test.plan, seed, &disks, NULL), OK);
        unsigned empty = 0;
        for (size_t i = 0; i < schedule.count; i++)
            empty += schedule.faults[i].kind == FAULT_EMPTY && schedule.faults[i].begins;
        assert_true(empty <= 1 && schedule.count > 0);
        fault_schedule_fini(&schedule);
    }
    test_plan_close(&test);
}

static void a_plane_separates_its_servers_from_the_others(void **state)
{
    struct test_plan test;
    test_plan_open(&test, specs[0]);
    struct fault_settings planes = settings;
    planes.kinds = 1u << FAULT_PLANE;
    struct fault_schedule schedule;
    assert_int_equal(fault_schedule_make(&schedule, &test.plan, 3, &planes, NULL), OK);
    for (size_t i = 0; i < schedule.count; i++) {
        const struct fault *fault = &schedule.faults[i];
        const struct plan_end *end = plan_end(&test.plan, fault->server, fault->port);
        bool back = false;
        for (size_t j = 0; j < schedule.count; j++)
            back |= schedule.faults[j].server == end->server &&
                    schedule.faults[j].port == end->port && schedule.faults[j].at == fault->at;
        assert_true(back);
    }
    fault_schedule_fini(&schedule);
    test_plan_close(&test);
}

static void assert_written(uint32_t kinds, const char *words)
{
    struct text text = {0};
    fault_kinds_write(kinds, &text);
    assert_string_equal(text.data, words);
    text_fini(&text);
}

static void kinds_are_read_and_written_by_name(void **state)
{
    uint32_t kinds;
    struct why why = {""};
    assert_int_equal(fault_kinds_read("loss,crash", &kinds, &why), OK);
    assert_int_equal(kinds, 1u << FAULT_LOSS | 1u << FAULT_CRASH);
    assert_written(kinds, "loss,crash");
    assert_int_equal(fault_kinds_read("all", &kinds, &why), OK);
    assert_int_equal(kinds, FAULT_ALL);
    assert_written(kinds, "all");
    assert_int_equal(fault_kinds_read("all,-empty,-loss", &kinds, &why), OK);
    assert_int_equal(kinds, FAULT_ALL & ~(1u << FAULT_EMPTY | 1u << FAULT_LOSS));
    assert_int_equal(fault_kinds_read("all,-none", &kinds, &why), ERR_USAGE);
    assert_int_equal(fault_kinds_read("none", &kinds, &why), OK);
    assert_int_equal(kinds, 0);
    assert_written(kinds, "none");
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++) {
        assert_int_equal(fault_kinds_read(fault_names[kind], &kinds, &why), OK);
        assert_int_equal(kinds, 1u << kind);
    }
    assert_int_equal(fault_kinds_read("loss,fire", &kinds, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "'fire'"));
    for (unsigned kind = 0; kind < FAULT_COUNT; kind++)
        assert_non_null(strstr(why.text, fault_names[kind]));
    char long_word[2 * WHY_SIZE];
    memset(long_word, 'x', sizeof long_word);
    long_word[sizeof long_word - 1] = '\0';
    assert_int_equal(fault_kinds_read(long_word, &kinds, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "all and none"));
    assert_int_equal(fault_kinds_read("", &kinds, &why), ERR_USAGE);
}

TEST_MAIN(TEST(every_fault_has_an_end_and_a_valid_place),
          TEST(a_lone_server_has_only_the_faults_of_servers),
          TEST(a_seed_makes_the_same_schedule_again), TEST(kinds_do_not_affect_each_other),
          TEST(only_servers_with_disks_have_faults_of_disks),
          TEST(a_plane_separates_its_servers_from_the_others),
          TEST(kinds_are_read_and_written_by_name))
