/* fabric: tests the fabric transport between two processes, over the provider in WEFT_TEST_PROVIDER
 * (tcp), bound to WEFT_TEST_ADDRESS if that is set. */
#include "base/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "fabric_pair.h"
#include "process.h"

enum { MEBI = 1024 * 1024 };

static uint64_t seed;

/* Byte `at` of stream `n`: both sides compute it, so neither has to send it. */
static uint8_t pattern(uint64_t n, size_t at)
{
    return (uint8_t)((n * 0x9E3779B97F4A7C15ULL >> 40) + at * 7 + (at >> 8));
}

static void pattern_fill(uint8_t *out, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++)
        out[i] = pattern(n, i);
}

static bool pattern_is(const uint8_t *bytes, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != pattern(n, i))
            return false;
    return true;
}

static uint8_t *memory_make(size_t size)
{
    void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(base != MAP_FAILED);
    return base;
}

/* Closes our side, and asserts that the peer succeeded. */
static void finish(struct fabric_side *side, pid_t peer)
{
    side_close(side);
    assert_int_equal(pair_wait(peer), 0);
}

static void begin(struct fabric_side *side, pair_role *role, int argument, pid_t *peer)
{
    int channel;
    *peer = pair_start(role, argument, &channel);
    side_open(side);
    side_link(side, channel, true);
}

static void peer_begin(struct fabric_side *side, int channel)
{
    side_open(side);
    side_link(side, channel, false);
}

/* The peer waits until we are done. */
static int peer_end(struct fabric_side *side)
{
    char byte;
    (void)channel_receive(side->channel, &byte, 1);
    side_close(side);
    return 0;
}

/* ---- frames ---- */

enum { FRAME_COUNT = 3000, HOLD_MAX = 12 };

static void frames_send(struct fabric_side *side, bool spin)
{
    uint8_t body[FRAME_BODY_MAX];
    for (uint64_t i = 0; i < FRAME_COUNT; i++) {
        struct rng rng = rng_make(seed, i);
        size_t size = i < 4 ? (i & 1) * FRAME_BODY_MAX : rng_below(&rng, FRAME_BODY_MAX + 1);
        pattern_fill(body, size, i);
        size_t cut = size / 3;
        struct iovec pieces[3] = {{body, cut}, {body + cut, 0}, {body + cut, size - cut}};
        struct frame_head head = {
            .user = i, .token = ~i, .kind = 7, .user_bytes = {3, 2, 1, 4, 5, 6}};
        MUST(side_push(side, &head, pieces, 3, spin) == 0);
    }
}

/* Holds a few frames back and releases them in any order. */
static void frames_receive(struct fabric_side *side, bool spin)
{
    struct frame held[HOLD_MAX];
    unsigned held_count = 0;
    struct rng rng = rng_make(seed, FRAME_COUNT);
    for (uint64_t i = 0; i < FRAME_COUNT; i++) {
        struct frame frame;
        MUST(side_pull(side, &frame, spin) == 0);
        MUST(frame.head.user == i && frame.head.token == ~i && frame.head.kind == 7);
        MUST(memcmp(frame.head.user_bytes, (uint8_t[]){3, 2, 1, 4, 5, 6}, 6) == 0);
        held[held_count++] = frame;
        while (held_count && (held_count == HOLD_MAX || rng_below(&rng, 3) == 0)) {
            unsigned which = (unsigned)rng_below(&rng, held_count);
            MUST(pattern_is(held[which].body, held[which].size, held[which].head.user));
            side_release(side, &held[which]);
            held[which] = held[--held_count];
        }
    }
}

static int frames_peer(int channel, int argument)
{
    struct fabric_side side;
    peer_begin(&side, channel);
    side_await_inlet(&side);
    side_open_outlet(&side);
    bool spin = argument;
    frames_receive(&side, spin);
    frames_send(&side, spin);
    return peer_end(&side);
}

static void frames_both_ways(bool spin)
{
    struct fabric_side side;
    pid_t peer;
    begin(&side, frames_peer, spin, &peer);
    side_open_outlet(&side);
    frames_send(&side, spin);
    side_await_inlet(&side);
    frames_receive(&side, spin);
    finish(&side, peer);
}

static void frames_arrive_whole_and_in_order_when_both_poll(void **state)
{
    frames_both_ways(true);
}

static void frames_arrive_whole_and_in_order_when_both_sleep(void **state)
{
    frames_both_ways(false);
}

