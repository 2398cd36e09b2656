/* Tests the node code in simulated time. */
#include "sim/world/world.h"

#include <weft/disk.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

#define CHATTER   300
#define KEEPER    301
#define SECOND    PSEC_PER_SECOND
#define MILLI     (PSEC_PER_SECOND / 1000)
#define WHOLE_MAX (10 * SECOND)

/* ---- chatter: a service that sends a packet to a random key at intervals ---- */

struct chatter {
    uint64_t sent, delivered, refused;
};

static int64_t chatter_period = 100000;
static uint32_t chatter_size = 100;

static int chatter_start(struct weft_self *self)
{
    return weft_timer(self, weft_now(self) + 1 + (int64_t)(weft_random(self) % 1000000), 0);
}

static void chatter_timer(struct weft_self *self, uint64_t cookie)
{
    struct chatter *chatter = weft_memory(self);
    struct weft_packet *packet = weft_packet_hollow(self, chatter_size, 16);
    struct weft_key key = {{0}};
    uint64_t route = weft_random(self);
    for (unsigned i = 0; i < 8; i++)
        key.bytes[WEFT_KEY_SIZE - 8 + i] = (uint8_t)(route >> 8 * i);
    if (packet && weft_send_key(self, packet, &key) == 0)
        chatter->sent++;
    else
        chatter->refused++;
    (void)weft_timer(self, weft_now(self) + chatter_period, 0);
}

static void chatter_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct chatter *chatter = weft_memory(self);
    chatter->delivered++;
    weft_done(packet);
}

/* What the wall clock, and weft_clock, showed at the last request. */
static int64_t chatter_wall, chatter_clock;

/* Answers with the bytes of the request. */
static void chatter_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                            const void *bytes, uint32_t size)
{
    chatter_wall = weft_wall(self);
    chatter_clock = weft_clock(self);
    weft_answer(self, client, ticket, bytes, size);
}

static void chatter_stats(struct weft_self *self, struct weft_report *report)
{
    const struct chatter *chatter = weft_memory(self);
    weft_stat(report, "chats_sent", chatter->sent);
    weft_stat(report, "chats_heard", chatter->delivered);
}

static const struct weft_service chatter_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "chatter",
    .id = CHATTER,
    .queue_packets = 4096,
    .size = sizeof(struct chatter),
    .ops =
        &(const struct weft_service_ops){
            .start = chatter_start,
            .timer = chatter_timer,
            .deliver = chatter_deliver,
            .request = chatter_request,
            .stats = chatter_stats,
        },
};

/* ---- keeper: writes a word to its disk and reads it again; requests "w", "s" and "r" ---- */

struct keeper {
    struct weft_call opening, call;
    struct weft_file *file; /* NULL: no disk */
    uint64_t client;
    uint64_t ticket;
    char word[8];
};

static void keeper_opened(struct weft_self *self, struct weft_call *call)
{
    assert_true(call->result >= 0);
}

static int keeper_start(struct weft_self *self)
{
    struct keeper *keeper = weft_memory(self);
    keeper->opening.done = keeper_opened;
    int result = weft_disk_open(self, &keeper->opening, "word", WEFT_OPEN_CREATE, &keeper->file);
    assert_true(result == 0 || result == -ENODEV);
    return 0;
}

static void keeper_done(struct weft_self *self, struct weft_call *call)
{
    struct keeper *keeper = weft_memory(self);
    const char *answer = call->result < 0 ? "refused" : keeper->word;
    weft_answer(self, keeper->client, keeper->ticket, answer, (uint32_t)strlen(answer));
}

