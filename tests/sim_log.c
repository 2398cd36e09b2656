/* The store's log on servers that crash and processes that are killed, with disks that lose, tear
 * and delay writes, hang, fail, fill up and damage what they keep. No acknowledged record may be
 * lost, unless the disk damaged it: then the log must say so. Built a second time with bugs of
 * services/store/planted.h, each of which some seed must find. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "log_keeper.h"
#include "services/store/planted.h"
#include "sim/world/world.h"

#define SERVERS 3
#define SEEDS   300
#define MICRO   (PSEC_PER_SECOND / 1000000)
#define MILLI   (PSEC_PER_SECOND / 1000)
#define LOAD    (300 * MILLI)
#define EVEN    7000
#define FRESH   (25 * MILLI) /* before that a record or a mark has declared it durable */

static const struct weft_service *const services[] = {&keeper_service, NULL};

/* What the programs know of a key on a server. */
struct known {
    uint64_t sent;    /* the newest version that was sent */
    uint64_t durable; /* the newest that was acknowledged, or read */
    psec durable_at;
    uint64_t fresh; /* the newest when the server ended, if it was acknowledged just before that */
    bool removed[4096];
};

struct scene {
    struct topology topology;
    struct plan plan;
    struct world *world;
    struct rng rng;
    bool rots;
    /* All values have one size, so that records lie where other ones lay in the former life of a
     * recycled segment. */
    bool even;
    uint64_t version;
    struct known known[SERVERS][KEEPER_KEYS];
    unsigned acknowledged, refused, lost, damaged;
    uint64_t copied, recycled, segments_most, hints_read;
    bool answered;
    struct keeper_answer answer; /* the last */
};

static void answered(void *context, node_id at, uint64_t client, const void *bytes, uint32_t size)
{
    struct scene *scene = context;
    assert_int_equal(size, sizeof scene->answer);
    memcpy(&scene->answer, bytes, size);
    scene->answered = true;
    const struct keeper_order *order = &scene->answer.order;
    struct known *known = &scene->known[at][order->key];
    /* Damage that no disk did. */
    scene->lost += scene->answer.damaged && !scene->rots;
    scene->lost += scene->answer.result == -EILSEQ;
    if (order->what >= KEEPER_GET && scene->answer.result)
        return;
    scene->refused += scene->answer.result != 0;
    if (scene->answer.result)
        return;
    scene->acknowledged++;
    if (order->version <= known->durable)
        return;
    known->durable = order->version;
    known->durable_at = world_now(scene->world);
}

static void scene_open_with(struct scene *scene, uint64_t seed, const struct disk_settings *disk)
{
    struct why why = {0};
    struct world_settings settings = WORLD_DEFAULTS;
    assert_int_equal(topology_build(&scene->topology, "torus:3", &why), OK);
    assert_int_equal(plan_init(&scene->plan, &scene->topology, &why), OK);
    settings.plan = &scene->plan;
    settings.node.services = services;
    settings.seed = seed;
    settings.settled = true;
    settings.answer = answered;
    settings.context = scene;
    settings.disk = *disk;
    assert_int_equal(world_open(&scene->world, &settings, &why), OK);
}

static void scene_open(struct scene *scene, uint64_t seed)
{
    memset(scene, 0, sizeof *scene);
    keeper_begin();
    scene->rng = rng_make(seed, 77);
    scene->rots = rng_below(&scene->rng, 4) == 0;
    scene->even = rng_below(&scene->rng, 4) == 0;
    bool full = rng_below(&scene->rng, 4) == 0;
    const struct disk_settings disk = {
        .size = full ? (3 + rng_below(&scene->rng, 8)) * KEEPER_SEGMENT : 64 << 20,
        .delay = (1 + rng_below(&scene->rng, 100)) * MICRO,
        .jitter = rng_below(&scene->rng, 500) * MICRO,
        .torn = (uint32_t)rng_below(&scene->rng, 500000),
        .lost = (uint32_t)rng_below(&scene->rng, 500000),
        .fails = (uint32_t)(rng_below(&scene->rng, 3) ? 0 : rng_below(&scene->rng, 20000)),
        .rot = (uint32_t)(scene->rots ? rng_below(&scene->rng, 20000) : 0),
    };
    scene_open_with(scene, seed, &disk);
}

static void scene_close(struct scene *scene)
{
    world_close(scene->world);
    plan_fini(&scene->plan);
    topology_fini(&scene->topology);
}

