/* A group of members that fail, join and are expelled at random moments. What a member puts reaches
 * each other member at its own time. */
#include "sst/multicast/ballot.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define MEMBERS_MAX 24 /* in one run, each with its own row */
#define VIEWS_MAX   40
#define QUEUE_MAX   4096
#define STEPS       6000

struct simulated_view {
    uint32_t rows[MEMBERS_MAX];
    unsigned count;
};

struct simulated_member {
    bool exists, dead, expelled;
    uint64_t epoch; /* of the view installed here */
    uint64_t runs;  /* the view whose messages are received here, or 0 */
    uint64_t delivered;
    struct stand own;
};

struct world {
    struct rng rng;
    struct simulated_view views[VIEWS_MAX]; /* by epoch */
    uint64_t epoch;
    struct simulated_member members[MEMBERS_MAX];
    unsigned member_count;
    /* What the first member has put, and how much of it the second has seen. */
    struct stand *puts[MEMBERS_MAX];
    unsigned put_count[MEMBERS_MAX];
    unsigned seen[MEMBERS_MAX][MEMBERS_MAX];
    /* What must be the same for all members. */
    bool decided[VIEWS_MAX];
    struct vote decisions[VIEWS_MAX];
    bool closed[VIEWS_MAX];
    uint64_t cuts[VIEWS_MAX];
    uint64_t delivered[VIEWS_MAX]; /* the most that any member delivered */
    unsigned runs;
};

static void member_put(struct world *world, unsigned who)
{
    assert_true(world->put_count[who] < QUEUE_MAX);
    world->puts[who][world->put_count[who]++] = world->members[who].own;
    world->seen[who][who] = world->put_count[who];
}

static struct stand member_sees(const struct world *world, unsigned who, unsigned whom)
{
    unsigned seen = world->seen[whom][who];
    return seen ? world->puts[whom][seen - 1] : (struct stand){0};
}

static void member_join(struct world *world)
{
    unsigned who = world->member_count++;
    world->members[who] = (struct simulated_member){.exists = true};
    /* A member that meets another writes its whole row. */
    for (unsigned other = 0; other < who; other++)
        world->seen[other][who] = world->put_count[other];
}

/* Makes a later view: without dead members, sometimes without a live one, sometimes with a new
 * one. */
static void view_make(struct world *world)
{
    if (world->epoch + 1 == VIEWS_MAX)
        return;
    unsigned expel =
        rng_below(&world->rng, 12) ? MEMBERS_MAX : (unsigned)rng_below(&world->rng, MEMBERS_MAX);
    if (world->member_count < MEMBERS_MAX && rng_below(&world->rng, 3) == 0)
        member_join(world);
    struct simulated_view *view = &world->views[world->epoch + 1];
    unsigned living = 0;
    for (unsigned who = 0; who < world->member_count; who++)
        living += !world->members[who].dead && !world->members[who].expelled;
    view->count = 0;
    for (unsigned who = 0; who < world->member_count; who++) {
        struct simulated_member *member = &world->members[who];
        if (member->dead || member->expelled)
            continue;
        if (who == expel && living > 2) {
            member->expelled = true; /* it continues with the view that it has */
            continue;
        }
        view->rows[view->count++] = who;
    }
    world->epoch++;
}

static unsigned view_index(const struct simulated_view *view, unsigned who)
{
    for (unsigned i = 0; i < view->count; i++)
        if (view->rows[i] == who)
            return i;
    return MEMBERS_MAX;
}

static void member_start(struct world *world, struct simulated_member *member)
{
    struct vote vote = member->own.vote;
    if (world->decided[vote.epoch])
        assert_memory_equal(&world->decisions[vote.epoch], &vote, sizeof vote);
    world->decided[vote.epoch] = true;
    world->decisions[vote.epoch] = vote;
    if (member->runs) {
        assert_int_equal(vote.closes, member->runs);
        assert_true(vote.cut >= member->delivered);
        assert_true(vote.cut <= member->own.received);
        if (world->closed[vote.closes])
            assert_int_equal(world->cuts[vote.closes], vote.cut);
        world->closed[vote.closes] = true;
        world->cuts[vote.closes] = vote.cut;
        member->delivered = vote.cut;
        if (vote.cut > world->delivered[vote.closes])
            world->delivered[vote.closes] = vote.cut;
    }
    member->runs = 0;
    assert_true(vote.base >= member->own.received);
    member->own.received = vote.base;
    member->own.started = vote.epoch;
}

