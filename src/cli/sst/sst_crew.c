#include "cli/sst/sst_crew.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "cli/ripc/ripc_call.h"
#include "process/child.h"

#define PATIENCE_NSEC 5000000000LL
#define POLL_NSEC     2000000L

/* Further members have numbers. */
static const char *const names[] = {"ada", "bea",  "cem", "dora", "emil", "fay",  "gus",  "hana",
                                    "ivo", "jana", "kai", "lea",  "max",  "nora", "otto", "pia"};

static size_t reports_size(void)
{
    return (SST_CREW_MAX + 1) * sizeof(struct sst_member_report);
}

struct start {
    const struct sst_member *member;
    int other_end; /* of the pipe, which the child must close */
};

static void member_main(void *argument)
{
    const struct start *start = argument;
    /* The demo handles the signals of the terminal; members end when the pipe is closed. A member
     * that is killed would leave files behind. */
    static const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    prctl(PR_SET_PDEATHSIG, 0);
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
    close(start->other_end);
    sst_member_run(start->member);
}

static void member_make(struct sst_crew *crew, const struct call *call, uint32_t index,
                        uint32_t position, int life)
{
    struct sst_member *member = &crew->members[index];
    member->call = call;
    member->life = life;
    member->report = &crew->reports[index];
    member->waits = index == crew->count;
    member->rows_wanted = member->waits ? 1 : crew->count;
    if (position < sizeof names / sizeof *names)
        snprintf(member->name, sizeof member->name, "%s", names[position]);
    else
        snprintf(member->name, sizeof member->name, "member %u", position + 1);
}

/* Returns the id of a member: small if the table's number is small, and always in order. */
static ripc_id member_id(ripc_id table, uint32_t position)
{
    return table < UINT64_MAX / 100 ? table * 100 + position + 1
                                    : table - 1 - SST_CREW_MAX + position;
}

enum err sst_crew_start(struct sst_crew *crew, const struct call *call, ripc_id table,
                        uint32_t count, enum sst_design design, bool spare, struct why *why)
{
    int life[2];
    *crew = (struct sst_crew){.count = count, .spare = spare, .life = -1};
    assert(count >= 1 && count <= SST_CREW_MAX);
    if (pipe2(life, O_CLOEXEC) < 0)
        return why_fail(why, ERR_SYSTEM, "pipe: %s", strerror(errno));
    crew->life = life[1];
    void *shared =
        mmap(NULL, reports_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    enum err err = shared == MAP_FAILED ? why_memory(why) : OK;
    crew->reports = err ? NULL : shared;
    for (uint32_t index = 0; index < count + spare && !err; index++) {
        uint32_t position = index < count ? index : 0;
        member_make(crew, call, index, position, life[0]);
        crew->members[index].table = table;
        crew->members[index].id = member_id(table, position);
        crew->members[index].design = design;
        struct start start = {&crew->members[index], life[1]};
        crew->pids[index] = child_start(member_main, &start);
        if (crew->pids[index] < 0)
            err = why_fail(why, ERR_SYSTEM, "cannot start a process: %s",
                           strerror(-crew->pids[index]));
    }
    close(life[0]);
    return err;
}

void sst_crew_kill(struct sst_crew *crew)
{
    child_kill(crew->pids[0]);
    crew->pids[0] = 0;
}

void sst_crew_revive(struct sst_crew *crew)
{
    assert(crew->spare);
    atomic_store_explicit(&crew->reports[crew->count].go, 1, memory_order_release);
}

enum sst_member_state sst_crew_state(const struct sst_crew *crew, uint32_t member)
{
    return (enum sst_member_state)atomic_load_explicit(&crew->reports[member].state,
                                                       memory_order_acquire);
}

enum err sst_crew_check(const struct sst_crew *crew, struct why *why)
{
    for (uint32_t index = 0; index < crew->count + crew->spare; index++)
        if (sst_crew_state(crew, index) == SST_MEMBER_REFUSED)
            return why_fail(why, crew->reports[index].err, "%s", crew->reports[index].why.text);
    return OK;
}

/* Reaps a member. Returns true if it has ended. */
static bool member_reap(struct sst_crew *crew, uint32_t index, int *status)
{
    if (crew->pids[index] <= 0 || waitpid(crew->pids[index], status, WNOHANG) == 0)
        return false;
    crew->pids[index] = 0;
    return true;
}

int sst_crew_died(struct sst_crew *crew, int *signal)
{
    int status = 0;
    for (uint32_t index = 0; index < crew->count + crew->spare; index++) {
        if (!member_reap(crew, index, &status))
            continue;
        *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        return (int)index;
    }
    return -1;
}

static bool crew_reap(struct sst_crew *crew)
{
    bool gone = true;
    for (uint32_t index = 0; index < crew->count + crew->spare; index++) {
        (void)member_reap(crew, index, NULL);
        gone &= crew->pids[index] <= 0;
    }
    return gone;
}

void sst_crew_dismiss(struct sst_crew *crew)
{
    if (crew->life >= 0)
        close(crew->life);
    crew->life = -1;
    int64_t deadline = ripc_after(PATIENCE_NSEC);
    while (!crew_reap(crew) && ripc_now() < deadline)
        nanosleep(&(struct timespec){.tv_nsec = POLL_NSEC}, NULL);
    for (uint32_t index = 0; index < crew->count + crew->spare; index++) {
        child_kill(crew->pids[index]);
        crew->pids[index] = 0;
    }
}

void sst_crew_fini(struct sst_crew *crew)
{
    sst_crew_dismiss(crew);
    if (crew->reports)
        munmap(crew->reports, reports_size());
    crew->reports = NULL;
}
