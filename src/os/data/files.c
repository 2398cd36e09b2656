#include "os/data/files.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/check.h"
#include "os/data/names.h"
#include "os/data/uring.h"
#include "os/data/workers.h"

#define THREADS 4 /* that read, write and sync where there is no io_uring */

struct files {
    int event_fd; /* readable when a worker has ended a job */
    struct workers *names;
    struct uring *uring;  /* NULL: ... */
    struct workers *data; /* ... these do its work */
    struct list touched;  /* files in which writes, appends or syncs may begin */
    struct list known;    /* operations whose result is known already */
    char how[120];
    uint32_t server_count;
};

struct files_server {
    struct files *files;
    struct data_folder folder;
    struct file_events events;
    struct list open; /* files */
    uint32_t names;   /* operations on names that a worker has */
    bool ended;
    void (*ready)(void *owner);
    void *owner;
};

/* Kept in disk_operation.world while an operation on names is under way. */
struct name_state {
    struct disk_job job;
    struct files_server *server;
};
static_assert(sizeof(struct name_state) <= sizeof((struct disk_operation *)0)->world,
              "the state fits into the operation");

/* The same while an operation waits whose result is known. */
struct known_state {
    struct list known;
    struct files_server *server;
};

/* ---- opening and closing ---- */

static void how_write(struct files *files, enum files_way way, int refused)
{
    if (files->uring)
        snprintf(files->how, sizeof files->how, "io_uring");
    else if (way == FILES_THREADS)
        snprintf(files->how, sizeof files->how, "threads, as requested");
    else if (refused == -ENOSYS)
        snprintf(files->how, sizeof files->how,
                 "threads; io_uring is missing in this build or in the kernel");
    else
        snprintf(files->how, sizeof files->how, "threads; io_uring is not permitted: %s",
                 strerror(-refused));
}

enum err files_open(struct files **out, enum files_way way, struct why *why)
{
    struct files *files = calloc(1, sizeof *files);
    if (!files)
        return why_memory(why);
    list_init(&files->touched);
    list_init(&files->known);
    files->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int refused = way == FILES_ANY ? uring_open(&files->uring) : 0;
    how_write(files, way, refused);
    enum err err = OK;
    if (files->event_fd < 0)
        err = why_fail(why, ERR_SYSTEM, "cannot set up the disk: %s", strerror(errno));
    if (!err)
        err = workers_open(&files->names, 1, "weft-names", files->event_fd, why);
    if (!err && !files->uring)
        err = workers_open(&files->data, THREADS, "weft-disk", files->event_fd, why);
    if (err) {
        files_close(files);
        return err;
    }
    *out = files;
    return OK;
}

void files_close(struct files *files)
{
    if (!files)
        return;
    assert(!files->server_count);
    workers_close(files->names);
    workers_close(files->data);
    uring_close(files->uring);
    if (files->event_fd >= 0)
        close(files->event_fd);
    free(files);
}

const char *files_how(const struct files *files)
{
    return files->how;
}

static void on_begin(void *owner, struct disk_job *job)
{
    struct files *files = ((struct files_server *)owner)->files;
    if (files->uring)
        uring_add(files->uring, job);
    else
        workers_add(files->data, job);
}

static void on_finish(void *owner, struct disk_operation *operation, int64_t result)
{
    struct files_server *server = owner;
    server->ready(server->owner);
    operation->result = result;
    operation->done(operation);
}

enum err files_server_open(struct files_server **out, struct files *files, const char *data,
                           const struct data_owner *owner, const char *const *services,
                           void (*ready)(void *owner), void *ready_owner, struct why *why)
{
    struct files_server *server = calloc(1, sizeof *server);
    if (!server)
        return why_memory(why);
    server->files = files;
    server->ready = ready;
    server->owner = ready_owner;
    server->events = (struct file_events){on_begin, on_finish, &files->touched, server};
    list_init(&server->open);
    enum err err = data_folder_open(&server->folder, data, owner, services, why);
    if (err) {
        free(server);
        return err;
    }
    files->server_count++;
    *out = server;
    return OK;
}

/* ---- operations ---- */

static struct name_state *name_state(struct disk_operation *operation)
{
    return (struct name_state *)(void *)operation->world;
}

static struct known_state *known_state(struct disk_operation *operation)
{
    return (struct known_state *)(void *)operation->world;
}

static struct disk_operation *operation_of(struct disk_job *job)
{
    struct name_state *state = container_of(job, struct name_state, job);
    return container_of(state, struct disk_operation, world);
}

static void name_call(struct disk_job *job) /* in a worker */
{
    struct disk_operation *operation = operation_of(job);
    const struct files_server *server = name_state(operation)->server;
    int folder = data_folder_of(&server->folder, operation->folder);
    job->result = folder < 0 ? -ENODEV : names_run(operation, folder, &server->events);
}