static void keeper_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    struct keeper *keeper = weft_memory(self);
    struct weft_call *call = &keeper->call;
    char what = *(const char *)bytes;
    int result = -ENODEV;
    keeper->client = client;
    keeper->ticket = ticket;
    call->done = keeper_done;
    memcpy(keeper->word, what == 'w' ? "durable" : "", 8 * (what == 'w'));
    if (keeper->file)
        result = what == 'w'   ? weft_disk_write(self, keeper->file, call, keeper->word, 8, 0)
                 : what == 'r' ? weft_disk_read(self, keeper->file, call, keeper->word, 8, 0)
                               : weft_disk_sync(self, keeper->file, call);
    if (result < 0)
        weft_answer(self, client, ticket, "no disk", 7);
}

static const struct weft_service keeper_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "keeper",
    .id = KEEPER,
    .size = sizeof(struct keeper),
    .files = 1,
    .ops = &(const struct weft_service_ops){.start = keeper_start, .request = keeper_request},
};

static const struct weft_service *const services[] = {&chatter_service, &keeper_service, NULL};

/* ---- a witness: counts events, and identifies packets by trail ---- */

struct witness {
    struct world_watcher watcher;
    uint64_t sent, delivered, dropped, lost, copied, opened, closed, ports_up, ports_down;
    uint64_t balance; /* sum of trails: sent ones are added; delivered, dropped and lost ones
                       * subtracted */
};

static struct witness *witness_of(struct world_watcher *watcher)
{
    return (struct witness *)watcher;
}

static void saw_sent(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    witness_of(watcher)->sent++;
    witness_of(watcher)->balance += packet->trail;
}

static void saw_delivered(struct world_watcher *watcher, node_id at, const struct packet *packet)
{
    witness_of(watcher)->delivered++;
    witness_of(watcher)->balance -= packet->trail;
}

static void saw_dropped(struct world_watcher *watcher, node_id at, const struct packet *packet,
                        enum drop_reason reason)
{
    if (packet->service != CHATTER)
        return;
    witness_of(watcher)->dropped++;
    witness_of(watcher)->balance -= packet->trail;
}

static void saw_lost(struct world_watcher *watcher, const struct packet *packet)
{
    if (packet->service != CHATTER)
        return;
    witness_of(watcher)->lost++;
    witness_of(watcher)->balance -= packet->trail;
}

static void saw_copied(struct world_watcher *watcher, const struct packet *packet)
{
    if (packet->service != CHATTER)
        return;
    witness_of(watcher)->copied++;
    witness_of(watcher)->balance += packet->trail;
}

static void saw_port(struct world_watcher *watcher, node_id at, unsigned port, bool up)
{
    witness_of(watcher)->ports_up += up;
    witness_of(watcher)->ports_down += !up;
}

static void saw_opened(struct world_watcher *watcher, node_id at, uint64_t incarnation)
{
    witness_of(watcher)->opened++;
}

static void saw_closed(struct world_watcher *watcher, node_id at)
{
    witness_of(watcher)->closed++;
}

static const struct world_watcher_ops witness_ops = {
    .sent = saw_sent,
    .delivered = saw_delivered,
    .dropped = saw_dropped,
    .port = saw_port,
    .copied = saw_copied,
    .lost = saw_lost,
    .opened = saw_opened,
    .closed = saw_closed,
};

/* ---- scenes ---- */

struct scene {
    struct topology topology;
    struct plan plan;
    struct world *world;
    struct witness witness;
    struct world_watcher *watchers[2];
    char answer[64];
    uint64_t answers;
};

static void answered(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct scene *scene = context;
    assert_true(size < sizeof scene->answer);
    memcpy(scene->answer, bytes, size);
    scene->answer[size] = 0;
    scene->answers += client;
}

static struct disk_settings scene_disk; /* of servers in the next scene */

