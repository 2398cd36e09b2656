/* Tests what a checker sees of a world: answers and timers at their moments, clients, servers,
 * faults, failures and the history. */
#include "sim/world/simulation.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "node/test_plan.h"

#define MSEC 1000000

/* ---- a service that answers: "now" at once, "later" after a millisecond, "gone" never ---- */

struct speaker {
    uint64_t client, ticket;
    uint64_t left; /* clients that have disconnected */
};

static void speaker_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    struct speaker *speaker = weft_memory(self);
    if (size == 3 && memcmp(bytes, "now", 3) == 0) {
        assert_int_equal(weft_answer(self, client, ticket, "yes", 3), 0);
        return;
    }
    speaker->client = client;
    speaker->ticket = ticket;
    (void)weft_timer(self, weft_now(self) + MSEC, 0);
}

static void speaker_timer(struct weft_self *self, uint64_t cookie)
{
    const struct speaker *speaker = weft_memory(self);
    int wanted = speaker->left ? -EPIPE : 0;
    assert_int_equal(weft_answer(self, speaker->client, speaker->ticket, "late", 4), wanted);
}

static void speaker_gone(struct weft_self *self, uint64_t client)
{
    struct speaker *speaker = weft_memory(self);
    speaker->left++;
}

static void speaker_stats(struct weft_self *self, struct weft_report *report)
{
    const struct speaker *speaker = weft_memory(self);
    weft_stat(report, "left", speaker->left);
}

static const struct weft_service_ops speaker_ops = {.request = speaker_request,
                                                    .timer = speaker_timer,
                                                    .gone = speaker_gone,
                                                    .stats = speaker_stats};
static const struct weft_service speaker_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "speaker",
    .id = 300,
    .size = sizeof(struct speaker),
    .ops = &speaker_ops,
};
static const struct weft_service *const services[] = {&speaker_service, NULL};

/* ---- a world with a checker ---- */

struct scene {
    struct test_plan test;
    struct world *world;
    struct weft_simulation *simulation;
    struct simulation_record *record;
};

static int on_answer(void *context, node_id at, const struct env_answer *to, const void *bytes,
                     uint32_t size)
{
    const struct scene *scene = context;
    return simulation_answer(scene->simulation, to, bytes, size);
}

static void scene_open(struct scene *scene, const struct weft_checker *checker)
{
    struct world_settings settings = WORLD_DEFAULTS;
    *scene = (struct scene){.record = calloc(1, sizeof *scene->record)};
    test_plan_open(&scene->test, "torus:3");
    settings.plan = &scene->test.plan;
    settings.node.services = services;
    settings.settled = true;
    settings.answered = on_answer;
    settings.context = scene;
    assert_non_null(scene->record);
    assert_int_equal(world_open(&scene->world, &settings, NULL), OK);
    const struct simulation_settings simulation = {
        .checker = checker,
        .world = scene->world,
        .services = services,
        .seed = 7,
        .phase = WEFT_SIM_STORM,
        .record = scene->record,
    };
    assert_int_equal(simulation_open(&scene->simulation, &simulation, NULL), OK);
}

static void scene_close(struct scene *scene)
{
    simulation_close(scene->simulation);
    scene->simulation = NULL;
    world_close(scene->world);
    test_plan_close(&scene->test);
    free(scene->record);
}

static void run_to(struct scene *scene, unsigned milliseconds)
{
    simulation_run(scene->simulation, milliseconds * MSEC * PSEC_PER_NSEC);
}

/* ---- answers and timers ---- */

struct seen {
    char calls[200]; /* a word for each */
    uint32_t client;
};

static void seen_add(struct weft_simulation *simulation, const char *word)
{
    struct seen *seen = weft_sim_memory(simulation);
    char text[80];
    snprintf(text, sizeof text, "%s@%lld ", word, (long long)weft_sim_now(simulation) / MSEC);
    assert_true(strlen(seen->calls) + strlen(text) < sizeof seen->calls);
    strcat(seen->calls, text);
}

