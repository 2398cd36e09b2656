/* Views in simulated clusters (services/store/view/views.h): all servers agree on one roster for
 * each epoch, whatever fails, and when nothing fails any more, all of them are members of the same
 * view again.
 *
 *     sim_views_test [SEEDS]    runs so many seeds on each topology, 40 by default
 *     sim_views_test cost       prints what a view costs in clusters of 27 and of 512 servers
 *
 * Built a second time with planted bugs (services/store/planted.h), each of which must be found. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/simulation.h>

#include "base/rng.h"
#include "base/test.h"
#include "node/test_plan.h"
#include "services/store/planted.h"
#include "sim/chaos/chaos.h"
#include "views_keeper.h"

#define MILLI        (PSEC_PER_SECOND / 1000)
#define STEADY_NSEC  6000000000
#define PLANT_SEEDS  1000
#define SETTLED_MOST (20 * PSEC_PER_SECOND)

static uint64_t seeds = 40;

/* ---- storms ---- */

static uint64_t views_seen;

static int begins(struct weft_simulation *simulation)
{
    return 0;
}

static void up(struct weft_simulation *simulation, weft_server server, bool empty)
{
    if (empty)
        keepers_erased(server);
}

static void finish(struct weft_simulation *simulation)
{
    uint32_t count = weft_sim_server_count(simulation);
    char text[160];
    views_seen += keepers_epoch();
    uint32_t odd = keepers_odd(count);
    if (odd < count) {
        keepers_print(odd, text, sizeof text);
        weft_sim_fail(simulation, "the servers do not agree on view %u: %s", keepers_epoch(), text);
    }
    if (keepers_wrong())
        weft_sim_fail(simulation, "%s", keepers_wrong());
}

static const struct weft_checker_ops checker_ops = {.start = begins, .up = up, .finish = finish};
static const struct weft_checker checker = {
    .version = WEFT_SIMULATION_VERSION,
    .name = "views",
    .steady_nsec = STEADY_NSEC,
    .ops = &checker_ops,
};

static const struct weft_service *const services[] = {&views_keeper, NULL};
static const struct chaos_guests guests = {
    .services = services, .apart = true, .checker = &checker};

static struct chaos_result run(const struct test_plan *test, uint64_t seed, uint32_t kinds)
{
    struct chaos_settings settings = {&test->plan, seed, kinds, 0};
    struct chaos_result result;
    keepers_begin(kinds >> FAULT_DISK_ROT & 1);
    assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
    return result;
}

#ifndef WEFT_PLANTED_BUGS

static void servers_agree_whatever_fails(void **unused)
{
    static const char *const specs[] = {"torus:3", "torus:3x3", "torus:3x3x3", "novacube:4x4",
                                        "jellyfish:n=27,degree=4"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_plan test;
        test_plan_open(&test, specs[i]);
        views_seen = 0;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct chaos_result result = run(&test, seed, FAULT_ALL);
            if (result.checker)
                fail_msg("%s, seed %llu: %s: %s", specs[i], (unsigned long long)seed,
                         result.checker, result.text);
        }
        print_message("# %s: %llu seeds, %llu views\n", specs[i], (unsigned long long)seeds,
                      (unsigned long long)views_seen);
        assert_true(views_seen > 2 * seeds);
        test_plan_close(&test);
    }
}

static void a_seed_repeats_a_run(void **unused)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3x3");
    struct chaos_result first = run(&test, 3, FAULT_ALL), again = run(&test, 3, FAULT_ALL);
    assert_true(first.hash == again.hash && first.events == again.events);
    test_plan_close(&test);
}

#endif

/* ---- scenes without chance ---- */

struct scene {
    struct test_plan test;
    struct world *world;
    uint32_t count;
};

