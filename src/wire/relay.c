#include "wire/relay.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"

static void address_put(struct writer *out, const struct relay_address *address)
{
    write_u32(out, address->server);
    write_u32(out, address->program);
    write_u64(out, address->life);
}

static struct relay_address address_get(struct reader *in)
{
    struct relay_address address = {.server = read_u32(in)};
    address.program = read_u32(in);
    address.life = read_u64(in);
    return address;
}

void relay_address_write(const struct relay_address *address, uint8_t out[16])
{
    struct writer to = writer_make(out, 16);
    address_put(&to, address);
}

void relay_address_read(struct relay_address *address, const uint8_t in[16])
{
    struct reader from = reader_make(in, 16);
    *address = address_get(&from);
}

void relay_write(const struct relay_message *message, uint8_t out[RELAY_HEAD_SIZE])
{
    struct writer to = writer_make(out, RELAY_HEAD_SIZE);
    write_u8(&to, (uint8_t)message->operation);
    write_u8(&to, message->kind);
    write_u16(&to, 0);
    address_put(&to, &message->from);
    address_put(&to, &message->to);
    assert(!to.failed && !to.left);
}

int relay_read(struct relay_message *message, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    uint8_t operation = read_u8(&in);
    *message = (struct relay_message){.kind = read_u8(&in)};
    uint16_t reserved = read_u16(&in);
    message->from = address_get(&in);
    message->to = address_get(&in);
    if (in.failed || reserved || operation < RELAY_ATTACH || operation >= RELAY_OPERATION_END ||
        in.left > RELAY_BODY_MAX || (in.left && operation != RELAY_DATA))
        return -EPROTO;
    message->operation = (enum relay_operation)operation;
    message->body = in.next;
    message->size = in.left;
    return 0;
}
