#pragma once
/* trace: what a context did lately, readable by `weft ripc trace` while it runs.
 *
 * A ring of fixed records in a file of the domain's folder (FOLDER/trace.HEX of
 * the context). A reader switches it on for a few seconds at a time, by a word
 * in the file: a context that nobody watches pays one relaxed load per event,
 * and one whose watcher was killed soon pays no more either. The reader trusts
 * nothing in the file, the writer reads only the switch. */

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

/* The writing side; only its switch is for all to see. */
struct trace {
    /* In the file: until when to write, 0 for off. Readers write it, in other
     * processes; we write 0 when it has passed. It orders nothing: relaxed. */
    _Atomic int64_t *until;
};

/* -EBUSY if somebody alive has the file; or as the system says. */
MUST_CHECK int trace_open(struct trace **trace, const char *folder, uint64_t context);
void trace_close(struct trace *trace); /* removes the file */

/* Any thread. */
void trace_write(struct trace *trace, enum trace_event event, uint64_t service, uint64_t peer,
                 int64_t value);

/* True while somebody watches. A NULL trace is never on. */
static inline bool trace_on(const struct trace *trace)
{
    return trace && atomic_load_explicit(trace->until, memory_order_relaxed) != 0;
}

#define trace_event(trace, ...)                                                                    \
    do {                                                                                           \
        if (trace_on(trace))                                                                       \
            trace_write((trace), __VA_ARGS__);                                                     \
    } while (0)

/* The reading side: it takes what is written from its opening on. Several may
 * read at once. */
struct trace_reader;

/* -ENOENT: no such context; -EPROTO: not a trace. */
MUST_CHECK int trace_reader_open(struct trace_reader **reader, const char *folder,
                                 uint64_t context);
void trace_reader_close(struct trace_reader *reader); /* what nobody watches goes off by itself */

/* Takes records not yet seen, oldest first, and returns how many; `lost` grows
 * by those that were overwritten before they were read. To be called at least
 * every second: it keeps the trace on. -EPIPE: all is read and the context is
 * gone; -EPROTO: the file is nonsense. */
int trace_reader_take(struct trace_reader *reader, struct trace_record *out, unsigned max,
                      uint64_t *lost);
const char *trace_event_name(uint32_t event); /* "?" for nonsense */
