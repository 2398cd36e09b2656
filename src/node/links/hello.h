#pragma once
/* hello: the messages that the two ends of a link exchange, and the rows that they flood, as bytes.
 * Each message is the payload of a packet of service 0 to a neighbour (or, for `seen`, to a
 * server). It ends with a hash of itself, so that a damaged message is rejected. docs/protocol.md
 * has the layouts. Pure. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "node/links/link_state.h"

enum hello_type { HELLO = 1, HELLO_ROWS, HELLO_SEEN };

/* One end of a link, as it describes itself. The session counts how often the link went down. */
struct hello_end {
    uint64_t incarnation; /* 0: no hello received */
    uint32_t session;
};

struct link_hello {
    node_id server;
    uint32_t port;
    struct hello_end self;
    struct hello_end heard; /* the end from which it last received a hello */
    uint64_t layout;        /* hash of the rows' columns: a server with another layout is ignored */
    uint64_t digest;        /* hash of all rows that the sender has */
};

#define HELLO_SIZE 60

/* The head of a message with rows. Messages are numbered, and each is acknowledged before the next
 * is sent. */
struct hello_rows {
    uint32_t self_session, peer_session; /* a message of another session is ignored */
    uint32_t sequence;                   /* 0: no rows, only the acknowledgement */
    uint32_t acknowledged;
    bool more; /* the sender has more new rows; the next message follows at once */
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

/* Returns the type of an intact message, or 0 if it is damaged or of an unknown type. */
unsigned hello_type(const uint8_t *bytes, size_t size);
void hello_read(const uint8_t *bytes, struct link_hello *hello);
/* Returns false if the count does not match the size. */
bool hello_rows_read(const uint8_t *bytes, size_t size, struct hello_rows *rows);
void hello_row_read(const uint8_t *bytes, uint32_t index, struct link_report *report);
void hello_seen_read(const uint8_t *bytes, struct link_seen *seen);
