/* Checks what a server does that was away for longer than the silence: before it handles a packet,
 * a timer or a request, it has no links and is root of no key. */
#include <weft/service.h>

#include "node/node_world.h"

#define PROBE 300
#define MSEC  INT64_C(1000000)

/* Defaults of a node: hellos every 200 ms, a silence of 1 s. */
#define HELLO   (200 * MSEC)
#define SILENCE (1000 * MSEC)

/* A service that records what it sees when it is called. */
struct probe {
    unsigned delivered;          /* packets to a key */
    unsigned timers, timer_root; /* and how many of them found this server to be the root */
    unsigned requests, request_root, request_reached;
    unsigned gone, gone_root;
    unsigned peers_down;
    unsigned peers_down_at_timer; /* peers_down when the timer came */
};

static struct probe *probes[9]; /* by server; written by start(), valid while its world is open */

static struct weft_key any_key(void)
{
    return weft_key_of("any", 3);
}

static int probe_start(struct weft_self *self)
{
    probes[weft_here(self)] = weft_memory(self);
    return 0;
}

static void probe_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct probe *probe = weft_memory(self);
    struct weft_key key;
    probe->delivered += weft_is_for_key(packet, &key);
    weft_done(packet);
}

static unsigned is_root(struct weft_self *self)
{
    struct weft_key key = any_key();
    return weft_is_root(self, &key);
}

static void probe_timer(struct weft_self *self, uint64_t cookie)
{
    struct probe *probe = weft_memory(self);
    probe->timers++;
    probe->timer_root += is_root(self);
    probe->peers_down_at_timer = probe->peers_down;
}

/* "s": sends a packet to the key; "t": sets a timer of 1 ms; anything else: looks. */
static void probe_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct probe *probe = weft_memory(self);
    struct weft_key key = any_key();
    char what = *(const char *)bytes;
    probe->requests++;
    probe->request_root += is_root(self);
    for (weft_server server = 0; server < weft_server_count(self); server++)
        probe->request_reached += server != weft_here(self) && weft_reaches(self, server);
    if (what == 's')
        assert_int_equal(weft_send_key(self, weft_packet(self, 8), &key), 0);
    else if (what == 't')
        assert_int_equal(weft_timer(self, weft_now(self) + MSEC, 0), 0);
}

static void probe_gone(struct weft_self *self, uint64_t client)
{
    struct probe *probe = weft_memory(self);
    probe->gone++;
    probe->gone_root += is_root(self);
}

static void probe_peer_down(struct weft_self *self, weft_server server)
{
    struct probe *probe = weft_memory(self);
    probe->peers_down++;
}

static const struct weft_service_ops probe_ops = {
    .start = probe_start,
    .deliver = probe_deliver,
    .timer = probe_timer,
    .request = probe_request,
    .gone = probe_gone,
    .peer_down = probe_peer_down,
};

static const struct weft_service probe_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "probe",
    .id = PROBE,
    .size = sizeof(struct probe),
    .ops = &probe_ops,
};

static const struct weft_service *const services[] = {&probe_service, NULL};

static node_id root_of(struct world *world)
{
    struct weft_key any = any_key();
    struct key key;
    memcpy(key.bytes, any.bytes, KEY_SIZE);
    return node_root(world->nodes[0].node, &key);
}

static void ask(struct world *world, node_id server, const char *what)
{
    world_ask(world, server, PROBE, 1, what, 1);
}

/* Waits until all servers have just sent their hellos, then lets `length` pass without a step. */
static void be_away(struct world *world, env_nsec length)
{
    world_run(world, 3 * HELLO);
    world->now += length;
}

static bool is_settled(const struct world *world, node_id server)
{
    struct node_snapshot snapshot;
    node_snapshot(world->nodes[server].node, &snapshot);
    return snapshot.settled;
}

