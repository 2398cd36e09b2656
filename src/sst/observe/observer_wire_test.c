#include "sst/observe/observer_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "sst/table/columns_test.h"

static void questions_are_read_as_written(void **state)
{
    struct observer_question question = {.hash = 0x1122334455667788}, read;
    uint8_t bytes[OBSERVER_QUESTION_SIZE + 1] = {0};
    observer_question_write(&question, bytes);
    assert_memory_equal(bytes, "\x53\x73\0\x0d\1\x11", 6);
    assert_int_equal(observer_question_read(&read, bytes, OBSERVER_QUESTION_SIZE), 0);
    assert_int_equal(read.hash, question.hash);
    assert_int_equal(observer_question_read(&read, bytes, OBSERVER_QUESTION_SIZE - 1), -EPROTO);
    assert_int_equal(observer_question_read(&read, bytes, OBSERVER_QUESTION_SIZE + 1), -EPROTO);
    for (unsigned i = 0; i < 5; i++) { /* the magic, the kind, the version */
        bytes[i] ^= 1;
        assert_int_equal(observer_question_read(&read, bytes, OBSERVER_QUESTION_SIZE), -EPROTO);
        bytes[i] ^= 1;
    }
}

/* An answer of member 101 in row 3. */
static void answer_make(struct observer_answer *answer, bool with_schema)
{
    *answer = (struct observer_answer){
        .epoch = 9,
        .own = 3,
        .row_count = 5,
        .members = {77, 0, 78, 101, UINT64_MAX},
        .live = {true, false, false, true, true},
        .has_schema = with_schema,
    };
    test_schema(&answer->schema);
    answer->hash = answer->schema.hash;
    answer->grant = (struct ripc_grant){101, 0xabcdef, answer->schema.row_size};
}

static int answer_pass(const struct observer_answer *answer, struct observer_answer *read)
{
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    size_t size = observer_answer_write(answer, bytes);
    return observer_answer_read(read, 101, bytes, size);
}

static void answers_are_read_as_written(void **state)
{
    struct observer_answer answer, read;
    for (unsigned with_schema = 0; with_schema < 2; with_schema++) {
        answer_make(&answer, with_schema);
        assert_int_equal(answer_pass(&answer, &read), 0);
        assert_int_equal(read.status, 0);
        assert_int_equal(read.hash, answer.hash);
        assert_int_equal(read.epoch, 9);
        assert_int_equal(read.own, 3);
        assert_memory_equal(&read.grant, &answer.grant, sizeof read.grant);
        assert_int_equal(read.row_count, 5);
        assert_memory_equal(read.members, answer.members, sizeof read.members);
        assert_memory_equal(read.live, answer.live, sizeof read.live);
        assert_int_equal(read.has_schema, with_schema);
        if (with_schema)
            assert_int_equal(read.schema.row_size, answer.schema.row_size);
    }
    answer_make(&answer, true);
    answer.status = -EBUSY;
    answer.grant = (struct ripc_grant){0};
    assert_int_equal(answer_pass(&answer, &read), 0);
    assert_int_equal(read.status, -EBUSY);
    assert_int_equal(read.grant.owner, 0);
}

static void the_largest_answer_fits_a_message(void **state)
{
    struct sst_column columns[SST_COLUMNS_MAX];
    char names[SST_COLUMNS_MAX][SST_NAME_MAX];
    struct observer_answer answer = {.epoch = UINT64_MAX, .row_count = SST_ROWS_MAX, .own = 100};
    struct observer_answer read;
    for (uint32_t i = 0; i < SST_COLUMNS_MAX; i++) {
        snprintf(names[i], SST_NAME_MAX, "%031u", i);
        columns[i] = (struct sst_column){names[i], SST_U64, 1, 8 * i, 0};
    }
    assert_int_equal(
        schema_make(&answer.schema, columns, SST_COLUMNS_MAX, 8 * SST_COLUMNS_MAX, NULL), 0);
    answer.has_schema = true;
    answer.hash = answer.schema.hash;
    answer.grant = (struct ripc_grant){101, 1, answer.schema.row_size};
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        answer.members[row] = 1 + row;
        answer.live[row] = true;
    }
    assert_int_equal(answer_pass(&answer, &read), 0);
    assert_int_equal(read.row_count, SST_ROWS_MAX);
    assert_int_equal(read.schema.column_count, SST_COLUMNS_MAX);
}

static void impossible_answers_are_rejected(void **state)
{
    struct observer_answer answer, read;
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    answer_make(&answer, true);
    answer.own = 2; /* the row of another member */
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer.own = 1; /* a row without a member */
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer.own = 200; /* a row that does not exist */
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, true);
    answer.epoch = 0;
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, true);
    answer.members[0] = 101; /* twice */
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, true);
    answer.hash++;
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, true);
    answer.grant.size--;
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, false);
    answer.grant.size = 0;
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, false);
    answer.status = -EBUSY; /* together with a grant */
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, false);
    answer.status = -EPERM;
    answer.grant = (struct ripc_grant){0};
    assert_int_equal(answer_pass(&answer, &read), -EPROTO);
    answer_make(&answer, true);
    size_t size = observer_answer_write(&answer, bytes);
    assert_int_equal(observer_answer_read(&read, 102, bytes, size), -EPROTO);
    assert_int_equal(observer_answer_read(&read, 101, bytes, size), 0);
    bytes[size] = 0;
    assert_int_equal(observer_answer_read(&read, 101, bytes, size + 1), -EPROTO);
}

static void random_bytes_are_rejected_or_yield_a_valid_answer(void **state)
{
    const uint64_t seed = 17;
    struct rng rng = rng_make(seed, 0);
    struct observer_answer answer, read;
    uint8_t bytes[OBSERVER_ANSWER_MAX];
    unsigned refused = 0;
    print_message("# seed %llu\n", (unsigned long long)seed);
    answer_make(&answer, true);
    size_t whole = observer_answer_write(&answer, bytes);
    for (size_t size = 0; size < whole; size++) {
        int result = observer_answer_read(&read, 101, bytes, size);
        /* an answer without a schema ends where the schema begins */
        assert_true(result == -EPROTO || !read.has_schema);
        refused += result < 0;
    }
    assert_int_equal(refused, whole - 1);
    for (unsigned round = 0; round < 20000; round++) {
        size_t size = rng_below(&rng, whole + 1);
        uint8_t *copy = malloc(size + 1);
        memcpy(copy, bytes, size);
        for (uint64_t flips = 1 + rng_below(&rng, 4); flips && size; flips--)
            copy[rng_below(&rng, size)] = (uint8_t)rng_next(&rng);
        int result = observer_answer_read(&read, 101, copy, size);
        assert_true(result == -EPROTO || (result == 0 && read.members[read.own] == 101));
        free(copy);
    }
}

TEST_MAIN(TEST(questions_are_read_as_written), TEST(answers_are_read_as_written),
          TEST(the_largest_answer_fits_a_message), TEST(impossible_answers_are_rejected),
          TEST(random_bytes_are_rejected_or_yield_a_valid_answer))
