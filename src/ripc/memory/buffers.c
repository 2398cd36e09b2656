/* buffers: the calls that allocate memory that peers can access, and that register the program's
 * own memory. */
#include "ripc/memory/buffers.h"

#include <errno.h>

#include "ripc/core/service.h"

void *ripc_alloc(struct ripc *ripc, size_t size)
{
    if (!context_is_ours(ripc))
        return NULL;
    lock_take(&ripc->lock);
    void *data = pool_alloc(ripc->pool, size);
    lock_drop(&ripc->lock);
    return data;
}

void *buffers_alloc_zeroed(struct ripc *ripc, size_t size)
{
    lock_take(&ripc->lock);
    void *data = pool_alloc_zeroed(ripc->pool, size);
    lock_drop(&ripc->lock);
    return data;
}

enum pool_kind buffers_whole(struct ripc *ripc, const void *at, void **base, size_t *size)
{
    lock_take(&ripc->lock);
    enum pool_kind kind = pool_whole(ripc->pool, at, base, size);
    lock_drop(&ripc->lock);
    return kind;
}

void *ripc_resize(struct ripc *ripc, void *data, size_t size)
{
    if (!context_is_ours(ripc))
        return NULL;
    lock_take(&ripc->lock);
    void *moved = pool_resize(ripc->pool, data, size);
    lock_drop(&ripc->lock);
    return moved;
}

int ripc_free(struct ripc *ripc, void *data)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = pool_free(ripc->pool, data);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_register(struct ripc *ripc, void *base, size_t size)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = pool_register(ripc->pool, base, size);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_unregister(struct ripc *ripc, void *base)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = pool_unregister(ripc->pool, base);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_window_add(struct ripc *ripc, struct ripc_service *service, void *base, size_t size)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = windows_add(service ? &service->windows : &ripc->windows, base, size);
    lock_drop(&ripc->lock);
    return result;
}

int ripc_window_remove(struct ripc *ripc, struct ripc_service *service, void *base)
{
    if (!context_is_ours(ripc))
        return -ECHILD;
    lock_take(&ripc->lock);
    int result = windows_remove(service ? &service->windows : &ripc->windows, base);
    lock_drop(&ripc->lock);
    return result;
}
