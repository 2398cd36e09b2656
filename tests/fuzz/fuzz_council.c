/* Tests the messages between members of a table: a message is refused, or has the same bytes when
 * written again. Whatever the message is, a member, a joining member and a leaving member stay
 * consistent. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "sst/council/council.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 4, TABLE = 1 };

static void on_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    struct council_message message;
    assert(council_read(&message, bytes, size) == 0);
}

static void on_meeting(const struct council *council, uint32_t row)
{
    assert(row < ROWS && row != council_row(council));
}

static void on_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    on_meeting(argument, row);
    assert(id && nonce);
}

static void on_part(void *argument, uint32_t row, uint64_t nonce)
{
    assert(row < ROWS && nonce);
}

static void on_install(void *argument, const struct view *view)
{
    const struct council *council = argument;
    assert(view->row_count <= ROWS);
    assert(view->rows[council_row(council)].nonce == council->config.nonce);
}

static void on_refused(void *argument, int status, const char *reason)
{
    assert(status < 0 && memchr(reason, 0, COUNCIL_TEXT_MAX));
}

static void on_end(void *argument)
{
}

static const struct council_ops ops = {
    .send = on_send,
    .meet = on_meet,
    .part = on_part,
    .install = on_install,
    .refused = on_refused,
    .left = on_end,
    .expelled = on_end,
};

static void council_start(struct council *council, ripc_id id)
{
    struct council_config config = {.hash = 5, .rows_max = ROWS, .id = id, .nonce = 100 + id};
    council_init(council, &ops, council, &config);
}

/* Delivers it twice, with some time in between, from a member and from a non-member. */
static void council_try(struct council *council, const uint8_t *data, size_t size)
{
    for (ripc_id from = 1; from <= 3; from += 2) {
        council_receive(council, from, data, size);
        for (uint32_t row = 0; row < ROWS; row++)
            if (council->meetings[row].id && council->meetings[row].status == -EINPROGRESS)
                council_met(council, row, council->meetings[row].nonce, from == 1 ? 0 : -EPIPE);
        council_tick(council, (int64_t)from * COUNCIL_RETRY_NSEC);
        council_receive(council, from, data, size);
    }
    council_failed(council, 1, 101);
    council_tick(council, 5 * COUNCIL_RETRY_NSEC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct council_message message;
    static struct council council;
    uint8_t again[COUNCIL_WIRE_MAX];
    int result = council_read(&message, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result == 0 && message.kind != COUNCIL_OBSERVE) {
        assert(message.view.row_count <= SST_ROWS_MAX && message.row < SST_ROWS_MAX);
        assert(council_write(&message, again) == size);
        assert(memcmp(again, data, size) == 0);
    }
    council_start(&council, 1);
    council_found(&council, TABLE);
    council_try(&council, data, size);

    council_start(&council, 2);
    council_join(&council);
    council_try(&council, data, size);

    council_start(&council, 3);
    council_found(&council, TABLE);
    council.lead = LEAD_FOLLOWS;
    council.installed.rows[1] = (struct view_member){1, 101, 1};
    council.installed.row_count = 2;
    council_leave(&council);
    council_try(&council, data, size);
    return 0;
}
