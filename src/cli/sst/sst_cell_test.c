#include "cli/sst/sst_cell.h"

#include <math.h>
#include <string.h>

#include "base/test.h"

#define ELLIPSIS "\xe2\x80\xa6"

#define SHOWS(expected, type, count, elements, most)                                               \
    do {                                                                                           \
        struct text out = {0};                                                                     \
        sst_cell_text(&out, (type), (count), (elements), (most));                                  \
        assert_string_equal(out.data ? out.data : "", (expected));                                 \
        text_fini(&out);                                                                           \
    } while (0)

#define WRITES(expected, type, count, elements)                                                    \
    do {                                                                                           \
        struct text out = {0};                                                                     \
        struct json json = json_make(&out, false);                                                 \
        sst_cell_json(&json, (type), (count), (elements));                                         \
        if (out.size && out.data[out.size - 1] == '\n')                                            \
            out.data[out.size - 1] = '\0';                                                         \
        assert_string_equal(out.data, (expected));                                                 \
        text_fini(&out);                                                                           \
    } while (0)

static void numbers_of_every_type_are_shown(void **state)
{
    SHOWS("true", SST_BOOL, 1, &(bool){true}, 0);
    SHOWS("255", SST_U8, 1, &(uint8_t){255}, 0);
    SHOWS("-1", SST_I8, 1, &(int8_t){-1}, 0);
    SHOWS("65535", SST_U16, 1, &(uint16_t){UINT16_MAX}, 0);
    SHOWS("-32768", SST_I16, 1, &(int16_t){INT16_MIN}, 0);
    SHOWS("4294967295", SST_U32, 1, &(uint32_t){UINT32_MAX}, 0);
    SHOWS("-2147483648", SST_I32, 1, &(int32_t){INT32_MIN}, 0);
    SHOWS("18446744073709551615", SST_U64, 1, &(uint64_t){UINT64_MAX}, 0);
    SHOWS("-9223372036854775808", SST_I64, 1, &(int64_t){INT64_MIN}, 0);
    SHOWS("0.25", SST_F32, 1, &(float){0.25f}, 0);
    SHOWS("-1e+300", SST_F64, 1, &(double){-1e300}, 0);
    SHOWS("nan", SST_F64, 1, &(double){NAN}, 0);
}

static void numbers_of_every_type_are_written(void **state)
{
    WRITES("false", SST_BOOL, 1, &(bool){false});
    WRITES("-128", SST_I8, 1, &(int8_t){INT8_MIN});
    WRITES("18446744073709551615", SST_U64, 1, &(uint64_t){UINT64_MAX});
    WRITES("-9223372036854775808", SST_I64, 1, &(int64_t){INT64_MIN});
    WRITES("0.1", SST_F64, 1, &(double){0.1});
    WRITES("null", SST_F64, 1, &(double){INFINITY});
    WRITES("[1, 2, 3]", SST_U16, 3, ((uint16_t[]){1, 2, 3}));
}

static void arrays_are_abbreviated(void **state)
{
    static const uint32_t elements[] = {10, 200, 3000, 40000};
    SHOWS("10 200 3000 40000", SST_U32, 4, elements, 0);
    SHOWS("10 200 3000 40000", SST_U32, 4, elements, 17);
    SHOWS("10 200 " ELLIPSIS " (4)", SST_U32, 4, elements, 16);
    SHOWS("10 200 " ELLIPSIS " (4)", SST_U32, 4, elements, 12);
    SHOWS("10 " ELLIPSIS " (4)", SST_U32, 4, elements, 11);
    SHOWS("10 " ELLIPSIS " (4)", SST_U32, 4, elements, 1); /* the first is always shown */
}

/* The bytes come from other programs and must not control the terminal. */
static void bytes_are_printable(void **state)
{
    SHOWS("ada", SST_BYTES, 8, "ada\0\0\0\0", 0);
    SHOWS("", SST_BYTES, 4, "\0\0\0", 0);
    SHOWS("a\\x00b\\x1b[2J\\\\", SST_BYTES, 8, "a\0b\033[2J\\", 0);
    SHOWS("\xc3\xa9\\xff", SST_BYTES, 3, "\xc3\xa9\xff", 0);
    WRITES("\"a\\\\x00b\"", SST_BYTES, 4, "a\0b");
    WRITES("\"\"", SST_BYTES, 2, "\0");
}

static void long_bytes_are_abbreviated(void **state)
{
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    SHOWS("xxxx" ELLIPSIS " (4096)", SST_BYTES, 4096, bytes, 12);
    SHOWS("abcdefghijkl", SST_BYTES, 12, "abcdefghijkl", 12);
    SHOWS("abcdef" ELLIPSIS " (13)", SST_BYTES, 13, "abcdefghijklm", 12);
}

static void elements_need_no_alignment(void **state)
{
    uint8_t memory[17];
    uint64_t values[] = {1, UINT64_MAX};
    memcpy(memory + 1, values, sizeof values);
    SHOWS("1 18446744073709551615", SST_U64, 2, memory + 1, 0);
}

TEST_MAIN(TEST(numbers_of_every_type_are_shown), TEST(numbers_of_every_type_are_written),
          TEST(arrays_are_abbreviated), TEST(bytes_are_printable), TEST(long_bytes_are_abbreviated),
          TEST(elements_need_no_alignment))
