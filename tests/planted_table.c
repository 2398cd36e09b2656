/* Prints which seed of `weft sim chaos` finds each planted bug (node/planted.h), and by which
 * checker:
 *
 *     build/tests/planted_table [SEEDS [BUG ...]]
 *
 * It tries the seeds 1 to SEEDS (500) on several topologies in turn, and stops at the first that
 * finds the bug. The exit code is 1 if fewer than 22 bugs, or not all of those
 * named, are found. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "node/test_plan.h"
#include "sim/chaos/chaos.h"

#define SEEDS  500
#define ENOUGH 22

static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=27,degree=6",
                                    "torus:9", "jellyfish:n=16,degree=3"};
#define SPEC_COUNT (sizeof specs / sizeof *specs)

static struct test_plan plans[SPEC_COUNT];

static bool is_found(const struct chaos_plant *plant, uint64_t seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        size_t spec = seed % SPEC_COUNT;
        struct chaos_settings settings = {&plans[spec].plan, seed, FAULT_ALL, plant->fault};
        struct chaos_result result;
        enum err err = chaos_run(&settings, &result, NULL);
        assert(!err);
        if (!result.checker)
            continue;
        printf("| `%s` | %s | %" PRIu64 ", %s | %s |\n", plant->name, plant->text, seed,
               specs[spec], result.checker);
        fflush(stdout);
        return true;
    }
    printf("| `%s` | %s | not in %" PRIu64 " seeds | |\n", plant->name, plant->text, seeds);
    fflush(stdout);
    return false;
}

static bool is_named(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (!strcmp(name, names[i]))
            return true;
    return count == 0;
}

int main(int count, char **words)
{
    uint64_t seeds = count > 1 ? strtoull(words[1], NULL, 10) : SEEDS;
    int names = count > 2 ? count - 2 : 0;
    unsigned tried = 0, found = 0;
    for (size_t i = 0; i < SPEC_COUNT; i++)
        test_plan_open(&plans[i], specs[i]);
    puts("| bug | what is wrong | found by seed | checker |\n|---|---|---|---|");
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++) {
        if (!is_named(chaos_plants[i].name, names, words + 2) ||
            !strcmp(chaos_plants[i].checker, "streams")) /* see sim_stream_chaos.c */
            continue;
        tried++;
        found += is_found(&chaos_plants[i], seeds);
    }
    printf("%u of %u bugs found\n", found, tried);
    for (size_t i = 0; i < SPEC_COUNT; i++)
        test_plan_close(&plans[i]);
    return found < (names ? (unsigned)names : ENOUGH);
}
