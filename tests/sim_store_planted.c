/* Tests the test of the store (sim_store.c): bugs planted in the store (services/store/planted.h)
 * are found by its clients.
 *
 *     sim_store_planted_test                       runs the test
 *     sim_store_planted_test try BUG SPEC SET FIRST LAST  prints which of these seeds find it
 *     sim_store_planted_test one BUG SPEC SEED SET   runs one, and prints its history */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "services/store/planted.h"
#include "sim/store/store_clients.h"
#include "store_run.h"

static const struct {
    const char *name, *text;
} bugs[] = {
#define BUG(bug, name, text) [STORE_##bug] = {name, text},
    STORE_LOG_PLANTED(BUG) STORE_VIEW_PLANTED(BUG) STORE_SPREAD_PLANTED(BUG)
        STORE_REPLICA_PLANTED(BUG) STORE_SERVICE_PLANTED(BUG) STORE_DRAIN_PLANTED(BUG)
#undef BUG
};

static unsigned bug_of(const char *name)
{
    for (unsigned i = 0; i < STORE_BUGS; i++)
        if (strcmp(bugs[i].name, name) == 0)
            return i;
    if (strcmp(name, "none") == 0)
        return 63;
    fprintf(stderr, "%s is no bug\n", name);
    exit(2);
}

static int try(unsigned bug, const char *spec, const char *set, uint64_t first, uint64_t last)
{
    struct test_plan test;
    unsigned found = 0;
    test_plan_open(&test, spec);
    store_bugs = UINT64_C(1) << bug;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct store_outcome outcome = store_run(&test, seed, set, NULL);
        if (outcome.checker) {
            found++;
            printf("%s %s %s %" PRIu64 ": %s: %s\n", bug == 63 ? "none" : bugs[bug].name, spec, set,
                   seed, outcome.checker, outcome.text);
            fflush(stdout);
        }
    }
    printf("%s %s %s: %u of %" PRIu64 "\n", bug == 63 ? "none" : bugs[bug].name, spec, set, found,
           last + 1 - first);
    test_plan_close(&test);
    return 0;
}

static int run_one(unsigned bug, const char *spec, uint64_t seed, const char *set)
{
    static struct simulation_record record;
    struct test_plan test;
    store_bugs = UINT64_C(1) << bug;
    test_plan_open(&test, spec);
    struct store_outcome outcome = store_run(&test, seed, set, &record);
    fwrite(record.history, 1, record.size, stdout);
    if (outcome.checker) {
        store_run_print(stdout);
        printf("%.3f ms: %s: %s\n%s", (double)outcome.failed_at / 1e9, outcome.checker,
               outcome.text, store_run_verdict());
    }
    test_plan_close(&test);
    return outcome.checker != NULL;
}

/* ---- the test ---- */

/* One of these seeds finds the bug; at the time of writing the first one does. */
static const struct row {
    const char *bug, *spec, *set;
    uint64_t first, last;
} rows[] = {
    {"ack", "torus:3", "siege", 2, 60},        {"reads", "torus:3", "siege", 4, 60},
    {"refuses", "torus:3", "siege", 18, 100},  {"view", "torus:3", "siege", 4, 60},
    {"condition", "torus:3", "siege", 1, 20},  {"stored", "torus:3", "siege", 4, 60},
    {"stays", "torus:3", "siege", 1, 20},      {"alone", "torus:3", "siege", 3, 40},
    {"grown", "torus:3", "siege", 1, 20},      {"replay", "torus:3", "siege", 3, 100},
    {"absent", "torus:3", "siege", 3, 100},    {"epoch", "torus:3x3", "siege", 7, 100},
    {"page", "torus:3", "siege", 1, 40},       {"shown", "torus:3", "siege", 14, 100},
    {"forgotten", "torus:3", "siege", 1, 20},  {"untaught", "torus:3", "frail", 11, 100},
    {"error", "torus:3", "frail", 13, 100},    {"failed", "torus:3", "frail", 1, 40},
    {"founder", "torus:3", "rots", 7, 100},    {"vanish", "torus:3", "expiry", 1, 20},
    {"vanish", "torus:3", "clocks", 1, 20},    {"eternal", "torus:3", "expiry", 1, 20},
    {"beyond", "torus:3", "siege", 1, 20},     {"scans", "torus:3", "siege", 36, 100},
    {"lease", "torus:3", "siege", 20, 100},    {"minority", "torus:3", "siege", 4, 60},
    {"dirty", "torus:3", "siege", 1, 20},      {"refused", "torus:3", "siege", 1, 20},
    {"clock", "torus:3", "siege", 4, 300},     {"torn", "torus:3", "single", 147, 1000},
    {"tail", "torus:3", "single", 30, 1000},   {"tombstone", "torus:3", "worn", 1, 300},
    {"cut", "torus:3", "single_rots", 3, 500},
};

static void clients_find_planted_bugs(void **unused)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct row *row = &rows[i];
        struct test_plan test;
        uint64_t seed = row->first;
        test_plan_open(&test, row->spec);
        store_bugs = UINT64_C(1) << bug_of(row->bug);
        while (seed <= row->last && !store_run(&test, seed, row->set, NULL).checker)
            seed++;
        test_plan_close(&test);
        store_bugs = 0;
        if (seed > row->last)
            fail_msg("%s: found by no seed from %" PRIu64 " to %" PRIu64 " of %s, %s", row->bug,
                     row->first, row->last, row->spec, row->set);
        print_message("# %s: %s, %s, seed %" PRIu64 "\n", row->bug, row->spec, row->set, seed);
    }
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {TEST(clients_find_planted_bugs)};
    if (count == 7 && strcmp(words[1], "try") == 0)
        return try(bug_of(words[2]), words[3], words[4], strtoull(words[5], NULL, 10),
                   strtoull(words[6], NULL, 10));
    if (count == 6 && strcmp(words[1], "one") == 0)
        return run_one(bug_of(words[2]), words[3], strtoull(words[4], NULL, 10), words[5]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
