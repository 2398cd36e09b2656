#include "cli/sst/sst_member.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/ripc/ripc_call.h"

#define SAMPLE_MS    100
#define LEAVE_NSEC   2000000000LL
#define LEAVE_ALARM  10 /* seconds until a process that cannot leave is ended */
#define NSEC_PER_SEC 1000000000LL

#define RELAXED memory_order_relaxed

const struct sst_column sst_member_columns[SST_MEMBER_COLUMNS] = {
    [SST_MEMBER_STEP] = SST_COLUMN(struct sst_member_row, step, SST_U64, SST_GROWS),
    [SST_MEMBER_LEADER] = SST_COLUMN(struct sst_member_row, leader, SST_U64, 0),
    [SST_MEMBER_LOAD] = SST_COLUMN(struct sst_member_row, load, SST_F64, 0),
    [SST_MEMBER_RATE] = SST_COLUMN(struct sst_member_row, rates, SST_U32, 0),
    [SST_MEMBER_BEATS] = SST_COLUMN(struct sst_member_row, beats, SST_U64, SST_GUARD),
    [SST_MEMBER_PID] = SST_COLUMN(struct sst_member_row, pid, SST_U32, 0),
    [SST_MEMBER_WHO] = SST_COLUMN(struct sst_member_row, name, SST_BYTES, 0),
};

/* ---- predicates and their triggers ---- */

static uint64_t own_u64(const struct sst *table, uint32_t column)
{
    return sst_get_u64(table, sst_row_own(table), column);
}

static bool all_arrived(const struct sst *table, void *argument)
{
    return sst_all_at_least_u64(table, SST_MEMBER_STEP, own_u64(table, SST_MEMBER_STEP));
}

static void step_take(struct sst *table, void *argument)
{
    struct sst_member_report *report = argument;
    uint64_t step = own_u64(table, SST_MEMBER_STEP) + 1;
    if (sst_set_u64(table, SST_MEMBER_STEP, step) >= 0)
        atomic_store_explicit(&report->step, step, RELAXED);
}

static ripc_id lowest_live(const struct sst *table)
{
    ripc_id lowest = UINT64_MAX;
    for (uint32_t row = 0; row < sst_row_count(table); row++)
        if (sst_is_live(table, row) && sst_member(table, row) < lowest)
            lowest = sst_member(table, row);
    return lowest;
}

static bool leader_is_another(const struct sst *table, void *argument)
{
    return own_u64(table, SST_MEMBER_LEADER) != lowest_live(table);
}

static void leader_take(struct sst *table, void *argument)
{
    struct sst_member_report *report = argument;
    ripc_id leader = lowest_live(table);
    if (sst_set_u64(table, SST_MEMBER_LEADER, leader) >= 0)
        atomic_store_explicit(&report->leader, leader, RELAXED);
}

static bool all_agree(const struct sst *table, void *argument)
{
    return own_u64(table, SST_MEMBER_LEADER) != 0 && sst_all_equal(table, SST_MEMBER_LEADER);
}

static void agreement_count(struct sst *table, void *argument)
{
    struct sst_member_report *report = argument;
    atomic_fetch_add_explicit(&report->agreements, 1, RELAXED);
}

static int predicates_add(struct sst *table, struct sst_member_report *report)
{
    static const uint32_t step = SST_MEMBER_STEP, leader = SST_MEMBER_LEADER;
    const struct sst_predicate predicates[] = {
        {"leader", SST_RECURRENT, leader_is_another, leader_take, report, &leader, 1},
        {"agreement", SST_TRANSITION, all_agree, agreement_count, report, &leader, 1},
        {"next step", SST_RECURRENT, all_arrived, step_take, report, &step, 1},
    };
    int error = 0;
    for (size_t i = 0; i < sizeof predicates / sizeof *predicates && error >= 0; i++)
        error = sst_predicate_add(table, &predicates[i], NULL);
    return error;
}

static void news_note(struct sst *table, const struct sst_news *news, void *argument)
{
    struct sst_member_report *report = argument;
    switch (news->kind) {
    case SST_FAILED:
        atomic_store_explicit(&report->failed_at, ripc_now(), RELAXED);
        atomic_fetch_add_explicit(&report->failures, 1, RELAXED);
        break;
    case SST_EPOCH:
        atomic_store_explicit(&report->epoch, news->epoch, RELAXED);
        atomic_fetch_add_explicit(&report->epochs, 1, RELAXED);
        break;
    case SST_EXPELLED:
        atomic_store_explicit(&report->expelled, true, RELAXED);
        break;
    case SST_STUCK:
        break;
    }
}

/* ---- samples ---- */

struct sampler {
    uint64_t step;
    int64_t at, processor;
};

static int64_t processor_nsec(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * NSEC_PER_SEC + time.tv_nsec;
}

