/* shm_memory: reads and writes the memory of another process.
 *
 * Each of our slabs is a memory file with a random key. When a piece of it is first named to a
 * peer, its descriptor goes over the lifeline, the peer maps it, and every transfer from then on is
 * a memcpy. Other memory has key 0 and its plain address: the kernel copies it, if it permits that.
 *
 * Invariants: `shared` of a link contains the keys that its peer was sent, and only of regions that
 * are open; a piece is used only inside its mapping; a slab stays mapped while its link uses it or
 * a caller holds a mapping of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "transport/fork/descriptor.h"
#include "transport/shm/shm_impl.h"

enum shm_sharing { SHARED_READ = 1, SHARED_WRITE = 2 }; /* stored in an id_map, so not 0 */

/* A slab of the peer. */
struct shm_slab {
    struct memfile file;
    unsigned users; /* the link, and mappings of it */
};

/* ---- our regions ---- */

static int shm_region_open(struct transport *transport, void *base, size_t size,
                           const struct memfile *file, struct region **out)
{
    struct shm_region *region = calloc(1, sizeof *region);
    if (!region)
        return -ENOMEM;
    region->region.ops = &shm_memory_ops;
    region->shm = (struct shm *)transport;
    region->base = base;
    region->size = size;
    region->file = file;
    region->key = file ? entropy_u64() : 0;
    *out = &region->region;
    return 0;
}

static void link_forget(struct shm_link *link, uint64_t key)
{
    if (!id_map_take(&link->shared, key) || !link->line)
        return;
    struct control control = {.kind = SHM_FORGET};
    struct writer out = writer_make(control.body, sizeof control.body);
    write_u64(&out, key);
    control.size = (uint16_t)(sizeof control.body - out.left);
    /* If the message cannot be sent the peer keeps its mapping until the link ends. */
    (void)!lifeline_send(link->line, &control);
}

static void shm_region_close(struct region *base)
{
    struct shm_region *region = (struct shm_region *)base;
    list_each(&region->shm->links, node)
        link_forget(container_of(node, struct shm_link, node), region->key);
    free(region);
}

static int slab_send(struct shm_link *link, const struct shm_region *region, bool writable)
{
    uintptr_t before = (uintptr_t)id_map_get(&link->shared, region->key);
    if (before == SHARED_WRITE || (before == SHARED_READ && !writable))
        return 0;
    struct control control = {.kind = SHM_SLAB, .fd_count = 1};
    struct writer out = writer_make(control.body, sizeof control.body);
    write_u64(&out, region->key);
    write_u64(&out, region->file->size);
    write_u8(&out, writable);
    control.size = (uint16_t)(sizeof control.body - out.left);
    control.fds[0] = memfile_share(region->file, writable);
    if (control.fds[0] < 0)
        return control.fds[0];
    void *now = (void *)(uintptr_t)(writable ? SHARED_WRITE : SHARED_READ);
    int result = id_map_put(&link->shared, region->key, now) ? 0 : -ENOMEM;
    if (!result)
        result = lifeline_send(link->line, &control);
    if (result)
        id_map_take(&link->shared, region->key);
    descriptor_close(control.fds[0]);
    return result;
}

static int shm_share(struct transport_link *base, struct region *of, void *piece, size_t size,
                     uint32_t rights, struct remote_memory *out)
{
    struct shm_link *link = (struct shm_link *)base;
    struct shm_region *region = (struct shm_region *)of;
    const uint8_t *begin = piece;
    if (!link->line)
        return -EPIPE;
    if (begin < region->base || size > region->size ||
        (size_t)(begin - region->base) > region->size - size)
        return -ERANGE;
    *out = (struct remote_memory){.size = size, .address = (uintptr_t)begin};
    if (!region->file)
        return 0;
    out->key = region->key;
    out->address = (uint64_t)(begin - (const uint8_t *)region->file->base);
    return slab_send(link, region, rights & MEMORY_WRITE);
}

/* ---- the peer's regions ---- */

static void slab_put(struct shm_slab *slab)
{
    if (!slab)
        return;
    assert(slab->users > 0);
    if (--slab->users)
        return;
    memfile_close(&slab->file);
    free(slab);
}

void shm_link_unmap(struct shm_link *link)
{
    size_t cursor = 0;
    struct shm_slab *slab;
    while ((slab = id_map_next(&link->mapped, &cursor)))
        slab_put(slab);
    id_map_fini(&link->mapped);
}

static int slab_receive(struct shm_link *link, struct reader *in, struct control *control)
{
    uint64_t key = read_u64(in);
    uint64_t size = read_u64(in);
    uint8_t writable = read_u8(in);
    if (in->failed || in->left || control->fd_count != 1 || !key || writable > 1)
        return -EPROTO;
    struct shm_slab *before = id_map_get(&link->mapped, key);
    if (before ? !writable || before->file.writable : link->mapped.count >= SHM_SLAB_MAX)
        return -EPROTO; /* a slab is sent again only with more rights */
    struct shm_slab *slab = calloc(1, sizeof *slab);
    if (!slab)
        return -ENOMEM;
    slab->users = 1;
    int fd = control->fds[0];
    control->fds[0] = -1;
    int result = memfile_map(&slab->file, fd, size, writable);
    if (!result && !id_map_put(&link->mapped, key, slab))
        result = -ENOMEM;
    if (result) {
        slab_put(slab);
        return result;
    }
    descriptor_close(slab->file.fd); /* the mapping keeps the memory */
    slab->file.fd = -1;
    slab_put(before);
    return 0;
}

