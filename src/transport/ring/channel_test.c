/* channel: tests two ends in one process, and a program that writes invalid data. */
#include "transport/ring/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/test.h"
#include "transport/memfile.h"
#include "transport/scratch.h"

struct pair {
    int sockets[2];
    struct channel *program, *node;
};

static uint8_t bytes[CHANNEL_MESSAGE_MAX];

static void pair_open(struct pair *pair)
{
    uint8_t ask_bytes[64];
    struct attach_ask ask;
    int file;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair->sockets), 0);
    assert_int_equal(channel_open(&pair->program, pair->sockets[0]), 0);
    assert_int_equal(channel_offer(pair->program), 0);
    ssize_t size = channel_recv(pair->sockets[1], ask_bytes, sizeof ask_bytes, &file);
    assert_int_equal(size, ATTACH_ASK_SIZE);
    assert_true(file >= 0);
    assert_int_equal(attach_ask_read(&ask, ask_bytes, (size_t)size), 0);
    assert_int_equal(channel_map(&pair->node, file, &ask, pair->sockets[1]), 0);
    channel_agree(pair->program);
}

static void pair_close(struct pair *pair)
{
    channel_close(pair->program);
    channel_close(pair->node);
    close(pair->sockets[0]);
    close(pair->sockets[1]);
}

static int say(struct channel *channel, uint16_t kind, uint32_t size)
{
    static uint8_t said[CHANNEL_MESSAGE_MAX + 1];
    const struct iovec piece = {said, size};
    memset(said, kind, size);
    return channel_say(channel,
                       &(struct attach_head){kind, (uint16_t)(kind + 1), (uint64_t)kind << 40},
                       &piece, 1);
}

static void messages_arrive_in_order_in_both_directions(void **state)
{
    struct pair pair;
    struct channel_message message;
    const uint32_t sizes[] = {0, 1, 96, 97, 4000, CHANNEL_MESSAGE_MAX};
    pair_open(&pair);
    for (uint16_t i = 0; i < 3000; i++) {
        struct channel *from = i & 1 ? pair.node : pair.program;
        struct channel *to = i & 1 ? pair.program : pair.node;
        uint32_t size = sizes[i % 6];
        assert_int_equal(say(from, i, size), 0);
        assert_true(channel_waiting(to));
        assert_int_equal(channel_take(to, &message, bytes), 1);
        assert_int_equal(message.head.service, i);
        assert_int_equal(message.head.status, (uint16_t)(i + 1));
        assert_true(message.head.ticket == (uint64_t)i << 40);
        assert_int_equal(message.size, size);
        for (uint32_t at = 0; at < size; at++)
            assert_int_equal(bytes[at], i & 0xff);
        assert_false(channel_waiting(to));
        assert_int_equal(channel_take(to, &message, bytes), 0);
    }
    assert_int_equal(say(pair.program, 1, CHANNEL_MESSAGE_MAX + 1), -EMSGSIZE);
    pair_close(&pair);
}

/* A full channel refuses messages; what it accepted can be taken, and then it accepts again. */
static void a_full_channel_refuses(void **state)
{
    struct pair pair;
    struct channel_message message;
    unsigned said = 0, taken = 0;
    pair_open(&pair);
    while (!say(pair.program, 5, 3000))
        said++;
    assert_true(said > 100);
    assert_int_equal(say(pair.program, 5, 3000), -EAGAIN);
    while (channel_take(pair.node, &message, bytes) == 1)
        taken++;
    assert_int_equal(taken, said);
    assert_int_equal(say(pair.program, 5, 3000), 0);
    pair_close(&pair);
}

static bool is_rung(int socket)
{
    uint8_t byte[2];
    ssize_t size = recv(socket, byte, sizeof byte, MSG_DONTWAIT);
    assert_true(size == 1 || (size < 0 && errno == EAGAIN));
    return size == 1;
}

/* One packet for a peer that sleeps, none for a peer that does not. */
static void only_sleepers_are_rung(void **state)
{
    struct pair pair;
    pair_open(&pair);
    assert_int_equal(say(pair.program, 1, 10), 0);
    assert_false(is_rung(pair.sockets[1]));
    channel_arm(pair.node);
    channel_fence(pair.node);
    assert_int_equal(say(pair.program, 1, 10), 0);
    assert_int_equal(say(pair.program, 1, 10), 0);
    assert_true(is_rung(pair.sockets[1]));
    assert_false(is_rung(pair.sockets[1]));
    channel_arm(pair.node);
    channel_disarm(pair.node);
    assert_int_equal(say(pair.program, 1, 10), 0);
    assert_false(is_rung(pair.sockets[1]));
    channel_arm(pair.program);
    channel_fence(pair.program);
    assert_int_equal(say(pair.node, 1, 10), 0);
    assert_true(is_rung(pair.sockets[0]));
    pair_close(&pair);
}

