/* Letters whose values are written apart: head and value are the letter, the place of the value is
 * known as soon as the head has come, and never earlier. */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/test.h"
#include "services/store/wire/letter.h"
#include "wire/store.h"

#define FROM 3

static const char value[] = "the value of a letter";
#define VALUE_SIZE ((uint32_t)sizeof value)

static struct letter letter, again; /* large */
static uint8_t head[STORE_HEAD_MAX];

static void make(enum letter_kind kind)
{
    memset(&letter, 0, sizeof letter);
    letter.kind = kind;
    letter.epoch = letter.message.epoch = 5;
    letter.group = 6;
    letter.message.kind = REPLICA_WRITE;
    letter.message.version = 9;
    letter.record = (struct record){.kind = RECORD_VALUE,
                                    .version = 9,
                                    .key = "colour",
                                    .key_size = 6,
                                    .value = value,
                                    .value_size = VALUE_SIZE,
                                    .digest = digest_bytes(value, VALUE_SIZE)};
    letter.ticket = 77;
    if (kind == LETTER_REQUEST)
        letter.size =
            (uint32_t)store_request_write_head(&(struct store_request){.op = STORE_PUT,
                                                                       .client = 1,
                                                                       .number = 2,
                                                                       .patience = 3,
                                                                       .key = "colour",
                                                                       .key_size = 6,
                                                                       .value_size = VALUE_SIZE},
                                               head, sizeof head);
    else
        letter.size = (uint32_t)store_answer_write_head(
            &(struct store_answer){.status = STORE_DONE, .version = 4, .value_size = VALUE_SIZE},
            head, sizeof head);
    letter.bytes = head;
    letter.tail = value;
    letter.tail_size = VALUE_SIZE;
}

static const enum letter_kind kinds[] = {LETTER_WRITE, LETTER_COPY, LETTER_REQUEST, LETTER_ANSWER};
#define KINDS (sizeof kinds / sizeof *kinds)

static void head_and_value_are_the_letter(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        uint8_t whole[1000], apart[1000];
        uint32_t size;
        make(kinds[i]);
        size_t all = letter_size(&letter);
        assert_ptr_equal(letter_value(&letter, &size), value);
        assert_int_equal(size, VALUE_SIZE);
        letter_write(&letter, whole);
        letter_write_head(&letter, apart);
        memcpy(apart + all - size, value, size);
        assert_memory_equal(apart, whole, all);
    }
    make(LETTER_RETRY);
    uint32_t size;
    assert_null(letter_value(&letter, &size));
}

static void the_place_of_a_value_is_known_when_the_head_has_come(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KINDS; i++) {
        uint8_t whole[1000];
        bool digested;
        make(kinds[i]);
        size_t size = letter_size(&letter), at = size - VALUE_SIZE;
        letter_write(&letter, whole);
        for (size_t there = 0; there <= size; there++)
            assert_int_equal(letter_value_at(whole, there, size, &digested), there < at ? 0 : at);
        assert_int_equal(digested, kinds[i] != LETTER_ANSWER);
        assert_int_equal(letter_value_at(whole, size, size + 1, &digested), 0);
    }
    uint8_t other[100] = {LETTER_RETRY};
    bool digested;
    assert_int_equal(letter_value_at(other, sizeof other, sizeof other, &digested), 0);
}

static void a_known_digest_is_compared(void **state)
{
    (void)state;
    uint8_t whole[1000];
    make(LETTER_WRITE);
    size_t size = letter_size(&letter);
    uint64_t digest = letter.record.digest;
    letter_write(&letter, whole);
    assert_true(letter_read_digested(&again, FROM, whole, size, digest));
    assert_memory_equal(again.record.value, value, VALUE_SIZE);
    assert_false(letter_read_digested(&again, FROM, whole, size, digest + 1));
    whole[size - 1] ^= 1;
    assert_false(letter_read(&again, FROM, whole, size));
}

TEST_MAIN(TEST(head_and_value_are_the_letter),
          TEST(the_place_of_a_value_is_known_when_the_head_has_come),
          TEST(a_known_digest_is_compared))
