#pragma once
/* bare: one-sided reads and writes without a table. Their times are the lower limit of the times of
 * a table. There are two media: memory that two processes map, and the provider tcp of libfabric,
 * with which the processor of the other process must serve the operations.
 *
 * Node 0 reads and writes the rows of other nodes. One process owns all these rows. In the paper
 * the network adapters of several nodes serve them without their processors; here several owners
 * would take turns on one core, and the figure would measure the scheduler. */

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
    uint32_t count; /* of operations of each kind (bare_operate), or of round trips (bare_trips) */
    uint64_t seed;
    /* For bare_operate only. Every size is measured with 1, 2, ... `rows` rows at once. */
    const uint32_t *sizes; /* bytes of a row, multiples of 8 */
    uint32_t size_count;
    uint32_t rows;
};

/* Medians, in us. */
struct bare_times {
    double total; /* until the operations on all rows have completed */
    double post;  /* until all operations are posted; NaN for memory, where nothing is posted */
};

/* times[i][n - 1] belongs to sizes[i] with n rows at once. If this machine lacks the medium, all
 * times are NaN, and `missing` says what it lacks. */
struct bare_result {
    struct bare_times times[BARE_SIZES_MAX][BARE_ROWS_MAX];
    char missing[BARE_REASON_SIZE];
};

/* Measures operations on one or several rows at once. Between two operations the owner changes or
 * reads the rows, so that they are in its cache, as in real use. */
MUST_CHECK enum err bare_operate(const struct bare_job *job, struct bare_result *result,
                                 struct why *why);

/* Measures round trips: each process polls a word that the other changes, and answers by changing
 * its own. The caller allocates the log with crowd_memory. If this machine lacks the medium, the
 * log is empty, and `missing` says what it lacks. */
MUST_CHECK enum err bare_trips(const struct bare_job *job, struct trip_log *log,
                               char missing[BARE_REASON_SIZE], struct why *why);