/* A sender that waits for room is rung when there is some, and only then. */
static void a_sender_that_waits_for_room_is_rung(void **state)
{
    struct pair pair;
    struct channel_message message;
    pair_open(&pair);
    for (unsigned side = 0; side < 2; side++) {
        struct channel *from = side ? pair.node : pair.program;
        struct channel *to = side ? pair.program : pair.node;
        int socket = pair.sockets[side];
        for (unsigned wanted = 0; wanted < 2; wanted++) {
            bool rung = false;
            while (!say(from, 5, CHANNEL_MESSAGE_MAX))
                ;
            assert_false(channel_has_room(from));
            channel_want_room(from, wanted);
            channel_arm(from);
            channel_fence(from);
            while (channel_take(to, &message, bytes) == 1) {
                rung |= is_rung(socket);
                if (rung)
                    assert_true(channel_has_room(from));
            }
            assert_true(channel_has_room(from));
            assert_int_equal(rung || is_rung(socket), wanted);
            channel_want_room(from, false);
            channel_disarm(from);
        }
    }
    pair_close(&pair);
}

static int refusal(int file, uint32_t slots, uint32_t size)
{
    struct channel *channel;
    return channel_map(&channel, file, &(struct attach_ask){slots, size}, -1);
}

static void bad_memory_is_refused(void **state)
{
    struct memfile file;
    unsigned open_before = scratch_descriptors();
    assert_int_equal(refusal(-1, 512, 1 << 19), -EPROTO);
    assert_int_equal(memfile_open(&file, "weft-test", 4096), 0);
    assert_int_equal(refusal(memfile_share(&file, 1), 512, 1 << 19), -EPROTO); /* too small */
    assert_int_equal(refusal(memfile_share(&file, 1), 500, 1 << 19), -EINVAL);
    assert_int_equal(refusal(memfile_share(&file, 1), 65536, 1 << 19), -EINVAL);
    assert_int_equal(refusal(memfile_share(&file, 1), 512, 1 << 26), -EINVAL);
    assert_int_equal(refusal(memfile_share(&file, 1), 0, 0), -EINVAL);
    assert_int_equal(refusal(memfile_share(&file, 1), 1024, 1 << 20), -EPROTO); /* the largest */
    memfile_close(&file);
    assert_int_equal(refusal(open("/dev/null", O_RDWR | O_CLOEXEC), 512, 1 << 19), -EPROTO);
    assert_int_equal(scratch_descriptors(), open_before);
}

/* Whatever is in the memory, the node's end stays within it, and reports invalid data. */
static void invalid_data_breaks_only_the_channel(void **state)
{
    struct rng rng = rng_make(16, 0);
    const struct attach_ask ask = {8, 32 << 10};
    enum { SIZE = 256 + 2 * (128 + 16 * 32 + 8 * 128 + (32 << 10)) };
    unsigned broken = 0;
    print_message("# seed 16\n");
    for (unsigned round = 0; round < 200; round++) {
        struct channel *channel;
        struct channel_message message;
        struct memfile file;
        int result = 0;
        assert_int_equal(memfile_open(&file, "weft-test", SIZE), 0);
        assert_int_equal(channel_map(&channel, memfile_share(&file, 1), &ask, -1), 0);
        for (unsigned step = 0; step < 200 && result >= 0; step++) {
            /* Writes stamps of the ring to the node, and any other byte. */
            size_t slot = 256 + 128 + 16 * 32 + 128 * rng_below(&rng, 8);
            uint64_t stamp = rng_below(&rng, 20000) << 32 | (rng_below(&rng, 16) + 1);
            memcpy((uint8_t *)file.base + slot, &stamp, sizeof stamp);
            ((uint8_t *)file.base)[rng_below(&rng, SIZE)] = (uint8_t)rng_next(&rng);
            result = channel_take(channel, &message, bytes);
            assert_true(result != 1 || message.size <= CHANNEL_MESSAGE_MAX);
            int said = say(channel, 1, (uint32_t)rng_below(&rng, 3000));
            assert_true(said == 0 || said == -EAGAIN || said == -EPROTO);
        }
        assert_true(result == 0 || result == 1 || result == -EPROTO);
        broken += result < 0;
        if (result < 0)
            assert_int_equal(channel_take(channel, &message, bytes), -EPROTO);
        channel_close(channel);
        memfile_close(&file);
    }
    assert_true(broken > 100);
}

TEST_MAIN(TEST(messages_arrive_in_order_in_both_directions), TEST(a_full_channel_refuses),
          TEST(only_sleepers_are_rung), TEST(a_sender_that_waits_for_room_is_rung),
          TEST(bad_memory_is_refused), TEST(invalid_data_breaks_only_the_channel))
