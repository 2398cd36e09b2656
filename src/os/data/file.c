/* file: the order of the operations on one file.
 *
 * Reads begin at once, writes at the end of the pass; each is a job. Appends wait in a list; a
 * chain of jobs writes as many of them as fit, then the next begins. A sync waits until the writes
 * and appends that were called before it have ended: it counts them when it is called, and each of
 * them subtracts one when it ends. All syncs that are ready share one job.
 *
 * If a sync waits only for the batch, or for the one write, that begins now, its job is linked to
 * those: it runs as soon as they are written, without a return to the host.
 *
 * Writes, appends and syncs begin in file_flush, at the end of a pass of the host. So all appends
 * of a pass are in one batch, also those that the service calls when earlier ones are done. */
#include "os/data/file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/check.h"

#define BATCH_MOST  64 /* appends in one batch */
#define BATCH_BYTES (4u << 20)
/* Bytes of the appends in one job. Linux caches what one call writes in pieces of memory that are
 * as large as it can get, up to the size of the call. A virtual machine may give free memory back
 * to its host, large pieces first, and then the first write to them takes several times as long as
 * the copying itself. With 64 KiB in a call, pieces that were used just now are used again. */
#define JOB_BYTES (64u << 10)

/* Kept in disk_operation.world while the operation is under way. */
struct state {
    struct disk_job job; /* of a read or a write */
    struct iovec piece;
    struct disk_operation *next; /* in the list in which the operation waits */
    uint64_t sequence;           /* in the order of calls */
    uint32_t before;             /* DISK_SYNC: writes and appends that it waits for */
};
static_assert(sizeof(struct state) <= sizeof((struct disk_operation *)0)->world,
              "the state fits into the operation");

struct queue_of {
    struct disk_operation *first, *last;
};

struct append_job {
    struct disk_job job;
    struct file *file;
};

struct file {
    struct file_events events;
    struct list listed;  /* in the owner's list of files */
    struct list touched; /* in events.touched while writes, appends or syncs may begin */
    int fd;
    int broken;   /* the error of a failed sync, negative: later syncs fail, too */
    bool dropped; /* nothing begins or is reported any more */
    uint32_t jobs;
    uint64_t end;            /* bytes of the file; the next append goes there */
    struct queue_of writes;  /* that begin at the end of the pass */
    uint64_t sequence;       /* of the last operation */
    uint32_t unwritten;      /* writes and appends that were called and have not ended */
    struct queue_of appends; /* appends that wait */
    struct queue_of batch;   /* appends that are being written */
    struct queue_of syncs;   /* syncs that wait */
    struct queue_of synced;  /* syncs that the running job serves */
    struct append_job append_jobs[BATCH_MOST]; /* of the batch; each may be of several appends */
    unsigned append_count;
    unsigned append_left; /* of them have not ended */
    struct disk_job sync_job;
    bool appending, syncing;
    uint64_t batch_moved; /* bytes of the batch that were written */
    unsigned piece_first; /* of the batch: the first piece that was not written as a whole */
    unsigned piece_count;
    struct iovec pieces[BATCH_MOST];
};

static struct state *state_of(struct disk_operation *operation)
{
    return (struct state *)(void *)operation->world;
}

static void queue_put(struct queue_of *queue, struct disk_operation *operation)
{
    state_of(operation)->next = NULL;
    if (queue->last)
        state_of(queue->last)->next = operation;
    else
        queue->first = operation;
    queue->last = operation;
}

static struct disk_operation *queue_take(struct queue_of *queue)
{
    struct disk_operation *operation = queue->first;
    if (operation) {
        queue->first = state_of(operation)->next;
        if (!queue->first)
            queue->last = NULL;
    }
    return operation;
}

struct file *file_make(int fd, uint64_t size, const struct file_events *events)
{
    struct file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->events = *events;
    list_init(&file->touched);
    list_init(&file->listed);
    file->fd = fd;
    file->end = size;
    return file;
}

struct list *file_list(struct file *file)
{
    return &file->listed;
}

struct file *file_of_list(struct list *list)
{
    return container_of(list, struct file, listed);
}

void file_free(struct file *file)
{
    assert(!file->jobs);
    list_remove(&file->listed);
    free(file);
}

int file_fd(const struct file *file)
{
    return file->fd;
}

uint64_t file_size(const struct file *file)
{
    return file->end;
}

void file_truncated(struct file *file, uint64_t size)
{
    file->end = size;
}

void file_drop(struct file *file)
{
    file->dropped = true;
    list_remove(&file->touched);
    file->writes = file->appends = file->batch = (struct queue_of){0};
    file->syncs = file->synced = (struct queue_of){0};
}

uint32_t file_job_count(const struct file *file)
{
    return file->jobs;
}

static void job_begin(struct file *file, struct disk_job *job)
{
    file->jobs++;
    file->events.begin(file->events.owner, job);
}

/* Writes, appends or syncs of this file may begin: file_flush will examine it. */
static void touch(struct file *file)
{
    if (list_is_empty(&file->touched))
        list_append(file->events.touched, &file->touched);
}

