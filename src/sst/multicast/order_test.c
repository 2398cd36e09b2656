#include "sst/multicast/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

#define SLOT_SIZE  20
#define SLOT_COUNT 8
#define RING_COUNT 16
#define SENDERS    3

/* Three senders with their rings, and one receiver. */
struct stage {
    struct order order;
    uint8_t slots[SENDERS][SLOT_COUNT * 32];
    uint64_t filled[SENDERS]; /* slots */
};

static int stage_begin(void **state)
{
    struct stage *stage = calloc(1, sizeof *stage);
    *state = stage;
    if (!stage || order_init(&stage->order, SLOT_SIZE, SLOT_COUNT, RING_COUNT - 1))
        return -1;
    assert_int_equal(stage->order.ring_count, RING_COUNT);
    assert_int_equal(slot_stride(SLOT_SIZE), 32);
    stage->order.base = 100;
    stage->order.sender_count = SENDERS;
    for (uint32_t i = 0; i < SENDERS; i++)
        stage->order.senders[i] =
            (struct order_sender){.slots = stage->slots[i], .row = 10 + i, .member = 20 + i};
    return 0;
}

static int stage_end(void **state)
{
    struct stage *stage = *state;
    order_fini(&stage->order);
    free(stage);
    return 0;
}

static void slot_fill(struct stage *stage, uint32_t sender, const char *text, uint32_t passed)
{
    uint8_t *slot = stage->slots[sender] + stage->filled[sender]++ % SLOT_COUNT * 32;
    struct slot_head head = {text ? (uint32_t)strlen(text) : SLOT_PASSED, text ? 1 : passed};
    memcpy(slot, &head, sizeof head);
    if (text)
        memcpy(slot + sizeof head, text, head.size);
    stage->order.senders[sender].sent += head.rounds;
}

/* Pops the next message below that number; NULL if there is none. */
static const char *next_text(struct stage *stage, uint64_t below)
{
    static char text[SLOT_SIZE + 1];
    const struct sst_multicast_message *message;
    if (order_ready(&stage->order, below, 1, &message) == 0)
        return NULL;
    memcpy(text, message->data, message->size);
    text[message->size] = 0;
    order_pop(&stage->order, 1);
    return text;
}

static void senders_take_turns(void **state)
{
    struct stage *stage = *state;
    bool full;
    slot_fill(stage, 2, "c0", 0);
    slot_fill(stage, 0, "a0", 0);
    slot_fill(stage, 0, "a1", 0);
    assert_int_equal(order_receive(&stage->order, &full), 101); /* sender b has not sent anything */
    slot_fill(stage, 1, "b0", 0);
    assert_int_equal(order_receive(&stage->order, &full), 104);
    assert_false(full);
    const struct sst_multicast_message *messages;
    assert_int_equal(order_ready(&stage->order, 103, 10, &messages), 3);
    assert_int_equal(messages[1].sequence, 101);
    assert_int_equal(messages[1].row, 11);
    assert_int_equal(messages[1].member, 21);
    assert_string_equal(next_text(stage, 103), "a0");
    assert_string_equal(next_text(stage, 103), "b0");
    assert_string_equal(next_text(stage, 103), "c0");
    assert_null(next_text(stage, 103));
    assert_string_equal(next_text(stage, 104), "a1");
}

static void passed_turns_block_no_sender(void **state)
{
    struct stage *stage = *state;
    bool full;
    for (int i = 0; i < 5; i++)
        slot_fill(stage, 1, "b", 0);
    /* Sender a must have filled every round that b has filled, c all but the last one. */
    assert_int_equal(order_needed(&stage->order, 0), 5);
    assert_int_equal(order_needed(&stage->order, 1), 0);
    assert_int_equal(order_needed(&stage->order, 2), 4);
    slot_fill(stage, 0, NULL, 5);
    slot_fill(stage, 2, NULL, 4);
    assert_int_equal(order_receive(&stage->order, &full), 100 + 4 * 3 + 2);
    for (uint32_t i = 0; i < SENDERS; i++)
        assert_true(order_needed(&stage->order, i) <= stage->order.senders[i].sent);
    for (int i = 0; i < 5; i++)
        assert_string_equal(next_text(stage, UINT64_MAX), "b");
    assert_null(next_text(stage, UINT64_MAX));
}