static void send(struct scene *scene, node_id id)
{
    uint32_t key = (uint32_t)rng_below(&scene->rng, KEEPER_KEYS);
    struct keeper_order order = {.what = KEEPER_PUT, .key = key, .version = ++scene->version};
    struct known *known = &scene->known[id][key];
    uint64_t kind = rng_below(&scene->rng, 20);
    if (scene->even && kind < 17)
        order.size = EVEN;
    else if (kind == 0)
        order.size = (uint32_t)rng_below(&scene->rng, KEEPER_VALUE);
    else if (kind < 17)
        order.size = (uint32_t)rng_below(&scene->rng, 9000);
    else
        order.what = kind == 17 ? KEEPER_GET : KEEPER_REMOVE;
    if (order.what != KEEPER_GET && scene->version < 4096) {
        known->sent = order.version;
        known->removed[order.version] = order.what == KEEPER_REMOVE;
    }
    (void)!world_request(scene->world, id, KEEPER_SERVICE, 1, &order, sizeof order);
}

static void restart(struct scene *scene, node_id id)
{
    struct why why = {0};
    assert_int_equal(world_restart(scene->world, id, &why), OK);
}

/* The end of the last segment is the one place where damage looks like a write that was torn: no
 * record is behind it that declares it durable. */
static void end(struct scene *scene, node_id id, void (*how)(struct world *world, node_id id))
{
    for (uint32_t key = 0; key < KEEPER_KEYS; key++) {
        struct known *known = &scene->known[id][key];
        if (world_now(scene->world) - known->durable_at < FRESH)
            known->fresh = known->durable;
    }
    how(scene->world, id);
}

static void look(struct scene *scene)
{
    struct log_counts counts;
    for (node_id id = 0; id < SERVERS; id++) {
        if (!keeper_counts(id, &counts))
            continue;
        scene->copied += counts.copied > 0;
        scene->recycled += counts.recycled > 0;
        scene->hints_read =
            counts.hints_read > scene->hints_read ? counts.hints_read : scene->hints_read;
        scene->segments_most =
            counts.segments > scene->segments_most ? counts.segments : scene->segments_most;
    }
}

static void close_log(struct scene *scene, node_id id)
{
    static const struct keeper_order order = {.what = KEEPER_CLOSE};
    (void)!world_request(scene->world, id, KEEPER_SERVICE, 1, &order, sizeof order);
}

/* Something happens to a server. */
static void act(struct scene *scene)
{
    node_id id = (node_id)rng_below(&scene->rng, SERVERS);
    bool up = world_node(scene->world, id) != NULL;
    switch (rng_below(&scene->rng, 400)) {
    case 0:
        if (up)
            end(scene, id, world_crash);
        break;
    case 1:
        if (up)
            end(scene, id, world_kill);
        break;
    case 2:
        world_hang(scene->world, id, rng_below(&scene->rng, 20) * MILLI);
        break;
    default:
        if (up)
            send(scene, id);
        else if (rng_below(&scene->rng, 20) == 0)
            restart(scene, id);
    }
}

/* Asks for one key; adds to what was lost. */
static void ask(struct scene *scene, node_id id, uint32_t key)
{
    const struct known *known = &scene->known[id][key];
    struct keeper_order order = {.what = KEEPER_GET, .key = key};
    scene->answered = false;
    assert_int_equal(world_request(scene->world, id, KEEPER_SERVICE, 1, &order, sizeof order), 0);
    world_run(scene->world, world_now(scene->world) + 20 * MILLI);
    assert_true(scene->answered);
    const struct keeper_answer *answer = &scene->answer;
    uint64_t version = answer->order.version;
    if (answer->result == -ENOENT) /* a tombstone that is old enough is forgotten */
        for (version = known->durable; version && version < known->sent; version++)
            if (known->removed[version])
                break;
    if (answer->result == -ENOENT && version && !known->removed[version])
        version = 0;
    bool right = version >= known->durable && version <= known->sent &&
                 (answer->result == 0 || answer->result == -ENODATA || answer->result == -ENOENT);
    if (right && answer->result == -ENODATA)
        right = known->removed[version];
    if (right && answer->result == 0)
        right = !known->removed[version];
    if (right)
        return;
    if (answer->result != -EILSEQ && scene->rots &&
        (answer->result == -EBADMSG || answer->damaged || keeper_forgave(id) ||
         known->fresh == known->durable))
        scene->damaged++;
    else
        scene->lost++;
}

static void astray(struct scene *scene, node_id id)
{
    struct keeper_order order = {.what = KEEPER_ASTRAY};
    scene->answered = false;
    assert_int_equal(world_request(scene->world, id, KEEPER_SERVICE, 1, &order, sizeof order), 0);
    world_run(scene->world, world_now(scene->world) + 20 * MILLI);
    assert_true(scene->answered);
    assert_int_equal(scene->answer.result, -ENOENT);
}

/* One run; returns how many acknowledged records were lost. `closes`: logs are closed at any time,
 * too, and opened again. */
