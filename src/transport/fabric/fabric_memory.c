/* fabric_memory: regions of ours that peers may access, and access to theirs.
 *
 * A region is registered when it is first shared or used, under a random key if the provider lets
 * us choose. It is registered once for each set of rights requested, so that a peer that may read
 * it cannot write it. Where registration locks memory (verbs), a region that is both used and
 * shared therefore counts twice. But a single registration with all rights would let a peer that
 * may read a message overwrite the memory around it.
 *
 * A transfer is cut into pieces, of which a few are in flight at a time, so that messages to the
 * same peer get between them. A piece that fails fails the transfer, which is reported when the
 * last piece is back, or when the link is lost.
 *
 * Small writes are handed to the provider in the order in which they were started, and the provider
 * was asked to place them in that order: while one of them waits to be taken, so do all after it.
 * Larger transfers and reads go between them. (The fastest way for a few bytes, fi_inject_write, is
 * not used: when its connection breaks, rxm of libfabric 1.17 looks up a completion that does not
 * exist, and crashes.) */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/check.h"
#include "transport/fabric/fabric_impl.h"

/* Returns the registration for these rights, made at the first request. */
static int region_mr(struct fabric_region *region, uint32_t rights, struct fid_mr **out)
{
    static const uint64_t access[4] = {
        FI_READ | FI_WRITE,
        FI_REMOTE_READ,
        FI_REMOTE_WRITE,
        FI_REMOTE_READ | FI_REMOTE_WRITE,
    };
    if (!region->mrs[rights]) {
        int result = fabric_mr_open(region->fabric, region->base, region->size, access[rights],
                                    &region->mrs[rights]);
        if (result)
            return result;
    }
    *out = region->mrs[rights];
    return 0;
}

static int fabric_region_open(struct transport *transport, void *base, size_t size,
                              const struct memfile *file, struct region **out)
{
    struct fabric_region *region = array_new(1, sizeof *region);
    if (!region)
        return -ENOMEM;
    region->region.ops = &fabric_memory_ops;
    region->fabric = container_of(transport, struct fabric, transport);
    region->base = base;
    region->size = size;
    *out = &region->region;
    return 0;
}

static void fabric_region_close(struct region *base)
{
    struct fabric_region *region = container_of(base, struct fabric_region, region);
    for (unsigned i = 0; i < 4; i++)
        if (region->mrs[i])
            fi_close(&region->mrs[i]->fid);
    free(region);
}

static bool region_holds(const struct fabric_region *region, const void *base, size_t size)
{
    uintptr_t at = (uintptr_t)base, start = (uintptr_t)region->base;
    return at >= start && at - start <= region->size && size <= region->size - (at - start);
}

static int fabric_share(struct transport_link *link, struct region *base, void *piece, size_t size,
                        uint32_t rights, struct remote_memory *out)
{
    struct fabric_region *region = container_of(base, struct fabric_region, region);
    if (!region_holds(region, piece, size))
        return -ERANGE;
    if (!rights || rights > (MEMORY_READ | MEMORY_WRITE))
        return -EINVAL;
    struct fid_mr *mr;
    int result = region_mr(region, rights, &mr);
    if (result)
        return result;
    out->key = fi_mr_key(mr);
    out->address = fabric_wants(region->fabric, FI_MR_VIRT_ADDR)
                       ? (uintptr_t)piece
                       : (uintptr_t)piece - (uintptr_t)region->base;
    out->size = size;
    return 0;
}

/* ---- transfers ---- */

static struct fabric_job *job_take(struct fabric *fabric)
{
    struct list *node = list_take(&fabric->free_jobs);
    struct fabric_job *job =
        node ? container_of(node, struct fabric_job, node) : array_new(1, sizeof *job);
    if (job) {
        memset(job, 0, sizeof *job);
        list_init(&job->node);
    }
    return job;
}

static void job_tell(struct fabric_job *job)
{
    struct transfer *transfer = job->transfer;
    int status = job->status;
    list_remove(&job->node);
    list_append(&job->link->fabric->free_jobs, &job->node);
    if (transfer)
        transfer->done(transfer, status);
}

/* All pieces are back: calls done(), unless it was called already. While a link is drained, done()
 * has to wait. */
