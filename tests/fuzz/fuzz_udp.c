/* Datagrams of the udp transport: refused, or written again byte by byte the
 * same, with the body inside the input. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "transport/datagram/datagram_wire.h"

/* Not fuzz.h: a link of a topology and a link of a transport are two things. */
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
