#pragma once
/* desk: a member of a table for the benchmarks: a context and a table in their own folder, and a
 * semaphore to wait until the triggers are done. */

#include <semaphore.h>
#include <stdint.h>
#include <weft/sst.h>

#include "measured/pair.h"

#define DESK_REASON_SIZE PAIR_REASON_SIZE

struct desk_config {
    const char *folder;    /* where the members meet */
    const struct job *job; /* its transports; `adaptive`: the default wait, otherwise polling */
    bool yielding;         /* the detector yields at once, for more members than cores */
    enum sst_design design;
    const struct sst_column *columns;
    uint32_t column_count;
    uint32_t row_size;
    uint32_t members;  /* opening waits for that many */
    struct ripc *ripc; /* the context of another desk, which is closed later, or NULL */
};

struct desk {
    struct ripc *ripc;
    bool guest; /* the context belongs to another desk */
    struct sst *table;
    uint32_t own;   /* our row */
    uint32_t other; /* the row of another member, if there is one */
    uint64_t seen;  /* for triggers: what they saw last */
    sem_t done;     /* posted by the last trigger */
    char reason[DESK_REASON_SIZE];
};

/* Returns false on failure; then `reason` is set. */
bool desk_open(struct desk *desk, const struct desk_config *config);
void desk_close(struct desk *desk);

/* Adds a recurrent predicate that names one column, or none (UINT32_MAX). */
bool desk_predicate(struct desk *desk, sst_holds *holds, sst_fire *fire, void *argument,
                    uint32_t column);

/* Sleeps until desk->done is posted. */
void desk_wait(struct desk *desk);
