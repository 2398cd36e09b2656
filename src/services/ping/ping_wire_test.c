#include "services/ping/ping_wire.h"

#include <errno.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static const struct ping_request requests[] = {
    {.kind = PING_STOP, .token = UINT32_MAX},
    {.kind = PING_START, .server = 26, .count = 1, .size = PING_SIZE_MIN, .timeout_nsec = 1},
    {.kind = PING_START,
     .token = 7,
     .to_key = true,
     .key = {{1, 2, 3}},
     .count = UINT32_MAX,
     .size = PING_SIZE_MAX,
     .quiet = true,
     .interval_nsec = PING_TIMEOUT_MAX,
     .timeout_nsec = PING_TIMEOUT_MAX},
};

static const struct ping_answer answers[] = {
    {.kind = PING_REPLY,
     .token = 9,
     .sequence = 3,
     .round_nsec = INT64_MAX,
     .server = 12,
     .hops_there = 4,
     .hops_back = 5,
     .touches = 9,
     .path_turn = 1,
     .path_count = 3,
     .path = {8, 12, 7}},
    {.kind = PING_REPLY, .round_nsec = 0},
    {.kind = PING_LOST, .sequence = 8, .error = ETIMEDOUT},
    {.kind = PING_END,
     .sent = 9,
     .received = 5,
     .lost = 3,
     .late = 1,
     .least_nsec = 2,
     .most_nsec = 8,
     .sum_nsec = 20},
    {.kind = PING_REFUSED, .token = 1, .error = EINVAL},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void requests_are_read_as_they_were_written(void **state)
{
    for (size_t i = 0; i < COUNT(requests); i++) {
        uint8_t bytes[PING_REQUEST_MAX + 1] = {0};
        struct ping_request one;
        size_t size = ping_request_write(&requests[i], bytes);
        assert_int_equal(ping_request_read(&one, bytes, size), 0);
        assert_int_equal(one.kind, requests[i].kind);
        assert_int_equal(one.token, requests[i].token);
        assert_int_equal(one.to_key, requests[i].to_key);
        assert_int_equal(one.server, requests[i].server);
        assert_memory_equal(one.key.bytes, requests[i].key.bytes, WEFT_KEY_SIZE);
        assert_int_equal(one.count, requests[i].count);
        assert_int_equal(one.size, requests[i].size);
        assert_int_equal(one.quiet, requests[i].quiet);
        assert_true(one.interval_nsec == requests[i].interval_nsec);
        assert_true(one.timeout_nsec == requests[i].timeout_nsec);
        for (size_t less = 0; less < size; less++)
            assert_int_equal(ping_request_read(&one, bytes, less), -EPROTO);
        assert_int_equal(ping_request_read(&one, bytes, size + 1), -EPROTO);
    }
}

static void impossible_requests_are_refused(void **state)
{
    struct ping_request good = requests[1], bad[8], one;
    for (unsigned i = 0; i < COUNT(bad); i++)
        bad[i] = good;
    bad[0].kind = (enum ping_request_kind)9;
    bad[1].count = 0;
    bad[2].size = PING_SIZE_MIN - 1;
    bad[3].size = PING_SIZE_MAX + 1;
    bad[4].timeout_nsec = 0;
    bad[5].timeout_nsec = PING_TIMEOUT_MAX + 1;
    bad[6].interval_nsec = -1;
    bad[7].interval_nsec = PING_TIMEOUT_MAX + 1;
    uint8_t bytes[PING_REQUEST_MAX];
    for (unsigned i = 0; i < COUNT(bad); i++) {
        size_t size = ping_request_write(&bad[i], bytes);
        assert_int_equal(ping_request_read(&one, bytes, size), -EPROTO);
    }
    size_t size = ping_request_write(&good, bytes);
    bytes[0]++;
    assert_int_equal(ping_request_read(&one, bytes, size), -EPROTO);
    bytes[0]--;
    bytes[6] = 2; /* to_key, which is 0 or 1 */
    assert_int_equal(ping_request_read(&one, bytes, size), -EPROTO);
}

static void answers_are_read_as_they_were_written(void **state)
{
    for (size_t i = 0; i < COUNT(answers); i++) {
        uint8_t bytes[PING_ANSWER_MAX + 1] = {0};
        struct ping_answer one;
        size_t size = ping_answer_write(&answers[i], bytes);
        assert_int_equal(ping_answer_read(&one, bytes, size), 0);
        assert_int_equal(one.kind, answers[i].kind);
        assert_int_equal(one.token, answers[i].token);
        assert_int_equal(one.sequence, answers[i].sequence);
        assert_true(one.round_nsec == answers[i].round_nsec);
        assert_int_equal(one.server, answers[i].server);
        assert_int_equal(one.hops_there, answers[i].hops_there);
        assert_int_equal(one.hops_back, answers[i].hops_back);
        assert_int_equal(one.touches, answers[i].touches);
        assert_int_equal(one.path_turn, answers[i].path_turn);
        assert_int_equal(one.path_count, answers[i].path_count);
        assert_memory_equal(one.path, answers[i].path, sizeof one.path);
        assert_int_equal(one.error, answers[i].error);
        assert_int_equal(one.sent, answers[i].sent);
        assert_int_equal(one.received, answers[i].received);
        assert_int_equal(one.lost, answers[i].lost);
        assert_int_equal(one.late, answers[i].late);
        assert_true(one.least_nsec == answers[i].least_nsec);
        assert_true(one.most_nsec == answers[i].most_nsec);
        assert_true(one.sum_nsec == answers[i].sum_nsec);
        for (size_t less = 0; less < size; less++)
            assert_int_equal(ping_answer_read(&one, bytes, less), -EPROTO);
        assert_int_equal(ping_answer_read(&one, bytes, size + 1), -EPROTO);
    }
}

static void impossible_answers_are_refused(void **state)
{
    struct ping_answer bad[] = {answers[0], answers[2], answers[3], answers[3],
                                answers[4], answers[0], answers[3], answers[3]};
    struct ping_answer one;
    bad[0].path_turn = 4;
    bad[1].error = 0;
    bad[2].lost = 5;
    bad[3].most_nsec = 1;
    bad[4].error = 0;
    bad[5].round_nsec = -1;
    bad[6].least_nsec = -1;
    bad[7].sum_nsec = bad[7].most_nsec - 1;
    uint8_t bytes[PING_ANSWER_MAX + 8] = {0};
    for (unsigned i = 0; i < COUNT(bad); i++) {
        size_t size = ping_answer_write(&bad[i], bytes);
        assert_int_equal(ping_answer_read(&one, bytes, size), -EPROTO);
    }
    size_t size = ping_answer_write(&answers[4], bytes);
    bytes[0]++;
    assert_int_equal(ping_answer_read(&one, bytes, size), -EPROTO);
    bytes[0]--;
    for (unsigned kind = 0; kind < 256; kind++) { /* all kinds, with an empty body */
        bytes[1] = (uint8_t)kind;
        assert_int_equal(ping_answer_read(&one, bytes, 6), -EPROTO);
    }
    /* A path longer than the maximum, with all its servers. */
    uint8_t path[PING_ANSWER_MAX + 8] = {0};
    size = ping_answer_write(&answers[1], path);
    path[size - 1] = PING_PATH_MAX + 1;
    size += 4 * (PING_PATH_MAX + 1);
    assert_true(size <= sizeof path);
    assert_int_equal(ping_answer_read(&one, path, size), -EPROTO);
}

static void malformed_packets_are_refused(void **state)
{
    uint8_t payload[PING_SIZE_OF_PATH(2)] = {0};
    struct ping_packet packet;
    ping_packet_write(payload, sizeof payload, 1);
    assert_true(ping_packet_touch(payload, sizeof payload, 9));
    assert_true(ping_packet_read(&packet, payload, sizeof payload));
    static const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {
        {0, PING_VERSION + 1},
        {1, 0},
        {1, PING_THERE + PING_BACK},
        {3, 2 /* turned after two servers, but only one has signed */},
        {10, 3 /* servers have signed, but there is room for two */},
    };
    for (unsigned i = 0; i < COUNT(wrong); i++) {
        uint8_t good = payload[wrong[i].at];
        payload[wrong[i].at] = wrong[i].value;
        assert_false(ping_packet_read(&packet, payload, sizeof payload));
        payload[wrong[i].at] = good;
    }
    assert_false(ping_packet_read(&packet, payload, PING_SIZE_MIN - 1));
}

/* Servers sign as long as there is room, and are counted even without. */
static void packets_are_touched_in_place(void **state)
{
    for (unsigned room = 0; room <= PING_PATH_MAX + 4; room++) {
        uint32_t size = PING_SIZE_OF_PATH(room) + room % 4;
        unsigned most = room < PING_PATH_MAX ? room : PING_PATH_MAX;
        uint8_t payload[PING_SIZE_OF_PATH(PING_PATH_MAX + 4) + 8] = {0};
        ping_packet_write(payload, size, 77);
        for (weft_server server = 100; server < 105; server++)
            assert_true(ping_packet_touch(payload, size, server));
        assert_true(ping_packet_turn(payload, size, 105, 6));
        assert_false(ping_packet_turn(payload, size, 105, 6)); /* only once */
        for (weft_server server = 106; server < 200; server++)
            assert_true(ping_packet_touch(payload, size, server));
        struct ping_packet packet;
        assert_true(ping_packet_read(&packet, payload, size));
        assert_int_equal(packet.kind, PING_BACK);
        assert_int_equal(packet.sequence, 77);
        assert_int_equal(packet.hops_there, 6);
        assert_int_equal(packet.touches, 100);
        assert_int_equal(packet.path_count, most);
        assert_int_equal(packet.path_turn, most < 5 ? most : 5);
        for (unsigned i = 0; i < packet.path_count; i++)
            assert_int_equal(ping_packet_path(payload, i), 100 + i);
        for (uint32_t i = PING_SIZE_OF_PATH(most); i < sizeof payload; i++)
            assert_int_equal(payload[i], 0); /* nothing is written after the bytes in memory */
    }
}

/* Whatever a payload contains, a touch stays inside it. */
static void malformed_payloads_are_not_changed(void **state)
{
    struct rng rng = rng_make(3, 0);
    unsigned taken = 0;
    for (unsigned i = 0; i < 20000; i++) {
        uint8_t payload[64];
        uint32_t size = (uint32_t)rng_below(&rng, 41);
        for (unsigned at = 0; at < sizeof payload; at++)
            payload[at] = (uint8_t)rng_below(&rng, 4);
        uint8_t before[64];
        memcpy(before, payload, sizeof payload);
        bool good = ping_packet_touch(payload, size, UINT32_MAX);
        taken += good;
        assert_memory_equal(payload + size, before + size, sizeof payload - size);
        if (!good)
            assert_memory_equal(payload, before, sizeof payload);
    }
    assert_true(taken > 100);
}

TEST_MAIN(TEST(requests_are_read_as_they_were_written), TEST(impossible_requests_are_refused),
          TEST(answers_are_read_as_they_were_written), TEST(impossible_answers_are_refused),
          TEST(malformed_packets_are_refused), TEST(packets_are_touched_in_place),
          TEST(malformed_payloads_are_not_changed))
