#pragma once
/* trace: recent events of a context, readable by `weft ripc trace` while it runs.
 *
 * A trace is a ring of fixed-size records in a file of the domain's folder (FOLDER/trace.HEX of the
 * context). A reader switches it on for a few seconds at a time, by a word in the file. A context
 * that is not watched pays one relaxed load per event; if its watcher was killed, the trace soon
 * switches off. The reader trusts nothing in the file, and the writer reads only the switch. */

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
    X(TRACE_CLOSE, "close") /* a pipe; value: the reason */                                        \
    X(TRACE_UP, "up")       /* a peer process */                                                   \
    X(TRACE_DOWN, "down")                                                                          \
    X(TRACE_BIND, "bind")                                                                          \
    X(TRACE_UNBIND, "unbind")                                                                      \
    X(TRACE_RETIRE, "retire")                                                                      \
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
    uint64_t service; /* of this context */
    uint64_t peer;
    int64_t value; /* bytes or status */
    uint32_t event;
    uint32_t sequence; /* low bits of its index: detects a torn record */
};

/* The writing side; only its switch is public. */
struct trace {
    /* In the file: until when to write, 0 for off. Readers in other processes write it; we write 0
     * when that time has passed. It orders no other data: relaxed. */
    _Atomic int64_t *until;
};

/* -EBUSY if a live process has the file; or a system error. */
MUST_CHECK int trace_open(struct trace **trace, const char *folder, uint64_t context);
void trace_close(struct trace *trace); /* removes the file */

/* From any thread. */
void trace_write(struct trace *trace, enum trace_event event, uint64_t service, uint64_t peer,
                 int64_t value);

/* True while a reader watches. A NULL trace is never on. */
static inline bool trace_on(const struct trace *trace)
{
    return trace && atomic_load_explicit(trace->until, memory_order_relaxed) != 0;
}

#define trace_event(trace, ...)                                                                    \
    do {                                                                                           \
        if (trace_on(trace))                                                                       \
            trace_write((trace), __VA_ARGS__);                                                     \
    } while (0)

/* The reading side. It takes records written after its opening. Several readers may read at the
 * same time. */
struct trace_reader;

/* -ENOENT: no such context; -EPROTO: not a trace. */
MUST_CHECK int trace_reader_open(struct trace_reader **reader, const char *folder,
                                 uint64_t context);
void trace_reader_close(struct trace_reader *reader); /* an unwatched trace switches off by
                                                       * itself */

/* Takes new records, oldest first, and returns their number; adds to `lost` the number of records
 * that were overwritten before they were read. Call it at least once a second: it keeps the trace
 * on. -EPIPE: everything is read and the context has ended; -EPROTO: the file is malformed. */
int trace_reader_take(struct trace_reader *reader, struct trace_record *out, unsigned max,
                      uint64_t *lost);
const char *trace_event_name(uint32_t event); /* "?" for unknown events */
