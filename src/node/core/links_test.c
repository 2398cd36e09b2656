/* Checks that links reject messages of service 0 that are forged or outdated. */
#include "node/core/node_impl.h"
#include "node/links/hello.h"
#include "node/node_world.h"

#define SPEC "torus:5"

static struct {
    unsigned rows; /* that were new at server 0 */
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

/* The port of server 0 that leads to server 1, and the node's snapshot of it. */
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

/* A hello as server 1 would send it now. */
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

/* Server 0 receives the packet, and does nothing else. */
static void arrive(struct world *world, struct packet *packet)
{
    world_arrive(world, 1, 0, packet);
    world_run(world, 1);
}

static void a_hello_counts_only_if_a_neighbour_sent_it(void **state)
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

    other.layout++; /* rows with other columns: another version of weft */
    arrive(world, hello_forge(world, &other));
    assert_int_equal(port_snapshot(world).found, 1);
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    world_close(world);
}

static void a_neighbour_other_than_planned_is_miswired(void **state)
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
    assert_true(port < world->plan.port_count); /* along an axis of two servers -x has no cable */
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

/* A hello goes out without waking the other end, as long as there is room. */
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

static unsigned urgent_hellos;

static void urgent_transmit(struct env *env, unsigned port, struct packet **packets, unsigned count,
                            bool lazy)
{
    for (unsigned i = 0; i < count; i++)
        urgent_hellos +=
            !lazy && packets[i]->service == 0 &&
            hello_type(packet_payload(packets[i]), packets[i]->size - PACKET_HEADER_SIZE) == HELLO;
    world_transmit(env, port, packets, count, lazy);
}

/* The other end has restarted and waits for us. */
static void a_hello_that_the_neighbour_waits_for_wakes_it(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct env_ops ops = world_ops;
    ops.transmit = urgent_transmit;
    world->nodes[0].env.ops = &ops;
    world_run(world, WORLD_SETTLED);
    assert_int_equal(urgent_hellos, 0);
    struct link_hello hello = hello_good(world);
    hello.self.incarnation++;
    arrive(world, hello_forge(world, &hello));
    assert_int_equal(urgent_hellos, 1);
    world->nodes[0].env.ops = &world_ops;
    world_close(world);
}

/* A message that cannot be sent for want of a packet is sent later. */
static void links_come_up_though_packets_are_scarce(void **state)
{
    static struct packet *taken[WORLD_PACKETS + 1]; /* the last entry is NULL */
    struct world *world = stage_open(0);
    for (unsigned i = 0; i < 400; i++) {
        unsigned count = 0;
        while ((taken[count] = packet_take(world->pool, PACKET_HEADER_SIZE)) != NULL)
            count++;
        world_run(world, 500000 + 7000 * i); /* at many different moments */
        while (count > 0)
            packet_done(taken[--count]);
        world_run(world, 300000);
    }
    world_run(world, WORLD_SETTLED);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_int_equal(snapshot.reachable, 5);
    assert_true(snapshot.drops[DROP_NO_BUFFER] > 0);
    world_close(world);
}

/* A delayed hello of an earlier session or incarnation takes no link down. */
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
    const struct link_report report = {4, 9, 9, 0, 0}; /* server 4 restarts */
    const struct hello_rows rows = {
        .self_session = self, .peer_session = peer, .sequence = 1000, .count = 1};
    uint8_t bytes[HELLO_ROWS_HEAD + HELLO_ROW_SIZE + HELLO_TAIL];
    hello_rows_write(&rows, &report, bytes);
    return world_forge(world, 0, bytes, sizeof bytes);
}

static void rows_of_another_session_are_ignored(void **state)
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
    assert_int_equal(seen.rows, 1); /* so the others were not refused for their content */
    world_close(world);
}

