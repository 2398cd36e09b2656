/* reach over libfabric: nothing is mapped, and the peer's processor places what is written. */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "ripc/core/peer.h"
#include "ripc/core/remote.h"
#include "ripc/memory/reach_pair.h"
#include "transport/wake/thread.h"

/* libfabric leaks a few connections that were never established. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

/* libfabric is not built for ThreadSanitizer, which therefore does not see its locks. */
__attribute__((visibility("default"))) const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "called_from_lib:libfabric.so\nrace:libfabric.so\nmutex:_dl_call_fini\n";
}

static const struct ripc_config fabric = {
    .transports = "fabric",
    .provider = "tcp",
    .address = "127.0.0.1",
};

/* A transfer and its result. The callback comes from any thread, with the lock held: release
 * carries the status to the thread that acquires `done`. */
struct moving {
    struct transfer transfer;
    int status;
    _Atomic bool done;
};

static void note_done(struct transfer *transfer, int status)
{
    struct moving *moving = container_of(transfer, struct moving, transfer);
    moving->status = status;
    atomic_store_explicit(&moving->done, true, memory_order_release);
}

static struct moving moving_make(void)
{
    return (struct moving){.transfer.done = note_done};
}

static int moving_wait(struct ripc *ripc, struct moving *moving)
{
    for (int64_t end = scene_deadline(); ripc_now() < end;) {
        if (atomic_load_explicit(&moving->done, memory_order_acquire))
            return moving->status;
        reach_progress(ripc);
    }
    return -ETIMEDOUT;
}

static int write_now(struct reach_pair *pair, struct reach *reach, uint64_t offset,
                     const void *local, size_t size)
{
    struct moving moving = moving_make();
    int result = reach_write(reach, offset, local, size, &moving.transfer);
    return result ? result : moving_wait(pair->there, &moving);
}

static void a_peer_writes_and_reads_granted_memory(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    assert_null(reach_mapping(reach));
    assert_int_equal(reach_size(reach), ROW);
    assert_true(reach_is_polled(reach));
    assert_true(reach_needs_progress(pair.there));
    uint8_t *local = ripc_alloc(pair.there, ROW), foreign[8] = {0};
    for (unsigned i = 0; i < ROW; i++)
        local[i] = (uint8_t)(i * 3 + 1);
    assert_int_equal(write_now(&pair, reach, 0, local, ROW), 0);
    assert_memory_equal(pair.own.base, local, ROW);
    pair.own.base[100] = 200;
    struct moving reading = moving_make();
    int result = reach_read(reach, 100, local + 5, 1, &reading.transfer);
    assert_true(result == 0 || result == 1);
    assert_int_equal(result ? 0 : moving_wait(pair.there, &reading), 0);
    assert_int_equal(local[5], 200);
    assert_ptr_equal(reading.transfer.done, note_done); /* the transfer can be used again */
    struct moving none = moving_make();
    assert_int_equal(reach_write(reach, ROW - 1, local, 2, &none.transfer), -ERANGE);
    assert_int_equal(reach_write(reach, 0, foreign, 8, &none.transfer), -EFAULT);
    assert_ptr_equal(none.transfer.done, note_done);
    assert_int_equal(reach_write(reach, 0, local, 0, &none.transfer), 1);
    reach_close(reach);
    assert_int_equal(ripc_free(pair.there, local), 0);
    pair_close(&pair);
}

/* The owner maps granted memory a second time, but a program may grant more memory than it may have
 * open files. */
static void a_grant_uses_no_descriptor(void **state)
{
    struct reach_pair pair;
    struct ripc_grant grant;
    struct reach *more = NULL;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0); /* everything is connected
                                                                          * now */
    unsigned before = scratch_descriptors();
    assert_int_equal(ripc_grant(pair.owner, 2, pair.own.base, ROW, RIPC_WRITE, &grant), 0);
    assert_int_equal(reach_open(pair.peer, &grant, scene_deadline(), &more), 0);
    assert_int_equal(write_now(&pair, more, 0, word, sizeof *word), 0);
    assert_int_equal(scratch_descriptors(), before);
    reach_close(more);
    reach_close(reach);
    pair_close(&pair);
}

static int write_refused(struct transport_link *link, const struct remote_memory *to,
                         uint64_t offset, const void *from, size_t size, struct region *region,
                         struct transfer *transfer)
{
    return -EPIPE;
}

