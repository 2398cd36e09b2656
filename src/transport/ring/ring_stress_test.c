/* Tests the ring with two threads, and with a thread that overwrites it with random data. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/ring/ring.h"
#include "transport/wake/thread.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define MESSAGES 300000u
#else
#define MESSAGES 12000000u
#endif
#define PATIENCE  (60 * NSEC_PER_SEC) /* a thread that makes no progress for so long fails */
#define HELD_MAX  24                  /* frames that the receiver keeps, to release out of order */
#define TOKEN_PER 64                  /* every so many frames one requests an acknowledgement */

/* ---- two threads ---- */

struct stream {
    void *segment;
    struct ring_shape shape;
    struct ring_sender sender;
    struct ring_receiver receiver;
    const char *wrong; /* set by the receiver; read after it ended */
    uint64_t wrong_at;
};

static uint64_t word(uint64_t sequence, unsigned index)
{
    return sequence * 0x9e3779b97f4a7c15u + index;
}

/* Usually a size that fills both lines of a slot, else various sizes. */
static unsigned words_of(uint64_t sequence)
{
    static const unsigned words[8] = {1, 4, 5, 11, 12, 13, 100, 250};
    return sequence % 32 ? 8 : words[sequence / 32 % 8];
}

static void stream_open(struct stream *stream, uint32_t slots)
{
    *stream = (struct stream){.shape = ring_shape_make(slots, 0)};
    size_t size = (ring_size(&stream->shape) + 127) & ~(size_t)127;
    stream->segment = aligned_alloc(128, size);
    assert_non_null(stream->segment);
    memset(stream->segment, 0, size);
    assert_int_equal(ring_sender_init(&stream->sender, stream->segment, &stream->shape), 0);
    assert_int_equal(ring_receiver_init(&stream->receiver, stream->segment, &stream->shape), 0);
}

static void stream_close(struct stream *stream)
{
    ring_sender_fini(&stream->sender);
    ring_receiver_fini(&stream->receiver);
    free(stream->segment);
}

struct patience {
    unsigned turns; /* without progress; a thread that makes progress sets it to 0 */
    nsec until;
};

/* Lets other threads run now and then; false after PATIENCE without progress. */
static bool pause_turn(struct patience *patience)
{
    if (++patience->turns % 256)
        return true;
    if (patience->turns == 256)
        patience->until = clock_after(PATIENCE);
    sched_yield();
    return clock_now() < patience->until;
}

static const char *frame_wrong(const struct frame *frame, uint64_t sequence)
{
    unsigned count = words_of(sequence);
    if (frame->head.user != sequence)
        return "order";
    if (frame->size != count * sizeof(uint64_t))
        return "size";
    for (unsigned i = count; i-- > 0;) { /* last word first: it is farthest from the stamp */
        uint64_t value;
        memcpy(&value, frame->body + i * sizeof value, sizeof value);
        if (value != word(sequence, i))
            return "body";
    }
    return NULL;
}

static void *receive_stream(void *argument)
{
    struct stream *stream = argument;
    struct ring_receiver *receiver = &stream->receiver;
    struct frame held[HELD_MAX];
    unsigned held_count = 0;
    struct patience patience = {0};
    uint64_t next = 0;
    while (next < MESSAGES && !stream->wrong) {
        bool credit;
        int count = ring_pull(receiver, held + held_count, HELD_MAX - held_count, &credit);
        if (count > 0)
            patience.turns = 0;
        else if (count < 0 || !pause_turn(&patience))
            stream->wrong = count < 0 ? "pull" : "patience";
        for (int i = 0; i < count && !stream->wrong; i++, next++) {
            const struct frame *frame = &held[held_count++];
            stream->wrong = frame_wrong(frame, next);
            if (frame->head.token && ring_acknowledge(receiver, frame->head.token, (int64_t)next))
                stream->wrong = "acknowledge";
        }
        stream->wrong_at = next;
        /* Releases from the middle outwards, all or all but a few. */
        unsigned keep = next % 3 ? 0 : held_count / 4;
        while (held_count > keep) {
            unsigned pick = held_count / 2;
            ring_release(receiver, &held[pick]);
            held[pick] = held[--held_count];
        }
    }
    return NULL;
}