static void rows_without_a_link_are_ignored(void **state)
{
    struct world *world = stage_open(0);
    arrive(world, rows_forge(world, 0, 1)); /* the sessions of a server without a neighbour */
    assert_int_equal(seen.rows, 0);
    world_close(world);
}

/* Server 4 announces a coming link. We have to send it a "seen", but no packet is free, and it does
 * not ask again before the end of the test. */
static void without_a_free_packet_no_seen_message_is_sent(void **state)
{
    static struct packet *taken[WORLD_PACKETS + 1]; /* the last entry is NULL */
    struct world *world = stage_open(WORLD_SETTLED);
    const struct node_port *at = &world->nodes[0].node->ports[port_of(world)];
    const struct link_report report = {4, 1, 9, 3, 1};
    const struct hello_rows rows = {.self_session = at->peer.session,
                                    .peer_session = at->session,
                                    .sequence = 1000,
                                    .count = 1};
    uint8_t bytes[HELLO_ROWS_HEAD + HELLO_ROW_SIZE + HELLO_TAIL];
    hello_rows_write(&rows, &report, bytes);
    struct packet *packet = world_forge(world, 0, bytes, sizeof bytes);
    unsigned count = 0;
    while ((taken[count] = packet_take(world->pool, PACKET_HEADER_SIZE)) != NULL)
        count++;
    arrive(world, packet);
    assert_int_equal(seen.rows, 1);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_true(snapshot.drops[DROP_NO_BUFFER] > 0);
    while (count > 0)
        packet_done(taken[--count]);
    world_close(world);
}

/* ---- a packet in an open frame ---- */

static unsigned relayed, relayed_hops;

static void relay_deliver(struct weft_self *self, struct weft_packet *packet)
{
    relayed++;
    relayed_hops = weft_hops(packet);
    weft_done(packet);
}

/* In one step a packet arrives from one side, and the link to the other side goes down. */
static void a_packet_for_a_link_that_goes_down_takes_another_path(void **state)
{
    static const struct weft_service_ops ops = {.deliver = relay_deliver};
    static const struct weft_service relay = {
        .version = WEFT_SERVICE_VERSION, .name = "relay", .id = 300, .ops = &ops};
    static const struct weft_service *const list[] = {&relay, NULL};
    struct world *world = world_open_settled(SPEC, list, 0);
    const struct node *node = world->nodes[0].node;
    node_id from = plan_end(&world->plan, 0, 0)->server; /* port 0 is handled first */
    node_id to = plan_end(&world->plan, 0, 1)->server;
    struct link_hello hello = {.server = to,
                               .port = plan_port(&world->plan, to, 0),
                               .self = node->ports[1].peer,
                               .layout = node->state.table.schema.hash};
    hello.self.incarnation++;
    struct packet *packet = world_forge(world, 300, NULL, 0);
    packet_set_server(packet, to);
    world_arrive(world, from, 0, packet);
    world_arrive(world, to, 0, hello_forge(world, &hello));
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(relayed, 1);
    assert_true(relayed_hops > 2);
    world_close(world);
}

/* ---- a packet for a port that goes down ---- */

static void caller_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    uint8_t port;
    assert_int_equal(size, sizeof port);
    memcpy(&port, bytes, sizeof port);
    assert_int_equal(weft_send_port(self, weft_packet(self, 0), port), 0);
}

static uint32_t no_room(struct env *env, unsigned port)
{
    return 0;
}

/* The port goes down before the other servers hear that its neighbour was near, so no route
 * changes. */
