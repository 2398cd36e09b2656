/* Councils in a network that is divided: only one part of the members goes on. First single cases,
 * then random divisions, deaths and joins; the seed decides every event.
 *
 * A failure prints the seed. WEFT_SEED=N runs only that seed; WEFT_SEEDS=N runs seeds 1 to N. */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "sst/council/council_impl.h"
#include "sst/council/council_scene.h"

/* ---- single cases ---- */

/* Time passes for all parties; messages from and to `without` are lost. */
static void wait_without(unsigned ticks, unsigned without)
{
    static int64_t now = 1;
    for (unsigned tick = 0; tick < ticks; tick++, now += COUNCIL_RETRY_NSEC) {
        for (unsigned i = 0; i < PARTIES; i++)
            if (parties[i].council.ops)
                council_tick(&parties[i].council, now);
        settle_without(without);
    }
}

static void silence(unsigned at, unsigned about)
{
    council_silent(&parties[at].council, about + 1, 100 + about);
}

static void a_minority_is_expelled_and_the_majority_goes_on(void **state)
{
    begin(3);
    silence(0, 1);
    silence(1, 0);
    silence(2, 0);
    silence(0, 2);
    settle_without(0);
    same_view(1, 2);
    assert_int_equal(parties[1].view.rows[0].id, 0);
    assert_false(parties[0].expelled); /* the silent members may turn out to be dead */
    wait_without(30, 0);
    assert_true(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
    assert_false(parties[1].expelled || parties[2].expelled);
    same_view(1, 2);
}

static void of_two_members_only_the_eldest_goes_on(void **state)
{
    begin(2);
    silence(0, 1);
    silence(1, 0);
    wait_without(30, 0);
    assert_true(parties[1].expelled);
    assert_false(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
    assert_int_equal(parties[0].view.row_count, 1);
}

static void a_table_whose_other_members_have_ended_goes_on(void **state)
{
    begin(3);
    council_failed(&parties[2].council, 1, 100);
    council_failed(&parties[2].council, 2, 101);
    wait_without(30, 3);
    assert_false(parties[2].expelled);
    assert_int_equal(parties[2].view.rows[2].id, 3);
    begin(2);
    silence(1, 0);
    wait_without(5, 0);
    assert_int_equal(parties[1].view.epoch, 2); /* it waits */
    council_failed(&parties[1].council, 1, 100);
    wait_without(30, 0);
    assert_false(parties[1].expelled);
    assert_int_equal(parties[1].view.epoch, 3);
}

/* The other two went on without the eldest. Then one of them ends. */
static void a_member_that_has_ended_may_have_gone_on_with_the_silent_one(void **state)
{
    begin(3);
    silence(1, 0);
    silence(2, 0);
    settle_without(0);
    assert_int_equal(parties[1].view.epoch, 4);
    silence(0, 1);
    council_failed(&parties[0].council, 3, 102);
    wait_without(30, 0);
    assert_true(parties[0].expelled);
    assert_int_equal(parties[0].view.epoch, 3);
}

static void a_part_without_a_majority_lets_no_process_join(void **state)
{
    begin(2);
    silence(1, 0);
    council_join(party_open(2, NULL));
    wait_without(30, 0);
    assert_int_equal(parties[2].view.epoch, 0);
    assert_int_equal(parties[2].refused, 0); /* it asks until the others can be reached */
    silence(0, 1);
    wait_without(5, 3);
    same_view(0, 2);
}

/* The leader excludes a member that does not notice that it was cut off. */
static void an_excluded_member_is_told_when_it_asks(void **state)
{
    begin(3);
    silence(0, 2);
    silence(1, 2);
    settle_without(2);
    assert_int_equal(parties[0].view.epoch, 4);
    assert_false(parties[2].expelled);
    silence(2, 0);
    silence(2, 1); /* so it leads, and asks no process */
    council_say(&parties[2].council, 1, &(struct council_message){.kind = COUNCIL_ASK});
    settle();
    assert_true(parties[2].expelled);
}

/* Each of two members takes the other for ended, which is not true. */
static void of_two_parts_that_went_on_by_mistake_one_remains(void **state)
{
    begin(2);
    council_failed(&parties[0].council, 2, 101);
    council_failed(&parties[1].council, 1, 100);
    settle_without(0);
    assert_int_equal(parties[0].view.row_count, 1);
    assert_int_equal(parties[1].view.epoch, 3);
    council_tell(&parties[0].council, 2);
    council_tell(&parties[1].council, 1);
    settle();
    assert_true(parties[1].expelled);
    assert_false(parties[0].expelled);
}

static void the_table_that_was_founded_first_remains(void **state)
{
    begin(2);
    council_found(party_open(2, NULL), TABLE + 1);
    council_tell(&parties[2].council, 1);
    settle();
    assert_false(parties[0].expelled);
    assert_int_equal(parties[0].council.strange, 1);
    council_tell(&parties[0].council, 3);
    settle();
    assert_true(parties[2].expelled);
}

/* The table that was founded first has lost its majority, but its leader does not know yet that
 * this will last. */
static void a_table_without_a_majority_does_not_end_another(void **state)
{
    begin(3);
    silence(0, 1);
    silence(0, 2);
    council_found(party_open(3, NULL), TABLE + 1);
    council_tell(&parties[0].council, 4);
    wait_without(5, 1);
    council_tell(&parties[0].council, 4);
    wait_without(30, 1);
    assert_true(parties[0].expelled);
    assert_false(parties[3].expelled);
}

/* ---- random divisions ---- */

enum { SEEDS = 3000, CROWD = 8, LAST = 7, STEPS = 400, FLIGHTS = 4096, EPOCHS = 256 };

struct one {
    struct council council;
    struct view view;
    bool used, alive, expelled;
    bool left;  /* its program closes the table ... */
    bool stays; /* ... or does not even if it is expelled */
    uint64_t meets[SST_ROWS_MAX];
    bool met[SST_ROWS_MAX];
};

struct flight {
    unsigned from, to;
    size_t size;
    uint8_t *bytes;
};

static struct one crowd[CROWD];
static struct flight flights[FLIGHTS];
static unsigned flight_count;
static unsigned part[CROWD];      /* processes reach those in the same part of the network */
static bool is_cut[CROWD][CROWD]; /* the first has cut its connection to the second */
static struct view by_epoch[EPOCHS];
static uint64_t seed;
static struct rng rng;
static int64_t present;

static unsigned number_of(const void *argument)
{
    return (unsigned)((const struct one *)argument - crowd);
}

static void crowd_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    unsigned from = number_of(argument);
    for (unsigned i = 0; i < CROWD; i++) {
        bool grouped = council_is_member(&crowd[i].council) && !crowd[i].council.outvoted;
        if (!(to ? to == i + 1 : grouped) || i == from || !crowd[i].alive ||
            part[i] != part[from] || flight_count == FLIGHTS)
            continue;
        struct flight flight = {.from = from, .to = i, .size = size, .bytes = malloc(size)};
        assert_non_null(flight.bytes);
        memcpy(flight.bytes, bytes, size);
        flights[flight_count++] = flight;
    }
}

static void crowd_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    ((struct one *)argument)->meets[row] = nonce;
    ((struct one *)argument)->met[row] = false;
}

