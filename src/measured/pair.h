#pragma once
/* pair: two processes on two cores that talk to each other while one of them
 * counts time. Every way of talking that is measured (ours, sockets, other
 * libraries) is a `side`: one function that both processes run, each in its
 * role. The parent pins them, waits for them, ends them when they take too
 * long, and takes the median of the batches they timed.
 *
 * Batches are short, a tenth of a millisecond or so: whoever is interrupted
 * spoils one of them, and the median does not see it.
 *
 * A pair lives for one measurement: whoever compares runs the sides in turn,
 * several times, so that a disturbance meets all of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PAIR_BATCH_MAX   1000
#define PAIR_REASON_SIZE 160

enum job_kind {
    JOB_PING,      /* short messages there and back */
    JOB_LONG_PING, /* the same with long items, each transfer completed */
    JOB_STREAM,    /* short messages one way */
    JOB_LONG,      /* long items one way, PAIR_DEPTH of them under way */
    JOB_IDLE,      /* nothing at all, for `count` milliseconds */
};

#define PAIR_DEPTH 2 /* long items under way at once, and buffers at each end */

struct job {
    enum job_kind kind;
    size_t size;        /* bytes of a message */
    uint32_t count;     /* messages of a batch */
    uint32_t batches;   /* at most PAIR_BATCH_MAX; one more runs before them, uncounted */
    bool blocking;      /* who waits sleeps at once, instead of polling */
    bool adaptive;      /* ripc waits as it does by default */
    uint32_t idle_usec; /* between two batches: whoever waits falls asleep */
    const char *transports, *provider, *address; /* of ripc_config; NULL: its defaults */
};

struct pair_result {
    double value;  /* seconds of one message (there and back, if it comes back): the median */
    double wall;   /* of all counted batches, in seconds */
    double cpu;    /* processor time that both processes spent a message, in seconds */
    double share;  /* the same in percent of the two cores */
    uint64_t lost; /* of JOB_STREAM: messages that never came ... */
    uint64_t out_of_order; /* ... and those that came after or before their turn */
    bool missing;          /* what the side needs is not on this machine; `reason` says what */
    char reason[PAIR_REASON_SIZE]; /* also where the measurement failed */
};

/* What a role sees of its pair. */
struct pair {
    const struct job *job;
    int role;              /* 0 asks and 1 answers; one-way messages go from 0 to 1 */
    int channel;           /* a socket to the other, for addresses and appointments */
    const char *folder;    /* of this pair alone, empty; removed afterwards */
    unsigned char *memory; /* shared by the two: PAIR_DEPTH buffers of job->size, and a MiB */
    unsigned char *own;    /* of this role alone: as many buffers, payloads already */
    uint64_t sum;          /* payload_sum of message 0 */
    double since;          /* of the batch under way */
    double cpu_since;
    uint32_t batch_count;                     /* laps so far */
    uint64_t arrived, expected, out_of_order; /* of a stream */
    struct pair_shared *shared;
};

struct side {
    const char *name;
    void (*run)(struct pair *pair);
};

/* Runs the side, each role on a core of its own; with fewer than two cores (crowd_cores) nothing
 * is pinned and times mean little. Fails if the system refuses or the side did. A side whose
 * needs are missing is no failure. */
MUST_CHECK enum err pair_run(const struct side *side, const struct job *job,
                             struct pair_result *result, struct why *why);

/* --- for the sides; they end the process where they cannot go on --- */

__attribute__((noreturn, format(printf, 2, 3))) void pair_fail(struct pair *pair,
                                                               const char *format, ...);
__attribute__((noreturn, format(printf, 2, 3))) void pair_missing(struct pair *pair,
                                                                  const char *format, ...);

/* Waits until the other has come here too. */
void pair_meet(struct pair *pair);

/* Sends `size` bytes to the other and takes as many from it. */
void pair_exchange(struct pair *pair, const void *mine, void *theirs, size_t size);

/* Fails unless it is message `number`, whole. */
void pair_check(struct pair *pair, const void *data, size_t size, uint64_t number);

/* Messages that a role must handle: the batch that does not count included. */
uint64_t pair_total(const struct pair *pair);

/* The role that counts time calls pair_start before its first message and
 * pair_lap after each batch of job->count; the first lap is the warm-up. The
 * other calls pair_start and, at its end, pair_stop, for its processor time. */
void pair_start(struct pair *pair);
void pair_lap(struct pair *pair);
void pair_stop(struct pair *pair);

/* The receiver of a stream: a message came, with this number; and, at its end,
 * how many have come. */
void pair_arrival(struct pair *pair, uint64_t number);
void pair_arrivals_end(struct pair *pair);

/* For a side that was told its time by somebody else: seconds a message. */
void pair_report(struct pair *pair, double seconds);