static struct sampler sampler_now(const struct sst *table)
{
    return (struct sampler){own_u64(table, SST_MEMBER_STEP), ripc_now(), processor_nsec()};
}

static int sample_publish(struct sst *table, struct sampler *last)
{
    static const struct sst_range ranges[] = {{.column = SST_MEMBER_LOAD},
                                              {.column = SST_MEMBER_RATE}};
    struct sst_member_row *own = sst_own(table);
    struct sampler now = sampler_now(table);
    double seconds = (double)(now.at - last->at) / 1e9;
    own->load = round((double)(now.processor - last->processor) / 1e7 / seconds) / 100;
    memmove(own->rates + 1, own->rates, sizeof own->rates - sizeof *own->rates);
    own->rates[0] = (uint32_t)((double)(now.step - last->step) / seconds);
    *last = now;
    return sst_publish(table, ranges, 2, SST_MEMBER_BEATS, own->beats + 1, NULL);
}

/* ---- joining and leaving ---- */

/* Returns true when the demo wants this member to leave, or has ended. */
static bool life_over(const struct sst_member *member, int wait_ms)
{
    struct pollfd life = {.fd = member->life, .events = POLLIN};
    return poll(&life, 1, wait_ms) > 0;
}

/* Waits until all members have joined. It does not use rows_wanted, because a member that waits in
 * sst_open cannot be asked to leave. */
static bool others_await(const struct sst_member *member, const struct sst *table)
{
    while (sst_live_count(table) < member->rows_wanted)
        if (life_over(member, SAMPLE_MS / 10))
            return false;
    return true;
}

static int member_live(const struct sst_member *member, struct sst *table)
{
    struct sst_member_report *report = member->report;
    struct sst_member_row *own = sst_own(table);
    static const struct sst_range who[] = {{.column = SST_MEMBER_PID}, {.column = SST_MEMBER_WHO}};
    own->pid = (uint32_t)getpid();
    memcpy(own->name, member->name, sizeof own->name);
    int error = sst_put(table, who, 2, NULL);
    /* Earlier members wait for this one, so it begins with their step. */
    if (error >= 0)
        error = sst_set_u64(table, SST_MEMBER_STEP, sst_maximum_u64(table, SST_MEMBER_STEP));
    if (error >= 0)
        error = predicates_add(table, report);
    if (error < 0)
        return error;
    atomic_store_explicit(&report->joined_at, ripc_now(), RELAXED);
    atomic_store_explicit(&report->epoch, sst_epoch(table), RELAXED);
    atomic_store_explicit(&report->state, SST_MEMBER_RUNS, memory_order_release);
    struct sampler last = sampler_now(table);
    while (error >= 0 && !life_over(member, SAMPLE_MS))
        error = sample_publish(table, &last);
    return error;
}

static enum err member_open(const struct sst_member *member, struct ripc *ripc, struct sst **table)
{
    char reason[RIPC_REASON_MAX] = "", name[RIPC_ID_TEXT];
    struct why *why = &member->report->why;
    int error = sst_open(ripc,
                         &(struct sst_config){.table = member->table,
                                              .columns = sst_member_columns,
                                              .column_count = SST_MEMBER_COLUMNS,
                                              .row_size = sizeof(struct sst_member_row),
                                              .member = member->id,
                                              .design = member->design,
                                              .upcall = news_note,
                                              .argument = member->report,
                                              .reason = reason},
                         table);
    if (error >= 0)
        return OK;
    ripc_id_text(member->table, name);
    if (error == -EADDRINUSE)
        return why_fail(why, ERR_SYSTEM,
                        "table %s: another demo uses it; choose another one with --table", name);
    return why_fail(why, ERR_SYSTEM, "table %s: %s", name,
                    reason[0] ? reason : ripc_strerror(error));
}

static enum err member_join(const struct sst_member *member)
{
    struct ripc *ripc;
    struct sst *table;
    struct sst_member_report *report = member->report;
    enum err err = ripc_call_open(member->call, NULL, &ripc, &report->why);
    if (err)
        return err;
    err = member_open(member, ripc, &table);
    if (!err) {
        int error = others_await(member, table) ? member_live(member, table) : 0;
        if (error < 0)
            err = ripc_call_fail(&report->why, error, "member");
        alarm(LEAVE_ALARM);
        (void)sst_stats(table, &report->stats);
        (void)sst_close(table, ripc_after(LEAVE_NSEC));
    }
    ripc_close(ripc, ripc_after(LEAVE_NSEC));
    return err;
}

void sst_member_run(const struct sst_member *member)
{
    struct sst_member_report *report = member->report;
    while (member->waits && !atomic_load_explicit(&report->go, memory_order_acquire))
        if (life_over(member, SAMPLE_MS / 10))
            return;
    enum err err = member_join(member);
    report->err = err;
    atomic_store_explicit(&report->state, err ? SST_MEMBER_REFUSED : SST_MEMBER_LEFT,
                          memory_order_release);
}