static void crowd_part(void *argument, uint32_t row, uint64_t nonce)
{
    ((struct one *)argument)->meets[row] = 0;
}

static void crowd_install(void *argument, const struct view *view)
{
    struct one *one = argument;
    one->view = *view;
    memset(one->meets, 0, sizeof one->meets);
    assert_true(view->epoch < EPOCHS);
    if (!by_epoch[view->epoch].epoch)
        by_epoch[view->epoch] = *view;
    if (!view_equal(&by_epoch[view->epoch], view))
        fail_msg("seed %llu: two views of epoch %llu", (unsigned long long)seed,
                 (unsigned long long)view->epoch);
}

static void crowd_refused(void *argument, int status, const char *reason)
{
    ((struct one *)argument)->expelled = ((struct one *)argument)->left = true;
}

static void crowd_expelled(void *argument)
{
    ((struct one *)argument)->expelled = true;
}

static void crowd_left(void *argument)
{
    ((struct one *)argument)->expelled = ((struct one *)argument)->left = true;
}

static const struct council_ops crowd_ops = {
    .send = crowd_send,
    .meet = crowd_meet,
    .part = crowd_part,
    .install = crowd_install,
    .refused = crowd_refused,
    .left = crowd_left,
    .expelled = crowd_expelled,
};

static bool chance(unsigned of)
{
    return rng_below(&rng, of) == 0;
}

