#pragma once
/* segment: the packets of streams, as they travel (docs/protocol.md). Pure.
 *
 * The payload of a packet of a stream begins with a head of 40 bytes that names the stream at both
 * ends; what follows depends on the kind. All numbers are most significant byte first.
 *
 *    0  kind                  1  flags              2  zeroes (2)
 *    4  check (4): covers everything except itself
 *    8  to: run of the receiving server (8), its number of the stream (8)
 *   24  from: the same of the sending server
 *
 *   OPEN    subject (8), identity (8), first message (8), offset in it (8), place (8)
 *   ACCEPT  limit (8)
 *   DATA    sequence (8), check of the message (8) if LAST, else 0; then the bytes
 *   ACK     base (8), limit (8), place (8), repeats (4), marks (4), then the bitmap: bit 0 of
 *           the first byte is segment base + 1
 *   PROBE, ALIVE  nothing
 *   END     nothing; the flags are the reason */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SEGMENT_HEAD_SIZE   40
#define SEGMENT_DATA_HEAD   56 /* head of a DATA packet, before its bytes */
#define SEGMENT_BYTES_MAX   8844
#define SEGMENT_WINDOW_MAX  256 /* segments */
#define SEGMENT_BITMAP_SIZE (SEGMENT_WINDOW_MAX / 8)
#define SEGMENT_SHORT_MAX   (SEGMENT_HEAD_SIZE + 32 + SEGMENT_BITMAP_SIZE) /* all except DATA */

enum segment_kind {
    SEGMENT_OPEN = 1,
    SEGMENT_ACCEPT,
    SEGMENT_DATA,
    SEGMENT_ACK,
    SEGMENT_PROBE,
    SEGMENT_ALIVE,
    SEGMENT_END,
};

enum segment_flag {
    SEGMENT_LAST = 1,   /* DATA: the message ends here */
    SEGMENT_FINISH = 2, /* DATA: the stream ends here */
};

/* One end of a stream. No two streams have the same one, in any run of any server. */
struct segment_end {
    uint64_t run;
    uint64_t stream; /* 0: not known */
};

struct segment_open {
    uint64_t subject, identity;
    uint64_t message, offset, place; /* where the stream begins: not 0 after a move */
};

struct segment_ack {
    uint64_t base;  /* all segments before it were received */
    uint64_t limit; /* segments before it may be sent */
    uint64_t place; /* acknowledged by the service */
    uint32_t repeats;
    uint32_t marks;
    uint32_t bitmap_size;
    uint8_t bitmap[SEGMENT_BITMAP_SIZE];
};

struct segment {
    uint8_t kind;
    uint8_t flags; /* END: the reason */
    struct segment_end to, from;
    struct segment_open open;
    uint64_t limit;       /* ACCEPT */
    uint64_t sequence;    /* DATA */
    uint64_t check;       /* DATA: of the message */
    const uint8_t *bytes; /* DATA: in the packet */
    uint32_t size;
    uint64_t digest;     /* DATA: of the bytes (digest.h) */
    const uint8_t *copy; /* DATA: of the bytes, where the service wants them; NULL: none was made */
    struct segment_ack ack;
};

/* Adds a segment to the check of its message. */
static inline uint64_t segment_check_add(uint64_t check, uint64_t digest)
{
    check = (check ^ digest) * 0x9e3779b97f4a7c15u;
    return check ^ check >> 32;
}

/* Writes all but the bytes of DATA, and returns the size: SEGMENT_DATA_HEAD for DATA, at most
 * SEGMENT_SHORT_MAX for others. segment->digest is that of the bytes that will follow. */
uint32_t segment_write(const struct segment *segment, uint8_t *out);
/* Completes a head of DATA that was written before its digest was known. The check of the message
 * in it, if it has one, is that of the segments before it. */
void segment_seal(uint8_t *head, uint64_t digest);

/* Reading takes two steps, so that the bytes of DATA may be copied while they are digested. The
 * first checks only that the fields fit into the packet. Then the caller sets segment->digest to
 * that of its bytes if it is DATA, and the second step compares the check: before that, no field is
 * known to be right. False: damaged, or not a segment. */
bool segment_parse(struct segment *segment, const uint8_t *bytes, size_t size);
bool segment_is_whole(const struct segment *segment, const uint8_t *bytes, size_t size);
/* Both steps. */
bool segment_read(struct segment *segment, const uint8_t *bytes, size_t size);
