#pragma once
/* udp_wire: the three datagrams of the udp transport and the parcel that opens
 * a pipe, byte by byte. Pure; docs/protocol.md has them in tables. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/transport.h"

#define UDP_VERSION      1
#define UDP_HEAD_SIZE    12
#define UDP_FRAME_SIZE   (UDP_HEAD_SIZE + 16 + sizeof(struct frame_head)) /* before the body */
#define UDP_RETURN_SIZE  (UDP_HEAD_SIZE + 34)                             /* before the acks */
#define UDP_ASK_SIZE     (UDP_HEAD_SIZE + 9)
#define UDP_ACKS_MAX     64
#define UDP_WINDOW_MAX   512
#define UDP_SELECTED     64 /* frames that `selected` tells of */
#define UDP_DATAGRAM_MAX (UDP_FRAME_SIZE + FRAME_BODY_MAX)

static_assert(UDP_RETURN_SIZE + 16 * UDP_ACKS_MAX <= UDP_DATAGRAM_MAX, "one buffer fits all");

enum udp_kind {
    UDP_FRAME = 1, /* outlet to inlet: a frame */
    UDP_RETURN,    /* inlet to outlet: what arrived, what was released, acknowledgements */
    UDP_ASK,       /* outlet to inlet: acknowledgements have come; say where you are */
};

struct udp_frame {
    uint64_t sequence;  /* of the frame, from 0 */
    uint64_t confirmed; /* acknowledgements that have come: all below this number */
    struct frame_head head;
    uint32_t size;
    const uint8_t *body; /* in the datagram */
};

struct udp_return {
    uint64_t received; /* all frames below this number have come */
    uint64_t selected; /* bit i: so has frame received + 1 + i */
    uint64_t released; /* how many were released: credit */
    uint64_t first;    /* the number of the first acknowledgement below */
    uint16_t count;
    struct acknowledgement acks[UDP_ACKS_MAX];
};

struct udp_ask {
    uint64_t confirmed;
    uint8_t answer; /* wants a UDP_RETURN */
};

struct udp_datagram {
    enum udp_kind kind;
    uint64_t pipe; /* the receiver's number of it */
    union {
        struct udp_frame frame;
        struct udp_return back;
        struct udp_ask ask;
    };
};

/* Writes all but a frame's body, which follows it. Returns the size. */
size_t udp_write(const struct udp_datagram *datagram, uint8_t *out, size_t size);

/* An end of a pipe, as it is told to the other before there are datagrams. */
struct udp_end {
    uint64_t pipe;   /* the teller's number of it */
    uint16_t window; /* frames that it takes, 1 .. UDP_WINDOW_MAX */
};

void udp_end_write(const struct udp_end *end, struct parcel *out);

/* -EPROTO: not ours. */
MUST_CHECK int udp_end_read(struct udp_end *end, const struct parcel *in);
MUST_CHECK int udp_read(struct udp_datagram *datagram, const uint8_t *in, size_t size);
