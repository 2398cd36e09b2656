/* Writes random requests and answers, reads them again, cuts them off at each byte, and changes
 * one field at a time to nonsense. */
#include "wire/store.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "base/test.h"

#define VALUE_MAX 300
#define ROOM      (VALUE_MAX + STORE_KEY_MAX + 100)

/* Where the fields are. */
enum {
    AT_OP = 0,
    AT_CONDITION = 1,
    AT_AGAIN = 2,
    AT_CLIENT = 7,
    AT_NUMBER = 15,
    AT_VERSION = 19,
    AT_PATIENCE = 35,
    AT_TTL = 43,
    AT_KEY_SIZE = 51,
    AT_VALUE_SIZE = 52,
    AT_KEY = 56,
    AT_ANSWER_TTL = 13,
};

static uint8_t key[STORE_KEY_MAX + 1], value[VALUE_MAX];

static void make_bytes(void *out, size_t size, struct rng *rng)
{
    uint8_t *bytes = out;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)rng_next(rng);
}

/* The least, the most, or anything between. */
static uint32_t make_size(struct rng *rng, uint32_t most)
{
    uint64_t draw = rng_below(rng, 4);
    return draw == 0 ? 0 : draw == 1 ? most : (uint32_t)rng_below(rng, most + 1);
}

static struct store_request make_request(struct rng *rng)
{
    struct store_request request = {
        .op = (enum store_op)(STORE_GET + rng_below(rng, STORE_TOUCH)),
        .condition = (enum store_condition)rng_below(rng, STORE_IF_VERSION + 1),
        .again = rng_below(rng, 2),
        .flags = (uint32_t)rng_next(rng),
        .client = rng_next(rng) | 1,
        .number = (uint32_t)rng_next(rng) | 1,
        .delta = rng_next(rng),
        .patience = (int64_t)(rng_next(rng) >> 1 | 1),
        .key_size = make_size(rng, STORE_KEY_MAX),
        .value_size = make_size(rng, VALUE_MAX),
        .key = key,
        .value = value,
    };
    if (request.condition == STORE_IF_VERSION)
        request.version = rng_next(rng) | 1;
    if (request.op == STORE_GET || request.op == STORE_DELETE || request.op == STORE_TOUCH)
        request.value_size = 0;
    if (request.op == STORE_PUT || request.op == STORE_TOUCH)
        request.ttl = rng_below(rng, 2) ? rng_below(rng, STORE_TTL_MAX + 1) : STORE_TTL_MAX;
    make_bytes(key, sizeof key, rng);
    make_bytes(value, sizeof value, rng);
    return request;
}

static void assert_same_request(const struct store_request *a, const struct store_request *b)
{
    assert_true(a->op == b->op && a->condition == b->condition && a->again == b->again);
    assert_true(a->flags == b->flags && a->client == b->client && a->number == b->number);
    assert_true(a->version == b->version && a->delta == b->delta);
    assert_true(a->patience == b->patience && a->ttl == b->ttl);
    assert_true(a->key_size == b->key_size && a->value_size == b->value_size);
    assert_memory_equal(a->key, b->key, a->key_size);
    assert_memory_equal(a->value, b->value, a->value_size);
}

/* Reads from a block of exactly that size, so that a sanitizer notices a byte too many. */
static bool is_read(const void *bytes, size_t size)
{
    struct store_request request;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = store_request_read(&request, copy, size);
    free(copy);
    return sense;
}

static bool answer_is_read(const void *bytes, size_t size)
{
    struct store_answer answer;
    void *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool sense = store_answer_read(&answer, copy, size);
    free(copy);
    return sense;
}

static void requests_are_read_as_written(void **unused)
{
    uint8_t bytes[ROOM];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = rng_make(seed, 1);
        struct store_request made = make_request(&rng), again;
        size_t size = store_request_write(&made, bytes, sizeof bytes);
        print_message("# seed %lu\n", (unsigned long)seed);
        assert_int_equal(size, store_request_size(&made));
        assert_true(store_request_read(&again, bytes, size));
        assert_same_request(&again, &made);
        for (size_t i = 0; i < size; i++)
            assert_false(is_read(bytes, i));
        bytes[size] = 0;
        assert_false(is_read(bytes, size + 1));
    }
}