static void messages_without_room_are_not_received(void **state)
{
    struct stage *stage = *state;
    bool full;
    for (int i = 0; i < SLOT_COUNT; i++)
        for (uint32_t sender = 0; sender < SENDERS; sender++)
            slot_fill(stage, sender, "x", 0);
    assert_int_equal(order_receive(&stage->order, &full), 100 + RING_COUNT);
    assert_true(full);
    assert_string_equal(next_text(stage, UINT64_MAX), "x");
    assert_int_equal(order_receive(&stage->order, &full), 100 + RING_COUNT + 1);
    const struct sst_multicast_message *messages;
    assert_int_equal(order_ready(&stage->order, UINT64_MAX, 99, &messages), RING_COUNT - 1);
    order_pop(&stage->order, RING_COUNT - 1); /* the next message is at the beginning of the ring */
    assert_int_equal(order_ready(&stage->order, UINT64_MAX, 99, &messages), 1);
    order_pop(&stage->order, 1);
    assert_int_equal(order_receive(&stage->order, &full), 100 + 3 * SLOT_COUNT);
    assert_false(full);
}

static void a_cut_returns_where_to_resume_sending(void **state)
{
    struct stage *stage = *state;
    bool full;
    slot_fill(stage, 0, "a0", 0);
    slot_fill(stage, 1, "b0", 0);
    slot_fill(stage, 2, "c0", 0);
    slot_fill(stage, 0, NULL, 7);
    slot_fill(stage, 1, "b1", 0);
    slot_fill(stage, 1, "b2", 0);
    slot_fill(stage, 2, "c1", 0);
    order_receive(&stage->order, &full);
    assert_string_equal(next_text(stage, 102), "a0");
    assert_string_equal(next_text(stage, 102), "b0");
    struct order cut = stage->order;
    struct order_origin first = order_cut(&cut, 1);
    assert_int_equal(first.slot, 1);
    assert_int_equal(first.round, 1);
    assert_int_equal(cut.tail, cut.head);
    cut = stage->order;
    first = order_cut(&cut, 2);
    assert_int_equal(first.slot, 0);
    assert_int_equal(first.round, 0);
    cut = stage->order;
    first = order_cut(&cut, 0); /* has no message to send again: continues after its passed turns */
    assert_int_equal(first.slot, 2);
    assert_int_equal(first.round, 8);
}

static void a_malformed_slot_is_harmless(void **state)
{
    struct stage *stage = *state;
    struct rng rng = rng_make(7, 0);
    bool full;
    for (unsigned turn = 0; turn < 20000; turn++) {
        uint32_t sender = (uint32_t)rng_below(&rng, SENDERS);
        struct slot_head head = {(uint32_t)rng_next(&rng), (uint32_t)rng_next(&rng)};
        if (rng_below(&rng, 2))
            head = (struct slot_head){SLOT_PASSED, (uint32_t)rng_below(&rng, 3)};
        memcpy(stage->slots[sender] + rng_below(&rng, SLOT_COUNT) * 32, &head, sizeof head);
        stage->order.senders[sender].sent += rng_below(&rng, 4);
        uint64_t received = order_receive(&stage->order, &full);
        const struct sst_multicast_message *messages;
        unsigned count = order_ready(&stage->order, received, 7, &messages);
        for (unsigned i = 0; i < count; i++)
            assert_true(messages[i].size <= SLOT_SIZE && messages[i].sequence < received);
        order_pop(&stage->order, count);
    }
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, stage_begin, stage_end)

TEST_MAIN(STAGED(senders_take_turns), STAGED(passed_turns_block_no_sender),
          STAGED(messages_without_room_are_not_received),
          STAGED(a_cut_returns_where_to_resume_sending), STAGED(a_malformed_slot_is_harmless))