static void scene_open(struct scene *scene, const char *spec, uint64_t seed)
{
    struct world_settings settings = WORLD_DEFAULTS;
    struct why why = {""};
    test_plan_open(&scene->test, spec);
    scene->count = scene->test.plan.server_count;
    settings.plan = &scene->test.plan;
    settings.node.services = services;
    settings.seed = seed;
    settings.settled = true;
    settings.disk = (struct disk_settings){
        .size = 64 << 20, .delay = MILLI, .jitter = 10 * MILLI, .lost = 500000, .torn = 300000};
    keepers_begin(false);
    assert_int_equal(world_open(&scene->world, &settings, &why), OK);
}

static void scene_close(struct scene *scene)
{
    world_close(scene->world);
    test_plan_close(&scene->test);
}

static psec run_until_agreed(struct scene *scene)
{
    psec begin = world_now(scene->world);
    while (!keepers_agree(scene->count)) {
        world_run(scene->world, world_now(scene->world) + MILLI);
        if (world_now(scene->world) - begin > SETTLED_MOST) {
            char text[160];
            for (uint32_t i = 0; i < scene->count; i++) {
                keepers_print(i, text, sizeof text);
                print_message("# %s\n", text);
            }
            fail_msg("%s", keepers_wrong() ? keepers_wrong() : "the servers do not agree");
        }
    }
    return world_now(scene->world) - begin;
}

/* Two of three servers lose their disks, and all start again; the third one, which knows that the
 * store exists, is reached long before its disk answers. The others do not begin a new store. */
static const char *found_again(void)
{
    struct scene scene;
    scene_open(&scene, "torus:3", 1);
    run_until_agreed(&scene);
    for (node_id id = 0; id < 3; id++)
        world_crash(scene.world, id);
    world_run(scene.world, world_now(scene.world) + PSEC_PER_SECOND);
    for (node_id id = 0; id < 2; id++) {
        world_erase(scene.world, id);
        keepers_erased(id);
    }
    world_hang(scene.world, 2, 8 * PSEC_PER_SECOND);
    for (node_id id = 0; id < 3; id++)
        assert_int_equal(world_restart(scene.world, id, NULL), OK);
    world_run(scene.world, world_now(scene.world) + 12 * PSEC_PER_SECOND);
    const char *wrong = keepers_wrong();
    if (!wrong && views_roster(keepers_views(0))->epoch == 0)
        wrong = "server 0 was not told that there is a view 1";
    scene_close(&scene);
    return wrong;
}

/* A vote that is not durable is no vote: its server restarts, knows nothing of it, and decides on
 * another view with the one that the first view was to leave out. */
static const char *vote_again(uint64_t seed)
{
    struct scene scene;
    scene_open(&scene, "torus:3", seed);
    run_until_agreed(&scene);
    uint32_t epoch = keepers_epoch();
    world_crash(scene.world, 2);
    world_hang(scene.world, 1, 4 * PSEC_PER_SECOND);
    world_run(scene.world, world_now(scene.world) + 3 * PSEC_PER_SECOND);
    world_crash(scene.world, 0);
    world_crash(scene.world, 1);
    assert_int_equal(world_restart(scene.world, 1, NULL), OK);
    assert_int_equal(world_restart(scene.world, 2, NULL), OK);
    world_run(scene.world, world_now(scene.world) + 10 * PSEC_PER_SECOND);
    const char *wrong = keepers_wrong();
    if (!wrong && !(keepers_agree(3) && keepers_epoch() > epoch))
        wrong = "two of three do not agree";
    scene_close(&scene);
    return wrong;
}

/* The server begins again in the same process, perhaps without what it had on its disk. */
static void begin_again(node_id id, bool loses)
{
    struct views *views = keepers_views(id);
    if (!views || !views_roster(views))
        return;
    if (loses)
        views_lose(views);
    views_begin_again(views);
}

