#include "transport/fabric/fabric_wire.h"

#include "base/bytes.h"
#include "base/check.h"

void wire_write(const struct wire *wire, uint8_t out[WIRE_HEADER_SIZE])
{
    struct writer writer = writer_make(out, WIRE_HEADER_SIZE);
    write_u64(&writer, wire->pipe);
    write_u32(&writer, wire->sequence);
    write_u16(&writer, wire->kind);
    write_u16(&writer, wire->count);
    write_u32(&writer, wire->credit);
    write_u32(&writer, wire->size);
    assert(!writer.failed && !writer.left);
}

bool wire_read(struct wire *wire, const uint8_t *data, size_t size)
{
    struct reader in = reader_make(data, size);
    wire->pipe = read_u64(&in);
    wire->sequence = read_u32(&in);
    wire->kind = read_u16(&in);
    wire->count = read_u16(&in);
    wire->credit = read_u32(&in);
    wire->size = read_u32(&in);
    if (in.failed)
        return false;
    if (wire->kind == WIRE_FRAME)
        return wire->size <= FRAME_BODY_MAX && !wire->count && !wire->credit &&
               in.left == sizeof(struct frame_head) + wire->size;
    return wire->kind == WIRE_RETURN && !wire->size && wire->count <= WIRE_ACKS_MAX &&
           in.left == (size_t)wire->count * WIRE_ACK_SIZE;
}

void wire_write_ack(const struct acknowledgement *ack, uint8_t out[WIRE_ACK_SIZE])
{
    struct writer writer = writer_make(out, WIRE_ACK_SIZE);
    write_u64(&writer, ack->token);
    write_u64(&writer, (uint64_t)ack->status);
    assert(!writer.failed);
}

void wire_read_ack(struct acknowledgement *ack, const uint8_t data[WIRE_ACK_SIZE])
{
    struct reader in = reader_make(data, WIRE_ACK_SIZE);
    ack->token = read_u64(&in);
    ack->status = (int64_t)read_u64(&in);
}

void wire_write_head(const struct frame_head *head, uint8_t out[sizeof(struct frame_head)])
{
    struct writer writer = writer_make(out, sizeof *head);
    write_u64(&writer, head->user);
    write_u64(&writer, head->token);
    write_u16(&writer, head->kind);
    write_bytes(&writer, head->user_bytes, sizeof head->user_bytes);
    assert(!writer.failed && !writer.left);
}

void wire_read_head(struct frame_head *head, const uint8_t data[sizeof(struct frame_head)])
{
    struct reader in = reader_make(data, sizeof *head);
    head->user = read_u64(&in);
    head->token = read_u64(&in);
    head->kind = read_u16(&in);
    read_copy(&in, head->user_bytes, sizeof head->user_bytes);
}