static struct scene *scene_open(const char *spec, uint64_t seed, bool settled)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct world_settings settings = WORLD_DEFAULTS;
    struct why why = {0};
    assert_int_equal(topology_build(&scene->topology, spec, &why), OK);
    assert_int_equal(plan_init(&scene->plan, &scene->topology, &why), OK);
    scene->witness.watcher = (struct world_watcher){.name = "witness", .ops = &witness_ops};
    scene->watchers[0] = &scene->witness.watcher;
    settings.plan = &scene->plan;
    settings.node.services = services;
    settings.seed = seed;
    settings.disk = scene_disk;
    settings.settled = settled;
    settings.watchers = scene->watchers;
    settings.answer = answered;
    settings.context = scene;
    assert_int_equal(world_open(&scene->world, &settings, &why), OK);
    return scene;
}

/* Closes the scene, and asserts that every packet is accounted for. */
static void scene_close(struct scene *scene)
{
    struct witness *witness = &scene->witness;
    world_check(scene->world);
    world_close(scene->world);
    assert_true(witness->opened == witness->closed);
    assert_true(witness->sent + witness->copied ==
                witness->delivered + witness->dropped + witness->lost);
    assert_true(witness->balance == 0);
    plan_fini(&scene->plan);
    topology_fini(&scene->topology);
    free(scene);
}

static void run_until_whole(struct scene *scene)
{
    psec most = world_now(scene->world) + WHOLE_MAX;
    while (!world_is_whole(scene->world)) {
        assert_true(world_now(scene->world) < most);
        world_run(scene->world, world_now(scene->world) + 10 * MILLI);
    }
}

static void servers_find_each_other_on_any_topology(void **state)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4",
                                        "jellyfish:n=20,degree=4,seed=3", "torus:5x4"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct scene *scene = scene_open(specs[i], 1 + i, false);
        assert_false(world_is_whole(scene->world));
        run_until_whole(scene);
        uint64_t before = scene->witness.delivered;
        world_run(scene->world, world_now(scene->world) + 100 * MILLI);
        assert_true(scene->witness.delivered > before + 100);
        scene_close(scene);
    }
}

static void a_settled_world_delivers_from_the_start(void **state)
{
    struct scene *scene = scene_open("torus:4x4x4", 5, true);
    world_run(scene->world, 20 * MILLI);
    assert_true(world_is_whole(scene->world));
    assert_true(scene->witness.delivered > 5000);
    assert_true(scene->witness.dropped + scene->witness.lost == 0);
    /* Uncongested: one event per hop, and one for each packet sent and each node started; hellos
     * are hops, too. */
    struct world_counts counts;
    world_count(scene->world, &counts);
    assert_true(counts.hops > 10000);
    assert_true(counts.rooms == 0);
    assert_true(counts.events <= counts.hops + scene->witness.sent + 3 * 64);
    scene_close(scene);
}

static uint64_t hash_of(uint64_t seed)
{
    struct scene *scene = scene_open("torus:3x3", seed, false);
    world_run(scene->world, 300 * MILLI);
    sim_link_set_faults(world_link(scene->world, 2, 1),
                        &(struct sim_link_faults){.loss = 100000,
                                                  .corruption = 100000,
                                                  .duplication = 100000,
                                                  .jitter = MILLI,
                                                  .reorder = true});
    world_crash(scene->world, 4);
    world_clock(scene->world, 1, 900000);
    world_run(scene->world, SECOND);
    assert_int_equal(world_restart(scene->world, 4, NULL), OK);
    world_pause(scene->world, 7, true);
    world_run(scene->world, 2500 * MILLI);
    world_pause(scene->world, 7, false);
    sim_link_set_faults(world_link(scene->world, 2, 1), &(struct sim_link_faults){0});
    run_until_whole(scene);
    uint64_t hash = world_hash(scene->world);
    assert_true(scene->witness.lost > 0 && scene->witness.copied > 0);
    scene_close(scene);
    return hash;
}

static void a_seed_determines_the_run(void **state)
{
    uint64_t one = hash_of(1);
    print_message("# seed 1: %016llx\n", (unsigned long long)one);
    assert_true(one == hash_of(1));
    assert_true(one != hash_of(2));
}

