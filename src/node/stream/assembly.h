#pragma once
/* assembly: the receiver's window: puts segments into order. Pure.
 *
 * The next segment in order is used where it arrived. Segments that arrive early, or that the
 * service does not take yet, are kept in memory of a fixed size: each segment has its place by its
 * number. The sender may send as many segments ahead as there are places, so a place is always
 * free. */

#include <stdbool.h>
#include <stdint.h>

#include "node/stream/segment.h"

/* A segment that is kept. */
struct assembly_segment {
    uint64_t check; /* of its message */
    uint64_t digest;
    uint32_t size;
    uint32_t taken; /* bytes that the service has taken already */
    uint8_t flags;
};

struct assembly {
    struct assembly_segment *segments; /* borrowed: `window` of them */
    uint8_t *memory;                   /* borrowed: SEGMENT_BYTES_MAX for each of them */
    uint32_t window;                   /* a power of two */
    uint32_t kept;
    uint64_t base;                           /* the next segment that the service gets */
    uint64_t words[SEGMENT_WINDOW_MAX / 64]; /* a bit for each place that is in use */
    uint32_t repeats;                        /* segments that arrived twice */
};

enum assembly_verdict {
    ASSEMBLY_NEXT,   /* it is the next in order; assembly_step, or assembly_keep */
    ASSEMBLY_EARLY,  /* assembly_keep */
    ASSEMBLY_REPEAT, /* it was received before; counted */
    ASSEMBLY_BEYOND, /* the sender had no credit for it */
};

void assembly_init(struct assembly *assembly, struct assembly_segment *segments, uint8_t *memory,
                   uint32_t window);

enum assembly_verdict assembly_judge(struct assembly *assembly, uint64_t sequence);
/* Copies the bytes of a segment into its place. `taken` bytes of it were used already. */
void assembly_keep(struct assembly *assembly, const struct segment *segment, uint32_t taken);
/* The kept segment that is next in order, and its bytes; NULL: it has not arrived. */
struct assembly_segment *assembly_first(struct assembly *assembly, const uint8_t **bytes);
/* The service has taken the next segment. */
void assembly_step(struct assembly *assembly);
/* Fills base, limit, repeats and bitmap. */
void assembly_answer(const struct assembly *assembly, struct segment_ack *ack);
void assembly_check(const struct assembly *assembly); /* asserts its invariants */
