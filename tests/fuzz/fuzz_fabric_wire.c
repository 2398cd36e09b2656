/* Tests messages of the fabric transport: any bytes are refused, or are exactly one message, with
 * the same bytes when written again. */
#include <string.h>

#include "base/check.h"
#include "transport/fabric/fabric_wire.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame_try(const struct fabric_message *message, const uint8_t *data, size_t size)
{
    struct frame_head head;
    uint8_t again[sizeof head];
    assert(message->size <= FRAME_BODY_MAX && size == (size_t)FABRIC_FRAME_SIZE + message->size);
    fabric_head_read(&head, data + FABRIC_HEADER_SIZE);
    fabric_head_write(&head, again);
    assert(memcmp(again, data + FABRIC_HEADER_SIZE, sizeof again) == 0);
}

static void return_try(const struct fabric_message *message, const uint8_t *data, size_t size)
{
    assert(message->kind == FABRIC_RETURN && message->count <= FABRIC_ACKS_MAX);
    assert(size == FABRIC_HEADER_SIZE + (size_t)message->count * FABRIC_ACK_SIZE);
    for (unsigned i = 0; i < message->count; i++) {
        const uint8_t *at = data + FABRIC_HEADER_SIZE + (size_t)i * FABRIC_ACK_SIZE;
        struct acknowledgement ack;
        uint8_t again[FABRIC_ACK_SIZE];
        fabric_ack_read(&ack, at);
        fabric_ack_write(&ack, again);
        assert(memcmp(again, at, sizeof again) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fabric_message message;
    uint8_t again[FABRIC_HEADER_SIZE];
    if (!fabric_message_read(&message, data, size))
        return 0;
    assert(size <= FABRIC_MESSAGE_MAX);
    fabric_message_write(&message, again);
    assert(memcmp(again, data, sizeof again) == 0);
    if (message.kind == FABRIC_FRAME)
        frame_try(&message, data, size);
    else if (message.kind == FABRIC_PROBE)
        assert(size == FABRIC_HEADER_SIZE); /* a probe is only the header */
    else
        return_try(&message, data, size);
    return 0;
}
