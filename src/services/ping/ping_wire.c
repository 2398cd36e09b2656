#include "services/ping/ping_wire.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"

enum {
    KIND_AT = 1,
    HOPS_AT = 2,
    TURN_AT = 3,
    SEQUENCE_AT = 4,
    TOUCHES_AT = 8,
    COUNT_AT = 10,
    PATH_AT = PING_SIZE_MIN,
};

/* ---- requests ---- */

size_t ping_request_write(const struct ping_request *request, uint8_t bytes[PING_REQUEST_MAX])
{
    struct writer out = writer_make(bytes, PING_REQUEST_MAX);
    write_u8(&out, PING_VERSION);
    write_u8(&out, (uint8_t)request->kind);
    write_u32(&out, request->token);
    if (request->kind == PING_START) {
        write_u8(&out, request->to_key);
        if (request->to_key)
            write_bytes(&out, request->key.bytes, sizeof request->key.bytes);
        else
            write_u32(&out, request->server);
        write_u32(&out, request->count);
        write_u16(&out, request->size);
        write_u8(&out, request->quiet);
        write_u64(&out, (uint64_t)request->interval_nsec);
        write_u64(&out, (uint64_t)request->timeout_nsec);
    }
    assert(!out.failed);
    return PING_REQUEST_MAX - out.left;
}

static bool read_flag(struct reader *in)
{
    uint8_t value = read_u8(in);
    in->failed |= value > 1;
    return value == 1;
}

static void start_read(struct reader *in, struct ping_request *request)
{
    request->to_key = read_flag(in);
    if (request->to_key)
        read_copy(in, request->key.bytes, sizeof request->key.bytes);
    else
        request->server = read_u32(in);
    request->count = read_u32(in);
    request->size = read_u16(in);
    request->quiet = read_flag(in);
    request->interval_nsec = (int64_t)read_u64(in);
    request->timeout_nsec = (int64_t)read_u64(in);
    in->failed |= !request->count;
    in->failed |= request->size < PING_SIZE_MIN || request->size > PING_SIZE_MAX;
    in->failed |= request->interval_nsec < 0 || request->interval_nsec > PING_TIMEOUT_MAX;
    in->failed |= request->timeout_nsec < 1 || request->timeout_nsec > PING_TIMEOUT_MAX;
}

int ping_request_read(struct ping_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *request = (struct ping_request){0};
    in.failed |= read_u8(&in) != PING_VERSION;
    request->kind = (enum ping_request_kind)read_u8(&in);
    request->token = read_u32(&in);
    if (request->kind == PING_START)
        start_read(&in, request);
    else
        in.failed |= request->kind != PING_STOP;
    return in.failed || in.left ? -EPROTO : 0;
}

/* ---- answers ---- */

static void reply_write(struct writer *out, const struct ping_answer *answer)
{
    write_u32(out, answer->sequence);
    write_u64(out, (uint64_t)answer->round_nsec);
    write_u32(out, answer->server);
    write_u8(out, answer->hops_there);
    write_u8(out, answer->hops_back);
    write_u16(out, answer->touches);
    write_u8(out, answer->path_turn);
    write_u8(out, answer->path_count);
    for (unsigned i = 0; i < answer->path_count; i++)
        write_u32(out, answer->path[i]);
}

static void reply_read(struct reader *in, struct ping_answer *answer)
{
    answer->sequence = read_u32(in);
    answer->round_nsec = (int64_t)read_u64(in);
    answer->server = read_u32(in);
    answer->hops_there = read_u8(in);
    answer->hops_back = read_u8(in);
    answer->touches = read_u16(in);
    answer->path_turn = read_u8(in);
    answer->path_count = read_u8(in);
    in->failed |= answer->round_nsec < 0 || answer->path_count > PING_PATH_MAX;
    in->failed |= answer->path_turn > answer->path_count;
    for (unsigned i = 0; !in->failed && i < answer->path_count; i++)
        answer->path[i] = read_u32(in);
}

static void end_write(struct writer *out, const struct ping_answer *answer)
{
    write_u32(out, answer->sent);
    write_u32(out, answer->received);
    write_u32(out, answer->lost);
    write_u32(out, answer->late);
    write_u64(out, (uint64_t)answer->least_nsec);
    write_u64(out, (uint64_t)answer->most_nsec);
    write_u64(out, (uint64_t)answer->sum_nsec);
}

static void end_read(struct reader *in, struct ping_answer *answer)
{
    answer->sent = read_u32(in);
    answer->received = read_u32(in);
    answer->lost = read_u32(in);
    answer->late = read_u32(in);
    answer->least_nsec = (int64_t)read_u64(in);
    answer->most_nsec = (int64_t)read_u64(in);
    answer->sum_nsec = (int64_t)read_u64(in);
    in->failed |= (uint64_t)answer->received + answer->lost > answer->sent;
    in->failed |= answer->least_nsec < 0 || answer->most_nsec < answer->least_nsec;
    in->failed |= answer->sum_nsec < answer->most_nsec;
}

