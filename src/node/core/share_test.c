/* Checks how many packets a service may hold: those that it makes, gets and intercepts. */
#include <weft/service.h>

#include "node/core/node_impl.h"
#include "node/core/self.h"
#include "node/node_world.h"

#define KEEPER 300
#define SHARE  8
#define SECOND INT64_C(1000000000)

static void (*asked)(struct weft_self *self); /* what a request does; set by the test */
static struct weft_packet *held[4 * SHARE];   /* packets that instances keep, of all servers */
static unsigned held_count;
static bool takes; /* deliver() and intercept() keep their packets */

static void hold(struct weft_packet *packet)
{
    assert_in_range(held_count, 0, 4 * SHARE - 1);
    held[held_count++] = packet;
}

static void held_release(void)
{
    while (held_count)
        weft_done(held[--held_count]);
}

static void keeper_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (takes)
        hold(packet);
    else
        weft_done(packet);
}

static enum weft_verdict keeper_intercept(struct weft_self *self, struct weft_packet *packet)
{
    if (!takes)
        return WEFT_PASS;
    hold(packet);
    return WEFT_TAKEN;
}

static void keeper_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    asked(self);
}

static const struct weft_service_ops keeper_ops = {
    .deliver = keeper_deliver, .intercept = keeper_intercept, .request = keeper_request};
static const struct weft_service keeper = {.version = WEFT_SERVICE_VERSION,
                                           .name = "keeper",
                                           .id = KEEPER,
                                           .queue_packets = 4 * SHARE,
                                           .keep_packets = SHARE,
                                           .ops = &keeper_ops};
static const struct weft_service *const keepers[] = {&keeper, NULL};

static struct world *begin(const char *spec)
{
    held_count = 0;
    takes = false;
    return world_open_settled(spec, keepers, 0);
}

static void ask(struct world *world, node_id id, void (*what)(struct weft_self *self))
{
    asked = what;
    world_ask(world, id, KEEPER, 1, "", 0);
}

static uint64_t dropped(struct world *world, node_id id, enum drop_reason reason)
{
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[id].node, &snapshot);
    return snapshot.drops[reason];
}

static uint64_t number(struct world *world, node_id id, const char *name)
{
    return world_number(world, id, "keeper", name);
}

/* ---- making packets ---- */

static void make_too_many(struct weft_self *self)
{
    for (unsigned i = 0; i < SHARE; i++) {
        struct weft_packet *packet = weft_packet(self, 100);
        assert_non_null(packet);
        hold(packet);
    }
    assert_null(weft_packet(self, 0));
    weft_done(held[--held_count]);
    hold(weft_packet(self, 0));
    assert_non_null(held[held_count - 1]);
    assert_null(weft_packet_hollow(self, 100, 0));
}

static void a_service_makes_as_many_packets_as_its_share(void **state)
{
    struct world *world = begin("torus:3");
    ask(world, 1, make_too_many);
    assert_int_equal(number(world, 1, "kept"), SHARE);
    assert_int_equal(number(world, 1, "share"), SHARE);
    assert_int_equal(number(world, 1, "over_share"), 2);
    assert_int_equal(dropped(world, 1, DROP_SHARE), 2);
    assert_int_equal(number(world, 2, "kept"), 0); /* every server has its own share */
    held_release();
    assert_int_equal(number(world, 1, "kept"), 0);
    world_close(world);
}

static void send_many(struct weft_self *self)
{
    for (unsigned i = 0; i < 4 * SHARE; i++) {
        struct weft_packet *packet = weft_packet(self, 100);
        assert_non_null(packet);
        assert_int_equal(weft_send_server(self, packet, weft_here(self) + 1), 0);
    }
}

static void packets_in_the_queue_do_not_count(void **state)
{
    struct world *world = begin("torus:3");
    ask(world, 0, send_many);
    assert_int_equal(number(world, 0, "kept"), 0);
    world_run(world, SECOND);
    assert_int_equal(number(world, 1, "delivered"), 4 * SHARE);
    world_close(world);
}

static void send_home(struct weft_self *self)
{
    struct weft_packet *first = NULL;
    for (unsigned i = 0; i < 2 * SHARE; i++) {
        struct weft_packet *packet = weft_packet(self, 100);
        assert_int_equal(packet != NULL, i < SHARE);
        first = first ? first : packet;
        if (packet)
            assert_int_equal(weft_send_server(self, packet, weft_here(self)), 0);
    }
    assert_int_equal(weft_done(first), -EINVAL); /* it counts, but the service has sent it */
    assert_int_equal(weft_reply(self, first), -EINVAL);
}

