#pragma once
/* trace: what a context did lately, readable by `weft ripc trace` while it runs.
 *
 * A ring of fixed records in a file of the domain's folder (FOLDER/trace.HEX of
 * the context). Switched on by a word in it that the reader sets, so a context
 * that nobody watches pays one relaxed load per event. The reader trusts
 * nothing in the file, the writer only reads the switch. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define TRACE_LIST(X)                                                                              \
    X(TRACE_SEND, "send")                                                                          \
    X(TRACE_SEND_LONG, "send-long")                                                                \
    X(TRACE_NO_CREDIT, "no-credit")                                                                \
    X(TRACE_RECEIVE, "receive")                                                                    \
    X(TRACE_PULL, "pull")       /* a long item was copied into a window */                         \
    X(TRACE_PUSH, "push")       /* a long item was written into a return buffer */                 \
    X(TRACE_PENDING, "pending") /* a long item found no window */                                  \
    X(TRACE_DONE, "done")                                                                          \
    X(TRACE_RESOLVE, "resolve")                                                                    \
    X(TRACE_OPEN, "open")   /* a pipe */                                                           \
    X(TRACE_CLOSE, "close") /* a pipe; value: why */                                               \
    X(TRACE_UP, "up")       /* a peer process */                                                   \
    X(TRACE_DOWN, "down")                                                                          \
    X(TRACE_BIND, "bind")                                                                          \
    X(TRACE_UNBIND, "unbind")                                                                      \
    X(TRACE_NOTIFY, "notify")                                                                      \
    X(TRACE_BLOCK, "block") /* a wait went to sleep */

enum trace_event {
#define TRACE_ENUM(name, text) name,
    TRACE_LIST(TRACE_ENUM)
#undef TRACE_ENUM
        TRACE_EVENT_COUNT,
};

struct trace_record {
    int64_t at;       /* nanoseconds, CLOCK_MONOTONIC */
    uint64_t service; /* ours */
    uint64_t peer;
    int64_t value; /* bytes or status */
    uint32_t event;
    uint32_t sequence; /* low bits of its index: tells a torn record */
};

struct trace; /* the writing side */

MUST_CHECK int trace_open(struct trace **trace, const char *folder, uint64_t context);
void trace_close(struct trace *trace); /* removes the file */

void trace_write(struct trace *trace, enum trace_event event, uint64_t service, uint64_t peer,
                 int64_t value);

/* True while somebody watches. A NULL trace is never on. */
bool trace_on(const struct trace *trace);

#define trace_event(trace, ...)                                                                    \
    do {                                                                                           \
        if (trace_on(trace))                                                                       \
            trace_write((trace), __VA_ARGS__);                                                     \
    } while (0)

/* The reading side. */
struct trace_reader;
MUST_CHECK int trace_reader_open(struct trace_reader **reader, const char *folder,
                                 uint64_t context);
void trace_reader_close(struct trace_reader *reader); /* switches off if the last */
/* Takes records not yet seen, oldest first; `lost` counts those overwritten before they were read.
 */
int trace_reader_take(struct trace_reader *reader, struct trace_record *out, unsigned max,
                      uint64_t *lost);
const char *trace_event_name(uint32_t event); /* "?" for nonsense */
