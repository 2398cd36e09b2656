#include "ripc/memory/own_file.h"
#include "ripc/memory/reach.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "ripc/core/peer.h"
#include "ripc/memory/reach_pair.h"
#include "transport/wake/sleeper_scene.h"
#include "transport/wake/thread.h"

/* ---- shared memory ---- */

static void writes_of_a_peer_are_seen_by_the_owner(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    for (size_t i = 0; i < ROW; i++)
        assert_int_equal(pair.own.base[i], 0);
    struct reach *reach = pair_reach(&pair);
    uint8_t *mapped = reach_mapping(reach);
    assert_non_null(mapped);
    assert_ptr_not_equal(mapped, pair.own.base);
    assert_int_equal(reach_size(reach), ROW);
    assert_false(reach_is_lost(reach));
    assert_false(reach_is_polled(reach));
    assert_false(reach_needs_progress(pair.there));
    assert_int_equal(reach_progress(pair.there), 0);
    mapped[0] = 11;
    mapped[ROW - 1] = 12;
    assert_int_equal(pair.own.base[0], 11);
    assert_int_equal(pair.own.base[ROW - 1], 12);
    pair.own.base[5] = 13;
    assert_int_equal(mapped[5], 13);

    /* The same by transfers, from and to any memory. */
    struct transfer transfer = {0};
    char word[] = "written", back[sizeof word];
    assert_int_equal(reach_write(reach, 100, word, sizeof word, &transfer), 1);
    assert_memory_equal(pair.own.base + 100, word, sizeof word);
    assert_int_equal(reach_read(reach, 100, back, sizeof back, &transfer), 1);
    assert_memory_equal(back, word, sizeof word);
    assert_int_equal(reach_write(reach, ROW - 3, word, 4, &transfer), -ERANGE);
    assert_int_equal(reach_read(reach, UINT64_MAX, back, 2, &transfer), -ERANGE);
    assert_int_equal(reach_write(reach, ROW, word, 0, &transfer), 1);
    reach_close(reach);
    pair_close(&pair);
}

/* The peer's file contains nothing else. */
static void only_the_granted_memory_is_shared(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    struct own_file other;
    assert_int_equal(own_file_open(pair.here, ROW, &other), 0);
    struct ripc_grant part;
    assert_int_equal(ripc_grant(pair.owner, 2, pair.own.base + 4096, 64, RIPC_READ, &part), 0);
    struct reach *whole = pair_reach(&pair), *piece = NULL;
    assert_int_equal(reach_open(pair.peer, &part, scene_deadline(), &piece), 0);
    assert_int_equal(reach_size(piece), 64);
    assert_ptr_equal((uint8_t *)reach_mapping(piece), (uint8_t *)reach_mapping(whole) + 4096);
    assert_int_equal(ripc_grant(pair.owner, 2, other.base, ROW + 1, RIPC_READ, &part), -EFAULT);
    assert_int_equal(ripc_free(pair.here, other.base), -EINVAL);
    assert_int_equal(ripc_unregister(pair.here, other.base), -ENOENT);
    assert_int_equal(ripc_register(pair.here, other.base, ROW), -EEXIST);
    reach_close(whole);
    reach_close(piece);
    own_file_close(pair.here, &other);
    pair_close(&pair);
}

static void an_access_without_the_right_is_refused(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ);
    pair.own.base[7] = 77;
    struct reach *reach = pair_reach(&pair), *stolen = NULL;
    struct transfer transfer = {0};
    uint8_t byte = 1;
    const uint8_t *mapped = reach_mapping(reach);
    assert_int_equal(mapped[7], 77);
    assert_int_equal(reach_write(reach, 7, &byte, 1, &transfer), -EACCES);
    assert_int_equal(reach_read(reach, 7, &byte, 1, &transfer), 1);
    assert_int_equal(byte, 77);
    /* The mapping itself prevents mistakes: writing would kill the process. */
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the handler of the test would continue with the next test */
        *(volatile uint8_t *)(uintptr_t)(mapped + 7) = 1;
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    assert_int_equal(pair.own.base[7], 77);

    struct ripc *elsewhere = scene_open(NULL);
    struct ripc_service *stranger = scene_bind(elsewhere, 3);
    assert_int_equal(reach_open(stranger, &pair.grant, scene_deadline(), &stolen), -EACCES);
    struct ripc_grant guess = pair.grant;
    guess.key ^= 1;
    assert_int_equal(reach_open(pair.peer, &guess, scene_deadline(), &stolen), -EACCES);
    guess.owner = 99;
    assert_int_equal(reach_open(pair.peer, &guess, scene_deadline(), &stolen), -ENOENT);
    assert_null(stolen);
    scene_close(elsewhere);
    reach_close(reach);
    pair_close(&pair);
}

