#pragma once
/* own_file: memory of ours in a file of its own, so that a grant of it shares nothing else. Its
 * address never changes, but the memory behind it can be replaced, so that earlier holders lose
 * access.
 *
 * All calls take the context's lock; do not call them with the lock held. Close the file before its
 * context. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/ripc.h>

#include "transport/memfile.h"

struct own_file {
    uint8_t *base; /* page aligned */
    size_t size;
    struct memfile file;
};

/* The memory is zeroed and its pages are reserved; -ENOMEM if there are not enough. Use ripc_grant
 * to grant it. */
MUST_CHECK int own_file_open(struct ripc *ripc, size_t size, struct own_file *own);

/* Replaces the memory at the same address: zeroed or, with `keep`, with the same content. All
 * grants of it become void, whether their holders confirm or not. Threads of ours that read it
 * during the call read the old or the new memory. On failure nothing changes: -ENOMEM; -EBUSY:
 * transfers of ours that use the memory did not end. */
MUST_CHECK int own_file_renew(struct ripc *ripc, struct own_file *own, bool keep);

void own_file_close(struct ripc *ripc, struct own_file *own); /* its grants become void */
