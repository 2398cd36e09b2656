#include "transport/ring/ring.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/wake/thread.h"

/* Both ends of a ring in one process. */
struct pair {
    struct ring_shape shape;
    void *segment;
    struct ring_sender sender;
    struct ring_receiver receiver;
};

static void pair_open(struct pair *pair, uint32_t slots, uint32_t bytes)
{
    pair->shape = ring_shape_make(slots, bytes);
    size_t size = (ring_size(&pair->shape) + 127) & ~(size_t)127;
    pair->segment = aligned_alloc(128, size);
    assert_non_null(pair->segment);
    memset(pair->segment, 0, size);
    assert_int_equal(ring_sender_init(&pair->sender, pair->segment, &pair->shape), 0);
    assert_int_equal(ring_receiver_init(&pair->receiver, pair->segment, &pair->shape), 0);
}

static void pair_close(struct pair *pair)
{
    ring_sender_fini(&pair->sender);
    ring_receiver_fini(&pair->receiver);
    free(pair->segment);
}

static uint8_t pattern(uint64_t sequence, size_t index)
{
    return (uint8_t)(sequence * 31 + index * 7 + (index >> 8));
}

/* Sends a frame whose body is a function of its sequence, in three pieces. */
static int push(struct pair *pair, uint64_t sequence, size_t size, uint64_t token)
{
    uint8_t body[FRAME_BODY_MAX + 64];
    for (size_t i = 0; i < size && i < sizeof body; i++)
        body[i] = pattern(sequence, i);
    struct frame_head head = {.user = sequence, .token = token, .kind = 7, .user_bytes = {1, 3}};
    const struct iovec pieces[] = {
        {.iov_base = body, .iov_len = size / 3},
        {.iov_base = NULL, .iov_len = 0},
        {.iov_base = body + size / 3, .iov_len = size - size / 3},
    };
    return ring_push(&pair->sender, &head, pieces, 3);
}

static int pull(struct pair *pair, struct frame *frames, unsigned max)
{
    bool credit;
    return ring_pull(&pair->receiver, frames, max, &credit);
}

static void check_frame(const struct frame *frame, uint64_t sequence, size_t size)
{
    assert_int_equal(frame->head.user, sequence);
    assert_int_equal(frame->head.kind, 7);
    assert_int_equal(frame->head.user_bytes[1], 3);
    assert_int_equal(frame->size, size);
    for (size_t i = 0; i < size; i++)
        if (frame->body[i] != pattern(sequence, i))
            fail_msg("frame %lu: byte %zu of %zu differs", (unsigned long)sequence, i, size);
}

