#pragma once
/* sst_member: one process of 'weft sst demo', and what it tells the demo.
 *
 * It takes steps: the next one when every live member has taken the one before. It
 * takes the member with the lowest id for the leader. Ten times a second it publishes
 * how it has been doing: data first, their guard after. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weft/sst.h>

#include "base/err.h"
#include "cli/core/call.h"

#define SST_MEMBER_NAME  12
#define SST_MEMBER_RATES 8

/* The row. */
struct sst_member_row {
    uint64_t step;
    uint64_t leader;
    uint64_t beats;                   /* guards the two after it */
    double load;                      /* processor time of the last sample, of its time */
    uint32_t rates[SST_MEMBER_RATES]; /* steps a second, the last one first */
    uint32_t pid;
    char name[SST_MEMBER_NAME];
};

enum sst_member_column {
    SST_MEMBER_STEP,
    SST_MEMBER_LEADER,
    SST_MEMBER_LOAD,
    SST_MEMBER_RATE,
    SST_MEMBER_BEATS,
    SST_MEMBER_PID,
    SST_MEMBER_WHO,
    SST_MEMBER_COLUMNS,
};
extern const struct sst_column sst_member_columns[SST_MEMBER_COLUMNS];

enum sst_member_state {
    SST_MEMBER_WAITS, /* for its turn */
    SST_MEMBER_RUNS,
    SST_MEMBER_LEFT,
    SST_MEMBER_REFUSED, /* `why` says what it could not do */
};

/* In memory that the member and the demo share; whoever is killed leaves it as it was.
 * All atomics are written by the member alone, relaxed, but the state, whose store releases
 * what was written before it: the demo loads it with acquire. */
struct sst_member_report {
    _Atomic int state;       /* of enum sst_member_state */
    _Atomic int go;          /* written by the demo: the one that waits may join */
    _Atomic uint64_t epoch;  /* the last one told */
    _Atomic uint64_t epochs; /* how many were told */
    _Atomic uint64_t step;
    _Atomic uint64_t leader;     /* taken for it now */
    _Atomic uint64_t agreements; /* times that all came to take the same one for it */
    _Atomic uint64_t failures;   /* deaths of others it was told of */
    _Atomic int64_t failed_at;   /* the last of those; ripc_now */
    _Atomic int64_t joined_at;
    _Atomic bool expelled;
    struct sst_stats stats; /* before it left */
    enum err err;           /* why it was refused, with ... */
    struct why why;
};

struct sst_member {
    const struct call *call; /* whose options describe the context */
    ripc_id table, id;
    enum sst_design design;
    uint32_t rows_wanted;
    bool waits; /* for `go` */
    char name[SST_MEMBER_NAME];
    int life; /* a pipe: its end is ours */
    struct sst_member_report *report;
};

/* All of it, in a process that has no context yet. */
void sst_member_run(const struct sst_member *member);
