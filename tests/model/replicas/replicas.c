/* All ways in which the replicas of one placement group can go from view to view
 * (services/store/replica), explored with the functions that the servers run.
 *
 * Views follow in any way: a server leaves, or joins again. Servers install them at any time, and
 * may leave some out. They restart, and lose their disks. Messages are lost, repeated and delivered
 * in any order. Meanwhile a client puts keys and removes them again, and another one reads.
 *
 * What is wrong: an acknowledged write is not at the leader of the newest view; a removed key is
 * there again; a read returns what it must not; the in-sync servers differ.
 *
 * model-replicas_planted is this program with bugs, one at a time: the model must find each. */

#include "services/store/replica/replica.h"

#include <string.h>

#include "base/test.h"
#include "model/replicas/steps.h"
#include "services/store/planted.h"

static const struct model model = {sizeof(struct state), steps_expand, steps_print};

static uint64_t explore(struct bounds given, bool quiet)
{
    state_begin(given);
    seen = (struct seen){0};
    struct state state = steps_start();
    uint64_t states = explorer_run(&model, &state, 40000000, quiet);
    state_end();
    return states;
}

#ifdef WEFT_PLANTED_BUGS

static void the_model_finds_each_bug(void **unused)
{
    (void)unused;
    static const struct {
        enum store_bug bug;
        const char *name;
    } bugs[] = {
#define BUG(bug, name, text) {STORE_##bug, name},
        STORE_REPLICA_PLANTED(BUG)
#undef BUG
    };
    static const struct bounds tries[] = {
        {.views = 1, .copies = 2, .keys = 1, .writes = 1, .reads = 1},
        {.views = 1, .copies = 2, .keys = 2, .writes = 2},
        {.views = 2, .copies = 2, .keys = 1, .removes = 1, .writes = 2, .purges = 1},
        {.views = 3, .copies = 2, .keys = 1, .writes = 1},
        {.views = 3, .copies = 2, .keys = 1, .writes = 1, .any = 1, .changes = "002"},
        {.views = 2, .copies = 2, .keys = 1, .writes = 1, .restarts = 1, .forgets = 1},
    };
    unsigned missed = 0;
    for (unsigned i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        store_bugs = UINT64_C(1) << bugs[i].bug;
        unsigned at = 0;
        while (at < sizeof tries / sizeof *tries && explore(tries[at], true) != UINT64_MAX)
            at++;
        bool found = at < sizeof tries / sizeof *tries;
        print_message("# %s: %s with bounds %u\n", bugs[i].name, found ? "found" : "MISSED", at);
        missed += !found;
    }
    assert_int_equal(missed, 0);
}

TEST_MAIN(TEST(the_model_finds_each_bug))

#else

static void check(struct bounds given)
{
    uint64_t states = explore(given, false);
    assert_true(states != UINT64_MAX);
    print_message("# %llu states, %u messages; grown %llu, retired %llu, rewritten %llu, "
                  "revived %llu, read %llu times\n",
                  (unsigned long long)states, state_wire_count(), (unsigned long long)seen.grown,
                  (unsigned long long)seen.retired, (unsigned long long)seen.rewritten,
                  (unsigned long long)seen.revived, (unsigned long long)seen.read);
    assert_true(seen.active);
}

static void views_follow_each_other(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 3, .copies = 2, .keys = 1, .writes = 1});
    assert_true(seen.grown && seen.retired && seen.rewritten && seen.revived);
}

static void removed_keys_stay_away(void **unused)
{
    (void)unused;
    check((struct bounds){
        .views = 2, .copies = 2, .keys = 1, .removes = 1, .writes = 2, .purges = 1});
    assert_true(seen.grown && seen.rewritten);
}

static void a_server_restarts(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 2, .copies = 2, .keys = 1, .writes = 1, .restarts = 1});
    assert_true(seen.grown && seen.revived);
}

static void what_is_in_memory_ends_with_all_its_processes(void **unused)
{
    (void)unused;
    check((struct bounds){
        .views = 2, .copies = 2, .keys = 1, .writes = 1, .restarts = 1, .forgets = 1});
    assert_true(seen.grown && seen.revived);
    check((struct bounds){.views = 3,
                          .copies = 2,
                          .keys = 1,
                          .writes = 1,
                          .restarts = 2,
                          .forgets = 1,
                          .changes = "011"});
    assert_true(seen.forgotten);
}

static void a_server_loses_its_disk(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 2, .copies = 2, .keys = 1, .writes = 1, .losses = 1});
    assert_true(seen.grown);
}

static void servers_read_under_leases(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 1, .copies = 2, .keys = 1, .writes = 1, .reads = 1});
    assert_true(seen.read);
}

static void messages_come_again_and_again(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 1, .copies = 2, .keys = 2, .writes = 2, .repeats = 1});
    assert_true(seen.grown);
}

static void any_server_leads_and_retires(void **unused)
{
    (void)unused;
    check((struct bounds){
        .views = 2, .copies = 2, .keys = 1, .writes = 1, .any = 1, .changes = "00"});
    assert_true(seen.grown && seen.retired);
}

/* Are all targets in sync, and no other server? Only a leader stays that is none: it hands over in
 * the next view. */
