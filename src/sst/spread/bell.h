#pragma once
/* bell: wakes our detector. Its memory is separate and granted to all members. A member that can
 * map it rings the bell itself; the others send a notification. */

#include "ripc/memory/own_file.h"
#include "transport/wake/doorbell.h"

struct wake_bell {
    struct own_file memory;     /* granted to every member; all zeroes while the bell is not open */
    struct doorbell door;       /* the detector sleeps on it */
    struct ringer self;         /* the same bell, for other threads of ours */
    struct ripc_notice *notice; /* rings it for members that cannot map it; NULL: there are none */
    struct ripc_handle wake;    /* the handle that such a member notifies */
};

/* Opens a bell that is all zeroes. After a failure bell_close frees what was opened. */
MUST_CHECK int bell_open(struct wake_bell *bell, struct ripc *ripc);
void bell_close(struct wake_bell *bell, struct ripc *ripc);

/* Wakes the detector, from any thread of ours. */
static inline void bell_ring(struct wake_bell *bell)
{
    ringer_ring(&bell->self);
}