static void finish(struct file *file, struct disk_operation *operation, int64_t result)
{
    file->events.finish(file->events.owner, operation, result);
}

/* ---- syncs ---- */

static void sync_done(struct disk_job *job);

/* Returns how many of these operations were called before the sync. */
static uint32_t count_before(const struct queue_of *queue, struct disk_operation *sync)
{
    uint32_t count = 0;
    for (struct disk_operation *each = queue->first; each; each = state_of(each)->next)
        count += state_of(each)->sequence < state_of(sync)->sequence;
    return count;
}

/* Selects the syncs that may begin now: those that wait for nothing or, if `linked` is not NULL,
 * only for these operations. Returns false if there is none. */
static bool syncs_select(struct file *file, const struct queue_of *linked)
{
    struct queue_of left = {0};
    if (file->syncing || file->dropped)
        return false;
    for (struct disk_operation *sync; (sync = queue_take(&file->syncs));) {
        uint32_t before = state_of(sync)->before;
        bool ready = !before || (linked && before == count_before(linked, sync));
        queue_put(ready ? &file->synced : &left, sync);
    }
    file->syncs = left;
    if (!file->synced.first)
        return false;
    file->syncing = true;
    file->sync_job = (struct disk_job){.kind = JOB_SYNC, .fd = file->fd, .done = sync_done};
    return true;
}

static void syncs_begin(struct file *file)
{
    if (syncs_select(file, NULL))
        job_begin(file, &file->sync_job);
}

static void sync_done(struct disk_job *job)
{
    struct file *file = container_of(job, struct file, sync_job);
    file->jobs--;
    file->syncing = false;
    if (file->dropped)
        return;
    struct queue_of served = file->synced;
    file->synced = (struct queue_of){0};
    touch(file);
    if (job->result == -ECANCELED) { /* its batch is not written yet: the syncs wait again */
        for (struct disk_operation *sync; (sync = queue_take(&file->syncs));)
            queue_put(&served, sync);
        file->syncs = served;
        return;
    }
    if (job->result < 0 && !file->broken)
        file->broken = (int)job->result;
    for (struct disk_operation *sync; !file->dropped && (sync = queue_take(&served));)
        finish(file, sync, file->broken);
}

/* A write or append has ended: syncs that were called after it no longer wait for it. */
static void write_ended(struct file *file, struct disk_operation *operation)
{
    uint64_t sequence = state_of(operation)->sequence;
    file->unwritten--;
    touch(file);
    for (struct disk_operation *sync = file->syncs.first; sync; sync = state_of(sync)->next)
        state_of(sync)->before -= state_of(sync)->sequence > sequence;
    for (struct disk_operation *sync = file->synced.first; sync; sync = state_of(sync)->next)
        state_of(sync)->before -= state_of(sync)->sequence > sequence;
}

/* ---- reads and writes ---- */

/* The kernel may move fewer bytes than requested: the rest is another job. */
static void move_done(struct disk_job *job)
{
    struct state *state = container_of(job, struct state, job);
    struct disk_operation *operation = container_of(state, struct disk_operation, world);
    struct file *file = operation->file->world;
    file->jobs--;
    if (file->dropped)
        return;
    if (job->result > 0) {
        operation->result += job->result;
        if (operation->result < operation->size) {
            state->piece.iov_base = (char *)operation->bytes + operation->result;
            state->piece.iov_len = operation->size - (size_t)operation->result;
            job->offset = operation->offset + (uint64_t)operation->result;
            job->then = NULL; /* the sync that followed was cancelled */
            job_begin(file, job);
            return;
        }
    }
    int64_t result = job->result < 0 ? job->result : operation->result;
    if (operation->kind == DISK_WRITE) {
        if (result >= 0 && result < operation->size)
            result = -EIO; /* the kernel wrote nothing and gave no reason */
        uint64_t end = operation->offset + operation->size;
        if (result > 0 && end > file->end)
            file->end = end;
        write_ended(file, operation);
    }
    finish(file, operation, result);
}

/* `then`: the job that follows it, or NULL. */
static void move_begin(struct file *file, struct disk_operation *operation, struct disk_job *then)
{
    struct state *state = state_of(operation);
    bool reads = operation->kind == DISK_READ;
    operation->result = 0;
    state->piece = (struct iovec){operation->bytes, operation->size};
    state->job = (struct disk_job){
        .kind = reads ? JOB_READ : JOB_WRITE,
        .fd = file->fd,
        .offset = operation->offset,
        .vector = &state->piece,
        .count = 1,
        .then = then,
        .done = move_done,
    };
    file->jobs += then != NULL;
    job_begin(file, &state->job);
}

static void writes_begin(struct file *file)
{
    struct disk_operation *write;
    const struct queue_of writes = file->writes;
    bool one = writes.first && writes.first == writes.last;
    if (!writes.first || file->dropped)
        return;
    struct disk_job *then = one && syncs_select(file, &writes) ? &file->sync_job : NULL;
    while ((write = queue_take(&file->writes)))
        move_begin(file, write, then);
}

/* ---- appends ---- */

static void append_done(struct disk_job *job);

