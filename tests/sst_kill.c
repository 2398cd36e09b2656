/* A member of a table is killed and joins again, round after round, at every point of its life:
 * before, during and after joining, while it writes, and while it leads and another member leaves
 * and joins at the same time; and after the system calls by which it joins (after each of them in a
 * run of many rounds). The survivors are separate processes.
 *
 * After each round the survivors must agree on the epoch and its rows, without the dead member.
 * Each survivor gets one upcall per death, before the view that drops the dead member. The rows of
 * live members are everywhere as their owners put them. No survivor has more descriptors, mappings,
 * buffers or memory than in the first rounds, and the folder has no more files.
 *
 *   sst_kill_test [SEED [ROUNDS [DESIGN]]]     that many rounds of each design; or of 0: writes,
 *                                              1: reads */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst.h>

#include "base/rng.h"
#include "process.h"

#define SURVIVORS    3
#define FIRST_ID     100
#define VICTIM_ID    666
#define TABLE        5
#define ROWS_MAX     8
#define WORDS        24
#define SECOND       1000000000LL
#define PATIENCE     (30 * SECOND)
#define WARM_ROUNDS  8 /* by then everything that is kept for reuse is allocated */
#define MANY_ROUNDS  500
#define CALLS_STRIDE 24
#define HEAP_SLACK   262144 /* bytes that threads which start and end may keep allocated */

#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# %s, round %llu, line %d: %s\n", self.name,                          \
                    (unsigned long long)shared->round, __LINE__, #condition);                      \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

/* ---- shared memory of the processes ---- */

enum order_kind {
    AWAIT = 1, /* wait until exactly the survivors are members, and report */
    FIND,      /* wait until the victim is a member and its row is right, and report */
    WRITE,     /* put the row of this round, and wait for those of the other survivors */
    RENEW,     /* leave, and join again */
    END,
};

/* When the victim dies. */
enum moment { BEFORE, JOINING, JOINED, WRITING, LEADING, MOMENTS, CALLS = MOMENTS };
static const char *const moment_names[MOMENTS + 1] = {
    "before it joined", "while it joined", "after it joined",
    "while it wrote",   "while it led",    "at a system call",
};

enum phase { PHASE_NONE, PHASE_BEGUN, PHASE_JOINING, PHASE_JOINED };

struct report {
    _Atomic uint64_t done; /* last order carried out; release: the other fields are written */
    uint64_t epoch;
    ripc_id members[ROWS_MAX];
    unsigned descriptors;
    unsigned mappings;
    uint64_t buffers;
    uint64_t heap;     /* bytes in use */
    uint64_t failures; /* upcalls that reported a failure */
};

/* Written by the killer unless noted otherwise. */
static struct shared {
    uint64_t round;
    enum order_kind order[SURVIVORS];
    _Atomic uint64_t orders[SURVIVORS]; /* their number; release: `order` is written */
    struct report reports[SURVIVORS];   /* written by each survivor */
    _Atomic int phase;                  /* by the victim */
    _Atomic uint64_t joins;             /* by the victim */
} * shared;

struct row {
    uint64_t round;
    uint64_t words[WORDS];
    uint64_t ready;
};

enum { ROUND, BLOCK, READY };

static const struct sst_column columns[] = {
    [ROUND] = SST_COLUMN(struct row, round, SST_U64, SST_GROWS),
    [BLOCK] = SST_COLUMN(struct row, words, SST_U64, 0),
    [READY] = SST_COLUMN(struct row, ready, SST_U64, SST_GUARD),
};

static struct {
    const char *name;
    unsigned number;
    struct ripc *ripc;
    struct sst *table;
    enum sst_design design;
    /* The victim as upcalls and views show it; used by the detector while there is a table. */
    bool present, failed;
    _Atomic uint64_t failures;
} self;

static uint64_t word_of(ripc_id member, uint64_t round, unsigned index)
{
    return (member * 1000003 + round) * 0x9e3779b97f4a7c15u + index;
}

static void row_fill(struct row *row, ripc_id member, uint64_t round)
{
    row->round = round;
    for (unsigned i = 0; i < WORDS; i++)
        row->words[i] = word_of(member, round, i);
}

