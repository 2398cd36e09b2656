/* Checks which of two claims the cache knows afterwards. */
#include "ripc/names/cache.h"

#include "base/rng.h"
#include "base/test.h"
#include "transport/clock.h"

static struct known known_make(uint64_t id, uint64_t context, uint64_t incarnation)
{
    return (struct known){
        .claim = {.id = id, .member = id, .incarnation = incarnation, .address.context = context},
        .until = 100,
        .sources = 1};
}

static void the_newest_incarnation_is_known(void **state)
{
    struct cache cache = {0};
    struct known offer = known_make(1, 10, 50);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    offer.until = 200;
    offer.sources = 2;
    offer.claim.pid = 9;
    assert_int_equal(cache_learn(&cache, &offer), CACHE_SAME);
    const struct known *known = name_known(cache_find(&cache, 1), 1);
    assert_int_equal(known->until, 200);
    assert_int_equal(known->sources, 3);
    assert_int_equal(known->claim.pid, 9);
    offer = known_make(1, 11, 49);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_OLD);
    offer = known_make(1, 11, 50); /* equal incarnations: the lower context wins */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_OLD);
    offer = known_make(1, 9, 50);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    offer = known_make(1, 11, 51);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    offer = known_make(1, 11, 52); /* bound again by the same context */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    assert_int_equal(cache.claim_count, 1);
    assert_int_equal(name_known(cache_find(&cache, 1), 1)->claim.incarnation, 52);
    cache_fini(&cache);
}

static void a_lock_is_trusted_more_than_a_clock(void **state)
{
    struct cache cache = {0};
    struct known offer = known_make(1, 10, 50);
    offer.firm = true;
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    offer.claim.incarnation = 40;
    offer.claim.address.context = 11;
    offer.firm = false;
    assert_int_equal(cache_learn(&cache, &offer), CACHE_OLD);
    offer.firm = true;
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    offer = known_make(2, 10, UINT64_MAX);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    offer = known_make(2, 11, 1);
    offer.firm = true;
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    cache_fini(&cache);
}

static void late_copies_of_a_withdrawn_claim_are_ignored(void **state)
{
    struct cache cache = {0};
    struct known offer = known_make(1, 10, 50);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    name_known(cache_find(&cache, 1), 1)->ended = true;
    assert_int_equal(name_count(cache_find(&cache, 1)), 0);
    assert_int_equal(cache_learn(&cache, &offer), CACHE_OLD);
    offer.claim.incarnation = 51; /* a new binding */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    name_known(cache_find(&cache, 1), 1)->ended = true;
    offer = known_make(1, 11, 20); /* of another context, whose clock is slow */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    assert_int_equal(name_count(cache_find(&cache, 1)), 1);
    cache_fini(&cache);
}

static void members_of_a_group_are_kept_separately(void **state)
{
    struct cache cache = {0};
    struct known offer = known_make(1, 10, 50);
    offer.claim.group = true;
    for (uint64_t member = 2; member < 12; member++) {
        offer.claim.member = member;
        assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    }
    struct cached_name *name = cache_find(&cache, 1);
    assert_int_equal(name_count(name), 10);
    cache_drop(&cache, name, name_known(name, 2));
    cache_drop(&cache, name, name_known(name, 11));
    assert_null(name_known(name, 2));
    assert_non_null(name_known(name, 10));
    assert_int_equal(cache.claim_count, 8);
    cache_prune(&cache, 1); /* not empty */
    assert_ptr_equal(cache_find(&cache, 1), name);
    while (name->count)
        cache_drop(&cache, name, &name->claims[0]);
    cache_prune(&cache, 1);
    assert_null(cache_find(&cache, 1));
    cache_prune(&cache, 1);
    cache_fini(&cache);
}

static void a_flood_of_claims_is_limited(void **state)
{
    struct cache cache = {0};
    struct cached_name *asked = cache_name(&cache, UINT64_MAX);
    assert_non_null(asked);
    asked->asked = true;
    for (uint64_t id = 1; id <= CACHE_CLAIMS_MAX + 100; id++) {
        struct known offer = known_make(id, 1, 1);
        assert_int_equal(cache_learn(&cache, &offer),
                         id <= CACHE_CLAIMS_MAX ? CACHE_NEW : CACHE_FULL);
    }
    assert_int_equal(cache.claim_count, CACHE_CLAIMS_MAX);
    assert_null(cache_find(&cache, CACHE_CLAIMS_MAX + 1));
    struct known offer = known_make(5, 1, 2); /* known claims may still change */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_MOVED);
    offer = known_make(UINT64_MAX, 1, 1); /* claims of an id that was asked for are accepted */
    assert_int_equal(cache_learn(&cache, &offer), CACHE_NEW);
    cache_fini(&cache);
}

/* Whatever the order in which claims arrive, the same claim is known in the end. */
static void the_order_of_arrival_does_not_matter(void **state)
{
    uint64_t seed = entropy_u64();
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (int round = 0; round < 500; round++) {
        enum { OFFERS = 6 };
        struct known offers[OFFERS];
        uint32_t order[OFFERS];
        struct claim last[2];
        for (uint32_t i = 0; i < OFFERS; i++) {
            offers[i] = known_make(1, 1 + rng_below(&rng, 3), 1 + rng_below(&rng, 4));
            order[i] = i;
        }
        for (int time = 0; time < 2; time++) {
            struct cache cache = {0};
            rng_shuffle(&rng, order, OFFERS);
            for (int i = 0; i < OFFERS; i++)
                assert_true(cache_learn(&cache, &offers[order[i]]) >= 0);
            last[time] = name_known(cache_find(&cache, 1), 1)->claim;
            cache_fini(&cache);
        }
        assert_int_equal(last[0].incarnation, last[1].incarnation);
        assert_int_equal(last[0].address.context, last[1].address.context);
    }
}

TEST_MAIN(TEST(the_newest_incarnation_is_known), TEST(a_lock_is_trusted_more_than_a_clock),
          TEST(late_copies_of_a_withdrawn_claim_are_ignored),
          TEST(members_of_a_group_are_kept_separately), TEST(a_flood_of_claims_is_limited),
          TEST(the_order_of_arrival_does_not_matter))
