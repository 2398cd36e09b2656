#pragma once
/* desk: a member of a table as the benchmarks need it: a context and a table in a folder of
 * their own, and somebody who waits until the triggers are done. */

#include <semaphore.h>
#include <stdint.h>
#include <weft/sst.h>

#include "measured/pair.h"

#define DESK_REASON_SIZE PAIR_REASON_SIZE

struct desk_config {
    const char *folder;    /* where the members meet */
    const struct job *job; /* its transports; `adaptive`: the detector waits as it does by
                              default, else it polls */
    bool yielding;         /* the detector yields at once, for more members than cores */
    enum sst_design design;
    const struct sst_column *columns;
    uint32_t column_count;
    uint32_t row_size;
    uint32_t members;  /* opening waits for them */
    struct ripc *ripc; /* a context to use, of another desk that is closed later, or NULL */
};

struct desk {
    struct ripc *ripc;
    bool guest; /* the context is another's */
    struct sst *table;
    uint32_t own;   /* our row */
    uint32_t other; /* that of another, if there is one */
    uint64_t seen;  /* a trigger's: what it saw last */
    sem_t done;     /* posted by the last trigger */
    char reason[DESK_REASON_SIZE];
};

/* False: `reason` says why. */
bool desk_open(struct desk *desk, const struct desk_config *config);
void desk_close(struct desk *desk);

/* A recurrent predicate that names one column, or none (UINT32_MAX). */
bool desk_predicate(struct desk *desk, sst_holds *holds, sst_fire *fire, void *argument,
                    uint32_t column);

/* Waits, asleep, for desk->done. */
void desk_wait(struct desk *desk);
