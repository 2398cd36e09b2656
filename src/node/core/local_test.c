/* Tests requests of local programs and the answers of services, in a world of a few nodes. */
#include <errno.h>
#include <weft/service.h>

#include "node/node_world.h"

static uint64_t writable_client;

static void answering_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                              const void *bytes, uint32_t size)
{
    int result = weft_answer(self, client, ticket, bytes, size);
    assert_true(result == 0 || result == -EAGAIN);
}

static void answering_writable(struct weft_self *self, uint64_t client)
{
    writable_client = client;
    assert_int_equal(weft_answer(self, client, 0, "room", 4), 0);
}

/* The answer has the ticket of the request; a service that was refused hears of room. */
static void answers_have_tickets_and_room_is_reported(void **state)
{
    static const struct weft_service_ops ops = {.request = answering_request,
                                                .writable = answering_writable};
    static const struct weft_service_ops deaf_ops = {.request = answering_request};
    static const struct weft_service services[] = {
        {.version = WEFT_SERVICE_VERSION, .name = "one", .id = 300, .ops = &ops},
        {.version = WEFT_SERVICE_VERSION, .name = "other", .id = 301, .ops = &deaf_ops}};
    static const struct weft_service *const list[] = {&services[0], &services[1], NULL};
    struct world *world = world_open_settled("torus:3", list, 0);
    struct node *node = world->nodes[0].node;
    world_ask(world, 0, 300, 5, "x", 1);
    assert_int_equal(world->answer_count, 1);
    assert_int_equal(world->answers[0].ticket, WORLD_TICKET(5));
    assert_int_equal(world->answers[0].service, 300);
    world->deaf = true;
    world_ask(world, 0, 300, 6, "x", 1);
    assert_int_equal(world->answer_count, 1);
    world->deaf = false;
    node_local_writable(node, 301, 6); /* it has no such function */
    node_local_writable(node, 999, 6); /* there is no such service */
    assert_int_equal(writable_client, 0);
    node_local_writable(node, 300, 6);
    assert_int_equal(writable_client, 6);
    assert_int_equal(world->answers[1].ticket, 0);
    assert_int_equal(node_service_number(node, "other", 5), 301);
    assert_int_equal(node_service_number(node, "othe", 4), -ENOENT);
    world_close(world);
}

TEST_MAIN(TEST(answers_have_tickets_and_room_is_reported))
