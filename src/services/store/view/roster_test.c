/* Compares rosters with the whole history of their views, and tries all quorums. */
#include "services/store/view/roster.h"

#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/rng.h"
#include "base/test.h"

#define SERVERS 4
#define VIEWS   40

/* What each server was in each view. */
struct member {
    uint64_t disk, run; /* disk 0: not a member */
};

static struct member history[VIEWS + 1][SERVERS];

static struct roster *roster_make(uint32_t count)
{
    struct roster *roster = malloc(roster_size(count));
    assert_non_null(roster);
    roster_plan(roster, count);
    return roster;
}

static bool stayed(uint32_t now, uint32_t server, uint32_t from)
{
    for (uint32_t view = from; view <= now; view++) {
        const struct member *member = &history[view][server];
        if (!member->disk || member->disk != history[now][server].disk ||
            member->run != history[now][server].run)
            return false;
    }
    return true;
}

static bool missed(uint32_t now, uint32_t server, uint32_t epoch)
{
    for (uint32_t view = epoch + 1; view <= now; view++) {
        uint64_t disk = history[view][server].disk;
        if (disk && disk != history[now][server].disk)
            return true;
    }
    return false;
}

static void a_roster_knows_its_history(void **state)
{
    (void)state;
    struct roster *roster = roster_make(SERVERS), *next = roster_make(SERVERS);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct rng rng = rng_make(seed, 0);
        memset(history, 0, sizeof history);
        roster_plan(roster, SERVERS);
        uint64_t disks[SERVERS] = {1, 1, 1, 1}, run = 0;
        for (uint32_t view = 1; view <= VIEWS; view++) {
            roster_next(next, roster);
            memcpy(history[view], history[view - 1], sizeof history[view]);
            for (uint32_t server = 0; server < SERVERS; server++) {
                switch (rng_below(&rng, 8)) {
                case 0:
                    roster_leave(next, server);
                    history[view][server].disk = 0;
                    break;
                case 1:
                    disks[server]++; /* fall through */
                case 2:
                    history[view][server] = (struct member){disks[server], ++run};
                    roster_join(next, server, disks[server], run);
                    roster_join(next, server, disks[server], run); /* changes nothing */
                    break;
                default:
                    break;
                }
            }
            roster_copy(roster, next);
            assert_int_equal(roster->epoch, view);
            for (uint32_t server = 0; server < SERVERS; server++) {
                assert_int_equal(roster_has(roster, server), history[view][server].disk != 0);
                for (uint32_t before = 1; before <= view; before++) {
                    assert_int_equal(roster_stayed(roster, server, before),
                                     stayed(view, server, before));
                    assert_int_equal(roster_missed(roster, server, before),
                                     missed(view, server, before));
                }
            }
        }
    }
    free(roster);
    free(next);
}

static void only_the_present_disk_votes(void **state)
{
    (void)state;
    struct roster *plan = roster_make(3), *roster = roster_make(3);
    assert_true(roster_votes(plan, 2, 17));
    assert_false(roster_votes(plan, 3, 17));
    roster_next(roster, plan);
    roster_join(roster, 2, 17, 1);
    assert_true(roster_votes(roster, 2, 17));
    assert_false(roster_votes(roster, 2, 18));
    assert_false(roster_votes(roster, 1, 17));
    assert_int_equal(roster_first(plan), 0);
    assert_int_equal(roster_first(roster), 2);
    assert_true(roster->entries[2].founder);
    free(plan);
    free(roster);
}