static int credit_peer(int channel, int argument)
{
    struct fabric_side side;
    struct frame frames[64];
    peer_begin(&side, channel);
    side_await_inlet(&side);
    uint32_t count;
    MUST(channel_receive(channel, &count, sizeof count)); /* the sender was refused */
    MUST(count >= 16 && count <= 64);
    for (unsigned i = 0; i < count; i++)
        MUST(side_pull(&side, &frames[i], true) == 0);
    lock_take(&side.lock);
    MUST(side.ops->pipes->pull(side.inlet, frames, 1) == 0);
    lock_drop(&side.lock);
    for (unsigned i = 0; i < count; i++)
        side_release(&side, &frames[i]);
    return peer_end(&side);
}

static void held_frames_make_the_sender_wait(void **state)
{
    struct fabric_side side;
    pid_t peer;
    begin(&side, credit_peer, 0, &peer);
    side_open_outlet(&side);
    struct frame_head head = {0};
    uint8_t body[FRAME_BODY_MAX + 1] = {0};
    struct iovec piece = {body, FRAME_BODY_MAX + 1};
    struct iovec pieces[2] = {{body, FRAME_BODY_MAX}, {body, SIZE_MAX}};
    lock_take(&side.lock);
    assert_int_equal(side.ops->pipes->push(side.outlet, &head, &piece, 1), -EMSGSIZE);
    assert_int_equal(side.ops->pipes->push(side.outlet, &head, pieces, 2), -EMSGSIZE);
    assert_false(side.ops->pipes->room(side.outlet, FRAME_BODY_MAX + 1));
    assert_true(side.ops->pipes->room(side.outlet, FRAME_BODY_MAX));
    while (!side.answered)
        side_pause(&side, false);
    uint32_t count = 0;
    piece.iov_len = 100;
    while (side.ops->pipes->push(side.outlet, &head, &piece, 1) == 0)
        count++;
    assert_int_equal(side.ops->pipes->push(side.outlet, &head, &piece, 1), -EAGAIN);
    assert_false(side.ops->pipes->room(side.outlet, 1));
    lock_drop(&side.lock);
    channel_send(side.channel, &count, sizeof count);
    lock_take(&side.lock);
    while (!side.ops->pipes->room(side.outlet, 1)) /* asleep: the bell must ring */
        assert_true(side_pause(&side, false));
    assert_int_equal(side.ops->pipes->push(side.outlet, &head, &piece, 1), 0);
    lock_drop(&side.lock);
    finish(&side, peer);
}

enum { ACK_COUNT = 1000 };

static int acknowledging_peer(int channel, int argument)
{
    struct fabric_side side;
    peer_begin(&side, channel);
    side_await_inlet(&side);
    uint64_t late[ACK_COUNT];
    unsigned late_count = 0;
    for (unsigned i = 0; i < ACK_COUNT; i++) {
        struct frame frame;
        MUST(side_pull(&side, &frame, false) == 0);
        if (i % 3 == 0)
            late[late_count++] = frame.head.token;
        else
            MUST(side_acknowledge(&side, frame.head.token, -(int64_t)i) == 0);
        side_release(&side, &frame);
    }
    while (late_count--)
        MUST(side_acknowledge(&side, late[late_count], INT64_MAX) == 0);
    return peer_end(&side);
}

static void every_acknowledgement_arrives_once(void **state)
{
    struct fabric_side side;
    pid_t peer;
    begin(&side, acknowledging_peer, 0, &peer);
    side_open_outlet(&side);
    static uint8_t seen[ACK_COUNT];
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < ACK_COUNT; i++) {
        struct frame_head head = {.token = 5000 + i};
        assert_int_equal(side_push(&side, &head, NULL, 0, false), 0);
    }
    for (unsigned i = 0; i < ACK_COUNT; i++) {
        struct acknowledgement ack;
        assert_int_equal(side_collect(&side, &ack, false), 0);
        uint64_t which = ack.token - 5000;
        assert_true(which < ACK_COUNT);
        assert_int_equal(ack.status, which % 3 == 0 ? INT64_MAX : -(int64_t)which);
        assert_int_equal(seen[which]++, 0);
    }
    finish(&side, peer);
}

/* ---- memory ---- */

enum { SHARED_SIZE = 6 * MEBI, GUARD = 4096 };

struct shared {
    struct remote_memory all;
    struct remote_memory readable;
};