/* Receives some messages and delivers what all have received, as far as it sees. */
static void member_receive(struct world *world, unsigned who, const struct simulated_view *view)
{
    struct simulated_member *member = &world->members[who];
    member->own.received += rng_below(&world->rng, 20);
    member_put(world, who);
    uint64_t stable = UINT64_MAX;
    for (unsigned i = 0; i < view->count; i++) {
        uint64_t received = member_sees(world, who, view->rows[i]).received;
        stable = received < stable ? received : stable;
    }
    if (stable > member->delivered)
        member->delivered = stable;
    if (member->delivered > world->delivered[member->runs])
        world->delivered[member->runs] = member->delivered;
}

static void member_step(struct world *world, unsigned who)
{
    struct simulated_member *member = &world->members[who];
    if (!member->expelled && member->epoch < world->epoch && rng_below(&world->rng, 4) == 0) {
        /* Installs a later view, not always the next. */
        uint64_t epoch = member->epoch + 1 + rng_below(&world->rng, world->epoch - member->epoch);
        if (view_index(&world->views[epoch], who) < MEMBERS_MAX)
            member->epoch = epoch;
    }
    if (!member->epoch)
        return;
    const struct simulated_view *view = &world->views[member->epoch];
    unsigned own = view_index(view, who);
    struct stand stands[MEMBERS_MAX];
    for (unsigned i = 0; i < view->count; i++)
        stands[i] = member_sees(world, who, view->rows[i]);
    stands[own] = member->own;
    struct vote vote;
    switch (ballot_next(stands, view->count, own, member->epoch, &vote)) {
    case BALLOT_WAIT:
        return;
    case BALLOT_PROMISE:
        if (!member->own.joined)
            member->own.joined = member->epoch;
        member->own.promised = member->epoch;
        break;
    case BALLOT_VOTE:
        member->own.vote = vote;
        break;
    case BALLOT_START:
        member_start(world, member);
        break;
    case BALLOT_RUN:
        if (member->runs != member->epoch)
            world->runs++;
        member->runs = member->epoch;
        member_receive(world, who, view);
        return;
    }
    member_put(world, who);
}

static void world_step(struct world *world)
{
    unsigned who = (unsigned)rng_below(&world->rng, world->member_count);
    unsigned whom = (unsigned)rng_below(&world->rng, world->member_count);
    unsigned living = 0;
    for (unsigned i = 0; i < world->member_count; i++)
        living += !world->members[i].dead && !world->members[i].expelled;
    switch (rng_below(&world->rng, 300)) {
    case 0:
        view_make(world);
        return;
    case 1:
        if (living > 1 && !world->members[who].dead && rng_below(&world->rng, 3) == 0) {
            world->members[who].dead = true; /* each other member keeps what it has seen of it */
            view_make(world);
        }
        return;
    default:
        break;
    }
    /* Some of the puts arrive, in order; nothing new arrives from dead members. */
    if (!world->members[whom].dead && world->seen[whom][who] < world->put_count[whom])
        world->seen[whom][who] +=
            1 + rng_below(&world->rng, world->put_count[whom] - world->seen[whom][who]);
    if (!world->members[who].dead && world->put_count[who] + 2 < QUEUE_MAX)
        member_step(world, who);
}