static void a_crash_is_noticed_and_the_server_can_return(void **state)
{
    struct scene *scene = scene_open("torus:3x3x3", 9, true);
    world_run(scene->world, 10 * MILLI);
    world_crash(scene->world, 13);
    assert_null(world_node(scene->world, 13));
    assert_int_equal(world_request(scene->world, 13, CHATTER, 1, "", 0), -ECONNREFUSED);
    assert_false(world_is_whole(scene->world));
    run_until_whole(scene);
    assert_false(node_reaches(world_node(scene->world, 0), 13));
    uint64_t lost = scene->witness.lost;
    assert_true(lost > 0); /* packets sent to it before that */
    world_run(scene->world, world_now(scene->world) + 100 * MILLI);
    assert_true(scene->witness.lost == lost);
    uint64_t first = world_incarnation(scene->world, 13);
    assert_int_equal(world_restart(scene->world, 13, NULL), OK);
    assert_true(world_incarnation(scene->world, 13) > first);
    run_until_whole(scene);
    assert_true(node_reaches(world_node(scene->world, 0), 13));
    scene_close(scene);
}

static void a_short_pause_is_survived(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 11, true);
    struct node_snapshot before, after;
    world_run(scene->world, 10 * MILLI);
    world_pause(scene->world, 4, true);
    node_snapshot(world_node(scene->world, 4), &before);
    world_run(scene->world, 500 * MILLI); /* too short for neighbours to give up */
    node_snapshot(world_node(scene->world, 4), &after);
    assert_true(before.steps == after.steps);
    assert_true(world_is_whole(scene->world));
    world_pause(scene->world, 4, false);
    node_snapshot(world_node(scene->world, 4), &after);
    assert_true(after.steps == before.steps + 1);
    world_run(scene->world, SECOND);
    node_snapshot(world_node(scene->world, 4), &after);
    assert_true(after.packets_in > before.packets_in + 100);
    scene_close(scene);
}

static void full_links_accept_nothing_until_they_drain(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 13, true);
    struct sim_link_counts before, after;
    world_run(scene->world, 10 * MILLI);
    unsigned port = plan_port(world_plan(scene->world), 1, 4);
    sim_link_count(world_link(scene->world, 1, port), &before);
    world_fill(scene->world, 4, true);
    world_run(scene->world, world_now(scene->world) + 500 * MILLI);
    sim_link_count(world_link(scene->world, 1, port), &after);
    assert_true(after.sent == before.sent && after.full == before.full + 1);
    assert_true(world_is_whole(scene->world)); /* too short to be given up */
    world_fill(scene->world, 4, false);
    world_run(scene->world, world_now(scene->world) + MILLI);
    sim_link_count(world_link(scene->world, 1, port), &after);
    assert_true(after.sent > before.sent);
    world_fill(scene->world, 4, true);
    world_run(scene->world, world_now(scene->world) + 30 * SECOND);
    assert_false(node_reaches(world_node(scene->world, 1), 4));
    world_fill(scene->world, 4, false);
    run_until_whole(scene);
    scene_close(scene);
}

static void a_slow_clock_reads_less_and_still_wakes_its_node(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 12, true);
    struct node_snapshot slow, right;
    world_clock(scene->world, 4, 500000);
    world_run(scene->world, SECOND);
    node_snapshot(world_node(scene->world, 4), &slow);
    node_snapshot(world_node(scene->world, 5), &right);
    /* Half the seconds, half the packets: 5,000 instead of 10,000. */
    assert_in_range(slow.sent, 4980, 5020);
    assert_in_range(right.sent, 9980, 10020);
    scene_close(scene);
}

static void a_local_program_is_answered(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 13, true);
    assert_int_equal(world_request(scene->world, 3, CHATTER, 77, "hello", 5), 0);
    assert_string_equal(scene->answer, "hello");
    assert_true(scene->answers == 77);
    assert_int_equal(world_request(scene->world, 3, 999, 77, "hello", 5), -ENOENT);
    scene_close(scene);
}

