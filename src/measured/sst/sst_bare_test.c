#include "measured/sst/sst_bare.h"

#include "base/test.h"
#include "measured/crowd.h"

/* Two processes that poll need two cores. */
static bool too_few_cores(void)
{
    if (crowd_cores() < 2)
        print_message("# left out: fewer than two cores\n");
    return crowd_cores() < 2;
}

/* The operations themselves check the contents of the rows. */
static void rows_are_read_and_written(void **state)
{
    static const uint32_t sizes[] = {8, 4096};
    if (too_few_cores())
        return;
    for (int kind = 0; kind < BARE_MEDIUM_COUNT * BARE_WAY_COUNT; kind++) {
        struct bare_job job = {
            .medium = (enum bare_medium)(kind / BARE_WAY_COUNT),
            .way = (enum bare_way)(kind % BARE_WAY_COUNT),
            .count = 20,
            .seed = 1,
            .sizes = sizes,
            .size_count = 2,
            .rows = 3,
        };
        struct bare_result result;
        struct why why = {""};
        assert_int_equal(bare_operate(&job, &result, &why), OK);
        if (result.missing[0]) {
            print_message("# left out: %s\n", result.missing);
            continue;
        }
        for (int i = 0; i < 6; i++) {
            const struct bare_times *times = &result.times[i / 3][i % 3];
            assert_true(times->total >= 0);
            if (job.medium == BARE_FABRIC)
                assert_true(times->post > 0 && times->post < times->total);
            else
                assert_true(isnan(times->post));
        }
        assert_true(isnan(result.times[0][3].total));
        assert_true(isnan(result.times[2][0].total));
    }
}

static void words_make_round_trips(void **state)
{
    struct trip_log *log = crowd_memory(sizeof *log);
    assert_non_null(log);
    for (int kind = 0; kind < BARE_MEDIUM_COUNT * BARE_WAY_COUNT && !too_few_cores(); kind++) {
        struct bare_job job = {
            .medium = (enum bare_medium)(kind / BARE_WAY_COUNT),
            .way = (enum bare_way)(kind % BARE_WAY_COUNT),
            .count = 50,
            .seed = 1,
        };
        char missing[BARE_REASON_SIZE];
        struct why why = {""};
        assert_int_equal(bare_trips(&job, log, missing, &why), OK);
        assert_int_equal(log->count, missing[0] ? 0 : 50);
        for (uint32_t i = 0; i < log->count; i++)
            assert_true(log->usec[i] > 0);
    }
    crowd_memory_free(log, sizeof *log);
}

TEST_MAIN(TEST(rows_are_read_and_written), TEST(words_make_round_trips))
