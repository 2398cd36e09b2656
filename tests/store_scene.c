#include "store_scene.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/test.h"
#include "node/test_plan.h"
#include "services/store/service/store.h"

struct scene_state scene;
static struct configuration configuration;
static struct test_plan test;

/* ---- the world ---- */

static int answered(void *context, node_id at, const struct env_answer *to, const void *bytes,
                    uint32_t size)
{
    if (scene.blocked) {
        scene.full_server = at;
        scene.full = *to;
        return -EAGAIN;
    }
    return scene.simulation ? simulation_answer(scene.simulation, to, bytes, size) : 0;
}

static void answer(struct weft_simulation *simulation, uint32_t client, uint64_t ticket,
                   const void *bytes, uint32_t size)
{
    scene.answers[ticket].count++;
    scene.answers[ticket].is_answer = store_answer_read(&scene.answers[ticket].said, bytes, size);
}

static const struct weft_checker_ops ops = {.answer = answer};
static const struct weft_checker checker = {
    .version = WEFT_SIMULATION_VERSION, .name = "scene", .ops = &ops};
static const struct weft_service *const services[] = {&store_service, NULL};

static void world_make(uint64_t seed)
{
    struct world_settings world = WORLD_DEFAULTS;
    world.plan = &test.plan;
    world.node.services = services;
    world.node.configuration = &configuration;
    world.seed = seed;
    world.settled = true;
    world.answered = answered;
    world.disk = (struct disk_settings){.size = 64 << 20, .delay = SCENE_MILLI, .lost = DISK_PARTS};
    assert_int_equal(world_open(&scene.world, &world, NULL), OK);
}

void scene_open(uint64_t seed, const char *const *words, uint64_t groups, uint64_t copies)
{
    struct why why;
    memset(&scene, 0, sizeof scene);
    test_plan_open(&test, "torus:3x3");
    for (; *words; words++)
        assert_int_equal(configuration_add(&configuration, "test", *words, &why), OK);
    world_make(seed);
    const struct simulation_settings simulation = {.checker = &checker,
                                                   .world = scene.world,
                                                   .services = services,
                                                   .seed = seed,
                                                   .phase = WEFT_SIM_STEADY};
    assert_int_equal(simulation_open(&scene.simulation, &simulation, NULL), OK);
    assert_int_equal(simulation_start(scene.simulation, NULL), OK);
    for (weft_server i = 0; i < SCENE_SERVERS; i++)
        scene.programs[i] = (uint32_t)weft_sim_client(scene.simulation, i);
    scene_wait("groups_led", groups);
    scene_wait("groups_held", groups * copies);
}

void scene_close(void)
{
    simulation_finish(scene.simulation);
    simulation_close(scene.simulation);
    scene.simulation = NULL; /* servers that are stopped may still answer */
    world_close(scene.world);
    configuration_fini(&configuration);
    test_plan_close(&test);
}

void scene_run(int64_t milliseconds)
{
    simulation_run(scene.simulation, world_now(scene.world) + (psec)milliseconds * SCENE_MILLI);
    assert_false(simulation_error(scene.simulation));
}

uint64_t scene_stat(weft_server server, const char *counter)
{
    uint64_t value = 0;
    int result = weft_sim_stat(scene.simulation, server, store_service.name, counter, &value);
    assert_true(result == 0 || result == -ECONNREFUSED);
    return value;
}

void scene_wait(const char *counter, uint64_t wanted)
{
    for (unsigned i = 0; i < 200; i++) {
        uint64_t sum = 0;
        scene_run(100);
        for (weft_server server = 0; server < SCENE_SERVERS; server++)
            if (!world_is_paused(scene.world, server))
                sum += scene_stat(server, counter);
        if (sum == wanted)
            return;
    }
    fail_msg("%s never becomes %" PRIu64, counter, wanted);
}

void scene_crash(weft_server server)
{
    world_crash(scene.world, server);
    simulation_down(scene.simulation, server);
}

void scene_start(weft_server server)
{
    assert_int_equal(world_restart(scene.world, server, NULL), OK);
    simulation_up(scene.simulation, server, false);
}

/* ---- programs ---- */

void scene_unblock(void)
{
    scene.blocked = false;
    if (scene.full.client)
        node_local_writable(world_node(scene.world, scene.full_server), scene.full.service,
                            scene.full.client);
}

uint64_t scene_send(weft_server to, const void *bytes, size_t size)
{
    assert_true(scene.tickets + 1 < SCENE_ANSWERS_MAX);
    int result = weft_sim_send(scene.simulation, scene.programs[to], store_service.name,
                               ++scene.tickets, bytes, (uint32_t)size);
    assert_int_equal(result, 0);
    return scene.tickets;
}

uint64_t scene_ask(weft_server to, const struct store_request *request)
{
    static uint8_t bytes[WEFT_MESSAGE_MAX];
    struct store_request asked = *request;
    asked.key_size = (uint32_t)strlen(asked.key);
    asked.patience = 60000 * SCENE_NSEC;
    bytes[0] = STORE_CALL_REQUEST;
    size_t size = 1 + store_request_write(&asked, bytes + 1, sizeof bytes - 1);
    assert_true(size > 1);
    return scene_send(to, bytes, size);
}

struct store_answer scene_answer(uint64_t ticket)
{
    for (unsigned i = 0; i < 1000 && !scene.answers[ticket].count; i++)
        scene_run(20);
    assert_true(scene.answers[ticket].is_answer);
    return scene.answers[ticket].said;
}
