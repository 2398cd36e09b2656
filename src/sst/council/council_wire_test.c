#include "sst/council/council_wire.h"

#include <errno.h>
#include <string.h>

#include "base/bitset.h"
#include "base/test.h"

#define HEAD 20 /* bytes before the body: magic, kind, table, sender */

static struct council_message message;
static uint8_t bytes[COUNCIL_WIRE_MAX + 1];

static void messages_are_read_as_they_were_written(void **state)
{
    static struct council_message again;
    uint8_t more[COUNCIL_WIRE_MAX];
    for (int kind = COUNCIL_JOIN; kind < COUNCIL_OBSERVE; kind++) {
        message =
            (struct council_message){.kind = (enum council_kind)kind,
                                     .table = 1,
                                     .sender = 2,
                                     .to = 3,
                                     .ballot = {4, 5, 6},
                                     .base = 7,
                                     .epoch = 8,
                                     .row = 9,
                                     .row_to = 10,
                                     .status = -EPROTO,
                                     .hash = 11,
                                     .design = 12,
                                     .rows_max = 13,
                                     .id = 14,
                                     .encounter = 15,
                                     .heard = 16,
                                     .done = true,
                                     .incarnation = 30,
                                     .text = "because",
                                     .introduction = {{17, 18, 19}, {20, 21, 22}, {23, 24}, 25}};
        message.view = (struct view){.table = 1, .epoch = 23, .row_count = SST_ROWS_MAX};
        for (unsigned row = 0; row < SST_ROWS_MAX; row++)
            message.view.rows[row] = (struct view_member){1000 + row, 2000 + row, 1 + row % 23};
        size_t size = council_write(&message, bytes);
        assert_int_equal(council_read(&again, bytes, size), 0);
        assert_int_equal(council_write(&again, more), size);
        assert_memory_equal(bytes, more, size);
        for (size_t cut = 0; cut < size; cut++)
            assert_int_equal(council_read(&again, bytes, cut), -EPROTO);
        bytes[size] = 0;
        assert_int_equal(council_read(&again, bytes, size + 1), -EPROTO);
    }
}

/* A message in which every field is set, with members in the first and the last row. */
static struct council_message good(enum council_kind kind)
{
    struct council_message made = {
        .kind = kind,
        .table = 1,
        .sender = 2,
        .ballot = {4, SST_ROWS_MAX - 1, 6},
        .base = 22,
        .row = SST_ROWS_MAX - 1,
        .row_to = SST_ROWS_MAX - 2,
        .status = -EPROTO,
        .rows_max = SST_ROWS_MAX,
        .id = 14,
        .encounter = 15,
        .incarnation = 30,
        .text = "from ' ' to '~'",
    };
    made.view = (struct view){.table = 1, .epoch = 23, .row_count = SST_ROWS_MAX};
    made.view.rows[0] = (struct view_member){1000, 2000, 1};
    made.view.rows[SST_ROWS_MAX - 1] = (struct view_member){1001, 2001, 23};
    return made;
}

static int reading(size_t size)
{
    struct council_message read;
    return council_read(&read, bytes, size);
}

/* Check a valid message of that kind with one change, in a field or in its bytes. */
#define ACCEPTS(of, change)                                                                        \
    do {                                                                                           \
        message = good(of);                                                                        \
        change;                                                                                    \
        assert_int_equal(reading(council_write(&message, bytes)), 0);                              \
    } while (0)
#define REFUSES(of, change)                                                                        \
    do {                                                                                           \
        message = good(of);                                                                        \
        change;                                                                                    \
        assert_int_equal(reading(council_write(&message, bytes)), -EPROTO);                        \
    } while (0)
#define REFUSES_BYTE(of, at, value)                                                                \
    do {                                                                                           \
        message = good(of);                                                                        \
        size_t size = council_write(&message, bytes);                                              \
        assert_int_equal(reading(size), 0);                                                        \
        bytes[at] = (value);                                                                       \
        assert_int_equal(reading(size), -EPROTO);                                                  \
    } while (0)

static void invalid_heads_are_rejected(void **state)
{
    REFUSES_BYTE(COUNCIL_LEAVE, 0, 0);                /* magic */
    REFUSES_BYTE(COUNCIL_LEAVE, 3, 0);                /* kind */
    REFUSES_BYTE(COUNCIL_LEAVE, 3, COUNCIL_KIND_END); /* likewise */
    REFUSES_BYTE(COUNCIL_LEAVE, HEAD - 1, 0);         /* no sender */
}

/* The rest of the message is read elsewhere. */
static void only_the_kind_of_an_observers_question_is_read(void **state)
{
    message = good(COUNCIL_LEAVE);
    council_write(&message, bytes);
    bytes[3] = COUNCIL_OBSERVE;
    assert_int_equal(council_read(&message, bytes, 4), 0);
    assert_int_equal(message.kind, COUNCIL_OBSERVE);
    assert_int_equal(message.sender, 0);
}

static void invalid_joins_are_rejected(void **state)
{
    REFUSES(COUNCIL_JOIN, message.id = 0);
    REFUSES(COUNCIL_JOIN, message.rows_max = 0);
    REFUSES(COUNCIL_JOIN, message.rows_max++);
    ACCEPTS(COUNCIL_JOIN, message.rows_max = 1);
    ACCEPTS(COUNCIL_JOIN, message.drop = true);
    REFUSES_BYTE(COUNCIL_JOIN, HEAD + 24, 2); /* drop */
}