static void what_waits_for_a_coming_link_is_dropped_with_it(void **state)
{
    static const struct weft_service_ops ops = {.deliver = relay_deliver,
                                                .request = caller_request};
    static const struct weft_service caller = {
        .version = WEFT_SERVICE_VERSION, .name = "caller", .id = 300, .ops = &ops};
    static const struct weft_service *const list[] = {&caller, NULL};
    const struct node_config config = {.seed = 1, .watcher = &watcher, .services = list};
    struct world *world = world_open(SPEC, &config);
    struct node *node = world->nodes[0].node;
    const uint8_t port = (uint8_t)port_of(world);
    struct env_ops blocked = world_ops;
    blocked.room = no_room;
    while (node->ports[port].state != PORT_COMING)
        world_run(world, COMING_HOLD_NSEC / 10);
    struct link_report own;
    assert_true(link_state_report(&node->state, 0, &own) && !(own.near >> port & 1));

    memset(&seen, 0, sizeof seen);
    world->nodes[0].env.ops = &blocked;
    world_ask(world, 0, caller.id, 1, &port, sizeof port);
    world_run(world, 1);
    assert_int_equal(seen.dropped[DROP_PORT_DOWN], 0);
    node_carrier(node, port, false);
    world->nodes[0].next = world->now;
    world_run(world, 1);
    assert_int_equal(seen.dropped[DROP_PORT_DOWN], 1);
    world->nodes[0].env.ops = &world_ops;
    world_close(world);
}

static void a_seen_message_to_a_neighbour_is_refused(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    uint8_t bytes[HELLO_SEEN_SIZE];
    hello_seen_write(&(struct link_seen){1, 1, 1, 1}, bytes);
    arrive(world, world_forge(world, 0, bytes, sizeof bytes)); /* to a neighbour */
    assert_int_equal(seen.dropped[DROP_REFUSED], 1);
    world_close(world);
}

/* ---- the carrier and the operator ---- */

static bool carries(const struct world *world)
{
    return world->nodes[0].node->carriers >> port_of(world) & 1;
}

static void a_link_without_a_carrier_is_down_at_once(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct node *node = world->nodes[0].node;
    const struct node_port *at = &node->ports[port_of(world)];
    uint32_t session = at->session;
    node_carrier(node, port_of(world), true); /* no change */
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    assert_true(carries(world));
    node_carrier(node, port_of(world), false);
    assert_int_equal(port_snapshot(world).state, PORT_DOWN);
    assert_false(carries(world));
    assert_int_equal(at->session, session + 1);
    uint64_t frames = at->frames_out;
    world_cut(world, 0, 1, true);
    world->nodes[0].next = world->now;
    world_run(world, WORLD_SETTLED);
    assert_int_equal(at->frames_out, frames); /* no hello is sent over it */
    world_cut(world, 0, 1, false);
    node_carrier(node, port_of(world), true);
    assert_true(carries(world));
    world->nodes[0].next = world->now;
    world_run(world, 1);
    assert_true(at->frames_out > frames); /* now a hello is sent at once */
    world_run(world, WORLD_SETTLED);
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    world_close(world);
}

static void a_link_that_was_not_up_keeps_its_session(void **state)
{
    struct world *world = stage_open(0);
    node_carrier(world->nodes[0].node, port_of(world), false);
    assert_int_equal(world->nodes[0].node->ports[port_of(world)].session, 1);
    world_close(world);
}

static void a_cut_link_stays_cut_until_it_is_mended(void **state)
{
    struct world *world = stage_open(WORLD_SETTLED);
    struct node *node = world->nodes[0].node;
    const struct node_port *at = &node->ports[port_of(world)];
    uint32_t session = at->session;
    node_cut(node, port_of(world), false); /* no change */
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    node_cut(node, port_of(world), true);
    node_cut(node, port_of(world), true);
    assert_int_equal(at->session, session + 1);
    assert_false(carries(world));
    uint64_t frames = at->frames_out;
    world->nodes[0].next = world->now;
    world_run(world, WORLD_SETTLED); /* the other end sends hellos all the time */
    assert_int_equal(port_snapshot(world).state, PORT_CUT);
    assert_int_equal(at->frames_out, frames);
    node_carrier(node, port_of(world), false);
    assert_int_equal(port_snapshot(world).state, PORT_CUT);
    node_cut(node, port_of(world), false);
    assert_int_equal(port_snapshot(world).state, PORT_DOWN);
    assert_false(carries(world)); /* there is no carrier yet */
    node_carrier(node, port_of(world), true);
    assert_true(carries(world));
    world->nodes[0].next = world->now;
    world_run(world, WORLD_SETTLED);
    assert_int_equal(port_snapshot(world).state, PORT_UP);
    world_close(world);
}

