/* Compares placements with a brute-force ranking of all servers, and with groups and ranks that
 * were computed by another program: if these change, stores that exist lose their keys. */
#include "services/store/service/placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/test.h"

#define SERVERS_MAX 60
#define MOST_MAX    8

static struct roster *roster_make(uint32_t count)
{
    struct roster *roster = malloc(roster_size(count));
    assert_non_null(roster);
    roster_plan(roster, count);
    return roster;
}

/* The next view: each server that is in one set and not in the other leaves or joins. */
static void roster_step(struct roster *roster, const bool *before, const bool *after)
{
    roster->epoch++;
    for (uint32_t i = 0; i < roster->count; i++) {
        if (before[i] && !after[i])
            roster_leave(roster, i);
        else if (!before[i] && after[i])
            roster_join(roster, i, 1 + i, roster->epoch);
    }
}

/* View 1, with all servers as members. */
static struct roster *roster_full(uint32_t count)
{
    static const bool before[SERVERS_MAX];
    bool after[SERVERS_MAX];
    struct roster *roster = roster_make(count);
    memset(after, true, sizeof after);
    roster_step(roster, before, after);
    return roster;
}

/* ---- brute force ---- */

struct ranked {
    uint64_t hash;
    uint32_t server;
};

static int ranked_compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    int order = compare_u64(a->hash, b->hash);
    return order ? order : compare_u64(a->server, b->server);
}

/* All servers of the set, in the order of the group. Of the hash, 40 bits decide. */
static uint32_t rank_all(uint32_t group, const bool *set, uint32_t count, uint32_t *servers)
{
    struct ranked ranked[SERVERS_MAX] = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (set[i])
            ranked[found++] = (struct ranked){hash_mix(group ^ hash_mix(i + 1)) >> 24, i};
    }
    qsort(ranked, found, sizeof *ranked, ranked_compare);
    for (uint32_t i = 0; i < found; i++)
        servers[i] = ranked[i].server;
    return found;
}

typedef uint32_t (*placement)(const struct roster *roster, uint32_t group, uint32_t *servers,
                              uint32_t most);

/* `most` may be more than there are: then all are returned. No more than `most` may be written. */
static void compare(placement place, const struct roster *roster, const bool *set, uint32_t group,
                    uint32_t most)
{
    uint32_t expected[SERVERS_MAX], servers[SERVERS_MAX + MOST_MAX + 1];
    uint32_t count = least_u32(rank_all(group, set, roster->count, expected), most);
    memset(servers, 0xff, sizeof servers);
    assert_int_equal(place(roster, group, servers, most), count);
    assert_memory_equal(servers, expected, count * sizeof *servers);
    assert_int_equal(servers[most], UINT32_MAX);
}

static void keepers_are_the_first_of_the_ranking(void **state)
{
    (void)state;
    const uint64_t seed = 5;
    bool all[SERVERS_MAX], founders[SERVERS_MAX], before[SERVERS_MAX], after[SERVERS_MAX];
    uint32_t fewer = 0;
    print_message("# seed %" PRIu64 "\n", seed);
    memset(all, true, sizeof all);
    for (uint32_t round = 0; round < 200; round++) {
        struct rng rng = rng_make(seed, round);
        struct roster *roster = roster_make(1 + (uint32_t)rng_below(&rng, SERVERS_MAX));
        uint64_t bound = 1 + rng_below(&rng, 4);
        memset(before, false, sizeof before);
        for (uint32_t view = 1; view <= 5; view++) {
            for (uint32_t i = 0; i < SERVERS_MAX; i++)
                after[i] = rng_below(&rng, bound) == 0; /* all, or fewer and fewer */
            roster_step(roster, before, after);
            memcpy(before, after, sizeof before);
            if (view == 1)
                memcpy(founders, after, sizeof founders);
            for (unsigned i = 0; i < 20; i++) {
                uint32_t group = (uint32_t)rng_below(&rng, 65536);
                uint32_t most = (uint32_t)rng_below(&rng, MOST_MAX + 1);
                uint32_t keepers[MOST_MAX];
                compare(placement_members, roster, after, group, most);
                compare(placement_founders, roster, founders, group, most);
                compare(placement_planned, roster, all, group, most);
                fewer += placement_members(roster, group, keepers, most) < most;
            }
        }
        free(roster);
    }
    assert_true(fewer > 1000); /* there were more copies than members */
}

