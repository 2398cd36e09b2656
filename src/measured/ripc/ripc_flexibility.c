/* ripc_flexibility: the observation of Kehne, "LibRIPC" (thesis, Karlsruhe
 * 2012), section 5.4.2, with Hadoop: services start, stop, crash and move while
 * clients use them, and conversations resume without action of the clients.
 *
 * Each client sends a request to a service, waits for the answer, and repeats
 * that. It addresses the service by its id and does nothing else to find it.
 * Meanwhile the process of the service is replaced. Each process that has the
 * service is a *term*, numbered from 1, and every answer carries its term. A
 * conversation has resumed when the client received an answer of the new term.
 *
 * Each shared variable has one writer: a term writes its own entries, a client
 * its own, and the parent `ended` and `called`. `bound` and `resumed` are stored
 * with release; the value itself is the time. */
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <weft/ripc.h>

#include "base/check.h"
#include "measured/crowd.h"
#include "measured/figures.h"
#include "process/child.h"
#include "transport/clock.h"

#define SERVICE_ID     7000
#define CLIENT_COUNT   3
#define TERM_MAX       200
#define PAUSE_NSEC     (500 * 1000LL)       /* pause of a client after an error */
#define ANSWER_NSEC    (10 * 1000 * 1000LL) /* timeout of an answer */
#define TALK_NSEC      (20 * 1000 * 1000LL) /* undisturbed conversation before the next event */
#define PATIENCE_NSEC  (5 * NSEC_PER_SEC)   /* then a conversation counts as not resumed */
#define BIND_WAIT_NSEC (1000 * 1000LL)      /* between retries while the id is still taken */

enum event { STARTED, STOPPED, KILLED, MOVED, MOVED_KILLED, EVENT_COUNT };

static const char *const event_names[EVENT_COUNT] = {
    [STARTED] = "started after its clients",  [STOPPED] = "stopped, started again",
    [KILLED] = "killed -9, started again",    [MOVED] = "moved to a running process",
    [MOVED_KILLED] = "killed -9, taken over",
};

/* Written by one client only. The counters are relaxed, because they order nothing. */
struct client {
    _Atomic uint64_t asked;            /* requests that were sent */
    _Atomic uint64_t failed;           /* sends that returned an error */
    _Atomic uint64_t unanswered;       /* sent, but no answer came in time */
    _Atomic int64_t resumed[TERM_MAX]; /* time of the term's first answer; 0: none */
};

/* Shared by the parent, the terms and the clients. Terms store times and the parent
 * stores numbers of terms with release; readers wait for them with acquire. */
struct stage {
    _Atomic uint32_t ended;          /* terms up to this one must end; by the parent */
    _Atomic uint32_t called;         /* terms up to this one may bind the service; by the parent */
    _Atomic int64_t bound[TERM_MAX]; /* time of the bind; 0: not yet, < 0: its error */
    _Atomic int64_t left[TERM_MAX];  /* time of the unbind; 0: not yet */
    struct client clients[CLIENT_COUNT];
    struct child_folder folder;
};

struct request {
    uint64_t number;
    uint32_t term; /* of an answer */
    uint32_t client;
};

/* The argument of a child process. */
struct part {
    struct stage *stage;
    uint32_t index; /* of the client, or the term */
};

static struct ripc *context_open(const struct stage *stage)
{
    struct ripc *ripc;
    struct ripc_config config = {.domain = "measured", .transports = "shm", .names = "host"};
    if (setenv("WEFT_FOLDER", stage->folder.path, 1) || ripc_open(&config, &ripc) < 0)
        _exit(1);
    return ripc;
}

/* --- the service --- */

/* Retries while the process of the term before still holds the id. */
static int service_bind(struct ripc *ripc, struct ripc_service **service)
{
    nsec limit = clock_after(PATIENCE_NSEC);
    int error;
    while ((error = ripc_bind(ripc, SERVICE_ID, 0, service)) == -EADDRINUSE && clock_now() < limit)
        clock_nap(BIND_WAIT_NSEC);
    return error;
}

