/* weft ripc trace: reads the trace rings of contexts of this host from the domain's
 * folder. Contexts that open while it runs are traced, too. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "ripc/trace/trace.h"
#include "transport/domain.h"

#define WATCHED_MAX 256    /* contexts at once; further ones are only counted */
#define BATCH       512    /* records of one context that are read at once */
#define LISTED_MAX  100000 /* records in the JSON object */
#define PAUSE_NSEC  20000000LL
#define SCAN_NSEC   500000000LL

struct watched {
    uint64_t context;
    struct trace_reader *reader;
};

struct line {
    uint64_t context;
    struct trace_record record;
};

struct watcher {
    struct call *call;
    char folder[DOMAIN_PATH_MAX];
    struct watched watched[WATCHED_MAX];
    unsigned count;
    uint64_t only_context; /* 0: all */
    ripc_id only_id;       /* 0: all; otherwise records of this service, or with it as a peer */
    uint64_t limit;        /* records to print; 0: no limit */
    uint64_t shown, lost, unwatched;
    uint64_t seen; /* all contexts so far, including those that have ended */
    int64_t deadline, begun, scanned;
    struct line *lines; /* owned; of one round */
    size_t line_capacity;
};

/* --- which contexts --- */

struct target {
    uint64_t number;
    uint64_t context; /* of the service with that id, or of the process */
    bool id, pid;
};

static void target_note(void *argument, const struct ripc_name *name)
{
    struct target *target = argument;
    bool id = name->id == target->number;
    bool pid = !target->id && name->pid > 0 && (uint64_t)name->pid == target->number;
    if (!id && !pid)
        return;
    /* The id of a group has several contexts. */
    target->context = target->id && target->context != name->context ? 0 : name->context;
    target->id |= id;
    target->pid |= pid;
}

/* Reads the argument: an id that a service has, the pid of a process that has one,
 * or a context, in this order. */
static enum err watcher_target(struct watcher *watcher, const char *word, struct why *why)
{
    struct ripc *ripc;
    struct target target = {0};
    char *end;
    if (strlen(word) == 16 && strspn(word, "0123456789abcdef") == 16) {
        watcher->only_context = strtoull(word, &end, 16);
        return OK;
    }
    enum err err = ripc_call_id(word, &target.number, why);
    if (!err)
        err = ripc_call_open(watcher->call, NULL, &ripc, why);
    if (err)
        return err;
    int count = ripc_list(ripc, target_note, &target);
    ripc_close(ripc, RIPC_NOW);
    if (count < 0)
        return ripc_call_fail(why, count, "names");
    if (!target.id && !target.pid)
        return why_fail(why, ERR_SYSTEM,
                        "%s: no service has this id, and no process with a service has this pid",
                        word);
    watcher->only_id = target.id ? target.number : 0;
    watcher->only_context = target.id ? 0 : target.context;
    return OK;
}

static bool watcher_has(const struct watcher *watcher, uint64_t context)
{
    for (unsigned i = 0; i < watcher->count; i++)
        if (watcher->watched[i].context == context)
            return true;
    return false;
}

static void context_add(struct watcher *watcher, uint64_t context)
{
    if (watcher_has(watcher, context))
        return;
    if (watcher->count == WATCHED_MAX) {
        watcher->unwatched++;
        return;
    }
    struct watched *watched = &watcher->watched[watcher->count];
    watched->context = context;
    /* The context may have closed after the folder was read. */
    if (trace_reader_open(&watched->reader, watcher->folder, context) < 0)
        return;
    watcher->count++;
    watcher->seen++;
}

/* Looks for rings in the folder. */
static enum err watcher_scan(struct watcher *watcher, struct why *why)
{
    DIR *folder = opendir(watcher->folder);
    if (!folder)
        return why_fail(why, ERR_SYSTEM, "%s: %s", watcher->folder, strerror(errno));
    watcher->unwatched = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const char *name = entry->d_name;
        char *end;
        if (strncmp(name, "trace.", 6) != 0 || !name[6])
            continue;
        uint64_t context = strtoull(name + 6, &end, 16);
        if (*end || (watcher->only_context && context != watcher->only_context))
            continue;
        context_add(watcher, context);
    }
    closedir(folder);
    watcher->scanned = ripc_now();
    return OK;
}

/* --- records --- */

static bool record_wanted(const struct watcher *watcher, const struct trace_record *record)
{
    return !watcher->only_id || record->service == watcher->only_id ||
           record->peer == watcher->only_id;
}

static int line_compare(const void *a, const void *b)
{
    const struct line *one = a, *other = b;
    return (one->record.at > other->record.at) - (one->record.at < other->record.at);
}

static const char line_page[] =
    "{since%12.6f}  {context}  {event%-9s}  {service_id}{?peer} - {peer_id}{/}"
    "{?value}  {value%.0f}{/}\n";

static void line_put(const struct watcher *watcher, const struct line *line)
{
    char context[RIPC_CONTEXT_TEXT], service[RIPC_ID_TEXT], peer[RIPC_ID_TEXT];
    const struct trace_record *record = &line->record;
    struct result *result = call_item(watcher->call, line_page);
    result_number(result, "at", (double)record->at / 1e9);
    result_string(result, "context", ripc_context_text(line->context, context));
    result_string(result, "event", trace_event_name(record->event));
    result_uint(result, "service", record->service);
    result_uint(result, "peer", record->peer);
    result_number(result, "value", (double)record->value);
    result_number(result_hide(result), "since", (double)(record->at - watcher->begun) / 1e9);
    result_string(result_hide(result), "service_id", ripc_id_text(record->service, service));
    result_string(result_hide(result), "peer_id", ripc_id_text(record->peer, peer));
    call_item_end(watcher->call);
}

