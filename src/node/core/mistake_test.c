/* Checks that mistakes of a service are counted, and reported once for each kind. What each call
 * refuses is tried by tests/plugins/clumsy.c. */
#include <stdio.h>
#include <weft/service.h>

#include "node/core/node_impl.h"
#include "node/node_world.h"

#define CLUMSY 300

static unsigned told;
static char last[200];

static void mistake_told(struct node_watcher *watcher, node_id at, const char *service,
                         const char *function, const char *reason)
{
    told++;
    snprintf(last, sizeof last, "%u %s %s: %s", at, service, function, reason);
}

static struct node_watcher watcher = {.mistake = mistake_told};
static void (*asked)(struct weft_self *self); /* what a request does; set by the test */

static void clumsy_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    asked(self);
}

static const struct weft_service_ops clumsy_ops = {.request = clumsy_request};
static const struct weft_service clumsy = {
    .version = WEFT_SERVICE_VERSION, .name = "clumsy", .id = CLUMSY, .ops = &clumsy_ops};

static struct world *begin(struct node_watcher *who)
{
    static const struct weft_service *const services[] = {&clumsy, NULL};
    told = 0;
    return world_open("torus:3", &(struct node_config){.services = services, .watcher = who});
}

static void wake_twice(struct weft_self *self)
{
    assert_int_equal(weft_wake(self, 1), -EINVAL);
    assert_int_equal(weft_wake(self, 1), -EINVAL);
}

static void wake_and_time(struct weft_self *self)
{
    assert_int_equal(weft_wake(self, 1), -EINVAL);
    assert_int_equal(weft_timer(self, 0, 0), -EINVAL);
}

static void the_first_mistake_of_each_kind_is_reported(void **state)
{
    struct world *world = begin(&watcher);
    asked = wake_twice;
    world_ask(world, 1, CLUMSY, 1, "", 0);
    assert_int_equal(told, 1);
    assert_string_equal(last, "1 clumsy weft_wake: the service has no poll function");
    asked = wake_and_time;
    world_ask(world, 1, CLUMSY, 1, "", 0);
    assert_int_equal(told, 2);
    assert_string_equal(last, "1 clumsy weft_timer: the service has no timer function");
    assert_int_equal(world_number(world, 1, "clumsy", "mistakes"), 4);
    assert_int_equal(world_number(world, 2, "clumsy", "mistakes"), 0);
    struct service_snapshot snapshot;
    assert_int_equal(node_service_count(world->nodes[1].node), 2);
    node_snapshot_service(world->nodes[1].node, 1, &snapshot);
    assert_string_equal(snapshot.name, "clumsy");
    assert_int_equal(snapshot.mistakes, 4);
    world_close(world);
}

static void many_kinds(struct weft_self *self)
{
    static char names[2 * MISTAKE_KINDS_MAX][8];
    for (unsigned i = 0; i < 2 * MISTAKE_KINDS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "%u", i);
        service_mistake(self, names[i], "some reason");
        service_mistake(self, names[i], "some reason");
    }
}

static void further_kinds_are_only_counted(void **state)
{
    struct world *world = begin(&watcher);
    asked = many_kinds;
    world_ask(world, 0, CLUMSY, 1, "", 0);
    assert_int_equal(told, MISTAKE_KINDS_MAX);
    assert_int_equal(world_number(world, 0, "clumsy", "mistakes"), 4 * MISTAKE_KINDS_MAX);
    world_close(world);
}

static void mistakes_are_counted_also_without_a_watcher(void **state)
{
    struct world *world = begin(NULL);
    asked = wake_twice;
    world_ask(world, 0, CLUMSY, 1, "", 0);
    assert_int_equal(world_number(world, 0, "clumsy", "mistakes"), 2);
    world_close(world);
}

TEST_MAIN(TEST(the_first_mistake_of_each_kind_is_reported), TEST(further_kinds_are_only_counted),
          TEST(mistakes_are_counted_also_without_a_watcher))
