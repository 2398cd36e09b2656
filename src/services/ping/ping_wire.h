#pragma once
/* ping_wire: what a program asks ping for, what that answers, and the packet that travels, byte by
 * byte (docs/protocol.md, "ping"). Pure; whatever a stranger sends is either a message whose fields
 * are possible, or nothing.
 *
 * A program sends PING_START to the ping service of its server and gets an answer for each ping,
 * PING_REPLY or PING_LOST, as they come, and PING_END after the last; or PING_REFUSED and nothing
 * else. The token is the asker's own and stands in all of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/service.h>

#define PING_SERVICE     2
#define PING_VERSION     1
#define PING_REQUEST_MAX 64
#define PING_PATH_MAX    64 /* servers that a packet remembers */
#define PING_SIZE_MIN    16 /* of a packet's payload: no room for any path */
#define PING_SIZE_MAX    WEFT_PAYLOAD_MAX
#define PING_ANSWER_MAX  (64 + 4 * PING_PATH_MAX)
#define PING_TIMEOUT_MAX (3600 * INT64_C(1000000000))

/* Payload in which every server of a path of so many finds room to sign. */
#define PING_SIZE_OF_PATH(servers) (PING_SIZE_MIN + 4 * (servers))

/* ---- requests ---- */

enum ping_request_kind {
    PING_START = 1,
    PING_STOP, /* what this client started with that token; PING_END comes at once */
};

struct ping_request {
    enum ping_request_kind kind;
    uint32_t token;
    /* The rest is PING_START's. */
    bool to_key;
    weft_server server;  /* else 0 */
    struct weft_key key; /* else zeroes */
    uint32_t count;      /* at least 1 */
    uint16_t size;       /* of the payload: PING_SIZE_MIN to PING_SIZE_MAX */
    bool quiet;          /* only PING_END, no answer for each ping */
    int64_t
        interval_nsec; /* from one to the next; 0: each when the one before is answered or lost */
    int64_t timeout_nsec; /* after which it is lost; 1 to PING_TIMEOUT_MAX */
};

size_t ping_request_write(const struct ping_request *request, uint8_t out[PING_REQUEST_MAX]);
int ping_request_read(struct ping_request *request, const void *bytes, size_t size); /* -EPROTO */

/* ---- answers ---- */

enum ping_answer_kind {
    PING_REPLY = 1,
    PING_LOST,
    PING_END,
    PING_REFUSED,
};

struct ping_answer {
    enum ping_answer_kind kind;
    uint32_t token;
    /* PING_REPLY, PING_LOST */
    uint32_t sequence; /* from 0 */
    /* PING_REPLY */
    int64_t round_nsec; /* there and back */
    weft_server server; /* who answered */
    uint8_t hops_there;
    uint8_t hops_back;
    uint16_t touches;   /* servers that had it in hand, there and back, the first time here not */
    uint8_t path_turn;  /* index in the path of who answered; path_count: it found no room */
    uint8_t path_count; /* servers that signed, there and back; as many as there was room for */
    weft_server path[PING_PATH_MAX];
    /* PING_LOST, PING_REFUSED */
    uint8_t error; /* errno: ETIMEDOUT, or why it could not even be sent */
    /* PING_END */
    uint32_t sent, received, lost;
    uint32_t late; /* answers that came after they were given up, or twice */
    int64_t least_nsec, most_nsec, sum_nsec; /* of those that came in time */
};

size_t ping_answer_write(const struct ping_answer *answer, uint8_t out[PING_ANSWER_MAX]);
int ping_answer_read(struct ping_answer *answer, const void *bytes, size_t size); /* -EPROTO */

/* ---- the packet ----
 *
 *    0  version (1)        1  kind: 1 there, 2 back      2  hops there, once it turned (1)
 *    3  index in the path of who turned it (1)           4  sequence (4)
 *    8  servers that touched it (2)                     10  servers that signed (1)   11  zeroes
 * (5) 16  the servers that signed (4 each), as many as the payload has room for
 *
 * Which run of which server it belongs to is the packet's identity. */

enum ping_packet_kind { PING_THERE = 1, PING_BACK };

struct ping_packet {
    enum ping_packet_kind kind;
    uint32_t sequence;
    uint8_t hops_there;
    uint8_t path_turn;
    uint8_t path_count;
    uint16_t touches;
};

/* In a payload of `size` bytes in memory, zeroed. */
void ping_packet_write(void *payload, uint32_t size, uint32_t sequence);
/* False: nonsense. */
bool ping_packet_read(struct ping_packet *packet, const void *payload, uint32_t size);
weft_server ping_packet_path(const void *payload, unsigned index); /* below path_count */
/* A server has it in hand: counts, and signs if there is room. False: nonsense. */
bool ping_packet_touch(void *payload, uint32_t size, weft_server server);
/* The destination has it in hand, and will send it back. False: nonsense. */
bool ping_packet_turn(void *payload, uint32_t size, weft_server server, unsigned hops);