static void collect(struct stream *stream, uint64_t *acknowledged)
{
    struct acknowledgement acks[16];
    int count = ring_collect(&stream->sender, acks, 16);
    assert_true(count >= 0);
    for (int i = 0; i < count; i++) {
        assert_int_equal(acks[i].token, *acknowledged + 1);
        assert_int_equal(acks[i].status, *acknowledged * TOKEN_PER);
        ++*acknowledged;
    }
}

static void frames_between_two_threads_stay_whole_and_in_order(void **state)
{
    struct stream stream;
    struct thread thread = {0};
    stream_open(&stream, 64);
    assert_int_equal(thread_start(&thread, "receive", receive_stream, &stream), 0);
    uint64_t acknowledged = 0;
    struct patience patience = {0};
    bool patient = true;
    for (uint64_t sequence = 0; sequence < MESSAGES && patient;) {
        uint64_t body[256];
        unsigned count = words_of(sequence);
        for (unsigned i = 0; i < count; i++)
            body[i] = word(sequence, i);
        const struct frame_head head = {
            .user = sequence,
            .token = sequence % TOKEN_PER ? 0 : sequence / TOKEN_PER + 1,
        };
        const struct iovec piece = {.iov_base = body, .iov_len = count * sizeof *body};
        int result = ring_push(&stream.sender, &head, &piece, 1);
        assert_true(result == 0 || result == -EAGAIN);
        sequence += result == 0;
        if (result || sequence % 16 == 0)
            collect(&stream, &acknowledged);
        if (result)
            patient = pause_turn(&patience);
        else
            patience.turns = 0;
    }
    thread_join(&thread);
    if (stream.wrong)
        fail_msg("frame %llu: wrong %s", (unsigned long long)stream.wrong_at, stream.wrong);
    assert_true(patient);
    collect(&stream, &acknowledged);
    while (acknowledged < (MESSAGES + TOKEN_PER - 1) / TOKEN_PER) {
        uint64_t before = acknowledged;
        collect(&stream, &acknowledged);
        assert_true(acknowledged > before); /* all are there: the receiver has ended */
    }
    stream_close(&stream);
}

/* Only the acknowledgement's own stamp orders its contents: no frame is released here, so no head
 * is published. */
static void *acknowledge_all(void *argument)
{
    struct stream *stream = argument;
    struct frame frames[32];
    bool credit;
    struct patience patience = {0};
    for (unsigned taken = 0; taken < 32 && !stream->wrong;) {
        int count = ring_pull(&stream->receiver, frames, 1, &credit);
        if (count < 0 || (!count && !pause_turn(&patience)))
            stream->wrong = "pull";
        if (count == 1 &&
            ring_acknowledge(&stream->receiver, frames[0].head.token, (int64_t)taken++ * TOKEN_PER))
            stream->wrong = "acknowledge";
    }
    return NULL;
}

static void acknowledgements_arrive_whole(void **state)
{
    for (unsigned round = 0; round < 200; round++) {
        struct stream stream;
        struct thread thread = {0};
        uint64_t acknowledged = 0;
        struct patience patience = {0};
        stream_open(&stream, 64);
        assert_int_equal(thread_start(&thread, "answer", acknowledge_all, &stream), 0);
        for (uint64_t token = 1; token <= 32; token++) {
            const struct frame_head head = {.token = token};
            assert_int_equal(ring_push(&stream.sender, &head, NULL, 0), 0);
        }
        while (acknowledged < 32 && pause_turn(&patience))
            collect(&stream, &acknowledged);
        thread_join(&thread);
        assert_null(stream.wrong);
        assert_int_equal(acknowledged, 32);
        stream_close(&stream);
    }
}

