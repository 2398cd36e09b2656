/* A few requests to a simulated store in which nothing fails, at given moments: what the clients of
 * sim-store do not draw, or would not notice among many others. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/test.h"
#include "node/configuration/configuration.h"
#include "node/test_plan.h"
#include "services/store/service/store.h"
#include "sim/chaos/chaos.h"
#include "wire/store.h"

#define MILLI     INT64_C(1000000)
#define STEPS_MAX 9
#define CLIENT    77 /* numbers its requests by itself */

/* A request on the one key, and what must be answered. */
struct step {
    int64_t at, within; /* milliseconds of the steady phase */
    enum store_op op;
    uint32_t number, value_size;
    bool again;
    enum store_status status;
    int64_t ttl; /* milliseconds */
    int64_t
        left; /* of the time to live that is answered: at most so many, and half of it or more */
    enum store_condition condition;
};

static struct {
    const struct step *steps;
    uint32_t count, answered;
    uint64_t expired; /* keys that the servers must have removed */
    int64_t began;    /* the steady phase */
    int64_t client;
} script;

static void send(struct weft_simulation *simulation, uint32_t number)
{
    static uint8_t bytes[WEFT_MESSAGE_MAX], value[STORE_SINGLE_MAX];
    const struct step *step = &script.steps[number];
    const struct store_request request = {
        .op = step->op,
        .condition = step->condition,
        .ttl = (uint64_t)(step->ttl * MILLI),
        .again = step->again,
        .client = CLIENT,
        .number = step->number,
        .patience = 3000 * MILLI,
        .key = "key",
        .key_size = 3,
        .value = value,
        .value_size = step->value_size,
    };
    bytes[0] = STORE_CALL_REQUEST;
    size_t size = 1 + store_request_write(&request, bytes + 1, sizeof bytes - 1);
    assert(size > 1);
    int result = weft_sim_send(simulation, (uint32_t)script.client, store_service.name, 1 + number,
                               bytes, (uint32_t)size);
    assert(result == 0);
}

static void timer(struct weft_simulation *simulation, uint64_t cookie)
{
    send(simulation, (uint32_t)cookie);
}

static void phase(struct weft_simulation *simulation, enum weft_sim_phase phase)
{
    if (phase != WEFT_SIM_STEADY)
        return;
    script.began = weft_sim_now(simulation);
    script.client = weft_sim_client(simulation, 0);
    assert(script.client >= 0);
    for (uint32_t i = 0; i < script.count; i++) {
        int result = weft_sim_timer(simulation, script.began + script.steps[i].at * MILLI, i);
        assert(result == 0);
    }
}

static void answer(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                   const void *bytes, uint32_t size)
{
    struct store_answer said;
    const struct step *step = &script.steps[ticket - 1];
    int64_t took = (weft_sim_now(simulation) - script.began) / MILLI - step->at;
    script.answered++;
    if (!store_answer_read(&said, bytes, size))
        weft_sim_fail(simulation, "step %u: the answer is malformed", (unsigned)ticket - 1);
    else if ((int64_t)said.ttl > step->left * MILLI || (int64_t)said.ttl < step->left / 2 * MILLI)
        weft_sim_fail(simulation, "step %u: %u ms are left", (unsigned)ticket - 1,
                      (unsigned)(said.ttl / MILLI));
    else if (said.status != step->status || took > step->within)
        weft_sim_fail(simulation, "step %u: %s, after %u ms", (unsigned)ticket - 1,
                      store_status_text(said.status), (unsigned)took);
}

static void finish(struct weft_simulation *simulation)
{
    if (script.answered != script.count)
        weft_sim_fail(simulation, "%u of %u steps are answered", script.answered, script.count);
    uint64_t expired = 0;
    for (uint32_t i = 0; i < weft_sim_server_count(simulation); i++) {
        uint64_t count = 0;
        int result = weft_sim_stat(simulation, i, store_service.name, "expired", &count);
        assert(result == 0);
        expired += count;
    }
    if (expired != script.expired)
        weft_sim_fail(simulation, "%u keys were removed", (unsigned)expired);
}

