#pragma once
/* datagram_wire: the format of the three datagrams and of the parcel that opens a pipe. Pure;
 * docs/protocol.md describes them in tables. */

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/transport.h"

#define DATAGRAM_VERSION   1
#define DATAGRAM_HEAD_SIZE 12
#define DATAGRAM_FRAME_SIZE                                                                        \
    (DATAGRAM_HEAD_SIZE + 16 + sizeof(struct frame_head)) /* before the body */
#define DATAGRAM_RETURN_SIZE (DATAGRAM_HEAD_SIZE + 34)    /* before the acknowledgements */
#define DATAGRAM_ASK_SIZE    (DATAGRAM_HEAD_SIZE + 9)
#define DATAGRAM_ACKS_MAX    64
#define DATAGRAM_WINDOW_MAX  512
#define DATAGRAM_SELECTED    64 /* how many frames `selected` describes */
#define PIPE_DATAGRAM_MAX    (DATAGRAM_FRAME_SIZE + FRAME_BODY_MAX)

static_assert(DATAGRAM_RETURN_SIZE + 16 * DATAGRAM_ACKS_MAX <= PIPE_DATAGRAM_MAX,
              "one buffer fits every kind");

enum pipe_datagram_kind {
    DATAGRAM_FRAME = 1, /* outlet to inlet: a frame */
    DATAGRAM_RETURN,    /* inlet to outlet: what arrived, what was released, acknowledgements */
    DATAGRAM_ASK,       /* outlet to inlet: which acknowledgements arrived; may ask for a RETURN */
};

struct datagram_frame {
    uint64_t sequence;  /* of the frame, from 0 */
    uint64_t confirmed; /* all acknowledgements below this number have arrived */
    struct frame_head head;
    uint32_t size;
    const uint8_t *body; /* inside the datagram */
};

struct datagram_return {
    uint64_t received; /* all frames below this number have arrived */
    uint64_t selected; /* bit i: frame received + 1 + i has arrived, too */
    uint64_t released; /* how many frames were released: credit */
    uint64_t first;    /* the number of the first acknowledgement below */
    uint16_t count;
    struct acknowledgement acks[DATAGRAM_ACKS_MAX];
};

struct datagram_ask {
    uint64_t confirmed;
    uint8_t answer; /* whether the sender wants a DATAGRAM_RETURN */
};

struct pipe_datagram {
    enum pipe_datagram_kind kind;
    uint64_t pipe; /* the number that the receiver gave the pipe */
    union {
        struct datagram_frame frame;
        struct datagram_return back;
        struct datagram_ask ask;
    };
};

/* Writes everything but a frame's body, which follows. Returns the size. */
size_t pipe_datagram_write(const struct pipe_datagram *datagram, uint8_t *out, size_t size);

/* Describes one end of a pipe to the other end, before the first datagram. */
struct datagram_end {
    uint64_t pipe;   /* the number that the sender of this parcel gave the pipe */
    uint16_t window; /* frames that it accepts, 1 .. DATAGRAM_WINDOW_MAX */
};

void datagram_end_write(const struct datagram_end *end, struct parcel *out);

/* -EPROTO: invalid. */
MUST_CHECK int datagram_end_read(struct datagram_end *end, const struct parcel *in);
MUST_CHECK int pipe_datagram_read(struct pipe_datagram *datagram, const uint8_t *in, size_t size);
