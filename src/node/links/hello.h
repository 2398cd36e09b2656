#pragma once
/* hello: what the two ends of a link tell each other, and the rows they flood, as bytes. Each
 * message is the payload of a packet to a neighbour (or, `seen`, to a server) of service 0 and
 * ends with a hash of itself: a damaged one is not believed. docs/protocol.md has the layouts.
 * Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/links/link_state.h"

enum hello_type { HELLO = 1, HELLO_ROWS, HELLO_SEEN };

/* One end of a link, as it knows itself. The session counts how often it went down. */
struct hello_end {
    uint64_t incarnation; /* 0: nobody heard */
    uint32_t session;
};

struct link_hello {
    node_id server;
    uint32_t port;
    struct hello_end self;
    struct hello_end heard; /* whom it last heard at the other end */
    uint64_t layout;        /* hash of the rows' columns: who has others is not understood */
    uint64_t digest;        /* of its link state */
};

#define HELLO_SIZE 60

/* The head of a message with rows. It is numbered and is acknowledged before the next is sent. */
struct hello_rows {
    uint32_t self_session, peer_session; /* of another session: not for us */
    uint32_t sequence;                   /* 0: no rows, just the acknowledgement */
    uint32_t acknowledged;
    bool more; /* the sender has rows that we have not; the next message follows at once */
    uint32_t count;
};

#define HELLO_ROWS_HEAD 20
#define HELLO_ROW_SIZE  28
#define HELLO_TAIL      8
#define HELLO_ROWS_MAX                                                                             \
    ((PACKET_PAYLOAD_MAX - HELLO_ROWS_HEAD - HELLO_TAIL) / HELLO_ROW_SIZE) /* in one message */
#define HELLO_SEEN_SIZE 44

static inline uint32_t hello_rows_size(uint32_t count)
{
    return HELLO_ROWS_HEAD + count * HELLO_ROW_SIZE + HELLO_TAIL;
}

void hello_write(const struct link_hello *hello, uint8_t out[HELLO_SIZE]);
void hello_rows_write(const struct hello_rows *rows, const struct link_report *reports,
                      uint8_t *out);
void hello_seen_write(const struct link_seen *seen, uint8_t out[HELLO_SEEN_SIZE]);

/* The type of a message that is whole; 0: damaged, or unknown. */
unsigned hello_type(const uint8_t *bytes, size_t size);
void hello_read(const uint8_t *bytes, struct link_hello *hello);
/* False: the counts do not fit the size. */
bool hello_rows_read(const uint8_t *bytes, size_t size, struct hello_rows *rows);
void hello_row_read(const uint8_t *bytes, uint32_t index, struct link_report *report);
void hello_seen_read(const uint8_t *bytes, struct link_seen *seen);