/* Shares memory and then does nothing: its keeper has to serve the accesses. */
static int sharing_peer(int channel, int argument)
{
    struct fabric_side side;
    peer_begin(&side, channel);
    uint8_t *memory = memory_make(SHARED_SIZE);
    pattern_fill(memory, SHARED_SIZE, 1);
    struct region *region = side_region(&side, memory, SHARED_SIZE);
    struct shared shared;
    MUST(side_share(&side, region, memory + GUARD, SHARED_SIZE - 2 * GUARD,
                    MEMORY_READ | MEMORY_WRITE, &shared.all) == 0);
    MUST(side_share(&side, region, memory, SHARED_SIZE, MEMORY_READ, &shared.readable) == 0);
    MUST(side_share(&side, region, memory + 1, SHARED_SIZE, MEMORY_READ, &shared.all) == -ERANGE);
    channel_send(channel, &shared, sizeof shared);
    size_t written[2]; /* offset and size */
    while (channel_receive(channel, written, sizeof written)) {
        lock_take(&side.lock); /* our keeper wrote it */
        bool there = pattern_is(memory + GUARD + written[0], written[1], 2);
        lock_drop(&side.lock);
        channel_send(channel, &there, sizeof there);
    }
    MUST(pattern_is(memory, GUARD, 1));
    MUST(pattern_is(memory + SHARED_SIZE - GUARD, 0, 1));
    side_region_close(&side, region);
    side_close(&side);
    return 0;
}

static void reads_and_writes_move_every_byte(void **state)
{
    static const size_t sizes[] = {0, 1, 63, 4096, 100001, MEBI, MEBI + 1, 5 * MEBI + 12345};
    struct fabric_side side;
    pid_t peer;
    begin(&side, sharing_peer, 0, &peer);
    struct shared shared;
    assert_true(channel_receive(side.channel, &shared, sizeof shared));
    uint8_t *memory = memory_make(SHARED_SIZE), *expected = memory_make(SHARED_SIZE);
    pattern_fill(expected, SHARED_SIZE, 1);
    struct region *region = side_region(&side, memory, SHARED_SIZE);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t offset = i * 1001;
        memset(memory, 0xEE, SHARED_SIZE);
        int status =
            side_move(&side, false, &shared.readable, offset, memory + 17, sizes[i], region, i & 1);
        assert_int_equal(status, 0);
        assert_memory_equal(memory + 17, expected + offset, sizes[i]);
        assert_int_equal(memory[16], 0xEE);
        assert_int_equal(memory[17 + sizes[i]], 0xEE);
    }
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t where[2] = {i * 77, sizes[i]};
        bool there = false;
        pattern_fill(memory, sizes[i], 2);
        int status = side_move(&side, true, &shared.all, where[0], memory, sizes[i], region, i & 1);
        assert_int_equal(status, 0);
        channel_send(side.channel, where, sizeof where);
        assert_true(channel_receive(side.channel, &there, sizeof there));
        assert_true(there);
    }
    side_region_close(&side, region);
    munmap(memory, SHARED_SIZE);
    munmap(expected, SHARED_SIZE);
    finish(&side, peer);
}

static void access_beyond_the_memory_is_refused(void **state)
{
    struct fabric_side side;
    pid_t peer;
    begin(&side, sharing_peer, 0, &peer);
    struct shared shared;
    assert_true(channel_receive(side.channel, &shared, sizeof shared));
    uint8_t *memory = memory_make(MEBI);
    struct region *region = side_region(&side, memory, MEBI);
    struct remote_memory *all = &shared.all;
    struct move move;
    struct {
        uint64_t offset;
        size_t size;
    } bad[] = {{all->size, 1}, {all->size - 1, 2}, {UINT64_MAX, 2}, {0, SIZE_MAX}, {0, MEBI + 1}};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(
            side_move_start(&side, &move, false, all, bad[i].offset, memory, bad[i].size, region),
            -ERANGE);
        assert_int_equal(
            side_move_start(&side, &move, true, all, bad[i].offset, memory, bad[i].size, region),
            -ERANGE);
    }
    side_region_close(&side, region);
    munmap(memory, MEBI);
    finish(&side, peer);
}

/* A peer that may only read must not write, and an invalid key gives no access. Providers differ in
 * how they report the violation: a refusal, a broken link, or nothing until the link is closed. */