static int talk_start(struct weft_simulation *simulation)
{
    struct seen *seen = weft_sim_memory(simulation);
    int64_t client = weft_sim_client(simulation, 1);
    assert_int_equal(client, 0);
    assert_int_equal(weft_sim_client(simulation, 3), -EINVAL);
    seen->client = (uint32_t)client;
    assert_int_equal(weft_sim_timer(simulation, 5 * MSEC, 1), 0);
    assert_int_equal(weft_sim_timer(simulation, 2 * MSEC, 2), 0);
    assert_int_equal(weft_sim_timer(simulation, 5 * MSEC, 3), 0);
    assert_int_equal(weft_sim_timer(simulation, -1, 4), 0);
    assert_int_equal(weft_sim_send(simulation, seen->client, "speaker", 9, "now", 3), 0);
    seen_add(simulation, "start");
    return 0;
}

static void talk_answer(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                        const void *bytes, uint32_t size)
{
    char word[40];
    snprintf(word, sizeof word, "%.*s%u/%llu", (int)size, (const char *)bytes, client,
             (unsigned long long)ticket);
    seen_add(simulation, word);
}

static void talk_timer(struct weft_simulation *simulation, uint64_t cookie)
{
    struct seen *seen = weft_sim_memory(simulation);
    char word[8];
    snprintf(word, sizeof word, "t%llu", (unsigned long long)cookie);
    seen_add(simulation, word);
    if (cookie == 2) {
        assert_int_equal(weft_sim_send(simulation, seen->client, "speaker", 10, "later", 5), 0);
        assert_int_equal(weft_sim_send(simulation, seen->client, "other", 1, "x", 1), -ENOENT);
        assert_int_equal(weft_sim_send(simulation, 5, "speaker", 1, "x", 1), -EBADF);
        assert_int_equal(weft_sim_send(simulation, seen->client, "speaker", 1, "x", 65537),
                         -EMSGSIZE);
    }
}

static void talk_down(struct weft_simulation *simulation, weft_server server)
{
    seen_add(simulation, "down");
    assert_false(weft_sim_is_up(simulation, server));
}

static void talk_up(struct weft_simulation *simulation, weft_server server, bool empty)
{
    seen_add(simulation, empty ? "empty" : "up");
    assert_true(weft_sim_is_up(simulation, server));
}

static void talk_phase(struct weft_simulation *simulation, enum weft_sim_phase phase)
{
    seen_add(simulation, phase == WEFT_SIM_CALM ? "calm" : "other");
}

static void talk_finish(struct weft_simulation *simulation)
{
    seen_add(simulation, "finish");
}

static const struct weft_checker_ops talk_ops = {.start = talk_start,
                                                 .answer = talk_answer,
                                                 .timer = talk_timer,
                                                 .down = talk_down,
                                                 .up = talk_up,
                                                 .phase = talk_phase,
                                                 .finish = talk_finish};
static const struct weft_checker talk = {WEFT_SIMULATION_VERSION, "talk", sizeof(struct seen), 0,
                                         &talk_ops};

static void a_checker_is_called_at_the_moments_of_its_events(void **state)
{
    struct scene scene;
    scene_open(&scene, &talk);
    const struct seen *seen = weft_sim_memory(scene.simulation);
    assert_int_equal(simulation_start(scene.simulation, NULL), OK);
    run_to(&scene, 8);
    simulation_finish(scene.simulation);
    simulation_finish(scene.simulation); /* has no effect */
    assert_string_equal(seen->calls, "start@0 yes0/9@0 t4@0 t2@2 late0/10@3 t1@5 t3@5 finish@8 ");
    assert_null(simulation_failed(scene.simulation));
    assert_int_equal(weft_sim_seed(scene.simulation), 7);
    scene_close(&scene);
}