/* Servers end and start again all the time, and their disks take long to sync. */
static void fight(struct scene *scene, struct rng *rng, unsigned erases)
{
    for (unsigned i = 0; i < 60 && !keepers_wrong(); i++) {
        node_id id = (node_id)rng_below(rng, scene->count);
        if (!world_node(scene->world, id)) {
            assert_int_equal(world_restart(scene->world, id, NULL), OK);
        } else if (rng_below(rng, 2)) {
            world_crash(scene->world, id);
            if (erases && rng_below(rng, 3) == 0) {
                erases--;
                world_erase(scene->world, id);
                keepers_erased(id);
            }
        } else if (rng_below(rng, 3) == 0) {
            bool loses = erases && rng_below(rng, 3) == 0;
            erases -= loses;
            begin_again(id, loses);
        } else {
            world_hang(scene->world, id, rng_below(rng, 200) * MILLI);
        }
        world_run(scene->world, world_now(scene->world) + rng_below(rng, 150) * MILLI);
    }
    for (node_id id = 0; id < scene->count; id++) {
        if (!world_node(scene->world, id))
            assert_int_equal(world_restart(scene->world, id, NULL), OK);
    }
}

/* Disks are lost, too, after the store was founded. So many that perhaps too few votes are left;
 * but there is never a second roster for an epoch. */
static const char *brawl_without_disks(uint64_t seed)
{
    struct scene scene;
    struct rng rng = rng_make(seed, 6);
    scene_open(&scene, "torus:5", seed);
    run_until_agreed(&scene);
    fight(&scene, &rng, 2);
    world_run(scene.world, world_now(scene.world) + 3 * PSEC_PER_SECOND);
    const char *wrong = keepers_wrong();
    scene_close(&scene);
    return wrong;
}

static struct views_counts count_all(const struct scene *scene)
{
    struct views_counts sum = {0}, counts;
    for (uint32_t i = 0; i < scene->count; i++) {
        if (!keepers_views(i))
            continue;
        views_count(keepers_views(i), &counts);
        sum.packets += counts.packets;
        sum.bytes += counts.bytes;
        sum.saves += counts.saves;
        sum.garbage += counts.garbage;
    }
    return sum;
}

static double in_msec(psec span)
{
    return (double)span / 1e9;
}

static void cost(const char *spec)
{
    struct scene scene;
    scene_open(&scene, spec, 1);
    psec founding = run_until_agreed(&scene);
    world_run(scene.world, world_now(scene.world) + 2 * PSEC_PER_SECOND);
    uint32_t epoch = keepers_epoch();
    struct views_counts before = count_all(&scene), after;
    views_wish(keepers_views(scene.count / 2), true);
    psec left_at = world_now(scene.world);
    while (keepers_epoch() == epoch)
        world_run(scene.world, world_now(scene.world) + MILLI / 10);
    psec decided = world_now(scene.world) - left_at;
    for (bool all = false; !all;) {
        world_run(scene.world, world_now(scene.world) + MILLI / 10);
        all = true;
        for (uint32_t i = 0; i < scene.count; i++)
            all &= views_roster(keepers_views(i))->epoch > epoch;
    }
    psec spread = world_now(scene.world) - left_at;
    world_run(scene.world, world_now(scene.world) + PSEC_PER_SECOND);
    assert_int_equal(keepers_epoch(), epoch + 1);
    after = count_all(&scene);
    uint64_t packets = after.packets - before.packets, bytes = after.bytes - before.bytes;
    uint32_t directions = 0;
    for (uint32_t i = 0; i < scene.count; i++)
        directions += graph_degree(&scene.test.topology.graph, i);
    printf(
        "%-16s %4u servers: founded in %.1f ms (%u views); one server leaves: decided in %.1f ms, "
        "everywhere in %.1f ms; %.1f packets and %.0f bytes for each direction of a link; %.1f "
        "KiB for each server; %.1f saves\n",
        spec, scene.count, in_msec(founding), epoch, in_msec(decided), in_msec(spread),
        (double)packets / directions, (double)bytes / directions,
        (double)bytes / scene.count / 1024, (double)(after.saves - before.saves) / scene.count);
    scene_close(&scene);
}

/* Not a test: prints the figures of docs/store.md. */
static void print_cost(void)
{
    cost("torus:3x3x3");
    cost("torus:8x8x8");
}

