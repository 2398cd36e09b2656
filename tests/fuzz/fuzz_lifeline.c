/* Tests the greeting of a lifeline: a message is refused, or has the same bytes when written again.
 * The input is a message, its head followed by its body. */
#include <errno.h>

#include "fuzz.h"
#include "transport/lifeline/lifeline_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct control_head head;
    struct lifeline_hello hello;
    uint8_t again[HELLO_SIZE_MAX], bytes[CONTROL_HEAD_SIZE];
    if (size < CONTROL_HEAD_SIZE)
        return 0;
    int result = control_head_read(&head, data);
    assert(result == 0 || result == -EPROTO);
    if (result == 0) {
        assert(head.size <= CONTROL_BODY_MAX && head.fd_count <= CONTROL_FD_MAX);
        control_head_write(bytes, &head);
        assert(memcmp(bytes, data, sizeof bytes) == 0);
    }
    data += CONTROL_HEAD_SIZE;
    size -= CONTROL_HEAD_SIZE;
    result = greeting_read(&hello, data, size);
    assert(result == 0 || result == -EPROTO || result == -EPROTONOSUPPORT);
    if (result == 0) {
        assert(hello.address.context && hello.card_size <= LIFELINE_CARD_MAX);
        assert(greeting_write(&hello, again) == size && memcmp(again, data, size) == 0);
    }
    return 0;
}