static void one_open(unsigned i)
{
    struct council_config config = {
        .hash = HASH, .rows_max = CROWD, .drop = seed % 3 != 0, .id = i + 1, .nonce = 100 + i};
    crowd[i] = (struct one){.used = true, .alive = true, .stays = (seed + i) % 2};
    council_init(&crowd[i].council, &crowd_ops, &crowd[i], &config);
}

/* Delivers a message at random; those between two processes keep their order. */
static void flight_land(void)
{
    if (!flight_count)
        return;
    unsigned at = (unsigned)rng_below(&rng, flight_count);
    for (unsigned i = 0; i < at; i++)
        if (flights[i].from == flights[at].from && flights[i].to == flights[at].to)
            at = i;
    struct flight flight = flights[at];
    memmove(&flights[at], &flights[at + 1], (--flight_count - at) * sizeof flight);
    if (crowd[flight.to].alive && part[flight.to] == part[flight.from])
        council_receive(&crowd[flight.to].council, flight.from + 1, flight.bytes, flight.size);
    free(flight.bytes);
}

static void meetings_hold(unsigned i)
{
    for (uint32_t row = 0; row < CROWD; row++) {
        struct one *one = &crowd[i];
        if (!one->alive || !one->meets[row] || one->met[row])
            continue;
        unsigned other = (unsigned)(one->meets[row] - 100);
        uint32_t own = council_row(&one->council);
        if (!crowd[other].alive || part[other] != part[i] || own >= CROWD ||
            crowd[other].meets[own] != 100 + i)
            continue;
        one->met[row] = true;
        council_met(&one->council, row, one->meets[row], 0);
    }
}

/* The program of an expelled process closes the table, or does not. */
static void one_close(unsigned i)
{
    if (crowd[i].expelled && (crowd[i].left || !crowd[i].stays))
        crowd[i].alive = false;
}

/* One process notices that another is dead or cannot be reached. */
static void notice(unsigned i, unsigned other)
{
    if (i == other || !crowd[i].alive || !crowd[other].used)
        return;
    if (part[i] != part[other] || is_cut[other][i] || is_cut[i][other]) {
        is_cut[i][other] = true;
        council_silent(&crowd[i].council, other + 1, 100 + other);
    } else if (!crowd[other].alive) {
        council_failed(&crowd[i].council, other + 1, 100 + other);
    }
}

static void divide(void)
{
    unsigned parts = 2 + (unsigned)rng_below(&rng, 2);
    for (unsigned i = 0; i < CROWD; i++)
        part[i] = (unsigned)rng_below(&rng, parts);
}

static void tick_all(void)
{
    present += COUNCIL_RETRY_NSEC;
    for (unsigned i = 0; i < CROWD; i++)
        if (crowd[i].alive)
            council_tick(&crowd[i].council, present);
}

static void storm_step(void)
{
    unsigned i = (unsigned)rng_below(&rng, LAST);
    if (chance(60))
        divide();
    if (chance(60))
        memset(part, 0, sizeof part);
    if (chance(100) && crowd[i].alive)
        crowd[i].alive = false;
    if (chance(10) && !crowd[i].used) {
        one_open(i);
        council_join(&crowd[i].council);
    }
    if (chance(100) && crowd[i].alive && crowd[i].council.phase == COUNCIL_MEMBER)
        council_leave(&crowd[i].council);
    if (chance(4))
        tick_all();
    one_close(i);
    notice(i, (unsigned)rng_below(&rng, CROWD));
    meetings_hold(i);
    for (unsigned turn = (unsigned)rng_below(&rng, 4); turn > 0; turn--)
        flight_land();
}

/* The network is whole again, and every process learns of every death. */
static void calm(unsigned ticks)
{
    memset(part, 0, sizeof part);
    for (unsigned tick = 0; tick < ticks; tick++) {
        for (unsigned i = 0; i < CROWD; i++)
            one_close(i);
        for (unsigned i = 0; i < CROWD; i++)
            for (unsigned j = 0; j < CROWD; j++)
                notice(i, j);
        for (unsigned i = 0; i < CROWD; i++)
            for (unsigned j = 0; j < CROWD && crowd[i].alive; j++)
                if (crowd[i].council.lead == LEAD_RESTS && j != i)
                    council_tell(&crowd[i].council, j + 1); /* as members.c does */
        tick_all();
        for (unsigned turn = 0; turn < 2000 && flight_count; turn++) {
            flight_land();
            meetings_hold(turn % CROWD);
        }
        for (unsigned i = 0; i < CROWD; i++)
            meetings_hold(i);
    }
}

