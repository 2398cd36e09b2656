#include "ripc/memory/reach.h"

#include <errno.h>

#include "base/check.h"
#include "ripc/core/context.h"
#include "ripc/core/waiting.h"
#include "ripc/memory/grant.h"

#define APART_LABEL         "weft-apart"
#define APART_PATIENCE_NSEC NSEC_PER_SEC /* for transfers of ours from or to it */

/* A new file with its pages. */
static int apart_memory(struct memfile *file, size_t size)
{
    int result = memfile_open(file, APART_LABEL, size);
    if (result)
        return result == -ENOSPC ? -ENOMEM : result;
    result = memfile_reserve(file);
    if (result)
        memfile_close(file);
    return result;
}

int apart_open(struct ripc *ripc, size_t size, struct apart *apart)
{
    *apart = (struct apart){.file.fd = -1};
    int result = apart_memory(&apart->file, size);
    if (result)
        return result;
    lock_take(&ripc->lock);
    result = pool_adopt(ripc->pool, &apart->file);
    lock_drop(&ripc->lock);
    if (result) {
        memfile_close(&apart->file);
        return result;
    }
    apart->base = apart->file.base;
    apart->size = size;
    return 0;
}

/* Transfers of ours that read or write it end by themselves, if only with their peer. */
static int apart_rest(struct ripc *ripc, const struct apart *apart)
{
    const struct extent *extent = pool_find(ripc->pool, apart->base, apart->size);
    nsec until = clock_after(APART_PATIENCE_NSEC);
    assert(extent);
    while (extent->users > grants_of(ripc, apart->base, apart->size)) {
        if (clock_now() >= until)
            return -EBUSY;
        waiting_progress(ripc);
        waiting_pause(ripc);
    }
    return 0;
}

/* The new memory is in place before anybody is told. That is early enough: whoever has
 * the old file has no other, and a fabric writes ours only under the lock or, with
 * hardware, through a registration of the old pages, which ends with the grant. */
int apart_renew(struct ripc *ripc, struct apart *apart, bool keep)
{
    struct memfile fresh;
    int result = apart_memory(&fresh, apart->size);
    if (result)
        return result;
    lock_take(&ripc->lock);
    result = apart_rest(ripc, apart);
    if (result == 0)
        result = memfile_replace(&apart->file, &fresh, keep);
    if (result == 0) {
        grants_void(ripc, apart->base, apart->size);
        pool_exchange(ripc->pool, &apart->file);
    }
    lock_drop(&ripc->lock);
    if (result)
        memfile_close(&fresh);
    return result;
}

void apart_close(struct ripc *ripc, struct apart *apart)
{
    if (!apart->base)
        return;
    lock_take(&ripc->lock);
    grants_void(ripc, apart->base, apart->size);
    pool_drop(ripc->pool, apart->base);
    lock_drop(&ripc->lock);
    memfile_close(&apart->file);
    *apart = (struct apart){.file.fd = -1};
}

void reach_void(struct ripc_service *service, const struct ripc_grant *grant)
{
    lock_take(&service->ripc->lock);
    grant_void(service, grant->key);
    lock_drop(&service->ripc->lock);
}
