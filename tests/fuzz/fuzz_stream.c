/* Tests two ends of a stream, between which the script delays, loses, duplicates and reorders
 * datagrams, lets time pass, and ends the stream; and, if its first byte permits, forges datagrams.
 * Both ends keep their invariants, and without forgeries the received bytes are those that were
 * sent, in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/routed/stream.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PUT,
    STEP_SEND,
    STEP_CARRY,
    STEP_LOSE,
    STEP_FORGE,
    STEP_TIME,
    STEP_END,
    STEP_COUNT
};

enum { WAYS = 64, STEPS_MAX = 512, LINE = 77 };

struct flight {
    unsigned to;
    size_t size;
    uint8_t *bytes; /* a separate block, for sanitizers */
};

struct end {
    struct stream stream;
    size_t put, took; /* in bytes; the n-th byte is a function of n and the end */
};

struct scene {
    struct end ends[2];
    struct flight ways[WAYS];
    unsigned way_count;
    bool forged;
    nsec now;
};

static uint8_t byte_at(unsigned end, size_t index)
{
    return (uint8_t)(index * 31 + (index >> 8) + end * 7);
}

static void stream_check(const struct stream *stream)
{
    uint64_t sent = stream->ours.sent - stream->ours.base,
             next = stream->ours.next - stream->ours.base;
    assert(sent <= next && next <= STREAM_SEGMENTS);
    assert(!stream->ended || stream->ending);
    assert(!stream_has_room(stream) || next < STREAM_SEGMENTS);
}

static void fly(struct scene *scene, unsigned to, const uint8_t *bytes, size_t size)
{
    if (scene->way_count == WAYS)
        return; /* lost */
    struct flight *flight = &scene->ways[scene->way_count++];
    *flight = (struct flight){.to = to, .size = size, .bytes = malloc(size ? size : 1)};
    assert(flight->bytes);
    if (size)
        memcpy(flight->bytes, bytes, size);
}

static void end_put(struct scene *scene, unsigned i, size_t size)
{
    struct end *end = &scene->ends[i];
    uint8_t bytes[STREAM_SEGMENT_MAX];
    if (!stream_has_room(&end->stream) || !size)
        return;
    for (size_t j = 0; j < size; j++)
        bytes[j] = byte_at(i, end->put + j);
    stream_put(&end->stream, bytes, size);
    end->put += size;
}

static void end_send(struct scene *scene, unsigned i)
{
    struct stream_head head;
    const uint8_t *body;
    size_t size;
    uint8_t bytes[STREAM_DATAGRAM_MAX];
    unsigned count = 0;
    while (stream_next(&scene->ends[i].stream, scene->now, &head, &body, &size)) {
        count++;
        assert(count <= STREAM_SEGMENTS + 2); /* the loop must end */
        assert(size <= STREAM_SEGMENT_MAX);
        stream_head_write(&head, bytes);
        if (size)
            memcpy(bytes + STREAM_HEAD_SIZE, body, size);
        fly(scene, 1 - i, bytes, STREAM_HEAD_SIZE + size);
    }
    assert(stream_due(&scene->ends[i].stream) > scene->now);
}

static void land(struct scene *scene, const struct flight *flight, bool slow)
{
    struct end *end = &scene->ends[flight->to];
    struct stream_head head;
    int result = stream_head_read(&head, flight->bytes, flight->size);
    assert(result == 0 || result == -EPROTO);
    if (result || head.line != LINE)
        return;
    uint8_t again[STREAM_HEAD_SIZE];
    stream_head_write(&head, again);
    assert(memcmp(again, flight->bytes, sizeof again) == 0);
    size_t size = flight->size - STREAM_HEAD_SIZE;
    if (!stream_heard(&end->stream, &head, size, scene->now) || slow)
        return;
    for (size_t i = 0; i < size && !scene->forged; i++)
        assert(flight->bytes[STREAM_HEAD_SIZE + i] == byte_at(1 - flight->to, end->took + i));
    end->took += size;
    stream_took(&end->stream);
}

static void flight_end(struct scene *scene, unsigned which)
{
    free(scene->ways[which].bytes);
    scene->ways[which] = scene->ways[--scene->way_count];
}

static void scene_step(struct scene *scene, struct reader *in, bool forging)
{
    unsigned what = read_u8(in), end = what >> 7;
    switch ((enum step)((what & 127) % STEP_COUNT)) {
    case STEP_PUT:
        end_put(scene, end, read_u16(in) % (STREAM_SEGMENT_MAX + 1));
        break;
    case STEP_SEND:
        end_send(scene, end);
        break;
    case STEP_CARRY: { /* once or twice; accepted or not */
        unsigned how = read_u8(in), which = how & 63;
        if (which < scene->way_count)
            land(scene, &scene->ways[which], how & 64);
        if (which < scene->way_count && !(how & 128))
            flight_end(scene, which);
        break;
    }
    case STEP_LOSE:
        if (scene->way_count)
            flight_end(scene, read_u8(in) % scene->way_count);
        break;
    case STEP_FORGE: {
        size_t size = read_u8(in);
        size = size < in->left ? size : in->left;
        const uint8_t *bytes = read_bytes(in, size);
        if (forging)
            fly(scene, end, bytes, size);
        scene->forged |= forging;
        break;
    }
    case STEP_TIME:
        scene->now += (nsec)1 << read_u8(in) % 34;
        (void)stream_is_lost(&scene->ends[end].stream, scene->now);
        break;
    case STEP_END:
    case STEP_COUNT:
        stream_end(&scene->ends[end].stream);
        break;
    }
    for (unsigned i = 0; i < 2; i++)
        stream_check(&scene->ends[i].stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct reader in = reader_make(data, size);
    unsigned start = read_u8(&in);
    assert(scene);
    for (unsigned i = 0; i < 2; i++) {
        struct stream *stream = &scene->ends[i].stream;
        stream_init(stream, LINE, i == 0, 0);
        if (start & 2) /* the numbers wrap around */
            stream->ours.base = stream->ours.sent = stream->ours.next = stream->expected =
                UINT32_MAX - 2;
    }
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(scene, &in, start & 1);
    for (unsigned i = 0; i < 2 && !scene->forged; i++)
        assert(scene->ends[i].took <= scene->ends[1 - i].put);
    while (scene->way_count)
        flight_end(scene, 0);
    free(scene);
    return 0;
}