static bool is_whole(const struct state *state)
{
    const struct replica *leader = steps_leader(state);
    if (leader == NULL || leader->epoch != state->epoch)
        return false;
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        bool follows = state->servers[i].replica.role == REPLICA_FOLLOWS;
        if (i != leader->server && follows != state_targets(state_view(state, state->epoch), i))
            return false;
    }
    return true;
}

/* Random steps with up to six views, then calm. No disk is lost, so the group must be active again
 * with all its copies, and still have what was acknowledged. */
static void groups_recover_when_all_is_calm(void **unused)
{
    (void)unused;
    static const struct model healthy = {sizeof(struct state), steps_expand_healthy, steps_print};
    static const struct model calm = {sizeof(struct state), steps_expand_calm, steps_print};
    unsigned most = 0, acknowledged = 0;
    for (uint64_t seed = 1; seed <= 4000; seed++) {
        struct rng rng = rng_make(seed, 0);
        steps_chance = rng_make(seed, 1);
        state_begin((struct bounds){.views = (unsigned)rng_below(&rng, 7),
                                    .copies = 1 + (unsigned)rng_below(&rng, 3),
                                    .keys = 2,
                                    .removes = 1,
                                    .writes = 6,
                                    .restarts = (unsigned)rng_below(&rng, 6),
                                    .purges = 1,
                                    .any = (unsigned)rng_below(&rng, 2),
                                    .forgets = (unsigned)rng_below(&rng, 2)});
        struct state state = steps_start();
        uint64_t steps = explorer_walk(&healthy, &state, &rng, rng_below(&rng, 300));
        most = state.epoch > most ? state.epoch : most;
        bounds.any = 0;
        bounds.calm = state.epoch;
        if (steps != UINT64_MAX)
            steps = explorer_walk(&calm, &state, &rng, 2000);
        if (steps == UINT64_MAX || steps == 2000 || !is_whole(&state)) {
            steps_print(&state, 0);
            fail_msg("seed %llu: not whole after %llu steps", (unsigned long long)seed,
                     (unsigned long long)steps);
        }
        acknowledged += state.stages[0] == PRESENT || state.stages[0] == REMOVED;
        state_end();
    }
    print_message("# up to view %u; %u of 4000 had acknowledged writes\n", most, acknowledged);
    assert_true(acknowledged > 1000);
}

/* Longer ways than can all be tried. */
static void random_ways_with_all_faults(void **unused)
{
    (void)unused;
    static const struct model healthy = {sizeof(struct state), steps_expand_healthy, steps_print};
    uint64_t steps = 0;
    seen = (struct seen){0};
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        struct rng rng = rng_make(seed, 2);
        steps_chance = rng_make(seed, 3);
        state_begin((struct bounds){.views = VIEWS_MAX - 1,
                                    .copies = 1 + (unsigned)rng_below(&rng, 3),
                                    .keys = 2,
                                    .removes = 1,
                                    .writes = 8,
                                    .restarts = (unsigned)rng_below(&rng, 6),
                                    .losses = (unsigned)rng_below(&rng, 4),
                                    .reads = (unsigned)rng_below(&rng, 2) * 20,
                                    .purges = 1,
                                    .repeats = (unsigned)rng_below(&rng, 2),
                                    .loses = 1,
                                    .any = (unsigned)rng_below(&rng, 2),
                                    .forgets = (unsigned)rng_below(&rng, 2)});
        struct state state = steps_start();
        uint64_t taken = explorer_walk(&healthy, &state, &rng, 400);
        if (taken == UINT64_MAX)
            fail_msg("seed %llu", (unsigned long long)seed);
        steps += taken;
        state_end();
    }
    print_message("# %llu steps, %llu reads\n", (unsigned long long)steps,
                  (unsigned long long)seen.read);
    assert_true(seen.read > 1000);
}

/* ---- for minutes: `build/tests/model_replicas_test deep` ---- */

static void two_keys_in_three_views(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 3, .copies = 2, .keys = 2, .writes = 2});
}

static void reads_in_two_views(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 2, .copies = 2, .keys = 1, .writes = 1, .reads = 1});
}

static void all_restart(void **unused)
{
    (void)unused;
    check((struct bounds){
        .views = 3, .copies = 2, .keys = 1, .writes = 1, .restarts = 3, .changes = "012"});
}

static void a_server_returns_after_another_has_retired(void **unused)
{
    (void)unused;
    check((struct bounds){
        .views = 3, .copies = 2, .keys = 1, .writes = 1, .any = 1, .changes = "002"});
}

static void three_copies(void **unused)
{
    (void)unused;
    check((struct bounds){.views = 2, .copies = 3, .keys = 1, .writes = 1});
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_recover_when_all_is_calm),
        TEST(random_ways_with_all_faults),
        TEST(views_follow_each_other),
        TEST(removed_keys_stay_away),
        TEST(a_server_restarts),
        TEST(what_is_in_memory_ends_with_all_its_processes),
        TEST(a_server_loses_its_disk),
        TEST(servers_read_under_leases),
        TEST(messages_come_again_and_again),
        TEST(any_server_leads_and_retires),
    };
    const struct CMUnitTest deep[] = {
        TEST(two_keys_in_three_views),
        TEST(reads_in_two_views),
        TEST(all_restart),
        TEST(a_server_returns_after_another_has_retired),
        TEST(three_copies),
    };
    if (argc == 2 && strcmp(argv[1], "deep") == 0)
        return cmocka_run_group_tests(deep, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