/* Are all columns of the row from one put? */
static bool row_is_whole(const struct row *row, ripc_id member)
{
    if (row->round == 0) /* it has joined and has put nothing yet */
        return row->words[0] == 0 && row->words[WORDS - 1] == 0;
    for (unsigned i = 0; i < WORDS; i++)
        if (row->words[i] != word_of(member, row->round, i))
            return false;
    return true;
}

/* Counts our shared mappings; the mappings of the allocator and of threads are private. */
static unsigned mappings_count(void)
{
    unsigned count = 0;
    char line[512], mode[8];
    FILE *file = fopen("/proc/self/maps", "r");
    demand(file);
    while (fgets(line, sizeof line, file))
        count += sscanf(line, "%*s %7s", mode) == 1 && mode[3] == 's';
    fclose(file);
    return count;
}

/* ---- shared by survivors and victim ---- */

/* Checks the victim in the view: if its row is gone, its failure must have been reported. */
static void view_note(const struct sst *table)
{
    int row = sst_row_of(table, VICTIM_ID);
    if (row < 0) {
        demand(!self.present || self.failed);
        self.present = false;
    } else if (sst_is_live(table, (uint32_t)row)) {
        self.present = true;
        self.failed = false;
    }
}

static void on_news(struct sst *table, const struct sst_news *news, void *argument)
{
    demand(news->kind == SST_FAILED || news->kind == SST_EPOCH);
    if (news->kind == SST_EPOCH) {
        demand(news->epoch == sst_epoch(table));
        view_note(table);
        return;
    }
    demand(news->member == VICTIM_ID);
    demand(!sst_is_live(table, news->row));
    demand(self.present && !self.failed); /* only once */
    self.failed = true;
    atomic_fetch_add_explicit(&self.failures, 1, memory_order_relaxed);
}

/* A process that takes over the id of a killed one may still find its claim for a moment. */
static void table_join(ripc_id member, uint32_t flags, bool upcalls)
{
    struct sst_config config = {
        .table = TABLE,
        .columns = columns,
        .column_count = sizeof columns / sizeof *columns,
        .row_size = sizeof(struct row),
        .member = member,
        .design = self.design,
        .flags = flags | SST_DROP,
        .rows_max = SURVIVORS + 1,
        .deadline = ripc_after(PATIENCE),
        .upcall = upcalls ? on_news : NULL,
        .trigger_nsec = PATIENCE,
    };
    char reason[RIPC_REASON_MAX] = "";
    config.reason = reason;
    int result;
    do
        result = sst_open(self.ripc, &config, &self.table);
    while (result == -EADDRINUSE && ripc_now() < config.deadline);
    if (result)
        fprintf(stderr, "# sst_open: %s: %s\n", ripc_strerror(result), reason);
    demand(result == 0);
}

static bool the_living_have_written(const struct sst *table, void *argument)
{
    uint64_t round = *(const uint64_t *)argument;
    for (unsigned i = 0; i < SURVIVORS; i++) {
        int row = sst_row_of(table, FIRST_ID + i);
        if (row < 0 || sst_get_u64(table, (uint32_t)row, ROUND) < round)
            return false;
    }
    return true;
}

static void row_write(ripc_id member, uint64_t round)
{
    static const struct sst_range parts[] = {{ROUND, 0, 0}, {BLOCK, 0, 0}};
    row_fill(sst_own(self.table), member, round);
    demand(sst_publish(self.table, parts, 2, READY, round, NULL) == 0);
}

/* Retries if the owner was interrupted in the middle of a put. The victim writes without a pause,
 * and may have died in the middle of a put. */
static int row_read(uint32_t number, ripc_id member, struct row *row)
{
    int64_t deadline = ripc_after(PATIENCE);
    int result;
    do
        result = sst_row(self.table, number, row);
    while (result == -EAGAIN && member != VICTIM_ID && ripc_now() < deadline);
    demand(result == 0 || (member == VICTIM_ID && (result == -EAGAIN || result == -EIO)));
    return result;
}

/* Checks that all rows belong to known members and are from one put. */
static void rows_check(void)
{
    for (uint32_t i = 0; i < sst_row_count(self.table); i++) {
        struct row row;
        ripc_id member = sst_member(self.table, i);
        demand(member == 0 || member == VICTIM_ID ||
               (member >= FIRST_ID && member < FIRST_ID + SURVIVORS));
        if (member == 0)
            continue;
        uint64_t ready = sst_get_u64(self.table, i, READY);
        int result = row_read(i, member, &row);
        if (sst_member(self.table, i) != member)
            continue; /* the row got another member meanwhile */
        demand(result != 0 || (row_is_whole(&row, member) && row.round >= ready));
    }
}

