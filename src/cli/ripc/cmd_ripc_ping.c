/* weft ripc ping */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/commands.h"
#include "cli/core/call.h"
#include "cli/core/progress.h"
#include "cli/core/stop.h"
#include "cli/ripc/ripc_call.h"
#include "cli/ripc/ripc_inbox.h"
#include "cli/ripc/ripc_ping.h"
#include "cli/show/unit_text.h"

#define NSEC_PER_MS   1000000
#define COUNT_DEFAULT 1000
#define COUNT_MAX     10000000
#define LOST_MAX      5 /* lost in a row, without an interval: the service has gone */
#define SHORT_DEFAULT 64
#define LONG_DEFAULT  (1 << 20)

struct pinger {
    struct ripc *ripc;
    struct ripc_service *service;
    ripc_id to;
    uint64_t count, size;
    int64_t interval_nsec, timeout_nsec;
    bool item;        /* the bytes are sent as a long item */
    bool each;        /* print a line for every answer */
    char *bytes;      /* sent; owned, or memory of the context if long */
    char *back;       /* return buffer, if long; memory of the context */
    int64_t *samples; /* owned */
    size_t sample_count, sample_capacity;
    uint64_t sent, lost, damaged;
    const char *gave_up; /* why it ended early, or NULL */
    int64_t first_nsec;  /* of the first ping, which had to find the peer */
    struct ripc_name peer;
    bool peer_known;
    const char *transport; /* that carried the last ping; NULL: none */
};

static enum err pinger_parse(struct pinger *pinger, const struct call *call, struct why *why)
{
    uint64_t interval_ms = 0, timeout_ms = 1000;
    *pinger = (struct pinger){.item = call_has(call, "long"), .each = call_has(call, "interval")};
    pinger->size = pinger->item ? LONG_DEFAULT : SHORT_DEFAULT;
    pinger->count = pinger->each ? COUNT_MAX : COUNT_DEFAULT;
    enum err err = ripc_call_id(call->arguments[0], &pinger->to, why);
    if (!err)
        err = call_uint(call, "count", 1, COUNT_MAX, &pinger->count, why);
    if (!err)
        err = ripc_call_size(call, "size", sizeof(struct ripc_ping),
                             pinger->item ? RIPC_INBOX_LIMIT : RIPC_SHORT_MAX, &pinger->size, why);
    if (!err)
        err = call_uint(call, "interval", 0, 3600000, &interval_ms, why);
    if (!err)
        err = call_uint(call, "timeout", 1, 3600000, &timeout_ms, why);
    pinger->interval_nsec = (int64_t)interval_ms * NSEC_PER_MS;
    pinger->timeout_nsec = (int64_t)timeout_ms * NSEC_PER_MS;
    return err;
}

static enum err pinger_memory(struct pinger *pinger, struct why *why)
{
    pinger->bytes = pinger->item ? ripc_alloc(pinger->ripc, pinger->size) : malloc(pinger->size);
    pinger->back = pinger->item ? ripc_alloc(pinger->ripc, pinger->size) : NULL;
    if (!pinger->bytes || (pinger->item && !pinger->back))
        return why_memory(why);
    memset(pinger->bytes, 'w', pinger->size);
    return OK;
}

static int64_t ping_send(struct pinger *pinger, const struct ripc_ping *head, int64_t deadline)
{
    struct iovec whole = {(void *)head, sizeof *head};
    struct iovec item = {pinger->bytes, pinger->size};
    struct iovec back = {pinger->back, pinger->size};
    struct ripc_send send = {.to = pinger->to,
                             .shorts = &whole,
                             .short_count = 1,
                             .longs = &item,
                             .long_count = 1,
                             .returns = &back,
                             .return_count = 1,
                             .deadline = deadline};
    /* The head is at the beginning and at the end of the bytes, to distinguish an answer from the
     * one before. */
    memcpy(pinger->bytes + pinger->size - sizeof *head, head, sizeof *head);
    memcpy(pinger->bytes, head, sizeof *head);
    if (!pinger->item)
        return ripc_send(pinger->service, pinger->to, pinger->bytes, pinger->size, deadline);
    return ripc_send_message(pinger->service, &send);
}