#ifdef WEFT_PLANTED_BUGS

static const char *storm(uint64_t seed)
{
    struct test_plan test;
    test_plan_open(&test, seed % 2 ? "torus:3" : "torus:3x3");
    static char text[CHECKER_TEXT_SIZE];
    struct chaos_result result = run(&test, seed, FAULT_ALL);
    snprintf(text, sizeof text, "%s", result.text);
    test_plan_close(&test);
    return result.checker ? text : NULL;
}

static const char *found_again_by(uint64_t seed)
{
    return seed > 1 ? NULL : found_again();
}

static const struct plant {
    enum store_bug bug;
    const char *(*try)(uint64_t seed);
} plants[] = {
    {STORE_HALF_DECIDES, storm},
    {STORE_DISK_UNCHECKED, brawl_without_disks},
    {STORE_VOTE_EARLY, vote_again},
    {STORE_FOUNDED_ALONE, found_again_by},
};

static void planted_bugs_are_found(void **unused)
{
    for (unsigned i = 0; i < sizeof plants / sizeof *plants; i++) {
        const char *wrong = NULL;
        uint64_t seed = 0;
        store_bugs = UINT64_C(1) << plants[i].bug;
        while (!wrong && seed < PLANT_SEEDS)
            wrong = plants[i].try(++seed);
        store_bugs = 0;
        if (!wrong)
            fail_msg("bug %u was not found in %d seeds", plants[i].bug, PLANT_SEEDS);
        print_message("# bug %u: seed %llu: %s\n", plants[i].bug, (unsigned long long)seed, wrong);
        wrong = plants[i].try(seed);
        if (wrong)
            fail_msg("seed %llu without a bug: %s", (unsigned long long)seed, wrong);
    }
}

#define TESTS TEST(planted_bugs_are_found)

#else

static const char *brawl(uint64_t seed)
{
    struct scene scene;
    struct rng rng = rng_make(seed, 5);
    scene_open(&scene, rng_below(&rng, 2) ? "torus:3" : "torus:3x3", seed);
    fight(&scene, &rng, 0);
    for (unsigned i = 0; i < 200 && !keepers_agree(scene.count) && !keepers_wrong(); i++)
        world_run(scene.world, world_now(scene.world) + 100 * MILLI);
    const char *wrong =
        keepers_agree(scene.count) || keepers_wrong() ? keepers_wrong() : "they do not agree";
    scene_close(&scene);
    return wrong;
}

static void a_store_is_not_founded_again(void **unused)
{
    const char *wrong = found_again();
    if (wrong)
        fail_msg("%s", wrong);
}

static void a_vote_counts_when_it_is_durable(void **unused)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        const char *wrong = vote_again(seed);
        if (wrong)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
    }
}

static void servers_that_come_and_go_agree(void **unused)
{
    for (uint64_t seed = 1; seed <= 5 * seeds; seed++) {
        const char *wrong = brawl(seed);
        if (wrong)
            fail_msg("seed %llu: %s", (unsigned long long)seed, wrong);
        wrong = brawl_without_disks(seed);
        if (wrong)
            fail_msg("seed %llu, disks are lost: %s", (unsigned long long)seed, wrong);
    }
}

static void servers_found_a_store(void **unused)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=27,degree=4",
                                        "torus:2", "torus:3"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct scene scene;
        scene_open(&scene, specs[i], i);
        run_until_agreed(&scene);
        assert_int_equal(keepers_epoch(), 1);
        scene_close(&scene);
    }
}

#define TESTS                                                                                      \
    TEST(servers_found_a_store), TEST(a_store_is_not_founded_again),                               \
        TEST(a_vote_counts_when_it_is_durable), TEST(servers_that_come_and_go_agree),              \
        TEST(servers_agree_whatever_fails), TEST(a_seed_repeats_a_run)

#endif

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {TESTS};
    if (count > 1 && strcmp(words[1], "cost") == 0) {
        print_cost();
        return 0;
    }
    if (count > 1)
        seeds = strtoull(words[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