static void service_answer(struct ripc_service *service, uint32_t term, const struct stage *stage)
{
    struct ripc_message message;
    struct request request;
    while (atomic_load_explicit(&stage->ended, memory_order_acquire) < term) {
        if (ripc_receive(service, &message, 1, ripc_after(TALK_NSEC / 10)) != 1)
            continue;
        if (message.size == sizeof request) {
            memcpy(&request, message.data, sizeof request);
            request.term = term;
            (void)ripc_send(service, message.from, &request, sizeof request,
                            ripc_after(ANSWER_NSEC)); /* a client may have ended */
        }
        ripc_release(&message);
    }
}

/* The process of a term. It waits until it is called, binds the service, answers
 * until it must end, and unbinds. The process itself stays: only the service goes. */
static void term_run(void *argument)
{
    const struct part *part = argument;
    struct stage *stage = part->stage;
    uint32_t term = part->index;
    struct ripc *ripc = context_open(stage);
    struct ripc_service *service;
    while (atomic_load_explicit(&stage->called, memory_order_acquire) < term)
        clock_nap(PAUSE_NSEC / 10);
    int error = service_bind(ripc, &service);
    atomic_store_explicit(&stage->bound[term], error < 0 ? error : clock_now(),
                          memory_order_release);
    if (error < 0)
        _exit(1);
    service_answer(service, term, stage);
    ripc_unbind(service);
    atomic_store_explicit(&stage->left[term], clock_now(), memory_order_release);
    for (;;)
        clock_nap(NSEC_PER_SEC); /* until the parent kills this process */
}

/* --- the clients --- */

/* Waits for the answer to request `number`. Late answers to older requests are
 * dropped. */
static bool client_hear(struct ripc_service *service, uint64_t number, uint32_t *term)
{
    int64_t deadline = ripc_after(ANSWER_NSEC);
    struct ripc_message message;
    while (ripc_receive(service, &message, 1, deadline) == 1) {
        struct request answer = {0};
        if (message.size == sizeof answer)
            memcpy(&answer, message.data, sizeof answer);
        ripc_release(&message);
        if (answer.number == number) {
            *term = answer.term;
            return true;
        }
    }
    return false;
}

static void client_run(void *argument)
{
    const struct part *part = argument;
    struct client *client = &part->stage->clients[part->index];
    struct ripc *ripc = context_open(part->stage);
    struct ripc_service *service;
    if (ripc_bind(ripc, 0, 0, &service) < 0)
        _exit(1);
    for (uint64_t number = 1;; number++) { /* until the parent kills this process */
        struct request request = {.number = number, .client = part->index};
        uint32_t term = 0;
        int error =
            ripc_send(service, SERVICE_ID, &request, sizeof request, ripc_after(ANSWER_NSEC));
        if (error < 0) {
            atomic_fetch_add_explicit(&client->failed, 1, memory_order_relaxed);
            clock_nap(PAUSE_NSEC);
            continue;
        }
        bool heard = client_hear(service, number, &term);
        if (heard && term < TERM_MAX &&
            !atomic_load_explicit(&client->resumed[term], memory_order_relaxed))
            atomic_store_explicit(&client->resumed[term], clock_now(), memory_order_release);
        if (!heard)
            atomic_fetch_add_explicit(&client->unanswered, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&client->asked, 1, memory_order_relaxed);
    }
}

/* --- the play --- */

/* The effect of one event on the conversations. */
struct outcome {
    double outage;     /* ms from the end of the old term until all clients have new answers */
    double resumption; /* the part of it after the new term bound the service, ms */
    uint32_t resumed;  /* clients whose conversation resumed */
    uint64_t asked, failed, unanswered;
};

struct play {
    struct stage *stage;
    pid_t clients[CLIENT_COUNT];
    pid_t terms[TERM_MAX];
    uint32_t term; /* the last one that was started */
    bool has_folder;
};

static void sums_read(const struct stage *stage, struct outcome *sums)
{
    *sums = (struct outcome){0};
    for (int i = 0; i < CLIENT_COUNT; i++) {
        const struct client *client = &stage->clients[i];
        sums->asked += atomic_load_explicit(&client->asked, memory_order_relaxed);
        sums->failed += atomic_load_explicit(&client->failed, memory_order_relaxed);
        sums->unanswered += atomic_load_explicit(&client->unanswered, memory_order_relaxed);
    }
}

