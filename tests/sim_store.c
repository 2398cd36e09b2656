/* The store in simulated clusters (services/store/service/store.h): whatever fails, its clients see
 * one register for each key (store_clients.h), and when nothing fails any more, they are answered.
 *
 *     sim_store_test [SEEDS]               runs so many seeds of each topology and set of faults
 *     sim_store_test one SPEC SEED SET     runs one, and prints its history; SET is the name of a
 *                                          set of store_run.c, or kinds of faults as for
 *                                          weft sim chaos */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "sim/store/store_clients.h"
#include "store_run.h"

static uint64_t seeds = 5;

static void counts_print(const struct store_counts *counts)
{
    struct text text = {0};
    store_counts_write(counts, &text);
    assert_true(text_ok(&text));
    print_message("#   %s\n", text.data);
    text_fini(&text);
}

/* ---- tests ---- */

static struct store_counts run_seeds(const char *spec, const char *set)
{
    struct store_counts sum = {0};
    struct test_plan test;
    test_plan_open(&test, spec);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct store_outcome outcome = store_run(&test, seed, set, NULL);
        if (outcome.checker)
            fail_msg("%s, seed %" PRIu64 ", faults %s: %s: %s\n%s", spec, seed, set,
                     outcome.checker, outcome.text, store_run_verdict());
        store_counts_add(&sum, &store_clients_account()->counts);
    }
    test_plan_close(&test);
    print_message("# %s, faults %s, %" PRIu64 " seeds\n", spec, set, seeds);
    counts_print(&sum);
    return sum;
}

/* A run in which hardly anything was done says nothing. */
static void assert_busy(const struct store_counts *sum, uint64_t runs)
{
    assert_true(sum->gets > 500 * runs && sum->changes > 500 * runs);
    assert_true(sum->conflicts > 20 * runs && sum->absent > 20 * runs);
    assert_true(sum->again_known > 10 * runs && sum->moves > 10 * runs);
    assert_true(sum->echoes > 50 * runs);
}

static void assert_listed(const struct store_counts *sum, uint64_t runs)
{
    assert_true(sum->pages > 200 * runs && sum->keys_listed > 1000 * runs);
    assert_true(sum->keys_unlisted > 20 * runs);
}

static void clients_see_one_register_for_each_key(void **unused)
{
    static const char *const specs[] = {"torus:3", "torus:3x3"};
    for (unsigned i = 0; store_run_sets[i]; i++) {
        struct store_counts sum = {0}, counts;
        for (unsigned j = 0; j < sizeof specs / sizeof *specs; j++) {
            counts = run_seeds(specs[j], store_run_sets[i]);
            store_counts_add(&sum, &counts);
        }
        assert_busy(&sum, 2 * seeds);
        if (!store_run_loses_groups(store_run_sets[i]))
            assert_listed(&sum, 2 * seeds);
        assert_true(store_run_expires(store_run_sets[i]) ? sum.expired > 40 * seeds : !sum.expired);
    }
}

static void so_they_do_on_other_topologies(void **unused)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=27,degree=4"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct store_counts sum = run_seeds(specs[i], "all"), counts = run_seeds(specs[i], "frail");
        store_counts_add(&sum, &counts);
        assert_busy(&sum, 2 * seeds);
        assert_listed(&sum, 2 * seeds);
    }
}

static void a_seed_repeats_a_run(void **unused)
{
    static const char *const names[] = {"all", "frail", "jumps"};
    struct test_plan test;
    test_plan_open(&test, "torus:3x3");
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        struct store_outcome first = store_run(&test, 3, names[i], NULL);
        struct store_counts counts = store_clients_account()->counts;
        struct store_outcome again = store_run(&test, 3, names[i], NULL);
        assert_true(first.hash == again.hash);
        assert_memory_equal(&counts, &store_clients_account()->counts, sizeof counts);
    }
    test_plan_close(&test);
}

/* ---- one run, for people ---- */

static int run_one(const char *spec, uint64_t seed, const char *set)
{
    static struct simulation_record record;
    struct test_plan test;
    test_plan_open(&test, spec);
    struct store_outcome outcome = store_run(&test, seed, set, &record);
    fwrite(record.history, 1, record.size, stdout);
    if (outcome.checker) {
        store_run_print(stdout);
        printf("%.3f ms: %s: %s\n%s", (double)outcome.failed_at / 1e9, outcome.checker,
               outcome.text, store_run_verdict());
    }
    counts_print(&store_clients_account()->counts);
    test_plan_close(&test);
    return outcome.checker != NULL;
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {
        TEST(clients_see_one_register_for_each_key),
        TEST(so_they_do_on_other_topologies),
        TEST(a_seed_repeats_a_run),
    };
    if (count == 5 && strcmp(words[1], "one") == 0)
        return run_one(words[2], strtoull(words[3], NULL, 10), words[4]);
    if (count > 1)
        seeds = strtoull(words[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
