/* A message of the fabric transport: refused, or exactly one, which is written again byte by byte
 * the same. */
#include <string.h>

#include "base/check.h"
#include "transport/fabric/fabric_wire.h"

/* Not fuzz.h: a link of a topology and a link of a transport are two things. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void frame_try(const struct wire *wire, const uint8_t *data, size_t size)
{
    struct frame_head head;
    uint8_t again[sizeof head];
    assert(wire->size <= FRAME_BODY_MAX && size == (size_t)WIRE_FRAME_SIZE + wire->size);
    wire_read_head(&head, data + WIRE_HEADER_SIZE);
    wire_write_head(&head, again);
    assert(memcmp(again, data + WIRE_HEADER_SIZE, sizeof again) == 0);
}

static void return_try(const struct wire *wire, const uint8_t *data, size_t size)
{
    assert(wire->kind == WIRE_RETURN && wire->count <= WIRE_ACKS_MAX);
    assert(size == WIRE_HEADER_SIZE + (size_t)wire->count * WIRE_ACK_SIZE);
    for (unsigned i = 0; i < wire->count; i++) {
        const uint8_t *at = data + WIRE_HEADER_SIZE + (size_t)i * WIRE_ACK_SIZE;
        struct acknowledgement ack;
        uint8_t again[WIRE_ACK_SIZE];
        wire_read_ack(&ack, at);
        wire_write_ack(&ack, again);
        assert(memcmp(again, at, sizeof again) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wire wire;
    uint8_t again[WIRE_HEADER_SIZE];
    if (!wire_read(&wire, data, size))
        return 0;
    assert(size <= WIRE_SIZE_MAX);
    wire_write(&wire, again);
    assert(memcmp(again, data, sizeof again) == 0);
    if (wire.kind == WIRE_FRAME)
        frame_try(&wire, data, size);
    else
        return_try(&wire, data, size);
    return 0;
}
