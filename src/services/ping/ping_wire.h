#pragma once
/* ping_wire: the requests to ping, its answers, and the packet that travels, byte by byte
 * (docs/protocol.md, "ping"). Pure; a reader accepts only messages whose fields are all valid.
 *
 * A program sends PING_START to the ping service of its server. It gets an answer for each ping,
 * PING_REPLY or PING_LOST, in the order of events, and PING_END after the last; or only
 * PING_REFUSED. The program chooses the token, which all answers repeat. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/service.h>

#define PING_SERVICE     2
#define PING_VERSION     1
#define PING_REQUEST_MAX 64
#define PING_PATH_MAX    64 /* servers that a packet records */
#define PING_SIZE_MIN    16 /* of a packet's payload: no room for a path */
#define PING_SIZE_MAX    WEFT_PAYLOAD_MAX
#define PING_ANSWER_MAX  (64 + 4 * PING_PATH_MAX)
#define PING_TIMEOUT_MAX (3600 * INT64_C(1000000000))

/* Payload in which so many servers have room to sign. */
#define PING_SIZE_OF_PATH(servers) (PING_SIZE_MIN + 4 * (servers))

/* ---- requests ---- */

enum ping_request_kind {
    PING_START = 1,
    PING_STOP, /* ends the run that this client started with that token; PING_END follows at once */
};

struct ping_request {
    enum ping_request_kind kind;
    uint32_t token;
    /* The rest is for PING_START. */
    bool to_key;
    weft_server server;    /* 0 if to_key */
    struct weft_key key;   /* zeroes unless to_key */
    uint32_t count;        /* at least 1 */
    uint16_t size;         /* of the payload: PING_SIZE_MIN to PING_SIZE_MAX */
    bool quiet;            /* only PING_END, no answer for each ping */
    int64_t interval_nsec; /* between two pings; 0: send each when the previous one is answered or
                            * lost */
    int64_t timeout_nsec;  /* after which a ping is lost; 1 to PING_TIMEOUT_MAX */
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
    int64_t round_nsec; /* round trip */
    weft_server server; /* the server that answered */
    uint8_t hops_there;
    uint8_t hops_back;
    uint16_t touches;   /* servers that handled it, there and back, without its source */
    uint8_t path_turn;  /* index in the path of the server that answered; path_count: there was
                         * no room */
    uint8_t path_count; /* servers that signed, there and back, as many as there was room for */
    weft_server path[PING_PATH_MAX];
    /* PING_LOST, PING_REFUSED */
    uint8_t error; /* errno: ETIMEDOUT, or the reason why it could not be sent */
    /* PING_END */
    uint32_t sent, received, lost;
    uint32_t late;                           /* answers that came after their timeout, or twice */
    int64_t least_nsec, most_nsec, sum_nsec; /* of answers that came in time */
};

size_t ping_answer_write(const struct ping_answer *answer, uint8_t out[PING_ANSWER_MAX]);
int ping_answer_read(struct ping_answer *answer, const void *bytes, size_t size); /* -EPROTO */

/* ---- the packet ----
 *
 *    0  version (1)
 *    1  kind: 1 there, 2 back (1)
 *    2  hops on the way there, once the packet has turned (1)
 *    3  index in the path of the server where it turned (1)
 *    4  sequence (4)
 *    8  number of servers that touched it (2)
 *   10  number of servers that signed (1)
 *   11  zeroes (5)
 *   16  the servers that signed (4 each), as many as the payload has room for
 *
 * The packet's identity says to which run of its source it belongs. */

enum ping_packet_kind { PING_THERE = 1, PING_BACK };

struct ping_packet {
    enum ping_packet_kind kind;
    uint32_t sequence;
    uint8_t hops_there;
    uint8_t path_turn;
    uint8_t path_count;
    uint16_t touches;
};

/* Fills a zeroed payload of `size` bytes in memory. */
void ping_packet_write(void *payload, uint32_t size, uint32_t sequence);
/* False: malformed. */
bool ping_packet_read(struct ping_packet *packet, const void *payload, uint32_t size);
weft_server ping_packet_path(const void *payload, unsigned index); /* below path_count */
/* A server that handles the packet is counted, and signs if there is room. False: malformed. */
bool ping_packet_touch(void *payload, uint32_t size, weft_server server);
/* The destination handles the packet and will send it back. False: malformed. */
bool ping_packet_turn(void *payload, uint32_t size, weft_server server, unsigned hops);