static enum err term_start(struct play *play, struct why *why)
{
    struct part part = {play->stage, ++play->term};
    assert(play->term < TERM_MAX);
    play->terms[play->term] = child_start(term_run, &part);
    if (play->terms[play->term] < 0)
        return why_fail(why, ERR_SYSTEM, "cannot start a process: %s",
                        strerror(-play->terms[play->term]));
    return OK;
}

static void term_call(struct play *play)
{
    atomic_store_explicit(&play->stage->called, play->term, memory_order_release);
}

/* Waits until a time is stored. Returns false after a timeout or if it is an error. */
static bool moment_wait(const _Atomic int64_t *moment, nsec *when)
{
    nsec limit = clock_after(PATIENCE_NSEC);
    while (!(*when = atomic_load_explicit(moment, memory_order_acquire)) && clock_now() < limit)
        clock_nap(PAUSE_NSEC / 10);
    return *when > 0;
}

/* Ends the old term and calls the new one. *ended is the time at which the old one ended. */
static enum err service_replace(struct play *play, enum event event, nsec *ended, struct why *why)
{
    uint32_t old = play->term;
    enum err err = OK;
    if (event == MOVED || event == MOVED_KILLED) {
        err = term_start(play, why);
        clock_nap(TALK_NSEC); /* so that the process runs before it gets the service */
    }
    *ended = clock_now();
    if (event == STOPPED || event == MOVED) {
        atomic_store_explicit(&play->stage->ended, old, memory_order_release);
        if (!moment_wait(&play->stage->left[old], &(nsec){0}))
            return why_fail(why, ERR_SYSTEM, "a service did not end in time");
    }
    if (event == STOPPED || event == KILLED || event == MOVED_KILLED) {
        child_kill(play->terms[old]);
        play->terms[old] = 0;
    }
    if (!err && play->term == old)
        err = term_start(play, why);
    term_call(play);
    return err;
}

static enum err event_play(struct play *play, enum event event, struct outcome *outcome,
                           struct why *why)
{
    struct outcome before;
    nsec ended, bound, last = 0;
    sums_read(play->stage, &before);
    enum err err = service_replace(play, event, &ended, why);
    if (err)
        return err;
    if (!moment_wait(&play->stage->bound[play->term], &bound))
        return why_fail(why, ERR_SYSTEM, "cannot bind the service: %s",
                        bound ? ripc_strerror((int)bound) : "it took too long");
    uint32_t resumed = 0;
    for (int i = 0; i < CLIENT_COUNT; i++) {
        nsec when;
        if (moment_wait(&play->stage->clients[i].resumed[play->term], &when)) {
            resumed++;
            last = when > last ? when : last;
        }
    }
    clock_nap(TALK_NSEC); /* so that late answers are counted for this event */
    sums_read(play->stage, outcome);
    outcome->asked -= before.asked;
    outcome->failed -= before.failed;
    outcome->unanswered -= before.unanswered;
    outcome->resumed = resumed;
    outcome->outage = last ? (double)(last - ended) * 1e-6 : NAN;
    outcome->resumption = last ? fmax((double)(last - bound) * 1e-6, 0) : NAN;
    return OK;
}

static enum err play_open(struct play *play, struct why *why)
{
    *play = (struct play){0};
    play->stage = crowd_memory(sizeof *play->stage);
    if (!play->stage)
        return why_memory(why);
    int error = child_folder_make(&play->stage->folder);
    if (error < 0)
        return why_fail(why, ERR_SYSTEM, "cannot make a folder for the measurement: %s",
                        strerror(-error));
    play->has_folder = true;
    for (uint32_t i = 0; i < CLIENT_COUNT; i++) {
        struct part part = {play->stage, i};
        play->clients[i] = child_start(client_run, &part);
        if (play->clients[i] < 0)
            return why_fail(why, ERR_SYSTEM, "cannot start a process: %s",
                            strerror(-play->clients[i]));
    }
    clock_nap(TALK_NSEC);
    return OK;
}

static void play_close(struct play *play)
{
    for (int i = 0; i < CLIENT_COUNT; i++)
        child_kill(play->clients[i]);
    for (uint32_t term = 1; term <= play->term; term++)
        child_kill(play->terms[term]);
    if (!play->stage)
        return;
    if (play->has_folder)
        child_folder_remove(&play->stage->folder);
    crowd_memory_free(play->stage, sizeof *play->stage);
}