static const struct weft_checker_ops ops = {
    .timer = timer, .phase = phase, .answer = answer, .finish = finish};

static const struct weft_checker checker = {.version = WEFT_SIMULATION_VERSION,
                                            .name = "script",
                                            .steady_nsec = 10000 * MILLI,
                                            .ops = &ops};

/* On three servers, some of which lead the group of the key: the seed decides. */
static void play(const struct step *steps, uint32_t count, uint64_t expired)
{
    static const struct weft_service *const services[] = {&store_service, NULL};
    struct configuration configuration = {0};
    struct test_plan test;
    struct why why;
    test_plan_open(&test, "torus:3");
    assert_int_equal(configuration_add(&configuration, "test", "store.segment=256K", &why), OK);
    for (uint64_t seed = 1; seed <= 5; seed++) {
        const struct chaos_settings settings = {&test.plan, seed, 0, 0};
        const struct chaos_guests guests = {.services = services,
                                            .apart = true,
                                            .configuration = &configuration,
                                            .checker = &checker};
        struct chaos_result result;
        memset(&script, 0, sizeof script);
        script.steps = steps;
        script.count = count;
        script.expired = expired;
        assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
        if (result.checker)
            fail_msg("seed %" PRIu64 ": %s: %s", seed, result.checker, result.text);
    }
    configuration_fini(&configuration);
    test_plan_close(&test);
}

#define PLAY(steps, expired) play(steps, sizeof(steps) / sizeof *(steps), expired)

/* Nothing else happens in the group that would make the store look at what waits. */
static void a_request_goes_on_when_the_one_before_it_is_refused(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 500, STORE_PUT, 1, 60000, false, .status = STORE_DONE},
        {200, 400, STORE_APPEND, 2, 60000, false, .status = STORE_DONE},
        {400, 400, STORE_APPEND, 3, 60000, false, .status = STORE_DONE},
        {600, 400, STORE_APPEND, 4, 60000, false, .status = STORE_DONE},
        {1000, 400, STORE_APPEND, 5, 20000, false, .status = STORE_TOO_LARGE},
        {1000, 400, STORE_PUT, 6, 10, false, .status = STORE_DONE},
    };
    PLAY(steps, 0);
}

/* The second copy of number 5 finds a value that has room; but its program was told that nothing
 * was done. */
static void a_refused_request_is_refused_again(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 500, STORE_PUT, 1, 60000, false, .status = STORE_DONE},
        {200, 400, STORE_APPEND, 2, 60000, false, .status = STORE_DONE},
        {400, 400, STORE_PREPEND, 3, 60000, false, .status = STORE_DONE},
        {600, 400, STORE_APPEND, 4, 60000, false, .status = STORE_DONE},
        {1000, 400, STORE_APPEND, 5, 20000, false, .status = STORE_TOO_LARGE},
        {2000, 400, STORE_INCR, 6, 0, false, .status = STORE_NOT_NUMBER},
        {3000, 400, STORE_PUT, 7, 0, false, .status = STORE_DONE},
        {4000, 400, STORE_APPEND, 5, 20000, true, .status = STORE_TOO_LARGE},
        {5000, 400, STORE_INCR, 6, 0, true, .status = STORE_NOT_NUMBER},
    };
    PLAY(steps, 0);
}