static void job_end(struct fabric_job *job)
{
    struct fabric *fabric = job->link->fabric;
    assert(!job->under_way);
    if (!fabric->draining) {
        job_tell(job);
        return;
    }
    list_remove(&job->node);
    list_append(&fabric->untold_jobs, &job->node);
    fabric_stall(fabric); /* so that done() is called soon */
}

static ssize_t piece_post(struct fabric_job *job, struct fabric_piece *piece, size_t size)
{
    struct fabric *fabric = job->link->fabric;
    if (!job->writes)
        return fi_read(fabric->endpoint, job->local, size, job->descriptor, job->link->address,
                       job->address, job->key, &piece->operation.context);
    struct iovec local = {job->local, size};
    struct fi_rma_iov remote = {job->address, size, job->key};
    struct fi_msg_rma message = {
        .msg_iov = &local,
        .desc = &job->descriptor,
        .iov_count = 1,
        .addr = job->link->address,
        .rma_iov = &remote,
        .rma_iov_count = 1,
        .context = &piece->operation.context,
    };
    bool delivered = fabric->delivers && !job->light;
    uint64_t flags = FI_COMPLETION | (delivered ? FI_DELIVERY_COMPLETE : 0);
    return fi_writemsg(fabric->endpoint, &message, flags);
}

static size_t piece_size_max(const struct fabric *fabric)
{
    size_t most = fabric->info->ep_attr->max_msg_size;
    return most < FABRIC_PIECE_SIZE ? most : FABRIC_PIECE_SIZE;
}

/* Hands the provider as many pieces as it takes. */
static void job_pump(struct fabric_job *job)
{
    size_t piece_max = piece_size_max(job->link->fabric);
    for (unsigned i = 0; i < FABRIC_PIECES_MAX && job->left && !job->status; i++) {
        struct fabric_piece *piece = &job->pieces[i];
        if (piece->job)
            continue;
        size_t size = job->left < piece_max ? job->left : piece_max;
        piece->operation.kind = FABRIC_TRANSFER;
        ssize_t result = piece_post(job, piece, size);
        if (result == -FI_EAGAIN) {
            fabric_stall(job->link->fabric);
            return;
        }
        if (result) {
            job->status = fabric_error(result);
            return;
        }
        piece->job = job;
        job->under_way++;
        job->local += size;
        job->address += size;
        job->left -= size;
    }
}

static bool job_is_over(const struct fabric_job *job)
{
    return !job->under_way && (!job->left || job->status);
}

/* Puts the job into the list where it belongs after an attempt to post it. */
static void job_enlist(struct fabric_job *job)
{
    struct fabric_link *link = job->link;
    bool waits = job->ordered && job->left && !job->status;
    list_append(waits ? &link->waiting : &link->jobs, &job->node);
}

/* Returns 1: nothing to move; 0: in progress; or an error. */
static int job_start(struct fabric_link *link, const struct remote_memory *remote, uint64_t offset,
                     uint8_t *local, size_t size, struct region *base, bool writes,
                     struct transfer *transfer)
{
    struct fabric_region *region = container_of(base, struct fabric_region, region);
    if (offset > remote->size || size > remote->size - offset ||
        remote->address + offset < offset || !region_holds(region, local, size))
        return -ERANGE;
    if (link->broken)
        return -EPIPE;
    if (!size)
        return 1;
    struct fid_mr *mr = NULL;
    int result = fabric_wants(link->fabric, FI_MR_LOCAL) ? region_mr(region, 0, &mr) : 0;
    if (result)
        return result;
    struct fabric_job *job = job_take(link->fabric);
    if (!job)
        return -ENOMEM;
    job->link = link;
    job->writes = writes;
    job->light = transfer->light;
    job->local = local;
    job->address = remote->address + offset;
    job->key = remote->key;
    job->left = size;
    job->ordered = writes && size <= TRANSFER_ORDERED_MAX && size <= piece_size_max(link->fabric);
    job->descriptor = mr ? fi_mr_desc(mr) : NULL;
    if (!job->ordered || list_is_empty(&link->waiting))
        job_pump(job);
    job_enlist(job);
    if (job_is_over(job)) { /* refused at once */
        result = job->status;
        job_end(job);
        return result;
    }
    job->transfer = transfer;
    return 0;
}

