#pragma once
/* store: what a program asks of the store, and what it is answered. Pure.
 *
 * A client numbers its requests. One that is not answered in time is sent again, perhaps to another
 * server, with the same number: then it takes effect once, and the answer is that of the first
 * time. For this, a client has at most STORE_WINDOW requests under way. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_NAME    "store" /* of the service */
#define STORE_KEY_MAX 250
#define STORE_WINDOW  64

#define STORE_VALUE_MAX  (64u << 20) /* bytes of a value */
#define STORE_SINGLE_MAX 65000       /* of one that fits into a message with its key */

/* What a program sends to the service begins with one of these bytes. The answer to a request is an
 * answer, or the parts of one: those have forms of their own (wire/store_parts.h). */
enum store_call {
    STORE_CALL_REQUEST = 1, /* the rest is a request */
    STORE_CALL_CARE = 2,    /* the rest is what an operator asks: care.h */
    STORE_CALL_SCAN = 3,    /* wire/scan.h */
    STORE_CALL_OPEN = 8,    /* a request whose value comes in parts; the rest is its head */
    STORE_CALL_PART = 9,    /* a part of such a value */
};

enum store_op {
    STORE_GET = 1,
    STORE_PUT,
    STORE_DELETE,
    STORE_INCR, /* the value is a decimal number below 2^64 */
    STORE_DECR, /* not below 0 */
    STORE_APPEND,
    STORE_PREPEND,
    STORE_TOUCH, /* the value stays; the time to live is a new one */
};

/* Nanoseconds of the longest time to live: 100 years. */
#define STORE_TTL_MAX (UINT64_C(36500) * 86400 * 1000000000)

/* A request that changes something does so only if the key ... */
enum store_condition {
    STORE_ALWAYS,
    STORE_IF_ABSENT,
    STORE_IF_PRESENT,
    STORE_IF_VERSION, /* has that version */
};

struct store_request {
    enum store_op op;
    enum store_condition condition;
    bool again;       /* it was sent before; a refusal of the first copy does not count any more */
    uint32_t flags;   /* STORE_PUT: kept with the value, for the client */
    uint64_t client;  /* a random number of the program; not 0 */
    uint32_t number;  /* of the request, from 1 */
    uint64_t version; /* STORE_IF_VERSION */
    uint64_t delta;   /* STORE_INCR, STORE_DECR */
    int64_t patience; /* nanoseconds that the client waits, above 0 */
    /* STORE_PUT, STORE_TOUCH: nanoseconds until the key expires; 0: it never does. Other changes of
     * a value keep the moment at which it expires. */
    uint64_t ttl;
    uint32_t key_size, value_size;
    const void *key, *value; /* borrowed */
};

enum store_status {
    STORE_DONE,
    STORE_ABSENT,      /* there is no such key */
    STORE_CONFLICT,    /* the condition does not hold; `version` is what the key has, 0: absent */
    STORE_UNKNOWN,     /* no answer in time: it may have happened, or may still happen */
    STORE_UNAVAILABLE, /* too few servers; it did not happen */
    STORE_BUSY,        /* too many requests; it did not happen */
    STORE_FULL,        /* no space; it did not happen */
    STORE_TOO_LARGE,
    STORE_NOT_NUMBER, /* the value is none, or the sum is too large */
    STORE_MALFORMED,
};

struct store_answer {
    enum store_status status;
    uint32_t flags;
    uint64_t version; /* STORE_DONE: of the value that was read, or of the change */
    uint64_t ttl;     /* STORE_GET: nanoseconds until the key expires; 0: it never does */
    uint32_t value_size;
    const void *value; /* borrowed. STORE_GET, and the new number of STORE_INCR and STORE_DECR */
};

/* Bytes that the functions below write. */
size_t store_request_size(const struct store_request *request);
size_t store_answer_size(const struct store_answer *answer);
/* Return how many bytes they wrote; 0: there is no room for all. */
size_t store_request_write(const struct store_request *request, void *out, size_t room);
size_t store_answer_write(const struct store_answer *answer, void *out, size_t room);
/* The same without the value, which belongs behind it. */
#define STORE_HEAD_MAX (64 + STORE_KEY_MAX) /* bytes that they write, at most */
size_t store_request_write_head(const struct store_request *request, void *out, size_t room);
size_t store_answer_write_head(const struct store_answer *answer, void *out, size_t room);
/* Read a head, which may be followed by anything: `value` is NULL. They return its bytes, 0:
 * nonsense, or it is not whole. */
size_t store_request_read_head(struct store_request *request, const void *bytes, size_t size);
size_t store_answer_read_head(struct store_answer *answer, const void *bytes, size_t size);
/* False: nonsense. Keys and values point into the bytes. */
bool store_request_read(struct store_request *request, const void *bytes, size_t size);
bool store_answer_read(struct store_answer *answer, const void *bytes, size_t size);

const char *store_status_text(enum store_status status); /* a few words */