static void keys_give_no_more_rights_than_granted(void **state)
{
    for (unsigned attempt = 0; attempt < 3; attempt++) {
        struct fabric_side side;
        pid_t peer;
        begin(&side, sharing_peer, 0, &peer);
        struct shared shared;
        assert_true(channel_receive(side.channel, &shared, sizeof shared));
        uint8_t *memory = memory_make(MEBI);
        memset(memory, 0xEE, MEBI);
        struct region *region = side_region(&side, memory, MEBI);
        struct remote_memory forged = shared.readable;
        if (attempt > 0)
            forged.key ^= 0x5555;
        struct move move;
        int result = side_move_start(&side, &move, attempt != 2, &forged, 0, memory, GUARD, region);
        assert_true(result == 0 || result == -EACCES);
        nsec since = clock_now();
        lock_take(&side.lock);
        while (!result && !move.done_count && clock_now() - since < NSEC_PER_SEC / 4)
            side_pause(&side, false);
        lock_drop(&side.lock);
        side_unlink(&side);
        assert_int_equal(move.done_count, result ? 0 : 1);
        assert_true(result || move.status == -EACCES || move.status == -EPIPE);
        assert_int_equal(memory[0], 0xEE);
        side_region_close(&side, region);
        munmap(memory, MEBI);
        finish(&side, peer); /* the peer checks its guard pages */
    }
}

/* ---- death ---- */

/* Serves memory and sends frames until it is killed. */
static int doomed_peer(int channel, int argument)
{
    struct fabric_side side;
    peer_begin(&side, channel);
    uint8_t *memory = memory_make(32 * MEBI);
    struct region *region = side_region(&side, memory, 32 * MEBI);
    struct remote_memory remote;
    MUST(side_share(&side, region, memory, 32 * MEBI, MEMORY_READ | MEMORY_WRITE, &remote) == 0);
    channel_send(channel, &remote, sizeof remote);
    side_open_outlet(&side);
    side_await_inlet(&side);
    for (;;) {
        struct frame_head head = {0};
        struct frame frame;
        uint8_t body[1000] = {0};
        struct iovec piece = {body, sizeof body};
        lock_take(&side.lock);
        side.ops->pipes->push(side.outlet, &head, &piece, 1);
        while (side.ops->pipes->pull(side.inlet, &frame, 1) == 1)
            side.ops->pipes->release(side.inlet, &frame);
        side.ops->progress(side.transport);
        lock_drop(&side.lock);
    }
}

enum { MOVES = 6, LIVES = 4 };

/* Transfers of all kinds and frames in both directions are in flight when the peer dies. */
static void die_in_the_middle(struct fabric_side *side, struct region *region, uint8_t *memory,
                              pid_t peer, int channel, unsigned life)
{
    side_link(side, channel, true);
    struct remote_memory remote;
    assert_true(channel_receive(channel, &remote, sizeof remote));
    side_open_outlet(side);
    side_await_inlet(side);
    struct move moves[MOVES];
    for (unsigned i = 0; i < MOVES; i++)
        assert_int_equal(side_move_start(side, &moves[i], i & 1, &remote, 0,
                                         memory + i * 4 * (size_t)MEBI, 4 * (size_t)MEBI, region),
                         0);
    struct timespec nap = {0, 700000L * life};
    struct frame_head head = {0};
    struct frame frame;
    struct iovec piece = {memory, 500};
    for (unsigned i = 0; i < 100 * life; i++) {
        lock_take(&side->lock);
        side->ops->pipes->push(side->outlet, &head, &piece, 1);
        if (side->ops->pipes->pull(side->inlet, &frame, 1) == 1)
            side->ops->pipes->release(side->inlet, &frame);
        lock_drop(&side->lock);
    }
    nanosleep(&nap, NULL);
    kill(peer, SIGKILL);
    int result;
    while ((result = side_push(side, &head, &piece, 1, life & 1)) == 0)
        ;
    assert_int_equal(result, -EPIPE);
    for (unsigned i = 0; i < MOVES; i++) { /* exactly once each, whatever the result */
        int status = side_move_wait(side, &moves[i], false);
        assert_true(status == 0 || status == -EPIPE);
    }
    side_unlink(side);
    assert_int_equal(pair_wait(peer), -SIGKILL);
    for (unsigned i = 0; i < MOVES; i++)
        assert_int_equal(moves[i].done_count, 1);
}

static void transfers_to_a_killed_peer_end_once(void **state)
{
    struct fabric_side side;
    pid_t peers[LIVES];
    int channels[LIVES];
    for (unsigned life = 0; life < LIVES; life++) /* before we have threads */
        peers[life] = pair_start(doomed_peer, 0, &channels[life]);
    side_open(&side);
    uint8_t *memory = memory_make(32 * (size_t)MEBI);
    struct region *region = side_region(&side, memory, 32 * (size_t)MEBI);
    for (unsigned life = 0; life < LIVES; life++)
        die_in_the_middle(&side, region, memory, peers[life], channels[life], life);
    side_region_close(&side, region);
    side_close(&side);
    munmap(memory, 32 * (size_t)MEBI);
}