static void simulate(uint64_t seed, unsigned *runs)
{
    static struct world world;
    struct stand *puts[MEMBERS_MAX];
    memcpy(puts, world.puts, sizeof puts);
    memset(&world, 0, sizeof world);
    memcpy(world.puts, puts, sizeof puts);
    for (unsigned i = 0; i < MEMBERS_MAX && !world.puts[i]; i++)
        world.puts[i] = calloc(QUEUE_MAX, sizeof(struct stand));
    world.rng = rng_make(seed, 1);
    for (unsigned i = 0; i < 2 + seed % 5; i++)
        member_join(&world);
    view_make(&world);
    for (unsigned step = 0; step < STEPS; step++)
        world_step(&world);
    for (uint64_t epoch = 0; epoch < VIEWS_MAX; epoch++)
        if (world.closed[epoch] && world.delivered[epoch] > world.cuts[epoch])
            fail_msg("seed %llu: a member delivered %llu of view %llu, which ends at %llu",
                     (unsigned long long)seed, (unsigned long long)world.delivered[epoch],
                     (unsigned long long)epoch, (unsigned long long)world.cuts[epoch]);
    *runs += world.runs;
    if (seed == 0)
        for (unsigned i = 0; i < MEMBERS_MAX; i++)
            free(world.puts[i]);
    if (seed == 0)
        memset(world.puts, 0, sizeof world.puts);
}

static void all_members_end_a_view_at_the_same_message(void **state)
{
    unsigned runs = 0;
    for (uint64_t seed = 400; seed-- > 0;)
        simulate(seed, &runs);
    assert_true(runs > 4000); /* the simulation makes progress */
}

static void a_single_member_runs_at_once(void **state)
{
    struct stand stand = {0};
    struct vote vote = {0};
    assert_int_equal(ballot_next(&stand, 1, 0, 1, &vote), BALLOT_PROMISE);
    stand.joined = stand.promised = 1;
    assert_int_equal(ballot_next(&stand, 1, 0, 1, &vote), BALLOT_VOTE);
    assert_int_equal(vote.epoch, 1);
    assert_int_equal(vote.cut + vote.base + vote.closes, 0);
    stand.vote = vote;
    assert_int_equal(ballot_next(&stand, 1, 0, 1, &vote), BALLOT_START);
    stand.started = 1;
    assert_int_equal(ballot_next(&stand, 1, 0, 1, &vote), BALLOT_RUN);
}

/* Member 3 lacked number 7 and died after member 1 had carried out the cut; member 2 has only
 * voted. */
static void a_decision_that_may_have_been_carried_out_is_proposed_again(void **state)
{
    struct vote vote, old = {.epoch = 5, .closes = 4, .cut = 7, .base = 12};
    struct stand stands[2] = {
        {.joined = 1, .promised = 6, .started = 5, .received = 12, .vote = old},
        {.joined = 1, .promised = 6, .started = 4, .received = 8, .vote = old},
    };
    assert_int_equal(ballot_next(stands, 2, 0, 6, &vote), BALLOT_VOTE);
    assert_int_equal(vote.epoch, 6);
    assert_int_equal(vote.closes, 4);
    assert_int_equal(vote.cut, 7);
    assert_int_equal(vote.base, 12);
}

static void a_member_that_joined_later_does_not_count(void **state)
{
    struct vote vote, old = {.epoch = 5, .closes = 4, .cut = 7, .base = 10};
    struct stand stands[3] = {
        {.joined = 6, .promised = 6},
        {.joined = 1, .promised = 6, .started = 5, .received = 31, .vote = old},
        {.joined = 5, .promised = 6, .started = 5, .received = 28, .vote = old},
    };
    assert_int_equal(ballot_next(stands, 3, 1, 6, &vote), BALLOT_WAIT);
    assert_int_equal(ballot_next(stands, 3, 0, 6, &vote), BALLOT_VOTE);
    assert_int_equal(vote.closes, 5);
    assert_int_equal(vote.cut, 28);
    assert_int_equal(vote.base, 31);
}

TEST_MAIN(TEST(all_members_end_a_view_at_the_same_message), TEST(a_single_member_runs_at_once),
          TEST(a_decision_that_may_have_been_carried_out_is_proposed_again),
          TEST(a_member_that_joined_later_does_not_count))