/* ---- the survivors ---- */

static bool only_survivors(const struct sst *table, void *argument)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < sst_row_count(table); i++)
        count += sst_member(table, i) != 0;
    return count == SURVIVORS && sst_live_count(table) == SURVIVORS &&
           sst_row_of(table, VICTIM_ID) < 0;
}

static bool victim_is_right(const struct sst *table, void *argument)
{
    int row = sst_row_of(table, VICTIM_ID);
    return row >= 0 && sst_is_live(table, (uint32_t)row) &&
           sst_get_u64(table, (uint32_t)row, READY) == shared->round;
}

static void wait_for(sst_holds *holds, const void *argument)
{
    static const uint32_t names[] = {ROUND, READY};
    demand(sst_wait(self.table, holds, (void *)(uintptr_t)argument, names, 2,
                    ripc_after(PATIENCE)) == 0);
}

static void report(struct report *report)
{
    struct ripc_stats stats;
    demand(ripc_stats(self.ripc, &stats) == 0);
    report->descriptors = process_descriptors();
    report->mappings = mappings_count();
    report->buffers = stats.buffers;
    report->heap = mallinfo2().uordblks;
    report->failures = atomic_load_explicit(&self.failures, memory_order_relaxed);
    report->epoch = sst_epoch(self.table);
    for (uint32_t i = 0; i < ROWS_MAX; i++)
        report->members[i] = i < SURVIVORS + 1 ? sst_member(self.table, i) : 0;
}

static void renew(void)
{
    int closed = sst_close(self.table, ripc_after(PATIENCE));
    demand(closed == 0);
    self.table = NULL;
    self.present = self.failed = false; /* the victim's fate does not matter any more */
    table_join(FIRST_ID + self.number, 0, true);
}

static void obey(enum order_kind order)
{
    switch (order) {
    case AWAIT:
        wait_for(only_survivors, NULL);
        break;
    case FIND:
        wait_for(victim_is_right, NULL);
        break;
    case WRITE:
        row_write(FIRST_ID + self.number, shared->round);
        wait_for(the_living_have_written, &shared->round);
        break;
    case RENEW:
        renew();
        break;
    case END:
        return;
    }
    rows_check();
    report(&shared->reports[self.number]);
}

static void survive(unsigned number)
{
    static char name[32];
    snprintf(name, sizeof name, "survivor %u", number);
    self.name = name;
    self.number = number;
    unsigned descriptors = process_descriptors();
    demand(ripc_open(NULL, &self.ripc) == 0);
    table_join(FIRST_ID + number, 0, true);
    for (uint64_t done = 0;;) {
        uint64_t orders = atomic_load_explicit(&shared->orders[number], memory_order_acquire);
        if (orders == done) {
            usleep(100);
            continue;
        }
        enum order_kind order = shared->order[number];
        obey(order);
        done = orders;
        atomic_store_explicit(&shared->reports[number].done, done, memory_order_release);
        if (order == END)
            break;
    }
    struct sst_stats stats;
    demand(sst_stats(self.table, &stats) == 0);
    demand(stats.strange == 0);
    demand(sst_close(self.table, ripc_after(PATIENCE)) == 0);
    demand(ripc_close(self.ripc, ripc_after(PATIENCE)) == 0);
    demand(process_descriptors() == descriptors);
    _exit(0);
}

/* ---- the victim ---- */

static void phase_set(enum phase phase)
{
    atomic_store_explicit(&shared->phase, phase, memory_order_release);
}

static void be_victim(enum moment moment)
{
    bool traced = moment == CALLS; /* then one thread does everything */
    self.name = "victim";
    phase_set(PHASE_BEGUN);
    if (traced) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
    }
    struct ripc_config config = {.flags = traced ? RIPC_MANUAL : 0};
    demand(ripc_open(&config, &self.ripc) == 0);
    phase_set(PHASE_JOINING);
    table_join(VICTIM_ID, traced ? SST_MANUAL : 0, false);
    if (traced)
        _exit(0);
    atomic_fetch_add_explicit(&shared->joins, 1, memory_order_relaxed);
    rows_check(); /* it already has what the others put before */
    uint64_t round = shared->round - 1;
    demand(the_living_have_written(self.table, &round));
    row_write(VICTIM_ID, shared->round);
    phase_set(PHASE_JOINED);
    for (uint64_t i = 1;; i++) { /* until it is killed */
        if (moment == WRITING)
            row_write(VICTIM_ID, shared->round + i);
        else
            pause();
    }
}

