/* floor: the times that the machine itself allows. A round trip is one or more
 * cache lines written by one core and read by the other, in each direction; a
 * stream is a ring with two indices; a long item is one memcpy between the memory
 * of two processes. It makes none of the checks that a library has to make. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "measured/payload.h"
#include "measured/sides.h"
#include "transport/clock.h"

#define LINE         64
#define RING_SLOTS   1024
#define LETTER_SLOTS 16 /* so many of the largest short message fit the shared memory */

/* --- there and back --- */

/* A message in shared memory. The sender writes `turn` last, with release; a
 * receiver that reads it with acquire sees the rest. It shares the first cache
 * line with the payload, so that a message of 64 B is one line. */
struct letter {
    _Atomic uint64_t turn;
    unsigned char text[];
};

static void letter_send(struct letter *letter, struct pair *pair, uint64_t number)
{
    memcpy(letter->text, pair->own, pair->job->size - sizeof letter->turn);
    atomic_store_explicit(&letter->turn, number + 1, memory_order_release);
}

static uint64_t letter_take(struct letter *letter, struct pair *pair, uint64_t number)
{
    while (atomic_load_explicit(&letter->turn, memory_order_acquire) != number + 1)
        ;
    return payload_sum(letter->text, pair->job->size - sizeof letter->turn);
}

/* Returns the place of message `number` of a role. Messages of one line use one
 * slot; larger ones use several in turn, as in a ring, because it is slower to
 * write into memory that the other core has just read. */
static struct letter *letter_at(const struct pair *pair, int role, uint64_t number)
{
    size_t stride = (pair->job->size + LINE - 1) / LINE * LINE;
    uint64_t slots = pair->job->size > LINE ? LETTER_SLOTS : 1;
    return (struct letter *)(pair->memory + ((uint64_t)role * slots + number % slots) * stride);
}

static void floor_ping(struct pair *pair)
{
    int mine = pair->role, theirs = !pair->role;
    uint64_t total = pair_total(pair), sums = 0;
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        if (pair->role == 0)
            letter_send(letter_at(pair, mine, i), pair, i);
        sums += letter_take(letter_at(pair, theirs, i), pair, i);
        if (pair->role == 1)
            letter_send(letter_at(pair, mine, i), pair, i);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (sums != total * payload_sum(pair->own, pair->job->size - sizeof(uint64_t)))
        pair_fail(pair, "the messages received differ from those sent");
    if (pair->role == 1)
        pair_stop(pair);
}

/* --- one way --- */

struct ring {
    _Alignas(LINE) _Atomic uint64_t head; /* read so far; written by the receiver, with release */
    _Alignas(LINE) _Atomic uint64_t tail; /* sent so far; written by the sender, with release */
    _Alignas(LINE) unsigned char slots[RING_SLOTS][LINE];
};

static void ring_send(struct pair *pair, struct ring *ring, uint64_t total)
{
    uint64_t room = RING_SLOTS; /* the sender may write up to here; then it reads the head again */
    for (uint64_t i = 0; i < total; i++) {
        while (i == room)
            room = atomic_load_explicit(&ring->head, memory_order_acquire) + RING_SLOTS;
        payload_number(pair->own, i);
        memcpy(ring->slots[i % RING_SLOTS], pair->own, LINE);
        atomic_store_explicit(&ring->tail, i + 1, memory_order_release);
    }
}

static void ring_take(struct pair *pair, struct ring *ring, uint64_t total)
{
    uint64_t ready = 0;
    for (uint64_t i = 0; i < total; i++) {
        uint64_t number;
        while (i == ready) {
            atomic_store_explicit(&ring->head, i, memory_order_release);
            ready = atomic_load_explicit(&ring->tail, memory_order_acquire);
        }
        memcpy(&number, ring->slots[i % RING_SLOTS], sizeof number);
        pair_arrival(pair, number);
        if (i % (RING_SLOTS / 8) == 0)
            atomic_store_explicit(&ring->head, i, memory_order_release);
    }
}

static void floor_stream(struct pair *pair)
{
    struct ring *ring = (struct ring *)pair->memory;
    if (pair->job->size != LINE)
        pair_fail(pair, "the ring of the floor has slots of %d bytes only", LINE);
    pair_meet(pair);
    pair_start(pair);
    if (pair->role == 0) {
        ring_send(pair, ring, pair_total(pair));
        pair_stop(pair);
    } else {
        ring_take(pair, ring, pair_total(pair));
        pair_arrivals_end(pair);
    }
    pair_meet(pair); /* both must be done before the memory goes away */
}

/* --- long --- */

/* The state of one buffer: each role writes its own counter, with release. */
struct hand_over {
    _Alignas(LINE) _Atomic uint64_t ready; /* how often it was filled */
    _Alignas(LINE) _Atomic uint64_t taken; /* how often it was copied */
};

static void long_send(struct pair *pair, struct hand_over *hands, unsigned char *buffers)
{
    uint64_t total = pair_total(pair);
    size_t size = pair->job->size;
    for (int i = 0; i < PAIR_DEPTH; i++)
        payload_make(buffers + i * size, size);
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total + PAIR_DEPTH; i++) {
        struct hand_over *hand = &hands[i % PAIR_DEPTH];
        uint64_t round = i / PAIR_DEPTH;
        while (atomic_load_explicit(&hand->taken, memory_order_acquire) != round)
            cpu_relax();
        if (i >= PAIR_DEPTH && (i - PAIR_DEPTH + 1) % pair->job->count == 0)
            pair_lap(pair);
        if (i >= total)
            continue;
        payload_number(buffers + i % PAIR_DEPTH * size, i);
        atomic_store_explicit(&hand->ready, round + 1, memory_order_release);
    }
}

static void long_take(struct pair *pair, struct hand_over *hands, const unsigned char *buffers)
{
    uint64_t total = pair_total(pair);
    size_t size = pair->job->size;
    pair_meet(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        struct hand_over *hand = &hands[i % PAIR_DEPTH];
        unsigned char *own = pair->own + i % PAIR_DEPTH * size;
        while (atomic_load_explicit(&hand->ready, memory_order_acquire) != i / PAIR_DEPTH + 1)
            cpu_relax();
        memcpy(own, buffers + i % PAIR_DEPTH * size, size);
        atomic_store_explicit(&hand->taken, i / PAIR_DEPTH + 1, memory_order_release);
        if (memcmp(own, &i, sizeof i) != 0)
            pair_fail(pair, "item %llu is out of order", (unsigned long long)i);
    }
    pair_check(pair, pair->own + (total - 1) % PAIR_DEPTH * size, size, total - 1);
    pair_stop(pair);
}

static void floor_long(struct pair *pair)
{
    struct hand_over *hands = (struct hand_over *)pair->memory;
    unsigned char *buffers = pair->memory + 4096;
    if (pair->role == 0)
        long_send(pair, hands, buffers);
    else
        long_take(pair, hands, buffers);
    pair_meet(pair);
}

static void floor_run(struct pair *pair)
{
    switch (pair->job->kind) {
    case JOB_PING:
        floor_ping(pair);
        break;
    case JOB_STREAM:
        floor_stream(pair);
        break;
    case JOB_LONG:
        floor_long(pair);
        break;
    default:
        pair_missing(pair, "the floor does not measure this job");
    }
}

const struct side side_floor = {"floor", floor_run};