/* Returns how many pieces of the batch, from that one on, are for one job. */
static unsigned pieces_for_job(const struct file *file, unsigned first)
{
    unsigned count = 1;
    uint64_t bytes = file->pieces[first].iov_len;
    for (; first + count < file->piece_count; count++) {
        bytes += file->pieces[first + count].iov_len;
        if (bytes > JOB_BYTES)
            break;
    }
    return count;
}

/* Writes what is left of the batch; `then` follows it. */
static void batch_begin(struct file *file, struct disk_job *then)
{
    uint64_t offset = file->end + file->batch_moved;
    file->append_count = 0;
    for (unsigned first = file->piece_first; first < file->piece_count;) {
        struct append_job *append = &file->append_jobs[file->append_count++];
        append->file = file;
        append->job = (struct disk_job){
            .kind = JOB_WRITE,
            .fd = file->fd,
            .offset = offset,
            .vector = file->pieces + first,
            .count = pieces_for_job(file, first),
            .then = then,
            .done = append_done,
        };
        if (append != file->append_jobs)
            append[-1].job.then = &append->job;
        first += append->job.count;
        offset += disk_job_bytes(&append->job);
    }
    file->append_left = file->append_count;
    file->jobs += file->append_count - 1 + (then != NULL);
    job_begin(file, &file->append_jobs[0].job);
}

static void appends_begin(struct file *file)
{
    uint64_t bytes = 0;
    if (file->appending || file->dropped || !file->appends.first)
        return;
    file->piece_count = 0;
    while (file->appends.first && file->piece_count < BATCH_MOST &&
           (!bytes || bytes + file->appends.first->size <= BATCH_BYTES)) {
        struct disk_operation *append = queue_take(&file->appends);
        file->pieces[file->piece_count++] = (struct iovec){append->bytes, append->size};
        bytes += append->size;
        queue_put(&file->batch, append);
    }
    file->appending = true;
    file->batch_moved = 0;
    file->piece_first = 0;
    batch_begin(file, syncs_select(file, &file->batch) ? &file->sync_job : NULL);
}

/* Removes the bytes that were written from the pieces. Returns true if nothing is left. */
static bool batch_advance(struct file *file, uint64_t moved)
{
    file->batch_moved += moved;
    for (; file->piece_first < file->piece_count; file->piece_first++) {
        struct iovec *piece = &file->pieces[file->piece_first];
        if (moved < piece->iov_len) {
            piece->iov_base = (char *)piece->iov_base + moved;
            piece->iov_len -= moved;
            return false;
        }
        moved -= piece->iov_len;
    }
    return true;
}

/* Appends that were written as a whole have succeeded; the others have failed. Bytes that were
 * written of a failed append are behind file->end, and the next append overwrites them. */
static void batch_finish(struct file *file, int64_t error)
{
    uint64_t left = file->batch_moved;
    struct queue_of batch = file->batch;
    file->batch = (struct queue_of){0};
    file->appending = false;
    for (struct disk_operation *append = batch.first; append; append = state_of(append)->next) {
        bool written = !error || append->size <= left;
        append->result = written ? (int64_t)file->end : error;
        file->end += written ? append->size : 0;
        left = written ? left - append->size : 0;
        write_ended(file, append);
    }
    for (struct disk_operation *append; !file->dropped && (append = queue_take(&batch));)
        finish(file, append, append->result);
}

static void append_done(struct disk_job *job)
{
    struct file *file = container_of(job, struct append_job, job)->file;
    int64_t moved = 0, result = 0;
    file->jobs--;
    file->append_left--;
    if (file->dropped || file->append_left)
        return;
    for (unsigned i = 0; i < file->append_count; i++) { /* up to the first that wrote less */
        const struct disk_job *each = &file->append_jobs[i].job;
        result = each->result;
        moved += result > 0 ? result : 0;
        if (result < (int64_t)disk_job_bytes(each))
            break;
    }
    bool all = batch_advance(file, (uint64_t)moved);
    if (all || result <= 0)
        batch_finish(file, all ? 0 : result ? result : -EIO);
    else
        batch_begin(file, NULL);
}

/* ---- beginning ---- */

void file_flush(struct list *touched)
{
    while (!list_is_empty(touched)) {
        struct file *file = container_of(touched->next, struct file, touched);
        list_remove(&file->touched);
        writes_begin(file);
        appends_begin(file);
        syncs_begin(file);
    }
}

bool file_begin(struct file *file, struct disk_operation *operation)
{
    struct state *state = state_of(operation);
    state->sequence = ++file->sequence;
    switch (operation->kind) {
    case DISK_READ:
        move_begin(file, operation, NULL);
        return true;
    case DISK_WRITE:
        file->unwritten++;
        queue_put(&file->writes, operation);
        touch(file);
        return true;
    case DISK_APPEND:
        file->unwritten++;
        queue_put(&file->appends, operation);
        touch(file);
        return true;
    case DISK_SYNC:
        operation->result = file->broken;
        if (file->broken)
            return false;
        state->before = file->unwritten;
        queue_put(&file->syncs, operation);
        touch(file);
        return true;
    default:
        assert_unreachable();
    }
}