/* Each of these requests finds that the key is gone, and only one removal was needed. */
static void a_key_that_has_expired_is_absent(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 400, STORE_PUT, 1, 10, false, .status = STORE_DONE, .ttl = 1000},
        {500, 400, STORE_GET, 2, 0, false, .status = STORE_DONE, .left = 900},
        {1500, 400, STORE_GET, 3, 0, false, .status = STORE_ABSENT},
        {2000, 400, STORE_TOUCH, 4, 0, false, .status = STORE_ABSENT, .ttl = 1000},
        {2000, 400, STORE_APPEND, 5, 10, false, .status = STORE_ABSENT},
        {2000, 400, STORE_INCR, 6, 0, false, .status = STORE_ABSENT},
        {2000, 400, STORE_DELETE, 7, 0, false, .status = STORE_ABSENT},
        {2000, 400, STORE_PUT, 8, 10, false, .status = STORE_CONFLICT,
         .condition = STORE_IF_PRESENT},
        {3000, 400, STORE_PUT, 9, 10, false, .status = STORE_DONE, .condition = STORE_IF_ABSENT},
        {6000, 400, STORE_GET, 10, 0, false, .status = STORE_DONE},
    };
    PLAY(steps, 1);
}

/* No request asks for the key after that. */
static void a_key_that_has_expired_is_removed(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 400, STORE_PUT, 1, 10, false, .status = STORE_DONE, .ttl = 1000},
    };
    PLAY(steps, 1);
}

/* The one that is removed is the last one. */
static void a_put_has_its_own_time_to_live(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 400, STORE_PUT, 1, 10, false, .status = STORE_DONE, .ttl = 1000},
        {500, 400, STORE_PUT, 2, 10, false, .status = STORE_DONE, .ttl = 5000},
        {2000, 400, STORE_GET, 3, 0, false, .status = STORE_DONE, .left = 3900},
        {2500, 400, STORE_PUT, 4, 10, false, .status = STORE_DONE},
        {6500, 400, STORE_GET, 5, 0, false, .status = STORE_DONE},
        {7000, 400, STORE_PUT, 6, 10, false, .status = STORE_DONE, .ttl = 500},
        {8500, 400, STORE_GET, 7, 0, false, .status = STORE_ABSENT},
    };
    PLAY(steps, 1);
}

static void a_touch_sets_the_time_and_other_changes_keep_it(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 400, STORE_PUT, 1, 10, false, .status = STORE_DONE},
        {500, 400, STORE_TOUCH, 2, 0, false, .status = STORE_DONE, .ttl = 5000},
        {1000, 400, STORE_APPEND, 3, 10, false, .status = STORE_DONE},
        {1500, 400, STORE_GET, 4, 0, false, .status = STORE_DONE, .left = 4400},
        {2500, 400, STORE_TOUCH, 2, 0, true, .status = STORE_DONE, .ttl = 5000}, /* comes again */
        {3500, 400, STORE_GET, 5, 0, false, .status = STORE_DONE, .left = 2400},
        {4000, 400, STORE_TOUCH, 6, 0, false, .status = STORE_DONE},
        {7000, 400, STORE_GET, 7, 0, false, .status = STORE_DONE},
        {7500, 400, STORE_TOUCH, 8, 0, false, .status = STORE_DONE, .ttl = 500},
        {8500, 400, STORE_GET, 9, 0, false, .status = STORE_ABSENT},
    };
    PLAY(steps, 1);
}

static void a_put_that_comes_again_after_its_key_expired_puts_nothing(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {0, 400, STORE_PUT, 1, 10, false, .status = STORE_DONE, .ttl = 500},
        {1000, 400, STORE_GET, 2, 0, false, .status = STORE_ABSENT},
        {2000, 400, STORE_PUT, 1, 10, true, .status = STORE_DONE, .ttl = 500},
        {2100, 300, STORE_GET, 3, 0, false, .status = STORE_ABSENT},
    };
    PLAY(steps, 1);
}

TEST_MAIN(TEST(a_request_goes_on_when_the_one_before_it_is_refused),
          TEST(a_refused_request_is_refused_again), TEST(a_key_that_has_expired_is_absent),
          TEST(a_key_that_has_expired_is_removed), TEST(a_put_has_its_own_time_to_live),
          TEST(a_touch_sets_the_time_and_other_changes_keep_it),
          TEST(a_put_that_comes_again_after_its_key_expired_puts_nothing))
