#include "cli/store/ycsb_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "transport/clock.h"
#include "transport/wake/thread.h"

#define LOOK_NSEC  (20 * 1000000LL) /* between two looks at the programs */
#define VALUE_ROOM WEFT_STORE_VALUE_MAX

enum slot_stage { SLOT_FREE, SLOT_WAITS, SLOT_SENT };

/* A request of a program. */
struct slot {
    enum slot_stage stage;
    bool writes; /* YCSB_MODIFY: the value was read */
    enum ycsb_op op;
    int64_t since; /* its time counts from here */
    uint64_t ticket, version;
    char key[YCSB_KEY_SIZE];
};

struct program {
    struct ycsb_run *run;
    struct thread thread;
    struct weft_store *store;
    struct ycsb ycsb;
    uint64_t index;
    struct ycsb_sums sums;
    struct slot slots[WEFT_STORE_UNDER_WAY];
    unsigned open; /* slots that are not free */
    uint64_t begun;
    int64_t begin, end;
    bool over;
    char *value, *room;
    _Atomic uint64_t ended; /* requests; relaxed: for the line of progress */
    _Atomic bool done;      /* release: the sums belong to the reader */
};

struct ycsb_run {
    const struct ycsb_settings *settings;
    struct ycsb_keys keys;
    bool loads;
    _Atomic bool stop; /* relaxed: programs end soon after */
    struct program *programs;
};

/* ---- opening ---- */

static enum err program_open(struct ycsb_run *run, uint64_t index, struct why *why)
{
    const struct ycsb_settings *settings = run->settings;
    struct program *program = &run->programs[index];
    program->run = run;
    program->index = index;
    program->value = array_new(settings->value_size + 1, 1);
    program->room =
        array_new(VALUE_ROOM > WEFT_STORE_PAGE_SIZE ? VALUE_ROOM : WEFT_STORE_PAGE_SIZE, 1);
    if (!program->value || !program->room)
        return why_memory(why);
    struct rng rng = rng_make(settings->seed, 1000 + index);
    for (uint64_t i = 0; i < settings->value_size; i++)
        program->value[i] = (char)(' ' + rng_below(&rng, 95));
    int result = weft_store_open(settings->folder, settings->server, &program->store);
    if (result == -ENOSYS)
        return why_fail(why, ERR_SYSTEM,
                        "the cluster runs no store; start it with: weft up SPEC --service store");
    if (result)
        return why_fail(why, ERR_SYSTEM, "%s: %s", settings->folder, weft_store_strerror(result));
    return OK;
}

enum err ycsb_run_open(struct ycsb_run **out, const struct ycsb_settings *settings, struct why *why)
{
    struct ycsb_run *run = array_new(1, sizeof *run);
    if (!run)
        return why_memory(why);
    run->settings = settings;
    run->keys.loaded = settings->keys;
    run->keys.margin = settings->programs * settings->at_once;
    atomic_store_explicit(&run->keys.next, settings->keys, memory_order_relaxed);
    run->programs = array_new(settings->programs, sizeof *run->programs);
    enum err err = run->programs ? OK : why_memory(why);
    for (uint64_t i = 0; !err && i < settings->programs; i++)
        err = program_open(run, i, why);
    if (err) {
        ycsb_run_close(run);
        return err;
    }
    *out = run;
    return OK;
}

void ycsb_run_close(struct ycsb_run *run)
{
    if (!run)
        return;
    for (uint64_t i = 0; run->programs && i < run->settings->programs; i++) {
        struct program *program = &run->programs[i];
        if (program->store)
            (void)weft_store_close(program->store);
        free(program->value);
        free(program->room);
    }
    free(run->programs);
    free(run);
}

/* ---- a request ends ---- */

static void slot_free(struct program *program, struct slot *slot)
{
    slot->stage = SLOT_FREE;
    program->open--;
    atomic_fetch_add_explicit(&program->ended, 1, memory_order_relaxed);
}

static void slot_end(struct program *program, struct slot *slot, int result)
{
    struct ycsb_sums *sums = &program->sums;
    bool absent = result == -ENOENT && slot->op != YCSB_INSERT;
    if (result == -ETIMEDOUT)
        sums->unknown++;
    else if (result < 0 && !absent)
        sums->failed++;
    if (result < 0 && !absent && !sums->error)
        sums->error = result;
    sums->absent += absent;
    if (result >= 0 || absent)
        times_note(&sums->times[slot->op], clock_now() - slot->since);
    slot_free(program, slot);
}

