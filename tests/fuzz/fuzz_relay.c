/* Tests the messages between programs and nodes about datagrams, lines and names: any bytes
 * are refused, or are exactly what our writer writes. */
#include "fuzz.h"
#include "transport/routed/stream.h"
#include "wire/directory.h"
#include "wire/relay.h"

static void relay_try(const uint8_t *data, size_t size)
{
    uint8_t again[RELAY_HEAD_SIZE];
    struct relay_message message;
    if (relay_read(&message, data, size))
        return;
    relay_write(&message, again);
    assert(!memcmp(again, data, sizeof again));
    assert(message.size == size - RELAY_HEAD_SIZE && message.size <= RELAY_BODY_MAX);
    struct stream_head head;
    if (stream_head_read(&head, message.body, message.size) == 0) {
        stream_head_write(&head, again);
        assert(!memcmp(again, message.body, STREAM_HEAD_SIZE));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct directory_message message;
    static uint8_t again[DIRECTORY_MESSAGE_MAX];
    relay_try(data, size);
    if (directory_read(&message, data, size) == 0) {
        assert(directory_write(&message, again) == size);
        assert(!memcmp(again, data, size));
    }
    return 0;
}