/* Each view follows the one before: members that are not new were in that one, in the same row. Two
 * parts that went on separately would break this. */
static void views_follow(void)
{
    const struct view *before = NULL;
    for (unsigned epoch = 1; epoch < EPOCHS; epoch++) {
        const struct view *view = &by_epoch[epoch];
        for (uint32_t row = 0; row < view->row_count; row++)
            if (view->rows[row].id && view->rows[row].since < epoch &&
                (!before || before->rows[row].nonce != view->rows[row].nonce))
                fail_msg("seed %llu: epoch %u does not follow epoch %llu", (unsigned long long)seed,
                         epoch, before ? (unsigned long long)before->epoch : 0);
        if (view->epoch)
            before = view;
    }
}

static void run(void)
{
    rng = rng_make(seed, 0);
    memset(crowd, 0, sizeof crowd);
    memset(part, 0, sizeof part);
    memset(is_cut, 0, sizeof is_cut);
    memset(by_epoch, 0, sizeof by_epoch);
    one_open(0);
    council_found(&crowd[0].council, TABLE);
    for (unsigned step = 0; step < STEPS; step++)
        storm_step();
    calm(100);
    /* Programs give up joining, or close an expelled table at last. Members that remain let a
     * process join. */
    for (unsigned i = 0; i < LAST; i++) {
        crowd[i].alive &= crowd[i].council.phase != COUNCIL_JOINING;
        crowd[i].stays = false;
    }
    calm(50);
    one_open(LAST);
    council_join(&crowd[LAST].council);
    calm(100);
    views_follow();
    const struct view *last = NULL;
    for (unsigned i = 0; i < CROWD; i++) {
        const struct one *one = &crowd[i];
        if (!one->alive || one->expelled || !council_is_member(&one->council))
            continue;
        if (!council_is_member(&crowd[LAST].council))
            fail_msg("seed %llu: the members let no process join", (unsigned long long)seed);
        if (last && !view_equal(last, &one->view))
            fail_msg("seed %llu: the members are still divided", (unsigned long long)seed);
        last = &one->view;
    }
    while (flight_count)
        free(flights[--flight_count].bytes);
}

static void random_divisions_leave_one_part(void **state)
{
    const char *one = getenv("WEFT_SEED"), *many = getenv("WEFT_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 0) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 0) : SEEDS;
    for (seed = first; seed <= last; seed++)
        run();
}

/* Five members: the eldest cannot reach the last three, but it reaches the second, which reaches
 * all. The program of the eldest does not close the table. */
static void an_outvoted_leader_does_not_block_the_majority(void **state)
{
    seed = 0;
    rng = rng_make(1, 0);
    memset(crowd, 0, sizeof crowd);
    memset(is_cut, 0, sizeof is_cut);
    memset(by_epoch, 0, sizeof by_epoch);
    one_open(0);
    crowd[0].stays = true;
    council_found(&crowd[0].council, TABLE);
    for (unsigned i = 1; i < 5; i++) {
        one_open(i);
        council_join(&crowd[i].council);
        calm(10);
        assert_true(council_is_member(&crowd[i].council));
    }
    for (unsigned i = 2; i < 5; i++)
        is_cut[0][i] = is_cut[i][0] = true;
    calm(60);
    assert_true(crowd[0].expelled);
    for (unsigned i = 1; i < 5; i++) {
        assert_false(crowd[i].expelled);
        assert_int_equal(crowd[i].view.rows[0].id, 0);
    }
    one_open(5);
    council_join(&crowd[5].council);
    calm(20);
    assert_true(council_is_member(&crowd[5].council));
    while (flight_count)
        free(flights[--flight_count].bytes);
}

TEST_MAIN(TEST(a_minority_is_expelled_and_the_majority_goes_on),
          TEST(of_two_members_only_the_eldest_goes_on),
          TEST(a_table_whose_other_members_have_ended_goes_on),
          TEST(a_member_that_has_ended_may_have_gone_on_with_the_silent_one),
          TEST(a_part_without_a_majority_lets_no_process_join),
          TEST(an_excluded_member_is_told_when_it_asks),
          TEST(of_two_parts_that_went_on_by_mistake_one_remains),
          TEST(the_table_that_was_founded_first_remains),
          TEST(a_table_without_a_majority_does_not_end_another),
          TEST(an_outvoted_leader_does_not_block_the_majority),
          TEST(random_divisions_leave_one_part))
