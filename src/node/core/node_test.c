#include "node/node.h"

#include "base/rng.h"
#include "node/node_world.h"

#define MSEC 1000000LL

/* ---- a service that counts its packets ---- */

struct tally {
    uint64_t delivered, passed, hops, replies;
};

static struct tally *tally_of(struct weft_self *self)
{
    return weft_memory(self);
}

static void tally_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct tally *tally = tally_of(self);
    tally->hops = weft_hops(packet);
    if (weft_identity(packet) == 7) {
        tally->replies++;
        weft_done(packet);
        return;
    }
    tally->delivered++;
    weft_set_identity(packet, 7);
    weft_reply(self, packet);
}

static enum weft_verdict tally_intercept(struct weft_self *self, struct weft_packet *packet)
{
    tally_of(self)->passed++;
    return WEFT_PASS;
}

/* A request is 8 bytes: the route of a key. */
static void tally_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    uint64_t route;
    assert_int_equal(size, sizeof route);
    memcpy(&route, bytes, sizeof route);
    struct weft_key key;
    struct key made = key_make(route);
    memcpy(key.bytes, made.bytes, sizeof key.bytes);
    weft_send_key(self, weft_packet(self, 100), &key);
}

static const struct weft_service_ops tally_ops = {
    .deliver = tally_deliver,
    .intercept = tally_intercept,
    .request = tally_request,
};

static const struct weft_service tally_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "tally",
    .id = 300,
    .size = sizeof(struct tally),
    .ops = &tally_ops,
};

static const struct weft_service *const services[] = {&tally_service, NULL};
static const struct node_config config = {.seed = 1, .services = services};

struct seek {
    uint64_t value;
    const char *name;
};

static void stat_told(void *context, const char *service, const char *name, uint64_t value)
{
    struct seek *seek = context;
    if (!strcmp(service, "tally") && !strcmp(name, seek->name))
        seek->value = value;
}

static uint64_t stat_of(struct world *world, node_id id, const char *name)
{
    struct seek seek = {0, name};
    node_stats(world->nodes[id].node, stat_told, &seek);
    return seek.value;
}

static void all_know_all(struct world *world, uint32_t alive)
{
    uint64_t digest = 0;
    for (node_id id = 0; id < world->plan.server_count; id++) {
        if (!world->nodes[id].node)
            continue;
        struct node_snapshot snapshot;
        node_snapshot(world->nodes[id].node, &snapshot);
        assert_int_equal(snapshot.reachable, alive);
        assert_true(snapshot.settled);
        assert_true(!digest || digest == snapshot.digest);
        digest = snapshot.digest;
        node_check(world->nodes[id].node);
    }
}

static void all_servers_of_a_cluster_find_each_other(void **state)
{
    const char *specs[] = {
        "torus:3x3x3", "torus:4x5", "novacube:4x4", "jellyfish:n=20,degree=5,seed=3",
        "torus:2x2x2", "torus:1",   "torus:2"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct world *world = world_open(specs[i], &config);
        world_run(world, 300 * MSEC);
        if (world->plan.server_count == 1)
            world_run(world, 1000 * MSEC);
        all_know_all(world, world->plan.server_count);
        world_close(world);
    }
}

static void ask(struct world *world, node_id from, uint64_t route)
{
    struct world_node *at = &world->nodes[from];
    at->env.now = world->now;
    assert_int_equal(node_local(at->node, &(struct env_answer){1, 1, 300}, &route, sizeof route),
                     0);
    at->next = world->now;
}

static void keys_reach_their_root_and_come_back(void **state)
{
    struct world *world = world_open("torus:3x3x3", &config);
    world_run(world, 300 * MSEC);
    struct rng rng = rng_make(5, 0);
    uint64_t expected[27] = {0};
    for (unsigned i = 0; i < 500; i++) {
        uint64_t route = rng_next(&rng);
        struct key key = key_make(route);
        node_id root = node_root(world->nodes[i % 27].node, &key);
        assert_int_equal(root, keyspace_group(&world->plan.keyspace, route).home);
        expected[root]++;
        ask(world, i % 27, route);
        world_run(world, 2 * MSEC / 10);
    }
    world_run(world, 5 * MSEC);
    uint64_t replies = 0;
    for (node_id id = 0; id < 27; id++) {
        replies += stat_of(world, id, "delivered") - expected[id];
        assert_int_equal(stat_of(world, id, "dropped"), 0);
    }
    assert_int_equal(replies, 500);
    world_close(world);
}

/* Server 0 of a ring of five sends 20 packets at once to keys of server 2; returns what server 1
 * sends on to 2. */
