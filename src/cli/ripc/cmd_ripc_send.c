/* weft ripc send */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/file.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_report.h"

#define RETRY_NSEC  50000000 /* between two retries if no service has the id yet */
#define NSEC_PER_MS 1000000

struct sender {
    struct ripc *ripc;
    struct ripc_service *service;
    ripc_id to;
    uint64_t count, timeout_ms;
    bool item; /* send a long item */
    bool wait, reply;
    char *data;   /* owned */
    void *shared; /* a copy that the receiver can reach, if long; memory of the context */
    size_t size;
    uint64_t sent;
};

static enum err data_read(struct sender *sender, const struct call *call, struct why *why)
{
    const char *path = call_option(call, "file");
    if (path && call->argument_count > 1)
        return why_fail(why, ERR_USAGE, "ripc send: TEXT and --file cannot be combined");
    if (path)
        return file_read(path, &sender->data, &sender->size, why);
    sender->data = strdup(call->argument_count > 1 ? call->arguments[1] : "");
    if (!sender->data)
        return why_memory(why);
    sender->size = strlen(sender->data);
    return OK;
}

static enum err sender_parse(struct sender *sender, const struct call *call, struct why *why)
{
    *sender = (struct sender){.count = 1, .timeout_ms = 5000};
    sender->item = call_has(call, "long");
    sender->wait = call_has(call, "wait");
    sender->reply = call_has(call, "reply");
    enum err err = ripc_call_id(call->arguments[0], &sender->to, why);
    if (!err)
        err = call_uint(call, "count", 1, UINT64_MAX, &sender->count, why);
    if (!err)
        err = call_uint(call, "timeout", 1, 3600000, &sender->timeout_ms, why);
    if (!err)
        err = data_read(sender, call, why);
    if (!err && sender->item && sender->size == 0)
        err = why_fail(why, ERR_USAGE,
                       "ripc send: a long item needs at least one byte; give TEXT or --file");
    if (!err && !sender->item && sender->size > RIPC_SHORT_MAX)
        err = why_fail(why, ERR_USAGE,
                       "ripc send: %zu bytes are too many for a short message, which has at most "
                       "%d; use --long",
                       sender->size, RIPC_SHORT_MAX);
    return err;
}

/* Copies a long item into memory that the receiver can reach. */
static enum err data_share(struct sender *sender, struct why *why)
{
    sender->shared = ripc_alloc(sender->ripc, sender->size);
    if (!sender->shared)
        return why_memory(why);
    memcpy(sender->shared, sender->data, sender->size);
    return OK;
}

static int64_t send_try(struct sender *sender, int64_t deadline)
{
    struct iovec item = {sender->shared, sender->size};
    struct ripc_send send = {.to = sender->to, .deadline = deadline};
    if (!sender->item)
        return ripc_send(sender->service, sender->to, sender->data, sender->size, deadline);
    send.longs = &item;
    send.long_count = 1;
    return ripc_send_message(sender->service, &send);
}

/* Sends with short deadlines and checks for Ctrl-C in between; a send that times out has sent
 * nothing. */
static int64_t send_until(struct sender *sender, int64_t deadline)
{
    for (;;) {
        int64_t result = send_try(sender, ripc_call_turn(deadline));
        bool again = result == -ETIMEDOUT || (result == -ENOENT && sender->wait);
        if (!again || ripc_now() >= deadline)
            return result;
        if (stop_asked())
            return -ECANCELED;
        if (result == -ENOENT)
            ripc_call_sleep(ripc_after(RETRY_NSEC));
    }
}

static int taken_wait(struct sender *sender, int64_t operation, int64_t deadline)
{
    for (;;) {
        int status = ripc_wait(sender->service, operation, ripc_call_turn(deadline));
        if (status != -ETIMEDOUT || ripc_now() >= deadline)
            return status;
        if (stop_asked())
            return -ECANCELED;
    }
}

/* Sends one message and, if it is long, waits until the receiver has it. */
static enum err send_one(struct sender *sender, struct why *why)
{
    int64_t deadline = ripc_after((int64_t)sender->timeout_ms * NSEC_PER_MS);
    int64_t operation = send_until(sender, deadline);
    int status = operation < 0 ? (int)operation : 0;
    if (operation > 0)
        status = taken_wait(sender, operation, deadline);
    if (status < 0)
        return ripc_call_fail_to(why, sender->ripc, sender->to, status);
    sender->sent++;
    return OK;
}