static void memory_of_a_refused_transfer_can_be_freed(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    const struct remote *remote = id_map_get(&pair.peer->remotes, 1);
    struct transport_link *link = remote->peer->links[remote->transport];
    const struct transport_ops *usual = link->ops;
    struct memory_ops memory = *usual->memory;
    struct transport_ops ops = *usual;
    memory.write = write_refused;
    ops.memory = &memory;
    link->ops = &ops;
    struct moving moving = moving_make();
    assert_int_equal(reach_write(reach, 0, word, sizeof *word, &moving.transfer), -EPIPE);
    assert_ptr_equal(moving.transfer.done, note_done);
    link->ops = usual;
    assert_int_equal(ripc_free(pair.there, word), 0);
    reach_close(reach);
    pair_close(&pair);
}

/* The owner watches the word to which all small writes go; larger transfers run between them. */
struct growing {
    const _Atomic uint64_t *word;
    struct ripc *ripc;
    uint64_t last;
    bool fell; /* valid after the end */
};

static void *watch_growth(void *argument)
{
    struct growing *growing = argument;
    uint64_t seen = 0;
    for (int64_t end = scene_deadline(); seen < growing->last && ripc_now() < end;) {
        reach_progress(growing->ripc);
        uint64_t now = atomic_load_explicit(growing->word, memory_order_acquire);
        growing->fell = growing->fell || now < seen;
        seen = now;
    }
    growing->fell = growing->fell || seen < growing->last;
    return NULL;
}

static void small_writes_are_seen_in_order_under_load(void **state)
{
    enum { COUNT = 3000, LARGE = 64 * 1024 };
    struct reach_pair pair;
    struct own_file bulk;
    struct ripc_grant grant;
    struct reach *large = NULL;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    assert_int_equal(own_file_open(pair.here, LARGE, &bulk), 0);
    assert_int_equal(ripc_grant(pair.owner, 2, bulk.base, LARGE, RIPC_WRITE, &grant), 0);
    struct reach *reach = pair_reach(&pair);
    assert_int_equal(reach_open(pair.peer, &grant, scene_deadline(), &large), 0);
    uint64_t *words = ripc_alloc(pair.there, (COUNT + 1) * sizeof *words);
    uint8_t *bytes = ripc_alloc(pair.there, LARGE);
    struct moving *moves = calloc(COUNT + 1, sizeof *moves), flood = moving_make();
    memset(bytes, 1, LARGE);
    struct growing growing = {
        .word = (const _Atomic uint64_t *)(void *)pair.own.base,
        .ripc = pair.here,
        .last = COUNT,
    };
    struct thread watcher = {0};
    assert_int_equal(thread_start(&watcher, "watch", watch_growth, &growing), 0);
    bool flooding = false;
    for (unsigned i = 1; i <= COUNT; i++) {
        if (!flooding || atomic_load_explicit(&flood.done, memory_order_acquire)) {
            flood = moving_make();
            flooding = reach_write(large, 0, bytes, LARGE, &flood.transfer) == 0;
        }
        words[i] = i;
        moves[i] = moving_make();
        int result = reach_write(reach, 0, &words[i], sizeof words[i], &moves[i].transfer);
        assert_int_equal(result, 0);
    }
    for (unsigned i = 1; i <= COUNT; i++)
        assert_int_equal(moving_wait(pair.there, &moves[i]), 0);
    thread_join(&watcher);
    assert_false(growing.fell);
    reach_close(reach);
    reach_close(large);
    assert_int_equal(ripc_free(pair.there, bytes), 0);
    assert_int_equal(ripc_free(pair.there, words), 0);
    free(moves);
    own_file_close(pair.here, &bulk);
    pair_close(&pair);
}

/* ---- sleeping until a peer has written ---- */

/* Bells of this program have no safety timeout (see main): a sleeper that is not woken never
 * returns. It then continues to use this struct, so the struct is static. */
struct sleeping {
    struct ripc *ripc;
    const _Atomic uint64_t *word;
    struct doorbell bell;
    _Atomic uint64_t seen; /* the last value; written by the sleeper, release */
    _Atomic bool stop;
    _Atomic uint64_t naps; /* sleeps that ended; written by the sleeper, release */
};