/* It gets the request before anything else when it goes on, unless it crashes. */
static void a_request_to_a_paused_server_waits(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 14, true);
    world_pause(scene->world, 3, true);
    assert_int_equal(world_request(scene->world, 3, CHATTER, 77, "one", 3), 0);
    assert_int_equal(world_request(scene->world, 3, CHATTER, 1, "two", 3), 0);
    world_run(scene->world, 10 * MILLI);
    assert_true(scene->answers == 0);
    world_pause(scene->world, 3, false);
    assert_true(scene->answers == 78);
    assert_string_equal(scene->answer, "two");

    world_pause(scene->world, 3, true);
    assert_int_equal(world_request(scene->world, 3, CHATTER, 5, "three", 5), 0);
    world_crash(scene->world, 3);
    assert_int_equal(world_restart(scene->world, 3, NULL), OK);
    world_run(scene->world, 20 * MILLI);
    assert_true(scene->answers == 78);
    scene_close(scene);
}

/* Its silence has passed by its clock: it takes its links down, and finds its neighbours again. */
static void a_clock_that_jumps_ahead_ends_the_links(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 15, true);
    world_run(scene->world, 10 * MILLI);
    env_nsec before = world_clock_of(scene->world, 4);
    world_jump(scene->world, 4, 5000000000);
    assert_true(world_clock_of(scene->world, 4) == before + 5000000000);
    assert_true(world_clock_of(scene->world, 5) == before);
    struct node_snapshot snapshot;
    node_snapshot(world_node(scene->world, 4), &snapshot);
    assert_false(snapshot.settled);
    assert_int_equal(snapshot.reachable, 1);
    run_until_whole(scene);
    scene_close(scene);
}

static int64_t wall_asked(struct scene *scene, node_id id)
{
    assert_int_equal(world_request(scene->world, id, CHATTER, 1, "now", 3), 0);
    return chatter_wall;
}

static void clocks_that_go_on_differ_in_speed_and_nothing_moves_them(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 15, true);
    int64_t least = INT64_MAX, most = 0, second = INT64_C(1000000000);
    world_clock(scene->world, 4, 3000000);
    world_jump(scene->world, 5, 100 * second);
    world_run(scene->world, 1000 * MILLI);
    for (node_id id = 0; id < 9; id++) {
        wall_asked(scene, id);
        assert_true(chatter_clock == world_boot_of(scene->world, id));
        least = chatter_clock < least ? chatter_clock : least;
        most = chatter_clock > most ? chatter_clock : most;
    }
    assert_true(least >= second - second / 1000 * WORLD_BOOT_SKEW && most > least);
    assert_true(most <= second + second / 1000 * WORLD_BOOT_SKEW);
    scene_close(scene);
}

static void wall_clocks_differ_a_little_and_jump_in_both_directions(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 15, true);
    int64_t least = INT64_MAX, most = 0, year = INT64_C(31557600) * 1000000000;
    world_run(scene->world, 10 * MILLI);
    for (node_id id = 0; id < 9; id++) {
        int64_t wall = wall_asked(scene, id);
        assert_true(wall == world_wall_of(scene->world, id));
        least = wall < least ? wall : least;
        most = wall > most ? wall : most;
    }
    assert_in_range(least / year, 2025 - 1970, 2026 - 1970); /* of 365.25 days */
    assert_true(most > least && most - least <= 2 * WORLD_WALL_SKEW);

    int64_t before = wall_asked(scene, 4), other = wall_asked(scene, 5);
    env_nsec clock = world_clock_of(scene->world, 4);
    world_wall_jump(scene->world, 4, -7000000000);
    assert_true(wall_asked(scene, 4) == before - 7000000000);
    assert_true(world_clock_of(scene->world, 4) == clock && wall_asked(scene, 5) == other);
    world_jump(scene->world, 4, 3000000000);
    assert_true(wall_asked(scene, 4) == before - 4000000000);
    world_crash(scene->world, 4);
    assert_int_equal(world_restart(scene->world, 4, NULL), OK);
    assert_true(wall_asked(scene, 4) == before - 4000000000);
    scene_close(scene);
}

