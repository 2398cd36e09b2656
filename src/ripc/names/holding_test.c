#include "ripc/names/holding.h"

#include "base/test.h"

enum { COUNT = 4 };

static struct holding make(uint64_t id, uint64_t member)
{
    return (struct holding){.claim = {.id = id, .member = member}};
}

static void members_of_one_id_are_found_and_taken_one_by_one(void **state)
{
    struct id_map map = {0};
    struct holding holdings[COUNT] = {make(7, 1), make(7, 2), make(7, 3), make(8, 8)};
    for (unsigned i = 0; i < COUNT; i++)
        assert_true(holdings_put(&map, &holdings[i]));
    for (unsigned i = 0; i < COUNT; i++)
        assert_ptr_equal(holdings_find(&map, holdings[i].claim.id, holdings[i].claim.member),
                         &holdings[i]);
    assert_null(holdings_find(&map, 7, 8));
    assert_null(holdings_find(&map, 9, 9));

    holdings_take(&map, &holdings[1]); /* the middle of the chain, then its head, then its last */
    assert_null(holdings_find(&map, 7, 2));
    assert_ptr_equal(holdings_of(&map, 7), &holdings[2]);
    assert_ptr_equal(holdings_of(&map, 7)->next, &holdings[0]);
    holdings_take(&map, &holdings[2]);
    assert_ptr_equal(holdings_of(&map, 7), &holdings[0]);
    holdings_take(&map, &holdings[0]);
    assert_null(holdings_of(&map, 7));
    assert_ptr_equal(holdings_find(&map, 8, 8), &holdings[3]);
    assert_int_equal(map.count, 1);

    assert_true(holdings_put(&map, &holdings[0])); /* it can be added again */
    assert_null(holdings[0].next);
    id_map_fini(&map);
}

static void note(void *owner, struct holding *holding)
{
    uint64_t *members = owner;
    *members = *members * 10 + holding->claim.member;
    holding->next = NULL; /* as if it were freed */
}

static void freeing_the_map_visits_all_holdings(void **state)
{
    struct id_map map = {0};
    struct holding holdings[] = {make(7, 1), make(7, 2), make(7, 3)};
    uint64_t members = 0;
    for (unsigned i = 0; i < 3; i++)
        assert_true(holdings_put(&map, &holdings[i]));
    holdings_fini(&map, note, &members);
    assert_int_equal(members, 321);
}

TEST_MAIN(TEST(members_of_one_id_are_found_and_taken_one_by_one),
          TEST(freeing_the_map_visits_all_holdings))