/* Tells whether the message has the bytes that were sent. */
static bool answer_good(const struct pinger *pinger, const struct ripc_message *message)
{
    if (!pinger->item)
        return message->size == pinger->size &&
               memcmp(message->data, pinger->bytes, pinger->size) == 0;
    const struct ripc_item *item = message->long_count == 1 ? &message->longs[0] : NULL;
    size_t last = pinger->size - sizeof(struct ripc_ping);
    return item && item->data && item->size == pinger->size &&
           memcmp(item->data, pinger->bytes, sizeof(struct ripc_ping)) == 0 &&
           memcmp((char *)item->data + last, pinger->bytes + last, sizeof(struct ripc_ping)) == 0;
}

/* Waits for the answer to the ping with that head; drops late answers to other
 * pings. Returns 1, 0 if the answer is damaged, or a negative errno. */
static int answer_take(struct pinger *pinger, const struct ripc_ping *head, int64_t deadline,
                       int64_t *at)
{
    struct ripc_message message;
    for (;;) {
        int result = ripc_receive(pinger->service, &message, 1, ripc_call_turn(deadline));
        *at = ripc_now();
        if (result == 1) {
            bool ours =
                message.size >= sizeof *head && memcmp(message.data, head, sizeof *head) == 0;
            int good = ours && answer_good(pinger, &message);
            ripc_release(&message);
            if (ours)
                return good;
        } else if (!ripc_call_quiet(result)) {
            return result;
        }
        if (*at >= deadline || stop_asked())
            return -ETIMEDOUT;
    }
}

/* Sends one ping. Returns the time it took, or a negative errno. */
static int64_t ping_once(struct pinger *pinger, uint64_t sequence)
{
    struct ripc_ping head = {.magic = RIPC_PING_MAGIC, .sequence = sequence};
    int64_t begun = ripc_now(), ended;
    int64_t deadline = ripc_after(pinger->timeout_nsec);
    int64_t operation = ping_send(pinger, &head, deadline);
    if (operation < 0)
        return operation;
    int result = answer_take(pinger, &head, deadline, &ended);
    if (operation > 0) {
        int status = ripc_wait(pinger->service, operation, deadline);
        if (status == -ETIMEDOUT || status == -EAGAIN)
            ripc_cancel(pinger->service, operation, ripc_after(pinger->timeout_nsec));
        if (result >= 0 && status < 0)
            result = status;
    }
    if (pinger->item && result < 0) /* the next ping offers the return buffer again */
        ripc_withdraw(pinger->service, pinger->back, ripc_after(pinger->timeout_nsec));
    pinger->damaged += result == 0;
    return result < 0 ? result : result == 0 ? -EBADMSG : ended - begun;
}

static enum err sample_add(struct pinger *pinger, int64_t nsec, struct why *why)
{
    if (!array_reserve(&pinger->samples, &pinger->sample_capacity, pinger->sample_count + 1,
                       sizeof *pinger->samples))
        return why_memory(why);
    pinger->samples[pinger->sample_count++] = nsec;
    return OK;
}

static void peer_note(void *argument, const struct ripc_name *name)
{
    struct pinger *pinger = argument;
    if (name->id != pinger->to || name->group)
        return;
    pinger->peer = *name;
    pinger->peer_known = true;
}

static const char *loss_text(int64_t result)
{
    return result == -ETIMEDOUT ? "no answer" : ripc_strerror((int)result);
}

static enum err line_print(const struct pinger *pinger, struct call *call, int64_t result,
                           struct why *why)
{
    if (!pinger->each || call->json)
        return OK;
    text_printf(&call->out, "%" PRIu64 ": ", pinger->sent);
    if (result < 0)
        text_puts(&call->out, loss_text(result));
    else
        unit_text_nsec(&call->out, (double)result);
    text_puts(&call->out, "\n");
    return call_flush(call, why);
}