/* ---- the killer ---- */

struct killer {
    struct rng rng;
    pid_t survivors[SURVIVORS];
    pid_t victim;
    const char *folder;
    int64_t join_nsec; /* about how long joining takes */
    unsigned kills[MOMENTS + 1];
    struct report most[SURVIVORS]; /* the maxima of the first rounds */
    unsigned files_most;
};

static bool survivor_has_ended(const struct killer *killer)
{
    for (unsigned i = 0; i < SURVIVORS; i++) {
        siginfo_t ended = {0}; /* not reaped here */
        if (waitid(P_PID, (id_t)killer->survivors[i], &ended, WEXITED | WNOHANG | WNOWAIT) ||
            ended.si_pid)
            return true;
    }
    return false;
}

static void order_give(unsigned survivor, enum order_kind order)
{
    shared->order[survivor] = order;
    atomic_fetch_add_explicit(&shared->orders[survivor], 1, memory_order_release);
}

static bool order_await(const struct killer *killer, unsigned survivor)
{
    int64_t deadline = ripc_after(2 * PATIENCE);
    uint64_t orders = atomic_load_explicit(&shared->orders[survivor], memory_order_relaxed);
    while (atomic_load_explicit(&shared->reports[survivor].done, memory_order_acquire) != orders) {
        if (ripc_now() > deadline || survivor_has_ended(killer)) {
            printf("# round %llu: survivor %u does not do its order %d\n",
                   (unsigned long long)shared->round, survivor, (int)shared->order[survivor]);
            return false;
        }
        usleep(100);
    }
    return true;
}

static bool order_all(const struct killer *killer, enum order_kind order)
{
    bool good = true;
    for (unsigned i = 0; i < SURVIVORS; i++)
        order_give(i, order);
    for (unsigned i = 0; i < SURVIVORS; i++)
        good = good && order_await(killer, i);
    return good;
}

static pid_t start(void (*run)(unsigned), unsigned argument)
{
    fflush(stdout);
    pid_t parent = getpid(), pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent)
        run(argument);
    _exit(3);
}

static void victim_begin(unsigned moment)
{
    be_victim((enum moment)moment);
}

/* Waits until the victim has reached that phase. */
static bool phase_await(const struct killer *killer, enum phase phase)
{
    for (int64_t deadline = ripc_after(PATIENCE);
         atomic_load_explicit(&shared->phase, memory_order_acquire) < (int)phase; usleep(50)) {
        int status;
        if (ripc_now() > deadline || waitpid(killer->victim, &status, WNOHANG)) {
            printf("# round %llu: the victim came to phase %d only\n",
                   (unsigned long long)shared->round, shared->phase);
            return false;
        }
    }
    return true;
}

/* The eldest leads, so all others must join again to be younger than the victim. */
static bool victim_make_leader(const struct killer *killer)
{
    bool good = true;
    for (unsigned i = 0; i < SURVIVORS && good; i++) {
        order_give(i, RENEW);
        good = order_await(killer, i);
    }
    return good;
}

/* Starts a victim, lets it reach that moment, and kills it there. */
static bool victim_kill(struct killer *killer, enum moment moment)
{
    static const enum phase phases[MOMENTS] = {PHASE_NONE, PHASE_JOINING, PHASE_JOINED,
                                               PHASE_JOINED, PHASE_JOINED};
    int64_t begun = ripc_now();
    unsigned renewed = (unsigned)rng_below(&killer->rng, SURVIVORS);
    phase_set(PHASE_NONE);
    killer->victim = start(victim_begin, moment);
    bool good = phase_await(killer, phases[moment]);
    if (good && phases[moment] == PHASE_JOINED && moment != LEADING)
        killer->join_nsec = ripc_now() - begun;
    if (good && moment == JOINED)
        good = order_all(killer, FIND);
    if (good && moment == LEADING)
        good = order_all(killer, FIND) && victim_make_leader(killer);
    if (good && moment == LEADING)
        order_give(renewed, RENEW);
    useconds_t delay = (useconds_t)rng_below(&killer->rng, (uint64_t)killer->join_nsec / 1000 + 1);
    usleep(moment == JOINED ? 0 : delay);
    if (killer->victim > 0) {
        kill(killer->victim, SIGKILL);
        int status = 0;
        bool killed = waitpid(killer->victim, &status, 0) == killer->victim && WIFSIGNALED(status);
        good = good && killed;
    }
    return good && (moment != LEADING || order_await(killer, renewed));
}

