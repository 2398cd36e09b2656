#include "ripc/memory/own_file.h"

#include <errno.h>

#include "base/check.h"
#include "ripc/core/context.h"
#include "ripc/core/waiting.h"
#include "ripc/memory/grant.h"

#define OWN_FILE_LABEL         "weft-own-file"
#define OWN_FILE_PATIENCE_NSEC NSEC_PER_SEC /* for transfers of ours from or to it */

/* Creates a file and reserves its pages. */
static int own_file_memory(struct memfile *file, size_t size)
{
    int result = memfile_open(file, OWN_FILE_LABEL, size);
    if (result)
        return result == -ENOSPC ? -ENOMEM : result;
    result = memfile_reserve(file);
    if (result)
        memfile_close(file);
    return result;
}

int own_file_open(struct ripc *ripc, size_t size, struct own_file *own)
{
    *own = (struct own_file){.file.fd = -1};
    int result = own_file_memory(&own->file, size);
    if (result)
        return result;
    lock_take(&ripc->lock);
    result = pool_adopt(ripc->pool, &own->file);
    lock_drop(&ripc->lock);
    if (result) {
        memfile_close(&own->file);
        return result;
    }
    own->base = own->file.base;
    own->size = size;
    return 0;
}

/* Waits for our transfers that read or write the file; they end at the latest when their peer
 * dies. */
static int own_file_rest(struct ripc *ripc, const struct own_file *own)
{
    const struct extent *extent = pool_find(ripc->pool, own->base, own->size);
    nsec until = clock_after(OWN_FILE_PATIENCE_NSEC);
    assert(extent);
    while (extent->users > grants_of(ripc, own->base, own->size)) {
        if (clock_now() >= until)
            return -EBUSY;
        waiting_progress(ripc);
        waiting_pause(ripc);
    }
    return 0;
}

/* The new memory is in place before the holders are notified. That is early enough: a holder that
 * has mapped the old file has no access to the new one, and a fabric writes into our memory only
 * under the lock or, with hardware, through a registration of the old pages, which ends with the
 * grant. */
int own_file_renew(struct ripc *ripc, struct own_file *own, bool keep)
{
    struct memfile fresh;
    int result = own_file_memory(&fresh, own->size);
    if (result)
        return result;
    lock_take(&ripc->lock);
    result = own_file_rest(ripc, own);
    if (result == 0)
        result = memfile_replace(&own->file, &fresh, keep);
    if (result == 0) {
        grants_void(ripc, own->base, own->size);
        pool_exchange(ripc->pool, &own->file);
    }
    lock_drop(&ripc->lock);
    if (result)
        memfile_close(&fresh);
    return result;
}

void own_file_close(struct ripc *ripc, struct own_file *own)
{
    if (!own->base)
        return;
    lock_take(&ripc->lock);
    grants_void(ripc, own->base, own->size);
    pool_drop(ripc->pool, own->base);
    lock_drop(&ripc->lock);
    memfile_close(&own->file);
    *own = (struct own_file){.file.fd = -1};
}