static void answers_of_a_server_that_crashed_are_lost(void **state)
{
    struct scene scene;
    struct why why = {""};
    scene_open(&scene, &talk);
    const struct seen *seen = weft_sim_memory(scene.simulation);
    assert_int_equal(simulation_start(scene.simulation, NULL), OK);
    run_to(&scene, 2); /* the service will answer at 3 */
    world_crash(scene.world, 1);
    simulation_down(scene.simulation, 1);
    assert_int_equal(weft_sim_send(scene.simulation, 0, "speaker", 1, "now", 3), -ECONNREFUSED);
    run_to(&scene, 4);
    assert_int_equal(world_restart(scene.world, 1, &why), OK);
    simulation_up(scene.simulation, 1, true);
    assert_int_equal(weft_sim_send(scene.simulation, 0, "speaker", 11, "now", 3), 0);
    run_to(&scene, 5);
    simulation_phase(scene.simulation, WEFT_SIM_STORM); /* it is the storm already */
    simulation_phase(scene.simulation, WEFT_SIM_CALM);
    assert_string_equal(seen->calls,
                        "start@0 yes0/9@0 t4@0 t2@2 down@2 empty@4 yes0/11@4 t1@5 t3@5 calm@5 ");
    assert_non_null(strstr(scene.record->history, "server 1 is down\n"));
    assert_non_null(strstr(scene.record->history, "with an empty disk\n"));
    scene_close(&scene);
}

static void a_paused_server_gets_what_its_programs_did_when_it_goes_on(void **state)
{
    struct scene scene;
    uint64_t left = 0;
    scene_open(&scene, &talk);
    const struct seen *seen = weft_sim_memory(scene.simulation);
    assert_int_equal(weft_sim_client(scene.simulation, 1), 0);
    run_to(&scene, 1);
    world_pause(scene.world, 1, true);
    assert_true(weft_sim_is_paused(scene.simulation, 1));
    assert_int_equal(weft_sim_send(scene.simulation, 0, "speaker", 12, "later", 5), 0);
    assert_int_equal(weft_sim_close(scene.simulation, 0), 0);
    assert_int_equal(weft_sim_close(scene.simulation, 0), -EBADF);
    assert_int_equal(weft_sim_stat(scene.simulation, 1, "speaker", "left", &left), 0);
    assert_int_equal(left, 0);
    world_pause(scene.world, 1, false);
    assert_int_equal(weft_sim_stat(scene.simulation, 1, "speaker", "left", &left), 0);
    assert_int_equal(left, 1);
    assert_int_equal(weft_sim_stat(scene.simulation, 1, "speaker", "right", &left), -ENOENT);
    run_to(&scene, 2); /* the service asserts that its answer is refused */
    run_to(&scene, 3);
    assert_null(strstr(seen->calls, "late"));
    scene_close(&scene);
}

/* ---- servers ---- */

static void a_checker_sees_the_root_of_a_key(void **state)
{
    struct scene scene;
    scene_open(&scene, &talk);
    run_to(&scene, 1);
    for (unsigned i = 0; i < 20; i++) {
        struct weft_key key = weft_key_of(&i, sizeof i);
        unsigned roots = 0;
        for (weft_server server = 0; server < weft_sim_server_count(scene.simulation); server++)
            roots += weft_sim_is_root(scene.simulation, server, &key);
        assert_int_equal(roots, 1);
        assert_false(weft_sim_is_root(scene.simulation, 3, &key));
    }
    assert_true(weft_sim_reaches(scene.simulation, 0, 2));
    assert_false(weft_sim_reaches(scene.simulation, 0, 3));
    world_crash(scene.world, 2);
    assert_false(weft_sim_reaches(scene.simulation, 2, 0));
    uint64_t value;
    assert_int_equal(weft_sim_stat(scene.simulation, 2, "speaker", "left", &value), -ECONNREFUSED);
    scene_close(&scene);
}

/* ---- failures ---- */

static void fail_timer(struct weft_simulation *simulation, uint64_t cookie)
{
    weft_sim_fail(simulation, "wrong %d", (int)cookie);
    weft_sim_fail(simulation, "second");
}

