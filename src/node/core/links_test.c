/* What links do not believe: messages of service 0 that a stranger, or an old friend, sends. */
#include "node/core/node_impl.h"
#include "node/links/hello.h"
#include "node/node_world.h"

#define SPEC "torus:5"

static struct {
    unsigned rows; /* that were news at server 0 */
    unsigned dropped[DROP_COUNT];
} seen;

static void on_row(struct node_watcher *watcher, node_id at, node_id server, uint64_t incarnation,
                   uint64_t version)
{
    seen.rows += at == 0;
}

static void on_dropped(struct node_watcher *watcher, node_id at, const struct packet *packet,
                       enum drop_reason reason)
{
    seen.dropped[reason]++;
}

static struct node_watcher watcher = {.row = on_row, .dropped = on_dropped};

static struct world *stage_open(env_nsec run)
{
    const struct node_config config = {.seed = 1, .watcher = &watcher};
    struct world *world = world_open(SPEC, &config);
    world_run(world, run);
    memset(&seen, 0, sizeof seen);
    return world;
}

/* The port of server 0 that leads to server 1, and what the node says of it. */
static unsigned port_of(const struct world *world)
{
    return plan_port(&world->plan, 0, 1);
}

static struct port_snapshot port_snapshot(const struct world *world)
{
    struct port_snapshot snapshot;
    node_snapshot_port(world->nodes[0].node, port_of(world), &snapshot);
    return snapshot;
}

/* A hello as server 1 would say it now. */
static struct link_hello hello_good(const struct world *world)
{
    const struct node *node = world->nodes[0].node;
    return (struct link_hello){.server = 1,
                               .port = plan_port(&world->plan, 1, 0),
                               .self = node->ports[port_of(world)].peer,
                               .layout = node->state.table.schema.hash};
}

static struct packet *hello_forge(const struct world *world, const struct link_hello *hello)
{
    uint8_t bytes[HELLO_SIZE];
    hello_write(hello, bytes);
    return world_forge(world, 0, bytes, sizeof bytes);
}

/* Server 0 receives it, and does nothing else. */
static void arrive(struct world *world, struct packet *packet)
{
    world_arrive(world, 1, 0, packet);
    world_run(world, 1);
}

static void a_hello_counts_only_if_it_is_a_neighbours(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct link_hello other = hello_good(world);
    other.server = 77;
    struct packet *packet = hello_forge(world, &other);
    packet_set_server(packet, 0);
    arrive(world, packet);
    assert_int_equal(seen.dropped[DROP_REFUSED], 1);

    packet = hello_forge(world, &other);
    packet->stored--; /* the rest is zeroes that are not in memory */
    arrive(world, packet);
    assert_int_equal(seen.dropped[DROP_DAMAGED], 1);

    other.layout++; /* rows of other columns: another version of weft */
    arrive(world, hello_forge(world, &other));
    assert_int_equal(port_snapshot(world).found, 1);
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    world_close(world);
}

static void another_end_than_planned_is_miswired(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        struct world *world = stage_open(WORLD_SETTLED);
        struct link_hello other = hello_good(world);
        if (i)
            other.port++;
        else
            other.server++;
        arrive(world, hello_forge(world, &other));
        assert_int_equal(port_snapshot(world).state, PORT_MISWIRED);
        assert_int_equal(port_snapshot(world).found, other.server);
        assert_int_equal(port_snapshot(world).found_port, other.port);
        world_close(world);
    }
}

static struct packet *unplanned;

static unsigned unplanned_receive(struct env *env, unsigned port, struct packet **out,
                                  unsigned most)
{
    *out = unplanned;
    unplanned = NULL;
    return *out != NULL;
}