static void some_that_left_keep_their_votes(void **state)
{
    (void)state;
    struct roster *view = roster_make(5), *next = roster_make(5);
    roster_next(next, view);
    for (uint32_t i = 0; i < 5; i++)
        roster_join(next, i, 10 + i, 1);
    for (uint32_t i = 0; i < 4; i++) { /* one after the other leaves, from the last */
        uint64_t three = 7, two = 6, one = 4;
        roster_copy(view, next);
        roster_next(next, view);
        roster_leave(next, 4 - i);
        assert_int_equal(roster_votes(next, 4 - i, 14 - i), i >= 2);
        assert_true(roster_quorum(next, &three));
        assert_int_equal(roster_quorum(next, &two), i >= 1);
        assert_false(roster_quorum(next, &one));
    }
    assert_int_equal(roster_first_member(next), 0);
    /* Three members again: no server that left votes. */
    roster_copy(view, next);
    roster_next(next, view);
    roster_join(next, 3, 13, 2);
    assert_true(roster_votes(next, 1, 11) && !roster_votes(next, 2, 12));
    roster_join(next, 4, 15, 2);
    assert_false(roster_votes(next, 1, 11));
    assert_true(roster_votes(next, 4, 15) && !roster_votes(next, 4, 14));
    free(view);
    free(next);
}

/* Of each number of servers, with each set of members. */
static void an_order_is_kept_until_the_server_joins(void **state)
{
    struct roster *view = roster_make(4), *next = roster_make(4);
    for (uint32_t i = 0; i < 4; i++) {
        view->epoch = 1;
        roster_join(view, i, 10 + i, 20 + i);
    }
    roster_next(next, view);
    assert_true(roster_keeps(next, 2));
    assert_false(roster_order(next, 2, DUTY_REPLACED)); /* it is there */
    assert_true(roster_order(next, 2, DUTY_DRAINS));
    assert_false(roster_order(next, 2, DUTY_DRAINS));
    assert_true(roster_has(next, 2) && !roster_keeps(next, 2));
    roster_leave(next, 2);
    roster_next(view, next);
    roster_join(view, 2, 12, 99);
    assert_false(roster_keeps(view, 2)); /* it drains also after a restart */
    roster_leave(view, 3);
    roster_leave(view, 2);
    roster_next(next, view);
    assert_true(roster_missed(next, 3, 1));
    assert_true(next->entries[2].votes); /* there are two members */
    assert_true(roster_order(next, 2, DUTY_REPLACED));
    assert_false(next->entries[2].votes);
    assert_true(roster_missed(next, 2, 0)); /* what it has is not given up */
    assert_true(roster_order(next, 3, DUTY_LOST));
    assert_false(roster_missed(next, 3, 1));
    roster_next(view, next);
    roster_join(view, 3, 77, 78);
    assert_true(roster_keeps(view, 3));
    assert_true(view->entries[3].lost > 0); /* an empty disk is no founder's */
    assert_true(roster_order(view, 2, DUTY_KEEPS));
    assert_true(roster_keeps(view, 2));
    free(view);
    free(next);
}

static void two_quorums_share_a_server(void **state)
{
    (void)state;
    for (uint32_t count = 1; count <= 6; count++) {
        struct roster *plan = roster_make(count), *roster = roster_make(count);
        for (uint64_t members = 0; members < UINT64_C(1) << count; members++) {
            roster_next(roster, plan);
            for (uint32_t i = 0; i < count; i++) {
                if (members >> i & 1)
                    roster_join(roster, i, 1, 1);
            }
            uint64_t quorums[64];
            unsigned found = 0;
            for (uint64_t set = 0; set < UINT64_C(1) << count; set++) {
                if (roster_quorum(roster, &set))
                    quorums[found++] = set;
            }
            /* All members are a quorum, and of each two complementary sets exactly one is. */
            assert_int_equal(found, members ? 1u << (count - 1) : 0);
            for (unsigned i = 0; i < found; i++) {
                for (unsigned j = 0; j < found; j++)
                    assert_true(quorums[i] & quorums[j] & members);
            }
        }
        free(plan);
        free(roster);
    }
}

TEST_MAIN(TEST(a_roster_knows_its_history), TEST(only_the_present_disk_votes),
          TEST(some_that_left_keep_their_votes), TEST(an_order_is_kept_until_the_server_joins),
          TEST(two_quorums_share_a_server))