static int fail_start(struct weft_simulation *simulation)
{
    assert_int_equal(weft_sim_timer(simulation, 3 * MSEC, 17), 0);
    return weft_sim_timer(simulation, 4 * MSEC, 18);
}

static const struct weft_checker_ops fail_ops = {.start = fail_start, .timer = fail_timer};
static const struct weft_checker fails = {WEFT_SIMULATION_VERSION, "fails", 0, 0, &fail_ops};

static void the_first_failure_ends_the_run(void **state)
{
    struct scene scene;
    scene_open(&scene, &fails);
    assert_int_equal(simulation_start(scene.simulation, NULL), OK);
    run_to(&scene, 10);
    const struct simulation_failure *failure = simulation_failed(scene.simulation);
    assert_non_null(failure);
    assert_string_equal(failure->text, "wrong 17");
    assert_int_equal(failure->at, 3 * MSEC * PSEC_PER_NSEC);
    assert_true(world_now(scene.world) == failure->at);
    assert_non_null(strstr(scene.record->history, "failed: wrong 17\n"));
    scene_close(&scene);
}

static void spin_timer(struct weft_simulation *simulation, uint64_t cookie)
{
    (void)weft_sim_timer(simulation, 0, cookie);
}

static const struct weft_checker_ops spin_ops = {.start = fail_start, .timer = spin_timer};
static const struct weft_checker spins = {WEFT_SIMULATION_VERSION, "spins", 0, 0, &spin_ops};

static void a_checker_that_never_lets_time_pass_fails(void **state)
{
    struct scene scene;
    scene_open(&scene, &spins);
    assert_int_equal(simulation_start(scene.simulation, NULL), OK);
    run_to(&scene, 10);
    assert_non_null(simulation_failed(scene.simulation));
    assert_non_null(strstr(simulation_failed(scene.simulation)->text, "without end"));
    scene_close(&scene);
}

static int refuse_start(struct weft_simulation *simulation)
{
    return -ENOENT;
}

static const struct weft_checker_ops refuse_ops = {.start = refuse_start};
static const struct weft_checker refuses = {WEFT_SIMULATION_VERSION, "refuses", 0, 0, &refuse_ops};
static const struct weft_checker greedy = {WEFT_SIMULATION_VERSION, "greedy", UINT64_MAX / 2, 0,
                                           &refuse_ops};

static void a_checker_that_cannot_start_is_named(void **state)
{
    struct scene scene;
    struct why why = {""};
    scene_open(&scene, &refuses);
    assert_int_equal(simulation_start(scene.simulation, &why), ERR_USAGE);
    assert_non_null(strstr(why.text, "checker refuses: start() returned -2"));
    struct weft_simulation *none = NULL;
    const struct simulation_settings settings = {.checker = &greedy, .world = scene.world};
    assert_int_equal(simulation_open(&none, &settings, &why), ERR_MEMORY);
    assert_non_null(strstr(why.text, "greedy"));
    scene_close(&scene);
}

static void a_history_that_is_full_counts_further_lines(void **state)
{
    struct scene scene;
    char line[300];
    scene_open(&scene, &fails);
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\0';
    for (unsigned i = 0; i < 5000; i++)
        weft_sim_record(scene.simulation, "%s", line);
    assert_true(scene.record->size <= SIMULATION_HISTORY_SIZE);
    assert_true(scene.record->lines_out > 1000 && scene.record->lines_out < 5000);
    assert_int_equal(scene.record->history[scene.record->size - 1], '\n');
    scene_close(&scene);
}

TEST_MAIN(TEST(a_checker_is_called_at_the_moments_of_its_events),
          TEST(answers_of_a_server_that_crashed_are_lost),
          TEST(a_paused_server_gets_what_its_programs_did_when_it_goes_on),
          TEST(a_checker_sees_the_root_of_a_key), TEST(the_first_failure_ends_the_run),
          TEST(a_checker_that_never_lets_time_pass_fails),
          TEST(a_checker_that_cannot_start_is_named),
          TEST(a_history_that_is_full_counts_further_lines))
