/* Tests control on real nodes, in the small world of the node's own tests. */
#include "services/control/control.h"

#include <errno.h>

#include "node/node_world.h"
#include "services/control/control_wire.h"

#define SECOND 1000000000LL
#define TICKET 17
#define CLIENT 42

static const struct weft_service *const services[] = {&service_control, NULL};
static struct env_ops ops;
static uint8_t answer_bytes[CONTROL_ANSWER_MAX];
static uint32_t answer_size, answer_count;
static struct control_snapshot snapshot;

static int keep_answer(struct env *env, const struct env_answer *to, const void *bytes,
                       uint32_t size)
{
    assert_int_equal(to->client, CLIENT);
    assert_int_equal(to->ticket, TICKET);
    assert_int_equal(to->service, CONTROL_SERVICE);
    assert_in_range(size, 1, sizeof answer_bytes);
    memcpy(answer_bytes, bytes, size);
    answer_size = size;
    answer_count++;
    return 0;
}

static struct world *begin(const char *spec)
{
    struct node_config config = {.services = services};
    struct world *world = world_open(spec, &config);
    ops = world_ops;
    ops.local = keep_answer;
    for (node_id id = 0; id < world->plan.server_count; id++)
        world->nodes[id].env.ops = &ops;
    world_run(world, 10 * SECOND);
    return world;
}

/* Asks, and returns the errno of the answer; `in` is at the rest of it. */
static int ask(struct world *world, node_id server, const struct control_request *request,
               struct reader *in)
{
    uint8_t bytes[CONTROL_REQUEST_MAX];
    struct control_answer answer;
    uint32_t before = answer_count;
    size_t size = control_request_write(request, bytes);
    world->nodes[server].env.now = world->now;
    assert_int_equal(node_local(world->nodes[server].node,
                                &(struct env_answer){CLIENT, TICKET, CONTROL_SERVICE}, bytes,
                                (uint32_t)size),
                     0);
    world->nodes[server].next = world->now;
    world_run(world, 1);
    assert_int_equal(answer_count, before + 1);
    *in = reader_make(answer_bytes, answer_size);
    assert_int_equal(control_answer_read(in, &answer), 0);
    assert_int_equal(answer.kind, request->kind);
    assert_int_equal(answer.token, request->token);
    return answer.error;
}

static void snapshot_take(struct world *world, node_id server)
{
    struct reader in;
    struct control_request request = {.kind = CONTROL_SNAPSHOT, .token = server + 1};
    assert_int_equal(ask(world, server, &request, &in), 0);
    assert_int_equal(control_snapshot_read(&in, &snapshot), 0);
    assert_int_equal(snapshot.node.self, server);
}

static void a_snapshot_matches_the_node(void **state)
{
    struct world *world = begin("torus:3x3");
    uint64_t digest = 0;
    for (node_id id = 0; id < 9; id++) {
        snapshot_take(world, id);
        assert_true(snapshot.node.settled);
        assert_int_equal(snapshot.node.reachable, 9);
        assert_int_equal(snapshot.server_count, 9);
        assert_int_equal(snapshot.port_count, world->plan.port_count);
        assert_true(snapshot.now >= 10 * SECOND && snapshot.started == 0);
        digest = id ? digest : snapshot.node.digest;
        assert_int_equal(snapshot.node.digest, digest);
        for (node_id other = 0; other < 9; other++)
            assert_true(control_reaches(&snapshot, other));
        for (uint32_t port = 0; port < 4; port++) {
            const struct plan_end *end = plan_end(&world->plan, id, port);
            assert_int_equal(snapshot.ports[port].state, PORT_UP);
            assert_int_equal(snapshot.ports[port].peer, end->server);
            assert_int_equal(snapshot.ports[port].found, end->server);
            assert_int_equal(snapshot.ports[port].found_port, end->port);
        }
    }
    world_close(world);
}

static void a_crash_shows_in_the_other_servers_snapshots(void **state)
{
    struct world *world = begin("torus:3x3");
    world_crash(world, 4);
    world_run(world, 10 * SECOND);
    snapshot_take(world, 1);
    assert_false(control_reaches(&snapshot, 4));
    assert_int_equal(snapshot.node.reachable, 8);
    unsigned port = plan_port(&world->plan, 1, 4);
    assert_int_equal(snapshot.ports[port].state, PORT_DOWN);
    world_close(world);
}