static void a_packet_that_waited_is_not_delivered(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world), other = (root + 4) % 9;
    ask(world, other, "s");
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(probes[root]->delivered, 1);

    ask(world, other, "s");
    world_run(world, WORLD_DELAY / 2); /* it is in flight */
    world->now += SILENCE;
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(probes[root]->delivered, 1);
    assert_false(is_settled(world, root));
    for (node_id server = 0; server < 9; server++)
        assert_true(server == root || probes[server]->delivered == 0);

    world_run(world, WORLD_SETTLED); /* the servers find each other again */
    assert_int_equal(root_of(world), root);
    ask(world, other, "s");
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(probes[root]->delivered, 2);
    world_close(world);
}

static void a_request_after_that_finds_no_root_and_no_links(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world);
    ask(world, root, "?");
    assert_int_equal(probes[root]->request_root, 1);
    assert_int_equal(probes[root]->request_reached, 8);
    be_away(world, SILENCE);
    ask(world, root, "?"); /* between two steps */
    assert_int_equal(probes[root]->requests, 2);
    assert_int_equal(probes[root]->request_root, 1);
    assert_int_equal(probes[root]->request_reached, 8);
    world->nodes[root].env.now = world->now;
    world_close(world);
}

static void the_end_of_a_program_after_that_finds_no_root(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world);
    be_away(world, SILENCE);
    world->nodes[root].env.now = world->now;
    node_local_gone(world->nodes[root].node, 1);
    assert_int_equal(probes[root]->gone, 1);
    assert_int_equal(probes[root]->gone_root, 0);
    world_close(world);
}

static void a_timer_after_that_finds_no_root_and_lost_peers(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world);
    world_run(world, 3 * HELLO);
    ask(world, root, "t");
    world->now += SILENCE;
    world_run(world, WORLD_DELAY);
    assert_int_equal(probes[root]->timers, 1);
    assert_int_equal(probes[root]->timer_root, 0);
    assert_int_equal(probes[root]->peers_down_at_timer, 8);
    world_close(world);
}

/* Its packet waits, and reaches the root that is found then. */
static void a_packet_sent_after_that_waits_for_a_root(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world);
    be_away(world, SILENCE);
    ask(world, root, "s");
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(probes[root]->delivered, 0);
    world_run(world, WORLD_SETTLED);
    assert_int_equal(probes[root]->delivered, 1);
    world_close(world);
}

/* The silence counts from the last hello: a shorter absence ends no link. */
static void a_short_absence_changes_nothing(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    node_id root = root_of(world);
    be_away(world, SILENCE - HELLO - MSEC);
    ask(world, root, "?");
    world_run(world, 10 * WORLD_DELAY);
    assert_int_equal(probes[root]->request_root, 1);
    assert_int_equal(probes[root]->peers_down, 0);
    world_close(world);
}

static void a_server_without_neighbours_stays_the_root(void **state)
{
    struct world *world = world_open("torus:1", &(struct node_config){.services = services});
    world_run(world, 2 * SILENCE);
    be_away(world, 10 * SILENCE);
    ask(world, 0, "?");
    assert_int_equal(probes[0]->request_root, 1);
    world_close(world);
}

/* All neighbours are gone: it settles again when it has found none for as long as the silence. */
static void a_server_that_finds_no_neighbour_settles_after_the_silence(void **state)
{
    struct world *world = world_open_settled("torus:3", services, 0);
    be_away(world, SILENCE);
    world_crash(world, 1);
    world_crash(world, 2);
    world_run(world, SILENCE - HELLO);
    assert_false(is_settled(world, 0));
    world_run(world, 2 * SILENCE); /* an old hello made it wait for that neighbour */
    assert_true(is_settled(world, 0));
    world_close(world);
}

TEST_MAIN(TEST(a_packet_that_waited_is_not_delivered),
          TEST(a_request_after_that_finds_no_root_and_no_links),
          TEST(the_end_of_a_program_after_that_finds_no_root),
          TEST(a_timer_after_that_finds_no_root_and_lost_peers),
          TEST(a_packet_sent_after_that_waits_for_a_root), TEST(a_short_absence_changes_nothing),
          TEST(a_server_without_neighbours_stays_the_root),
          TEST(a_server_that_finds_no_neighbour_settles_after_the_silence))
