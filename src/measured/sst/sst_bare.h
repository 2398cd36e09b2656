#pragma once
/* bare: one-sided reads and writes without a table, the lower limit of a table's times.
 * They go over memory that two processes map, where caches do the work, or over
 * libfabric's tcp, where the processor of the other process must serve them.
 *
 * Node 0 reads and writes rows of other nodes. One process owns all these rows: in the
 * paper network adapters serve the rows without their processors, and several processes
 * that take turns on one core would measure the scheduler. */

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
    uint32_t count; /* operations of each kind, or round trips */
    uint64_t seed;
    /* For operations: all sizes, each with 1 to `rows` rows at once. */
    const uint32_t *sizes; /* bytes of a row, multiples of 8 */
    uint32_t size_count;
    uint32_t rows;
};

/* Medians, in us. */
struct bare_times {
    double total; /* until the operations on all rows have completed */
    double post;  /* until all operations are posted; NaN for memory, where nothing is posted */
};

/* times[size][rows - 1]; if the medium is not on this machine, NaN, and `missing` says why. */
struct bare_result {
    struct bare_times times[BARE_SIZES_MAX][BARE_ROWS_MAX];
    char missing[BARE_REASON_SIZE];
};

/* Measures operations on one or several rows at once. The owner touches the rows between two
 * operations. */
MUST_CHECK enum err bare_operate(const struct bare_job *job, struct bare_result *result,
                                 struct why *why);

/* Measures round trips: each process polls a word that the other changes, and answers with its
 * own. The log is crowd_memory. If the medium is not on this machine, the log is empty, and
 * `missing` says why. */
MUST_CHECK enum err bare_trips(const struct bare_job *job, struct trip_log *log,
                               char missing[BARE_REASON_SIZE], struct why *why);