static void a_server_with_a_lower_incarnation_comes_back(void **state)
{
    struct scene *scene = scene_open("torus:3x3", 16, true);
    uint64_t last = world_incarnation(scene->world, 4);
    for (unsigned i = 0; i < 4; i++) {
        world_crash(scene->world, 4);
        world_run(scene->world, world_now(scene->world) + 2 * SECOND);
        world_rewind(scene->world, 4, 1);
        assert_int_equal(world_restart(scene->world, 4, NULL), OK);
        assert_true(world_incarnation(scene->world, 4) < last);
        last = world_incarnation(scene->world, 4);
        run_until_whole(scene);
    }
    scene_close(scene);
}

/* Twice what the cables carry: they are always full, and queues drop the rest. */
static void a_busy_link_is_full_and_reports_room(void **state)
{
    chatter_size = 8000;
    chatter_period = 10000;
    struct scene *scene = scene_open("torus:3x3", 14, true);
    world_run(scene->world, SECOND);
    chatter_size = 100;
    chatter_period = 100000;
    struct world_counts counts;
    struct sim_link_counts links;
    world_count(scene->world, &counts);
    world_count_links(scene->world, &links);
    assert_true(counts.rooms > 10000);
    /* 36 links of 1 Gb/s for a second, to within one percent. */
    assert_true(links.bytes > 36ull * 125000000 * 99 / 100);
    assert_true(links.bytes < 36ull * (125000000 + 20000));
    assert_true(scene->witness.dropped > 0);
    scene_close(scene);
}

/* Sends a request to the keeper of server 4, and returns its answer within a while, or "". */
static const char *keeper_ask(struct scene *scene, const char *what)
{
    scene->answer[0] = 0;
    assert_int_equal(world_request(scene->world, 4, KEEPER, 1, what, 1), 0);
    assert_string_equal(scene->answer, ""); /* a disk takes time */
    world_run(scene->world, world_now(scene->world) + 10 * MILLI);
    return scene->answer;
}

static void life_after(struct scene *scene, void (*end)(struct world *world, node_id id))
{
    struct why why;
    end(scene->world, 4);
    assert_int_equal(world_restart(scene->world, 4, &why), OK);
    world_run(scene->world, world_now(scene->world) + 5 * MILLI); /* it opens its file */
}

static void life_again(struct scene *scene)
{
    life_after(scene, world_crash);
}

static void a_killed_process_leaves_what_it_wrote_unsynced(void **state)
{
    scene_disk = (struct disk_settings){.size = 1 << 20, .delay = MILLI, .lost = DISK_PARTS};
    struct scene *scene = scene_open("torus:3x3", 16, true);
    world_run(scene->world, 5 * MILLI);
    assert_string_equal(keeper_ask(scene, "w"), "durable");
    life_after(scene, world_kill);
    assert_string_equal(keeper_ask(scene, "r"), "durable");
    life_again(scene);
    assert_string_equal(keeper_ask(scene, "r"), "");
    scene_close(scene);
    scene_disk = (struct disk_settings){0};
}

