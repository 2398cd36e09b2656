#include "store_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "node/configuration/configuration.h"
#include "services/store/service/store.h"
#include "sim/store/store_clients.h"
#include "sim/store/store_siege.h"

#define GROUPS        8
#define SEGMENT       512  /* KiB */
#define LARGE_SEGMENT 2048 /* the same, if some values are large */
#define SMALL_SEGMENT 256  /* the same, if logs are to be written anew often */

#define LINKS   "loss,corruption,duplication,jitter,one_way,flap,plane,cut,late,carrier"
#define SERVERS "crash,restart,quick,pause,hang,slow,rewind"
#define DISKS   "disk_lost,disk_torn,disk_slow"

/* In "expiry" wall clocks differ by what the world sets, in "jumps" and "clocks" by anything. */
#define CLOCKS "clock,jump"

/* Only "rots" and "single_rots" contain faults that may leave no whole copy of a key: empty and
 * damaged disks. In "single" sets there is one copy of each key, so none repairs another. */
#define SETS(X)                                                                                    \
    X("none", .kinds = "")                                                                         \
    X("links", .kinds = LINKS)                                                                     \
    X("restarts", .kinds = "crash,restart,quick")                                                  \
    X("world", .kinds = LINKS "," SERVERS)                                                         \
    X("disks", .kinds = "crash,restart,quick," DISKS)                                              \
    X("all", .kinds = LINKS "," SERVERS "," DISKS)                                                 \
    X("large", .kinds = LINKS "," SERVERS "," DISKS, .large = true)                                \
    X("large_siege", .siege = true, .large = true)                                                 \
    X("siege", .siege = true)                                                                      \
    X("frail", .siege = true, .frail = true)                                                       \
    X("rots", .siege = true, .frail = true, .rots = true)                                          \
    X("single", .siege = true, .frail = true, .copies = 1)                                         \
    X("single_rots", .siege = true, .frail = true, .rots = true, .copies = 1)                      \
    X("worn", .siege = true, .lags = true, .hurry = true)                                          \
    X("expiry", .siege = true, .expires = true)                                                    \
    X("jumps", .siege = true, .expires = true, .jumps = true)                                      \
    X("clocks", .kinds = LINKS "," SERVERS "," CLOCKS, .expires = true, .jumps = true)             \
    X("memory", .siege = true, .words = {"store.medium=memory", "store.memory_size=8M"})           \
    X("spaces", .siege = true,                                                                     \
      .words = {"store.spaces=key 1:memory:groups=2,key 2:copies=2:groups=2",                      \
                "store.memory_size=8M"},                                                           \
      .groups = GROUPS + 4)

struct fault_set {
    const char *kinds; /* of chaos */
    bool siege, frail, rots, expires, jumps, large, lags, hurry;
    unsigned copies;      /* 0: as many as usual */
    const char *words[2]; /* parameters, by which some keys are in memory */
    uint32_t groups;      /* of all key spaces; 0: GROUPS */
};

#define SET_NAME(name, ...) name,
#define SET(name, ...)      {__VA_ARGS__},
const char *const store_run_sets[] = {SETS(SET_NAME) NULL};
static const struct fault_set sets[] = {SETS(SET)};
#undef SET_NAME
#undef SET

static struct configuration configuration;
static const struct weft_service *const services[] = {&store_service, NULL};

/* KiB */
static unsigned segment_of(const struct fault_set *set)
{
    return set->large ? LARGE_SEGMENT : set->hurry ? SMALL_SEGMENT : SEGMENT;
}

/* Small disks have many small files; few groups have many keys each. A scrub of single copies
 * compares nothing, which is how the clients know that memory is in use for scrubs. */