/* ---- a peer that writes random data ---- */

#define SCRIBBLES 200000
#define GUARD     4096 /* of known bytes, on both sides of the segment */

struct victim {
    struct rng rng;
    uint8_t *memory; /* guard, segment, guard */
    uint8_t *segment;
    size_t size;
    size_t slots_at; /* offset in the segment */
    struct ring_shape shape;
    struct ring_sender sender;
    struct ring_receiver receiver;
    struct frame held[64];
    unsigned held_count;
    uint64_t sum; /* of everything read, so that the compiler keeps the reads */
    unsigned pulled, pushed, refused;
};

static void victim_reset(struct victim *victim)
{
    ring_sender_fini(&victim->sender);
    ring_receiver_fini(&victim->receiver);
    memset(victim->segment, 0, victim->size);
    assert_int_equal(ring_sender_init(&victim->sender, victim->segment, &victim->shape), 0);
    assert_int_equal(ring_receiver_init(&victim->receiver, victim->segment, &victim->shape), 0);
    victim->held_count = 0;
}

static void victim_open(struct victim *victim, uint64_t seed)
{
    *victim = (struct victim){.rng = rng_make(seed, 0), .shape = ring_shape_make(8, 32 << 10)};
    victim->size = ring_size(&victim->shape);
    victim->memory = aligned_alloc(GUARD, (victim->size + 3 * GUARD - 1) / GUARD * GUARD);
    assert_non_null(victim->memory);
    victim->segment = victim->memory + GUARD;
    memset(victim->memory, 0xa5, GUARD);
    memset(victim->segment + victim->size, 0xa5, GUARD);
    victim_reset(victim);
    victim->slots_at = (size_t)((uint8_t *)victim->receiver.slots - victim->segment);
}

static void victim_close(struct victim *victim)
{
    for (size_t i = 0; i < GUARD; i++) {
        assert_int_equal(victim->memory[i], 0xa5);
        assert_int_equal(victim->segment[victim->size + i], 0xa5);
    }
    ring_sender_fini(&victim->sender);
    ring_receiver_fini(&victim->receiver);
    free(victim->memory);
}

/* Writes random bytes somewhere, or a nearly valid number where the ring expects one. */
static void scribble(struct victim *victim, struct rng *rng)
{
    uint64_t value = rng_next(rng);
    size_t at = rng_below(rng, victim->size - sizeof value);
    switch (rng_below(rng, 4)) {
    case 0: /* a stamp, for a frame of any size */
        at = victim->slots_at + (at & 7) * 128;
        value = (value % 9000) << 32 | (uint32_t)(victim->receiver.next + 1 + (value >> 60) % 2);
        break;
    case 1: /* the head, or an acknowledgement */
        at = (value & 1) ? 0 : at % 1024 & ~(size_t)7;
        value = victim->sender.tail + (value >> 8) % 20 - 10;
        break;
    case 2: /* an offset */
        at = victim->slots_at + (at & 7) * 128 + 32;
        value = rng_below(rng, 2) ? victim->shape.bytes - 8000 + value % 8000 : value;
        break;
    default:
        break;
    }
    memcpy(victim->segment + at, &value, sizeof value);
}

static void victim_pull(struct victim *victim)
{
    bool credit;
    unsigned room = 64 - victim->held_count;
    struct frame *frames = victim->held + victim->held_count;
    int count = ring_pull(&victim->receiver, frames, room, &credit);
    assert_true(count == -EPROTO || (count >= 0 && count <= (int)room));
    for (int i = 0; i < count; i++) {
        assert_true(frames[i].size <= FRAME_BODY_MAX);
        assert_true(frames[i].body >= victim->segment);
        assert_true(frames[i].body + frames[i].size <= victim->segment + victim->size);
        for (uint32_t k = 0; k < frames[i].size; k++)
            victim->sum += frames[i].body[k];
    }
    if (count < 0) {
        victim->refused++;
        victim_reset(victim);
    } else {
        victim->held_count += (unsigned)count;
        victim->pulled += (unsigned)count;
    }
}