static void answers_are_read_as_written(void **unused)
{
    uint8_t bytes[ROOM];
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct rng rng = rng_make(seed, 2);
        struct store_answer again,
            made = {
                .status = (enum store_status)rng_below(&rng, STORE_MALFORMED + 1),
                .flags = (uint32_t)rng_next(&rng),
                .version = rng_next(&rng),
                .value = value,
            };
        make_bytes(value, sizeof value, &rng);
        if (made.status == STORE_DONE)
            made.value_size = make_size(&rng, VALUE_MAX);
        if (made.status == STORE_DONE)
            made.ttl = rng_below(&rng, STORE_TTL_MAX + 1);
        size_t size = store_answer_write(&made, bytes, sizeof bytes);
        print_message("# seed %lu\n", (unsigned long)seed);
        assert_int_equal(size, store_answer_size(&made));
        assert_true(store_answer_read(&again, bytes, size));
        assert_true(again.status == made.status && again.flags == made.flags &&
                    again.version == made.version && again.value_size == made.value_size &&
                    again.ttl == made.ttl);
        assert_memory_equal(again.value, value, made.value_size);
        for (size_t i = 0; i < size; i++)
            assert_false(answer_is_read(bytes, i));
        bytes[size] = 0;
        assert_false(answer_is_read(bytes, size + 1));
    }
}

/* Nothing is written behind the room, and the result says that not all has been. */
static void too_little_room_is_reported(void **unused)
{
    struct rng rng = rng_make(3, 3);
    struct store_request request = make_request(&rng);
    struct store_answer answer = {.status = STORE_DONE, .value = value, .value_size = 20};
    for (size_t room = 0; room <= store_request_size(&request); room++) {
        uint8_t *bytes = malloc(room + 1);
        assert_non_null(bytes);
        bytes[room] = 0x5a;
        bool fits = room == store_request_size(&request);
        assert_int_equal(store_request_write(&request, bytes, room), fits ? room : 0);
        assert_int_equal(bytes[room], 0x5a);
        free(bytes);
    }
    for (size_t room = 0; room <= store_answer_size(&answer); room++) {
        uint8_t *bytes = malloc(room + 1);
        assert_non_null(bytes);
        bytes[room] = 0x5a;
        bool fits = room == store_answer_size(&answer);
        assert_int_equal(store_answer_write(&answer, bytes, room), fits ? room : 0);
        assert_int_equal(bytes[room], 0x5a);
        free(bytes);
    }
}

static const struct store_request sample = {
    .op = STORE_PUT,
    .client = 7,
    .number = 5,
    .patience = 1,
    .key = "key",
    .key_size = 3,
    .value = "value",
    .value_size = 5,
};

/* Is the request read if the field of that many bytes has this content? */
static bool is_read_with(const struct store_request *request, size_t at, unsigned size,
                         uint64_t content)
{
    uint8_t bytes[ROOM];
    size_t whole = store_request_write(request, bytes, sizeof bytes);
    assert_true(is_read(bytes, whole));
    struct writer field = writer_make(bytes + at, size);
    write_integer(&field, content, size);
    return is_read(bytes, whole);
}

