#include "transport/fabric/fabric_wire.h"

#include "base/bytes.h"
#include "base/check.h"

void fabric_message_write(const struct fabric_message *message, uint8_t out[FABRIC_HEADER_SIZE])
{
    struct writer writer = writer_make(out, FABRIC_HEADER_SIZE);
    write_u64(&writer, message->pipe);
    write_u32(&writer, message->sequence);
    write_u16(&writer, message->kind);
    write_u16(&writer, message->count);
    write_u32(&writer, message->credit);
    write_u32(&writer, message->size);
    assert(!writer.failed && !writer.left);
}

bool fabric_message_read(struct fabric_message *message, const uint8_t *data, size_t size)
{
    struct reader in = reader_make(data, size);
    message->pipe = read_u64(&in);
    message->sequence = read_u32(&in);
    message->kind = read_u16(&in);
    message->count = read_u16(&in);
    message->credit = read_u32(&in);
    message->size = read_u32(&in);
    if (in.failed)
        return false;
    if (message->kind == FABRIC_FRAME)
        return message->size <= FRAME_BODY_MAX && !message->count && !message->credit &&
               in.left == sizeof(struct frame_head) + message->size;
    if (message->kind == FABRIC_PROBE)
        return message->pipe && !message->sequence && !message->count && !message->credit &&
               !message->size && !in.left;
    return message->kind == FABRIC_RETURN && !message->size && message->count <= FABRIC_ACKS_MAX &&
           in.left == (size_t)message->count * FABRIC_ACK_SIZE;
}

void fabric_ack_write(const struct acknowledgement *ack, uint8_t out[FABRIC_ACK_SIZE])
{
    struct writer writer = writer_make(out, FABRIC_ACK_SIZE);
    write_u64(&writer, ack->token);
    write_u64(&writer, (uint64_t)ack->status);
    assert(!writer.failed);
}

void fabric_ack_read(struct acknowledgement *ack, const uint8_t data[FABRIC_ACK_SIZE])
{
    struct reader in = reader_make(data, FABRIC_ACK_SIZE);
    ack->token = read_u64(&in);
    ack->status = (int64_t)read_u64(&in);
}

void fabric_head_write(const struct frame_head *head, uint8_t out[sizeof(struct frame_head)])
{
    struct writer writer = writer_make(out, sizeof *head);
    write_u64(&writer, head->user);
    write_u64(&writer, head->token);
    write_u16(&writer, head->kind);
    write_bytes(&writer, head->user_bytes, sizeof head->user_bytes);
    assert(!writer.failed && !writer.left);
}

void fabric_head_read(struct frame_head *head, const uint8_t data[sizeof(struct frame_head)])
{
    struct reader in = reader_make(data, sizeof *head);
    head->user = read_u64(&in);
    head->token = read_u64(&in);
    head->kind = read_u16(&in);
    read_copy(&in, head->user_bytes, sizeof head->user_bytes);
}