static void packets_to_its_own_server_count_until_they_are_delivered(void **state)
{
    struct world *world = begin("torus:3");
    ask(world, 0, send_home);
    assert_int_equal(number(world, 0, "kept"), SHARE);
    world_run(world, 1);
    assert_int_equal(number(world, 0, "delivered"), SHARE);
    assert_int_equal(number(world, 0, "kept"), 0);
    world_close(world);
}

/* ---- getting packets ---- */

static void packets_for_a_service_that_holds_its_share_are_dropped(void **state)
{
    struct world *world = begin("torus:3");
    takes = true;
    ask(world, 0, send_many);
    world_run(world, 10 * SECOND);
    assert_int_equal(number(world, 1, "delivered"), SHARE);
    assert_int_equal(number(world, 1, "over_share"), 3 * SHARE);
    assert_int_equal(dropped(world, 1, DROP_SHARE), 3 * SHARE);
    assert_int_equal(dropped(world, 1, DROP_NO_BUFFER), 0);
    held_release();
    ask(world, 0, send_many); /* it has room again */
    world_run(world, SECOND);
    assert_int_equal(number(world, 1, "delivered"), 2 * SHARE);
    held_release();
    world_close(world);
}

/* From server 0 to the server two hops away. */
static void send_far(struct weft_self *self)
{
    for (unsigned i = 0; i < 2 * SHARE; i++)
        assert_int_equal(weft_send_server(self, weft_packet(self, 0), 2), 0);
}

static void a_service_that_passes_packets_on_sees_them_also_when_it_holds_its_share(void **state)
{
    struct world *world = begin("torus:5");
    ask(world, 1, make_too_many);
    ask(world, 0, send_far);
    world_run(world, SECOND);
    assert_int_equal(number(world, 2, "delivered"), 2 * SHARE);
    assert_int_equal(number(world, 1, "kept"), SHARE);
    held_release();
    world_close(world);
}

static void a_service_intercepts_one_packet_more_than_its_share(void **state)
{
    struct world *world = begin("torus:5");
    takes = true;
    ask(world, 0, send_far);
    world_run(world, SECOND);
    assert_int_equal(number(world, 1, "intercepted"), SHARE + 1);
    assert_int_equal(number(world, 1, "over_share"), SHARE - 1);
    assert_int_equal(number(world, 2, "delivered"), 0);
    node_check(world->nodes[1].node);
    held_release();
    world_close(world);
}

/* ---- the end ---- */

static void packets_that_a_stopped_service_keeps_are_abandoned(void **state)
{
    struct world *world = begin("torus:3");
    ask(world, 1, make_too_many);
    world_crash(world, 1);
    world->abandoned = SHARE;
    assert_int_equal(world->pool->abandoned, SHARE);
    world_run(world, SECOND);
    world_close(world);
}

static void a_node_needs_as_many_packets_as_its_holders_hold(void **state)
{
    const struct weft_service plain = {.name = "plain"};
    const struct weft_service *const list[] = {&plain, &keeper, NULL};
    uint32_t none = node_packets_most(NULL, 4);
    assert_true(none >= NODE_QUEUE_PACKETS + NODE_LIMBO_PACKETS);
    assert_int_equal(node_packets_most(list, 4) - none,
                     NODE_QUEUE_PACKETS + NODE_KEEP_PACKETS + 1 + 4 * SHARE + SHARE + 1);
    struct weft_service huge[30];
    const struct weft_service *many[31] = {NULL};
    for (unsigned i = 0; i < 30; i++) {
        huge[i] = (struct weft_service){.queue_packets = UINT32_MAX, .keep_packets = UINT32_MAX};
        many[i] = &huge[i];
    }
    assert_int_equal(node_packets_most(many, 4), UINT32_MAX);
}

TEST_MAIN(TEST(a_service_makes_as_many_packets_as_its_share),
          TEST(packets_in_the_queue_do_not_count),
          TEST(packets_to_its_own_server_count_until_they_are_delivered),
          TEST(packets_for_a_service_that_holds_its_share_are_dropped),
          TEST(a_service_that_passes_packets_on_sees_them_also_when_it_holds_its_share),
          TEST(a_service_intercepts_one_packet_more_than_its_share),
          TEST(packets_that_a_stopped_service_keeps_are_abandoned),
          TEST(a_node_needs_as_many_packets_as_its_holders_hold))