static void name_done(struct disk_job *job)
{
    struct disk_operation *operation = operation_of(job);
    struct files_server *server = name_state(operation)->server;
    struct file *file = operation->file ? operation->file->world : NULL;
    int64_t result = job->result;
    server->names--;
    if (operation->kind == DISK_OPEN && result >= 0)
        list_append(&server->open, file_list(file));
    if (operation->kind == DISK_TRUNCATE && result >= 0)
        file_truncated(file, operation->offset);
    if (operation->kind == DISK_CLOSE) {
        assert(operation->file && file);
        file_drop(file);
        file_free(file);
        operation->file->world = NULL;
    }
    if (!server->ended)
        on_finish(server, operation, result);
}

/* The result is known, but done() is not called before files_reap. */
static void known_add(struct files_server *server, struct disk_operation *operation, int64_t result)
{
    struct known_state *state = known_state(operation);
    operation->result = result;
    state->server = server;
    list_init(&state->known);
    list_append(&server->files->known, &state->known);
}

void files_begin(struct files_server *server, struct disk_operation *operation)
{
    assert(!server->ended);
    switch (operation->kind) {
    case DISK_READ:
    case DISK_WRITE:
    case DISK_APPEND:
    case DISK_SYNC:
        if (!file_begin(operation->file->world, operation))
            known_add(server, operation, operation->result);
        return;
    case DISK_SIZE:
        known_add(server, operation, (int64_t)file_size(operation->file->world));
        return;
    default:
        *name_state(operation) = (struct name_state){
            .job = {.kind = JOB_CALL, .call = name_call, .done = name_done}, .server = server};
        server->names++;
        workers_add(server->files->names, &name_state(operation)->job);
    }
}

void files_flush(struct files *files)
{
    file_flush(&files->touched);
    if (files->uring)
        uring_flush(files->uring);
}

static unsigned known_reap(struct files *files)
{
    unsigned count = 0;
    struct list now;
    if (list_is_empty(&files->known))
        return 0;
    list_init(&now);
    while (!list_is_empty(&files->known)) { /* done() may add others, for later */
        struct list *first = files->known.next;
        list_remove(first);
        list_append(&now, first);
    }
    for (; !list_is_empty(&now); count++) {
        struct known_state *state = container_of(now.next, struct known_state, known);
        struct disk_operation *operation = container_of(state, struct disk_operation, world);
        list_remove(&state->known);
        on_finish(state->server, operation, operation->result);
    }
    return count;
}

bool files_reap(struct files *files)
{
    unsigned count = known_reap(files) + workers_reap(files->names);
    count += files->uring ? uring_reap(files->uring) : workers_reap(files->data);
    return count > 0;
}

bool files_waiting(const struct files *files)
{
    return !list_is_empty(&files->known) || workers_has_ended(files->names) ||
           (files->uring ? uring_has_ended(files->uring) : workers_has_ended(files->data));
}

void files_descriptors(const struct files *files, int fds[2])
{
    fds[0] = files->event_fd;
    fds[1] = files->uring ? uring_fd(files->uring) : -1;
}

void files_clear(struct files *files)
{
    eventfd_t count;
    (void)!eventfd_read(files->event_fd, &count);
}

/* ---- the end of a server ---- */

static bool server_is_quiet(const struct files_server *server)
{
    if (server->names)
        return false;
    for (struct list *at = server->open.next; at != &server->open; at = at->next)
        if (file_job_count(file_of_list(at)))
            return false;
    return true;
}

static void known_drop(struct files_server *server)
{
    struct list *known = &server->files->known, *next;
    for (struct list *at = known->next; at != known; at = next) {
        next = at->next;
        if (container_of(at, struct known_state, known)->server == server)
            list_remove(at);
    }
}

/* Waits for what the kernel or a worker has begun: nothing can take it back, and it uses the memory
 * of the service. Operations of other servers of the process may end meanwhile; they are done in
 * the same way as in a pass. */
void files_server_end(struct files_server *server)
{
    struct files *files = server->files;
    if (server->ended)
        return;
    server->ended = true;
    known_drop(server);
    for (struct list *at = server->open.next; at != &server->open; at = at->next)
        file_drop(file_of_list(at));
    files_flush(files); /* the ring may hold jobs that are not submitted yet */
    while (!server_is_quiet(server)) {
        int fds[2];
        files_descriptors(files, fds);
        struct pollfd ends[2] = {{.fd = fds[0], .events = POLLIN},
                                 {.fd = fds[1], .events = POLLIN}};
        if (!files_waiting(files))
            (void)!poll(ends, 2, 100);
        files_clear(files);
        files_reap(files);
        files_flush(files);
    }
}

static void server_free(struct files_server *server, void (*leave)(struct data_folder *folder))
{
    if (!server)
        return;
    files_server_end(server);
    while (!list_is_empty(&server->open)) {
        struct list *first = server->open.next;
        struct file *file = file_of_list(first);
        list_remove(first);
        close(file_fd(file));
        file_free(file);
    }
    leave(&server->folder);
    server->files->server_count--;
    free(server);
}

void files_server_close(struct files_server *server)
{
    server_free(server, data_folder_close);
}

void files_server_withdraw(struct files_server *server)
{
    server_free(server, data_folder_withdraw);
}