static void synced_data_survives_a_crash(void **state)
{
    scene_disk = (struct disk_settings){.size = 1 << 20, .delay = MILLI, .lost = DISK_PARTS};
    struct scene *scene = scene_open("torus:3x3", 15, true);
    world_run(scene->world, 5 * MILLI);
    assert_string_equal(keeper_ask(scene, "w"), "durable");
    life_again(scene); /* before a sync: this disk loses everything */
    assert_string_equal(keeper_ask(scene, "r"), "");
    assert_string_equal(keeper_ask(scene, "w"), "durable");
    (void)keeper_ask(scene, "s");
    life_again(scene);
    assert_string_equal(keeper_ask(scene, "r"), "durable");
    /* A pending operation is lost in a crash; while the server is paused it waits. */
    assert_int_equal(world_request(scene->world, 4, KEEPER, 1, "r", 1), 0);
    scene->answer[0] = 0;
    world_pause(scene->world, 4, true);
    world_run(scene->world, world_now(scene->world) + 10 * MILLI);
    assert_string_equal(scene->answer, "");
    world_pause(scene->world, 4, false);
    assert_string_equal(scene->answer, "durable");
    assert_int_equal(world_request(scene->world, 4, KEEPER, 1, "r", 1), 0);
    scene->answer[0] = 0;
    life_again(scene);
    world_run(scene->world, world_now(scene->world) + 10 * MILLI);
    assert_string_equal(scene->answer, "");
    struct disk_counts counts;
    disk_count(world_disk(scene->world, 4), &counts);
    assert_true(counts.lost == 1 && counts.writes == 2 && counts.syncs == 1);
    /* A disk that hangs answers later; one that was replaced is empty. */
    world_hang(scene->world, 4, 50 * MILLI);
    assert_string_equal(keeper_ask(scene, "r"), "");
    world_run(scene->world, world_now(scene->world) + 50 * MILLI);
    assert_string_equal(scene->answer, "durable");
    world_crash(scene->world, 4);
    world_erase(scene->world, 4);
    struct why why;
    assert_int_equal(world_restart(scene->world, 4, &why), OK);
    world_run(scene->world, world_now(scene->world) + 5 * MILLI);
    assert_string_equal(keeper_ask(scene, "r"), "");
    scene_close(scene);
    scene_disk = (struct disk_settings){0};
    scene = scene_open("torus:3x3", 15, true);
    assert_int_equal(world_request(scene->world, 4, KEEPER, 1, "r", 1), 0);
    assert_string_equal(scene->answer, "no disk");
    scene_close(scene);
}

/* The first operation is overdue then, which must not move time back. */
static void the_disk_of_a_paused_server_is_used(void **state)
{
    scene_disk = (struct disk_settings){.size = 1 << 20, .delay = MILLI};
    struct scene *scene = scene_open("torus:3x3", 16, true);
    world_run(scene->world, 5 * MILLI);
    assert_int_equal(world_request(scene->world, 4, KEEPER, 1, "w", 1), 0);
    world_pause(scene->world, 4, true);
    world_run(scene->world, 20 * MILLI);
    world_hang(scene->world, 4, MILLI);
    world_pause(scene->world, 4, false);
    world_run(scene->world, 25 * MILLI);
    assert_string_equal(scene->answer, "durable");
    scene_close(scene);
    scene_disk = (struct disk_settings){0};
}

TEST_MAIN(TEST(a_request_to_a_paused_server_waits), TEST(the_disk_of_a_paused_server_is_used),
          TEST(a_clock_that_jumps_ahead_ends_the_links),
          TEST(clocks_that_go_on_differ_in_speed_and_nothing_moves_them),
          TEST(wall_clocks_differ_a_little_and_jump_in_both_directions),
          TEST(wall_clocks_differ_a_little_and_jump_in_both_directions),
          TEST(a_server_with_a_lower_incarnation_comes_back),
          TEST(servers_find_each_other_on_any_topology), TEST(synced_data_survives_a_crash),
          TEST(a_killed_process_leaves_what_it_wrote_unsynced),
          TEST(a_settled_world_delivers_from_the_start), TEST(a_seed_determines_the_run),
          TEST(a_crash_is_noticed_and_the_server_can_return), TEST(a_short_pause_is_survived),
          TEST(full_links_accept_nothing_until_they_drain),
          TEST(a_slow_clock_reads_less_and_still_wakes_its_node), TEST(a_local_program_is_answered),
          TEST(a_busy_link_is_full_and_reports_room))
