/* weft ripc serve */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_ping.h"
#include "cli/ripc/ripc_report.h"

#define ANSWER_NSEC 5000000000LL /* timeout of an answer to a slow client */

struct server {
    ripc_id id;
    struct ripc *ripc;
    struct ripc_service *service;
    bool echo, quiet, group;
    uint64_t count; /* 0: no end */
    uint64_t window_size;
    int64_t deadline;
    uint64_t pings;   /* answered */
    uint64_t answers; /* of other messages, with --echo */
    uint64_t unheard; /* answers that could not be sent */
};

static enum err server_parse(struct server *server, const struct call *call, struct why *why)
{
    *server = (struct server){.echo = call_has(call, "echo"),
                              .quiet = call_has(call, "quiet"),
                              .group = call_has(call, "group")};
    enum err err = ripc_call_id(call->arguments[0], &server->id, why);
    if (!err)
        err = call_uint(call, "count", 1, UINT64_MAX, &server->count, why);
    if (!err)
        err = ripc_call_size(call, "window", 1, RIPC_INBOX_LIMIT, &server->window_size, why);
    if (!err)
        err = ripc_call_seconds(call, &server->deadline, why);
    return err;
}

/* Sends the current message back to its sender, with its long items. These are in
 * our memory, so it waits until they are sent before the memory is reused. */
static int answer(const struct server *server, const struct ripc_inbox *inbox)
{
    const struct ripc_message *message = &inbox->message;
    struct iovec whole = {(void *)message->data, message->size};
    struct iovec longs[RIPC_ITEM_MAX];
    struct ripc_send send = {.to = message->from,
                             .shorts = &whole,
                             .short_count = 1,
                             .longs = longs,
                             .deadline = ripc_after(ANSWER_NSEC)};
    for (unsigned i = 0; i < message->long_count; i++)
        if (inbox->items[i].data)
            longs[send.long_count++] =
                (struct iovec){(void *)inbox->items[i].data, inbox->items[i].size};
    int64_t operation = ripc_send_message(server->service, &send);
    if (operation <= 0)
        return (int)operation;
    int status = ripc_wait(server->service, operation, ripc_after(ANSWER_NSEC));
    if (status == -ETIMEDOUT)
        ripc_cancel(server->service, operation, ripc_after(ANSWER_NSEC));
    return status;
}

static enum err message_serve(struct server *server, struct ripc_inbox *inbox,
                              struct ripc_report *report, struct why *why)
{
    bool ping = ripc_ping_is(&inbox->message);
    enum err err = ping ? OK : ripc_report_message(report, inbox, server->quiet, why);
    if (!err && (ping || server->echo)) {
        int status = answer(server, inbox);
        server->unheard += status < 0;
        server->pings += ping && status >= 0;
        server->answers += !ping && status >= 0;
    }
    int result = ripc_inbox_done(inbox);
    return !err && result < 0 ? ripc_call_fail(why, result, "window") : err;
}

static enum err serve_all(struct server *server, struct ripc_inbox *inbox,
                          struct ripc_report *report, struct why *why)
{
    enum err err = OK;
    uint64_t served = 0;
    while (!err && !stop_asked() && (!server->count || served < server->count) &&
           ripc_now() < server->deadline) {
        int result = ripc_inbox_receive(inbox, ripc_call_turn(server->deadline));
        if (ripc_call_quiet(result))
            continue;
        if (result < 0)
            return ripc_call_fail(why, result, "receive");
        err = message_serve(server, inbox, report, why);
        served++;
    }
    return err;
}

static const char serve_page[] =
    RIPC_REPORT_PAGE "{pings|ping|pings} answered{?echo}, {answers|message|messages} sent back{/}"
                     "{?unheard}, {unheard|answer|answers} not taken{/}\n";

static void totals_put(const struct server *server, struct ripc_report *report)
{
    struct result *result = &report->call->result;
    ripc_report_totals(report);
    result_uint(result, "pings", server->pings);
    result_bool(result_hide(result), "echo", server->echo);
    result_uint(result, "answers", server->answers);
    result_uint(result, "unheard", server->unheard);
}

static enum err server_run(struct server *server, struct call *call, struct why *why)
{
    char id[RIPC_ID_TEXT];
    struct ripc_inbox inbox;
    struct ripc_report report;
    enum err err = ripc_inbox_open(&inbox, server->ripc, server->service, server->window_size, why);
    if (!err && !call->json) {
        text_printf(&call->out, "serving %s, pid %d\n", ripc_id_text(server->id, id),
                    (int)getpid());
        err = call_flush(call, why);
    }
    if (!err) {
        ripc_report_begin(&report, call, serve_page, server->id);
        err = serve_all(server, &inbox, &report, why);
        ripc_inbox_close(&inbox);
        ripc_report_unbind(&report, server->ripc, server->service);
        totals_put(server, &report);
        return err;
    }
    ripc_inbox_close(&inbox);
    return err;
}

static enum err serve_run(struct call *call, struct why *why)
{
    struct server server;
    struct ripc_config config = {0};
    enum err err = server_parse(&server, call, why);
    if (call_has(call, "block"))
        config.spin_nsec = config.yield_nsec = -1;
    if (err)
        return err;
    stop_catch();
    err = ripc_call_open(call, &config, &server.ripc, why);
    if (err)
        return err;
    err = ripc_call_bind(server.ripc, server.id, server.group, &server.service, why);
    if (!err)
        err = server_run(&server, call, why);
    ripc_close(server.ripc, ripc_after(ANSWER_NSEC));
    return err;
}

static const struct option serve_options[] = {
    {"echo", NULL, "send back all messages, not only pings"},
    {"count", "N", "end after N messages, pings included"},
    {"seconds", "S", "end this long after the start, whether messages come or not"},
    {"window", "SIZE", "receive long items into a window of this size; larger ones are rejected"},
    {"block", NULL, "sleep at once while waiting, without polling first"},
    {"group", NULL, "ID is a group: join it under a random id"},
    {"quiet", NULL, "do not print the messages, only the totals"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_serve = {
    .name = "ripc serve",
    .arguments = "ID",
    .summary = "answer pings to an id, print or echo other messages",
    .description =
        "Binds ID and answers 'weft ripc ping ID' from other shells. Other messages are printed "
        "as by 'weft ripc recv'; with --echo they are also sent back, long items into the return "
        "buffers that came with them. It ends after --count messages, after --seconds or at "
        "Ctrl-C, and prints the totals.\n\n"
        "With --json one object is printed at the end, with the first 10000 messages that were "
        "no pings.",
    .options = serve_options,
    .examples = "  weft ripc serve 42\n"
                "  weft ripc serve 42 --echo --window 64M\n"
                "  weft ripc serve 0xbeef --domain test --seconds 60",
    .streams = true,
    .run = serve_run,
};
