/* Tests datagrams of the udp transport: a datagram is refused, or has the same bytes when written
 * again, and its body is inside the input. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "transport/datagram/datagram_wire.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pipe_datagram datagram;
    uint8_t again[PIPE_DATAGRAM_MAX];
    int result = pipe_datagram_read(&datagram, data, size);
    assert(result == 0 || result == -EPROTO);
    if (result)
        return 0;
    size_t head = pipe_datagram_write(&datagram, again, sizeof again), body = 0;
    if (datagram.kind == DATAGRAM_FRAME) {
        body = datagram.frame.size;
        assert(body <= FRAME_BODY_MAX && datagram.frame.body + body == data + size);
    }
    assert(head + body == size && memcmp(again, data, head) == 0);
    return 0;
}