static void ports_without_a_cable_cannot_be_cut_or_mended(void **state)
{
    const struct node_config config = {.seed = 1};
    struct world *world = world_open("torus:2x3", &config);
    struct node *node = world->nodes[0].node;
    unsigned port = 0;
    while (plan_end(&world->plan, 0, port)->server != NODE_NONE)
        port++;
    node_cut(node, port, true);
    node_carrier(node, port, true);
    struct port_snapshot snapshot;
    node_snapshot_port(node, port, &snapshot);
    assert_int_equal(snapshot.state, PORT_ABSENT);
    assert_false(node->carriers >> port & 1);
    world_close(world);
}

static void a_node_may_start_settled(void **state)
{
    static const uint64_t incarnations[] = {1, 1, 1, 1, 1};
    const struct node_config config = {.seed = 1};
    struct world *world = world_open(SPEC, &config);
    for (node_id id = 0; id < 5; id++)
        node_settle(world->nodes[id].node, incarnations);
    env_nsec hello_at[5];
    struct node_snapshot first, snapshot;
    node_snapshot(world->nodes[0].node, &first);
    for (node_id id = 0; id < 5; id++) {
        struct node *node = world->nodes[id].node;
        node_snapshot(node, &snapshot);
        assert_true(snapshot.settled && snapshot.digest == first.digest);
        assert_int_equal(snapshot.reachable, 5);
        for (unsigned port = 0; port < 2; port++) {
            struct port_snapshot end;
            node_snapshot_port(node, port, &end);
            assert_int_equal(end.state, PORT_UP);
            assert_int_equal(end.found, end.peer);
            assert_int_equal(end.found_port, end.peer_port);
        }
        node_check(node);
        hello_at[id] = node->hello_at;
        assert_true(hello_at[id] < HELLO_NSEC);
        assert_true(id == 0 || hello_at[id] != hello_at[0]);
    }
    world_run(world, 3 * HELLOS_MISSED * HELLO_NSEC);
    for (node_id id = 0; id < 5; id++) {
        node_snapshot(world->nodes[id].node, &snapshot);
        assert_int_equal(snapshot.reachable, 5);
        assert_int_equal(snapshot.rows_taken, 4); /* no row was new */
        assert_int_equal(snapshot.drops[DROP_STRAY], 0);
    }
    world_close(world);
}

/* ---- moments ---- */

static struct world *timed;
static env_nsec down_at;

static void on_port(struct node_watcher *self, node_id at, unsigned port, bool up)
{
    if (at == 0 && !up)
        down_at = timed->now;
}

static void a_silent_link_goes_down_when_its_time_is_over(void **state)
{
    struct node_watcher watched = {.port = on_port};
    const struct node_config config = {
        .seed = 1, .watcher = &watched, .hello_nsec = 100000000, .silence_nsec = 333000000};
    timed = world_open(SPEC, &config);
    world_run(timed, WORLD_SETTLED);
    assert_int_equal(port_snapshot(timed).state, PORT_UP);
    world_cut(timed, 0, 1, true);
    world_run(timed, 10 * WORLD_DELAY);
    env_nsec heard_at = timed->nodes[0].node->ports[port_of(timed)].heard_at;
    world_run(timed, 1000000000);
    assert_true(down_at == heard_at + config.silence_nsec);
    world_close(timed);
}

