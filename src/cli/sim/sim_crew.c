#include "cli/sim/sim_crew.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/core/progress.h"
#include "process/child.h"
#include "transport/clock.h"

#define LOOK_MSEC 100 /* between two looks at the limit and the progress */

/* What a process and its parent share. The process writes all fields but `record`'s; the parent
 * reads `item` and `begun` while the process runs, and everything after its end, which waitpid
 * orders. */
struct post {
    /* The seed that it runs, plus 1; 0: none. The release store of a new item comes after that of
     * `begun`. */
    _Atomic uint32_t item;
    _Atomic int64_t begun; /* when, by clock_now; relaxed: `item` orders it */
    enum err err;
    struct why why;
    struct simulation_record record; /* see there */
};

/* What all processes share. */
struct board {
    _Atomic uint32_t next; /* the first seed that no process took; relaxed: only a counter */
    _Atomic uint32_t done; /* seeds that ended; relaxed: for the progress bar */
    struct post posts[];   /* of each member */
};

struct member {
    const struct sim_crew_job *job;
    struct board *board;
    struct post *post;
    struct simulation_record *record;
    pid_t id; /* 0: no process */
    struct pollfd *end;
};

void *sim_crew_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    return memory;
}

void sim_crew_memory_end(void *memory, size_t size)
{
    if (memory)
        munmap(memory, size);
}

/* ---- in a process of its own ---- */

static void member_main(void *argument)
{
    const struct member *member = argument;
    const struct sim_crew_job *job = member->job;
    struct post *post = member->post;
    signal(SIGPIPE, SIG_DFL);
    while (!post->err) {
        uint32_t index = atomic_fetch_add_explicit(&member->board->next, 1, memory_order_relaxed);
        if (index >= job->total)
            break;
        atomic_store_explicit(&member->record->reached, 0, memory_order_relaxed);
        atomic_store_explicit(&post->begun, clock_now(), memory_order_relaxed);
        atomic_store_explicit(&post->item, index + 1, memory_order_release);
        post->err = job->work(job->context, index, member->record, &post->why);
        atomic_store_explicit(&post->item, 0, memory_order_release);
        atomic_fetch_add_explicit(&member->board->done, 1, memory_order_relaxed);
    }
    fflush(NULL); /* what plug-ins printed */
}

/* ---- in this process ---- */

static enum err member_start(struct member *member, struct why *why)
{
    member->post->item = 0;
    member->id = child_start(member_main, member);
    if (member->id > 0)
        member->end->fd = (int)syscall(SYS_pidfd_open, member->id, 0);
    if (member->id > 0 && member->end->fd >= 0)
        return OK;
    int error = member->id < 0 ? -member->id : errno;
    child_kill(member->id);
    member->id = 0;
    return why_fail(why, ERR_SYSTEM, "no process for a seed: %s", strerrordesc_np(error));
}

static void member_lost(struct member *member, struct sim_crew_loss loss)
{
    uint32_t item = atomic_load_explicit(&member->post->item, memory_order_acquire);
    if (!item)
        return;
    loss.index = item - 1;
    loss.place =
        (enum simulation_place)atomic_load_explicit(&member->record->place, memory_order_relaxed);
    loss.reached = atomic_load_explicit(&member->record->reached, memory_order_relaxed);
    atomic_store_explicit(&member->record->place, SIMULATION_OUTSIDE, memory_order_relaxed);
    member->job->lost(member->job->context, &loss);
    atomic_fetch_add_explicit(&member->board->done, 1, memory_order_relaxed);
}

/* The process has ended: reports a seed that is lost with it, and starts another one. */
static enum err member_reap(struct member *member, bool late, struct why *why)
{
    int status = 0;
    while (waitpid(member->id, &status, 0) < 0 && errno == EINTR)
        ;
    close(member->end->fd);
    member->end->fd = -1;
    member->id = 0;
    if (member->post->err) {
        if (why)
            *why = member->post->why;
        return member->post->err;
    }
    member_lost(member, (struct sim_crew_loss){.late = late,
                                               .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                                               .exit_code = WEXITSTATUS(status)});
    uint32_t next = atomic_load_explicit(&member->board->next, memory_order_relaxed);
    return next < member->job->total ? member_start(member, why) : OK;
}

static bool is_late(const struct member *member)
{
    if (!atomic_load_explicit(&member->post->item, memory_order_acquire))
        return false;
    int64_t begun = atomic_load_explicit(&member->post->begun, memory_order_relaxed);
    return clock_now() - begun > (int64_t)member->job->limit_seconds * 1000000000;
}

static enum err members_watch(struct member *members, struct pollfd *ends, uint32_t count,
                              struct why *why)
{
    const struct sim_crew_job *job = members->job;
    enum err err = OK;
    for (uint32_t left = count; !err && left > 0;) {
        if (job->title)
            progress_show(job->title, members->board->done, job->total);
        if (job->looked)
            job->looked(job->context);
        (void)poll(ends, count, LOOK_MSEC);
        left = 0;
        for (uint32_t i = 0; !err && i < count; i++) {
            struct member *member = &members[i];
            bool late = member->id && !ends[i].revents && is_late(member);
            if (late)
                kill(member->id, SIGKILL);
            if (member->id && (late || ends[i].revents))
                err = member_reap(member, late, why);
            left += member->id != 0;
        }
    }
    return err;
}

enum err sim_crew_run(const struct sim_crew_job *job, struct why *why)
{
    uint32_t count = job->workers < SIM_CREW_MAX ? job->workers : SIM_CREW_MAX;
    count = count < job->total ? count : job->total;
    struct member members[SIM_CREW_MAX] = {{0}};
    struct pollfd ends[SIM_CREW_MAX];
    size_t size = sizeof(struct board) + count * sizeof(struct post);
    struct board *board = sim_crew_memory(size);
    enum err err = board ? OK : why_memory(why);
    assert(count > 0);
    for (uint32_t i = 0; !err && i < count; i++) {
        struct post *post = &board->posts[i];
        ends[i] = (struct pollfd){-1, POLLIN, 0};
        members[i] = (struct member){
            .job = job,
            .board = board,
            .post = post,
            .record = job->record && count == 1 ? job->record : &post->record,
            .end = &ends[i],
        };
        err = member_start(&members[i], why);
    }
    if (!err)
        err = members_watch(members, ends, count, why);
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].id <= 0)
            continue;
        child_kill(members[i].id);
        close(ends[i].fd);
    }
    sim_crew_memory_end(board, size);
    return err;
}

void sim_crew_loss_write(const struct sim_crew_loss *loss, const struct weft_checker *checker,
                         uint64_t limit_seconds, char *out, size_t size)
{
    char how[80], where[120];
    if (loss->signal)
        snprintf(how, sizeof how, "crashed: %s", sigdescr_np(loss->signal));
    else
        snprintf(how, sizeof how, "ended the process with exit code %d", loss->exit_code);
    if (loss->late)
        snprintf(how, sizeof how, "did not return within %llu s",
                 (unsigned long long)limit_seconds);
    if (checker && loss->place != SIMULATION_OUTSIDE)
        snprintf(where, sizeof where, "%s() of the checker %s", simulation_places[loss->place],
                 checker->name);
    else
        snprintf(where, sizeof where, "a service (or weft itself)");
    snprintf(out, size, "%s %s", where, how);
}