size_t ping_answer_write(const struct ping_answer *answer, uint8_t bytes[PING_ANSWER_MAX])
{
    struct writer out = writer_make(bytes, PING_ANSWER_MAX);
    write_u8(&out, PING_VERSION);
    write_u8(&out, (uint8_t)answer->kind);
    write_u32(&out, answer->token);
    switch (answer->kind) {
    case PING_REPLY:
        reply_write(&out, answer);
        break;
    case PING_LOST:
        write_u32(&out, answer->sequence);
        write_u8(&out, answer->error);
        break;
    case PING_END:
        end_write(&out, answer);
        break;
    case PING_REFUSED:
        write_u8(&out, answer->error);
        break;
    }
    assert(!out.failed);
    return PING_ANSWER_MAX - out.left;
}

int ping_answer_read(struct ping_answer *answer, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *answer = (struct ping_answer){0};
    in.failed |= read_u8(&in) != PING_VERSION;
    answer->kind = (enum ping_answer_kind)read_u8(&in);
    answer->token = read_u32(&in);
    switch (answer->kind) {
    case PING_REPLY:
        reply_read(&in, answer);
        break;
    case PING_LOST:
        answer->sequence = read_u32(&in);
        answer->error = read_u8(&in);
        in.failed |= !answer->error;
        break;
    case PING_END:
        end_read(&in, answer);
        break;
    case PING_REFUSED:
        answer->error = read_u8(&in);
        in.failed |= !answer->error;
        break;
    default:
        in.failed = true;
    }
    return in.failed || in.left ? -EPROTO : 0;
}

/* ---- the packet ---- */

/* How many signatures a payload has room for. */
static unsigned path_room(uint32_t size)
{
    uint32_t room = (size - PATH_AT) / 4;
    return room < PING_PATH_MAX ? room : PING_PATH_MAX;
}

static void put(uint8_t *at, uint32_t value, unsigned size)
{
    struct writer out = writer_make(at, size);
    write_integer(&out, value, size);
}

static uint32_t get(const uint8_t *at, unsigned size)
{
    struct reader in = reader_make(at, size);
    return (uint32_t)read_integer(&in, size);
}

void ping_packet_write(void *payload, uint32_t size, uint32_t sequence)
{
    uint8_t *bytes = payload;
    assert(size >= PING_SIZE_MIN);
    bytes[0] = PING_VERSION;
    bytes[KIND_AT] = PING_THERE;
    put(bytes + SEQUENCE_AT, sequence, 4);
}

bool ping_packet_read(struct ping_packet *packet, const void *payload, uint32_t size)
{
    const uint8_t *bytes = payload;
    if (size < PING_SIZE_MIN || bytes[0] != PING_VERSION)
        return false;
    *packet = (struct ping_packet){
        .kind = (enum ping_packet_kind)bytes[KIND_AT],
        .sequence = get(bytes + SEQUENCE_AT, 4),
        .hops_there = bytes[HOPS_AT],
        .path_turn = bytes[TURN_AT],
        .path_count = bytes[COUNT_AT],
        .touches = (uint16_t)get(bytes + TOUCHES_AT, 2),
    };
    return (packet->kind == PING_THERE || packet->kind == PING_BACK) &&
           packet->path_count <= path_room(size) && packet->path_turn <= packet->path_count;
}

weft_server ping_packet_path(const void *payload, unsigned index)
{
    assert(index < PING_PATH_MAX);
    return get((const uint8_t *)payload + PATH_AT + 4 * (size_t)index, 4);
}

bool ping_packet_touch(void *payload, uint32_t size, weft_server server)
{
    struct ping_packet packet;
    if (!ping_packet_read(&packet, payload, size))
        return false;
    uint8_t *bytes = payload;
    if (packet.touches < UINT16_MAX)
        put(bytes + TOUCHES_AT, packet.touches + 1u, 2);
    if (packet.path_count < path_room(size)) {
        put(bytes + PATH_AT + 4 * (size_t)packet.path_count, server, 4);
        bytes[COUNT_AT]++;
    }
    return true;
}

bool ping_packet_turn(void *payload, uint32_t size, weft_server server, unsigned hops)
{
    struct ping_packet packet;
    if (!ping_packet_read(&packet, payload, size) || packet.kind != PING_THERE)
        return false;
    uint8_t *bytes = payload;
    bytes[KIND_AT] = PING_BACK;
    bytes[HOPS_AT] = hops < UINT8_MAX ? (uint8_t)hops : UINT8_MAX;
    bytes[TURN_AT] = packet.path_count;
    return ping_packet_touch(payload, size, server);
}