static void nonsense_is_refused(void **unused)
{
    struct store_request versioned = sample, empty = sample;
    versioned.condition = STORE_IF_VERSION;
    versioned.version = 9;
    empty.value_size = 0;
    assert_false(is_read_with(&sample, AT_OP, 1, 0));
    assert_true(is_read_with(&sample, AT_OP, 1, STORE_PREPEND));
    assert_false(is_read_with(&empty, AT_OP, 1, STORE_TOUCH + 1));
    assert_true(is_read_with(&sample, AT_CONDITION, 1, STORE_IF_PRESENT));
    assert_false(is_read_with(&versioned, AT_CONDITION, 1, STORE_IF_VERSION + 1));
    assert_false(is_read_with(&sample, AT_CONDITION, 1, STORE_IF_VERSION + 1));
    assert_true(is_read_with(&sample, AT_AGAIN, 1, 1));
    assert_false(is_read_with(&sample, AT_AGAIN, 1, 2));
    assert_false(is_read_with(&sample, AT_CLIENT, 8, 0));
    assert_true(is_read_with(&sample, AT_PATIENCE, 8, INT64_MAX));
    assert_false(is_read_with(&sample, AT_PATIENCE, 8, 0));
    assert_false(is_read_with(&sample, AT_PATIENCE, 8, UINT64_MAX));
    /* A version belongs to this one condition. */
    assert_false(is_read_with(&sample, AT_CONDITION, 1, STORE_IF_VERSION));
    assert_false(is_read_with(&versioned, AT_CONDITION, 1, STORE_IF_ABSENT));
    assert_false(is_read_with(&versioned, AT_VERSION, 8, 0));
    assert_false(is_read_with(&sample, AT_VERSION, 8, 9));
    /* What has no value. */
    assert_false(is_read_with(&sample, AT_OP, 1, STORE_GET));
    assert_false(is_read_with(&sample, AT_OP, 1, STORE_DELETE));
    assert_true(is_read_with(&empty, AT_OP, 1, STORE_GET));
    assert_true(is_read_with(&empty, AT_OP, 1, STORE_DELETE));
    assert_false(is_read_with(&sample, AT_OP, 1, STORE_TOUCH));
    assert_true(is_read_with(&empty, AT_OP, 1, STORE_TOUCH));
    /* A time to live is one of a put or a touch. */
    assert_true(is_read_with(&sample, AT_TTL, 8, STORE_TTL_MAX));
    assert_false(is_read_with(&sample, AT_TTL, 8, STORE_TTL_MAX + 1));
    assert_false(is_read_with(&sample, AT_TTL, 8, UINT64_MAX));
    empty.ttl = 1;
    assert_true(is_read_with(&empty, AT_OP, 1, STORE_TOUCH));
    for (unsigned op = STORE_GET; op < STORE_TOUCH; op++)
        assert_int_equal(is_read_with(&empty, AT_OP, 1, op), op == STORE_PUT);
    /* The sizes are those of other bytes. */
    assert_false(is_read_with(&sample, AT_KEY_SIZE, 1, 4));
    assert_false(is_read_with(&sample, AT_KEY_SIZE, 1, 2));
    assert_false(is_read_with(&sample, AT_VALUE_SIZE, 4, 6));
    assert_false(is_read_with(&sample, AT_VALUE_SIZE, 4, 4));
    assert_false(is_read_with(&sample, AT_VALUE_SIZE, 4, UINT32_MAX));
    assert_false(is_read_with(&sample, AT_NUMBER, 4, 0));
}

static void answers_that_are_nonsense_are_refused(void **unused)
{
    uint8_t bytes[ROOM];
    struct store_answer answer = {.status = STORE_DONE, .value = "value", .value_size = 5};
    size_t size = store_answer_write(&answer, bytes, sizeof bytes);
    assert_true(answer_is_read(bytes, size));
    bytes[0] = STORE_ABSENT; /* there is no value then */
    assert_false(answer_is_read(bytes, size));
    answer.value_size = 0;
    size = store_answer_write(&answer, bytes, sizeof bytes);
    bytes[AT_ANSWER_TTL + 7] = 9;
    assert_true(answer_is_read(bytes, size));
    bytes[0] = STORE_ABSENT;
    assert_false(answer_is_read(bytes, size)); /* nothing is there that can expire */
    bytes[0] = STORE_DONE;
    bytes[AT_ANSWER_TTL] = 255;
    assert_false(answer_is_read(bytes, size));
    bytes[AT_ANSWER_TTL] = bytes[AT_ANSWER_TTL + 7] = 0;
    bytes[0] = STORE_MALFORMED;
    assert_true(answer_is_read(bytes, size));
    bytes[0] = STORE_MALFORMED + 1;
    assert_false(answer_is_read(bytes, size));
}

static void keys_are_of_any_length_up_to_the_limit(void **unused)
{
    static uint8_t bytes[ROOM];
    struct store_request request = sample, again;
    request.value_size = 0;
    request.key = key;
    for (unsigned size = 0; size <= STORE_KEY_MAX; size += STORE_KEY_MAX) {
        request.key_size = size;
        assert_int_equal(store_request_write(&request, bytes, sizeof bytes), AT_KEY + size);
        assert_true(store_request_read(&again, bytes, AT_KEY + size));
        assert_int_equal(again.key_size, size);
    }
    bytes[AT_KEY_SIZE] = STORE_KEY_MAX + 1; /* and there is another byte */
    assert_false(is_read(bytes, AT_KEY + STORE_KEY_MAX + 1));
}

static void each_status_has_a_text(void **unused)
{
    for (unsigned a = STORE_DONE; a <= STORE_MALFORMED; a++) {
        assert_true(store_status_text((enum store_status)a)[0]);
        for (unsigned b = STORE_DONE; b < a; b++)
            assert_string_not_equal(store_status_text((enum store_status)a),
                                    store_status_text((enum store_status)b));
    }
}

TEST_MAIN(TEST(requests_are_read_as_written), TEST(answers_are_read_as_written),
          TEST(too_little_room_is_reported), TEST(nonsense_is_refused),
          TEST(answers_that_are_nonsense_are_refused), TEST(keys_are_of_any_length_up_to_the_limit),
          TEST(each_status_has_a_text))