static enum err ping_all(struct pinger *pinger, struct call *call, struct why *why)
{
    enum err err = OK;
    unsigned lost_in_a_row = 0;
    while (!err && pinger->sent < pinger->count && !stop_asked()) {
        int64_t begun = ripc_now();
        if (!pinger->each)
            progress_show("pings", pinger->sent, pinger->count);
        int64_t result = ping_once(pinger, pinger->sent + 1);
        if (stop_asked() && result == -ETIMEDOUT)
            break; /* the last ping was interrupted and does not count */
        /* The first ping tells whether the service exists. */
        if (result < 0 && result != -ETIMEDOUT && pinger->sent == 0)
            return ripc_call_fail_to(why, pinger->ripc, pinger->to, (int)result);
        pinger->sent++;
        pinger->lost += result < 0;
        lost_in_a_row = result < 0 ? lost_in_a_row + 1 : 0;
        if (pinger->sent == 1)
            pinger->first_nsec = result;
        if (result >= 0)
            err = sample_add(pinger, result, why);
        if (!err)
            err = line_print(pinger, call, result, why);
        if (!pinger->each && lost_in_a_row == LOST_MAX) {
            pinger->gave_up = loss_text(result);
            break;
        }
        if (pinger->interval_nsec && pinger->sent < pinger->count)
            ripc_call_sleep(begun + pinger->interval_nsec);
    }
    return err;
}

struct spread {
    double least, median, mean, p99, most;
};

static int sample_compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

/* The first ping has to find the peer and connect, so it is reported separately, unless there
 * is no other. */
static struct spread spread_make(struct pinger *pinger)
{
    size_t skip = pinger->sample_count > 1 && pinger->first_nsec >= 0;
    int64_t *samples = pinger->samples + skip;
    size_t count = pinger->sample_count - skip;
    size_t middle = count / 2, almost_last = (count * 99 + 99) / 100 - 1;
    double sum = 0;
    qsort(samples, count, sizeof *samples, sample_compare);
    for (size_t i = 0; i < count; i++)
        sum += (double)samples[i];
    return (struct spread){.least = (double)samples[0],
                           .median = (double)samples[middle],
                           .mean = sum / (double)count,
                           .p99 = (double)samples[almost_last],
                           .most = (double)samples[count - 1]};
}

static const char ping_page[] =
    "{to_text}{?peer} ({?pid}pid {pid}, {/}{address}){/}{?transport} over {transport}{/}: {sent} "
    "{?long}long{:}short{/} pings of {size} bytes, {answered} answered, {lost} lost"
    "{?damaged}, {damaged} of them damaged{/}, in {seconds%.3f} s"
    "{?gave_up}; gave up: {gave_up}{/}\n"
    "{?round_trip_ns}round trip: min {round_trip_ns.min%t}, median {round_trip_ns.median%t}, p99 "
    "{round_trip_ns.p99%t}, max {round_trip_ns.max%t}{?several}; the first one {first_ns%t}{/}"
    "{?long}\n{gigabytes_per_second%.2f} GB/s in both directions together{/}\n{/}";

static void spread_put(const struct pinger *pinger, const struct spread *spread,
                       struct result *result)
{
    if (!pinger->sample_count) {
        result_null(result, "round_trip_ns");
        return;
    }
    result_object(result, "round_trip_ns");
    result_number(result, "min", spread->least);
    result_number(result, "median", spread->median);
    result_number(result, "mean", spread->mean);
    result_number(result, "p99", spread->p99);
    result_number(result, "max", spread->most);
    result_end(result);
    result_number(result_hide(result), "gigabytes_per_second",
                  2 * (double)pinger->size / spread->median);
}