/* Like a detector: checks, and sleeps when there is nothing new. */
static void *sleep_on_bell(void *argument)
{
    struct sleeping *sleeping = argument;
    uint64_t seen = 0;
    while (!atomic_load(&sleeping->stop)) {
        uint64_t now = atomic_load_explicit(sleeping->word, memory_order_acquire);
        if (now != seen) {
            seen = now;
            atomic_store_explicit(&sleeping->seen, seen, memory_order_release);
        }
        doorbell_prepare(&sleeping->bell, DOORBELL_FUTEX);
        reach_arm(sleeping->ripc);
        if (atomic_load_explicit(sleeping->word, memory_order_acquire) != seen) {
            doorbell_cancel(&sleeping->bell);
            continue;
        }
        doorbell_wait(&sleeping->bell, NSEC_NEVER);
        atomic_fetch_add_explicit(&sleeping->naps, 1, memory_order_release);
    }
    return NULL;
}

static void wait_until_seen(struct sleeping *sleeping, uint64_t value)
{
    for (int64_t end = scene_deadline();
         atomic_load_explicit(&sleeping->seen, memory_order_acquire) != value;) {
        assert_true(ripc_now() < end);
        usleep(50);
    }
}

static void sleeping_start(struct sleeping *sleeping, struct reach_pair *pair,
                           struct thread *thread)
{
    *sleeping = (struct sleeping){
        .ripc = pair->here,
        .word = (const _Atomic uint64_t *)(void *)pair->own.base,
    };
    doorbell_open_on(&sleeping->bell, pair->own.base + 4096);
    reach_bell_add(pair->here, &sleeping->bell);
    assert_int_equal(thread_start(thread, "sleep", sleep_on_bell, sleeping), 0);
}

static void sleeping_end(struct sleeping *sleeping, struct thread *thread)
{
    atomic_store(&sleeping->stop, true);
    doorbell_ring(&sleeping->bell);
    thread_join(thread);
    reach_bell_remove(sleeping->ripc, &sleeping->bell);
    doorbell_close(&sleeping->bell);
}

/* Only writes, no messages: nothing but the bell wakes the sleeper. */
static void a_write_wakes_a_sleeping_owner(void **state)
{
    enum { COUNT = 100 };
    struct reach_pair pair;
    struct thread thread = {0};
    static struct sleeping sleeping;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    sleeping_start(&sleeping, &pair, &thread);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    for (uint64_t i = 1; i <= COUNT; i++) {
        *word = i;
        usleep(i % 10 ? 500 : 3000); /* still awake, or asleep */
        assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0);
        wait_until_seen(&sleeping, i);
    }
    sleeping_end(&sleeping, &thread);
    reach_close(reach);
    pair_close(&pair);
}

/* The same while other threads of the owner also poll the fabric and may place what was written. */
static void *poll_on(void *argument)
{
    struct sleeping *sleeping = argument;
    for (unsigned i = 0; !atomic_load(&sleeping->stop); i++) {
        reach_progress(sleeping->ripc);
        if (i % 40 == 0)
            usleep(100);
    }
    return NULL;
}

static void a_write_placed_by_another_thread_wakes_a_sleeping_owner(void **state)
{
    enum { COUNT = 60 };
    struct reach_pair pair;
    struct thread thread = {0}, other = {0};
    static struct sleeping sleeping;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    sleeping_start(&sleeping, &pair, &thread);
    assert_int_equal(thread_start(&other, "poll", poll_on, &sleeping), 0);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    for (uint64_t i = 1; i <= COUNT; i++) {
        *word = i;
        assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0);
        wait_until_seen(&sleeping, i);
    }
    sleeping_end(&sleeping, &thread);
    thread_join(&other);
    reach_close(reach);
    pair_close(&pair);
}

/* Does it stay asleep while the fabric is polled and nothing comes? */
static bool sleeps_on(struct sleeping *sleeping)
{
    for (int64_t end = scene_deadline(); !doorbell_is_slept_on(&sleeping->bell);)
        assert_true(ripc_now() < end);
    uint64_t before = atomic_load_explicit(&sleeping->naps, memory_order_acquire);
    for (unsigned i = 0; i < 1000; i++)
        reach_progress(sleeping->ripc);
    return atomic_load_explicit(&sleeping->naps, memory_order_acquire) == before &&
           doorbell_is_slept_on(&sleeping->bell);
}