static struct port_snapshot passed_on(bool separate)
{
    struct node_config with = config;
    with.separate = separate;
    struct world *world = world_open("torus:5", &with);
    struct port_snapshot before, after;
    unsigned port = 0;
    while (plan_end(&world->plan, 1, port)->server != 2)
        port++;
    world_run(world, 300 * MSEC);
    world_run(world, 10 * MSEC); /* between two hellos */
    node_snapshot_port(world->nodes[1].node, port, &before);
    struct rng rng = rng_make(7, 0);
    for (unsigned count = 0; count < 20;) {
        uint64_t route = rng_next(&rng);
        if (keyspace_group(&world->plan.keyspace, route).home != 2)
            continue;
        ask(world, 0, route);
        count++;
    }
    world_run(world, 1 * MSEC);
    node_snapshot_port(world->nodes[1].node, port, &after);
    assert_int_equal(stat_of(world, 2, "delivered"), 20);
    assert_int_equal(stat_of(world, 0, "delivered"), 20); /* their replies */
    world_close(world);
    after.packets_out -= before.packets_out;
    after.frames_out -= before.frames_out;
    return after;
}

static void a_node_that_has_not_settled_names_no_root(void **state)
{
    struct world *world = world_open("torus:5", &config);
    struct key key = key_make(1);
    for (node_id id = 0; id < 5; id++) {
        assert_int_equal(node_root(world->nodes[id].node, &key), NODE_NONE);
        assert_false(node_is_root(world->nodes[id].node, 1));
    }
    world_run(world, 300 * MSEC);
    for (node_id id = 0; id < 5; id++)
        assert_int_equal(node_root(world->nodes[id].node, &key),
                         keyspace_group(&world->plan.keyspace, 1).home);
    world_close(world);
}

static void packets_that_arrive_together_leave_in_one_frame(void **state)
{
    struct port_snapshot snapshot = passed_on(false);
    assert_int_equal(snapshot.packets_out, 20);
    assert_int_equal(snapshot.frames_out, 1);
    snapshot = passed_on(true);
    assert_int_equal(snapshot.packets_out, 20);
    assert_int_equal(snapshot.frames_out, 20);
}

static void a_killed_server_is_replaced_and_returns(void **state)
{
    struct world *world = world_open("torus:3x3x3", &config);
    world_run(world, 300 * MSEC);
    world_crash(world, 13);
    world_run(world, 1500 * MSEC);
    all_know_all(world, 26);
    struct rng rng = rng_make(6, 0);
    uint64_t route;
    do
        route = rng_next(&rng);
    while (keyspace_group(&world->plan.keyspace, route).home != 13);
    struct key key = key_make(route);
    node_id root = node_root(world->nodes[0].node, &key);
    assert_int_not_equal(root, 13);
    ask(world, 0, route);
    world_run(world, 5 * MSEC);
    assert_true(stat_of(world, root, "delivered") > 0);
    world_start(world, 13);
    world_run(world, 1000 * MSEC);
    all_know_all(world, 27);
    assert_int_equal(node_root(world->nodes[0].node, &key), 13);
    assert_true(node_is_root(world->nodes[13].node, route));
    assert_false(node_is_root(world->nodes[root].node, route));
    world_close(world);
}

static void two_halves_separate_and_join_again(void **state)
{
    struct world *world = world_open("torus:4x3", &config);
    world_run(world, 300 * MSEC);
    all_know_all(world, 12);
    for (node_id y = 0; y < 3; y++) { /* x 0,1 from x 2,3 */
        world_cut(world, 4 * y + 1, 4 * y + 2, true);
        world_cut(world, 4 * y + 3, 4 * y, true);
    }
    world_run(world, 1500 * MSEC);
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[0].node, &snapshot);
    assert_int_equal(snapshot.reachable, 6);
    for (node_id y = 0; y < 3; y++) {
        world_cut(world, 4 * y + 1, 4 * y + 2, false);
        world_cut(world, 4 * y + 3, 4 * y, false);
    }
    world_run(world, 1500 * MSEC);
    all_know_all(world, 12);
    world_close(world);
}

/* The server reads nothing, so that packets to it fill its links, and sends nothing. */
static void hang(struct world *world, node_id server)
{
    for (unsigned port = 0; port < world->plan.port_count; port++) {
        world_link(world, server, port)->dead = true;
        world_link_to(world, server, port)->free_at = INT64_MAX;
    }
}

static void a_hung_neighbour_does_not_block_other_links(void **state)
{
    struct world *world = world_open("torus:3x3", &config);
    world_run(world, 300 * MSEC);
    hang(world, 4);
    world_run(world, 60 * 1000 * MSEC); /* hundreds of hellos find no room */
    world_crash(world, 0);
    world_run(world, 1500 * MSEC);
    world_start(world, 0);
    world_run(world, 1000 * MSEC);
    for (node_id id = 0; id < 9; id++) {
        struct node_snapshot snapshot;
        node_snapshot(world->nodes[id].node, &snapshot);
        assert_int_equal(snapshot.reachable, id == 4 ? 1 : 8);
        assert_true(snapshot.settled);
    }
    world_close(world);
}

