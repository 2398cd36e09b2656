#include "sst/observe/observer_wire.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"

#define WIRE_VERSION 1

static_assert(OBSERVER_ANSWER_MAX <= RIPC_SHORT_MAX, "every answer is one short item");
static_assert(OBSERVER_ANSWER >= COUNCIL_KIND_END, "an answer is not a message of the council");

static void head_write(struct writer *out, unsigned kind)
{
    write_u16(out, COUNCIL_MAGIC);
    write_u16(out, (uint16_t)kind);
    write_u8(out, WIRE_VERSION);
}

static void head_read(struct reader *in, unsigned kind)
{
    if (read_u16(in) != COUNCIL_MAGIC || read_u16(in) != kind || read_u8(in) != WIRE_VERSION)
        in->failed = true;
}

void observer_question_write(const struct observer_question *question,
                             uint8_t out[OBSERVER_QUESTION_SIZE])
{
    struct writer writer = writer_make(out, OBSERVER_QUESTION_SIZE);
    head_write(&writer, COUNCIL_OBSERVE);
    write_u64(&writer, question->hash);
    assert(!writer.failed && !writer.left);
}

int observer_question_read(struct observer_question *question, const uint8_t *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    head_read(&in, COUNCIL_OBSERVE);
    question->hash = read_u64(&in);
    return in.failed || in.left ? -EPROTO : 0;
}

size_t observer_answer_write(const struct observer_answer *answer,
                             uint8_t bytes[OBSERVER_ANSWER_MAX])
{
    struct writer out = writer_make(bytes, OBSERVER_ANSWER_MAX);
    unsigned count = 0;
    for (uint32_t row = 0; row < answer->row_count; row++)
        count += answer->members[row] != 0;
    head_write(&out, OBSERVER_ANSWER);
    write_u8(&out, (uint8_t)-answer->status);
    write_u64(&out, answer->hash);
    write_u64(&out, answer->epoch);
    write_u8(&out, (uint8_t)answer->own);
    write_u64(&out, answer->grant.key);
    write_u64(&out, answer->grant.size);
    write_u16(&out, (uint16_t)count);
    for (uint32_t row = 0; row < answer->row_count; row++)
        if (answer->members[row]) {
            write_u8(&out, (uint8_t)row);
            write_u8(&out, answer->live[row]);
            write_u64(&out, answer->members[row]);
        }
    if (answer->has_schema) {
        int size = schema_write(&answer->schema, out.next, out.left);
        assert(size > 0);
        out.next += size;
        out.left -= (size_t)size;
    }
    assert(!out.failed);
    return OBSERVER_ANSWER_MAX - out.left;
}

/* Rows must ascend, so that each view has exactly one encoding. */
static void members_read(struct reader *in, struct observer_answer *answer)
{
    unsigned count = read_u16(in);
    for (unsigned i = 0; i < count && !in->failed; i++) {
        uint32_t row = read_u8(in);
        uint8_t live = read_u8(in);
        ripc_id member = read_u64(in);
        if (row < answer->row_count || live > 1 || !member)
            in->failed = true;
        for (uint32_t other = 0; other < answer->row_count; other++)
            if (answer->members[other] == member)
                in->failed = true;
        if (in->failed)
            return;
        answer->row_count = row + 1;
        answer->members[row] = member;
        answer->live[row] = live;
    }
}

static void schema_read_rest(struct reader *in, struct observer_answer *answer)
{
    if (in->failed || !in->left)
        return;
    answer->has_schema = true;
    if (schema_read(&answer->schema, in->next, in->left) < 0 ||
        answer->schema.hash != answer->hash ||
        (answer->status == 0 && answer->schema.row_size != answer->grant.size))
        in->failed = true;
    in->left = 0;
}

int observer_answer_read(struct observer_answer *answer, ripc_id from, const uint8_t *bytes,
                         size_t size)
{
    struct reader in = reader_make(bytes, size);
    *answer = (struct observer_answer){0};
    head_read(&in, OBSERVER_ANSWER);
    answer->status = -read_u8(&in);
    answer->hash = read_u64(&in);
    answer->epoch = read_u64(&in);
    answer->own = read_u8(&in);
    answer->grant.key = read_u64(&in);
    answer->grant.size = read_u64(&in);
    if (answer->status == 0)
        answer->grant.owner = from;
    members_read(&in, answer);
    schema_read_rest(&in, answer);
    if (in.failed || !answer->epoch || !from || answer->own >= answer->row_count ||
        answer->members[answer->own] != from)
        return -EPROTO;
    if (answer->status ? answer->status != -EBUSY || answer->grant.key || answer->grant.size
                       : !answer->grant.size)
        return -EPROTO;
    return 0;
}