static void configure(uint64_t seed, const struct fault_set *set)
{
    char segment[40], groups[40];
    snprintf(segment, sizeof segment, "store.segment=%uK", segment_of(set));
    snprintf(groups, sizeof groups, "store.group_count=%d", GROUPS);
    const char *const words[] = {segment,
                                 set->copies == 1 ? "store.copies=1" : "store.copies=3",
                                 groups,
                                 seed % 2 ? "store.recover=3min" : "store.recover=1s",
                                 seed % 3 == 1   ? "store.lease=500ms"
                                 : seed % 3 == 2 ? "store.lease=3s"
                                                 : "store.lease=0",
                                 seed % 4 || set->copies == 1 ? "store.scrub_every=24h"
                                                              : "store.scrub_every=100ms"};
    struct why why;
    configuration_fini(&configuration);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        assert_int_equal(configuration_add(&configuration, "test", words[i], &why), OK);
    for (unsigned i = 0; i < 2 && set->words[i]; i++)
        assert_int_equal(configuration_add(&configuration, "test", set->words[i], &why), OK);
}

/* Of all key spaces. */
static uint32_t group_count(const struct fault_set *set)
{
    return set->groups ? set->groups : GROUPS;
}

static struct store_outcome run_siege(const struct test_plan *test, uint64_t seed,
                                      const struct fault_set *set, struct simulation_record *record)
{
    const struct store_siege siege = {.plan = &test->plan,
                                      .services = services,
                                      .configuration = &configuration,
                                      .checker = &store_clients,
                                      .record = record,
                                      .seed = seed,
                                      .frail = set->frail,
                                      .rots = set->rots,
                                      .jumps = set->jumps,
                                      .lags = set->lags,
                                      .in_memory = set->words[0],
                                      .group_count = group_count(set)};
    if (siege.rots)
        store_clients_expect_losses();
    struct store_siege_result result = store_siege_run(&siege);
    struct store_outcome outcome = {.hash = result.hash};
    if (result.failed) {
        outcome.checker = store_clients.name;
        outcome.failed_at = result.failure.at;
        memcpy(outcome.text, result.failure.text, sizeof outcome.text);
    }
    return outcome;
}

static struct store_outcome run_chaos(const struct test_plan *test, uint64_t seed,
                                      const char *names, struct simulation_record *record)
{
    uint32_t kinds = 0;
    struct why why = {""};
    if (*names && fault_kinds_read(names, &kinds, &why) != OK) {
        fprintf(stderr, "%s\n", why.text);
        exit(2);
    }
    const struct chaos_settings settings = {&test->plan, seed, kinds, 0};
    const struct chaos_guests guests = {.services = services,
                                        .apart = true,
                                        .configuration = &configuration,
                                        .checker = &store_clients,
                                        .record = record};
    struct chaos_result result;
    assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
    struct store_outcome outcome = {
        .checker = result.checker, .failed_at = result.failed_at, .hash = result.hash};
    memcpy(outcome.text, result.text, sizeof outcome.text);
    return outcome;
}

static struct fault_set set_find(const char *name)
{
    for (unsigned i = 0; store_run_sets[i]; i++)
        if (strcmp(store_run_sets[i], name) == 0)
            return sets[i];
    return (struct fault_set){.kinds = name};
}

bool store_run_expires(const char *set)
{
    return set_find(set).expires;
}

bool store_run_loses_groups(const char *set)
{
    const struct fault_set found = set_find(set);
    return found.rots && found.copies == 1;
}

struct store_outcome store_run(const struct test_plan *test, uint64_t seed, const char *set,
                               struct simulation_record *record)
{
    const struct fault_set found = set_find(set);
    configure(seed, &found);
    store_clients_begin(group_count(&found), segment_of(&found) << 10);
    if (found.expires)
        store_clients_expect_expiry(found.jumps ? -1 : 2 * WORLD_WALL_SKEW);
    if (found.large)
        store_clients_use_large_values();
    if (found.hurry)
        store_clients_hurry();
    return found.siege ? run_siege(test, seed, &found, record)
                       : run_chaos(test, seed, found.kinds, record);
}

const char *store_run_verdict(void)
{
    const struct text *text = &store_clients_account()->verdict;
    return text->size ? text->data : "";
}

void store_run_print(FILE *file)
{
    struct text text = {0};
    account_write(store_clients_account(), &text);
    assert_true(text_ok(&text));
    fprintf(file, "%s", text.size ? text.data : "");
    text_fini(&text);
}