/* The same, but the neighbour is not given up yet, and rows are sent to it again and again. */
static void a_hung_neighbour_does_not_delay_rows_to_others(void **state)
{
    struct node_config patient = config;
    patient.silence_nsec = 200 * 1000 * MSEC;
    struct world *world = world_open("torus:3x3", &patient);
    world_run(world, 300 * MSEC);
    hang(world, 4);
    for (int times = 0; times < 2; times++) {
        node_cut(world->nodes[2].node, plan_port(&world->plan, 2, 8), times == 0);
        world->nodes[2].next = world->now;
        world_run(world, 50 * 1000 * MSEC);
    }
    node_cut(world->nodes[2].node, plan_port(&world->plan, 2, 8), true);
    world->nodes[2].next = world->now;
    world_run(world, 500 * MSEC);
    struct node_snapshot first, snapshot;
    node_snapshot(world->nodes[0].node, &first);
    for (node_id id = 0; id < 9; id++) {
        node_snapshot(world->nodes[id].node, &snapshot);
        assert_true((snapshot.digest == first.digest) == (id != 4));
    }
    world_close(world);
}

/* ---- a service that is always late ---- */

static void late_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    for (uint64_t cookie = 0; cookie < 3; cookie++)
        assert_int_equal(weft_timer(self, weft_now(self), cookie), 0);
}

/* Sets a timer for a moment in the past: no other timer may have to wait for it. */
static void late_timer(struct weft_self *self, uint64_t cookie)
{
    uint64_t *fired = weft_memory(self);
    fired[cookie]++;
    if (cookie == 0)
        assert_int_equal(weft_timer(self, weft_now(self) - 1000 * MSEC, 0), 0);
}

static void late_stats(struct weft_self *self, struct weft_report *report)
{
    const uint64_t *fired = weft_memory(self);
    weft_stat(report, "again", fired[0]);
    weft_stat(report, "others", fired[1] + fired[2]);
}

static void a_late_service_does_not_block_the_node(void **state)
{
    static const struct weft_service_ops ops = {
        .request = late_request, .timer = late_timer, .stats = late_stats};
    static const struct weft_service late = {.version = WEFT_SERVICE_VERSION,
                                             .name = "late",
                                             .id = 301,
                                             .size = 3 * sizeof(uint64_t),
                                             .ops = &ops};
    static const struct weft_service *const list[] = {&late, NULL};
    struct world *world = world_open_settled("torus:2", list, 0);
    struct node *node = world->nodes[0].node;
    assert_int_equal(node_local(node, &(struct env_answer){1, 1, 301}, "", 0), 0);
    for (uint64_t step = 1; step <= 5; step++) {
        assert_true(node_step(node) <= world->now); /* there is more to do */
        assert_int_equal(world_number(world, 0, "late", "again"), step);
        assert_int_equal(world_number(world, 0, "late", "others"), 2);
    }
    world_close(world);
}

static void asked_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    ++*(uint64_t *)weft_memory(self);
}

static void asked_stats(struct weft_self *self, struct weft_report *report)
{
    weft_stat(report, "requests", *(const uint64_t *)weft_memory(self));
}

static void services_whose_ids_have_the_same_low_byte_are_told_apart(void **state)
{
    static const struct weft_service_ops ops = {.request = asked_request, .stats = asked_stats};
    static const char *const names[] = {"low", "middle", "high"};
    struct weft_service asked[3];
    const struct weft_service *list[4] = {NULL};
    for (unsigned i = 0; i < 3; i++) {
        asked[i] = (struct weft_service){.version = WEFT_SERVICE_VERSION,
                                         .name = names[i],
                                         .id = (uint16_t)(44 + 256 * i),
                                         .size = sizeof(uint64_t),
                                         .ops = &ops};
        list[i] = &asked[i];
    }
    struct world *world = world_open_settled("torus:2", list, 0);
    struct node *node = world->nodes[0].node;
    for (unsigned i = 0; i < 3; i++) {
        const struct env_answer from = {1, 1, asked[i].id};
        assert_int_equal(node_local(node, &from, "", 0), 0);
        for (unsigned other = 0; other < 3; other++)
            assert_int_equal(world_number(world, 0, names[other], "requests"), other <= i);
    }
    assert_int_equal(node_local(node, &(struct env_answer){1, 1, 44 + 256 * 3}, "", 0), -ENOENT);
    assert_int_equal(node_local(node, &(struct env_answer){1, 1, 45}, "", 0), -ENOENT);
    world_close(world);
}

TEST_MAIN(TEST(all_servers_of_a_cluster_find_each_other), TEST(keys_reach_their_root_and_come_back),
          TEST(a_node_that_has_not_settled_names_no_root),
          TEST(packets_that_arrive_together_leave_in_one_frame),
          TEST(a_killed_server_is_replaced_and_returns), TEST(two_halves_separate_and_join_again),
          TEST(a_hung_neighbour_does_not_block_other_links),
          TEST(a_hung_neighbour_does_not_delay_rows_to_others),
          TEST(a_late_service_does_not_block_the_node),
          TEST(services_whose_ids_have_the_same_low_byte_are_told_apart))
