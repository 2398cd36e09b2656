/* Compares the memory of outcomes with a plain list. */
#include "services/store/memory/once.h"

#include <stdlib.h>

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

static void note(struct once *once, const struct outcome *outcome)
{
    once_note(once, outcome);
    if (oracle_find(outcome->client, outcome->number) < noted_count)
        return;
    if (noted_count == ROOM)
        oracle_forget(0);
    noted[noted_count++] = *outcome;
}

static void raise_floor(struct once *once, uint64_t client, uint32_t floor)
{
    once_raise(once, client, floor);
    for (uint32_t i = noted_count; i-- > 0;) {
        if (noted[i].client == client && noted[i].number < floor && noted[i].number + 16 >= floor)
            oracle_forget(i);
    }
}

static void expire(struct once *once, int64_t before)
{
    once_expire(once, before);
    while (noted_count && noted[0].at < before)
        oracle_forget(0);
}

static void compare(const struct once *once)
{
    assert_int_equal(once->count, noted_count);
    assert_int_equal(forgotten, 0);
    for (uint32_t i = 0; i < noted_count; i++) {
        const struct outcome *found = once_find(once, noted[i].client, noted[i].number);
        assert_non_null(found);
        assert_int_equal(found->version, noted[i].version);
        assert_ptr_equal(once_find_version(once, noted[i].group, noted[i].version), found);
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
            if (rng_below(&rng, 5) == 0)
                raise_floor(&once, client, 1 + (uint32_t)rng_below(&rng, 60));
            else if (rng_below(&rng, 40) == 0)
                expire(&once, i - 30);
            else
                note(&once, &(struct outcome){.client = client,
                                              .number = 1 + (uint32_t)rng_below(&rng, 60),
                                              .group = (uint32_t)rng_below(&rng, 3),
                                              .version = i,
                                              .at = i});
            compare(&once);
            assert_null(once_find(&once, 5, 1));
            assert_null(once_find_version(&once, 3, i));
        }
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(outcomes_are_found_until_they_are_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
