/* Makes random views, and each of them again from the changes alone. */
#include "services/store/view/changes.h"

#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

#define SERVERS 9
#define VIEWS   30

static struct roster *roster_make(uint32_t count)
{
    struct roster *roster = malloc(roster_size(count));
    assert_non_null(roster);
    roster_plan(roster, count);
    return roster;
}

static void change_some(struct roster *next, struct rng *rng)
{
    for (uint32_t server = 0; server < next->count; server++) {
        if (rng_below(rng, 6) == 0)
            roster_leave(next, server);
        else if (rng_below(rng, 4) == 0)
            roster_join(next, server, 1 + rng_below(rng, 3), 1 + rng_below(rng, 100));
        else if (rng_below(rng, 5) == 0)
            (void)roster_order(next, server, (enum roster_duty)rng_below(rng, DUTIES));
    }
}

static void changes_lead_from_view_to_view(void **unused)
{
    struct roster *view = roster_make(SERVERS), *next = roster_make(SERVERS),
                  *again = roster_make(SERVERS);
    struct view_changes *changes = malloc(sizeof *changes);
    uint32_t most = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_make(seed, 1);
        roster_plan(view, SERVERS);
        for (uint32_t i = 1; i <= VIEWS; i++) {
            roster_next(next, view);
            change_some(next, &rng);
            assert_true(changes_between(changes, view, next));
            most = changes->count > most ? changes->count : most;
            assert_true(changes_apply(changes, view, again));
            if (!roster_same(next, again))
                fail_msg("seed %llu, view %u is another one", (unsigned long long)seed, i);
            roster_copy(view, next);
        }
    }
    assert_true(most > SERVERS / 2);
    free(view);
    free(next);
    free(again);
    free(changes);
}

static void too_many_changes_are_refused(void **unused)
{
    struct roster *view = roster_make(CHANGES_MAX + 1), *next = roster_make(CHANGES_MAX + 1);
    struct view_changes *changes = malloc(sizeof *changes);
    roster_next(next, view);
    for (uint32_t i = 0; i < CHANGES_MAX; i++)
        roster_join(next, i, 1, 1);
    assert_true(changes_between(changes, view, next));
    assert_int_equal(changes->count, CHANGES_MAX);
    roster_join(next, CHANGES_MAX, 1, 1);
    assert_false(changes_between(changes, view, next));
    free(view);
    free(next);
    free(changes);
}

static bool applies(struct roster *view, struct roster *next, const struct view_change *list,
                    uint32_t count)
{
    struct view_changes changes = {.count = count};
    for (uint32_t i = 0; i < count; i++)
        changes.list[i] = list[i];
    return changes_apply(&changes, view, next);
}

static void changes_without_sense_are_refused(void **unused)
{
    struct roster *view = roster_make(3), *next = roster_make(3);
    const struct view_change unplanned = {3, 1, 1}, half = {1, 1, 0};
    const struct view_change no_order = {1, 0, DUTIES + 1}, same = {1, 0, DUTY_KEEPS + 1};
    const struct view_change order = {1, 0, DUTY_DRAINS + 1};
    const struct view_change in_order[] = {{0, 1, 1}, {2, 0, 0}}, twice[] = {{1, 1, 1}, {1, 2, 2}};
    assert_true(applies(view, next, in_order, 2));
    assert_false(applies(view, next, &unplanned, 1));
    assert_false(applies(view, next, &half, 1));
    assert_false(applies(view, next, &no_order, 1));
    assert_false(applies(view, next, &same, 1));
    assert_true(applies(view, next, &order, 1));
    assert_false(roster_keeps(next, 1));
    assert_false(applies(view, next, twice, 2));
    free(view);
    free(next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(changes_lead_from_view_to_view),
        TEST(too_many_changes_are_refused),
        TEST(changes_without_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
