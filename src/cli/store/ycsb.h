#pragma once
/* ycsb: the workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper et al., 2010): which
 * request comes next, and for which key. Pure, except for the counter of keys that programs share.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "cli/store/zipf.h"

#define YCSB_SKEW      0.99
#define YCSB_SCAN_MOST 100 /* keys of a scan: from 1 to so many, uniformly */
#define YCSB_KEY_SIZE  24  /* room for a key with its zero */

enum ycsb_op { YCSB_READ, YCSB_UPDATE, YCSB_INSERT, YCSB_SCAN, YCSB_MODIFY, YCSB_OPS };
extern const char *const ycsb_op_names[YCSB_OPS]; /* "read", ... */

enum ycsb_choice { YCSB_ZIPF, YCSB_LATEST, YCSB_UNIFORM };
extern const char *const ycsb_choice_names[]; /* ends with NULL */

struct ycsb_workload {
    const char *name; /* "A" */
    unsigned percent[YCSB_OPS];
    enum ycsb_choice choice;
};
/* NULL: there is none of that name; the case does not matter. */
const struct ycsb_workload *ycsb_find(const char *name);

/* What the programs of a run share. */
struct ycsb_keys {
    uint64_t loaded; /* keys 0 to loaded - 1 were there when the run began */
    /* The next key that is inserted. Relaxed: each program only needs a number of its own. */
    _Atomic uint64_t next;
    uint64_t margin; /* the last keys that may not be there yet: they are under way */
};

/* What one program draws from. */
struct ycsb {
    const struct ycsb_workload *workload;
    enum ycsb_choice choice;
    struct ycsb_keys *keys;
    struct zipf zipf;
    struct rng rng;
};

void ycsb_init(struct ycsb *ycsb, const struct ycsb_workload *workload, enum ycsb_choice choice,
               struct ycsb_keys *keys, uint64_t seed, uint64_t stream);

struct ycsb_request {
    enum ycsb_op op;
    uint64_t key;
    uint32_t scanned; /* YCSB_SCAN: keys */
};
struct ycsb_request ycsb_next(struct ycsb *ycsb);

/* The name of a key: the numbers are mixed, so that neighbours in number are not neighbours in
 * order. */
void ycsb_key_write(uint64_t key, char name[YCSB_KEY_SIZE]);
#define YCSB_PREFIX "ycsb/"
