#include "os/host/packets.h"

#include <string.h>

#include "base/list.h"
#include "base/test.h"

struct frame_loan {
    struct loan loan;
    unsigned releases;
    uint8_t bytes[400];
};

static void on_released(struct loan *loan)
{
    container_of(loan, struct frame_loan, loan)->releases++;
}

static void frame_start(struct frame_loan *frame, uint8_t fill)
{
    *frame = (struct frame_loan){.loan.released = on_released};
    memset(frame->bytes, fill, sizeof frame->bytes);
    loan_start(&frame->loan);
}

static struct packets *open_some(uint32_t count)
{
    struct packets *packets;
    struct why why;
    assert_int_equal(packets_open(&packets, count, &why), OK);
    return packets;
}

static void all_packets_can_be_taken_and_no_more(void **state)
{
    struct packets *packets = open_some(5);
    struct packet *taken[5];
    for (unsigned i = 0; i < 5; i++) {
        taken[i] = packet_take(packets_pool(packets), PACKET_SIZE_MAX - i);
        assert_non_null(taken[i]);
        memset(taken[i]->bytes, (int)i, taken[i]->stored);
        assert_int_equal(taken[i]->port_in, PORT_NONE);
    }
    assert_null(packet_take(packets_pool(packets), 100));
    assert_int_equal(packets_free(packets), 0);
    for (unsigned i = 0; i < 5; i++) {
        for (uint32_t k = 0; k < taken[i]->stored; k++)
            assert_int_equal(taken[i]->bytes[k], i); /* no two buffers overlap */
        packet_done(taken[i]);
    }
    assert_int_equal(packets_free(packets), 5);
    packets_close(packets);
}

static void the_last_released_packet_releases_the_frame(void **state)
{
    struct packets *packets = open_some(8);
    struct frame_loan frame;
    struct packet *lent[3];
    frame_start(&frame, 1);
    for (unsigned i = 0; i < 3; i++) {
        lent[i] = packets_lend(packets, &frame.loan, frame.bytes + 100 * i, 100);
        assert_ptr_equal(lent[i]->bytes, frame.bytes + 100 * i);
    }
    packet_done(lent[1]);
    packet_done(lent[0]);
    packet_done(lent[2]);
    assert_int_equal(frame.releases, 0); /* more packets may be made from the frame */
    loan_close(&frame.loan);
    assert_int_equal(frame.releases, 1);
    frame_start(&frame, 1);
    lent[0] = packets_lend(packets, &frame.loan, frame.bytes, 100);
    loan_close(&frame.loan);
    assert_int_equal(frame.releases, 0);
    packet_done(lent[0]);
    assert_int_equal(frame.releases, 1);
    packets_close(packets);
}

static void held_packets_are_copied_once(void **state)
{
    struct packets *packets = open_some(8);
    struct frame_loan frame;
    frame_start(&frame, 3);
    struct packet *done = packets_lend(packets, &frame.loan, frame.bytes, 100);
    struct packet *held = packets_lend(packets, &frame.loan, frame.bytes + 100, 200);
    packet_done(done);
    struct packet *again = packets_lend(packets, &frame.loan, frame.bytes + 300, 50);
    assert_ptr_equal(again, done); /* released last, so taken first; `held` has it twice */
    loan_settle(&frame.loan);
    assert_int_equal(frame.releases, 0);
    loan_close(&frame.loan);
    assert_int_equal(frame.releases, 1);
    memset(frame.bytes, 9, sizeof frame.bytes); /* the ring reuses the memory */
    for (unsigned i = 0; i < 200; i++)
        assert_int_equal(held->bytes[i], 3);
    for (unsigned i = 0; i < 50; i++)
        assert_int_equal(again->bytes[i], 3);
    loan_settle(&frame.loan); /* no packet is on loan any more */
    packet_done(held);
    packet_done(again);
    assert_int_equal(frame.releases, 1);
    packets_close(packets);
}

TEST_MAIN(TEST(all_packets_can_be_taken_and_no_more),
          TEST(the_last_released_packet_releases_the_frame), TEST(held_packets_are_copied_once))