static void a_cable_where_none_is_planned_is_miswired(void **state)
{
    const struct node_config config = {.seed = 1, .watcher = &watcher};
    struct world *world = world_open("torus:2x3", &config);
    struct world_node *at = &world->nodes[0];
    unsigned port = 0;
    while (port < world->plan.port_count && plan_end(&world->plan, 0, port)->server != NODE_NONE)
        port++;
    assert_true(port < world->plan.port_count); /* along two servers -x is not wired */
    struct env_ops ops = *at->env.ops;
    ops.receive = unplanned_receive;
    at->env.ops = &ops;
    struct link_hello hello = {.server = 3, .self = {1, 1}};
    hello.layout = at->node->state.table.schema.hash;
    unplanned = hello_forge(world, &hello);
    packet_seal(unplanned);
    unplanned->read = false;
    node_input(at->node, port);
    node_step(at->node);
    struct port_snapshot snapshot;
    node_snapshot_port(at->node, port, &snapshot);
    assert_int_equal(snapshot.state, PORT_MISWIRED);
    assert_int_equal(snapshot.found, 3);
    at->env.ops = &world_ops;
    world_close(world);
}

static unsigned lazy_hellos;

static uint32_t tight_room(struct env *env, unsigned port)
{
    return PACKET_HEADER_SIZE + HELLO_SIZE;
}

static void tight_transmit(struct env *env, unsigned port, struct packet **packets, unsigned count,
                           bool lazy)
{
    lazy_hellos += lazy;
    world_transmit(env, port, packets, count, lazy);
}

/* It need not wake the other end, if only it has room. */
static void a_hello_that_just_fits_goes_out_at_once(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct env_ops ops = world_ops;
    ops.room = tight_room;
    ops.transmit = tight_transmit;
    world->nodes[0].env.ops = &ops;
    world_run(world, WORLD_SETTLED);
    assert_true(lazy_hellos > 0);
    world->nodes[0].env.ops = &world_ops;
    world_close(world);
}

/* A hello that was long under way, of an earlier session or life, takes no link down. */
static void old_hellos_change_nothing(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct link_hello old = hello_good(world);
    old.self.session--;
    arrive(world, hello_forge(world, &old));
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    old.self = (struct hello_end){old.self.incarnation - 1, 99};
    arrive(world, hello_forge(world, &old));
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    world_close(world);
}

static struct packet *rows_forge(const struct world *world, uint32_t self, uint32_t peer)
{
    const struct link_report report = {4, 9, 9, 0, 0}; /* server 4 begins another life */
    const struct hello_rows rows = {
        .self_session = self, .peer_session = peer, .sequence = 1000, .count = 1};
    uint8_t bytes[HELLO_ROWS_HEAD + HELLO_ROW_SIZE + HELLO_TAIL];
    hello_rows_write(&rows, &report, bytes);
    return world_forge(world, 0, bytes, sizeof bytes);
}

static void rows_of_another_meeting_are_left_alone(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    const struct node_port *at = &world->nodes[0].node->ports[port_of(world)];
    uint32_t self = at->peer.session, peer = at->session;
    arrive(world, rows_forge(world, self + 1, peer));
    arrive(world, rows_forge(world, self, peer + 1));
    struct packet *packet = rows_forge(world, self, peer);
    packet_set_server(packet, 0);
    arrive(world, packet);
    assert_int_equal(seen.dropped[DROP_REFUSED], 1);
    assert_int_equal(seen.rows, 0);
    arrive(world, rows_forge(world, self, peer));
    assert_int_equal(seen.rows, 1); /* it was none of the others' contents */
    world_close(world);
}

static void rows_without_a_link_are_left_alone(void **state)
{
    struct world *world = stage_open(0);
    arrive(world, rows_forge(world, 0, 1)); /* the sessions of who has met nobody */
    assert_int_equal(seen.rows, 0);
    world_close(world);
}

static void a_seen_is_for_a_server(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    uint8_t bytes[HELLO_SEEN_SIZE];
    hello_seen_write(&(struct link_seen){1, 1, 1, 1}, bytes);
    arrive(world, world_forge(world, 0, bytes, sizeof bytes)); /* to a neighbour */
    assert_int_equal(seen.dropped[DROP_REFUSED], 1);
    world_close(world);
}

TEST_MAIN(TEST(a_hello_counts_only_if_it_is_a_neighbours),
          TEST(another_end_than_planned_is_miswired),
          TEST(a_cable_where_none_is_planned_is_miswired),
          TEST(a_hello_that_just_fits_goes_out_at_once), TEST(old_hellos_change_nothing),
          TEST(rows_of_another_meeting_are_left_alone), TEST(rows_without_a_link_are_left_alone),
          TEST(a_seen_is_for_a_server))