/* Kills the victim at that stop of its system calls; `over`: it finished before. */
static bool victim_kill_at_call(struct killer *killer, unsigned stop, bool *over)
{
    int status;
    phase_set(PHASE_NONE);
    killer->victim = start(victim_begin, CALLS);
    if (waitpid(killer->victim, &status, WUNTRACED) != killer->victim || !WIFSTOPPED(status))
        return false;
    status = process_kill_after_stops(killer->victim, PTRACE_SYSCALL, stop);
    *over = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    return *over || WIFSIGNALED(status);
}

static unsigned files_count(const char *folder)
{
    unsigned count = 0;
    char path[128];
    snprintf(path, sizeof path, "%s/default", folder);
    DIR *directory = opendir(path);
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count;
}

static void agree_explain(void)
{
    for (unsigned i = 0; i < SURVIVORS; i++) {
        const struct report *report = &shared->reports[i];
        printf("# survivor %u: epoch %llu, rows", i, (unsigned long long)report->epoch);
        for (unsigned row = 0; row < ROWS_MAX; row++)
            printf(" %llu", (unsigned long long)report->members[row]);
        printf("\n");
    }
}

/* Waits until the views of all survivors are the same. */
static bool agree(const struct killer *killer)
{
    for (int64_t deadline = ripc_after(PATIENCE); ripc_now() < deadline;) {
        bool same = true;
        if (!order_all(killer, AWAIT))
            return false;
        for (unsigned i = 1; i < SURVIVORS; i++)
            same = same && shared->reports[i].epoch == shared->reports[0].epoch &&
                   memcmp(shared->reports[i].members, shared->reports[0].members,
                          sizeof shared->reports[0].members) == 0;
        if (same)
            return true;
    }
    agree_explain();
    return false;
}

static bool has_more(const struct report *now, const struct report *most)
{
    return now->descriptors > most->descriptors || now->mappings > most->mappings ||
           now->buffers > most->buffers || now->heap > most->heap + HEAP_SLACK;
}

/* Survivors are alike: what one of them has needed, each may need. */
static void most_note(struct killer *killer)
{
    for (unsigned i = 0; i < SURVIVORS * SURVIVORS; i++) {
        struct report *most = &killer->most[i / SURVIVORS];
        const struct report *now = &shared->reports[i % SURVIVORS];
        if (most->descriptors < now->descriptors)
            most->descriptors = now->descriptors;
        if (most->mappings < now->mappings)
            most->mappings = now->mappings;
        if (most->buffers < now->buffers)
            most->buffers = now->buffers;
        if (most->heap < now->heap)
            most->heap = now->heap;
    }
    unsigned files = files_count(killer->folder);
    if (killer->files_most < files)
        killer->files_most = files;
}

/* Resources of a dead member are released a moment after it is dropped, at the latest when the next
 * one joins. */
static bool nothing_leaks(struct killer *killer)
{
    bool good = false;
    if (shared->round <= WARM_ROUNDS) {
        most_note(killer);
        return true;
    }
    for (int64_t deadline = ripc_after(PATIENCE / 10); !good && ripc_now() < deadline;) {
        good = files_count(killer->folder) <= killer->files_most;
        for (unsigned i = 0; i < SURVIVORS; i++)
            good = good && !has_more(&shared->reports[i], &killer->most[i]);
        if (!good && !order_all(killer, AWAIT))
            return false;
    }
    if (good)
        return true;
    for (unsigned i = 0; i < SURVIVORS; i++) {
        const struct report *now = &shared->reports[i], *most = &killer->most[i];
        printf("# survivor %u: %u descriptors (%u), %u mappings (%u), %llu buffers (%llu), "
               "%llu bytes (%llu)\n",
               i, now->descriptors, most->descriptors, now->mappings, most->mappings,
               (unsigned long long)now->buffers, (unsigned long long)most->buffers,
               (unsigned long long)now->heap, (unsigned long long)most->heap);
    }
    printf("# %u files (%u)\n", files_count(killer->folder), killer->files_most);
    return false;
}

