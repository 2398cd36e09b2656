#include "cli/sim/sim_store.h"

#include <string.h>

#include "services/store/service/space.h"
#include "services/store/service/store.h"
#include "sim/store/store_clients.h"
#include "sim/store/store_siege.h"

/* The value in effect of a parameter of the store. */
static enum err value_read(const struct sim_guests *guests, const char *name,
                           union parameter_value *value, struct why *why)
{
    const struct weft_parameter *parameter = store_service.parameters;
    while (parameter->name && strcmp(parameter->name, name) != 0)
        parameter++;
    return configuration_read(&guests->values, &store_service, parameter, value, why);
}

/* Values of the user come later, and replace these. */
static enum err defaults_add(struct sim_guests *guests, struct why *why)
{
    struct configuration values = {0};
    enum err err = configuration_add(&values, "weft sim chaos", "store.segment=512K", why);
    if (!err)
        err = configuration_add(&values, "weft sim chaos", "store.group_count=8", why);
    if (!err)
        err = configuration_append(&values, &guests->values, why);
    if (err) {
        configuration_fini(&values);
        return err;
    }
    configuration_fini(&guests->values);
    guests->values = values;
    return OK;
}

enum err sim_store_read(struct sim_store *store, struct sim_guests *guests, const struct call *call,
                        struct why *why)
{
    union parameter_value groups, segment, medium, text;
    struct spaces spaces;
    char reason[WEFT_WHY_SIZE];
    for (unsigned i = 0; i < guests->count; i++)
        store->used |= guests->services[i] == &store_service && !guests->checker;
    store->siege = call_has(call, "siege");
    if (store->siege && !store->used)
        return why_fail(why, ERR_USAGE, "--siege: needs --service store, without --checker");
    if (!store->used)
        return OK;
    guests->checker = &store_clients;
    enum err err = defaults_add(guests, why);
    if (!err)
        err = value_read(guests, "group_count", &groups, why);
    if (!err)
        err = value_read(guests, "segment", &segment, why);
    if (!err)
        err = value_read(guests, "medium", &medium, why);
    if (!err)
        err = value_read(guests, "spaces", &text, why);
    if (err)
        return err;
    if (!spaces_read(&spaces, text.text, (uint32_t)groups.number, 1, SPACE_COPIES_MAX,
                     medium.choice, reason))
        return why_fail(why, ERR_USAGE, "store.spaces: %s", reason);
    store->group_count = spaces.group_count;
    store->in_memory = spaces_use_memory(&spaces);
    store->segment = segment.size;
    if (store->in_memory && !store->siege)
        return why_fail(why, ERR_USAGE,
                        "keys in memory end with all servers that have them; --siege ends one "
                        "server at a time");
    return OK;
}

/* In every third run some keys expire, and wall clocks may be far from right. */
static bool keys_expire(const struct chaos_settings *settings)
{
    return settings->seed % 3 == 0;
}

/* In every fifth siege disks are late with what they read, and logs are soon written anew. */
static bool disks_lag(const struct chaos_settings *settings)
{
    return settings->seed % 5 == 0;
}

static void siege_run(const struct sim_store *store, const struct chaos_settings *settings,
                      const struct chaos_guests *guests, struct chaos_result *result)
{
    const struct store_siege siege = {
        .plan = settings->plan,
        .services = guests->services,
        .configuration = guests->configuration,
        .checker = guests->checker,
        .record = guests->record,
        .seed = settings->seed,
        .frail = settings->seed % 2 && !store->in_memory,
        .jumps = keys_expire(settings),
        .in_memory = store->in_memory,
        .group_count = store->group_count,
        .lags = disks_lag(settings),
    };
    if (siege.lags)
        store_clients_hurry();
    struct store_siege_result found = store_siege_run(&siege);
    *result = (struct chaos_result){
        .hash = found.hash, .faults = found.failures, .simulated = found.simulated};
    if (found.failed) {
        result->checker = guests->checker->name;
        result->failed_at = found.failure.at;
        memcpy(result->text, found.failure.text, sizeof result->text);
    }
}

enum err sim_store_run(const struct sim_store *store, const struct chaos_settings *settings,
                       const struct chaos_guests *guests, struct chaos_result *result,
                       struct why *why)
{
    if (!store->used)
        return chaos_run_with(settings, guests, result, why);
    store_clients_begin(store->group_count, store->segment);
    if (keys_expire(settings))
        store_clients_expect_expiry(-1);
    if (!store->siege)
        return chaos_run_with(settings, guests, result, why);
    siege_run(store, settings, guests, result);
    return OK;
}
