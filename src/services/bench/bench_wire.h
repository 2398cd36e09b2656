#pragma once
/* bench_wire: what a program asks bench for and what that answers, byte by byte (docs/protocol.md,
 * "bench"). Pure; whatever a stranger sends is either a message whose fields are possible, or
 * nothing.
 *
 * Every request gets one answer at once: how it stands, or why it was refused. Whoever started a
 * run gets one more when it ends by itself. What a server counts is never set back: a program asks
 * twice and takes the difference. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/service.h>

#define BENCH_SERVICE      3
#define BENCH_VERSION      1
#define BENCH_REQUEST_MAX  64
#define BENCH_PORTS_MAX    32
#define BENCH_ANSWER_MAX   (128 + 40 * BENCH_PORTS_MAX)
#define BENCH_SIZE_MIN     8 /* of a packet's payload */
#define BENCH_SIZE_MAX     WEFT_PAYLOAD_MAX
#define BENCH_DURATION_MAX (3600 * INT64_C(1000000000))
#define BENCH_RATE_MAX     UINT64_C(100000000000) /* a hundred million packets a second */

enum bench_mode {
    BENCH_IDLE,
    BENCH_SATURATE, /* neighbours over the first `links` ports that are up, as much as these take */
    BENCH_SERVERS,  /* other servers that can be reached, each packet to any of them, at a rate */
    BENCH_KEYS,     /* random keys, at a rate */
};

enum bench_request_kind {
    BENCH_START = 1,
    BENCH_STOP,
    BENCH_REPORT,
};

struct bench_request {
    enum bench_request_kind kind;
    uint32_t token;
    /* The rest is BENCH_START's. */
    enum bench_mode mode;  /* not BENCH_IDLE */
    uint8_t links;         /* BENCH_SATURATE: 1 to BENCH_PORTS_MAX; else 0 */
    uint16_t size;         /* of a payload: BENCH_SIZE_MIN to BENCH_SIZE_MAX */
    uint64_t rate_milli;   /* packets in 1,000 s, 1 to BENCH_RATE_MAX; BENCH_SATURATE: 0 */
    int64_t duration_nsec; /* 1 to BENCH_DURATION_MAX */
};

size_t bench_request_write(const struct bench_request *request, uint8_t out[BENCH_REQUEST_MAX]);
int bench_request_read(struct bench_request *request, const void *bytes, size_t size); /* -EPROTO */

/* Bytes are of payloads as they travel. */
struct bench_count {
    uint64_t packets;
    uint64_t bytes;
};

struct bench_port {
    struct bench_count in;  /* that arrived over it for this server */
    struct bench_count out; /* that BENCH_SATURATE sent over it */
    weft_server neighbour;  /* WEFT_NOBODY: the link is not up */
};

struct bench_answer {
    uint32_t token;
    uint8_t error; /* errno of a refusal, and then there is no more; EBUSY: one runs already */
    enum bench_mode mode;        /* of what runs now */
    int64_t now;                 /* of the server's clock */
    int64_t started, ends;       /* of the last run; 0: there was none */
    struct bench_count sent;     /* all modes; those that were refused not */
    struct bench_count received; /* for this server */
    uint64_t received_hops;      /* the sum */
    uint64_t refused;            /* could not be sent: queue full, no way, no buffer */
    uint64_t strange;            /* nonsense that arrived */
    uint32_t port_count;
    struct bench_port ports[BENCH_PORTS_MAX];
};

size_t bench_answer_write(const struct bench_answer *answer, uint8_t out[BENCH_ANSWER_MAX]);
int bench_answer_read(struct bench_answer *answer, const void *bytes, size_t size); /* -EPROTO */
