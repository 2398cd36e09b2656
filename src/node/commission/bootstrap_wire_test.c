#include "node/commission/bootstrap_wire.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/test.h"

enum { AT_VERSION = 2, AT_PORTS = 4, AT_SERIAL = 8, AT_ROW_VERSION = 16, AT_EARS = 36, EAR = 9 };

static uint8_t bytes[BOOTSTRAP_SIZE_MAX + BOOTSTRAP_ROW_PORT];
static struct bootstrap_row row;

/* Appends a valid hash to a message of that size, as an attacker can. */
static void check_forge(size_t size)
{
    struct writer out = writer_make(bytes + size - 8, 8);
    write_u64(&out, hash_bytes(bytes, size - 8));
}

static bool row_is_read(size_t size)
{
    check_forge(size);
    struct bootstrap_row read;
    return bootstrap_type(bytes, size) == BOOTSTRAP_ROW && bootstrap_row_read(&read, bytes, size);
}

/* A valid row of that many ports, each of which receives hellos from port 3 of serial 7. */
static size_t row_make(uint32_t ports)
{
    memset(bytes, 0, sizeof bytes);
    row = (struct bootstrap_row){.report = {.serial = 5, .known = NODE_NONE, .port_count = ports},
                                 .version = 1};
    for (uint32_t port = 0; port < PORT_MAX; port++)
        row.report.ears[port] = (struct placement_end){7, 3};
    return bootstrap_row_write(&row, bytes);
}

static void unknown_heads_are_refused(void **state)
{
    static const unsigned heads[] = {0, 1, AT_VERSION, 3};
    size_t size = row_make(2);
    assert_true(row_is_read(size));
    for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++) {
        bytes[heads[i]] ^= 0x40;
        check_forge(size);
        assert_int_equal(bootstrap_type(bytes, size), 0);
        bytes[heads[i]] ^= 0x40;
    }
    bytes[size - 1] ^= 1;
    assert_int_equal(bootstrap_type(bytes, size), 0);
}

static void sizes_and_types_must_agree(void **state)
{
    const struct bootstrap_hello hello = {1, 2, 3};
    for (size_t size = 9; size <= sizeof bytes; size++) {
        bootstrap_hello_write(&hello, bytes);
        check_forge(size);
        assert_int_equal(bootstrap_type(bytes, size),
                         size == BOOTSTRAP_HELLO_SIZE ? BOOTSTRAP_HELLO : 0);
    }
    for (size_t size = 9; size <= sizeof bytes; size++) {
        row_make(PORT_MAX);
        check_forge(size);
        bool may_be = size >= BOOTSTRAP_ROW_HEAD && size <= BOOTSTRAP_SIZE_MAX;
        assert_int_equal(bootstrap_type(bytes, size), may_be ? BOOTSTRAP_ROW : 0);
    }
}

static void a_hello_with_an_impossible_port_is_refused(void **state)
{
    struct bootstrap_hello hello = {1, PORT_MAX - 1, 3};
    bootstrap_hello_write(&hello, bytes);
    assert_true(bootstrap_hello_read(&hello, bytes, BOOTSTRAP_HELLO_SIZE));
    bytes[AT_PORTS + 3]++;
    assert_false(bootstrap_hello_read(&hello, bytes, BOOTSTRAP_HELLO_SIZE));
}

static void impossible_rows_are_refused(void **state)
{
    size_t size = row_make(PORT_MAX);
    assert_true(row_is_read(size));
    struct bootstrap_row read;
    bytes[AT_PORTS + 3]++; /* more ports than the maximum, with all their fields */
    assert_false(bootstrap_row_read(&read, bytes, size + BOOTSTRAP_ROW_PORT));
    size = row_make(2);
    bytes[AT_PORTS + 3] = 1; /* bytes that belong to no port, or ports without bytes */
    assert_false(row_is_read(size));
    bytes[AT_PORTS + 3] = 3;
    assert_false(row_is_read(size));
    size = row_make(2);
    bytes[AT_ROW_VERSION + 7] = 0; /* versions begin with 1 */
    assert_false(row_is_read(size));
    size = row_make(2);
    bytes[AT_EARS + EAR + 8] = PORT_MAX; /* it names an impossible port */
    assert_false(row_is_read(size));
    bytes[AT_EARS + EAR + 8] = 0xff; /* no neighbour, but a serial number */
    assert_false(row_is_read(size));
    memset(bytes + AT_EARS + EAR, 0, 8);
    assert_true(row_is_read(size));
}

/* A text with a valid check but an impossible server, and a text that is too long. */
static void an_impossible_coordinate_is_refused(void **state)
{
    static char text[1 << 20];
    node_id server;
    struct why why;
    int size = snprintf(text, sizeof text, "weft coordinate 1\nserial 7\nserver 4294967297\n");
    size += snprintf(text + size, sizeof text - (size_t)size, "check %016llx\n",
                     (unsigned long long)hash_bytes(text, (size_t)size));
    assert_int_equal(bootstrap_text_read(&server, 7, 27, text, (size_t)size, &why), ERR_INPUT);
    assert_string_equal(why.text, "the saved coordinate is damaged");
    memset(text, 'x', sizeof text);
    assert_int_equal(bootstrap_text_read(&server, 7, 27, text, sizeof text, &why), ERR_INPUT);
    assert_int_equal(bootstrap_text_read(&server, 7, 27, text, BOOTSTRAP_TEXT_SIZE, &why),
                     ERR_INPUT);
}

TEST_MAIN(TEST(unknown_heads_are_refused), TEST(sizes_and_types_must_agree),
          TEST(a_hello_with_an_impossible_port_is_refused), TEST(impossible_rows_are_refused),
          TEST(an_impossible_coordinate_is_refused))
