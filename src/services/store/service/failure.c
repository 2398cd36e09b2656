/* failure: a server whose disk has failed. It leaves, ends all that is under way, and closes its
 * log. After a pause it opens the log again and joins as a process that has started would: what was
 * not synced is lost, what is damaged is fetched from other servers. The pause grows until
 * something becomes durable again. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include "base/check.h"

#define PAUSE_LEAST (250 * MSEC)
#define PAUSE_MOST  (30000 * MSEC)

void store_fail(struct store *store, int error)
{
    if (store->stage >= STORE_FAILED || (store->stage == STORE_RUNS && STORE_HAS(FAILURE_IGNORED)))
        return;
    store->stage = STORE_FAILED;
    store->error = error;
    store->failures++;
    views_wish(store->views, true);
}

void store_refuse(struct store *store, int error)
{
    store_fail(store, error);
    store->stage = STORE_BROKEN;
}

static void end_all(struct store *store)
{
    scrub_stop(store);
    for (int64_t i = 0; i < store->group_count; i++)
        group_end(&store->groups[i]);
    store->stage = STORE_CLOSES_LOG;
    disk_cancel(store);
    store->logs_open = store->memory_log ? 2 : 1;
    log_close(store->log);
    if (store->memory_log)
        log_close(store->memory_log);
}

void failure_closed(void *owner)
{
    struct store *store = owner;
    if (--store->logs_open)
        return;
    assert(!store->ops.used && !store->changes.used && !store->replays.used &&
           !store->scans.pages.used && !store->mending);
    index_clear(&store->index);
    once_clear(&store->once);
    store->custody_version = 0;
    store->custody_next = 0;
    if (store->pause < PAUSE_LEAST)
        store->pause = PAUSE_LEAST;
    store->again_at = weft_now(store->self) + store->pause;
    store->pause = store->pause > PAUSE_MOST / 2 ? PAUSE_MOST : 2 * store->pause;
    store->stage = STORE_RESTS;
}

void failure_tick(struct store *store)
{
    if (store->stage == STORE_FAILED && !store->opening)
        end_all(store);
    if (store->stage == STORE_RESTS && weft_now(store->self) >= store->again_at)
        disk_begin(store);
}
