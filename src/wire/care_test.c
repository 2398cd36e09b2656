/* Writes random requests, reports and ends, reads them again, cuts them off at each byte, and
 * changes one field at a time to nonsense. */
#include "wire/care.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static uint8_t bytes[CARE_ANSWER_MAX];

/* Bytes of the exact size, so that a sanitizer notices what is read behind them. */
static enum care_answer read_exactly(struct care_report *report, struct care_end *end, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    enum care_answer answer = care_answer_read(report, end, copy, size);
    free(copy);
    return answer;
}

static struct care_report make_report(struct rng *rng)
{
    struct care_report report = {
        .server = (uint32_t)rng_below(rng, CARE_SERVERS_MAX),
        .epoch = (uint32_t)rng_next(rng),
        .state = (enum care_state)rng_below(rng, CARE_STATES),
        .error = -(int32_t)rng_below(rng, 200),
        .trouble_count = (uint32_t)rng_below(rng, CARE_TROUBLES_MAX + 1),
    };
    for (unsigned i = 0; i < CARE_COUNTS; i++)
        report.counts[i] = rng_next(rng);
    for (uint32_t i = 0; i < report.trouble_count; i++) {
        uint32_t server = (uint32_t)rng_below(rng, CARE_SERVERS_MAX);
        report.troubles[i] =
            (struct care_trouble){(uint32_t)rng_next(rng), (enum care_reason)rng_below(rng, 3),
                                  rng_below(rng, 2) ? server : CARE_NONE};
    }
    return report;
}

static void a_report_is_read_as_it_was_written(void **unused)
{
    struct rng rng = rng_make(1, 0);
    for (int i = 0; i < 2000; i++) {
        struct care_report made = make_report(&rng), read;
        struct care_end end;
        memset(&read, 0, sizeof read);
        size_t size = care_report_write(&made, bytes);
        assert_int_equal(read_exactly(&read, &end, size), CARE_REPORT);
        assert_int_equal(read.server, made.server);
        assert_int_equal(read.epoch, made.epoch);
        assert_int_equal(read.state, made.state);
        assert_int_equal(read.error, made.error);
        assert_memory_equal(read.counts, made.counts, sizeof made.counts);
        assert_int_equal(read.trouble_count, made.trouble_count);
        for (uint32_t j = 0; j < made.trouble_count; j++) {
            assert_int_equal(read.troubles[j].group, made.troubles[j].group);
            assert_int_equal(read.troubles[j].reason, made.troubles[j].reason);
            assert_int_equal(read.troubles[j].server, made.troubles[j].server);
        }
        assert_int_equal(read_exactly(&read, &end, (size_t)rng_below(&rng, size)), CARE_NONSENSE);
        assert_int_equal(read_exactly(&read, &end, size + 1), CARE_NONSENSE);
    }
}

static void an_end_is_read_as_it_was_written(void **unused)
{
    struct rng rng = rng_make(2, 0);
    for (int i = 0; i < 500; i++) {
        struct care_end made = {.error = -(int32_t)rng_below(&rng, 200),
                                .epoch = (uint32_t)rng_next(&rng),
                                .group_count = (uint32_t)rng_next(&rng),
                                .copies = (uint32_t)rng_next(&rng),
                                .least = (uint32_t)rng_next(&rng),
                                .decides = rng_below(&rng, 2)};
        struct care_end read;
        struct care_report report;
        made.server_count =
            rng_below(&rng, 8) ? 1 + (uint32_t)rng_below(&rng, 64) : CARE_SERVERS_MAX;
        for (uint32_t j = 0; j < made.server_count; j++) {
            if (rng_below(&rng, 2))
                care_add(made.members, j);
            if (rng_below(&rng, 2))
                care_add(made.reported, j);
            if (rng_below(&rng, 2))
                care_add(made.released, j);
        }
        size_t size = care_end_write(&made, bytes);
        assert_int_equal(read_exactly(&report, &read, size), CARE_END);
        assert_int_equal(read.error, made.error);
        assert_int_equal(read.epoch, made.epoch);
        assert_int_equal(read.server_count, made.server_count);
        assert_int_equal(read.group_count, made.group_count);
        assert_int_equal(read.copies, made.copies);
        assert_int_equal(read.least, made.least);
        assert_int_equal(read.decides, made.decides);
        assert_memory_equal(read.members, made.members, sizeof made.members);
        assert_memory_equal(read.reported, made.reported, sizeof made.reported);
        assert_memory_equal(read.released, made.released, sizeof made.released);
        assert_int_equal(read_exactly(&report, &read, (size_t)rng_below(&rng, size)),
                         CARE_NONSENSE);
        assert_int_equal(read_exactly(&report, &read, size + 1), CARE_NONSENSE);
    }
}