static void memory_of_a_dead_peer_can_still_be_read(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    uint8_t *mapped = reach_mapping(reach);
    struct transfer transfer = {0};
    uint8_t byte = 0;
    memset(pair.own.base, 42, ROW);
    own_file_close(pair.here, &pair.own);
    scene_close(pair.here);
    wait_until_lost(pair.there, reach);
    for (size_t i = 0; i < ROW; i++)
        assert_int_equal(mapped[i], 42);
    assert_int_equal(reach_write(reach, 0, &byte, 1, &transfer), -EACCES);
    assert_int_equal(reach_size(reach), ROW);
    /* The service may be unbound first. */
    assert_int_equal(ripc_unbind(pair.peer), 0);
    assert_int_equal(mapped[ROW - 1], 42);
    reach_close(reach);
    scene_close(pair.there);
}

/* Nothing was revoked; only the connection is lost. */
static void transfers_to_a_lost_peer_are_refused(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    struct transfer transfer = {0};
    uint8_t byte = 1;
    lock_take(&pair.there->lock);
    list_each(&pair.there->peers, node)
        lifeline_cut(container_of(node, struct peer, node)->line, -ETIMEDOUT);
    lock_drop(&pair.there->lock);
    wait_until_lost(pair.there, reach);
    assert_int_equal(reach_write(reach, 0, &byte, 1, &transfer), -EPIPE);
    assert_int_equal(reach_read(reach, 0, &byte, 1, &transfer), -EPIPE);
    assert_int_equal(pair.own.base[0], 0);
    reach_close(reach);
    pair_close(&pair);
}

static void revoking_waits_until_the_reach_is_closed(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair), *again = NULL;
    uint8_t *mapped = reach_mapping(reach);
    struct transfer transfer = {0};
    pair.own.base[3] = 3;
    assert_int_equal(ripc_revoke(pair.owner, &pair.grant, ripc_after(SCENE_SECOND / 50)),
                     -ETIMEDOUT);
    wait_until_lost(pair.there, reach);
    assert_int_equal(mapped[3], 3); /* still mapped, although it must not be used any more */
    assert_int_equal(reach_write(reach, 3, "x", 1, &transfer), -EACCES);
    assert_int_equal(reach_open(pair.peer, &pair.grant, scene_deadline(), &again), -EACCES);
    reach_close(reach);
    assert_int_equal(ripc_revoke(pair.owner, &pair.grant, scene_deadline()), 0);
    assert_int_equal(reach_open(pair.peer, &pair.grant, scene_deadline(), &again), -EACCES);
    pair_close(&pair);
}

/* ---- other memory at the same address ---- */

struct watching {
    const _Atomic uint64_t *word;
    _Atomic bool stop;
    uint64_t looks, changes; /* valid after the end */
};

static void *watch(void *argument)
{
    struct watching *watching = argument;
    uint64_t before = 0;
    while (!atomic_load(&watching->stop)) {
        uint64_t now = atomic_load_explicit(watching->word, memory_order_relaxed);
        assert_true(now == 0 || now == 5);
        watching->changes += now != before;
        before = now;
        watching->looks++;
    }
    return NULL;
}

static void renewed_memory_is_inaccessible_to_its_earlier_holder(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    _Atomic uint64_t *word = (_Atomic uint64_t *)(void *)pair.own.base;
    struct watching watching = {.word = word};
    struct thread watcher = {0};
    assert_int_equal(thread_start(&watcher, "watch", watch, &watching), 0);
    for (unsigned round = 0; round < 100; round++) {
        struct reach *reach = pair_reach(&pair), *again = NULL;
        _Atomic uint64_t *far = reach_mapping(reach);
        uint8_t *base = pair.own.base;
        bool keep = round % 2;
        atomic_store(far, 5);
        assert_int_equal(atomic_load(word), 5);
        assert_int_equal(own_file_renew(pair.here, &pair.own, keep), 0);
        assert_ptr_equal(pair.own.base, base);
        assert_ptr_equal(pair.own.file.base, base);
        assert_int_equal(atomic_load(word), keep ? 5 : 0);
        atomic_store(far, 6); /* the watcher would see it */
        assert_int_equal(atomic_load(word), keep ? 5 : 0);
        wait_until_lost(pair.there, reach);
        assert_int_equal(atomic_load(far), 6);
        assert_int_equal(reach_open(pair.peer, &pair.grant, scene_deadline(), &again), -EACCES);
        assert_int_equal(ripc_revoke(pair.owner, &pair.grant, scene_deadline()), -ENOENT);
        reach_close(reach);
        atomic_store(word, 0);
        assert_int_equal(ripc_grant(pair.owner, 2, base, ROW, RIPC_READ | RIPC_WRITE, &pair.grant),
                         0);
    }
    atomic_store(&watching.stop, true);
    thread_join(&watcher);
    assert_true(watching.looks > 0);
    pair_close(&pair);
}

static void revoke_patiently(void *argument)
{
    struct reach_pair *pair = argument;
    assert_int_equal(ripc_revoke(pair->owner, &pair->grant, RIPC_FOREVER), 0);
}

/* A waiting revoke ends when there is nothing left to revoke. */
static void renewing_ends_a_waiting_revoke(void **state)
{
    static struct reach_pair pair;
    static struct sleeper sleeper;
    atomic_store(&doorbell_nap, NSEC_NEVER);
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    sleeper_start(&sleeper, revoke_patiently, &pair);
    assert_int_equal(own_file_renew(pair.here, &pair.own, true), 0);
    sleeper_assert_woken(&sleeper);
    atomic_store(&doorbell_nap, DOORBELL_NAP_NSEC);
    reach_close(reach);
    pair_close(&pair);
}

