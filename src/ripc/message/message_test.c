#include "ripc/message/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/test.h"

static void a_table_is_read_as_it_was_written(void **state)
{
    struct message_head head = {.short_count = 2, .long_count = 2, .return_count = 1};
    struct message_table table = {
        .short_sizes = {3, 0},
        .items = {{ITEM_PULL, 500, 0, {11, 12, 500}}, {ITEM_RETURNED, 600, 99, {0}}},
        .offers = {{7, {21, 22, 23}, {31, 32, MESSAGE_MARK_SIZE}}},
    };
    struct message_table read;
    uint8_t body[MESSAGE_TABLE_MAX + 3];
    size_t size = message_table_write(&head, &table, body);
    assert_int_equal(size, message_table_size(&head));
    memcpy(body + size, (uint8_t[]){1, 2, 3}, 3);
    assert_int_equal(message_table_read(&head, body, size + 3, &read), size);
    assert_int_equal(read.short_sizes[0], 3);
    assert_int_equal(read.items[0].memory.address, 12);
    assert_int_equal(read.items[0].size, 500);
    assert_int_equal(read.items[1].way, ITEM_RETURNED);
    assert_int_equal(read.items[1].number, 99);
    assert_int_equal(read.items[1].size, 600);
    assert_int_equal(read.offers[0].number, 7);
    assert_int_equal(read.offers[0].memory.size, 23);
    assert_int_equal(read.offers[0].mark.key, 31);
    assert_int_equal(read.offers[0].mark.address, 32);
    assert_int_equal(read.offers[0].mark.size, MESSAGE_MARK_SIZE);
    assert_int_equal(message_table_read(&head, body, size + 2, &read), -EPROTO);
    assert_int_equal(message_table_read(&head, body, size + 4, &read), -EPROTO);
    assert_int_equal(message_table_read(&head, body, size - 1, &read), -EPROTO);
}

static void a_frame_with_one_short_item_has_no_table(void **state)
{
    struct message_head head = {.short_count = 1};
    struct message_table table = {0};
    uint8_t body[MESSAGE_TABLE_MAX];
    assert_int_equal(message_table_write(&head, &table, body), 0);
    assert_int_equal(message_table_read(&head, body, 17, &table), 0);
    assert_int_equal(table.short_sizes[0], 17);
    assert_int_equal(message_table_read(&head, body, FRAME_BODY_MAX + 1, &table), -EPROTO);
}

static void random_bytes_are_never_read_out_of_bounds(void **state)
{
    const uint64_t seed = 3;
    struct rng rng = rng_make(seed, 0);
    print_message("# seed %llu\n", (unsigned long long)seed);
    for (unsigned round = 0; round < 20000; round++) {
        size_t size = rng_below(&rng, 200);
        uint8_t *body = malloc(size + 1);
        for (size_t i = 0; i < size; i++)
            body[i] = (uint8_t)rng_next(&rng);
        struct message_head head = {
            .short_count = (uint8_t)rng_below(&rng, 80),
            .long_count = (uint8_t)rng_below(&rng, 4),
            .return_count = (uint8_t)rng_below(&rng, 4),
        };
        struct message_table table;
        int offset = message_table_read(&head, body, size, &table);
        assert_true(offset == -EPROTO || (offset >= 0 && (size_t)offset <= size));
        free(body);
    }
}

static void a_notification_is_sixteen_bytes(void **state)
{
    uint8_t body[NOTIFY_SIZE];
    uint64_t token;
    uint64_t value;
    message_notify_write(body, 5, 6);
    assert_int_equal(message_notify_read(body, sizeof body, &token, &value), 0);
    assert_int_equal(token, 5);
    assert_int_equal(value, 6);
    assert_int_equal(message_notify_read(body, sizeof body - 1, &token, &value), -EPROTO);
}

TEST_MAIN(TEST(a_table_is_read_as_it_was_written), TEST(a_frame_with_one_short_item_has_no_table),
          TEST(random_bytes_are_never_read_out_of_bounds), TEST(a_notification_is_sixteen_bytes))
