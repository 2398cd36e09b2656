#include "services/bench/bench_wire.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct bench_request requests[] = {
    {.kind = BENCH_STOP, .token = 4},
    {.kind = BENCH_REPORT, .token = UINT32_MAX},
    {.kind = BENCH_START,
     .mode = BENCH_SATURATE,
     .links = BENCH_PORTS_MAX,
     .size = BENCH_SIZE_MAX,
     .duration_nsec = BENCH_DURATION_MAX},
    {.kind = BENCH_START,
     .mode = BENCH_SERVERS,
     .size = BENCH_SIZE_MIN,
     .rate_milli = 1,
     .duration_nsec = 1},
    {.kind = BENCH_START,
     .mode = BENCH_KEYS,
     .size = 1500,
     .rate_milli = BENCH_RATE_MAX,
     .duration_nsec = 5},
};

static void requests_are_read_as_they_were_written(void **state)
{
    for (size_t i = 0; i < COUNT(requests); i++) {
        uint8_t bytes[BENCH_REQUEST_MAX + 1] = {0};
        struct bench_request one;
        size_t size = bench_request_write(&requests[i], bytes);
        assert_int_equal(bench_request_read(&one, bytes, size), 0);
        assert_int_equal(one.kind, requests[i].kind);
        assert_int_equal(one.token, requests[i].token);
        assert_int_equal(one.mode, requests[i].mode);
        assert_int_equal(one.links, requests[i].links);
        assert_int_equal(one.size, requests[i].size);
        assert_true(one.rate_milli == requests[i].rate_milli);
        assert_true(one.duration_nsec == requests[i].duration_nsec);
        for (size_t less = 0; less < size; less++)
            assert_int_equal(bench_request_read(&one, bytes, less), -EPROTO);
        assert_int_equal(bench_request_read(&one, bytes, size + 1), -EPROTO);
    }
}

static void impossible_requests_are_refused(void **state)
{
    struct bench_request bad[13], one;
    for (unsigned i = 0; i < COUNT(bad); i++)
        bad[i] = requests[i < 6 ? 2 : 3];
    bad[0].kind = (enum bench_request_kind)9;
    bad[1].mode = BENCH_IDLE;
    bad[2].links = 0;
    bad[3].links = BENCH_PORTS_MAX + 1;
    bad[4].rate_milli = 1;
    bad[5].duration_nsec = BENCH_DURATION_MAX + 1;
    bad[6].duration_nsec = 0;
    bad[7].size = BENCH_SIZE_MIN - 1;
    bad[8].size = BENCH_SIZE_MAX + 1;
    bad[9].rate_milli = 0;
    bad[10].rate_milli = BENCH_RATE_MAX + 1;
    bad[11].links = 1;
    bad[12].mode = (enum bench_mode)(BENCH_KEYS + 1);
    uint8_t bytes[BENCH_REQUEST_MAX];
    for (unsigned i = 0; i < COUNT(bad); i++) {
        size_t size = bench_request_write(&bad[i], bytes);
        assert_int_equal(bench_request_read(&one, bytes, size), -EPROTO);
    }
    size_t size = bench_request_write(&requests[0], bytes);
    bytes[0]++;
    assert_int_equal(bench_request_read(&one, bytes, size), -EPROTO);
}

/* Compares two answers by their bytes, which contain all fields. */
static void same_answer(const struct bench_answer *one, const struct bench_answer *other)
{
    uint8_t left[BENCH_ANSWER_MAX], right[BENCH_ANSWER_MAX];
    size_t size = bench_answer_write(one, left);
    assert_int_equal(bench_answer_write(other, right), size);
    assert_memory_equal(left, right, size);
}

static void answers_are_read_as_they_were_written(void **state)
{
    struct bench_answer answer = {
        .token = 5,
        .mode = BENCH_KEYS,
        .now = 1,
        .started = 2,
        .ends = 3,
        .sent = {4, 5},
        .received = {6, 7},
        .received_hops = 8,
        .refused = 9,
        .strange = 10,
        .port_count = BENCH_PORTS_MAX,
    };
    for (unsigned port = 0; port < BENCH_PORTS_MAX; port++)
        answer.ports[port] = (struct bench_port){{port, 1}, {2, port}, WEFT_NOBODY - port};
    uint8_t bytes[BENCH_ANSWER_MAX + 1] = {0};
    struct bench_answer one;
    size_t size = bench_answer_write(&answer, bytes);
    assert_int_equal(bench_answer_read(&one, bytes, size), 0);
    same_answer(&one, &answer);
    assert_int_equal(one.ports[31].out.bytes, 31);
    assert_int_equal(one.ports[31].neighbour, WEFT_NOBODY - 31);
    assert_int_equal(one.strange, 10);
    assert_int_equal(one.mode, BENCH_KEYS);
    for (size_t less = 0; less < size; less++)
        assert_int_equal(bench_answer_read(&one, bytes, less), -EPROTO);
    assert_int_equal(bench_answer_read(&one, bytes, size + 1), -EPROTO);

    struct bench_answer refused = {.token = 6, .error = EBUSY};
    size = bench_answer_write(&refused, bytes);
    assert_int_equal(bench_answer_read(&one, bytes, size), 0);
    same_answer(&one, &refused);
    assert_int_equal(one.error, EBUSY);
}

static void impossible_answers_are_refused(void **state)
{
    static uint8_t bytes[BENCH_ANSWER_MAX];
    struct bench_answer answer = {.mode = BENCH_KEYS}, one;
    size_t size = bench_answer_write(&answer, bytes);
    assert_int_equal(bench_answer_read(&one, bytes, size), 0);
    bytes[0]++;
    assert_int_equal(bench_answer_read(&one, bytes, size), -EPROTO);
    answer.mode = (enum bench_mode)(BENCH_KEYS + 1);
    assert_int_equal(bench_answer_write(&answer, bytes), size);
    assert_int_equal(bench_answer_read(&one, bytes, size), -EPROTO);
    /* More ports than the maximum, with all their numbers. */
    answer.mode = BENCH_KEYS;
    assert_int_equal(bench_answer_write(&answer, bytes), size);
    bytes[size - 1] = BENCH_PORTS_MAX + 1;
    size += (BENCH_PORTS_MAX + 1) * (4 * 8 + 4);
    assert_true(size <= sizeof bytes);
    assert_int_equal(bench_answer_read(&one, bytes, size), -EPROTO);
}

TEST_MAIN(TEST(requests_are_read_as_they_were_written), TEST(impossible_requests_are_refused),
          TEST(answers_are_read_as_they_were_written), TEST(impossible_answers_are_refused))
