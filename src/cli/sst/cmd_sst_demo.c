/* weft sst demo */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_report.h"
#include "cli/show/unit_text.h"
#include "cli/sst/sst_crew.h"
#include "cli/sst/sst_screen.h"
#include "cli/sst/sst_watcher.h"

#define TABLE_DEFAULT   7
#define MEMBERS_DEFAULT 4
#define SECONDS_DEFAULT 5
#define SECONDS_MAX     86400
#define FRAME_NSEC      100000000LL
#define ANSWER_NSEC     500000000LL /* timeout of one picture; the next one tries again */
#define JOIN_NSEC       15000000000LL
#define EVENTS_MAX      32 /* events that are kept; later ones are dropped */
#define EVENT_SIZE      128

struct event {
    double at; /* seconds since all members had joined */
    char text[EVENT_SIZE];
};

struct demo {
    struct call *call;
    struct sst_crew crew;
    ripc_id table;
    uint64_t members;
    double seconds;
    int design;
    bool kill;
    struct ripc *ripc; /* to read the table; opened after all processes were forked */
    struct sst_watcher *watcher;
    struct sst_view view;
    struct sst_screen screen;
    struct event events[EVENTS_MAX];
    uint32_t event_count;
    int64_t begun, ended;
    uint64_t step_first, step_last, epoch_first, epoch_last;
    pid_t victim; /* 0: no process was killed yet */
    int64_t killed_at, revived_at;
    uint32_t noticed;                    /* survivors that noticed the death ... */
    int64_t noticed_first, noticed_last; /* ... and after which time */
    bool back;                           /* the spare has taken the victim's place */
};

static enum err demo_parse(struct demo *demo, struct call *call, struct why *why)
{
    static const char *const designs[] = {"writes", "reads", NULL};
    const char *table = call_option(call, "table");
    *demo = (struct demo){.call = call,
                          .table = TABLE_DEFAULT,
                          .members = MEMBERS_DEFAULT,
                          .seconds = SECONDS_DEFAULT,
                          .kill = call_has(call, "kill"),
                          .screen = sst_screen_make()};
    enum err err = call_uint(call, "members", 1, SST_CREW_MAX, &demo->members, why);
    if (!err)
        err = call_real(call, "seconds", 0.1, SECONDS_MAX, &demo->seconds, why);
    if (!err)
        err = call_choice(call, "design", designs, &demo->design, why);
    if (!err && table)
        err = ripc_call_id(table, &demo->table, why);
    if (!err && demo->kill && demo->members < 2)
        err = why_fail(why, ERR_USAGE,
                       "--kill: needs --members 2 at least, because one member must be left");
    return err;
}

/* ---- events ---- */

static double demo_seconds(const struct demo *demo)
{
    return (double)(ripc_now() - demo->begun) / 1e9;
}

static void event_line(struct text *out, const struct event *event)
{
    text_printf(out, "%6.2f s  %s\n", event->at, event->text);
}

/* Adds an event. On a terminal it is shown below the table; otherwise it is printed. */
__attribute__((format(printf, 2, 3))) static void event_add(struct demo *demo, const char *format,
                                                            ...)
{
    if (demo->event_count == EVENTS_MAX)
        return;
    struct event *event = &demo->events[demo->event_count++];
    event->at = demo_seconds(demo);
    va_list list;
    va_start(list, format);
    vsnprintf(event->text, sizeof event->text, format, list);
    va_end(list);
    if (!demo->screen.live && !demo->call->json)
        event_line(&demo->call->out, event);
}

/* Tells whether the member runs and is not to be killed. */
static bool is_survivor(const struct demo *demo, uint32_t index)
{
    return index > 0 && index < demo->crew.count && demo->crew.pids[index] > 0;
}

static void deaths_tell(struct demo *demo)
{
    char id[RIPC_ID_TEXT];
    for (int index, signal; (index = sst_crew_died(&demo->crew, &signal)) >= 0;)
        event_add(demo, "%s, member %s, has died: %s", demo->crew.members[index].name,
                  ripc_id_text(demo->crew.members[index].id, id),
                  signal ? strsignal(signal) : "it ended");
}

