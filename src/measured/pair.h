#pragma once
/* pair: two processes on two cores that send messages to each other while one of
 * them measures time. Every way of communication that is measured (ripc, sockets,
 * other libraries) is a `side`: one function that both processes run, each in its
 * role. The parent binds them to cores, waits for them, ends them if they take too
 * long, and takes the median of the batches that they timed.
 *
 * Batches are short, about a tenth of a millisecond, so that an interrupt affects
 * one batch, which does not change the median.
 *
 * A pair runs one measurement. To compare sides, run them in turn, several times,
 * so that a disturbance affects all of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PAIR_BATCH_MAX   1000
#define PAIR_REASON_SIZE 160

enum job_kind {
    JOB_PING,      /* round trips of short messages */
    JOB_LONG_PING, /* round trips of long items; each transfer is completed */
    JOB_STREAM,    /* short messages one way */
    JOB_LONG,      /* long items one way, PAIR_DEPTH of them in flight */
    JOB_IDLE,      /* no messages for `count` milliseconds */
};

#define PAIR_DEPTH 2 /* long items in flight, and buffers at each end */

struct job {
    enum job_kind kind;
    size_t size;        /* bytes of a message */
    uint32_t count;     /* messages in a batch */
    uint32_t batches;   /* at most PAIR_BATCH_MAX; a warm-up batch before them is not counted */
    bool blocking;      /* a waiting process sleeps at once, instead of polling */
    bool adaptive;      /* ripc waits as it does by default */
    uint32_t idle_usec; /* pause between two batches, in which waiting processes fall asleep */
    const char *transports, *provider, *address; /* of ripc_config; NULL: its defaults */
};

struct pair_result {
    double value;          /* median time of one message, or of one round trip, in seconds */
    double wall;           /* duration of all counted batches, in seconds */
    double cpu;            /* processor time of both processes for one message, in seconds */
    double share;          /* the same in percent of the two cores */
    uint64_t lost;         /* JOB_STREAM: messages that did not arrive ... */
    uint64_t out_of_order; /* ... and messages that did not follow the one before them */
    bool missing;          /* something the side needs is not on this machine; see `reason` */
    char reason[PAIR_REASON_SIZE]; /* also set if the measurement failed */
};

/* A pair as one of its roles sees it. */
struct pair {
    const struct job *job;
    int role;              /* 0 asks and 1 answers; one-way messages go from 0 to 1 */
    int channel;           /* a socket to the other role, to exchange addresses and to meet */
    const char *folder;    /* private to this pair, empty at first; removed afterwards */
    unsigned char *memory; /* shared by both: PAIR_DEPTH buffers of job->size, and a MiB */
    unsigned char *own;    /* private: PAIR_DEPTH buffers, already filled with payloads */
    uint64_t sum;          /* payload_sum of message 0 */
    double since;          /* when the current batch began */
    double cpu_since;
    uint32_t batch_count;                     /* batches so far */
    uint64_t arrived, expected, out_of_order; /* of JOB_STREAM */
    uint32_t in_batch;                        /* how many of `arrived` are in the current batch */
    struct pair_shared *shared;
};

struct side {
    const char *name;
    void (*run)(struct pair *pair);
};

/* Runs the side, each role on its own core. With fewer than two cores (crowd_cores) the processes
 * are not bound to cores, and the times mean little. Fails if a system call or the side failed. If
 * something the side needs is missing, it returns OK and sets result->missing. */
MUST_CHECK enum err pair_run(const struct side *side, const struct job *job,
                             struct pair_result *result, struct why *why);

/* --- for the sides --- */

/* End the process, because of a failure or because something it needs is missing. */
__attribute__((noreturn, format(printf, 2, 3))) void pair_fail(struct pair *pair,
                                                               const char *format, ...);
__attribute__((noreturn, format(printf, 2, 3))) void pair_missing(struct pair *pair,
                                                                  const char *format, ...);

/* Waits until the other role has called it, too. */
void pair_meet(struct pair *pair);

/* Sends `size` bytes to the other role and receives as many from it. */
void pair_exchange(struct pair *pair, const void *mine, void *theirs, size_t size);

/* Fails unless the data are message `number`, complete and undamaged. */
void pair_check(struct pair *pair, const void *data, size_t size, uint64_t number);

/* Returns how many messages a role must handle, the warm-up batch included. */
uint64_t pair_total(const struct pair *pair);

/* The role that measures time calls pair_start before its first message and
 * pair_lap after each batch of job->count messages; the first batch is the
 * warm-up. The other role calls pair_start and, at its end, pair_stop, which
 * measure its processor time. */
void pair_start(struct pair *pair);
void pair_lap(struct pair *pair);
void pair_stop(struct pair *pair);

/* For the receiver of a stream: counts a message with this number; and, at the
 * end, counts the messages that are lost. */
void pair_arrival(struct pair *pair, uint64_t number);
void pair_arrivals_end(struct pair *pair);

/* For a side whose time another program measured: reports the seconds of one message. */
void pair_report(struct pair *pair, double seconds);