int shm_link_control(struct transport_link *base, struct control *control)
{
    struct shm_link *link = (struct shm_link *)base;
    struct reader in = reader_make(control->body, control->size);
    switch (control->kind) {
    case SHM_SLAB:
        return slab_receive(link, &in, control);
    case SHM_FORGET: {
        uint64_t key = read_u64(&in);
        if (in.failed || in.left)
            return -EPROTO;
        slab_put(id_map_take(&link->mapped, key));
        return 0;
    }
    default:
        return -ENOMSG;
    }
}

/* Finds the slab that contains the piece. */
static int slab_find(struct shm_link *link, const struct remote_memory *memory, bool writable,
                     struct shm_slab **out)
{
    struct shm_slab *slab = id_map_get(&link->mapped, memory->key);
    /* The slab's descriptor was sent before the message that named it to us, and may still be in
     * the socket; so may one with more rights. */
    if ((!slab || (writable && !slab->file.writable)) && link->line) {
        int drained = lifeline_drain(link->line);
        if (drained < 0)
            return drained;
        slab = id_map_get(&link->mapped, memory->key);
    }
    if (!slab || (writable && !slab->file.writable))
        return -EACCES;
    if (memory->address > slab->file.size || memory->size > slab->file.size - memory->address)
        return -ERANGE;
    *out = slab;
    return 0;
}

static uint8_t *slab_at(const struct shm_slab *slab, const struct remote_memory *memory)
{
    return (uint8_t *)slab->file.base + memory->address;
}

static bool piece_holds(const struct remote_memory *memory, uint64_t offset, size_t size)
{
    return offset <= memory->size && size <= memory->size - offset;
}

/* The kernel copies between us and the peer. */
static int process_copy(struct shm_link *link, uint64_t address, void *here, size_t size,
                        bool writing)
{
    if (!link->line || !lifeline_alive(link->line))
        return -EPIPE;
    if (!link->pid)
        return -EOPNOTSUPP;
    if (address > UINTPTR_MAX - size)
        return -ERANGE;
    for (size_t done = 0; done < size;) {
        struct iovec local = {(uint8_t *)here + done, size - done};
        struct iovec remote = {(void *)(uintptr_t)(address + done), size - done};
        ssize_t moved = writing ? process_vm_writev(link->pid, &local, 1, &remote, 1, 0)
                                : process_vm_readv(link->pid, &local, 1, &remote, 1, 0);
        if (moved < 0 && (errno == EPERM || errno == ENOSYS))
            return -EOPNOTSUPP;
        if (moved < 0)
            return errno == ESRCH ? -EPIPE : -errno;
        if (!moved)
            return -EFAULT;
        done += (size_t)moved;
    }
    /* The peer's process number may have been reused by now, but not while its line is open. */
    return lifeline_alive(link->line) ? 1 : -EPIPE;
}

static int shm_read(struct transport_link *base, const struct remote_memory *from, uint64_t offset,
                    void *to, size_t size, struct region *region, struct transfer *transfer)
{
    struct shm_link *link = (struct shm_link *)base;
    if (!piece_holds(from, offset, size))
        return -ERANGE;
    if (!size)
        return 1;
    if (!from->key)
        return process_copy(link, from->address + offset, to, size, false);
    struct shm_slab *slab;
    int result = slab_find(link, from, false, &slab);
    if (result)
        return result;
    memcpy(to, slab_at(slab, from) + offset, size);
    return 1;
}

static int shm_write(struct transport_link *base, const struct remote_memory *to, uint64_t offset,
                     const void *from, size_t size, struct region *region,
                     struct transfer *transfer)
{
    struct shm_link *link = (struct shm_link *)base;
    if (!piece_holds(to, offset, size))
        return -ERANGE;
    if (!link->line)
        return -EPIPE; /* the peer is dead and would not read it */
    if (!size)
        return 1;
    if (!to->key)
        return process_copy(link, to->address + offset, (void *)(uintptr_t)from, size, true);
    struct shm_slab *slab;
    int result = slab_find(link, to, true, &slab);
    if (result)
        return result;
    memcpy(slab_at(slab, to) + offset, from, size);
    return 1;
}

static int shm_map(struct transport_link *base, const struct remote_memory *memory, bool writable,
                   struct mapping *mapping)
{
    struct shm_link *link = (struct shm_link *)base;
    struct shm_slab *slab;
    if (!memory->key)
        return -EOPNOTSUPP;
    int result = slab_find(link, memory, writable, &slab);
    if (result)
        return result;
    slab->users++;
    *mapping = (struct mapping){.base = slab_at(slab, memory), .internal = slab};
    return 0;
}

static void shm_unmap(struct mapping *mapping)
{
    slab_put(mapping->internal);
    *mapping = (struct mapping){0};
}

const struct memory_ops shm_memory_ops = {
    .region_open = shm_region_open,
    .region_close = shm_region_close,
    .share = shm_share,
    .read = shm_read,
    .write = shm_write,
    .map = shm_map,
    .unmap = shm_unmap,
};