static void victim_kill(struct demo *demo)
{
    char id[RIPC_ID_TEXT];
    const struct sst_member *member = &demo->crew.members[0];
    demo->victim = demo->crew.pids[0];
    if (demo->victim <= 0) /* it was killed from outside before */
        return;
    demo->killed_at = ripc_now();
    sst_crew_kill(&demo->crew);
    event_add(demo, "%s, member %s, the leader, is killed (pid %d)", member->name,
              ripc_id_text(member->id, id), (int)demo->victim);
}

/* Reports when all survivors have noticed the death. */
static void notices_tell(struct demo *demo)
{
    uint32_t noticed = 0, survivors = 0;
    int64_t first = INT64_MAX, last = 0;
    for (uint32_t index = 1; index < demo->crew.count; index++) {
        struct sst_member_report *report = &demo->crew.reports[index];
        if (!is_survivor(demo, index))
            continue;
        survivors++;
        int64_t after =
            atomic_load_explicit(&report->failed_at, memory_order_relaxed) - demo->killed_at;
        if (atomic_load_explicit(&report->failures, memory_order_relaxed) == 0 || after < 0)
            continue;
        noticed++;
        first = after < first ? after : first;
        last = after > last ? after : last;
    }
    if (noticed < survivors || survivors == 0)
        return;
    demo->noticed = noticed;
    demo->noticed_first = first;
    demo->noticed_last = last;
    struct text text = {0};
    unit_text_nsec(&text, (double)last);
    event_add(demo, "its row is frozen at all %u others, the last after %s", noticed,
              text_ok(&text) ? text.data : "");
    text_fini(&text);
}

static void revival_tell(struct demo *demo)
{
    const struct sst_member_report *report = &demo->crew.reports[demo->crew.count];
    if (sst_crew_state(&demo->crew, demo->crew.count) != SST_MEMBER_RUNS)
        return;
    demo->back = true;
    event_add(demo, "%s is back, as a new process, in epoch %" PRIu64, demo->crew.members[0].name,
              atomic_load_explicit(&report->epoch, memory_order_relaxed));
}

/* Does what is due now: kills the leader after a third of the time, and lets the spare join after
 * two thirds. */
static void demo_direct(struct demo *demo)
{
    double share = demo_seconds(demo) / demo->seconds;
    deaths_tell(demo);
    if (!demo->kill)
        return;
    if (!demo->killed_at && !demo->victim && share >= 1.0 / 3)
        victim_kill(demo);
    if (demo->killed_at && !demo->noticed)
        notices_tell(demo);
    if (!demo->revived_at && share >= 2.0 / 3 && (demo->noticed || !demo->killed_at)) {
        demo->revived_at = ripc_now();
        sst_crew_revive(&demo->crew);
    }
    if (demo->revived_at && !demo->back)
        revival_tell(demo);
}

/* ---- pictures ---- */

static uint64_t step_most(const struct demo *demo)
{
    uint64_t most = 0;
    for (uint32_t index = 0; index < demo->crew.count + demo->crew.spare; index++) {
        uint64_t step = atomic_load_explicit(&demo->crew.reports[index].step, memory_order_relaxed);
        most = step > most ? step : most;
    }
    return most;
}

static uint64_t epoch_most(const struct demo *demo)
{
    uint64_t most = 0;
    for (uint32_t index = 0; index < demo->crew.count + demo->crew.spare; index++) {
        uint64_t epoch =
            atomic_load_explicit(&demo->crew.reports[index].epoch, memory_order_relaxed);
        most = epoch > most ? epoch : most;
    }
    return most;
}

static enum err frame_show(struct demo *demo, struct why *why)
{
    struct sst_picture picture;
    struct text lines = {0};
    struct table_text_style style = sst_screen_style(&demo->screen);
    /* The member that was asked may have been killed just now. */
    if (sst_watcher_take(demo->watcher, ripc_after(ANSWER_NSEC), &picture) < 0)
        return OK;
    sst_view_text(&demo->view, &lines, &picture, &style);
    text_puts(&lines, "\n");
    for (uint32_t i = 0; i < demo->event_count; i++)
        event_line(&lines, &demo->events[i]);
    text_printf(&lines, "%6.2f s  of %g; Ctrl-C ends it\n", demo_seconds(demo), demo->seconds);
    enum err err = sst_screen_show(&demo->screen, demo->call, &lines, why);
    text_fini(&lines);
    return err;
}

/* The demo lasts longer if the spare has not joined yet, because a busy machine may need more
 * time. */
