/* Tests the relay between programs of several servers, in a small world (node_world.h). */
#include "services/relay/relay.h"

#include "node/node_world.h"
#include "wire/relay.h"

static const struct weft_service *const services[] = {&service_relay, NULL};

#define SPEC "torus:3x3x3"
#define RTT  (100 * 1000)

static struct relay_message answer_read(const struct world *world, uint32_t index)
{
    struct relay_message message;
    assert(index < world->answer_count); /* our own assert: the static analyser understands it */
    assert_int_equal(relay_read(&message, world->answers[index].bytes, world->answers[index].size),
                     0);
    return message;
}

static void say(struct world *world, node_id server, uint64_t client,
                const struct relay_message *message)
{
    uint8_t bytes[RELAY_SIZE_MAX];
    relay_write(message, bytes);
    if (message->size)
        memcpy(bytes + RELAY_HEAD_SIZE, message->body, message->size);
    world_ask(world, server, RELAY_SERVICE, client, bytes, RELAY_HEAD_SIZE + message->size);
}

static void hang_up(struct world *world, node_id server, uint64_t client)
{
    struct world_node *at = &world->nodes[server];
    at->env.now = world->now;
    node_local_gone(at->node, client);
    at->next = world->now;
}

static struct relay_address attach(struct world *world, node_id server, uint64_t client)
{
    world_forget(world);
    say(world, server, client, &(struct relay_message){.operation = RELAY_ATTACH});
    struct relay_message message = answer_read(world, 0);
    assert_int_equal(message.operation, RELAY_ATTACHED);
    assert_int_equal(message.to.server, server);
    world_forget(world);
    return message.to;
}

static void send(struct world *world, node_id server, uint64_t client,
                 const struct relay_address *to, uint8_t kind, const void *body, size_t size)
{
    say(world, server, client,
        &(struct relay_message){
            .operation = RELAY_DATA, .kind = kind, .to = *to, .body = body, .size = size});
}

/* ---- */

static void datagrams_reach_programs_of_other_servers(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    struct relay_address one = attach(world, 0, 100), two = attach(world, 26, 200);
    uint8_t body[RELAY_BODY_MAX];
    memset(body, 7, sizeof body);
    send(world, 0, 100, &two, RELAY_KIND_FRAME, body, sizeof body);
    world_run(world, RTT);
    assert_int_equal(world->answer_count, 1);
    assert_int_equal(world->answers[0].server, 26);
    assert_int_equal(world->answers[0].client, 200);
    struct relay_message came = answer_read(world, 0);
    assert_int_equal(came.operation, RELAY_DATA);
    assert_true(relay_address_equal(&came.from, &one));
    assert_int_equal(came.size, sizeof body);
    assert_memory_equal(came.body, body, sizeof body);
    world_forget(world);
    send(world, 26, 200, &one, RELAY_KIND_FRAME, "back", 4);
    world_run(world, RTT);
    assert_int_equal(answer_read(world, 0).size, 4);
    world_close(world);
}

static void programs_of_one_server_reach_each_other(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    struct relay_address one = attach(world, 5, 1), two = attach(world, 5, 2);
    assert_int_not_equal(one.program, two.program);
    send(world, 5, 1, &two, RELAY_KIND_LINE, "x", 1);
    assert_int_equal(world->answer_count, 1);
    assert_int_equal(world->answers[0].client, 2);
    world_forget(world);
    hang_up(world, 5, 1);
    struct relay_message told = answer_read(world, 0);
    assert_int_equal(told.operation, RELAY_ABSENT);
    assert_true(relay_address_equal(&told.from, &one));
    world_close(world);
}

static void a_missing_program_is_reported_as_absent(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    struct relay_address one = attach(world, 0, 1), two = attach(world, 13, 2);
    two.life++; /* the address of an earlier program with that number */
    send(world, 0, 1, &two, RELAY_KIND_FRAME, "x", 1);
    world_run(world, RTT);
    assert_int_equal(world->answer_count, 1);
    struct relay_message told = answer_read(world, 0);
    assert_int_equal(told.operation, RELAY_ABSENT);
    assert_true(relay_address_equal(&told.from, &two));
    assert_true(relay_address_equal(&told.to, &one));
    world_forget(world);
    send(world, 0, 1, &(struct relay_address){.server = 4711, .program = 1, .life = 1},
         RELAY_KIND_FRAME, "x", 1);
    assert_int_equal(answer_read(world, 0).operation, RELAY_ABSENT);
    world_close(world);
}