static void report(const struct pinger *pinger, const struct spread *spread, double seconds,
                   struct result *result)
{
    char id[RIPC_ID_TEXT];
    result_uint(result, "to", pinger->to);
    result_string(result_hide(result), "to_text", ripc_id_text(pinger->to, id));
    result_uint(result, "size", pinger->size);
    result_bool(result, "long", pinger->item);
    result_bool(result_hide(result), "peer", pinger->peer_known);
    result_uint_if(result, "pid", pinger->peer_known, (uint64_t)pinger->peer.pid);
    result_string(result, "address", pinger->peer_known ? pinger->peer.address : NULL);
    result_string(result, "transport", pinger->transport);
    result_uint(result, "sent", pinger->sent);
    result_uint(result, "answered", pinger->sample_count);
    result_uint(result, "lost", pinger->lost);
    result_uint(result, "damaged", pinger->damaged);
    result_string(result, "gave_up", pinger->gave_up);
    result_number(result, "seconds", seconds);
    result_uint_if(result, "first_ns", pinger->first_nsec >= 0 && pinger->sent,
                   (uint64_t)pinger->first_nsec);
    result_bool(result_hide(result), "several",
                pinger->sample_count > 1 && pinger->first_nsec >= 0);
    spread_put(pinger, spread, result);
}

static enum err pinger_run(struct pinger *pinger, struct call *call, struct why *why)
{
    struct spread spread = {0};
    enum err err = ripc_call_bind(pinger->ripc, 0, false, &pinger->service, why);
    if (!err)
        err = pinger_memory(pinger, why);
    int64_t begun = ripc_now();
    if (!err)
        err = ping_all(pinger, call, why);
    if (err)
        return err;
    double seconds = (double)(ripc_now() - begun) / 1e9;
    (void)ripc_list(pinger->ripc, peer_note, pinger); /* the report is useful without it, too */
    pinger->transport = ripc_transport(pinger->service, pinger->to);
    if (pinger->sample_count)
        spread = spread_make(pinger);
    report(pinger, &spread, seconds, call_result(call, ping_page));
    call->no = pinger->gave_up || (pinger->sent && !pinger->sample_count);
    return OK;
}

static enum err ping_run(struct call *call, struct why *why)
{
    struct pinger pinger;
    struct ripc_config config = {0};
    enum err err = pinger_parse(&pinger, call, why);
    if (err)
        return err;
    if (call_has(call, "block"))
        config.spin_nsec = config.yield_nsec = -1;
    stop_catch();
    if (!pinger.each) /* else a line for each ping shows that it goes on */
        progress_start(call->command->name);
    err = ripc_call_open(call, &config, &pinger.ripc, why);
    if (err)
        return err;
    err = pinger_run(&pinger, call, why);
    ripc_close(pinger.ripc, RIPC_NOW);
    if (!pinger.item)
        free(pinger.bytes);
    free(pinger.samples);
    return err;
}

static const struct option ping_options[] = {
    {"count", "N", "number of pings (default 1000; with --interval until Ctrl-C)"},
    {"size", "SIZE", "bytes of each ping (default 64; with --long 1M)"},
    {"interval", "MS", "time between two pings, and print each"},
    {"timeout", "MS",
     "a ping without an answer for this time is lost (default 1000; long items over udp need "
     "more)"},
    {"long", NULL, "send long items; the answers are written into a return buffer"},
    {"block", NULL, "sleep at once while waiting, without polling first"},
    RIPC_CALL_OPTIONS,
    {0},
};

const struct command command_ripc_ping = {
    .name = "ripc ping",
    .arguments = "ID",
    .summary = "measure round trips to a service that 'weft ripc serve' runs",
    .description =
        "Sends pings, each after the answer to the one before, and prints the shortest, the "
        "median, the 99th percentile and the longest round trip. The first ping has to find the "
        "peer and is reported separately. With --interval every answer is printed when it "
        "arrives.\n\n"
        "The pings are answered by 'weft ripc serve ID', which polls for a while before it "
        "sleeps, as this command does. With --block on both sides, the round trip includes the "
        "time to wake each other up. Without --interval the command gives up after 5 lost pings "
        "in a row and prints why. It fails if it gave up, if no service has ID, or if no ping "
        "was answered.",
    .options = ping_options,
    .examples = "  weft ripc ping 42\n"
                "  weft ripc ping 42 --interval 1000\n"
                "  weft ripc ping 42 --long --size 64M --count 20\n"
                "  weft ripc ping 42 --json",
    .streams = true,
    .run = ping_run,
};
