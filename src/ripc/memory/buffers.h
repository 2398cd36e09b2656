#pragma once
/* buffers: what the interface of 2013 needs of the pool of a context besides the public calls. They
 * take the context's lock themselves. */

#include "ripc/core/context.h"

/* As ripc_alloc; the whole buffer is zero. */
void *buffers_alloc_zeroed(struct ripc *ripc, size_t size);

/* As pool_whole. */
enum pool_kind buffers_whole(struct ripc *ripc, const void *at, void **base, size_t *size);
