#pragma once
/* own_file: memory of ours in a file of its own, so that whoever is granted it is
 * granted nothing else. Its address never changes, but what lies behind it can be
 * replaced, so that nobody who had it before reaches it any more.
 *
 * All calls take the context's lock; none is made with it held. It is closed before
 * its context. */

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

/* Zeroed, and its pages are there: -ENOMEM where they would not be. Grants are made by
 * ripc_grant. */
MUST_CHECK int own_file_open(struct ripc *ripc, size_t size, struct own_file *own);

/* The same address, other memory: zeroed, or (keep) with what it held. All grants of it
 * are void, whether their holders say so or not. Threads of ours that read it meanwhile
 * read either. On failure everything is as before: -ENOMEM; -EBUSY: transfers of ours that
 * use it did not end. */
MUST_CHECK int own_file_renew(struct ripc *ripc, struct own_file *own, bool keep);

void own_file_close(struct ripc *ripc, struct own_file *own); /* grants are void */