/* Receives the answer, which the report prints. */
static enum err reply_take(struct sender *sender, struct ripc_inbox *inbox,
                           struct ripc_report *report, struct why *why)
{
    char id[RIPC_ID_TEXT];
    int64_t deadline = ripc_after((int64_t)sender->timeout_ms * NSEC_PER_MS);
    int result;
    do {
        result = ripc_inbox_receive(inbox, ripc_call_turn(deadline));
    } while (ripc_call_quiet(result) && !stop_asked() && ripc_now() < deadline);
    if (ripc_call_quiet(result))
        return why_fail(why, ERR_SYSTEM, "%s: no answer", ripc_id_text(sender->to, id));
    if (result < 0)
        return ripc_call_fail(why, result, "%s", ripc_id_text(sender->to, id));
    enum err err = ripc_report_message(report, inbox, false, why);
    result = ripc_inbox_done(inbox);
    return !err && result < 0 ? ripc_call_fail(why, result, "window") : err;
}

static const char send_page[] =
    "{?replied}" RIPC_REPORT_PAGE "{/}"
    "{sent} x {size} bytes sent to {to_text}, {?long}long, received by the service{:}short{/}"
    "{?lost}, {lost} lost: the service ended{/}{?doubtful}, {doubtful} perhaps lost: its process "
    "died{/}\n";

static void sent_put(const struct sender *sender, struct ripc_report *report)
{
    char id[RIPC_ID_TEXT];
    struct result *result = &report->call->result;
    struct ripc_stats stats = {0};
    (void)ripc_stats(sender->ripc, &stats);
    ripc_report_totals(report);
    result_uint(result, "sent", sender->sent);
    result_uint(result, "lost", stats.lost);
    result_uint(result, "doubtful", stats.doubtful);
    result_uint(result, "sent_bytes", sender->sent * sender->size);
    result_bool(result, "long", sender->item);
    result_bool(result_hide(result), "replied", sender->reply);
    result_uint(result_hide(result), "size", sender->size);
    result_string(result_hide(result), "to_text", ripc_id_text(sender->to, id));
}

static enum err sender_run(struct sender *sender, struct call *call, struct why *why)
{
    struct ripc_inbox inbox;
    struct ripc_report report;
    enum err err = ripc_inbox_open(&inbox, sender->ripc, sender->service, 0, why);
    if (!err && sender->item)
        err = data_share(sender, why);
    if (!err)
        ripc_report_begin(&report, call, send_page, ripc_service_id(sender->service));
    while (!err && sender->sent < sender->count && !stop_asked()) {
        err = send_one(sender, why);
        if (!err && sender->reply)
            err = reply_take(sender, &inbox, &report, why);
    }
    if (!err)
        sent_put(sender, &report);
    ripc_inbox_close(&inbox);
    return err;
}

/* Closes the context, which waits until sent messages have arrived. */
static enum err sender_close(struct sender *sender, enum err err, struct why *why)
{
    int64_t deadline = err ? RIPC_NOW : ripc_after((int64_t)sender->timeout_ms * NSEC_PER_MS);
    int result = ripc_close(sender->ripc, deadline);
    if (err || result >= 0)
        return err;
    return why_fail(why, ERR_SYSTEM, "sent, but the receiver may not have received all of it: %s",
                    ripc_strerror(result));
}

static enum err send_run(struct call *call, struct why *why)
{
    struct sender sender;
    const char *from = call_option(call, "from");
    ripc_id id = 0;
    enum err err = sender_parse(&sender, call, why);
    if (!err && from)
        err = ripc_call_id(from, &id, why);
    stop_catch();
    if (!err)
        err = ripc_call_open(call, NULL, &sender.ripc, why);
    if (!err)
        err = ripc_call_bind(sender.ripc, id, false, &sender.service, why);
    if (!err)
        err = sender_run(&sender, call, why);
    if (sender.ripc)
        err = sender_close(&sender, err, why);
    free(sender.data);
    return err;
}

static const struct option send_options[] = {
    {"file", "FILE", "send the bytes of this file instead of TEXT; - is standard input"},
    {"long", NULL, "send a long item of any size, and wait until the receiver has it"},
    {"count", "N", "send it N times (default 1)"},
    {"reply", NULL, "wait for an answer to each message, and print it"},
    {"wait", NULL, "if no service has ID, wait for one until --timeout"},
    {"timeout", "MS", "give up a message after this time (default 5000)"},
    {"from", "ID", "send with this id instead of a random one"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_send = {
    .name = "ripc send",
    .arguments = "ID [TEXT]",
    .summary = "send a text or a file to a service or a group",
    .description =
        "Sends TEXT, or the bytes of a file, to the service that has ID, or to all members if ID "
        "is a group. A short message has at most 8900 bytes. With --long it is a long item of "
        "any size, which the receiver copies from our memory into its own window; the command "
        "ends when the receiver has it, or reports that it was rejected.\n\n"
        "With --reply the command waits for an answer and prints it: 'weft ripc serve ID --echo' "
        "sends one.",
    .options = send_options,
    .examples = "  weft ripc send 42 hello\n"
                "  weft ripc send 42 --file image.iso --long --wait\n"
                "  weft ripc send 42 hello --reply --json",
    .streams = true,
    .run = send_run,
};