/* Remaining traffic from the start may wake it a few times. */
static void polling_without_new_data_wakes_no_sleeper(void **state)
{
    enum { TRIES = 50 };
    struct reach_pair pair;
    struct thread thread = {0};
    static struct sleeping sleeping;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    sleeping_start(&sleeping, &pair, &thread);
    unsigned tries = 1;
    while (!sleeps_on(&sleeping))
        assert_true(++tries <= TRIES);
    sleeping_end(&sleeping, &thread);
    reach_close(reach);
    pair_close(&pair);
}

/* ---- ends ---- */

static void transfers_fail_when_their_peer_dies(void **state)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) { /* owns the memory, passes its grant on and waits */
        struct ripc *ripc = scene_open(&fabric);
        struct ripc_service *service = scene_bind(ripc, 1);
        struct own_file own;
        struct ripc_grant grant;
        if (own_file_open(ripc, ROW, &own) ||
            ripc_grant(service, 2, own.base, ROW, RIPC_READ | RIPC_WRITE, &grant))
            _exit(1);
        (void)!write(ready[1], &grant, sizeof grant);
        for (;;)
            pause();
    }
    close(ready[1]);
    struct reach_pair pair = {.there = scene_open(&fabric)};
    pair.peer = scene_bind(pair.there, 2);
    assert_int_equal(read(ready[0], &pair.grant, sizeof pair.grant), sizeof pair.grant);
    close(ready[0]);
    struct reach *reach = pair_reach(&pair);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0);
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, NULL, WUNTRACED), child); /* all its threads are stopped */
    struct moving moves[50];
    for (unsigned i = 0; i < 50; i++) {
        moves[i] = moving_make();
        assert_int_equal(reach_write(reach, 0, word, sizeof *word, &moves[i].transfer), 0);
    }
    assert_int_equal(ripc_free(pair.there, word), -EBUSY); /* until the transfers are done */
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (unsigned i = 0; i < 50; i++)
        assert_true(moving_wait(pair.there, &moves[i]) < 0);
    wait_until_lost(pair.there, reach);
    assert_int_equal(reach_write(reach, 0, word, sizeof *word, &moves[0].transfer), -EPIPE);
    assert_int_equal(reach_write(reach, 0, word, 0, &moves[0].transfer), -EPIPE);
    reach_close(reach);
    assert_int_equal(ripc_free(pair.there, word), 0);
    scene_close(pair.there);
    assert_true(ripc_clean("default") >= 0); /* the dead process left its socket */
}

static void renewed_memory_is_inaccessible_by_old_grants(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair), *again = NULL;
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    *word = 7;
    assert_int_equal(write_now(&pair, reach, 8, word, sizeof *word), 0);
    assert_int_equal(own_file_renew(pair.here, &pair.own, true), 0);
    assert_int_equal(pair.own.base[8], 7);
    wait_until_lost(pair.there, reach);
    assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), -EACCES);
    assert_int_equal(reach_open(pair.peer, &pair.grant, scene_deadline(), &again), -EACCES);
    reach_close(reach);
    assert_int_equal(
        ripc_grant(pair.owner, 2, pair.own.base, ROW, RIPC_READ | RIPC_WRITE, &pair.grant), 0);
    reach = pair_reach(&pair);
    *word = 9;
    assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0);
    assert_int_equal(pair.own.base[0], 9);
    reach_close(reach);
    pair_close(&pair);
}

/* ---- voided while it is written to ---- */

struct storming {
    struct ripc *ripc;
    struct reach *reach;
    uint64_t *word;
    int status; /* the error that ended it; valid after the end */
};

static void *storm(void *argument)
{
    struct storming *storming = argument;
    int64_t end = scene_deadline();
    for (unsigned turn = 0; ripc_now() < end; turn++) {
        struct moving moving = moving_make();
        moving.transfer.light = turn % 4 != 0;
        int result =
            reach_write(storming->reach, 0, storming->word, sizeof(uint64_t), &moving.transfer);
        storming->status = result ? result : moving_wait(storming->ripc, &moving);
        if (storming->status < 0)
            return NULL;
    }
    storming->status = -ETIMEDOUT;
    return NULL;
}