static unsigned run(struct scene *scene, uint64_t seed, bool closes)
{
    scene_open(scene, seed);
    while (world_now(scene->world) < LOAD && scene->version < 4000) {
        act(scene);
        if (closes && rng_below(&scene->rng, 400) == 0)
            close_log(scene, (node_id)rng_below(&scene->rng, SERVERS));
        world_run(scene->world, world_now(scene->world) + rng_below(&scene->rng, 300) * MICRO);
        if (scene->version % 64 == 0)
            look(scene);
    }
    for (node_id id = 0; id < SERVERS; id++) { /* all crash once more, and return */
        if (world_node(scene->world, id))
            end(scene, id, world_crash);
        disk_set(world_disk(scene->world, id), &(struct disk_settings){.size = 128 << 20});
        restart(scene, id);
    }
    world_run(scene->world, world_now(scene->world) + PSEC_PER_SECOND);
    for (node_id id = 0; id < SERVERS; id++) {
        assert_int_equal(keeper_opened(id), 0);
        for (uint32_t key = 0; key < KEEPER_KEYS; key++)
            ask(scene, id, key);
        astray(scene, id);
    }
    scene_close(scene);
    return scene->lost;
}

static struct scene scene;

#ifdef WEFT_PLANTED_BUGS

static const char *const names[] = {
#define NAME(bug, name, text) name,
    STORE_LOG_PLANTED(NAME)
#undef NAME
};

static void some_seed_finds_each_bug(void **state)
{
    unsigned missed = 0;
    for (unsigned bug = 0; bug < sizeof names / sizeof *names; bug++) {
        unsigned found = 0;
        uint64_t first = 0;
        store_bugs = UINT64_C(1) << bug;
        for (uint64_t seed = 1; seed <= SEEDS && found < 3; seed++)
            if (run(&scene, seed, false)) {
                found++;
                first = first ? first : seed;
            }
        print_message("# %s: first found by seed %u\n", names[bug], (unsigned)first);
        missed += !found;
    }
    assert_int_equal(missed, 0);
}

TEST_MAIN(TEST(some_seed_finds_each_bug))

#else

/* Server 0 is asked, and has answered. */
static int result_of(enum keeper_what what, uint32_t key, uint32_t size)
{
    struct keeper_order order = {.what = what, .key = key, .size = size};
    order.version = ++scene.version;
    scene.known[0][key].sent = order.version;
    scene.known[0][key].removed[order.version] = what == KEEPER_REMOVE;
    scene.answered = false;
    assert_int_equal(world_request(scene.world, 0, KEEPER_SERVICE, 1, &order, sizeof order), 0);
    world_run(scene.world, world_now(scene.world) + 5 * MILLI);
    assert_true(scene.answered);
    return scene.answer.result;
}

/* Fills the disk, restarts on it, and removes keys until there is room again. */
static void a_full_disk_takes_removals(uint64_t size, bool restarts)
{
    memset(&scene, 0, sizeof scene);
    scene_open_with(&scene, 1, &(struct disk_settings){.size = size, .delay = 10 * MICRO});
    world_run(scene.world, 10 * MILLI);
    int result = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; !result; i++) {
        assert_true(i < 1000);
        result = result_of(KEEPER_PUT, i % KEEPER_KEYS, 60000 + 1000 * (i % 7));
        count += !result && count < KEEPER_KEYS;
    }
    assert_int_equal(result, -ENOSPC);
    if (restarts) {
        world_kill(scene.world, 0);
        restart(&scene, 0);
        world_run(scene.world, world_now(scene.world) + 50 * MILLI);
        assert_int_equal(keeper_opened(0), 0);
    }
    for (uint32_t key = 0; key < count; key++) /* the disk has not lost what it had */
        assert_int_equal(result_of(KEEPER_GET, key, 0), 0);
    for (uint32_t key = 0; key < count / 2; key++)
        assert_int_equal(result_of(KEEPER_REMOVE, key, 0), 0);
    for (uint32_t key = 0; key < 4; key++) { /* space is given back a segment at a time */
        for (unsigned tries = 0; (result = result_of(KEEPER_PUT, key, 60000)) && tries < 20;
             tries++)
            world_run(scene.world, world_now(scene.world) + 50 * MILLI);
        assert_int_equal(result, 0);
    }
    scene_close(&scene);
}

static void removals_make_room_on_a_full_disk(void **state)
{
    for (unsigned eighths = 0; eighths < 8; eighths++) {
        uint64_t size = 4 * KEEPER_SEGMENT + eighths * (KEEPER_SEGMENT / 8);
        a_full_disk_takes_removals(size, false);
        a_full_disk_takes_removals(size, true);
    }
}

static struct log_counts counts_now(void)
{
    struct log_counts counts = {0};
    assert_true(keeper_counts(0, &counts));
    return counts;
}