/* --- the figure --- */

#define ROUND_MAX 15

/* Orders outcomes by their outage, shortest first. */
static int by_outage(const void *left, const void *right)
{
    double a = ((const struct outcome *)left)->outage, b = ((const struct outcome *)right)->outage;
    return (a > b) - (a < b);
}

/* Adds a row and a claim for all rounds of one event; the row has the median outage. */
static void event_report(struct figure_result *result, struct figure_table *table,
                         struct figure_table *outages, enum event event, struct outcome *outcomes,
                         size_t rounds)
{
    struct outcome sum = {0};
    for (size_t i = 0; i < rounds; i++) {
        sum.resumed += outcomes[i].resumed;
        sum.asked += outcomes[i].asked;
        sum.failed += outcomes[i].failed;
        sum.unanswered += outcomes[i].unanswered;
    }
    qsort(outcomes, rounds, sizeof *outcomes, by_outage);
    for (size_t i = 0; i < rounds; i++)
        figure_row_named(outages, event_names[event],
                         (double[]){outcomes[i].outage, 100.0 * (double)(i + 1) / (double)rounds});
    const struct outcome *median = &outcomes[rounds / 2];
    double conversations = (double)(rounds * CLIENT_COUNT);
    figure_row_named(table, event_names[event],
                     (double[]){rounds, conversations, sum.resumed, median->outage,
                                outcomes[rounds - 1].outage, median->resumption,
                                (double)(sum.asked - sum.unanswered), sum.failed, sum.unanswered});
    figure_claim(result, "section 5.4.2",
                 figure_text(result, "conversations that resume: service %s", event_names[event]),
                 says_equal(100, 0, "%"), 100 * sum.resumed / conversations,
                 "a client received no answer from the new process within 5 s");
}

static enum err flexibility_run(struct figure_result *result, const struct figure_call *call,
                                struct why *why)
{
    struct figure_table *table =
        figure_table_add(result, "flexibility",
                         "event, times, conversations, resumed, outage (ms), outage_most (ms), "
                         "after_bind (ms), answered, failed, unanswered");
    struct figure_table *outages =
        figure_table_add(result, "outages", "event, outage (ms), share (%)");
    struct outcome outcomes[EVENT_COUNT][ROUND_MAX];
    size_t rounds = call->quick ? 2 : ROUND_MAX;
    enum err err = OK;
    for (size_t round = 0; round < rounds && !err; round++) {
        struct play play;
        err = play_open(&play, why);
        for (int event = 0; event < EVENT_COUNT && !err; event++)
            err = event_play(&play, (enum event)event, &outcomes[event][round], why);
        play_close(&play);
        figure_progress(call, round + 1, rounds);
    }
    for (int event = 0; event < EVENT_COUNT && !err; event++)
        event_report(result, table, outages, (enum event)event, outcomes[event], rounds);
    return err;
}

const struct figure figure_ripc_flexibility = {
    .name = "ripc-flexibility",
    .paper = "LibRIPC",
    .what = "services start, stop, crash and move while clients use them",
    .full = {"3 clients, 5 events, 15 times", .seconds = 10},
    .quick = {"3 clients, 5 events, twice", .seconds = 1},
    .choice = "The thesis reports that Hadoop continued to run and gives no numbers. Here clients "
              "send requests to a service whose process is replaced; the conversations that "
              "resume without action of the client are counted. Processes replace machines.",
    .measured = true,
    .plot.table = "outages",
    .plot.x = {.column = "outage",
               .label = "outage, until all clients have answers again (ms)",
               .log = true},
    .plot.y = {.label = "share of the times that were as short (%)"},
    .plot.series =
        {
            {"started after its clients", "share", "event", "started after its clients",
             STYLE_BOTH},
            {"stopped, started again", "share", "event", "stopped, started again", STYLE_BOTH},
            {"killed -9, started again", "share", "event", "killed -9, started again", STYLE_BOTH},
            {"moved to a running process", "share", "event", "moved to a running process",
             STYLE_BOTH},
            {"killed -9, taken over", "share", "event", "killed -9, taken over", STYLE_BOTH},
        },
    .run = flexibility_run,
};
