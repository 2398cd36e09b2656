/* Services that run functions beside their node, in simulated time: the example of the guide, on
 * servers that crash and pause; and a service with a race, which some seeds must find. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/work.h>

#include "base/rng.h"
#include "base/test.h"
#include "sim/world/world.h"

#define SERVERS 3
#define PRIMES  259
#define RACER   300
#define SEEDS   100
#define MICRO   (PSEC_PER_SECOND / 1000000)
#define MILLI   (PSEC_PER_SECOND / 1000)

extern const struct weft_service weft_service; /* of examples/primes.c */

/* ---- a service with a race ---- */

static bool races; /* set by the test */

struct racer {
    struct weft_call call;
    uint64_t client;
    int64_t number;
};

static int64_t twice(const struct weft_work *work, void *argument)
{
    return 2 * ((struct racer *)argument)->number;
}

static void doubled(struct weft_self *self, struct weft_call *call)
{
    struct racer *racer = (struct racer *)call;
    weft_answer(self, racer->client, 1, &call->result, sizeof call->result);
}

static void racer_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct racer *racer = weft_memory(self);
    racer->call.done = doubled;
    racer->client = client;
    racer->number = 4;
    assert_int_equal(weft_work_run(self, &racer->call, twice, racer, 1000), 0);
    if (races)
        racer->number = 5; /* the function may have read it already, or not */
}

static const struct weft_service_ops racer_ops = {.request = racer_request};
static const struct weft_service racer_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "racer",
    .id = RACER,
    .size = sizeof(struct racer),
    .work = 1,
    .ops = &racer_ops,
};

/* ---- worlds ---- */

static const struct weft_service *const services[] = {&weft_service, &racer_service, NULL};

struct scene {
    struct topology topology;
    struct plan plan;
    struct world *world;
    unsigned answers, wrong, busy;
    int pending[SERVERS]; /* requests that are not answered */
    int64_t last;
};

static uint64_t divisor_of(uint64_t number)
{
    for (uint64_t divisor = 2; divisor * divisor <= number; divisor++)
        if (number % divisor == 0)
            return divisor;
    return 1;
}

/* A program's number is the number that it asked about. */
static void answered(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct scene *scene = context;
    char text[32] = "", expected[32] = "prime";
    scene->answers++;
    scene->pending[at]--;
    if (size == sizeof scene->last && client == UINT64_MAX) {
        memcpy(&scene->last, bytes, size);
        return;
    }
    assert_true(size < sizeof text);
    memcpy(text, bytes, size);
    if (divisor_of(client) > 1)
        snprintf(expected, sizeof expected, "%" PRIu64, divisor_of(client));
    scene->busy += !strcmp(text, "busy");
    scene->wrong += strcmp(text, "busy") != 0 && strcmp(text, expected) != 0;
}

static void scene_open(struct scene *scene, uint64_t seed)
{
    struct why why = {0};
    struct world_settings settings = WORLD_DEFAULTS;
    memset(scene, 0, sizeof *scene);
    assert_int_equal(topology_build(&scene->topology, "torus:3", &why), OK);
    assert_int_equal(plan_init(&scene->plan, &scene->topology, &why), OK);
    settings.plan = &scene->plan;
    settings.node.services = services;
    settings.seed = seed;
    settings.settled = true;
    settings.answer = answered;
    settings.context = scene;
    assert_int_equal(world_open(&scene->world, &settings, &why), OK);
}

static void scene_close(struct scene *scene)
{
    world_close(scene->world);
    plan_fini(&scene->plan);
    topology_fini(&scene->topology);
}

static void ask(struct scene *scene, node_id id, uint64_t number)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%" PRIu64, number);
    scene->pending[id]++;
    assert_int_equal(world_request(scene->world, id, PRIMES, number, text, (uint32_t)size), 0);
}

/* One run with faults; returns the hash of all events. */
static uint64_t run(uint64_t seed, unsigned *answers, unsigned *lost)
{
    struct scene scene;
    struct why why = {0};
    struct rng rng = rng_make(seed, 77);
    scene_open(&scene, seed);
    for (unsigned i = 0; i < 400; i++) {
        node_id id = (node_id)rng_below(&rng, SERVERS);
        bool up = world_node(scene.world, id) != NULL;
        uint64_t action = rng_below(&rng, 40);
        if (action == 0 && up) {
            world_crash(scene.world, id);
            *lost += (unsigned)scene.pending[id];
            scene.pending[id] = 0;
        } else if (!up) {
            assert_int_equal(world_restart(scene.world, id, &why), OK);
        } else if (action < 3) {
            world_pause(scene.world, id, action == 1);
        } else {
            ask(&scene, id, 2 + rng_below(&rng, 1000000));
        }
        world_run(scene.world, world_now(scene.world) + rng_below(&rng, 4000) * MICRO);
    }
    for (node_id id = 0; id < SERVERS; id++)
        world_pause(scene.world, id, false);
    world_run(scene.world, world_now(scene.world) + PSEC_PER_SECOND); /* longer than any function */
    uint64_t hash = world_hash(scene.world);
    if (scene.wrong)
        fail_msg("seed %u: %u wrong answers", (unsigned)seed, scene.wrong);
    *answers += scene.answers;
    for (node_id id = 0; id < SERVERS; id++)
        assert_int_equal(scene.pending[id], 0); /* only crashes lose requests */
    scene_close(&scene);
    return hash;
}

static void answers_are_right_and_a_seed_repeats_them(void **state)
{
    unsigned answers = 0, lost = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t first = run(seed, &answers, &lost);
        if (seed % 10 == 0)
            assert_true(run(seed, &answers, &lost) == first);
    }
    print_message("# %u seeds, %u answers, %u lost by crashes\n", SEEDS, answers, lost);
    assert_true(answers > 200 * SEEDS && lost > SEEDS);
}

static int64_t race(uint64_t seed)
{
    struct scene scene;
    scene_open(&scene, seed);
    assert_int_equal(world_request(scene.world, 0, RACER, UINT64_MAX, "", 0), 0);
    assert_int_equal(scene.answers, 0);
    world_run(scene.world, world_now(scene.world) + MILLI);
    assert_int_equal(scene.answers, 1);
    int64_t result = scene.last;
    scene_close(&scene);
    return result;
}

static void some_seeds_find_a_race(void **state)
{
    unsigned found = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        races = false;
        assert_int_equal(race(seed), 8);
        races = true;
        found += race(seed) != 8;
    }
    print_message("# found by %u of %u seeds\n", found, SEEDS);
    assert_true(found > SEEDS / 4 && found < 3 * SEEDS / 4);
}

TEST_MAIN(TEST(answers_are_right_and_a_seed_repeats_them), TEST(some_seeds_find_a_race))