/* Reads one batch of every context. Returns the number of lines, or -ENOMEM. */
static int64_t lines_take(struct watcher *watcher)
{
    struct trace_record batch[BATCH];
    size_t count = 0;
    if (watcher->line_capacity < (size_t)watcher->count * BATCH) {
        size_t capacity = (size_t)watcher->count * BATCH;
        struct line *lines = reallocarray(watcher->lines, capacity, sizeof *lines);
        if (!lines)
            return -ENOMEM;
        watcher->lines = lines;
        watcher->line_capacity = capacity;
    }
    for (unsigned i = 0; i < watcher->count;) {
        struct watched *watched = &watcher->watched[i];
        int taken = trace_reader_take(watched->reader, batch, BATCH, &watcher->lost);
        for (int k = 0; k < taken; k++)
            if (record_wanted(watcher, &batch[k]))
                watcher->lines[count++] = (struct line){watched->context, batch[k]};
        if (taken >= 0) {
            i++;
            continue;
        }
        trace_reader_close(watched->reader); /* it has closed; the last one takes its place */
        *watched = watcher->watched[--watcher->count];
    }
    if (count)
        qsort(watcher->lines, count, sizeof *watcher->lines, line_compare);
    return (int64_t)count;
}

static enum err lines_print(struct watcher *watcher, size_t count, struct why *why)
{
    struct call *call = watcher->call;
    for (size_t i = 0; i < count && (!watcher->limit || watcher->shown < watcher->limit); i++) {
        if (!call->json || watcher->shown < LISTED_MAX)
            line_put(watcher, &watcher->lines[i]);
        watcher->shown++;
    }
    return call->json ? OK : call_flush(call, why);
}

static enum err watcher_run(struct watcher *watcher, struct why *why)
{
    enum err err = OK;
    while (!err && (!watcher->limit || watcher->shown < watcher->limit)) {
        bool ending = stop_asked() || ripc_now() >= watcher->deadline;
        if (!ending && ripc_now() - watcher->scanned > SCAN_NSEC)
            err = watcher_scan(watcher, why);
        int64_t count = err ? 0 : lines_take(watcher);
        if (count < 0)
            err = why_memory(why);
        else if (count > 0)
            err = lines_print(watcher, (size_t)count, why);
        if (ending) /* one more round was made for the last records */
            break;
        if (count < BATCH)
            ripc_call_sleep(ripc_call_turn(ripc_after(PAUSE_NSEC)));
    }
    return err;
}

static enum err watcher_open(struct watcher *watcher, struct call *call, struct why *why)
{
    *watcher = (struct watcher){.call = call, .begun = ripc_now()};
    enum err err = ripc_call_seconds(call, &watcher->deadline, why);
    if (!err)
        err = call_uint(call, "count", 1, UINT64_MAX, &watcher->limit, why);
    if (!err && call->argument_count)
        err = watcher_target(watcher, call->arguments[0], why);
    if (err)
        return err;
    err = ripc_call_domain(call, watcher->folder, NULL, why);
    if (!err)
        err = watcher_scan(watcher, why);
    if (!err && watcher->only_context && !watcher->count)
        err = why_fail(why, ERR_SYSTEM, "%s: there is no such context on this host",
                       call->arguments[0]);
    return err;
}

/* The records were printed before. */
static const char trace_page[] =
    "{shown|record|records}, {lost} lost, of {contexts|context|contexts}"
    "{?unwatched}; {unwatched} more were not traced{/}\n";

static enum err trace_run(struct call *call, struct why *why)
{
    static struct watcher watcher;
    stop_catch();
    enum err err = watcher_open(&watcher, call, why);
    if (!err) {
        struct result *result = call_result(call, trace_page);
        result_array(result, "records");
        err = watcher_run(&watcher, why);
        result_end(result);
        result_uint(result, "shown", watcher.shown);
        result_uint(result, "lost", watcher.lost);
        result_uint(result, "contexts", watcher.seen);
        result_uint(result_hide(result), "unwatched", watcher.unwatched);
    }
    for (unsigned i = 0; i < watcher.count; i++)
        trace_reader_close(watcher.watched[i].reader);
    free(watcher.lines);
    if (watcher.folder[0])
        domain_leave(watcher.folder);
    return err;
}

static const struct option trace_options[] = {
    {"seconds", "S", "end after this time"},
    {"count", "N", "end after N records"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_trace = {
    .name = "ripc trace",
    .arguments = "[ID|PID|CONTEXT]",
    .summary = "print the events of the contexts of this host as they happen",
    .description =
        "Prints a line for every event of the domain's contexts on this host: the seconds since "
        "the command began, the context, the event, the service and its peer, and a number: "
        "bytes, or a reason. Being traceable costs a context almost nothing. A context that is "
        "traced writes into a ring; records that this command is too slow to read are counted as "
        "lost.\n\n"
        "An argument selects records: the id of a service (records of that service, or about it), "
        "the pid of a process that has a service, or a context as 'weft ripc list' prints it. The "
        "command ends after --seconds, after --count records or at Ctrl-C.\n\n"
        "With --json one object is printed at the end, with the first 100000 records; 'at' is in "
        "seconds of the monotonic clock.",
    .options = trace_options,
    .examples = "  weft ripc trace\n"
                "  weft ripc trace 42 --seconds 5\n"
                "  weft ripc trace --count 100 --json",
    .streams = true,
    .run = trace_run,
};