static bool demo_is_over(const struct demo *demo, int64_t deadline)
{
    bool owes = demo->kill && !demo->back;
    return stop_asked() || ripc_now() >= deadline + (owes ? JOIN_NSEC : 0);
}

static enum err demo_watch(struct demo *demo, struct why *why)
{
    enum err err = OK;
    int64_t deadline = demo->begun + (int64_t)(demo->seconds * 1e9), frame = demo->begun;
    while (!err && !demo_is_over(demo, deadline)) {
        demo_direct(demo);
        err = sst_crew_check(&demo->crew, why);
        if (!err && demo->screen.live && !demo->call->json)
            err = frame_show(demo, why);
        else if (!err)
            err = call_flush(demo->call, why);
        frame = frame + FRAME_NSEC > ripc_now() ? frame + FRAME_NSEC : ripc_now();
        ripc_call_sleep(frame);
    }
    return err;
}

/* ---- the summary ---- */

static struct sst_stats stats_sum(const struct demo *demo)
{
    struct sst_stats sum = {0};
    for (uint32_t index = 0; index < demo->crew.count + demo->crew.spare; index++) {
        const struct sst_stats *stats = &demo->crew.reports[index].stats;
        sum.passes += stats->passes;
        sum.evaluations += stats->evaluations;
        sum.fires += stats->fires;
        sum.puts += stats->puts;
        sum.blocks += stats->blocks;
        sum.wakes += stats->wakes;
    }
    return sum;
}

static const char demo_page[] =
    "{members|member|members} by {design} for {seconds%.2f} s, epoch {epoch_first} to "
    "{epoch_last}\n"
    "{steps} steps, {steps_per_second%.0f} a second; {counts_per_second%.0f} counts a second by "
    "all\n"
    "{detections} detections of {evaluations} evaluations, {puts} puts, {sleeps} sleeps\n"
    "{?killed.noticed_by}the death was noticed by {killed.noticed_by} of {others}, after "
    "{killed.noticed_first_ns%t} to {killed.noticed_last_ns%t}\n{/}";

static void death_put(const struct demo *demo, struct result *result)
{
    if (!demo->killed_at) {
        result_null(result, "killed");
        return;
    }
    const struct sst_member_report *spare = &demo->crew.reports[demo->crew.count];
    int64_t joined = atomic_load_explicit(&spare->joined_at, memory_order_relaxed);
    result_object(result, "killed");
    result_uint(result, "member", demo->crew.members[0].id);
    result_uint(result, "pid", (uint64_t)demo->victim);
    result_uint(result, "noticed_by", demo->noticed);
    result_uint_if(result, "noticed_first_ns", demo->noticed, (uint64_t)demo->noticed_first);
    result_uint_if(result, "noticed_last_ns", demo->noticed, (uint64_t)demo->noticed_last);
    result_uint_if(result, "rejoined_ns", demo->back, (uint64_t)(joined - demo->revived_at));
    result_end(result);
}

static void report(const struct demo *demo, const struct sst_stats *stats, double seconds)
{
    struct result *result = call_result(demo->call, demo_page);
    uint64_t steps = demo->step_last - demo->step_first;
    result_uint(result, "table", demo->table);
    result_string(result, "design", demo->design ? "reads" : "writes");
    result_uint(result, "members", demo->members);
    result_uint(result_hide(result), "others", demo->members - 1);
    result_number(result, "seconds", seconds);
    result_uint(result, "epoch_first", demo->epoch_first);
    result_uint(result, "epoch_last", demo->epoch_last);
    result_uint(result, "steps", steps);
    result_number(result, "steps_per_second", (double)steps / seconds);
    result_number(result, "counts_per_second", (double)(steps * demo->members) / seconds);
    result_uint(result, "evaluations", stats->evaluations);
    result_uint(result, "detections", stats->fires);
    result_uint(result, "puts", stats->puts);
    result_uint(result, "sleeps", stats->blocks);
    death_put(demo, result);
    result_array(result, "events");
    for (uint32_t i = 0; i < demo->event_count; i++) {
        result_object(result, NULL);
        result_number(result, "at", demo->events[i].at);
        result_string(result, "what", demo->events[i].text);
        result_end(result);
    }
    result_end(result);
}

/* ---- the demo ---- */

