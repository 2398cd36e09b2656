/* Checks how calls of services are timed, counted and named. */
#include <stdio.h>

#include "node/core/node_impl.h"
#include "node/node_world.h"

#define SLEEPER 300

static struct node_pulse pulse;
static env_nsec ran; /* what the world answers */
static unsigned asked, told;
static char last[100];

static env_nsec on_ran(struct env *env, uint64_t ticks)
{
    asked++;
    return ran;
}

static void on_slow(struct node_watcher *watcher, node_id at, const char *service,
                    const char *function, env_nsec length)
{
    told++;
    snprintf(last, sizeof last, "%u %s %s %lld", at, service, function, (long long)length);
}

static struct node_watcher watcher = {.slow = on_slow};

/* Which function of which service is called now, as a watchdog sees it. */
static void inside(const struct weft_self *self, enum node_callback which)
{
    assert_int_equal(atomic_load(&pulse.call) & 0xff, which);
    assert_ptr_equal(atomic_load(&pulse.service), self->service);
}

static void stat_take(void *context, const char *service, const char *name, uint64_t value)
{
    if (!strcmp(service, "sleeper") && !strcmp(name, "slow"))
        *(uint64_t *)context = value;
}

static void sleeper_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    uint64_t slow, first = pulse.began;
    inside(self, CALLBACK_REQUEST);
    if (!size)
        return;
    node_stats(self->node, stat_take, &slow); /* as the service control does */
    inside(self, CALLBACK_REQUEST);
    assert_true(pulse.began >= first);
}

static void sleeper_gone(struct weft_self *self, uint64_t client)
{
    inside(self, CALLBACK_GONE);
}

static void sleeper_stats(struct weft_self *self, struct weft_report *report)
{
    inside(self, CALLBACK_STATS);
}

static const struct weft_service_ops sleeper_ops = {
    .request = sleeper_request, .gone = sleeper_gone, .stats = sleeper_stats};
static const struct weft_service sleeper = {
    .version = WEFT_SERVICE_VERSION, .name = "sleeper", .id = SLEEPER, .ops = &sleeper_ops};

static struct world *world;
static struct env_ops ops;

static int scene_open(void **state)
{
    static const struct weft_service *const services[] = {&sleeper, NULL};
    pulse = (struct node_pulse){.slow_ticks = UINT64_MAX};
    world = world_open("torus:3", &(struct node_config){
                                      .services = services, .watcher = &watcher, .pulse = &pulse});
    ops = *world->nodes[1].env.ops;
    ops.ran = on_ran;
    world->nodes[1].env.ops = &ops;
    asked = told = 0;
    ran = 0;
    return 0;
}

static int scene_close(void **state)
{
    pulse.slow_ticks = UINT64_MAX;
    world_close(world);
    return 0;
}

static struct service_snapshot snapshot(void)
{
    struct service_snapshot found;
    node_snapshot_service(world->nodes[1].node, 1, &found);
    assert_string_equal(found.name, "sleeper");
    return found;
}

static void short_calls_are_not_counted(void **state)
{
    world_ask(world, 1, SLEEPER, 1, "", 0);
    assert_int_equal(asked, 0);
    assert_int_equal(atomic_load(&pulse.call) & 0xff, CALLBACK_NONE);
    assert_true(atomic_load(&pulse.call) >= 256);
    assert_int_equal(snapshot().slow, 0);
}

static void long_calls_are_counted_and_each_function_is_told_once(void **state)
{
    uint64_t slow = 0;
    pulse.slow_ticks = 0; /* each call takes longer */
    ran = 5000000;
    world_ask(world, 1, SLEEPER, 1, "", 0);
    assert_string_equal(last, "1 sleeper request 5000000");
    ran = 7000000;
    world_ask(world, 1, SLEEPER, 1, "", 0);
    assert_int_equal(told, 1);
    ran = 6000000;
    node_local_gone(world->nodes[1].node, 1);
    assert_string_equal(last, "1 sleeper gone 6000000");
    assert_int_equal(told, 2);
    assert_int_equal(snapshot().slow, 3);
    assert_true(snapshot().slow_nsec == 7000000);
    assert_int_equal(snapshot().slow_in, CALLBACK_REQUEST);
    node_stats(world->nodes[1].node, stat_take, &slow);
    assert_int_equal(slow, 3);
}

static void calls_during_which_other_processes_ran_are_not_counted(void **state)
{
    pulse.slow_ticks = 0;
    world_ask(world, 1, SLEEPER, 1, "", 0);
    assert_int_equal(asked, 1);
    assert_int_equal(told, 0);
    assert_int_equal(snapshot().slow, 0);
}

static void a_call_inside_a_call_leaves_the_outer_one_as_it_was(void **state)
{
    world_ask(world, 1, SLEEPER, 1, "x", 1);
    assert_int_equal(atomic_load(&pulse.call) & 0xff, CALLBACK_NONE);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

TEST_MAIN(CASE(short_calls_are_not_counted),
          CASE(long_calls_are_counted_and_each_function_is_told_once),
          CASE(calls_during_which_other_processes_ran_are_not_counted),
          CASE(a_call_inside_a_call_leaves_the_outer_one_as_it_was))
