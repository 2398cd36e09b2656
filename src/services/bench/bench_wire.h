#pragma once
/* bench_wire: the requests to bench and its answers, byte by byte (docs/protocol.md, "bench").
 * Pure; a reader accepts only messages whose fields are all valid.
 *
 * Every request gets one answer at once: the current state, or the reason of a refusal. The program
 * that started a run gets a second answer when the run ends by itself. Counters are never reset: a
 * program asks twice and computes the difference. */

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
#define BENCH_RATE_MAX     UINT64_C(100000000000) /* a hundred million packets per second */

enum bench_mode {
    BENCH_IDLE,
    BENCH_SATURATE, /* to the neighbours over the first `links` ports that are up, as much as the
                     * links carry */
    BENCH_SERVERS,  /* to random other servers that are reachable, at a rate */
    BENCH_KEYS,     /* to random keys, at a rate */
};

enum bench_request_kind {
    BENCH_START = 1,
    BENCH_STOP,
    BENCH_REPORT,
};

struct bench_request {
    enum bench_request_kind kind;
    uint32_t token;
    /* The rest is for BENCH_START. */
    enum bench_mode mode;  /* not BENCH_IDLE */
    uint8_t links;         /* BENCH_SATURATE: 1 to BENCH_PORTS_MAX; else 0 */
    uint16_t size;         /* of a payload: BENCH_SIZE_MIN to BENCH_SIZE_MAX */
    uint64_t rate_milli;   /* packets per 1,000 s, 1 to BENCH_RATE_MAX; BENCH_SATURATE: 0 */
    int64_t duration_nsec; /* 1 to BENCH_DURATION_MAX */
};

size_t bench_request_write(const struct bench_request *request, uint8_t out[BENCH_REQUEST_MAX]);
int bench_request_read(struct bench_request *request, const void *bytes, size_t size); /* -EPROTO */

/* Bytes of full payloads, no headers. */
struct bench_count {
    uint64_t packets;
    uint64_t bytes;
};

struct bench_port {
    struct bench_count in;  /* packets that arrived over the port for this server */
    struct bench_count out; /* packets that BENCH_SATURATE sent over the port */
    weft_server neighbour;  /* WEFT_NOBODY: the link is not up */
};

struct bench_answer {
    uint32_t token;
    uint8_t error; /* errno of a refusal, and then no fields follow; EBUSY: a run is active */
    enum bench_mode mode;        /* of the active run */
    int64_t now;                 /* on the server's clock */
    int64_t started, ends;       /* of the last run; 0: there was none */
    struct bench_count sent;     /* in all modes; without the refused ones */
    struct bench_count received; /* for this server */
    uint64_t received_hops;      /* sum of their hops */
    uint64_t refused;            /* could not be sent: queue full, unreachable, no buffer */
    uint64_t strange;            /* malformed packets that arrived */
    uint32_t port_count;
    struct bench_port ports[BENCH_PORTS_MAX];
};

size_t bench_answer_write(const struct bench_answer *answer, uint8_t out[BENCH_ANSWER_MAX]);
int bench_answer_read(struct bench_answer *answer, const void *bytes, size_t size); /* -EPROTO */