static void slot_answered(struct program *program, struct slot *slot,
                          const struct weft_store_answer *answer)
{
    bool conflict = answer->result == -ESTALE && slot->writes;
    if (slot->op != YCSB_MODIFY || (answer->result < 0 && !conflict) ||
        (slot->writes && !conflict)) {
        slot_end(program, slot, answer->result);
        return;
    }
    program->sums.conflicts += conflict;
    slot->writes = !conflict;
    slot->version = answer->version;
    slot->stage = SLOT_WAITS;
}

/* ---- a request begins ---- */

/* A scan is a call that waits. */
static void slot_scan(struct program *program, struct slot *slot, uint32_t count)
{
    struct weft_store_scan scan = {.prefix = YCSB_PREFIX,
                                   .prefix_size = sizeof YCSB_PREFIX - 1,
                                   .flags = WEFT_STORE_AFTER,
                                   .most = count,
                                   .after_size = (uint32_t)strlen(slot->key)};
    memcpy(scan.after, slot->key, scan.after_size);
    int result = weft_store_scan(program->store, &scan, program->room,
                                 weft_deadline(program->run->settings->patience));
    slot_end(program, slot, result);
}

/* Sends what waits. False: an answer must be taken first, since the store has a window of numbers.
 */
static bool slots_send(struct program *program)
{
    const struct ycsb_settings *settings = program->run->settings;
    for (unsigned i = 0; i < settings->at_once; i++) {
        struct slot *slot = &program->slots[i];
        if (slot->stage != SLOT_WAITS)
            continue;
        bool reads = slot->op == YCSB_READ || (slot->op == YCSB_MODIFY && !slot->writes);
        const struct weft_store_request request = {
            .op = reads ? WEFT_STORE_GET : WEFT_STORE_PUT,
            .condition = slot->writes ? WEFT_STORE_IF_VERSION : WEFT_STORE_ALWAYS,
            .version = slot->writes ? slot->version : 0,
            .key = slot->key,
            .key_size = strlen(slot->key),
            .value = reads ? NULL : program->value,
            .value_size = reads ? 0 : settings->value_size,
        };
        int result = weft_store_post(program->store, &request, &slot->ticket,
                                     weft_deadline(settings->patience));
        if (result == -EAGAIN)
            return false;
        if (result)
            slot_end(program, slot, result);
        else
            slot->stage = SLOT_SENT;
    }
    return true;
}

/* When the next request is due; 0: as soon as there is room. */
static int64_t due_at(const struct program *program)
{
    const struct ycsb_settings *settings = program->run->settings;
    if (settings->rate == 0 || program->run->loads)
        return 0;
    double place = (double)(program->begun * settings->programs + program->index);
    return program->begin + (int64_t)(place * 1e9 / settings->rate);
}

/* The keys of a load are divided among the programs. False: there are no more. */
static bool request_next(struct program *program, struct ycsb_request *request)
{
    const struct ycsb_settings *settings = program->run->settings;
    if (!program->run->loads) {
        *request = ycsb_next(&program->ycsb);
        return true;
    }
    *request = (struct ycsb_request){.op = YCSB_INSERT,
                                     .key = program->begun * settings->programs + program->index};
    return request->key < settings->keys;
}

static void request_begin(struct program *program, int64_t now)
{
    struct ycsb_request request;
    unsigned i = 0;
    int64_t due = due_at(program);
    if (!request_next(program, &request)) {
        program->over = true;
        return;
    }
    while (program->slots[i].stage != SLOT_FREE)
        i++;
    struct slot *slot = &program->slots[i];
    *slot = (struct slot){.stage = SLOT_WAITS, .op = request.op, .since = due ? due : now};
    ycsb_key_write(request.key, slot->key);
    program->open++;
    program->begun++;
    if (request.op == YCSB_SCAN)
        slot_scan(program, slot, request.scanned);
}

/* ---- a program ---- */

/* Waits until that moment for an answer. */
static void answer_take(struct program *program, int64_t until)
{
    struct weft_store_answer answer;
    int result = weft_store_take(program->store, &answer, program->room, VALUE_ROOM, until);
    if (result == -EAGAIN || result == -ETIMEDOUT)
        return;
    for (unsigned i = 0; i < WEFT_STORE_UNDER_WAY; i++) {
        struct slot *slot = &program->slots[i];
        if (slot->stage == SLOT_SENT && result == 1 && slot->ticket == answer.ticket) {
            slot_answered(program, slot, &answer);
            return;
        }
        if (slot->stage != SLOT_FREE && result < 0)
            slot_end(program, slot, result);
    }
    program->over |= result < 0;
}

/* With a rate, all requests that are due in the run begin, unless the store is far behind. */
static bool must_end(const struct program *program, int64_t now)
{
    const struct ycsb_settings *settings = program->run->settings;
    if (atomic_load_explicit(&program->run->stop, memory_order_relaxed))
        return true;
    if (program->run->loads)
        return false;
    if (settings->rate == 0)
        return now >= program->end;
    return due_at(program) >= program->end || now >= program->end + settings->patience;
}