static enum err crew_await(struct demo *demo, struct why *why)
{
    char table[RIPC_ID_TEXT];
    int64_t deadline = ripc_after(JOIN_NSEC);
    for (uint32_t index = 0; index < demo->crew.count && !stop_asked();) {
        enum err err = sst_crew_check(&demo->crew, why);
        int signal, died = err ? -1 : sst_crew_died(&demo->crew, &signal);
        if (err)
            return err;
        if (died >= 0 || ripc_now() > deadline)
            return why_fail(why, ERR_SYSTEM, "table %s: %s %s", ripc_id_text(demo->table, table),
                            demo->crew.members[died < 0 ? (int)index : died].name,
                            died < 0 ? "cannot join" : "has died");
        if (sst_crew_state(&demo->crew, index) == SST_MEMBER_RUNS)
            index++;
        else
            ripc_call_sleep(ripc_after(FRAME_NSEC / 100));
    }
    return OK;
}

static enum err demo_play(struct demo *demo, struct why *why)
{
    enum err err = crew_await(demo, why);
    if (err || stop_asked())
        return err;
    err = ripc_call_open(demo->call, NULL, &demo->ripc, why);
    if (!err)
        err = sst_watcher_open(demo->ripc, demo->table, ripc_after(JOIN_NSEC), &demo->watcher, why);
    if (err)
        return err;
    demo->begun = ripc_now();
    demo->step_first = step_most(demo);
    demo->epoch_first = epoch_most(demo);
    char id[RIPC_ID_TEXT];
    event_add(demo, "%" PRIu64 " members share table %s, epoch %" PRIu64, demo->members,
              ripc_id_text(demo->table, id), demo->epoch_first);
    err = demo_watch(demo, why);
    demo->ended = ripc_now();
    demo->step_last = step_most(demo);
    demo->epoch_last = epoch_most(demo);
    return err;
}

static enum err demo_run(struct call *call, struct why *why)
{
    static struct demo demo;
    enum err err = demo_parse(&demo, call, why);
    if (err)
        return err;
    stop_catch();
    err = sst_crew_start(&demo.crew, call, demo.table, (uint32_t)demo.members,
                         demo.design ? SST_READS : SST_WRITES, demo.kill, why);
    if (!err)
        err = demo_play(&demo, why);
    sst_watcher_close(demo.watcher);
    if (demo.ripc)
        ripc_close(demo.ripc, RIPC_NOW);
    sst_crew_dismiss(&demo.crew);
    if (!err && demo.begun) {
        struct sst_stats stats = stats_sum(&demo);
        double seconds = (double)(demo.ended - demo.begun) / 1e9;
        report(&demo, &stats, seconds);
    }
    sst_crew_fini(&demo.crew);
    (void)ripc_clean(call_option(call, "domain")); /* files of killed members */
    return err;
}

static const struct option demo_options[] = {
    {"members", "N", "number of processes, 1 to 64 (default 4)"},
    {"seconds", "S", "duration in seconds (default 5)"},
    {"design", "writes|reads", "how members get the rows of others (default writes)"},
    {"table", "ID", "number of the table (default 7)"},
    {"kill", NULL, "kill the leader after a third of the time, start it again after two thirds"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_sst_demo = {
    .name = "sst demo",
    .arguments = "",
    .summary = "show processes that share a table",
    .description =
        "Starts processes that share a table, and shows the table while they work. Each process "
        "takes steps: a predicate over the table lets it take the next step when all live members "
        "have taken the one before. Each process regards the live member with the lowest id as the "
        "leader. Ten times a second each process publishes its load and how many steps it took "
        "lately; it writes the data first and then a guard.\n\n"
        "With --kill the leader is killed with SIGKILL: its row is frozen, the other processes "
        "agree on another leader and continue, and after a while a new process takes its place, "
        "in a new epoch. You can also kill any of the printed pids, and watch the table with "
        "'weft sst watch' in another shell.\n\n"
        "On a terminal the table is updated in place; otherwise only events are printed. At the "
        "end it prints a summary: steps, detections (triggers that ran), puts, and how soon the "
        "death was noticed. Ctrl-C ends it early; no process and no file remains.",
    .options = demo_options,
    .examples = "  weft sst demo\n"
                "  weft sst demo --kill --seconds 10\n"
                "  weft sst demo --members 2 --design reads --json",
    .streams = true,
    .run = demo_run,
};
