#include "sst/council/council_wire.h"

#include <errno.h>
#include <string.h>

#include "base/bitset.h"
#include "base/bytes.h"
#include "base/check.h"

#define ERRNO_MAX 4095 /* the program negates the status, so it must be a possible errno */

static_assert(COUNCIL_WIRE_MAX <= RIPC_SHORT_MAX, "every message is one short item");

/* ---- pieces ---- */

static void ballot_write(struct writer *out, const struct ballot *ballot)
{
    write_u64(out, ballot->since);
    write_u32(out, ballot->row);
    write_u32(out, ballot->round);
}

static struct ballot ballot_read(struct reader *in)
{
    struct ballot ballot = {.since = read_u64(in)};
    ballot.row = read_u32(in);
    ballot.round = read_u32(in);
    if (ballot.row >= SST_ROWS_MAX)
        in->failed = true;
    return ballot;
}

static void grant_write(struct writer *out, const struct ripc_grant *grant)
{
    write_u64(out, grant->owner);
    write_u64(out, grant->key);
    write_u64(out, grant->size);
}

static struct ripc_grant grant_read(struct reader *in)
{
    struct ripc_grant grant = {.owner = read_u64(in)};
    grant.key = read_u64(in);
    grant.size = read_u64(in);
    return grant;
}

static void view_write(struct writer *out, const struct view *view)
{
    unsigned count = 0;
    for (uint32_t row = 0; row < view->row_count; row++)
        count += view->rows[row].id != 0;
    write_u64(out, view->epoch);
    for (unsigned i = 0; i < SST_ROWS_MAX / 64; i++)
        write_u64(out, view->left[i]);
    write_u16(out, (uint16_t)count);
    for (uint32_t row = 0; row < view->row_count; row++) {
        const struct view_member *member = &view->rows[row];
        if (!member->id)
            continue;
        write_u8(out, (uint8_t)row);
        write_u64(out, member->id);
        write_u64(out, member->nonce);
        write_u64(out, member->since);
    }
}

static bool view_is_unique(const struct view *view, uint32_t row)
{
    for (uint32_t other = 0; other < row; other++)
        if (view->rows[other].id == view->rows[row].id ||
            view->rows[other].nonce == view->rows[row].nonce)
            return false;
    return true;
}

/* Rows must ascend, so that each view has exactly one encoding. */
static void view_read(struct reader *in, uint64_t table, struct view *view)
{
    view->table = table;
    view->epoch = read_u64(in);
    for (unsigned i = 0; i < SST_ROWS_MAX / 64; i++)
        view->left[i] = read_u64(in);
    unsigned count = read_u16(in);
    for (unsigned i = 0; i < count && !in->failed; i++) {
        uint32_t row = read_u8(in);
        struct view_member *member = &view->rows[row];
        if (row < view->row_count) {
            in->failed = true;
            return;
        }
        view->row_count = row + 1;
        member->id = read_u64(in);
        member->nonce = read_u64(in);
        member->since = read_u64(in);
        if (!member->id || !member->nonce || !member->since || member->since > view->epoch ||
            bitset_has(view->left, row) || !view_is_unique(view, row))
            in->failed = true;
    }
    if ((view->epoch == 0) != (count == 0) || (count && !table))
        in->failed = true;
}

static int status_read(struct reader *in)
{
    int status = (int32_t)read_u32(in);
    if (status >= 0 || status < -ERRNO_MAX)
        in->failed = true;
    return status;
}

/* A person reads the text in a terminal: one line without control characters. */
static void text_read(struct reader *in, char text[COUNCIL_TEXT_MAX])
{
    size_t size = read_u8(in);
    if (size >= COUNCIL_TEXT_MAX) {
        in->failed = true;
        return;
    }
    read_copy(in, text, size);
    for (size_t i = 0; i < size; i++)
        if (text[i] < ' ' || text[i] > '~')
            in->failed = true;
}

/* ---- bodies ---- */

static void join_write(struct writer *out, const struct council_message *message)
{
    write_u64(out, message->id);
    write_u64(out, message->hash);
    write_u32(out, message->design);
    write_u32(out, message->rows_max);
    write_u8(out, message->drop);
}

static void join_read(struct reader *in, struct council_message *message)
{
    message->id = read_u64(in);
    message->hash = read_u64(in);
    message->design = read_u32(in);
    message->rows_max = read_u32(in);
    uint8_t drop = read_u8(in);
    message->drop = drop == 1;
    if (!message->id || drop > 1 || message->rows_max == 0 || message->rows_max > SST_ROWS_MAX)
        in->failed = true;
}

static void refused_write(struct writer *out, const struct council_message *message)
{
    size_t size = strnlen(message->text, COUNCIL_TEXT_MAX - 1);
    write_u64(out, message->to);
    write_u32(out, (uint32_t)message->status);
    write_u8(out, (uint8_t)size);
    write_bytes(out, message->text, size);
}

static void refused_read(struct reader *in, struct council_message *message)
{
    message->to = read_u64(in);
    message->status = status_read(in);
    text_read(in, message->text);
}

static void ballot_body_write(struct writer *out, const struct council_message *message)
{
    ballot_write(out, &message->ballot);
}

static void ballot_body_read(struct reader *in, struct council_message *message)
{
    message->ballot = ballot_read(in);
}

static void prepare_write(struct writer *out, const struct council_message *message)
{
    ballot_write(out, &message->ballot);
    write_u64(out, message->base);
    view_write(out, &message->view);
}

