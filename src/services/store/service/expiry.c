/* expiry: keys that have expired. A request that finds one removes it before it goes on (serve.c).
 * The others are found by a walk through the keys of the groups that this server leads, a bounded
 * part of it at each tick. A group in which nothing can have expired is passed over. */
#include "services/store/service/store_impl.h"

#define LOOKS    2048 /* keys that one tick looks at */
#define REMOVALS 64   /* keys whose removal the walk has under way */
#define BUSY     64   /* a group with more changes under way is passed over: they go first */

void expiry_init(struct group *group)
{
    group->expires_first = INT64_MAX;
}

void expiry_note(struct group *group, int64_t expiry)
{
    if (expiry && expiry < group->expires_first)
        group->expires_first = expiry;
}

bool expiry_has_passed(const struct store *store, const struct index_entry *entry)
{
    return entry->expiry && entry->expiry <= weft_wall(store->self);
}

uint64_t expiry_left(const struct store *store, int64_t expiry)
{
    int64_t left;
    if (!expiry)
        return 0;
    if (__builtin_sub_overflow(expiry, weft_wall(store->self), &left) ||
        left > (int64_t)STORE_TTL_MAX)
        return STORE_TTL_MAX;
    return left > 0 ? (uint64_t)left : 1;
}

/* The keys behind the last one; NULL: there are none. */
static const struct index_entry *next_of(const struct group *group, const struct sweep *sweep)
{
    const struct index_key all = {NULL, 0}, after = {sweep->after.bytes, sweep->after.size};
    return index_next(&group->store->index, group->number, sweep->runs ? &after : NULL, all);
}

static void go_behind(struct sweep *sweep, const struct index_entry *entry)
{
    sweep->runs = true;
    sweep->after.size = entry->key_size;
    memcpy(sweep->after.bytes, entry->key, entry->key_size);
}

/* Looks at the next keys of the group, at most at `*looks`. False: it goes on there later. */
static bool walk(struct group *group, struct sweep *sweep, uint32_t *looks)
{
    const struct store *store = group->store;
    const struct index_entry *entry;
    if (!sweep->runs) {
        if (*looks == 0)
            return false;
        if (group->expires_first > weft_wall(store->self) || group->changes_count > BUSY)
            return true;
        group->expires_first = INT64_MAX; /* the walk finds it anew */
    }
    while ((entry = next_of(group, sweep))) {
        bool expires = disk_has_value(entry) && entry->expiry;
        bool is_over = expires && expiry_has_passed(store, entry);
        if (*looks == 0 || (is_over && sweep->removals == REMOVALS)) {
            expiry_note(group, expires ? entry->expiry : 0);
            return false;
        }
        --*looks;
        if (expires)
            expiry_note(group, entry->expiry); /* until it is removed */
        go_behind(sweep, entry);
        if (is_over && !serve_sweep(group, &sweep->after))
            return false;
    }
    return true;
}

void expiry_tick(struct store *store)
{
    struct sweep *sweep = &store->sweep;
    uint32_t looks = LOOKS;
    for (int64_t i = 0; i < store->group_count; i++) {
        struct group *group = &store->groups[sweep->group];
        bool serves = replica_serves(&group->replica);
        if (serves && !walk(group, sweep, &looks))
            return;
        if (!serves && sweep->runs)
            group->expires_first = 0; /* what the walk has not seen is not known */
        sweep->runs = false;
        sweep->group = (uint32_t)((sweep->group + 1) % (uint64_t)store->group_count);
    }
}