static void shapes_are_rounded_and_checked(void **state)
{
    struct ring_shape shape = ring_shape_make(0, 0);
    assert_int_equal(shape.slots, 512);
    assert_int_equal(shape.bytes, 256 << 10);
    shape = ring_shape_make(1, 1);
    assert_int_equal(shape.slots, 8);
    assert_int_equal(shape.bytes, 32 << 10);
    shape = ring_shape_make(UINT32_MAX, UINT32_MAX);
    assert_true(ring_shape_valid(&shape));
    shape = ring_shape_make(513, 300000);
    assert_int_equal(shape.slots, 1024);
    assert_int_equal(shape.bytes, 512 << 10);
    const struct ring_shape wrong[] = {
        {0, 0},          {512, 0},     {0, 32 << 10},       {4, 32 << 10},     {500, 32 << 10},
        {512, 16 << 10}, {512, 33000}, {1 << 17, 32 << 10}, {512, 128u << 20},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(ring_shape_valid(&wrong[i]));
}

static void every_size_arrives_whole(void **state)
{
    struct pair pair;
    pair_open(&pair, 8, 0);
    uint64_t sequence = 0;
    for (size_t size = 0; size <= FRAME_BODY_MAX; size += size < 300 || size > 8890 ? 1 : 97) {
        struct frame frame;
        assert_int_equal(push(&pair, sequence, size, 0), 0);
        assert_int_equal(pull(&pair, &frame, 1), 1);
        check_frame(&frame, sequence, size);
        ring_release(&pair.receiver, &frame);
        sequence++;
    }
    assert_int_equal(push(&pair, sequence, FRAME_BODY_MAX + 1, 0), -EMSGSIZE);
    const struct frame_head head = {0};
    const struct iovec wraps[] = {{.iov_len = 10}, {.iov_len = SIZE_MAX - 5}};
    assert_int_equal(ring_push(&pair.sender, &head, wraps, 2), -EMSGSIZE);
    struct frame frame;
    assert_int_equal(pull(&pair, &frame, 1), 0);
    pair_close(&pair);
}

/* The caller writes the body where the ring will have it; nothing is copied then. */
static void bodies_can_be_written_in_place(void **state)
{
    struct pair pair;
    pair_open(&pair, 8, 0);
    uint64_t sequence = 0;
    for (size_t size = 0; size <= FRAME_BODY_MAX; size += size < 200 ? 1 : 97) {
        struct frame frame;
        uint8_t *body = ring_place(&pair.sender, size);
        assert_int_equal(body != NULL, size > RING_INLINE_MAX);
        if (!body)
            continue;
        for (size_t i = 0; i < size; i++)
            body[i] = pattern(sequence, i);
        struct frame_head head = {.user = sequence, .kind = 7, .user_bytes = {1, 3}};
        const struct iovec piece = {body, size};
        assert_int_equal(ring_push(&pair.sender, &head, &piece, 1), 0);
        assert_int_equal(pull(&pair, &frame, 1), 1);
        assert_ptr_equal(frame.body, body);
        check_frame(&frame, sequence++, size);
        ring_release(&pair.receiver, &frame);
    }
    assert_null(ring_place(&pair.sender, FRAME_BODY_MAX + 1));
    while (!push(&pair, sequence, FRAME_BODY_MAX, 0))
        sequence++;
    assert_null(ring_place(&pair.sender, FRAME_BODY_MAX)); /* no room */
    pair_close(&pair);
}

static void the_area_is_filled_to_its_last_byte(void **state)
{
    enum { SIZE = 8192, COUNT = 4 };
    struct pair pair;
    struct frame frames[COUNT];
    pair_open(&pair, 8, COUNT * SIZE);
    for (unsigned lap = 0; lap < 3; lap++) {
        for (uint64_t i = 0; i < COUNT; i++)
            assert_int_equal(push(&pair, i, SIZE, 0), 0);
        assert_int_equal(push(&pair, COUNT, SIZE, 0), -EAGAIN);
        assert_int_equal(pull(&pair, frames, COUNT), COUNT);
        for (uint64_t i = 0; i < COUNT; i++) {
            check_frame(&frames[i], i, SIZE);
            ring_release(&pair.receiver, &frames[i]);
        }
    }
    pair_close(&pair);
}

static void order_survives_many_laps(void **state)
{
    struct pair pair;
    struct rng rng = rng_make(11, 0);
    pair_open(&pair, 16, 0);
    size_t sizes[16] = {0};
    uint64_t sent = 0;
    uint64_t taken = 0;
    while (taken < 20000) {
        size_t size = rng_below(&rng, 8) ? rng_below(&rng, 200) : rng_below(&rng, 8901);
        if (rng_below(&rng, 2)) {
            int result = push(&pair, sent, size, 0);
            assert_true(result == 0 || result == -EAGAIN);
            if (!result)
                sizes[sent++ % 16] = size;
        } else {
            struct frame frames[5];
            int count = pull(&pair, frames, 1 + (unsigned)rng_below(&rng, 5));
            assert_true(count >= 0);
            for (int i = 0; i < count; i++, taken++) {
                check_frame(&frames[i], taken, sizes[taken % 16]);
                ring_release(&pair.receiver, &frames[i]);
            }
        }
    }
    pair_close(&pair);
}

static void without_credit_no_frame_is_accepted(void **state)
{
    struct pair pair;
    struct frame frames[16];
    pair_open(&pair, 16, 0);
    for (unsigned i = 0; i < 16; i++)
        assert_int_equal(push(&pair, i, 10, 0), 0);
    assert_false(ring_room(&pair.sender, 0));
    assert_int_equal(push(&pair, 16, 10, 0), -EAGAIN);
    assert_int_equal(pull(&pair, frames, 16), 16);
    assert_int_equal(push(&pair, 16, 10, 0), -EAGAIN); /* the receiver holds them */
    bool told = false;
    for (unsigned i = 0; i < 16; i++) {
        check_frame(&frames[i], i, 10);
        told |= ring_release(&pair.receiver, &frames[i]);
    }
    assert_true(told); /* published after an eighth of the ring at the latest */
    assert_true(ring_room(&pair.sender, 0));
    assert_int_equal(push(&pair, 16, 10, 0), 0);
    pair_close(&pair);
}

/* With only a few frames in flight the sender always has room, and need not be woken. A sender that
 * was refused is woken, whatever the order of pulls and releases. */
static void no_bell_rings_if_no_sender_waits_for_credit(void **state)
{
    struct pair pair;
    struct frame frames[64];
    bool credit;
    pair_open(&pair, 64, 64 << 10);
    for (uint64_t i = 0; i < 1000; i++) {
        size_t size = i % 3 ? 10 : 3000;
        assert_int_equal(push(&pair, i, size, 0), 0);
        assert_int_equal(pull(&pair, frames, 64), 1);
        assert_false(ring_release(&pair.receiver, &frames[0]));
        assert_int_equal(ring_pull(&pair.receiver, frames, 64, &credit), 0);
        assert_false(credit);
    }
    struct rng rng = rng_make(11, 0);
    for (unsigned round = 0; round < 1000; round++) {
        bool told = false;
        size_t size = rng_below(&rng, 2) ? 10 : 1 + rng_below(&rng, FRAME_BODY_MAX);
        unsigned count = 0;
        while (!push(&pair, round, size, 0))
            count++;
        while (count) {
            int got = ring_pull(&pair.receiver, frames, 1 + rng_below(&rng, 63), &credit);
            assert_true(got >= 0);
            told |= credit;
            for (int i = 0; i < got; i++)
                told |= ring_release(&pair.receiver, &frames[i]);
            count -= (unsigned)got;
        }
        assert_int_equal(ring_pull(&pair.receiver, frames, 1, &credit), 0);
        assert_true(told | credit);
        assert_true(ring_room(&pair.sender, FRAME_BODY_MAX));
    }
    pair_close(&pair);
}

static void bytes_of_the_area_limit_credit_too(void **state)
{
    struct pair pair;
    struct frame frames[8];
    pair_open(&pair, 64, 32 << 10);
    unsigned fit = 0;
    while (!push(&pair, fit, FRAME_BODY_MAX, 0))
        fit++;
    assert_int_equal(fit, 3); /* of 8,960 bytes each, in 32 KiB */
    assert_false(ring_room(&pair.sender, FRAME_BODY_MAX));
    assert_true(ring_room(&pair.sender, RING_INLINE_MAX));
    assert_int_equal(push(&pair, fit, RING_INLINE_MAX, 0), 0); /* it fits into its slot */
    for (uint64_t next = 0; next < 200; next++) {
        assert_int_equal(pull(&pair, frames, 1), 1);
        check_frame(&frames[0], next, next == fit ? RING_INLINE_MAX : FRAME_BODY_MAX);
        /* The release of such a large frame is published at once: the sender may wait for its
         * bytes. */
        assert_int_equal(ring_release(&pair.receiver, &frames[0]), next != fit);
        if (next != fit)
            assert_int_equal(push(&pair, next + 4, FRAME_BODY_MAX, 0), 0);
        else
            assert_int_equal(push(&pair, next + 4, FRAME_BODY_MAX, 0), -EAGAIN);
        if (next == fit)
            break;
    }
    pair_close(&pair);
}

static void as_many_frames_are_accepted_as_there_is_room_for(void **state)
{
    struct pair pair;
    struct rng rng = rng_make(13, 0);
    struct frame frames[64];
    uint64_t pushed = 0;
    unsigned waiting = 0, promised_many = 0;
    pair_open(&pair, 64, 128 << 10);
    for (unsigned round = 0; round < 5000; round++) {
        size_t size = rng_below(&rng, FRAME_BODY_MAX + 1);
        unsigned room = ring_room(&pair.sender, size);
        bool part = rng_below(&rng, 2);
        promised_many += room > 1 && size > RING_INLINE_MAX;
        for (unsigned i = 0; i < room; i++)
            assert_int_equal(push(&pair, pushed++, part ? rng_below(&rng, size + 1) : size, 0), 0);
        waiting += room;
        unsigned most = (unsigned)rng_below(&rng, waiting + 1);
        int got = pull(&pair, frames, most);
        assert_int_equal(got, most);
        for (unsigned i = 0; i < most; i++)
            ring_release(&pair.receiver, &frames[i]);
        waiting -= most;
    }
    assert_true(promised_many > 100);
    pair_close(&pair);
}

static void release_in_any_order_frees_the_prefix(void **state)
{
    struct pair pair;
    struct rng rng = rng_make(5, 0);
    pair_open(&pair, 16, 0);
    for (uint64_t lap = 0; lap < 500; lap++) {
        struct frame frames[16];
        uint32_t order[16];
        for (uint32_t i = 0; i < 16; i++) {
            assert_int_equal(push(&pair, lap * 16 + i, i * 100, 0), 0);
            order[i] = i;
        }
        assert_int_equal(pull(&pair, frames, 16), 16);
        assert_int_equal(pull(&pair, frames, 1), 0); /* none left: releases are published at once */
        rng_shuffle(&rng, order, 16);
        uint32_t free = 0;
        bool done[17] = {false};
        for (uint32_t i = 0; i < 16; i++) {
            ring_release(&pair.receiver, &frames[order[i]]);
            ring_release(&pair.receiver, &frames[order[i]]); /* a second release is harmless */
            done[order[i]] = true;
            while (done[free])
                free++;
            assert_int_equal(ring_room(&pair.sender, 0) > 0, free > 0);
            assert_int_equal(pair.receiver.published - lap * 16, free);
            assert_int_equal(ring_released(&pair.sender), lap * 16 + free);
        }
    }
    pair_close(&pair);
}

static void acknowledgements_always_have_room(void **state)
{
    struct pair pair;
    pair_open(&pair, 8, 0);
    uint32_t max = ring_token_max(&pair.shape);
    uint64_t sequence = 0;
    for (unsigned round = 0; round < 50; round++) {
        uint32_t sent = 0;
        struct frame frame;
        while (push(&pair, sequence, 4, sequence + 1) == 0) {
            assert_int_equal(pull(&pair, &frame, 1), 1);
            ring_release(&pair.receiver, &frame);
            assert_int_equal(pull(&pair, &frame, 1), 0);
            sequence++;
            sent++;
        }
        assert_int_equal(sent, max); /* slots are free, places for acknowledgements are not */
        assert_false(ring_room(&pair.sender, 0));
        assert_int_equal(push(&pair, 0, 4, 0), 0); /* a frame without a token needs no such place */
        assert_int_equal(pull(&pair, &frame, 1), 1);
        ring_release(&pair.receiver, &frame);
        for (uint32_t i = 0; i < max; i++)
            assert_int_equal(
                ring_acknowledge(&pair.receiver, sequence - i, -(int64_t)(sequence - i)), 0);
        assert_int_equal(ring_acknowledge(&pair.receiver, 1, 0), -EINVAL);
        for (uint32_t i = 0; i < max;) {
            struct acknowledgement acks[5];
            int count = ring_collect(&pair.sender, acks, 5);
            assert_true(count > 0);
            for (int k = 0; k < count; k++, i++) {
                assert_int_equal(acks[k].token, sequence - i);
                assert_int_equal(acks[k].status, -(int64_t)(sequence - i));
            }
        }
        struct acknowledgement none;
        assert_int_equal(ring_collect(&pair.sender, &none, 1), 0);
    }
    pair_close(&pair);
}

/* Once the other end has written invalid data into a ring, nothing is taken from it any more, even
 * if the data is corrected: what came in between cannot be trusted. */
static void a_broken_ring_stays_broken_for_its_sender(void **state)
{
    struct pair pair;
    pair_open(&pair, 8, 0);
    _Atomic uint64_t *head = pair.segment; /* first word: how many frames were released */
    for (uint64_t i = 0; i < 8; i++)
        assert_int_equal(push(&pair, i, 8, 0), 0);
    assert_int_equal(push(&pair, 8, 8, 0), -EAGAIN);
    *head = 9; /* more than was sent */
    assert_int_equal(push(&pair, 8, 8, 0), -EPROTO);
    *head = 8; /* as if all frames had been released */
    assert_int_equal(push(&pair, 8, 8, 0), -EPROTO);
    assert_true(ring_room(&pair.sender, 8)); /* so that the sender pushes, and gets the error */
    pair_close(&pair);
}

static void a_broken_ring_stays_broken_for_its_receiver(void **state)
{
    struct pair pair;
    struct frame frame;
    pair_open(&pair, 8, 0);
    _Atomic uint64_t *stamp = (void *)pair.receiver.slots; /* its high half is the frame's size */
    assert_int_equal(push(&pair, 0, 8, 0), 0);
    uint64_t whole = *stamp;
    *stamp = (whole & UINT32_MAX) | (uint64_t)(FRAME_BODY_MAX + 1) << 32;
    assert_int_equal(pull(&pair, &frame, 1), -EPROTO);
    *stamp = whole;
    assert_int_equal(pull(&pair, &frame, 1), -EPROTO);
    *stamp = 0;
    assert_true(ring_waiting(&pair.receiver)); /* so that the receiver pulls, and gets the error */
    pair_close(&pair);
}

TEST_MAIN(TEST(shapes_are_rounded_and_checked), TEST(every_size_arrives_whole),
          TEST(bodies_can_be_written_in_place), TEST(the_area_is_filled_to_its_last_byte),
          TEST(order_survives_many_laps), TEST(without_credit_no_frame_is_accepted),
          TEST(bytes_of_the_area_limit_credit_too),
          TEST(no_bell_rings_if_no_sender_waits_for_credit),
          TEST(as_many_frames_are_accepted_as_there_is_room_for),
          TEST(release_in_any_order_frees_the_prefix), TEST(acknowledgements_always_have_room),
          TEST(a_broken_ring_stays_broken_for_its_sender),
          TEST(a_broken_ring_stays_broken_for_its_receiver))
