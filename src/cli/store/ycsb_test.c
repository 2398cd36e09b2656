#include "cli/store/ycsb.h"

#include <string.h>

#include "base/test.h"

#define DRAWS 100000
#define KEYS  1000

static unsigned ops[YCSB_OPS], low, high;

static void draw(const char *name, enum ycsb_choice choice)
{
    static struct ycsb_keys keys;
    struct ycsb ycsb;
    keys.loaded = KEYS;
    keys.margin = 10;
    atomic_store(&keys.next, KEYS);
    ycsb_init(&ycsb, ycsb_find(name), choice, &keys, 1, 4);
    memset(ops, 0, sizeof ops);
    low = high = 0;
    for (unsigned i = 0; i < DRAWS; i++) {
        uint64_t next = atomic_load(&keys.next);
        struct ycsb_request request = ycsb_next(&ycsb);
        ops[request.op]++;
        if (request.op == YCSB_INSERT) {
            assert_true(request.key == next);
            continue;
        }
        uint64_t known = next > KEYS + 10 ? next - 10 : KEYS;
        assert_true(request.key < (choice == YCSB_LATEST ? known : KEYS));
        low += request.key == 0;
        high += request.key == known - 1;
        if (request.op == YCSB_SCAN)
            assert_in_range(request.scanned, 1, YCSB_SCAN_MOST);
    }
}

static void requests_come_in_the_shares_of_their_workload(void **state)
{
    static const char *const names[] = {"A", "b", "C", "d", "E", "F"};
    for (unsigned i = 0; i < 6; i++) {
        const struct ycsb_workload *workload = ycsb_find(names[i]);
        draw(names[i], workload->choice);
        for (unsigned op = 0; op < YCSB_OPS; op++) {
            double share = workload->percent[op] / 100.0;
            assert_within(ops[op], DRAWS * share, 5 * sqrt(DRAWS * share * (1 - share)));
        }
    }
    assert_null(ycsb_find("G"));
    assert_null(ycsb_find("AB"));
}

static void the_choice_of_keys_decides_which_come_most_often(void **state)
{
    draw("C", YCSB_UNIFORM);
    assert_true(low < DRAWS / 500 && high < DRAWS / 500);
    draw("C", YCSB_ZIPF); /* the first of 1,000 has 0.1287 of all */
    assert_true(low > DRAWS / 9 && low < DRAWS / 7 && high < DRAWS / 500);
    draw("D", YCSB_LATEST);
    assert_true(high > DRAWS / 9 && high < DRAWS / 7 && low < DRAWS / 500);
}

static void keys_have_different_names_in_another_order(void **state)
{
    char before[YCSB_KEY_SIZE], name[YCSB_KEY_SIZE];
    unsigned falls = 0;
    ycsb_key_write(0, before);
    assert_int_equal(strncmp(before, YCSB_PREFIX, strlen(YCSB_PREFIX)), 0);
    for (uint64_t key = 1; key < 1000; key++) {
        ycsb_key_write(key, name);
        assert_int_equal(strlen(name), strlen(YCSB_PREFIX) + 16);
        assert_true(strcmp(name, before) != 0);
        falls += strcmp(name, before) < 0;
        memcpy(before, name, sizeof name);
    }
    assert_in_range(falls, 400, 600);
}

TEST_MAIN(TEST(requests_come_in_the_shares_of_their_workload),
          TEST(the_choice_of_keys_decides_which_come_most_often),
          TEST(keys_have_different_names_in_another_order))
