/* weft ripc recv */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_report.h"

struct receiver {
    ripc_id id;
    bool group, quiet;
    uint64_t count; /* 0: no end */
    uint64_t window_size;
    int64_t deadline;
    const char *path; /* file for the bytes, or NULL */
    int file;         /* -1 if none */
};

static enum err receiver_parse(struct receiver *receiver, const struct call *call, struct why *why)
{
    *receiver = (struct receiver){.file = -1};
    receiver->group = call_has(call, "group");
    receiver->quiet = call_has(call, "quiet");
    enum err err = ripc_call_id(call->arguments[0], &receiver->id, why);
    if (!err)
        err = call_uint(call, "count", 1, UINT64_MAX, &receiver->count, why);
    if (!err)
        err = ripc_call_size(call, "window", 1, RIPC_INBOX_LIMIT, &receiver->window_size, why);
    if (!err)
        err = ripc_call_seconds(call, &receiver->deadline, why);
    if (!err)
        err = call_out_file(call, "out", &receiver->path, why);
    return err;
}

static enum err file_begin(struct receiver *receiver, struct why *why)
{
    if (!receiver->path)
        return OK;
    receiver->file = open(receiver->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (receiver->file < 0)
        return why_fail(why, ERR_SYSTEM, "%s: %s", receiver->path, strerror(errno));
    return OK;
}

static enum err file_add(const struct receiver *receiver, const void *data, size_t size,
                         struct why *why)
{
    for (size_t done = 0; receiver->file >= 0 && done < size;) {
        ssize_t step = write(receiver->file, (const char *)data + done, size - done);
        if (step < 0 && errno != EINTR)
            return why_fail(why, ERR_SYSTEM, "%s: %s", receiver->path, strerror(errno));
        done += step > 0 ? (size_t)step : 0;
    }
    return OK;
}

static enum err message_keep(const struct receiver *receiver, const struct ripc_inbox *inbox,
                             struct why *why)
{
    enum err err = file_add(receiver, inbox->message.data, inbox->message.size, why);
    for (unsigned i = 0; i < inbox->message.long_count && !err; i++)
        if (inbox->items[i].data)
            err = file_add(receiver, inbox->items[i].data, inbox->items[i].size, why);
    return err;
}

static enum err receive_all(const struct receiver *receiver, struct ripc_inbox *inbox,
                            struct ripc_report *report, struct why *why)
{
    enum err err = OK;
    while (!err && !stop_asked() && ripc_now() < receiver->deadline &&
           (!receiver->count || report->messages < receiver->count)) {
        int result = ripc_inbox_receive(inbox, ripc_call_turn(receiver->deadline));
        if (ripc_call_quiet(result))
            continue;
        if (result < 0)
            return ripc_call_fail(why, result, "receive");
        err = message_keep(receiver, inbox, why);
        if (!err)
            err = ripc_report_message(report, inbox, receiver->quiet, why);
        result = ripc_inbox_done(inbox);
        if (!err && result < 0)
            err = ripc_call_fail(why, result, "window");
    }
    return err;
}

static enum err receiver_run(struct receiver *receiver, struct call *call, struct ripc *ripc,
                             struct why *why)
{
    struct ripc_service *service;
    struct ripc_inbox inbox;
    struct ripc_report report;
    enum err err = ripc_call_bind(ripc, receiver->id, receiver->group, &service, why);
    if (err)
        return err;
    /* The file is emptied only after the id is bound. */
    err = file_begin(receiver, why);
    if (err)
        return err;
    err = ripc_inbox_open(&inbox, ripc, service, receiver->window_size, why);
    if (!err) {
        ripc_report_begin(&report, call, RIPC_REPORT_PAGE, receiver->id);
        err = receive_all(receiver, &inbox, &report, why);
        ripc_inbox_close(&inbox);
        ripc_report_unbind(&report, ripc, service);
        ripc_report_totals(&report);
        return err;
    }
    ripc_inbox_close(&inbox);
    ripc_unbind(service);
    return err;
}

static enum err recv_run(struct call *call, struct why *why)
{
    struct receiver receiver;
    struct ripc *ripc;
    enum err err = receiver_parse(&receiver, call, why);
    if (err)
        return err;
    stop_catch();
    err = ripc_call_open(call, NULL, &ripc, why);
    if (err)
        return err;
    err = receiver_run(&receiver, call, ripc, why);
    if (receiver.file >= 0 && close(receiver.file) && !err)
        err = why_fail(why, ERR_SYSTEM, "%s: %s", receiver.path, strerror(errno));
    ripc_close(ripc, RIPC_NOW);
    return err;
}

static const struct option recv_options[] = {
    {"count", "N", "end after N messages"},
    {"seconds", "S", "end after this time"},
    {"window", "SIZE", "receive long items into a window of this size; larger ones are rejected"},
    {"out", "FILE", "write the bytes of all messages to this file"},
    {"group", NULL, "ID is a group: join it under a random id"},
    {"quiet", NULL, "do not print the messages, only the totals"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_recv = {
    .name = "ripc recv",
    .arguments = "ID",
    .summary = "receive the messages to an id and print them",
    .description =
        "Binds ID and prints every message on a line when it arrives: the sender, the size, and "
        "up to 256 bytes of it, in which bytes that are not text are printed as \\xHH. It ends "
        "after --count messages, after --seconds or at Ctrl-C, and prints the totals.\n\n"
        "Long items are fetched into memory of their size, up to 1 GiB each. With --window they "
        "are received into a window of that size instead; larger ones are rejected, and their "
        "sender is informed. --out writes the bytes of short and long items to a file.\n\n"
        "With --json one object is printed at the end, with the first 10000 messages.",
    .options = recv_options,
    .examples = "  weft ripc recv 42\n"
                "  weft ripc recv 42 --count 1 --out copy.iso --window 2M\n"
                "  weft ripc recv 7 --group --seconds 10 --json",
    .streams = true,
    .run = recv_run,
};
