/* Compares the engine with a model that checks every channel each time. */
#include "sim/engine/engine.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

struct model {
    uint32_t count;
    psec now;
    psec at[512];
};

static bool model_next(struct model *model, psec until, uint32_t *channel)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < model->count; i++)
        if (model->at[i] < until && (best == UINT32_MAX || model->at[i] < model->at[best]))
            best = i;
    model->now = best == UINT32_MAX ? until : model->at[best];
    if (best == UINT32_MAX)
        return false;
    model->at[best] = PSEC_NEVER;
    *channel = best;
    return true;
}

static psec plus(psec now, psec delay)
{
    return delay < PSEC_NEVER - now ? now + delay : PSEC_NEVER - 1;
}

/* Soon, now, at the moment of another channel, in any far future, never. */
static psec moment(struct rng *rng, const struct model *model)
{
    switch (rng_below(rng, 8)) {
    case 0:
        return PSEC_NEVER;
    case 1:
        return model->now;
    case 2:
        return model->at[rng_below(rng, model->count)];
    case 3:
        return plus(model->now, 1ull << rng_below(rng, 64));
    case 4:
        return plus(model->now, rng_next(rng) >> rng_below(rng, 64));
    case 5:
        return plus(model->now, rng_below(rng, 16));
    default:
        return plus(model->now, rng_below(rng, 20000000));
    }
}

static void compare(uint64_t seed, uint32_t count, unsigned turns)
{
    struct rng rng = rng_make(seed, 1);
    struct model model = {.count = count};
    struct engine *engine;
    assert_int_equal(engine_open(&engine, count, NULL), OK);
    for (uint32_t i = 0; i < count; i++)
        model.at[i] = PSEC_NEVER;
    for (unsigned turn = 0; turn < turns; turn++) {
        for (uint64_t sets = rng_below(&rng, 6); sets > 0; sets--) {
            uint32_t channel = (uint32_t)rng_below(&rng, count);
            psec at = moment(&rng, &model);
            model.at[channel] = at;
            engine_set(engine, channel, at);
            assert_true(engine_at(engine, channel) == at);
        }
        if (turn % 64 == 0)
            engine_check(engine);
        psec until = rng_below(&rng, 4) ? PSEC_NEVER : plus(model.now, rng_below(&rng, 100000000));
        if (until == PSEC_NEVER && rng_below(&rng, 100)) /* or the far future is used up too soon */
            until = plus(model.now, 1000000000);
        uint32_t expected = 0, found = 0;
        bool due = model_next(&model, until, &expected);
        assert_true(engine_next(engine, until, &found) == due);
        if (due)
            assert_int_equal(found, expected);
        assert_true(engine_now(engine) == model.now);
        if (model.now == PSEC_NEVER)
            break;
    }
    engine_check(engine);
    engine_close(engine);
}

static void random_schedules_match_the_model(void **state)
{
    print_message("# seeds 1 to 60\n");
    for (uint64_t seed = 1; seed <= 60; seed++)
        compare(seed, seed % 3 ? 1 + (uint32_t)seed * 5 : 3, 1500);
}

static void equal_moments_come_by_channel_in_any_order_of_setting(void **state)
{
    enum { COUNT = 3000 };
    uint32_t order[COUNT];
    struct rng rng = rng_make(7, 0);
    for (psec at = 0; at < 1ull << 50; at = at * 64 + 5) {
        struct engine *engine;
        uint32_t channel;
        assert_int_equal(engine_open(&engine, COUNT, NULL), OK);
        for (uint32_t i = 0; i < COUNT; i++)
            order[i] = i;
        rng_shuffle(&rng, order, COUNT);
        for (uint32_t i = 0; i < COUNT; i++)
            engine_set(engine, order[i], at);
        for (uint32_t i = 0; i < COUNT; i++) {
            assert_true(engine_next(engine, PSEC_NEVER, &channel));
            assert_int_equal(channel, i);
            assert_true(engine_now(engine) == at);
        }
        assert_false(engine_next(engine, PSEC_NEVER, &channel));
        engine_close(engine);
    }
}

static void an_event_exactly_at_the_limit_is_not_due(void **state)
{
    struct engine *engine;
    uint32_t channel = 9;
    assert_int_equal(engine_open(&engine, 2, NULL), OK);
    engine_set(engine, 1, 1000);
    assert_false(engine_next(engine, 1000, &channel));
    assert_true(engine_now(engine) == 1000);
    engine_set(engine, 0, 1000); /* the current moment is allowed */
    assert_true(engine_next(engine, 1001, &channel));
    assert_int_equal(channel, 0);
    engine_set(engine, 0, 1000); /* again, at the same moment */
    assert_true(engine_next(engine, 1001, &channel));
    assert_int_equal(channel, 0);
    assert_true(engine_next(engine, 1001, &channel));
    assert_int_equal(channel, 1);
    engine_close(engine);
}

/* A call that found nothing must not move the cursor past channels that are set afterwards. */
static void a_channel_set_after_an_empty_call_is_not_lost(void **state)
{
    struct engine *engine;
    uint32_t channel = 9;
    assert_int_equal(engine_open(&engine, 2, NULL), OK);
    engine_set(engine, 1, 1ull << 40);
    assert_false(engine_next(engine, 1ull << 30, &channel));
    engine_set(engine, 0, (1ull << 30) + 1);
    engine_check(engine);
    assert_true(engine_next(engine, PSEC_NEVER, &channel));
    assert_int_equal(channel, 0);
    engine_set(engine, 1, PSEC_NEVER);
    assert_false(engine_next(engine, PSEC_NEVER - 1, &channel));
    engine_close(engine);
}

TEST_MAIN(TEST(random_schedules_match_the_model),
          TEST(equal_moments_come_by_channel_in_any_order_of_setting),
          TEST(an_event_exactly_at_the_limit_is_not_due),
          TEST(a_channel_set_after_an_empty_call_is_not_lost))