static void victim_push(struct victim *victim)
{
    static uint8_t body[FRAME_BODY_MAX + 1];
    const struct frame_head head = {.token = rng_below(&victim->rng, 3)};
    const struct iovec piece = {.iov_base = body, .iov_len = rng_below(&victim->rng, 8902)};
    int result = ring_push(&victim->sender, &head, &piece, 1);
    assert_true(result == 0 || result == -EAGAIN || result == -EPROTO || result == -EMSGSIZE);
    victim->pushed += result == 0;
    if (result == -EPROTO) {
        victim->refused++;
        victim_reset(victim);
    }
}

static void victim_step(struct victim *victim)
{
    struct acknowledgement acks[4];
    switch (rng_below(&victim->rng, 6)) {
    case 0:
        victim_push(victim);
        break;
    case 1:
        victim_pull(victim);
        break;
    case 2:
        if (victim->held_count) {
            unsigned pick = (unsigned)rng_below(&victim->rng, victim->held_count);
            ring_release(&victim->receiver, &victim->held[pick]);
            victim->held[pick] = victim->held[--victim->held_count];
        }
        break;
    case 3: {
        int result = ring_acknowledge(&victim->receiver, rng_next(&victim->rng), 0);
        assert_true(result == 0 || result == -EINVAL);
        break;
    }
    case 4: {
        int count = ring_collect(&victim->sender, acks, 4);
        assert_true(count == -EPROTO || (count >= 0 && count <= 4));
        if (count < 0)
            victim_reset(victim);
        break;
    }
    default:
        ring_room(&victim->sender, rng_below(&victim->rng, 9000));
        break;
    }
}

static uint64_t seed_print(void)
{
    const char *given = getenv("WEFT_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : entropy_u64() >> 32;
    print_message("# WEFT_SEED=%llu\n", (unsigned long long)seed);
    return seed;
}

static void random_data_between_steps_is_survived(void **state)
{
    struct victim victim;
    victim_open(&victim, seed_print());
    for (unsigned i = 0; i < SCRIBBLES; i++) {
        victim_step(&victim);
        if (rng_below(&victim.rng, 4) == 0)
            scribble(&victim, &victim.rng);
    }
    /* Both outcomes must have happened often. */
    assert_true(victim.pulled > 100);
    assert_true(victim.pushed > 100);
    assert_true(victim.refused > 100);
    victim_close(&victim);
}

struct vandal {
    struct victim *victim;
    struct rng rng;
    _Atomic bool over; /* written by the victim, relaxed: it orders nothing */
};

static void *scribble_on(void *argument)
{
    struct vandal *vandal = argument;
    while (!atomic_load_explicit(&vandal->over, memory_order_relaxed))
        scribble(vandal->victim, &vandal->rng);
    return NULL;
}

/* Random data arrives between a check and a use: a value that was checked must not be read
 * again. */
static void concurrent_random_data_is_survived(void **state)
{
#ifdef __SANITIZE_THREAD__
    print_message("# skipped under ThreadSanitizer: this test races on purpose\n");
    return;
#endif
    struct victim victim;
    uint64_t seed = seed_print();
    victim_open(&victim, seed);
    struct vandal vandal = {.victim = &victim, .rng = rng_make(seed, 1)};
    struct thread thread = {0};
    assert_int_equal(thread_start(&thread, "scribble", scribble_on, &vandal), 0);
    for (unsigned i = 0; i < SCRIBBLES; i++)
        victim_step(&victim);
    atomic_store_explicit(&vandal.over, true, memory_order_relaxed);
    thread_join(&thread);
    victim_close(&victim);
}

TEST_MAIN(TEST(frames_between_two_threads_stay_whole_and_in_order),
          TEST(acknowledgements_arrive_whole), TEST(random_data_between_steps_is_survived),
          TEST(concurrent_random_data_is_survived))
