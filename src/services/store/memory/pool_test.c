/* Takes things from a pool and gives them back, at random, and compares with a list of those that
 * are held: no two overlap, all are in the memory, and their bytes stay. */
#include "services/store/memory/pool.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/test.h"

#define ROOM 20
#define SIZE 40

static bool is_filled(const uint8_t *bytes, size_t from, size_t until, uint8_t fill)
{
    for (size_t i = from; i < until; i++) {
        if (bytes[i] != fill)
            return false;
    }
    return true;
}

static void all_are_taken_once(void **state)
{
    (void)state;
    static void *memory[ROOM * SIZE / sizeof(void *) + 1];
    uint8_t *first = (uint8_t *)memory;
    struct pool pool;
    memset(memory, 0xee, sizeof memory);
    pool_init(&pool, memory, SIZE, ROOM);
    for (unsigned i = 0; i < ROOM; i++) {
        assert_int_equal(pool.used, i);
        assert_int_equal(pool.fresh, i);
        assert_false(pool_is_exhausted(&pool));
        assert_true(is_filled(first, i * SIZE, sizeof memory, 0xee)); /* not touched yet */
        assert_ptr_equal(pool_take(&pool), first + i * SIZE);
    }
    assert_null(pool_take(&pool));
    assert_null(pool_take_used(&pool));
    assert_true(pool_is_exhausted(&pool));
    assert_int_equal(pool.used, ROOM);
    assert_true(is_filled(first, 0, ROOM * SIZE, 0));
    assert_true(is_filled(first, ROOM * SIZE, sizeof memory, 0xee));
    pool_give(&pool, first + 7 * SIZE);
    assert_ptr_equal(pool_take(&pool), first + 7 * SIZE);
    assert_null(pool_take(&pool));
}

static void a_pool_without_room_has_nothing(void **state)
{
    (void)state;
    struct pool pool;
    pool_init(&pool, NULL, SIZE, 0);
    assert_null(pool_take(&pool));
    assert_null(pool_take_used(&pool));
    assert_int_equal(pool.used, 0);
}

static void the_smallest_thing_is_a_pointer(void **state)
{
    (void)state;
    void *memory[3] = {0}, *things[3];
    struct pool pool;
    pool_init(&pool, memory, sizeof *memory, 3);
    for (unsigned i = 0; i < 3; i++)
        things[i] = pool_take(&pool);
    for (unsigned i = 0; i < 3; i++)
        pool_give(&pool, things[i]);
    assert_int_equal(pool.used, 0);
    for (unsigned i = 3; i-- > 0;) /* the last one first: it is in the cache */
        assert_ptr_equal(pool_take(&pool), things[i]);
    assert_null(pool_take(&pool));
}

/* ---- a random walk ---- */

struct held {
    uint8_t *thing; /* NULL: none is held here */
    uint8_t fill;   /* of its bytes; those of a thing that was given back are kept in `left` */
};

struct walk {
    struct pool pool;
    struct held held[ROOM];
    uint8_t *memory;
    uint8_t left[ROOM]; /* by place: with what each was filled last; 0: it is fresh */
    uint32_t used, fresh, refused;
};

static void walk_take(struct walk *walk, struct held *held, bool is_empty)
{
    uint8_t *thing = is_empty ? pool_take(&walk->pool) : pool_take_used(&walk->pool);
    if (!thing) {
        assert_int_equal(walk->used, walk->pool.room);
        walk->refused++;
        return;
    }
    size_t place = (size_t)(thing - walk->memory) / SIZE;
    assert_ptr_equal(thing, walk->memory + place * SIZE);
    assert_true(place < walk->pool.room);
    for (unsigned i = 0; i < ROOM; i++)
        assert_ptr_not_equal(walk->held[i].thing, thing);
    if (is_empty)
        assert_true(is_filled(thing, 0, SIZE, 0));
    else /* all but the pointer is as it was */
        assert_true(is_filled(thing, sizeof(void *), SIZE, walk->left[place]));
    walk->fresh += walk->left[place] == 0;
    held->thing = thing;
    memset(thing, held->fill, SIZE);
    walk->left[place] = held->fill;
    walk->used++;
}

static void walk_give(struct walk *walk, struct held *held)
{
    assert_true(is_filled(held->thing, 0, SIZE, held->fill));
    pool_give(&walk->pool, held->thing);
    held->thing = NULL;
    walk->used--;
}

static void things_that_are_held_do_not_overlap(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rng rng = rng_make(seed, 0);
        struct walk walk = {0};
        uint32_t room = 1 + (uint32_t)rng_below(&rng, ROOM);
        walk.memory = calloc(room, SIZE); /* a sanitizer sees what is behind */
        assert_non_null(walk.memory);
        pool_init(&walk.pool, walk.memory, SIZE, room);
        for (unsigned i = 0; i < 2000; i++) {
            struct held *held = &walk.held[rng_below(&rng, ROOM)];
            held->fill = held->thing ? held->fill : (uint8_t)(1 + rng_below(&rng, 255));
            if (held->thing)
                walk_give(&walk, held);
            else
                walk_take(&walk, held, rng_below(&rng, 2));
            assert_int_equal(walk.pool.used, walk.used);
            assert_int_equal(walk.pool.fresh, walk.fresh); /* none is fresh twice */
        }
        refused += walk.refused;
        free(walk.memory);
    }
    assert_true(refused > 1000);
}

TEST_MAIN(TEST(all_are_taken_once), TEST(a_pool_without_room_has_nothing),
          TEST(the_smallest_thing_is_a_pointer), TEST(things_that_are_held_do_not_overlap))
