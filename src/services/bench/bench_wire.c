#include "services/bench/bench_wire.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"

size_t bench_request_write(const struct bench_request *request, uint8_t bytes[BENCH_REQUEST_MAX])
{
    struct writer out = writer_make(bytes, BENCH_REQUEST_MAX);
    write_u8(&out, BENCH_VERSION);
    write_u8(&out, (uint8_t)request->kind);
    write_u32(&out, request->token);
    if (request->kind == BENCH_START) {
        write_u8(&out, (uint8_t)request->mode);
        write_u8(&out, request->links);
        write_u16(&out, request->size);
        write_u64(&out, request->rate_milli);
        write_u64(&out, (uint64_t)request->duration_nsec);
    }
    assert(!out.failed);
    return BENCH_REQUEST_MAX - out.left;
}

static bool start_read(struct reader *in, struct bench_request *request)
{
    request->mode = (enum bench_mode)read_u8(in);
    request->links = read_u8(in);
    request->size = read_u16(in);
    request->rate_milli = read_u64(in);
    request->duration_nsec = (int64_t)read_u64(in);
    if (request->size < BENCH_SIZE_MIN || request->size > BENCH_SIZE_MAX)
        return false;
    if (request->duration_nsec < 1 || request->duration_nsec > BENCH_DURATION_MAX)
        return false;
    if (request->mode == BENCH_SATURATE)
        return request->links >= 1 && request->links <= BENCH_PORTS_MAX && !request->rate_milli;
    return (request->mode == BENCH_SERVERS || request->mode == BENCH_KEYS) && !request->links &&
           request->rate_milli >= 1 && request->rate_milli <= BENCH_RATE_MAX;
}

int bench_request_read(struct bench_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *request = (struct bench_request){0};
    in.failed |= read_u8(&in) != BENCH_VERSION;
    request->kind = (enum bench_request_kind)read_u8(&in);
    request->token = read_u32(&in);
    if (request->kind == BENCH_START)
        in.failed |= !start_read(&in, request);
    else
        in.failed |= request->kind != BENCH_STOP && request->kind != BENCH_REPORT;
    return in.failed || in.left ? -EPROTO : 0;
}

static void count_write(struct writer *out, const struct bench_count *count)
{
    write_u64(out, count->packets);
    write_u64(out, count->bytes);
}

static struct bench_count count_read(struct reader *in)
{
    struct bench_count count;
    count.packets = read_u64(in);
    count.bytes = read_u64(in);
    return count;
}

size_t bench_answer_write(const struct bench_answer *answer, uint8_t bytes[BENCH_ANSWER_MAX])
{
    struct writer out = writer_make(bytes, BENCH_ANSWER_MAX);
    write_u8(&out, BENCH_VERSION);
    write_u32(&out, answer->token);
    write_u8(&out, answer->error);
    if (!answer->error) {
        write_u8(&out, (uint8_t)answer->mode);
        write_u64(&out, (uint64_t)answer->now);
        write_u64(&out, (uint64_t)answer->started);
        write_u64(&out, (uint64_t)answer->ends);
        count_write(&out, &answer->sent);
        count_write(&out, &answer->received);
        write_u64(&out, answer->received_hops);
        write_u64(&out, answer->refused);
        write_u64(&out, answer->strange);
        write_u8(&out, (uint8_t)answer->port_count);
        for (unsigned port = 0; port < answer->port_count; port++) {
            count_write(&out, &answer->ports[port].in);
            count_write(&out, &answer->ports[port].out);
            write_u32(&out, answer->ports[port].neighbour);
        }
    }
    assert(!out.failed);
    return BENCH_ANSWER_MAX - out.left;
}

static void state_read(struct reader *in, struct bench_answer *answer)
{
    answer->mode = (enum bench_mode)read_u8(in);
    answer->now = (int64_t)read_u64(in);
    answer->started = (int64_t)read_u64(in);
    answer->ends = (int64_t)read_u64(in);
    answer->sent = count_read(in);
    answer->received = count_read(in);
    answer->received_hops = read_u64(in);
    answer->refused = read_u64(in);
    answer->strange = read_u64(in);
    answer->port_count = read_u8(in);
    in->failed |= answer->mode > BENCH_KEYS || answer->port_count > BENCH_PORTS_MAX;
    for (unsigned port = 0; !in->failed && port < answer->port_count; port++) {
        answer->ports[port].in = count_read(in);
        answer->ports[port].out = count_read(in);
        answer->ports[port].neighbour = read_u32(in);
    }
}

int bench_answer_read(struct bench_answer *answer, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *answer = (struct bench_answer){0};
    in.failed |= read_u8(&in) != BENCH_VERSION;
    answer->token = read_u32(&in);
    answer->error = read_u8(&in);
    if (!answer->error)
        state_read(&in, answer);
    return in.failed || in.left ? -EPROTO : 0;
}