static void a_status_is_an_errno_and_a_reason_is_one_line(void **state)
{
    static const enum council_kind kinds[] = {COUNCIL_REFUSED, COUNCIL_UNREADY};
    for (unsigned i = 0; i < 2; i++) {
        ACCEPTS(kinds[i], message.status = -1);
        ACCEPTS(kinds[i], message.status = -4095);
        REFUSES(kinds[i], message.status = -4096);
        REFUSES(kinds[i], message.status = 0);
        REFUSES(kinds[i], message.status = 1);
    }
    REFUSES(COUNCIL_REFUSED, message.text[3] = 0x1f);
    REFUSES(COUNCIL_REFUSED, message.text[3] = 0x7f);
    ACCEPTS(COUNCIL_REFUSED, message.text[0] = 0);
    ACCEPTS(COUNCIL_REFUSED, memset(message.text, 'x', COUNCIL_TEXT_MAX - 1));
    message = good(COUNCIL_REFUSED);
    council_write(&message, bytes);
    memset(bytes + HEAD + 13, 'x', COUNCIL_TEXT_MAX);
    bytes[HEAD + 12] = COUNCIL_TEXT_MAX; /* there would be no room for the terminator */
    assert_int_equal(reading(HEAD + 13 + COUNCIL_TEXT_MAX), -EPROTO);
}

static void impossible_rows_are_rejected(void **state)
{
    static const enum council_kind kinds[] = {COUNCIL_PREPARE, COUNCIL_READY,  COUNCIL_UNREADY,
                                              COUNCIL_CANCEL,  COUNCIL_COMMIT, COUNCIL_ASK,
                                              COUNCIL_STATE};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++)
        REFUSES(kinds[i], message.ballot.row++);
    REFUSES(COUNCIL_UNREADY, message.row++);
    REFUSES(COUNCIL_MEET, message.row++);
    REFUSES(COUNCIL_MEET, message.row_to = SST_ROWS_MAX);
    REFUSES(COUNCIL_MEET, message.row_to = message.row);
    REFUSES(COUNCIL_MEET, message.encounter = 0);
    REFUSES(COUNCIL_MEET, message.incarnation = 0);
    ACCEPTS(COUNCIL_MEET, message.done = true);
    REFUSES_BYTE(COUNCIL_MEET, HEAD + 32, 2); /* done */
}

static void impossible_views_are_rejected(void **state)
{
    static const enum council_kind kinds[] = {COUNCIL_PREPARE, COUNCIL_COMMIT, COUNCIL_STATE};
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct view_member *last = &message.view.rows[SST_ROWS_MAX - 1];
        ACCEPTS(kinds[i], last->since = 1);
        ACCEPTS(kinds[i], bitset_add(message.view.left, 5)); /* an empty row */
        REFUSES(kinds[i], last->nonce = 0);
        REFUSES(kinds[i], last->since = 0);
        REFUSES(kinds[i], last->since = 24);
        REFUSES(kinds[i], last->id = 1000);    /* an id twice */
        REFUSES(kinds[i], last->nonce = 2000); /* a nonce twice */
        REFUSES(kinds[i], bitset_add(message.view.left, SST_ROWS_MAX - 1));
        REFUSES(kinds[i], message.table = 0);
        REFUSES(kinds[i], message.view.row_count = 0); /* a view without members */
    }
    REFUSES(COUNCIL_PREPARE, message.base = 23);
    ACCEPTS(COUNCIL_PREPARE, message.base = 0);
    REFUSES(COUNCIL_COMMIT, message.view = (struct view){0});
    ACCEPTS(COUNCIL_STATE, message.view = (struct view){0}); /* the sender has no view */
    ACCEPTS(COUNCIL_STATE, message.view = (struct view){0}; message.table = 0);
    REFUSES(COUNCIL_STATE, message.view.epoch = 0);
}

/* Rows are in order, each at most once; an id of 0 is invalid. */
static void a_view_has_exactly_one_encoding(void **state)
{
    enum { FIRST = HEAD + 16 + 8 + SST_ROWS_MAX / 8 + 2, ENTRY = 25 };
    REFUSES_BYTE(COUNCIL_COMMIT, FIRST, SST_ROWS_MAX - 1);
    REFUSES_BYTE(COUNCIL_COMMIT, FIRST + ENTRY, 0);
    message = good(COUNCIL_COMMIT);
    size_t size = council_write(&message, bytes);
    memset(bytes + FIRST + 1, 0, 8);
    assert_int_equal(reading(size), -EPROTO);
}

TEST_MAIN(TEST(messages_are_read_as_they_were_written), TEST(invalid_heads_are_rejected),
          TEST(only_the_kind_of_an_observers_question_is_read), TEST(invalid_joins_are_rejected),
          TEST(a_status_is_an_errno_and_a_reason_is_one_line), TEST(impossible_rows_are_rejected),
          TEST(impossible_views_are_rejected), TEST(a_view_has_exactly_one_encoding))