static void before_view_1_a_group_has_no_keepers(void **state)
{
    (void)state;
    uint32_t servers[MOST_MAX];
    struct roster *roster = roster_make(9);
    assert_int_equal(placement_members(roster, 0, servers, 3), 0);
    assert_int_equal(placement_founders(roster, 0, servers, 3), 0);
    assert_int_equal(placement_planned(roster, 0, servers, 3), 3);
    free(roster);
}

/* ---- a founder is a member of view 1 for ever ---- */

static void founders_stay_when_members_change(void **state)
{
    (void)state;
    static const bool none[SERVERS_MAX], first[SERVERS_MAX] = {true, true, false, true};
    static const bool second[SERVERS_MAX] = {false, true, true, true};
    struct roster *roster = roster_make(4);
    roster_step(roster, none, first);
    roster_step(roster, first, second);
    for (uint32_t group = 0; group < 256; group++) {
        compare(placement_founders, roster, first, group, 4);
        compare(placement_founders, roster, first, group, 2);
        compare(placement_members, roster, second, group, 4);
    }
    roster_join(roster, 1, 99, 99); /* with another disk */
    for (uint32_t group = 0; group < 256; group++)
        compare(placement_founders, roster, first, group, 4);
    free(roster);
}

/* ---- what a change of members moves ---- */

static void a_server_that_leaves_moves_only_its_groups(void **state)
{
    (void)state;
    enum { SERVERS = 27, GROUPS = 1024, COPIES = 3 };
    for (uint32_t gone = 0; gone < SERVERS; gone++) {
        struct roster *roster = roster_full(SERVERS);
        uint32_t moved = 0;
        static uint32_t before[GROUPS][COPIES];
        for (uint32_t group = 0; group < GROUPS; group++)
            assert_int_equal(placement_members(roster, group, before[group], COPIES), COPIES);
        roster->epoch++;
        roster_leave(roster, gone);
        for (uint32_t group = 0; group < GROUPS; group++) {
            uint32_t after[COPIES], kept = 0;
            assert_int_equal(placement_members(roster, group, after, COPIES), COPIES);
            for (uint32_t i = 0; i < COPIES; i++) {
                if (before[group][i] == gone)
                    continue;
                assert_int_equal(after[kept++], before[group][i]); /* in the same order */
            }
            moved += COPIES - kept;
        }
        /* Its share is 114 of 1024 groups. */
        assert_in_range(moved, 80, 150);
        roster->epoch++;
        roster_join(roster, gone, 1 + gone, 2);
        for (uint32_t group = 0; group < GROUPS; group++) { /* and gets them back */
            uint32_t after[COPIES];
            assert_int_equal(placement_members(roster, group, after, COPIES), COPIES);
            assert_memory_equal(after, before[group], sizeof after);
        }
        free(roster);
    }
}

static bool is_among(uint32_t server, const uint32_t *servers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (servers[i] == server)
            return true;
    }
    return false;
}

static void what_a_server_kept_goes_to_all_others_alike(void **state)
{
    (void)state;
    enum { SERVERS = 9, GROUPS = 8192, COPIES = 3, GONE = 4 };
    struct roster *roster = roster_full(SERVERS), *without = roster_full(SERVERS);
    uint32_t gained[SERVERS] = {0};
    without->epoch++;
    roster_leave(without, GONE);
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t before[COPIES], after[COPIES];
        assert_int_equal(placement_members(roster, group, before, COPIES), COPIES);
        assert_int_equal(placement_members(without, group, after, COPIES), COPIES);
        if (is_among(GONE, before, COPIES))
            gained[after[COPIES - 1]]++;
    }
    for (uint32_t i = 0; i < SERVERS; i++) {
        if (i == GONE)
            assert_int_equal(gained[i], 0);
        else /* of 2731 groups, an eighth, within 3.5 standard deviations */
            assert_in_range(gained[i], 341 - 60, 341 + 60);
    }
    free(roster);
    free(without);
}

/* ---- balance ---- */

