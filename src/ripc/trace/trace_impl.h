#pragma once
/* trace_impl: the layout of a trace's file. */

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/check.h"
#include "transport/clock.h"
#include "transport/domain.h"

#define TRACE_MAGIC     0x7765667472616331ULL /* "weftrac1"; a different layout has another */
#define TRACE_SLOTS     4096
#define TRACE_HEAD_SIZE 4096
#define TRACE_NAME_SIZE 32

/* How long a reader switches the trace on, and how often it repeats that. */
#define TRACE_WATCH_NSEC   (3 * NSEC_PER_SEC)
#define TRACE_REFRESH_NSEC (1 * NSEC_PER_SEC)

/* Written by the single writer. The sequence is 0 while the other fields change, and the record's
 * number + 1 afterwards: a reader that sees the right sequence before and after has a consistent
 * record. */
struct trace_slot {
    alignas(64) _Atomic uint64_t sequence;
    _Atomic int64_t at;
    _Atomic uint64_t service;
    _Atomic uint64_t peer;
    _Atomic int64_t value;
    _Atomic uint32_t event;
};
static_assert(sizeof(struct trace_slot) == 64, "a line each");

struct trace_file {
    uint64_t magic;
    uint64_t context;
    uint32_t slot_count;
    uint32_t slot_size;
    alignas(64) _Atomic int64_t until;  /* struct trace tells which side writes it */
    alignas(64) _Atomic uint64_t count; /* of all records so far; only the writer writes it,
                                         * with release, after each record */
    alignas(TRACE_HEAD_SIZE) struct trace_slot slots[TRACE_SLOTS];
};

/* "trace.HEX" */
void trace_file_name(char name[TRACE_NAME_SIZE], uint64_t context);
