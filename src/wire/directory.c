#include "wire/directory.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

static const int statuses[] = {0, -EAGAIN, -EADDRINUSE, -ENOSPC, -ESTALE};

enum { STATUS_COUNT = sizeof statuses / sizeof *statuses };

static uint8_t status_number(int status)
{
    for (unsigned i = 0; i < STATUS_COUNT; i++)
        if (statuses[i] == status)
            return (uint8_t)i;
    assert_unreachable();
}

static void claim_write(struct writer *out, const struct directory_claim *claim)
{
    assert(claim->size <= DIRECTORY_RECORD_MAX);
    write_u64(out, claim->member);
    write_u64(out, claim->incarnation);
    write_u32(out, claim->server);
    write_u8(out, claim->group);
    write_u8(out, claim->size);
    write_bytes(out, claim->record, claim->size);
}

size_t directory_write(const struct directory_message *message, uint8_t out[DIRECTORY_MESSAGE_MAX])
{
    struct writer to = writer_make(out, DIRECTORY_MESSAGE_MAX);
    assert(message->count <= DIRECTORY_CLAIMS_MAX);
    write_u8(&to, (uint8_t)message->operation);
    write_u8(&to, status_number(message->status));
    write_u8(&to, message->part);
    write_u8(&to, message->parts);
    write_u32(&to, message->round);
    write_u16(&to, 0);
    write_u16(&to, message->count);
    write_u64(&to, message->domain);
    write_u64(&to, message->id);
    for (unsigned i = 0; i < message->count; i++)
        claim_write(&to, &message->claims[i]);
    assert(!to.failed);
    return DIRECTORY_MESSAGE_MAX - to.left;
}

static bool claim_read(struct reader *in, struct directory_claim *claim)
{
    claim->member = read_u64(in);
    claim->incarnation = read_u64(in);
    claim->server = read_u32(in);
    uint8_t group = read_u8(in);
    claim->group = group;
    claim->size = read_u8(in);
    if (claim->size > DIRECTORY_RECORD_MAX)
        return false;
    read_copy(in, claim->record, claim->size);
    return !in->failed && group <= 1 && claim->member && claim->incarnation;
}

/* All operations except asking and answering concern one claim. */
static bool count_is_right(const struct directory_message *message)
{
    if (message->operation == DIRECTORY_ASK)
        return message->count == 0;
    return message->operation == DIRECTORY_ANSWER ? message->count <= DIRECTORY_CLAIMS_MAX
                                                  : message->count == 1;
}

int directory_read(struct directory_message *message, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t operation = read_u8(&in), status = read_u8(&in);
    message->part = read_u8(&in);
    message->parts = read_u8(&in);
    message->round = read_u32(&in);
    uint16_t reserved = read_u16(&in);
    message->count = read_u16(&in);
    message->domain = read_u64(&in);
    message->id = read_u64(&in);
    message->operation = (enum directory_operation)operation;
    if (in.failed || reserved || operation < DIRECTORY_CLAIM ||
        operation >= DIRECTORY_OPERATION_END || status >= STATUS_COUNT || !message->id ||
        !message->parts || message->parts > DIRECTORY_PARTS_MAX ||
        message->part >= message->parts || !count_is_right(message))
        return -EPROTO;
    message->status = statuses[status];
    for (unsigned i = 0; i < message->count; i++)
        if (!claim_read(&in, &message->claims[i]))
            return -EPROTO;
    return in.left ? -EPROTO : 0;
}