static void servers_keep_and_coordinate_groups_in_equal_shares(void **state)
{
    (void)state;
    enum { SERVERS = 27, GROUPS = 8192, COPIES = 3 };
    struct roster *roster = roster_full(SERVERS);
    uint32_t keeps[SERVERS] = {0}, coordinates[SERVERS] = {0}, pairs[SERVERS][SERVERS] = {{0}};
    for (uint32_t group = 0; group < GROUPS; group++) {
        uint32_t servers[COPIES];
        assert_int_equal(placement_members(roster, group, servers, COPIES), COPIES);
        coordinates[servers[0]]++;
        for (uint32_t i = 0; i < COPIES; i++)
            keeps[servers[i]]++;
        for (uint32_t i = 0; i < COPIES; i++) {
            for (uint32_t j = 0; j < COPIES; j++)
                pairs[servers[i]][servers[j]]++;
        }
    }
    /* Bounds of about five standard deviations of what random ranks would give. Ranks have no seed,
     * so this always gives the same numbers. */
    for (uint32_t i = 0; i < SERVERS; i++) {
        assert_in_range(keeps[i], 910 - 145, 910 + 145);
        assert_in_range(coordinates[i], 303 - 85, 303 + 85);
        for (uint32_t j = 0; j < i; j++)
            assert_in_range(pairs[i][j], 70 - 42, 70 + 42); /* groups that both keep */
    }
    free(roster);
}

static void keys_spread_over_all_groups(void **state)
{
    (void)state;
    const uint64_t seed = 6;
    enum { GROUPS = 256, KEYS = 256 * 400 };
    static uint32_t counts[GROUPS];
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %" PRIu64 "\n", seed);
    for (uint32_t i = 0; i < KEYS; i++) { /* half of them count up */
        char key[40];
        int size = i % 2 ? snprintf(key, sizeof key, "user:%u", i)
                         : snprintf(key, sizeof key, "%" PRIx64, rng_next(&rng));
        counts[placement_group(key, (uint32_t)size, GROUPS)]++;
    }
    for (uint32_t i = 0; i < GROUPS; i++)
        assert_in_range(counts[i], 400 - 100, 400 + 100); /* five standard deviations */
}

/* ---- what must never change ---- */

static void groups_of_keys_never_change(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        uint32_t groups[4];
    } cases[] = {
        {"", {0, 226, 883, 57888}},
        {"a", {0, 98, 383, 25138}},
        {"key", {0, 69, 269, 17683}},
        {"12345678", {0, 176, 690, 45225}},
        {"a key of more than eight bytes", {0, 209, 817, 53587}},
    };
    static const uint32_t counts[] = {1, 256, 1000, 65536};
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (unsigned j = 0; j < 4; j++)
            assert_int_equal(
                placement_group(cases[i].key, (uint32_t)strlen(cases[i].key), counts[j]),
                cases[i].groups[j]);
    }
}

static void ranks_never_change(void **state)
{
    (void)state;
    static const struct {
        uint32_t group, order[9];
    } cases[] = {
        {0, {7, 5, 1, 0, 6, 2, 8, 4, 3}},
        {1, {1, 6, 0, 4, 7, 2, 3, 5, 8}},
        {255, {8, 0, 3, 7, 2, 4, 6, 5, 1}},
        {65535, {0, 2, 6, 8, 7, 3, 1, 4, 5}},
    };
    struct roster *roster = roster_full(9);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t servers[9];
        assert_int_equal(placement_members(roster, cases[i].group, servers, 9), 9);
        assert_memory_equal(servers, cases[i].order, sizeof servers);
        for (unsigned j = 1; j < 9; j++)
            assert_true(placement_rank(cases[i].group, servers[j - 1]) <
                        placement_rank(cases[i].group, servers[j]));
    }
    free(roster);
}

/* In group 975, the hashes of these two differ only in bits that do not count. */
static void of_equal_hashes_the_lower_server_comes_first(void **state)
{
    (void)state;
    uint64_t low = hash_mix(975 ^ hash_mix(14877 + 1)), high = hash_mix(975 ^ hash_mix(36388 + 1));
    assert_true(low >> 24 == high >> 24 && low > high);
    assert_true(placement_rank(975, 14877) < placement_rank(975, 36388));
}

TEST_MAIN(TEST(keepers_are_the_first_of_the_ranking), TEST(before_view_1_a_group_has_no_keepers),
          TEST(founders_stay_when_members_change), TEST(a_server_that_leaves_moves_only_its_groups),
          TEST(what_a_server_kept_goes_to_all_others_alike),
          TEST(servers_keep_and_coordinate_groups_in_equal_shares),
          TEST(keys_spread_over_all_groups), TEST(groups_of_keys_never_change),
          TEST(ranks_never_change), TEST(of_equal_hashes_the_lower_server_comes_first))
