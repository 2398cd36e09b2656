#pragma once
/* ycsb_run: programs that ask a store, each a thread with a store of its own, and how long their
 * requests took.
 *
 * With a rate, each request is due at a moment that does not depend on the answers before it, and
 * its time counts from there: so a store that stops for a second is seen by all requests that were
 * due in that second (the omission that is called coordinated). Without a rate, a request begins
 * when an earlier one has ended. */

#include <weft/store.h>

#include "base/err.h"
#include "cli/store/times.h"
#include "cli/store/ycsb.h"

#define YCSB_PROGRAMS_MAX 64

struct ycsb_settings {
    const char *folder;
    uint32_t server; /* or WEFT_ANY */
    const struct ycsb_workload *workload;
    enum ycsb_choice choice;
    uint64_t keys, value_size, programs, at_once, seed;
    double rate;    /* requests a second of all programs; 0: none */
    double seconds; /* of the run */
    int64_t patience;
};

struct ycsb_sums {
    double seconds;
    struct times times[YCSB_OPS];
    uint64_t absent;    /* reads of a key that does not exist */
    uint64_t conflicts; /* a key was changed between reading and writing it; both were repeated */
    uint64_t unknown;   /* no answer in time: the change may have happened */
    uint64_t failed;
    uint64_t not_begun; /* were due, but the store was too far behind */
    int error;          /* of the first that failed */
};

struct ycsb_run;

/* `settings` is borrowed. */
MUST_CHECK enum err ycsb_run_open(struct ycsb_run **run, const struct ycsb_settings *settings,
                                  struct why *why);
void ycsb_run_close(struct ycsb_run *run); /* NULL is allowed */
/* Writes all keys, or runs the workload, and adds up what the programs have measured. Ends early if
 * the user asks for that. */
MUST_CHECK enum err ycsb_run_phase(struct ycsb_run *run, bool loads, struct ycsb_sums *sums,
                                   struct why *why);
