/* The store in simulated clusters (services/store/service/store.h): whatever fails, its clients see
 * one register for each key (store_clients.h), and when nothing fails any more, they are answered.
 *
 *     sim_store_test [SEEDS]               runs so many seeds of each topology and set of faults
 *     sim_store_test one SPEC SEED SET     runs one, and prints its history; SET is the name of a
 *                                          set below, kinds of faults as for weft sim chaos, or
 *                                          siege, frail or rots (store_siege.h) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "node/configuration/configuration.h"
#include "node/test_plan.h"
#include "services/store/service/store.h"
#include "sim/chaos/chaos.h"
#include "store_clients.h"
#include "store_siege.h"

#define LINKS   "loss,corruption,duplication,jitter,one_way,flap,plane,cut,late,carrier"
#define SERVERS "crash,restart,quick,pause,hang,slow,rewind"
#define DISKS   "disk_lost,disk_torn,disk_slow"

/* Only "rots" contains faults that may leave no whole copy of a key: empty and damaged disks. */
static const struct fault_set {
    const char *name, *kinds;
} sets[] = {
    {"none", NULL},
    {"links", LINKS},
    {"restarts", "crash,restart,quick"},
    {"world", LINKS "," SERVERS},
    {"disks", "crash,restart,quick," DISKS},
    {"all", LINKS "," SERVERS "," DISKS},
    {"siege", NULL},
    {"frail", NULL},
    {"rots", NULL},
};

#define SETS (sizeof sets / sizeof *sets)

static uint64_t seeds = 3;

static struct configuration configuration;
static const struct weft_service *const services[] = {&store_service, NULL};

/* ---- one run ---- */

struct outcome {
    const char *checker; /* that found an error; NULL: none */
    char text[CHECKER_TEXT_SIZE];
    psec failed_at;
    uint64_t hash;
};

static struct outcome run_siege(const struct test_plan *test, uint64_t seed, const char *set,
                                struct simulation_record *record)
{
    const struct store_siege siege = {.plan = &test->plan,
                                      .services = services,
                                      .configuration = &configuration,
                                      .checker = &store_clients,
                                      .record = record,
                                      .seed = seed,
                                      .frail = strcmp(set, "siege") != 0,
                                      .rots = strcmp(set, "rots") == 0};
    if (siege.rots)
        store_clients_expect_losses();
    struct store_siege_result result = store_siege_run(&siege);
    struct outcome outcome = {.hash = result.hash};
    if (result.failed) {
        outcome.checker = store_clients.name;
        outcome.failed_at = result.failure.at;
        memcpy(outcome.text, result.failure.text, sizeof outcome.text);
    }
    return outcome;
}

static struct outcome run_chaos(const struct test_plan *test, uint64_t seed, uint32_t kinds,
                                struct simulation_record *record)
{
    const struct chaos_settings settings = {&test->plan, seed, kinds, 0};
    const struct chaos_guests guests = {.services = services,
                                        .apart = true,
                                        .configuration = &configuration,
                                        .checker = &store_clients,
                                        .record = record};
    struct chaos_result result;
    assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
    struct outcome outcome = {
        .checker = result.checker, .failed_at = result.failed_at, .hash = result.hash};
    memcpy(outcome.text, result.text, sizeof outcome.text);
    return outcome;
}

static uint32_t kinds_of(const char *set)
{
    uint32_t kinds = 0;
    const char *names = set;
    for (unsigned i = 0; i < SETS; i++)
        if (strcmp(sets[i].name, set) == 0)
            names = sets[i].kinds;
    struct why why = {""};
    if (names && fault_kinds_read(names, &kinds, &why) != OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    return kinds;
}

static struct outcome run(const struct test_plan *test, uint64_t seed, const char *set,
                          struct simulation_record *record)
{
    store_clients_begin(&test->plan);
    bool sieges =
        strcmp(set, "siege") == 0 || strcmp(set, "frail") == 0 || strcmp(set, "rots") == 0;
    return sieges ? run_siege(test, seed, set, record)
                  : run_chaos(test, seed, kinds_of(set), record);
}

static const char *verdict(void)
{
    const struct text *text = &store_clients_account()->verdict;
    return text->size ? text->data : "";
}

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
        struct outcome outcome = run(&test, seed, set, NULL);
        if (outcome.checker)
            fail_msg("%s, seed %" PRIu64 ", faults %s: %s: %s\n%s", spec, seed, set,
                     outcome.checker, outcome.text, verdict());
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
}

static void clients_see_one_register_for_each_key(void **unused)
{
    static const char *const specs[] = {"torus:3", "torus:3x3"};
    for (unsigned i = 0; i < SETS; i++) {
        struct store_counts sum = {0}, counts;
        for (unsigned j = 0; j < sizeof specs / sizeof *specs; j++) {
            counts = run_seeds(specs[j], sets[i].name);
            store_counts_add(&sum, &counts);
        }
        assert_busy(&sum, 2 * seeds);
    }
}

static void so_they_do_on_other_topologies(void **unused)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=27,degree=4"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct store_counts sum = run_seeds(specs[i], "all"), counts = run_seeds(specs[i], "frail");
        store_counts_add(&sum, &counts);
        assert_busy(&sum, 2 * seeds);
    }
}

static void a_seed_repeats_a_run(void **unused)
{
    static const char *const names[] = {"all", "frail"};
    struct test_plan test;
    test_plan_open(&test, "torus:3x3");
    for (unsigned i = 0; i < 2; i++) {
        struct outcome first = run(&test, 3, names[i], NULL);
        struct store_counts counts = store_clients_account()->counts;
        struct outcome again = run(&test, 3, names[i], NULL);
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
    struct outcome outcome = run(&test, seed, set, &record);
    fwrite(record.history, 1, record.size, stdout);
    if (outcome.checker) {
        account_print(store_clients_account(), stdout);
        printf("%.3f ms: %s: %s\n%s", (double)outcome.failed_at / 1e9, outcome.checker,
               outcome.text, verdict());
    }
    counts_print(&store_clients_account()->counts);
    test_plan_close(&test);
    return outcome.checker != NULL;
}

/* Small disks have many small files; few groups have many keys each. */
static void configure(void)
{
    static const char *const words[] = {"store.segment=512K", "store.group_count=8"};
    struct why why;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (configuration_add(&configuration, "test", words[i], &why) != OK)
            exit(2);
    }
}

int main(int count, char **words)
{
    configure();
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
