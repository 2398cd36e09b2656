#pragma once
/* introduction: what a member must know of us to share rows with us. Plain data. */

#include <stdint.h>

#include <weft/sst.h>

struct introduction {
    struct ripc_grant row;   /* SST_WRITES: memory for its row, at ours; SST_READS: our own row */
    struct ripc_grant bell;  /* what wakes our detector, where it can be mapped ... */
    struct ripc_handle wake; /* ... and where it cannot */
    uint64_t barrier;        /* how many barriers we have come to: a joiner begins there, too */
};