static int fabric_read(struct transport_link *base, const struct remote_memory *from,
                       uint64_t offset, void *to, size_t size, struct region *region,
                       struct transfer *transfer)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    return job_start(link, from, offset, to, size, region, false, transfer);
}

static int fabric_write(struct transport_link *base, const struct remote_memory *to,
                        uint64_t offset, const void *from, size_t size, struct region *region,
                        struct transfer *transfer)
{
    struct fabric_link *link = container_of(base, struct fabric_link, link);
    return job_start(link, to, offset, (uint8_t *)(uintptr_t)from, size, region, true, transfer);
}

void fabric_transferred(struct fabric_piece *piece, int status)
{
    struct fabric_job *job = piece->job;
    assert(job && job->under_way > 0);
    piece->job = NULL;
    job->under_way--;
    if (status < 0 && !job->status)
        job->status = status;
    if (status < 0 && status != -EACCES)
        fabric_link_break(job->link, -EPIPE);
    if (!job->status)
        job_pump(job);
    if (job_is_over(job))
        job_end(job);
}

/* Pumps the jobs in turn; returns the first that is over, or NULL. */
static struct fabric_job *jobs_pump(struct fabric_link *link)
{
    list_each(&link->jobs, node)
    {
        struct fabric_job *job = container_of(node, struct fabric_job, node);
        if (!job->status)
            job_pump(job);
        if (job_is_over(job))
            return job;
    }
    return NULL;
}

/* Posts waiting small writes in order, until one has to keep waiting. A write that is refused has
 * ended, and does not block those after it. */
static void waiting_pump(struct fabric_link *link)
{
    while (!list_is_empty(&link->waiting)) {
        struct fabric_job *job = container_of(link->waiting.next, struct fabric_job, node);
        if (!job->status)
            job_pump(job);
        if (job->left && !job->status)
            return;
        list_remove(&job->node);
        job_enlist(job);
    }
}

/* A callback may change the lists, so the search starts again after each. */
void fabric_jobs_flush(struct fabric_link *link)
{
    struct fabric_job *job;
    waiting_pump(link);
    while ((job = jobs_pump(link)))
        job_end(job);
}

bool fabric_jobs_fail(struct fabric_link *link)
{
    bool under_way = false;
    list_each(&link->waiting, node) container_of(node, struct fabric_job, node)->status = -EPIPE;
    list_each(&link->jobs, node)
    {
        struct fabric_job *job = container_of(node, struct fabric_job, node);
        job->status = -EPIPE;
        under_way = under_way || job->under_way;
    }
    return under_way;
}

static struct fabric_job *jobs_find_untold(struct list *jobs, struct fabric_link *link)
{
    list_each(jobs, node)
    {
        struct fabric_job *job = container_of(node, struct fabric_job, node);
        if (job->transfer && (!link || job->link == link))
            return job;
    }
    return NULL;
}

void fabric_jobs_tell(struct fabric *fabric, struct fabric_link *link)
{
    struct fabric_job *job;
    while ((job = jobs_find_untold(&fabric->untold_jobs, link)))
        job_tell(job);
}

/* Jobs that the provider still holds stay, without a transfer. */
void fabric_jobs_abandon(struct fabric_link *link)
{
    struct fabric_job *job;
    while ((job = jobs_find_untold(&link->jobs, link)) ||
           (job = jobs_find_untold(&link->waiting, link))) {
        struct transfer *transfer = job->transfer;
        job->transfer = NULL;
        if (!job->under_way)
            job_tell(job);
        transfer->done(transfer, -EPIPE);
    }
}

void fabric_jobs_fini(struct fabric *fabric)
{
    struct list *node;
    list_each(&fabric->links, at)
    {
        struct fabric_link *link = container_of(at, struct fabric_link, node);
        while ((node = list_take(&link->jobs)) || (node = list_take(&link->waiting)))
            free(container_of(node, struct fabric_job, node));
    }
    while ((node = list_take(&fabric->untold_jobs)) || (node = list_take(&fabric->free_jobs)))
        free(container_of(node, struct fabric_job, node));
}

const struct memory_ops fabric_memory_ops = {
    .region_open = fabric_region_open,
    .region_close = fabric_region_close,
    .share = fabric_share,
    .read = fabric_read,
    .write = fabric_write,
};
