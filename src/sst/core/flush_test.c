/* Flushes over datagrams, where what is put needs a while to arrive. */
#include <weft/sst.h>

#include <pthread.h>

#include "ripc/core/context.h"
#include "sst/core/sst_impl.h"
#include "sst/core/sst_scene.h"

#define LOOK_NSEC (1000 * 1000LL)

static struct member members[2];
static _Atomic bool flushed; /* stored by the thread that flushes, with release */

static int datagrams_begin(void **state)
{
    setenv("WEFT_TRANSPORTS", "udp", 1);
    setenv("WEFT_ADDRESS", "127.0.0.1", 1);
    return scene_begin(state);
}

static int datagrams_end(void **state)
{
    unsetenv("WEFT_TRANSPORTS");
    unsetenv("WEFT_ADDRESS");
    return scene_end(state);
}

static void *flush(void *argument)
{
    struct member *member = argument;
    member->result = sst_flush(member->sst, RIPC_FOREVER);
    atomic_store_explicit(&flushed, true, memory_order_release);
    return NULL;
}

/* With the put lock: waits until everything has arrived. */
static void arrive(struct share *share)
{
    while (!share->spread.ops->is_flushed(&share->spread, UINT64_MAX)) {
        share->spread.ops->move(&share->spread);
        reach_progress(share->ripc);
    }
}

/* While the put lock is free, the other member's lock is not: therefore, whenever the flush can
 * check, all puts but the last one have arrived, and the last one has not. */
static void a_flush_waits_for_no_later_put(void **state)
{
    pthread_t thread;
    struct sst_config config = config_of(SST_WRITES, 2);
    open_members(members, 2, &config);
    struct share *share = &members[0].sst->share;
    struct lock *other = &members[1].ripc->lock;
    int64_t deadline = scene_deadline();
    assert_int_equal(share->carried_count, 1);

    lock_take(other);
    assert_int_equal(sst_set_u64(members[0].sst, GUARD, 1), 0);
    assert_int_equal(pthread_create(&thread, NULL, flush, &members[0]), 0);
    for (uint64_t number = 1; !atomic_load_explicit(&flushed, memory_order_acquire); number++) {
        assert_true(ripc_now() < deadline);
        lock_take(&share->put_lock);
        lock_drop(other);
        arrive(share);
        lock_take(other);
        assert_int_equal(own_set(&share->own, STEP, number), 0);
        lock_drop(&share->put_lock);
        clock_nap(LOOK_NSEC);
    }
    lock_drop(other);
    pthread_join(thread, NULL);
    assert_int_equal(members[0].result, 0);
    assert_int_equal(sst_get_u64(members[1].sst, sst_row_own(members[0].sst), GUARD), 1);
    close_members(members, 2);
}

TEST_MAIN(cmocka_unit_test_setup_teardown(a_flush_waits_for_no_later_put, datagrams_begin,
                                          datagrams_end))