/* The requests that were due in the run and have not begun. */
static uint64_t not_begun(const struct program *program)
{
    const struct ycsb_settings *settings = program->run->settings;
    if (settings->rate == 0 || program->run->loads)
        return 0;
    double due = ceil((settings->seconds * settings->rate - (double)program->index) /
                      (double)settings->programs);
    return due > (double)program->begun ? (uint64_t)due - program->begun : 0;
}

static void turn(struct program *program)
{
    const struct ycsb_settings *settings = program->run->settings;
    int64_t now = clock_now();
    program->over |= must_end(program, now);
    while (!program->over && program->open < settings->at_once && due_at(program) <= now) {
        request_begin(program, now);
        now = clock_now();
        program->over |= must_end(program, now);
    }
    bool sent = slots_send(program);
    int64_t until = now + LOOK_NSEC;
    if (sent && !program->over && program->open < settings->at_once && due_at(program) < until)
        until = due_at(program);
    if (program->open)
        answer_take(program, until);
    else if (!program->over && until > now)
        clock_nap(until - now);
}

static void *program_run(void *argument)
{
    struct program *program = argument;
    const struct ycsb_settings *settings = program->run->settings;
    program->begin = clock_now();
    program->end = program->begin + (int64_t)(settings->seconds * 1e9);
    while (!program->over || program->open)
        turn(program);
    program->sums.seconds = (double)(clock_now() - program->begin) / 1e9;
    program->sums.not_begun = not_begun(program);
    atomic_store_explicit(&program->done, true, memory_order_release);
    return NULL;
}

/* ---- all programs ---- */

static void sums_add(struct ycsb_sums *sums, const struct ycsb_sums *other)
{
    sums->seconds = other->seconds > sums->seconds ? other->seconds : sums->seconds;
    for (unsigned op = 0; op < YCSB_OPS; op++)
        times_add(&sums->times[op], &other->times[op]);
    sums->absent += other->absent;
    sums->conflicts += other->conflicts;
    sums->unknown += other->unknown;
    sums->failed += other->failed;
    sums->not_begun += other->not_begun;
    sums->error = sums->error ? sums->error : other->error;
}

/* Shows how far the programs are until all have ended. */
static void programs_watch(struct ycsb_run *run)
{
    static const char load_title[] = "load", run_title[] = "run";
    const struct ycsb_settings *settings = run->settings;
    int64_t begin = clock_now();
    uint64_t whole = (uint64_t)(settings->seconds * 1000);
    for (bool all = false; !all;) {
        uint64_t ended = 0, spent = (uint64_t)((clock_now() - begin) / 1000000);
        all = true;
        for (uint64_t i = 0; i < settings->programs; i++) {
            struct program *program = &run->programs[i];
            ended += atomic_load_explicit(&program->ended, memory_order_relaxed);
            all &= atomic_load_explicit(&program->done, memory_order_acquire);
        }
        if (run->loads)
            progress_show(load_title, ended, settings->keys);
        else
            progress_show(run_title, spent < whole ? spent : whole, whole);
        if (stop_asked())
            atomic_store_explicit(&run->stop, true, memory_order_relaxed);
        if (!all)
            clock_nap(LOOK_NSEC);
    }
}

enum err ycsb_run_phase(struct ycsb_run *run, bool loads, struct ycsb_sums *sums, struct why *why)
{
    const struct ycsb_settings *settings = run->settings;
    enum err err = OK;
    memset(sums, 0, sizeof *sums);
    run->loads = loads;
    for (uint64_t i = 0; i < settings->programs; i++) {
        struct program *program = &run->programs[i];
        memset(&program->sums, 0, sizeof program->sums);
        program->begun = 0;
        program->over = err != OK;
        atomic_store_explicit(&program->ended, 0, memory_order_relaxed);
        atomic_store_explicit(&program->done, err != OK, memory_order_relaxed);
        ycsb_init(&program->ycsb, settings->workload, settings->choice, &run->keys, settings->seed,
                  i);
        int result = err ? 0 : thread_start(&program->thread, "weft-ycsb", program_run, program);
        if (!result)
            continue;
        err = why_fail(why, ERR_SYSTEM, "cannot start a thread: %s", strerror(-result));
        atomic_store_explicit(&program->done, true, memory_order_relaxed);
        atomic_store_explicit(&run->stop, true, memory_order_relaxed);
    }
    programs_watch(run);
    for (uint64_t i = 0; i < settings->programs; i++) {
        thread_join(&run->programs[i].thread);
        sums_add(sums, &run->programs[i].sums);
    }
    return err;
}