/* Late writes change nothing and break no connection: others use the connection too. */
static void renewing_memory_ends_concurrent_writes(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    *word = 5;
    for (unsigned round = 0; round < 10; round++) {
        struct storming storming = {.ripc = pair.there, .word = word};
        struct thread thread = {0};
        storming.reach = pair_reach(&pair);
        assert_int_equal(thread_start(&thread, "storm", storm, &storming), 0);
        usleep(2000);
        assert_int_equal(own_file_renew(pair.here, &pair.own, false), 0);
        thread_join(&thread);
        assert_int_equal(storming.status, -EACCES);
        assert_true(reach_is_lost(storming.reach));
        assert_int_equal(pair.own.base[0], 0);
        reach_close(storming.reach);
        assert_int_equal(ripc_grant(pair.owner, 2, pair.own.base, ROW, RIPC_WRITE, &pair.grant), 0);
    }
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(pair.there, &stats), 0);
    assert_int_equal(stats.peers_lost, 0);
    assert_int_equal(ripc_stats(pair.here, &stats), 0);
    assert_int_equal(stats.peers_lost, 0);
    assert_int_equal(ripc_free(pair.there, word), 0);
    pair_close(&pair);
}

static unsigned count_mappings(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "memfd:weft-own-file") != NULL;
    fclose(maps);
    return count;
}

/* Memory kept for late writers is kept only for a while. */
static void voided_memory_is_freed_after_a_while(void **state)
{
    struct reach_pair pair;
    pair_open(&pair, &fabric, RIPC_READ | RIPC_WRITE);
    struct reach *reach = pair_reach(&pair);
    assert_int_equal(own_file_renew(pair.here, &pair.own, true), 0);
    assert_int_equal(count_mappings(), 2); /* the new one, and the old one for the holder */
    reach_close(reach);
    for (int64_t end = scene_deadline(); count_mappings() > 1; usleep(10000))
        assert_true(ripc_now() < end);
    pair_close(&pair);
    assert_int_equal(count_mappings(), 0);
}

/* Without a keeper only calls make progress; a thread makes those of the owner. */
static void *serve(void *argument)
{
    struct sleeping *serving = argument;
    while (!atomic_load(&serving->stop))
        reach_progress(serving->ripc);
    return NULL;
}

static void a_reach_works_without_a_keeper(void **state)
{
    struct ripc_config manual = fabric;
    manual.flags = RIPC_MANUAL;
    struct reach_pair pair;
    struct thread server = {0};
    pair_open(&pair, &manual, RIPC_READ | RIPC_WRITE);
    struct sleeping serving = {.ripc = pair.here};
    assert_int_equal(thread_start(&server, "serve", serve, &serving), 0);
    struct reach *reach = pair_reach(&pair);
    uint64_t *word = ripc_alloc(pair.there, sizeof *word);
    *word = 3;
    assert_int_equal(write_now(&pair, reach, 0, word, sizeof *word), 0);
    assert_int_equal(pair.own.base[0], 3);
    assert_int_equal(own_file_renew(pair.here, &pair.own, false), 0);
    for (int64_t end = scene_deadline(); !reach_is_lost(reach);) {
        assert_true(ripc_now() < end);
        reach_progress(pair.there);
    }
    reach_close(reach);
    atomic_store(&serving.stop, true);
    thread_join(&server);
    pair_close(&pair);
}

int main(void)
{
    struct ripc *ripc;
    void *folder;
    if (scene_begin(&folder)) {
        puts("Bail out! no folder in /dev/shm");
        return 1;
    }
    bool there = ripc_open(&fabric, &ripc) == 0;
    if (there)
        ripc_close(ripc, RIPC_NOW);
    rmdir(folder);
    if (!there) {
        puts("1..0 # SKIP libfabric or its provider tcp is not installed");
        return 0;
    }
    atomic_store(&doorbell_nap, NSEC_NEVER);
    const struct CMUnitTest tests[] = {
        SCENE(a_peer_writes_and_reads_granted_memory),
        SCENE(a_grant_uses_no_descriptor),
        SCENE(memory_of_a_refused_transfer_can_be_freed),
        SCENE(small_writes_are_seen_in_order_under_load),
        SCENE(a_write_wakes_a_sleeping_owner),
        SCENE(a_write_placed_by_another_thread_wakes_a_sleeping_owner),
        SCENE(polling_without_new_data_wakes_no_sleeper),
        SCENE(transfers_fail_when_their_peer_dies),
        SCENE(renewed_memory_is_inaccessible_by_old_grants),
        SCENE(renewing_memory_ends_concurrent_writes),
        SCENE(voided_memory_is_freed_after_a_while),
        SCENE(a_reach_works_without_a_keeper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