/* The peer is running, but we close the link. */
static void a_closed_link_ends_its_transfers_once(void **state)
{
    struct fabric_side side;
    pid_t peer;
    begin(&side, sharing_peer, 0, &peer);
    struct shared shared;
    assert_true(channel_receive(side.channel, &shared, sizeof shared));
    uint8_t *memory = memory_make(SHARED_SIZE);
    struct region *region = side_region(&side, memory, SHARED_SIZE);
    int status = side_move(&side, false, &shared.readable, 0, memory, 1, region, false);
    assert_int_equal(status, 0); /* connected now */
    struct move move = {0};
    assert_int_equal(
        side_move_start(&side, &move, false, &shared.readable, 0, memory, SHARED_SIZE, region), 0);
    lock_take(&side.lock);
    if (!move.done_count) {
        side.ops->link_close(side.link);
        side.link = NULL;
        assert_int_equal(move.status, -EPIPE);
    }
    lock_drop(&side.lock);
    nanosleep(&(struct timespec){0, 30 * 1000 * 1000}, NULL); /* what arrives late is harmless */
    lock_take(&side.lock);
    assert_int_equal(move.done_count, 1);
    lifeline_cut(side.line, -EPIPE);
    lock_drop(&side.lock);
    side_region_close(&side, region);
    close(side.channel);
    finish(&side, peer);
    munmap(memory, SHARED_SIZE);
}

static int idle_peer(int channel, int argument)
{
    struct fabric_side side;
    char byte = 0;
    side_open(&side);
    channel_send(channel, &byte, 1);
    (void)channel_receive(channel, &byte, 1);
    return 1;
}

static void the_next_open_removes_files_of_killed_processes(void **state)
{
    int channel;
    char byte;
    pid_t peer = pair_start(idle_peer, 0, &channel);
    assert_true(channel_receive(channel, &byte, 1));
    unsigned files = process_fabric_files(peer);
    assert_int_equal(files, strcmp(pair_provider(), "shm") ? 0 : 1);
    kill(peer, SIGKILL);
    assert_int_equal(pair_wait(peer), -SIGKILL);
    close(channel);
    struct fabric_side side;
    side_open(&side);
    assert_int_equal(process_fabric_files(peer), 0);
    side_close(&side);
    assert_int_equal(process_fabric_files(getpid()), 0);
}

static int folder_setup(void **state)
{
    pair_folder_make();
    return 0;
}

static int folder_teardown(void **state)
{
    pair_folder_remove();
    return 0;
}

/* clang-format off */
#define TESTS_OF_ALL                                                                               \
    TEST(frames_arrive_whole_and_in_order_when_both_poll),                                         \
    TEST(frames_arrive_whole_and_in_order_when_both_sleep),                                        \
    TEST(held_frames_make_the_sender_wait),                                                        \
    TEST(every_acknowledgement_arrives_once),                                                      \
    TEST(reads_and_writes_move_every_byte),                                                        \
    TEST(access_beyond_the_memory_is_refused),                                                     \
    TEST(a_closed_link_ends_its_transfers_once),                                                   \
    TEST(keys_give_no_more_rights_than_granted),                                                   \
    TEST(the_next_open_removes_files_of_killed_processes)
/* clang-format on */

static pair_role *const roles[] = {
    frames_peer, credit_peer, acknowledging_peer, sharing_peer, doomed_peer, idle_peer, NULL};

int main(int count, char **words)
{
    const char *chosen = getenv("WEFT_TEST_SEED");
    char text[24];
    seed = chosen ? strtoull(chosen, NULL, 0) : entropy_u64();
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    setenv("WEFT_TEST_SEED", text, 1); /* for the other sides, too */
    pair_init(count, words, roles);
    printf("# provider %s, seed %llu\n", pair_provider(), (unsigned long long)seed);
    const struct CMUnitTest tests[] = {
        TESTS_OF_ALL,
        TEST(transfers_to_a_killed_peer_end_once),
    };
    /* libfabric's shm provider takes spin locks in shared memory: a process that is killed while it
     * holds one blocks its peers for ever, and no layer above can help. */
    const struct CMUnitTest shm_tests[] = {TESTS_OF_ALL};
    return strcmp(pair_provider(), "shm")
               ? cmocka_run_group_tests(tests, folder_setup, folder_teardown)
               : cmocka_run_group_tests(shm_tests, folder_setup, folder_teardown);
}