static void prepare_read(struct reader *in, struct council_message *message)
{
    message->ballot = ballot_read(in);
    message->base = read_u64(in);
    view_read(in, message->table, &message->view);
    if (message->base >= message->view.epoch)
        in->failed = true;
}

static void ready_write(struct writer *out, const struct council_message *message)
{
    ballot_write(out, &message->ballot);
    write_u64(out, message->epoch);
}

static void ready_read(struct reader *in, struct council_message *message)
{
    message->ballot = ballot_read(in);
    message->epoch = read_u64(in);
}

static void unready_write(struct writer *out, const struct council_message *message)
{
    ready_write(out, message);
    write_u32(out, message->row);
    write_u32(out, (uint32_t)message->status);
}

static void unready_read(struct reader *in, struct council_message *message)
{
    ready_read(in, message);
    message->row = read_u32(in);
    message->status = status_read(in);
    if (message->row >= SST_ROWS_MAX)
        in->failed = true;
}

static void commit_write(struct writer *out, const struct council_message *message)
{
    ballot_write(out, &message->ballot);
    view_write(out, &message->view);
}

static void commit_read(struct reader *in, struct council_message *message)
{
    message->ballot = ballot_read(in);
    view_read(in, message->table, &message->view);
    if (message->view.epoch == 0)
        in->failed = true;
}

static void state_write(struct writer *out, const struct council_message *message)
{
    ready_write(out, message);
    view_write(out, &message->view);
}

static void state_read(struct reader *in, struct council_message *message)
{
    ready_read(in, message);
    view_read(in, message->table, &message->view);
}

static void leave_write(struct writer *out, const struct council_message *message)
{
}

static void leave_read(struct reader *in, struct council_message *message)
{
}

static void left_write(struct writer *out, const struct council_message *message)
{
    write_u64(out, message->to);
}

static void left_read(struct reader *in, struct council_message *message)
{
    message->to = read_u64(in);
}

static void meet_write(struct writer *out, const struct council_message *message)
{
    write_u64(out, message->to);
    write_u32(out, message->row);
    write_u32(out, message->row_to);
    write_u64(out, message->encounter);
    write_u64(out, message->heard);
    write_u8(out, message->done);
    write_u64(out, message->incarnation);
    grant_write(out, &message->introduction.row);
    grant_write(out, &message->introduction.bell);
    write_u64(out, message->introduction.wake.service);
    write_u64(out, message->introduction.wake.token);
    write_u64(out, message->introduction.barrier);
}

static void meet_read(struct reader *in, struct council_message *message)
{
    message->to = read_u64(in);
    message->row = read_u32(in);
    message->row_to = read_u32(in);
    message->encounter = read_u64(in);
    message->heard = read_u64(in);
    uint8_t done = read_u8(in);
    message->done = done == 1;
    message->incarnation = read_u64(in);
    message->introduction.row = grant_read(in);
    message->introduction.bell = grant_read(in);
    message->introduction.wake.service = read_u64(in);
    message->introduction.wake.token = read_u64(in);
    message->introduction.barrier = read_u64(in);
    if (message->row >= SST_ROWS_MAX || message->row_to >= SST_ROWS_MAX ||
        message->row == message->row_to || !message->encounter || !message->incarnation || done > 1)
        in->failed = true;
}

static const struct {
    void (*write)(struct writer *out, const struct council_message *message);
    void (*read)(struct reader *in, struct council_message *message);
} bodies[COUNCIL_KIND_END] = {
    [COUNCIL_JOIN] = {join_write, join_read},
    [COUNCIL_REFUSED] = {refused_write, refused_read},
    [COUNCIL_PREPARE] = {prepare_write, prepare_read},
    [COUNCIL_READY] = {ready_write, ready_read},
    [COUNCIL_UNREADY] = {unready_write, unready_read},
    [COUNCIL_CANCEL] = {ready_write, ready_read},
    [COUNCIL_COMMIT] = {commit_write, commit_read},
    [COUNCIL_ASK] = {ballot_body_write, ballot_body_read},
    [COUNCIL_STATE] = {state_write, state_read},
    [COUNCIL_LEAVE] = {leave_write, leave_read},
    [COUNCIL_LEFT] = {left_write, left_read},
    [COUNCIL_MEET] = {meet_write, meet_read},
};

/* ---- messages ---- */

size_t council_write(const struct council_message *message, uint8_t *bytes)
{
    assert(message->kind > 0 && message->kind < COUNCIL_OBSERVE && message->sender);
    struct writer out = writer_make(bytes, COUNCIL_WIRE_MAX);
    write_u16(&out, COUNCIL_MAGIC);
    write_u16(&out, (uint16_t)message->kind);
    write_u64(&out, message->table);
    write_u64(&out, message->sender);
    bodies[message->kind].write(&out, message);
    assert(!out.failed);
    return COUNCIL_WIRE_MAX - out.left;
}

int council_read(struct council_message *message, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    memset(message, 0, sizeof *message);
    unsigned magic = read_u16(&in);
    unsigned kind = read_u16(&in);
    if (in.failed || magic != COUNCIL_MAGIC || kind == 0 || kind >= COUNCIL_KIND_END)
        return -EPROTO;
    message->kind = (enum council_kind)kind;
    if (kind == COUNCIL_OBSERVE)
        return 0;
    message->table = read_u64(&in);
    message->sender = read_u64(&in);
    bodies[kind].read(&in, message);
    return in.failed || in.left || !message->sender ? -EPROTO : 0;
}
