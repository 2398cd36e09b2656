/* Tests both ends of a ring whose segment another process overwrites at will. The input is a
 * script: calls of the sender, calls of the receiver, and what is written over the segment in
 * between. All results are inside the segment (a separate block, for sanitizers), and both ends
 * keep their invariants. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/ring/ring.h"

/* Declared here, because fuzz.h, which also declares it, includes headers of topology. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
    STEP_PUSH,
    STEP_COLLECT,
    STEP_ROOM,
    STEP_PULL,
    STEP_RELEASE,
    STEP_ACKNOWLEDGE,
    STEP_WRITE, /* a word anywhere before the area */
    STEP_STAMP, /* for the slot that the receiver waits for, with a size and an offset */
    STEP_HEAD,  /* how far the receiver claims to have released */
    STEP_ANSWER,
    STEP_COUNT,
};

/* As ring.c lays it out. */
#define SLOTS        8
#define ANSWERS_AT   128
#define ANSWER_SIZE  32
#define SLOTS_AT     (ANSWERS_AT + 2 * SLOTS * ANSWER_SIZE)
#define SLOT_SIZE    128
#define AREA_AT      (SLOTS_AT + SLOTS * SLOT_SIZE)
#define STEPS_MAX    512
#define SLOT_TOKEN   16
#define SLOT_BODY    32
#define ANSWER_TOKEN 8

struct scene {
    uint8_t *segment;
    size_t size;
    struct ring_sender sender;
    struct ring_receiver receiver;
    struct frame held[SLOTS];
    unsigned held_count;
    uint32_t sum; /* keeps the compiler from removing the reads */
};

static void put_u64(struct scene *scene, size_t at, uint64_t value)
{
    assert(at + sizeof value <= scene->size);
    memcpy(scene->segment + at, &value, sizeof value);
}

static void frame_check(struct scene *scene, const struct frame *frame)
{
    assert(frame->size <= FRAME_BODY_MAX);
    assert(frame->body >= scene->segment + SLOTS_AT);
    assert(frame->body + frame->size <= scene->segment + scene->size);
    for (uint32_t i = 0; i < frame->size; i++)
        scene->sum += frame->body[i];
}

static void step_push(struct scene *scene, struct reader *in)
{
    static uint8_t body[FRAME_BODY_MAX + 1];
    size_t size = read_u16(in) % (sizeof body + 1);
    struct frame_head head = {.kind = 1, .token = read_u8(in)};
    struct iovec pieces[2] = {{body, size / 2}, {body + size / 2, size - size / 2}};
    int result = ring_push(&scene->sender, &head, pieces, 2);
    assert(result == 0 || result == -EAGAIN || result == -EPROTO || result == -EMSGSIZE);
    assert(scene->sender.tail - scene->sender.head <= SLOTS);
}

static void step_collect(struct scene *scene, struct reader *in)
{
    struct acknowledgement acks[16];
    unsigned max = read_u8(in) % 17;
    uint32_t before = scene->sender.tokens;
    int count = ring_collect(&scene->sender, acks, max);
    assert(count == -EPROTO || (count >= 0 && (unsigned)count <= max && (unsigned)count <= before));
}

static void step_pull(struct scene *scene, struct reader *in)
{
    bool credit;
    unsigned max = read_u8(in) % (SLOTS + 1 - scene->held_count);
    int count = ring_pull(&scene->receiver, scene->held + scene->held_count, max, &credit);
    assert(count == -EPROTO || (count >= 0 && (unsigned)count <= max));
    for (int i = 0; i < count; i++)
        frame_check(scene, &scene->held[scene->held_count++]);
    assert(scene->receiver.next - scene->receiver.head <= SLOTS);
}

static void step_release(struct scene *scene, struct reader *in)
{
    uint8_t which = read_u8(in);
    struct frame forged = {.cookie = which, .size = which};
    if (which < SLOTS && which < scene->held_count) {
        ring_release(&scene->receiver, &scene->held[which]);
        scene->held[which] = scene->held[--scene->held_count];
    } else if (scene->held_count == 0) {
        ring_release(&scene->receiver, &forged);
    }
    assert(scene->receiver.head <= scene->receiver.next);
}

static void step_stamp(struct scene *scene, struct reader *in)
{
    size_t slot = SLOTS_AT + (scene->receiver.next % SLOTS) * SLOT_SIZE;
    uint64_t size = read_u32(in);
    put_u64(scene, slot + SLOT_TOKEN, read_u8(in));
    put_u64(scene, slot + SLOT_BODY, read_u32(in));
    put_u64(scene, slot, size << 32 | (uint32_t)(scene->receiver.next + 1));
}

static void step_answer(struct scene *scene, struct reader *in)
{
    uint64_t next = scene->sender.answer_next;
    size_t answer = ANSWERS_AT + (next % (2 * SLOTS)) * ANSWER_SIZE;
    put_u64(scene, answer + ANSWER_TOKEN, read_u64(in));
    put_u64(scene, answer, next + 1);
}

static void scene_step(struct scene *scene, struct reader *in)
{
    switch ((enum step)(read_u8(in) % STEP_COUNT)) {
    case STEP_PUSH:
        step_push(scene, in);
        break;
    case STEP_COLLECT:
        step_collect(scene, in);
        break;
    case STEP_ROOM:
        (void)ring_room(&scene->sender, read_u16(in) % (FRAME_BODY_MAX + 1));
        break;
    case STEP_PULL:
        step_pull(scene, in);
        break;
    case STEP_RELEASE:
        step_release(scene, in);
        break;
    case STEP_ACKNOWLEDGE: {
        int result = ring_acknowledge(&scene->receiver, read_u8(in), 0);
        assert(result == 0 || result == -EINVAL);
        break;
    }
    case STEP_WRITE: {
        size_t at = (read_u16(in) % AREA_AT) & ~(size_t)7;
        put_u64(scene, at, read_u64(in));
        break;
    }
    case STEP_STAMP:
        step_stamp(scene, in);
        break;
    case STEP_HEAD:
        put_u64(scene, 0, scene->sender.head + read_u8(in) - 4);
        break;
    case STEP_ANSWER:
    case STEP_COUNT:
        step_answer(scene, in);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ring_shape shape = ring_shape_make(SLOTS, 1);
    struct scene scene = {.size = ring_size(&shape)};
    assert(scene.size == AREA_AT + shape.bytes && scene.size % ANSWERS_AT == 0);
    scene.segment = aligned_alloc(ANSWERS_AT, scene.size);
    assert(scene.segment);
    memset(scene.segment, 0, scene.size);
    assert(ring_sender_init(&scene.sender, scene.segment, &shape) == 0);
    assert(ring_receiver_init(&scene.receiver, scene.segment, &shape) == 0);
    struct reader in = reader_make(data, size);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        scene_step(&scene, &in);
    ring_receiver_fini(&scene.receiver);
    ring_sender_fini(&scene.sender);
    free(scene.segment);
    return scene.sum == UINT32_MAX ? -1 : 0;
}
