#pragma once
/* bare: one-sided reads and writes with nothing around them: what a table cannot beat.
 * Over memory that two processes map, which is a cache line here and there; and over
 * libfabric's tcp, whose reads and writes the other side's processor must serve.
 *
 * A node 0 operates on rows of others. These others are one process, however many
 * rows there are: an adapter would serve them without their processors, and processes
 * that take turns on one core would show the scheduler. */

#include "base/err.h"
#include "measured/sst/sst_trip.h"

#define BARE_ROWS_MAX    7
#define BARE_SIZE_MAX    16384
#define BARE_SIZES_MAX   8
#define BARE_REASON_SIZE 200

enum bare_medium { BARE_MEMORY, BARE_FABRIC, BARE_MEDIUM_COUNT };
enum bare_way { BARE_READS, BARE_WRITES, BARE_WAY_COUNT };

extern const char *const bare_medium_names[BARE_MEDIUM_COUNT];
extern const char *const bare_way_names[BARE_WAY_COUNT];

struct bare_job {
    enum bare_medium medium;
    enum bare_way way;
    uint32_t count; /* operations of a kind, or trips */
    uint64_t seed;
    /* Of operations: all of these, with 1 to `rows` at once. */
    const uint32_t *sizes; /* bytes of a row, multiples of 8 */
    uint32_t size_count;
    uint32_t rows;
};

/* Medians, in us. */
struct bare_times {
    double total; /* of all rows: until the last has completed */
    double post;  /* until all were handed over; NaN where there is no such part */
};

/* times[size][rows - 1]; NaN, and a reason, where the medium is not on this machine. */
struct bare_result {
    struct bare_times times[BARE_SIZES_MAX][BARE_ROWS_MAX];
    char missing[BARE_REASON_SIZE];
};

/* Operations on one row or several at once, which their owners have touched since the
 * last. */
MUST_CHECK enum err bare_operate(const struct bare_job *job, struct bare_result *result,
                                 struct why *why);

/* A word that changes there and is answered here, found by polling: trips there and back.
 * The log is crowd_memory; nothing comes into it, and `missing` says why, if the medium is
 * not here. */
MUST_CHECK enum err bare_trips(const struct bare_job *job, struct trip_log *log,
                               char missing[BARE_REASON_SIZE], struct why *why);
