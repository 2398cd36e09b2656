#include "base/bytes.h"

#include "base/test.h"

static void numbers_come_back_in_network_order(void **state)
{
    uint8_t data[18];
    struct writer out = writer_make(data, sizeof data);
    write_u8(&out, 0x01);
    write_u16(&out, 0x0203);
    write_u32(&out, 0x04050607);
    write_u64(&out, 0x08090a0b0c0d0e0f);
    write_bytes(&out, "xyz", 3);
    assert_false(out.failed);
    for (uint8_t i = 0; i < 15; i++)
        assert_int_equal(data[i], i + 1);

    char text[3];
    struct reader in = reader_make(data, sizeof data);
    assert_int_equal(read_u8(&in), 0x01);
    assert_int_equal(read_u16(&in), 0x0203);
    assert_int_equal(read_u32(&in), 0x04050607);
    assert_int_equal(read_u64(&in), 0x08090a0b0c0d0e0f);
    read_copy(&in, text, 3);
    assert_memory_equal(text, "xyz", 3);
    assert_false(in.failed);
    assert_int_equal(in.left, 0);
}

static void a_reader_that_failed_keeps_failing(void **state)
{
    const uint8_t data[5] = {1, 2, 3, 4, 5};
    uint8_t rest[4] = {9, 9, 9, 9};
    struct reader in = reader_make(data, sizeof data);
    assert_int_equal(read_u16(&in), 0x0102);
    assert_int_equal(read_u32(&in), 0);
    assert_true(in.failed);
    assert_int_equal(read_u8(&in), 0); /* although a byte is left */
    read_copy(&in, rest, sizeof rest);
    assert_int_equal(rest[0] | rest[3], 0);
    assert_null(read_bytes(&in, 0));
}

static void a_full_output_refuses_more(void **state)
{
    uint8_t data[4] = {0};
    struct writer out = writer_make(data, 3);
    write_u16(&out, 0xffff);
    write_u16(&out, 0xffff);
    assert_true(out.failed);
    write_u8(&out, 0xff);
    assert_int_equal(data[2] | data[3], 0);
}

TEST_MAIN(TEST(numbers_come_back_in_network_order), TEST(a_reader_that_failed_keeps_failing),
          TEST(a_full_output_refuses_more))
