/* Tests the requests to ping, its answers and its packets: any bytes are refused, or are
 * exactly what our writer writes. A change to a packet stays inside its payload. */
#include "fuzz.h"
#include "services/ping/ping_wire.h"

static void packet_try(const uint8_t *data, size_t size)
{
    uint8_t *payload = malloc(size + 1);
    assert(payload);
    memcpy(payload, data, size);
    struct ping_packet before, after;
    bool good = ping_packet_read(&before, payload, (uint32_t)size);
    assert(ping_packet_touch(payload, (uint32_t)size, 7) == good);
    if (good) {
        assert(ping_packet_read(&after, payload, (uint32_t)size));
        assert(after.path_count == before.path_count || after.path_count == before.path_count + 1);
        if (after.path_count > before.path_count)
            assert(ping_packet_path(payload, before.path_count) == 7);
        bool turned = ping_packet_turn(payload, (uint32_t)size, 8, 300);
        assert(turned == (before.kind == PING_THERE));
    } else {
        assert(!memcmp(payload, data, size));
    }
    free(payload);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t again[PING_ANSWER_MAX + PING_REQUEST_MAX];
    struct ping_request request;
    struct ping_answer answer;
    if (ping_request_read(&request, data, size) == 0) {
        assert(ping_request_write(&request, again) == size);
        assert(!memcmp(again, data, size));
    }
    if (ping_answer_read(&answer, data, size) == 0) {
        assert(ping_answer_write(&answer, again) == size);
        assert(!memcmp(again, data, size));
    }
    packet_try(data, size);
    return 0;
}
