/* A server of a simulated store is drained while a client writes: it ends without groups, no value
 * is lost, and at no moment does a group have fewer copies than it should. A planted bug shows that
 * the test would notice. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/test.h"
#include "node/configuration/configuration.h"
#include "node/test_plan.h"
#include "services/store/planted.h"
#include "services/store/service/store.h"
#include "sim/chaos/chaos.h"
#include "wire/care.h"
#include "wire/store.h"

#define MILLI   INT64_C(1000000)
#define CLIENT  78
#define KEYS    40
#define COPIES  3
#define GROUPS  16
#define DRAINED 4
#define ORDER   2000 /* milliseconds of the steady phase */
#define UNDO    6000
#define LENGTH  10000
#define ORDERED UINT64_C(1000000) /* tickets of orders are above */

static struct {
    int64_t began, client;
    uint32_t number, answered;
    uint64_t least; /* copies of a group, ever */
    bool empty;     /* the server had no groups before the order was taken back */
} run;

static int64_t millis(const struct weft_simulation *simulation)
{
    return (weft_sim_now(simulation) - run.began) / MILLI;
}

static void put(struct weft_simulation *simulation)
{
    uint8_t bytes[512];
    char key[16];
    int size = snprintf(key, sizeof key, "key %u", run.number % KEYS);
    const struct store_request request = {.op = STORE_PUT,
                                          .client = CLIENT,
                                          .number = ++run.number,
                                          .patience = 3000 * MILLI,
                                          .key = key,
                                          .key_size = (uint32_t)size,
                                          .value = key,
                                          .value_size = (uint32_t)size};
    bytes[0] = STORE_CALL_REQUEST;
    size_t written = 1 + store_request_write(&request, bytes + 1, sizeof bytes - 1);
    int result = weft_sim_send(simulation, (uint32_t)run.client, store_service.name, run.number,
                               bytes, (uint32_t)written);
    assert(result == 0);
}

static void order(struct weft_simulation *simulation, enum care_duty duty)
{
    uint8_t bytes[1 + CARE_ANSWER_MAX] = {STORE_CALL_CARE};
    const struct care_request request = {
        .kind = CARE_ORDER, .patience = 100 * MILLI, .server = DRAINED, .duty = duty};
    size_t size = 1 + care_request_write(&request, bytes + 1);
    int result = weft_sim_send(simulation, (uint32_t)run.client, store_service.name, ORDERED + duty,
                               bytes, (uint32_t)size);
    assert(result == 0);
}

static uint64_t stat(const struct weft_simulation *simulation, weft_server server, const char *name)
{
    uint64_t value = 0;
    int result = weft_sim_stat(simulation, server, store_service.name, name, &value);
    assert(result == 0);
    return value;
}

static void look(struct weft_simulation *simulation)
{
    for (weft_server i = 0; i < weft_sim_server_count(simulation); i++) {
        uint64_t least = stat(simulation, i, "copies_least");
        if (least && least < run.least)
            run.least = least;
    }
    if (run.least < COPIES)
        weft_sim_fail(simulation, "a group has %u copies", (unsigned)run.least);
    if (millis(simulation) > ORDER && millis(simulation) < UNDO)
        run.empty |= stat(simulation, DRAINED, "groups_held") == 0;
}

static void timer(struct weft_simulation *simulation, uint64_t cookie)
{
    int64_t at = millis(simulation);
    if (at < LENGTH - 1000)
        put(simulation);
    if (at >= 1000)
        look(simulation);
    if (cookie == ORDER || cookie == UNDO)
        order(simulation, cookie == ORDER ? CARE_DRAINS : CARE_KEEPS);
    (void)!weft_sim_timer(simulation, run.began + (int64_t)(cookie + 5) * MILLI, cookie + 5);
}

static void phase(struct weft_simulation *simulation, enum weft_sim_phase phase)
{
    if (phase != WEFT_SIM_STEADY)
        return;
    run.began = weft_sim_now(simulation);
    run.client = weft_sim_client(simulation, 0);
    assert(run.client >= 0);
    (void)!weft_sim_timer(simulation, run.began, 0);
}

static void answer(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                   const void *bytes, uint32_t size)
{
    struct store_answer said;
    struct care_report report;
    struct care_end end = {0};
    if (ticket < ORDERED) {
        run.answered++;
        if (!store_answer_read(&said, bytes, size) || said.status != STORE_DONE)
            weft_sim_fail(simulation, "put %u: %s", (unsigned)ticket,
                          store_status_text(said.status));
    } else if (care_answer_read(&report, &end, bytes, size) == CARE_NONSENSE || end.error) {
        weft_sim_fail(simulation, "the order is refused: %d", end.error);
    }
}

static void finish(struct weft_simulation *simulation)
{
    uint64_t held = 0;
    for (weft_server i = 0; i < weft_sim_server_count(simulation); i++)
        held += stat(simulation, i, "groups_held");
    if (!run.empty)
        weft_sim_fail(simulation, "the drained server keeps groups");
    else if (held != GROUPS * COPIES || stat(simulation, DRAINED, "groups_held") == 0)
        weft_sim_fail(simulation, "after all, %u copies are in sync", (unsigned)held);
    else if (run.answered != run.number)
        weft_sim_fail(simulation, "%u of %u requests are answered", run.answered, run.number);
}

static const struct weft_checker_ops ops = {
    .timer = timer, .phase = phase, .answer = answer, .finish = finish};
static const struct weft_checker checker = {.version = WEFT_SIMULATION_VERSION,
                                            .name = "drain",
                                            .steady_nsec = LENGTH * MILLI,
                                            .ops = &ops};

/* Returns whether the checker found something wrong. */
static bool fails(uint64_t seed, char *text, size_t room)
{
    static const struct weft_service *const services[] = {&store_service, NULL};
    static const char *const words[] = {"store.segment=512K", "store.group_count=16",
                                        "store.recover=1h"};
    struct configuration configuration = {0};
    struct test_plan test;
    struct why why;
    test_plan_open(&test, "torus:3x3");
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(configuration_add(&configuration, "test", words[i], &why), OK);
    const struct chaos_settings settings = {&test.plan, seed, 0, 0};
    const struct chaos_guests guests = {
        .services = services, .apart = true, .configuration = &configuration, .checker = &checker};
    struct chaos_result result;
    memset(&run, 0, sizeof run);
    run.least = COPIES;
    assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
    snprintf(text, room, "%s", result.checker ? result.text : "");
    configuration_fini(&configuration);
    test_plan_close(&test);
    return result.checker != NULL;
}

static void a_drained_server_has_no_groups_and_copies_never_become_fewer(void **state)
{
    char text[256];
    for (uint64_t seed = 1; seed <= 3; seed++)
        if (fails(seed, text, sizeof text))
            fail_msg("seed %" PRIu64 ": %s", seed, text);
}

static void a_copy_that_is_given_up_too_early_is_noticed(void **state)
{
    char text[256];
    store_bugs = UINT64_C(1) << STORE_DRAIN_EARLY;
    bool noticed = fails(1, text, sizeof text);
    store_bugs = 0;
    assert_true(noticed);
    assert_non_null(strstr(text, "copies"));
}

TEST_MAIN(TEST(a_drained_server_has_no_groups_and_copies_never_become_fewer),
          TEST(a_copy_that_is_given_up_too_early_is_noticed))