static void a_request_is_read_as_it_was_written(void **unused)
{
    const struct care_request made = {.kind = CARE_VERIFY,
                                      .patience = 5000000000,
                                      .number = 0x123456789abcdef0,
                                      .server = CARE_NONE};
    struct care_request read;
    size_t size = care_request_write(&made, bytes);
    assert_true(care_request_read(&read, bytes, size));
    assert_int_equal(read.kind, made.kind);
    assert_true(read.patience == made.patience && read.number == made.number);
    for (size_t i = 0; i < size; i++)
        assert_false(care_request_read(&read, bytes, i));
    assert_false(care_request_read(&read, bytes, size + 1));
    bytes[0] = 0;
    assert_false(care_request_read(&read, bytes, size));
    bytes[0] = CARE_ORDER; /* is about a server */
    assert_false(care_request_read(&read, bytes, size));
    bytes[0] = CARE_STATUS; /* is no order, so it has no number */
    assert_false(care_request_read(&read, bytes, size));
    bytes[0] = CARE_VERIFY;
    memset(bytes + 1, 0, 8);
    assert_false(care_request_read(&read, bytes, size));
    bytes[1] = 0x80; /* a patience below 0 */
    assert_false(care_request_read(&read, bytes, size));
}

static void an_order_names_a_server(void **unused)
{
    struct care_request made = {.kind = CARE_ORDER, .patience = 1, .server = 17, .duty = CARE_LOST};
    struct care_request read;
    size_t size = care_request_write(&made, bytes);
    assert_true(care_request_read(&read, bytes, size));
    assert_int_equal(read.server, 17);
    assert_int_equal(read.duty, CARE_LOST);
    bytes[size - 1] = CARE_DUTIES;
    assert_false(care_request_read(&read, bytes, size));
    made.server = CARE_SERVERS_MAX;
    size = care_request_write(&made, bytes);
    assert_false(care_request_read(&read, bytes, size));
}

/* What would be an index beyond an array, or a value that no server sends. */
static void nonsense_is_refused(void **unused)
{
    enum { AT_SERVER = 1, AT_STATE = 9, AT_ERROR = 10, AT_COUNT = 14 + 8 * CARE_COUNTS };
    struct rng rng = rng_make(3, 0);
    struct care_report report = make_report(&rng), read;
    struct care_end end;
    report.trouble_count = 1;
    report.troubles[0] = (struct care_trouble){5, CARE_AWAY, 7};
    const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {
        {0, 0},        {0, 3},        {AT_SERVER + 2, 0x10},         {AT_STATE, CARE_STATES},
        {AT_ERROR, 1}, {AT_COUNT, 9}, {AT_COUNT + 5, CARE_GONE + 1}, {AT_COUNT + 8, 0x10},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        size_t size = care_report_write(&report, bytes);
        if (wrong[i].at == AT_ERROR)
            memset(bytes + AT_ERROR, 1, 4);
        bytes[wrong[i].at] = wrong[i].value;
        assert_int_equal(read_exactly(&read, &end, size), CARE_NONSENSE);
    }
    const struct care_end none = {.server_count = 0};
    size_t size = care_end_write(&none, bytes);
    assert_int_equal(read_exactly(&read, &end, size), CARE_END);
    bytes[size - 1] = 2; /* neither true nor false */
    assert_int_equal(read_exactly(&read, &end, size), CARE_NONSENSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_report_is_read_as_it_was_written),
        TEST(an_end_is_read_as_it_was_written),
        TEST(a_request_is_read_as_it_was_written),
        TEST(an_order_names_a_server),
        TEST(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