static void a_lone_server_settles_after_the_silence_time(void **state)
{
    const struct node_config config = {
        .seed = 1, .hello_nsec = 1000000000, .silence_nsec = 333000000};
    struct world *world = world_open(SPEC, &config);
    for (node_id id = 1; id < 5; id++)
        world_crash(world, id);
    struct node_snapshot snapshot;
    world_run(world, config.silence_nsec);
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_false(snapshot.settled);
    world_run(world, 1);
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_true(snapshot.settled);
    world_close(world);
}

/* Loses all "seen" messages. */
static unsigned unseeing_receive(struct env *env, unsigned port, struct packet **out, unsigned most)
{
    struct packet *packet;
    unsigned count = 0;
    while (count < most && world_receive(env, port, &packet, 1)) {
        if (packet->service == 0 &&
            hello_type(packet_payload(packet), packet->size - PACKET_HEADER_SIZE) == HELLO_SEEN)
            packet_done(packet);
        else
            out[count++] = packet;
    }
    return count;
}

/* A coming link is announced a moment after it is near, then again until all servers have seen it:
 * after 50 ms, then each time after twice as long, up to 400 ms; then from the start. */
static void an_unseen_link_is_announced_again(void **state)
{
    static const env_nsec waits[] = {1, 2, 4, 8, 1, 2};
    const env_nsec tick = 100000;
    const struct node_config config = {.seed = 1};
    struct world *world = world_open(SPEC, &config);
    struct env_ops ops = world_ops;
    ops.receive = unseeing_receive;
    world->nodes[0].env.ops = &ops;
    const struct node *node = world->nodes[0].node;
    while (node->ports[0].state != PORT_COMING)
        world_run(world, tick);
    env_nsec near_at = world->now;
    struct link_report own;
    while (link_state_report(&node->state, 0, &own) && !own.near)
        world_run(world, tick);
    assert_in_range(world->now - near_at, COMING_HOLD_NSEC - tick, COMING_HOLD_NSEC);
    while (node->ports[1].state != PORT_COMING)
        world_run(world, tick);
    while (link_state_report(&node->state, 0, &own) && own.near != 3)
        world_run(world, tick);
    env_nsec last = world->now;
    for (unsigned i = 0; i < 6; i++) {
        uint64_t version = own.version;
        while (link_state_report(&node->state, 0, &own) && own.version == version)
            world_run(world, tick);
        assert_in_range(world->now - last, waits[i] * SEEN_AGAIN_NSEC - tick,
                        waits[i] * SEEN_AGAIN_NSEC + tick);
        last = world->now;
    }
    assert_int_equal(node->ports[0].state, PORT_COMING);
    world->nodes[0].env.ops = &world_ops;
    world_close(world);
}

TEST_MAIN(TEST(without_a_free_packet_no_seen_message_is_sent),
          TEST(a_packet_for_a_link_that_goes_down_takes_another_path),
          TEST(what_waits_for_a_coming_link_is_dropped_with_it),
          TEST(a_link_that_was_not_up_keeps_its_session),
          TEST(a_hello_that_the_neighbour_waits_for_wakes_it),
          TEST(links_come_up_though_packets_are_scarce),
          TEST(a_link_without_a_carrier_is_down_at_once),
          TEST(a_cut_link_stays_cut_until_it_is_mended),
          TEST(ports_without_a_cable_cannot_be_cut_or_mended), TEST(a_node_may_start_settled),
          TEST(a_silent_link_goes_down_when_its_time_is_over),
          TEST(a_lone_server_settles_after_the_silence_time),
          TEST(an_unseen_link_is_announced_again), TEST(a_hello_counts_only_if_a_neighbour_sent_it),
          TEST(a_neighbour_other_than_planned_is_miswired),
          TEST(a_cable_where_none_is_planned_is_miswired),
          TEST(a_hello_that_just_fits_goes_out_at_once), TEST(old_hellos_change_nothing),
          TEST(rows_of_another_session_are_ignored), TEST(rows_without_a_link_are_ignored),
          TEST(a_seen_message_to_a_neighbour_is_refused))