static bool round_end(struct killer *killer, enum moment moment, bool good)
{
    good =
        good && agree(killer) && order_all(killer, WRITE) && agree(killer) && nothing_leaks(killer);
    killer->kills[moment]++;
    if (!good)
        printf("# round %llu: killed %s\n", (unsigned long long)shared->round,
               moment_names[moment]);
    return good;
}

static bool round_run(struct killer *killer)
{
    shared->round++;
    enum moment moment = (enum moment)rng_below(&killer->rng, MOMENTS);
    return round_end(killer, moment, victim_kill(killer, moment));
}

/* Kills at every stop during joining, or at every `stride`-th. */
static bool calls_run(struct killer *killer, unsigned stride)
{
    bool good = true, over = false;
    for (unsigned stop = (unsigned)rng_below(&killer->rng, stride); good && !over; stop += stride) {
        shared->round++;
        good = round_end(killer, CALLS, victim_kill_at_call(killer, stop, &over));
        if (!good)
            printf("# at stop %u\n", stop);
    }
    return good;
}

static bool survivors_end(struct killer *killer, bool good)
{
    for (unsigned i = 0; i < SURVIVORS; i++) {
        if (good)
            order_give(i, END);
        else
            kill(killer->survivors[i], SIGKILL);
    }
    for (unsigned i = 0; i < SURVIVORS; i++)
        good &= process_ended_well(killer->survivors[i]);
    return good;
}

/* Runs all rounds of one design; prints two results. */
static bool design_run(enum sst_design design, uint64_t seed, uint64_t rounds, const char *folder,
                       unsigned result)
{
    struct killer killer = {
        .rng = rng_make(seed, design), .folder = folder, .join_nsec = SECOND / 200};
    const char *name = design == SST_WRITES ? "writes" : "reads";
    int64_t begun = ripc_now();
    memset(shared, 0, sizeof *shared);
    self.design = design;
    for (unsigned i = 0; i < SURVIVORS; i++)
        killer.survivors[i] = start(survive, i);
    shared->round = 1;
    bool good = order_all(&killer, WRITE) && agree(&killer);
    while (good && shared->round <= rounds)
        good = round_run(&killer);
    good = good && calls_run(&killer, rounds < MANY_ROUNDS ? CALLS_STRIDE : 1);
    uint64_t run = shared->round - 1;
    uint64_t failures = shared->reports[0].failures;
    good = survivors_end(&killer, good);
    printf("%sok %u - %s: survivors agreed after each of %llu kills\n", good ? "" : "not ", result,
           name, (unsigned long long)run);
    for (unsigned i = 0; i <= MOMENTS; i++)
        printf("# %s: %u times %s\n", name, killer.kills[i], moment_names[i]);
    printf("# %s: joined %llu times, epoch %llu, %llu failures reported, %.1f ms a round\n", name,
           (unsigned long long)shared->joins, (unsigned long long)shared->reports[0].epoch,
           (unsigned long long)failures, (double)(ripc_now() - begun) / 1e6 / (double)(run + 1));
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok %u - %s: nothing is left behind\n", clean ? "" : "not ", result + 1, name);
    return good && clean;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    uint64_t rounds = count > 2 ? strtoull(words[2], NULL, 0) : 20;
    bool good = true;
    printf("1..%d\n# seed %llu: replay with %s %llu %llu\n", count > 3 ? 2 : 4,
           (unsigned long long)seed, words[0], (unsigned long long)seed,
           (unsigned long long)rounds);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    unsigned result = 1;
    for (int design = SST_WRITES; design <= SST_READS; design++) {
        char folder[] = "/dev/shm/weft-sst-kill-XXXXXX";
        if (count > 3 && atoi(words[3]) != design)
            continue;
        if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
            return 1;
        unsetenv("WEFT_DOMAIN");
        good &= design_run((enum sst_design)design, seed, rounds, folder, result);
        result += 2;
    }
    return good ? 0 : 1;
}