static void servers_with_lines_to_a_program_learn_of_its_end(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    struct relay_address one = attach(world, 0, 1), two = attach(world, 13, 2);
    attach(world, 26, 3);
    send(world, 0, 1, &two, RELAY_KIND_LINE, "x", 1);
    world_run(world, RTT);
    world_forget(world);
    hang_up(world, 0, 1);
    world_run(world, RTT);
    assert_int_equal(world->answer_count, 1); /* the third program has no line, and is not told */
    assert_int_equal(world->answers[0].client, 2);
    struct relay_message told = answer_read(world, 0);
    assert_int_equal(told.operation, RELAY_ABSENT);
    assert_true(relay_address_equal(&told.from, &one));
    /* The program number is reused, with another life. */
    struct relay_address next = attach(world, 0, 4);
    assert_int_equal(next.program, one.program);
    assert_true(next.life != one.life);
    world_close(world);
}

static void programs_learn_of_lost_and_returning_servers(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    attach(world, 0, 1);
    world_crash(world, 14);
    world_run(world, 3000000000);
    struct relay_message told = answer_read(world, world->answer_count - 1);
    assert_int_equal(told.operation, RELAY_DOWN);
    assert_int_equal(told.from.server, 14);
    world_start(world, 14);
    world_run(world, 3000000000);
    told = answer_read(world, world->answer_count - 1);
    assert_int_equal(told.operation, RELAY_UP);
    assert_int_equal(told.from.server, 14);
    world_close(world);
}

static void the_table_is_bounded_and_malformed_requests_are_counted(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    for (uint64_t client = 1; client <= 1024; client++)
        assert_int_equal(attach(world, 0, client - 1).program, client);
    say(world, 0, 5000, &(struct relay_message){.operation = RELAY_ATTACH});
    assert_int_equal(answer_read(world, 0).to.program, 0);
    hang_up(world, 0, 6);
    assert_int_equal(attach(world, 0, 6000).program, 7);
    world_ask(world, 0, RELAY_SERVICE, 1, "nonsense", 8);
    send(world, 0, 9999, &(struct relay_address){.server = 1}, RELAY_KIND_LINE, "x", 1);
    assert_int_equal(world_number(world, 0, "ripc", "garbage"), 2);
    assert_int_equal(world_number(world, 0, "ripc", "programs"), 1024);
    world_close(world);
}

/* Two numbers that no program can have, and life 0, which only a free entry has. */
static void datagrams_to_impossible_addresses_are_strays(void **state)
{
    static const struct relay_address absent[] = {
        {.server = 13, .program = 0, .life = 1},
        {.server = 13, .program = UINT32_MAX, .life = 1},
        {.server = 13, .program = 5, .life = 0},
    };
    struct world *world = world_open_settled(SPEC, services, 0);
    attach(world, 0, 1);
    for (unsigned i = 0; i < sizeof absent / sizeof *absent; i++) {
        send(world, 0, 1, &absent[i], RELAY_KIND_FRAME, "x", 1);
        world_run(world, RTT);
        assert_int_equal(world_number(world, 13, "ripc", "strays"), i + 1);
    }
    assert_int_equal(world_number(world, 13, "ripc", "came"), 0);
    world_close(world);
}

static void a_message_from_an_unknown_server_is_garbage(void **state)
{
    struct world *world = world_open_settled(SPEC, services, 0);
    struct relay_address one = attach(world, 0, 1);
    uint8_t bytes[RELAY_HEAD_SIZE];
    relay_write(&(struct relay_message){.operation = RELAY_DATA,
                                        .kind = RELAY_KIND_LINE,
                                        .from = {.server = 27, .program = 1, .life = 1},
                                        .to = one},
                bytes);
    struct packet *packet = world_forge(world, RELAY_SERVICE, bytes, sizeof bytes);
    packet_set_server(packet, 0);
    world_arrive(world, 1, 0, packet);
    world_run(world, 1);
    assert_int_equal(world_number(world, 0, "ripc", "garbage"), 1);
    assert_int_equal(world->answer_count, 0);
    world_close(world);
}

TEST_MAIN(TEST(datagrams_reach_programs_of_other_servers),
          TEST(programs_of_one_server_reach_each_other),
          TEST(a_missing_program_is_reported_as_absent),
          TEST(servers_with_lines_to_a_program_learn_of_its_end),
          TEST(programs_learn_of_lost_and_returning_servers),
          TEST(the_table_is_bounded_and_malformed_requests_are_counted),
          TEST(datagrams_to_impossible_addresses_are_strays),
          TEST(a_message_from_an_unknown_server_is_garbage))