static void the_operator_cuts_and_mends_a_cable(void **state)
{
    struct world *world = begin("torus:3x3");
    struct reader in;
    unsigned port = plan_port(&world->plan, 0, 1);
    struct control_request cut = {.kind = CONTROL_CUT, .port = (uint8_t)port, .cut = true};
    assert_int_equal(ask(world, 0, &cut, &in), 0);
    world_run(world, 10 * SECOND);
    snapshot_take(world, 0);
    assert_int_equal(snapshot.ports[port].state, PORT_CUT);
    snapshot_take(world, 1);
    assert_int_equal(snapshot.ports[plan_port(&world->plan, 1, 0)].state, PORT_DOWN);

    struct control_route route;
    struct control_request way = {.kind = CONTROL_ROUTE, .server = 1};
    assert_int_equal(ask(world, 0, &way, &in), 0);
    assert_int_equal(control_route_read(&in, &route), 0);
    assert_int_equal(route.distance, 2); /* the long way round */
    assert_false(route.ports >> port & 1);

    cut.cut = false;
    assert_int_equal(ask(world, 0, &cut, &in), 0);
    world_run(world, 10 * SECOND);
    assert_int_equal(ask(world, 0, &way, &in), 0);
    assert_int_equal(control_route_read(&in, &route), 0);
    assert_int_equal(route.distance, 1);
    assert_int_equal(route.ports, 1u << port);
    world_close(world);
}

static void a_key_is_where_the_key_space_says(void **state)
{
    struct world *world = begin("torus:3x3");
    struct control_where where;
    struct reader in;
    for (uint32_t i = 0; i < 50; i++) {
        struct control_request request = {
            .kind = CONTROL_WHERE, .most = 3, .key = key_hash(&i, sizeof i)};
        struct place_group group = keyspace_group(&world->plan.keyspace, key_route(&request.key));
        assert_int_equal(ask(world, 8, &request, &in), 0);
        assert_int_equal(control_where_read(&in, &where), 0);
        assert_true(where.settled);
        assert_int_equal(where.root, group.home);
        assert_int_equal(where.own, group.home == 8);
        assert_int_equal(where.count, 3);
        assert_int_equal(where.replicas[0].server, group.home);
        assert_int_equal(where.replicas[0].distance,
                         node_distance(world->nodes[8].node, group.home));
        assert_int_equal(where.replicas[1].distance,
                         node_distance(world->nodes[8].node, where.replicas[1].server));
    }
    world_close(world);
}

static void counters_come_in_pages(void **state)
{
    struct world *world = begin("torus:3");
    struct control_request request = {.kind = CONTROL_STATS};
    struct control_stat stat;
    struct reader in;
    assert_int_equal(ask(world, 0, &request, &in), 0);
    uint32_t total = control_stats_read(&in), count = 0;
    bool answered = false;
    while (control_stat_read(&in, &stat) == 1) {
        answered |= strcmp(stat.service, "control") == 0 && strcmp(stat.name, "answered") == 0;
        count++;
    }
    assert_true(answered);
    assert_int_equal(count, total);
    request.first = total - 1;
    assert_int_equal(ask(world, 0, &request, &in), 0);
    assert_int_equal(control_stats_read(&in), total);
    assert_int_equal(control_stat_read(&in, &stat), 1);
    assert_int_equal(control_stat_read(&in, &stat), 0);
    world_close(world);
}

static void values_of_parameters_come_in_pages(void **state)
{
    struct world *world = begin("torus:3");
    struct control_request request = {.kind = CONTROL_PARAMETERS};
    struct control_parameter parameter;
    struct reader in;
    assert_int_equal(ask(world, 0, &request, &in), 0);
    assert_int_equal(control_stats_read(&in), 1);
    assert_int_equal(control_parameter_read(&in, &parameter), 1);
    assert_string_equal(parameter.service, "control");
    assert_string_equal(parameter.name, "memory");
    assert_string_equal(parameter.value, "256M");
    assert_int_equal(control_parameter_read(&in, &parameter), 0);
    request.first = 1;
    assert_int_equal(ask(world, 0, &request, &in), 0);
    assert_int_equal(control_stats_read(&in), 1);
    assert_int_equal(control_parameter_read(&in, &parameter), 0);
    world_close(world);
}

static void absent_objects_are_refused_and_malformed_requests_not_answered(void **state)
{
    struct world *world = begin("torus:3");
    struct reader in;
    struct control_request cut = {.kind = CONTROL_CUT, .port = 31, .cut = true};
    struct control_request way = {.kind = CONTROL_ROUTE, .server = 3};
    assert_int_equal(ask(world, 0, &cut, &in), ENOENT);
    assert_int_equal(ask(world, 0, &way, &in), ENOENT);
    uint32_t before = answer_count;
    assert_int_equal(node_local(world->nodes[0].node,
                                &(struct env_answer){CLIENT, TICKET, CONTROL_SERVICE}, "x", 1),
                     0);
    world_run(world, SECOND);
    assert_int_equal(answer_count, before);
    assert_int_equal(
        node_local(world->nodes[0].node, &(struct env_answer){CLIENT, TICKET, 99}, "x", 1),
        -ENOENT);
    world_close(world);
}

TEST_MAIN(TEST(a_snapshot_matches_the_node), TEST(a_crash_shows_in_the_other_servers_snapshots),
          TEST(the_operator_cuts_and_mends_a_cable), TEST(a_key_is_where_the_key_space_says),
          TEST(counters_come_in_pages), TEST(values_of_parameters_come_in_pages),
          TEST(absent_objects_are_refused_and_malformed_requests_not_answered))
