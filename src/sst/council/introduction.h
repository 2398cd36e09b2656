#pragma once
/* introduction: what another member must know about us to share rows with us. Plain data. */

#include <stdint.h>

#include <weft/sst.h>

struct introduction {
    struct ripc_grant row;  /* SST_WRITES: our memory for the other's row; SST_READS: our own row */
    struct ripc_grant bell; /* wakes our detector, if the other can map it ... */
    struct ripc_handle wake; /* ... and if it cannot */
    uint64_t barrier; /* how many barriers we have reached: a joining member begins with the same
                         number */
};