/* Replaces values of a few keys until so many segments were recycled. */
static void recycle(uint64_t count)
{
    for (uint32_t i = 0; counts_now().recycled < count; i++) {
        assert_true(i < 4000);
        assert_int_equal(result_of(KEEPER_PUT, i % 8, 60000), 0);
    }
}

static void recycled_segments_wait_until_space_is_short(void **state)
{
    memset(&scene, 0, sizeof scene);
    struct disk_settings disk = {.size = 64 << 20, .delay = 10 * MICRO};
    scene_open_with(&scene, 1, &disk);
    world_run(scene.world, 10 * MILLI);
    recycle(20);
    world_run(scene.world, world_now(scene.world) + PSEC_PER_SECOND);
    uint64_t used = disk_used(world_disk(scene.world, 0));
    uint64_t most = counts_now().segments;
    /* One that is active, one with live records, and the spare ones. */
    assert_true(most <= 7 && used <= most * KEEPER_SEGMENT + KEEPER_SEGMENT / 8);
    disk.size = used;
    disk_set(world_disk(scene.world, 0), &disk); /* another service has taken the rest */
    for (uint32_t i = 0; disk_used(world_disk(scene.world, 0)) + KEEPER_SEGMENT > used; i++) {
        assert_true(i < 100);
        assert_int_equal(result_of(KEEPER_PUT, i % 8, 60000), 0);
        world_run(scene.world, world_now(scene.world) + 50 * MILLI);
    }
    scene_close(&scene);
}

static void put_small(uint32_t key)
{
    const struct keeper_order order = {
        .what = KEEPER_PUT, .key = key, .size = 100, .version = ++scene.version};
    assert_int_equal(world_request(scene.world, 0, KEEPER_SERVICE, 1, &order, sizeof order), 0);
}

/* Twelve records come together; then as many come one after the other. A write and its sync
 * take 0.8 ms together, and so long a wait lasts at most. */
static void a_sync_waits_for_as_many_records_as_were_under_way(void **state)
{
    memset(&scene, 0, sizeof scene);
    scene_open_with(&scene, 1, &(struct disk_settings){.size = 64 << 20, .delay = 400 * MICRO});
    world_run(scene.world, 50 * MILLI);
    for (uint32_t key = 0; key < 12; key++)
        put_small(key);
    while (scene.acknowledged < 12)
        world_run(scene.world, world_now(scene.world) + 10 * MICRO);
    uint64_t syncs = counts_now().syncs;
    for (uint32_t key = 0; key < 11; key++) {
        put_small(key);
        world_run(scene.world, world_now(scene.world) + 20 * MICRO);
    }
    assert_int_equal(counts_now().syncs, syncs); /* the twelfth is missing */
    put_small(11);
    world_run(scene.world, world_now(scene.world) + 1200 * MICRO);
    assert_int_equal(scene.acknowledged, 24);
    assert_int_equal(counts_now().syncs, syncs + 1);
    /* Only one comes: the wait for others ends by itself, and the next one begins at once. */
    put_small(0);
    world_run(scene.world, world_now(scene.world) + 2400 * MICRO);
    assert_int_equal(scene.acknowledged, 25);
    put_small(1);
    world_run(scene.world, world_now(scene.world) + 1200 * MICRO);
    assert_int_equal(scene.acknowledged, 26);
    scene_close(&scene);
}

static void no_acknowledged_record_is_lost(void **state)
{
    unsigned acknowledged = 0, refused = 0, damaged = 0, copied = 0, recycled = 0, hinted = 0;
    unsigned most = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        if (run(&scene, seed, seed % 2))
            fail_msg("seed %u lost %u acknowledged records", (unsigned)seed, scene.lost);
        acknowledged += scene.acknowledged;
        refused += scene.refused;
        damaged += scene.damaged;
        copied += scene.copied > 0;
        recycled += scene.recycled > 0;
        hinted += scene.hints_read > 0;
        most = scene.segments_most > most ? (unsigned)scene.segments_most : most;
    }
    print_message("# %u seeds: %u records acknowledged, %u refused, %u damaged and reported; "
                  "segments were copied in %u runs, recycled in %u, hints read in %u; %u segments "
                  "at most; logs were closed %u times\n",
                  SEEDS, acknowledged, refused, damaged, copied, recycled, hinted, most,
                  (unsigned)keeper_closed());
    assert_true(acknowledged > 100 * SEEDS);
    assert_true(refused > SEEDS && damaged > 0 && copied > SEEDS / 2 && hinted > SEEDS / 4);
    assert_true(recycled > SEEDS / 2 && keeper_closed() > SEEDS / 2);
}

TEST_MAIN(TEST(no_acknowledged_record_is_lost), TEST(removals_make_room_on_a_full_disk),
          TEST(recycled_segments_wait_until_space_is_short),
          TEST(a_sync_waits_for_as_many_records_as_were_under_way))

#endif
