/* Compares the memory of outcomes with a plain list. */
#include "services/store/memory/once.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define ROOM 50

static struct outcome noted[ROOM]; /* the oracle, oldest first */
static uint32_t noted_count;
static uint64_t forgotten; /* sum of the versions that were forgotten, and of the oracle's */

static void forgets(void *owner, const struct outcome *outcome)
{
    forgotten += outcome->version;
}

static uint32_t oracle_find(uint64_t client, uint32_t number)
{
    uint32_t i = 0;
    while (i < noted_count && (noted[i].client != client || noted[i].number != number))
        i++;
    return i;
}

static void oracle_forget(uint32_t i)
{
    forgotten -= noted[i].version;
    noted_count--;
    for (; i < noted_count; i++)
        noted[i] = noted[i + 1];
}

static bool oracle_is_over(uint64_t client, uint32_t group, uint32_t number)
{
    for (uint32_t i = 0; i < noted_count; i++) {
        if (noted[i].client == client && noted[i].group == group &&
            noted[i].number > number + STORE_WINDOW)
            return true;
    }
    return false;
}

static void note(struct once *once, const struct outcome *new)
{
    uint32_t known = oracle_find(new->client, new->number);
    once_note(once, new);
    if ((known < noted_count && noted[known].version >= new->version) ||
        oracle_is_over(new->client, new->group, new->number))
        return;
    if (known < noted_count)
        oracle_forget(known);
    for (uint32_t i = noted_count; i-- > 0;) {
        if (noted[i].client == new->client &&
            noted[i].group == new->group &&noted[i].number + STORE_WINDOW < new->number)
            oracle_forget(i);
    }
    if (noted_count == ROOM)
        oracle_forget(0);
    noted[noted_count++] = *new;
}

static void expire(struct once *once, int64_t before)
{
    once_expire(once, before);
    while (noted_count && noted[0].at < before)
        oracle_forget(0);
}

static void compare_changes(const struct once *once, uint32_t group)
{
    uint32_t cursor = 0, count = 0;
    for (uint32_t i = 0; i < noted_count; i++)
        count += noted[i].version && !noted[i].disowned && noted[i].group == group;
    for (const struct outcome *next; (next = once_next(once, group, &cursor)); count--)
        assert_true(next->version && !next->disowned && next->group == group);
    assert_int_equal(count, 0);
}

static void compare(const struct once *once)
{
    compare_changes(once, 1);
    for (uint32_t i = 0; i < 4 * 3 * 20; i++) {
        uint64_t client = 1 + i % 4;
        assert_int_equal(once_is_over(once, client, i / 4 % 3, i / 12 * 20),
                         oracle_is_over(client, i / 4 % 3, i / 12 * 20));
    }
    assert_int_equal(once->count, noted_count);
    assert_int_equal(forgotten, 0);
    for (uint32_t i = 0; i < noted_count; i++) {
        const struct outcome *found = once_find(once, noted[i].client, noted[i].number);
        if (noted[i].disowned) {
            assert_null(found);
            assert_true(once_find_version(once, noted[i].group, noted[i].version)->disowned);
            continue;
        }
        assert_non_null(found);
        assert_int_equal(found->version, noted[i].version);
        assert_true(noted[i].version == 0 ||
                    once_find_version(once, noted[i].group, noted[i].version) == found);
    }
}

static void outcomes_are_found_until_they_are_over(void **unused)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct rng rng = rng_make(seed, 4);
        struct once once = {.forgets = forgets};
        void *memory = calloc(1, once_size(ROOM));
        once_init(&once, memory, ROOM);
        noted_count = 0;
        for (uint32_t i = 1; i <= 2000; i++) {
            uint64_t client = 1 + rng_below(&rng, 4);
            if (i == 1234) {
                once_clear(&once);
                noted_count = 0;
                forgotten = 0;
            }
            if (rng_below(&rng, 40) == 0)
                expire(&once, i - 30);
            else
                note(&once, &(struct outcome){.client = client,
                                              .number = i / 8 + (uint32_t)rng_below(&rng, 100),
                                              .group = (uint32_t)rng_below(&rng, 3),
                                              .version = i % 7 ? i : 0,
                                              .superseded = i % 3 == 0,
                                              .disowned = i % 7 && i % 11 == 0,
                                              .at = i});
            compare(&once);
            assert_null(once_find(&once, 5, 1));
            assert_null(once_find_version(&once, 3, i));
        }
        free(memory);
    }
}

static void a_change_replaces_a_refusal_and_not_the_other_way_round(void **unused)
{
    struct once once = {.forgets = forgets};
    void *memory = calloc(1, once_size(ROOM));
    struct outcome refusal = {.client = 1, .number = 7, .group = 2, .status = STORE_CONFLICT};
    struct outcome change = {.client = 1, .number = 7, .group = 2, .version = 9};
    once_init(&once, memory, ROOM);
    once_note(&once, &refusal);
    assert_int_equal(once_find(&once, 1, 7)->version, 0);
    once_note(&once, &change);
    assert_int_equal(once_find(&once, 1, 7)->version, 9);
    assert_ptr_equal(once_find_version(&once, 2, 9), once_find(&once, 1, 7));
    once_note(&once, &refusal);
    assert_int_equal(once_find(&once, 1, 7)->version, 9);
    assert_int_equal(once.count, 1);
    free(memory);
}

/* What a learner remembers is doubtful until the leader confirms it. */
static void a_learner_doubts_its_changes_and_forgets_its_refusals(void **unused)
{
    struct once once = {.forgets = forgets};
    void *memory = calloc(1, once_size(ROOM));
    once_init(&once, memory, ROOM);
    for (uint32_t i = 0; i < 12; i++)
        once_note(&once, &(struct outcome){.client = 1 + i,
                                           .number = 7,
                                           .group = i % 2,
                                           .version = i < 8 ? 100 + i : 0});
    once_doubt(&once, 1, 105);
    for (uint32_t i = 0; i < 12; i++) {
        const struct outcome *found = once_find(&once, 1 + i, 7);
        if (i % 2 && i >= 8)
            assert_null(found);
        else
            assert_int_equal(found->doubtful, i % 2 && i < 5);
    }
    assert_int_equal(once.count, 10);
    once_doubt(&once, 1, 0);
    assert_false(once_find(&once, 2, 7)->doubtful);
    free(memory);
}

/* A record says that a change did not happen, and comes with its version. */
static void a_change_is_disowned_once_and_for_all(void **unused)
{
    struct once once = {.forgets = forgets};
    void *memory = calloc(1, once_size(ROOM));
    struct outcome change = {.client = 1, .number = 7, .group = 2, .version = 9}, not_so = change;
    not_so.disowned = true;
    once_init(&once, memory, ROOM);
    once_note(&once, &change);
    once_note(&once, &not_so);
    assert_null(once_find(&once, 1, 7));
    once_note(&once, &change); /* the same record is read again */
    assert_null(once_find(&once, 1, 7));
    assert_true(once_find_version(&once, 2, 9)->disowned);
    change.version = 10; /* it is done after all */
    once_note(&once, &change);
    assert_int_equal(once_find(&once, 1, 7)->version, 10);
    assert_int_equal(once.count, 1);
    forgotten = 0;
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(outcomes_are_found_until_they_are_over),
        TEST(a_change_replaces_a_refusal_and_not_the_other_way_round),
        TEST(a_learner_doubts_its_changes_and_forgets_its_refusals),
        TEST(a_change_is_disowned_once_and_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
