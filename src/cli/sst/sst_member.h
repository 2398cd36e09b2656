#pragma once
/* sst_member: one process of 'weft sst demo', and its reports to the demo.
 *
 * It takes the next step when every live member has taken the one before. It regards the
 * member with the lowest id as the leader. Ten times a second it publishes its load and its
 * rates: the data first, then their guard. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <weft/sst.h>

#include "base/err.h"
#include "cli/core/call.h"

#define SST_MEMBER_NAME  12
#define SST_MEMBER_RATES 8

struct sst_member_row {
    uint64_t step;
    uint64_t leader;
    uint64_t beats;                   /* guards the two columns after it */
    double load;                      /* processor time over real time, of the last sample */
    uint32_t rates[SST_MEMBER_RATES]; /* steps a second, newest first */
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
    SST_MEMBER_WAITS, /* until it may join */
    SST_MEMBER_RUNS,
    SST_MEMBER_LEFT,
    SST_MEMBER_REFUSED, /* it failed; `why` has the reason */
};

/* In memory that the member and the demo share; it stays unchanged after the member is killed.
 * Only the member writes the atomics (except `go`), relaxed; but it stores `state` with release,
 * after everything else, and the demo loads it with acquire. */
struct sst_member_report {
    _Atomic int state;       /* of enum sst_member_state */
    _Atomic int go;          /* written by the demo: a member that waits may join */
    _Atomic uint64_t epoch;  /* the last epoch that was announced to it */
    _Atomic uint64_t epochs; /* how many were announced */
    _Atomic uint64_t step;
    _Atomic uint64_t leader;     /* the current leader */
    _Atomic uint64_t agreements; /* how often all members agreed on a new leader */
    _Atomic uint64_t failures;   /* deaths of other members that it noticed */
    _Atomic int64_t failed_at;   /* time of the last of these; ripc_now */
    _Atomic int64_t joined_at;
    _Atomic bool expelled;
    struct sst_stats stats; /* taken before it left */
    enum err err;           /* of a failure, with ... */
    struct why why;
};

struct sst_member {
    const struct call *call; /* its options describe the context */
    ripc_id table, id;
    enum sst_design design;
    uint32_t rows_wanted;
    bool waits; /* for `go` */
    char name[SST_MEMBER_NAME];
    int life; /* a pipe; the process ends when it is closed */
    struct sst_member_report *report;
};

/* Runs a member, in a process that has no context yet. */
void sst_member_run(const struct sst_member *member);