static void impossible_sizes_are_refused(void **state)
{
    struct ripc *ripc = scene_open(NULL);
    struct own_file own;
    assert_int_equal(own_file_open(ripc, 0, &own), -EINVAL);
    assert_int_equal(own_file_open(ripc, (size_t)1 << 46, &own), -ENOMEM);
    assert_null(own.base);
    own_file_close(ripc, &own); /* has no effect */
    scene_close(ripc);
}

/* ---- closing in any order ---- */

static void memory_reaches_and_services_may_close_in_any_order(void **state)
{
    for (unsigned order = 0; order < 3; order++) {
        struct reach_pair pair;
        pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE);
        struct reach *reach = pair_reach(&pair), *second = pair_reach(&pair);
        uint8_t *mapped = reach_mapping(reach);
        assert_ptr_equal(mapped, reach_mapping(second));
        mapped[9] = 9;
        if (order == 0) { /* the memory first */
            own_file_close(pair.here, &pair.own);
            wait_until_lost(pair.there, reach);
            assert_int_equal(mapped[9], 9);
            reach_close(second);
            assert_int_equal(mapped[9], 9);
            reach_close(reach);
        } else if (order == 1) { /* the granting service first */
            assert_int_equal(ripc_unbind(pair.owner), 0);
            wait_until_lost(pair.there, second);
            assert_int_equal(mapped[9], 9);
            reach_close(reach);
            reach_close(second);
        } else {
            reach_close(reach);
            reach_close(second);
        }
        pair_close(&pair);
    }
}

static void a_reach_works_without_a_keeper(void **state)
{
    struct ripc_config config = {.flags = RIPC_MANUAL};
    struct reach_pair pair;
    pair_open(&pair, NULL, RIPC_READ | RIPC_WRITE); /* the owner has a keeper, which answers */
    struct ripc *manual = scene_open(&config);
    struct ripc_service *service = scene_bind(manual, 5);
    struct ripc_grant grant;
    struct reach *reach = NULL;
    assert_int_equal(ripc_grant(pair.owner, 5, pair.own.base, ROW, RIPC_WRITE, &grant), 0);
    assert_int_equal(reach_open(service, &grant, scene_deadline(), &reach), 0);
    *(uint8_t *)reach_mapping(reach) = 1;
    assert_int_equal(pair.own.base[0], 1);
    assert_int_equal(own_file_renew(pair.here, &pair.own, false), 0);
    for (int64_t end = scene_deadline(); !reach_is_lost(reach);) {
        assert_true(ripc_now() < end);
        reach_progress(manual);
    }
    reach_close(reach);
    scene_close(manual);
    pair_close(&pair);
}

static void renew(void *argument)
{
    struct reach_pair *pair = argument;
    assert_int_equal(own_file_renew(pair->here, &pair->own, true), 0);
}

/* A message of ours is being read from the memory. */
static void memory_in_use_is_renewed_later_or_refused(void **state)
{
    static struct reach_pair pair;
    static struct sleeper sleeper;
    pair_open(&pair, NULL, RIPC_READ);
    struct iovec item = {pair.own.base, ROW};
    struct ripc_send send = {
        .to = 2, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(pair.owner, &send);
    assert_true(operation > 0);
    struct ripc_message message = scene_receive(pair.peer);
    assert_int_equal(own_file_renew(pair.here, &pair.own, true), -EBUSY);
    sleeper_begin(&sleeper, renew, &pair);
    clock_nap(20 * 1000 * 1000); /* by now it usually waits */
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.owner, operation, scene_deadline()), -ENOBUFS);
    sleeper_assert_woken(&sleeper);
    pair_close(&pair);
}

static void a_failed_renewal_keeps_the_old_memory(void **state)
{
    struct reach_pair pair;
    struct rlimit limit, none;
    pair_open(&pair, NULL, RIPC_READ);
    pair.own.base[0] = 5;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = limit;
    none.rlim_cur = 0;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    int result = own_file_renew(pair.here, &pair.own, false);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(result, -EMFILE);
    assert_int_equal(pair.own.base[0], 5);
    pair_close(&pair);
}

TEST_MAIN(SCENE(memory_in_use_is_renewed_later_or_refused),
          SCENE(a_failed_renewal_keeps_the_old_memory),
          SCENE(writes_of_a_peer_are_seen_by_the_owner), SCENE(only_the_granted_memory_is_shared),
          SCENE(an_access_without_the_right_is_refused),
          SCENE(memory_of_a_dead_peer_can_still_be_read),
          SCENE(transfers_to_a_lost_peer_are_refused),
          SCENE(revoking_waits_until_the_reach_is_closed),
          SCENE(renewed_memory_is_inaccessible_to_its_earlier_holder),
          SCENE(renewing_ends_a_waiting_revoke), SCENE(impossible_sizes_are_refused),
          SCENE(memory_reaches_and_services_may_close_in_any_order),
          SCENE(a_reach_works_without_a_keeper))
