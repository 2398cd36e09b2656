/* ping: runs of pings, each with a window of pings in flight.
 *
 * A run sends ping after ping, at an interval or each when the previous one is settled, and
 * remembers when the last WINDOW of them were sent. A ping that cannot be sent is lost after its
 * timeout like any other, so that a run to an unreachable server keeps its pace. A program that
 * does not read its answers delays its run: one answer is kept for it, no ping is sent until it has
 * read that, and the end is always reported. Only one timer of a run matters, that for the earliest
 * moment with work to do; timers set for a later moment find nothing to do. */

#include "services/ping/ping.h"

#include <errno.h>

#include "base/check.h"

#define RUNS            16 /* a power of two */
#define RUNS_OF_PROGRAM (RUNS / 4)
/* Pings of a run that may be in flight; a power of two. Large enough that a lost ping does not
 * delay those after it, at one every few milliseconds. */
#define WINDOW     256
#define AGAIN_NSEC 1000000 /* until an answer that was not read is offered again */

struct ping_sent {
    int64_t at;
    uint8_t error; /* errno if it could not be sent */
    bool waiting;
};

struct ping_run {
    bool active;
    bool armed;        /* a timer is set for `timer_at` */
    uint32_t identity; /* of its packets: its index here, and a number that no earlier run had */
    uint64_t client;   /* receives the answers; unused if there is a listener */
    uint64_t ticket;   /* of the request, which all answers repeat */
    struct ping_listener listener;
    struct ping_request request;
    uint32_t oldest; /* all before it are settled */
    uint32_t next;   /* to be sent */
    int64_t next_at; /* if there is an interval */
    int64_t timer_at;
    struct ping_answer end;  /* the sums */
    struct ping_answer held; /* an answer that its program has not read yet, if `holds` */
    bool holds;
    struct ping_sent sent[WINDOW];
};

struct ping {
    uint32_t run_count; /* since the start */
    uint64_t turned, touched, strange, sent, received, lost, untold;
    struct ping_run runs[RUNS];
};

static void run_arm(struct weft_self *self, struct ping_run *run, int64_t at)
{
    if (run->armed && run->timer_at <= at)
        return;
    struct ping *ping = weft_memory(self);
    /* -ENOSPC: 64 timers are set, so one of this run or another fires soon and steps all runs. */
    if (!weft_timer(self, at, (uint64_t)(run - ping->runs))) {
        run->armed = true;
        run->timer_at = at;
    }
}

/* ---- answers ---- */

/* False: its program does not accept it now. */
static bool run_offer(struct weft_self *self, const struct ping_run *run,
                      const struct ping_answer *answer)
{
    uint8_t bytes[PING_ANSWER_MAX];
    size_t size = ping_answer_write(answer, bytes);
    return weft_answer(self, run->client, run->ticket, bytes, (uint32_t)size) != -EAGAIN;
}

static void run_tell(struct weft_self *self, struct ping_run *run, struct ping_answer *answer)
{
    struct ping *ping = weft_memory(self);
    answer->token = run->request.token;
    if (run->listener.told) {
        run->listener.told(run->listener.context, answer);
        return;
    }
    if (run->request.quiet && answer->kind != PING_END)
        return;
    if (!run->holds && run_offer(self, run, answer))
        return;
    ping->untold += run->holds;
    if (!run->holds || answer->kind == PING_END)
        run->held = *answer;
    run->holds = true;
    run_arm(self, run, weft_now(self) + AGAIN_NSEC);
}

/* A program's run stays active until the program has read the end. A listener's run is over before
 * the listener is told, so that it can start its next run in the same slot. */
static void run_end(struct weft_self *self, struct ping_run *run)
{
    bool is_programs = !run->listener.told;
    struct ping_answer end = run->end;
    end.kind = PING_END;
    run->active = false;
    run_tell(self, run, &end);
    if (is_programs)
        run->active = run->holds;
}

static void run_lost(struct weft_self *self, struct ping_run *run, uint32_t sequence)
{
    struct ping *ping = weft_memory(self);
    struct ping_sent *sent = &run->sent[sequence % WINDOW];
    sent->waiting = false;
    run->end.lost++;
    ping->lost++;
    struct ping_answer answer = {
        .kind = PING_LOST,
        .sequence = sequence,
        .error = sent->error ? sent->error : ETIMEDOUT,
    };
    run_tell(self, run, &answer);
}

/* ---- sending ---- */

static int run_send(struct weft_self *self, const struct ping_run *run, uint32_t sequence)
{
    uint32_t stored = PING_SIZE_OF_PATH(PING_PATH_MAX);
    if (stored > run->request.size)
        stored = run->request.size;
    struct weft_packet *packet = weft_packet_hollow(self, run->request.size, stored);
    if (!packet)
        return -ENOBUFS;
    ping_packet_write(weft_payload(packet), stored, sequence);
    weft_set_identity(packet, run->identity);
    if (run->request.to_key)
        return weft_send_key(self, packet, &run->request.key);
    return weft_send_server(self, packet, run->request.server);
}

static bool run_may_send(const struct ping_run *run, int64_t now)
{
    if (run->next == run->request.count || run->next - run->oldest == WINDOW || run->holds)
        return false;
    return run->request.interval_nsec ? run->next_at <= now : run->oldest == run->next;
}

static void run_send_next(struct weft_self *self, struct ping_run *run, int64_t now)
{
    struct ping *ping = weft_memory(self);
    uint32_t sequence = run->next++;
    struct ping_sent *sent = &run->sent[sequence % WINDOW];
    *sent = (struct ping_sent){.at = now, .waiting = true};
    run->next_at += run->request.interval_nsec;
    if (run->next_at < now) /* it was delayed: missed pings are not sent later */
        run->next_at = now;
    run->end.sent++;
    ping->sent++;
    sent->error = (uint8_t)-run_send(self, run, sequence);
}

/* ---- what is due ---- */

/* False: the answer still waits. */
static bool run_catch_up(struct weft_self *self, struct ping_run *run, int64_t now)
{
    if (!run_offer(self, run, &run->held)) {
        run_arm(self, run, now + AGAIN_NSEC);
        return false;
    }
    run->holds = false;
    run->active = run->held.kind != PING_END;
    return run->active;
}

/* Gives up overdue pings, sends due ones, and ends the run if all are settled. */
static void run_step(struct weft_self *self, struct ping_run *run)
{
    int64_t now = weft_now(self);
    if (run->holds && !run_catch_up(self, run, now))
        return;
    uint32_t identity = run->identity;
    bool moved = true;
    while (moved && run->active && run->identity == identity) {
        moved = false;
        const struct ping_sent *oldest = &run->sent[run->oldest % WINDOW];
        if (run->oldest != run->next &&
            (!oldest->waiting || now - oldest->at >= run->request.timeout_nsec)) {
            uint32_t sequence = run->oldest++;
            if (oldest->waiting)
                run_lost(self, run, sequence);
            moved = true;
        } else if (run_may_send(run, now)) {
            run_send_next(self, run, now);
            moved = true;
        }
    }
    if (!run->active || run->identity != identity || run->holds)
        return; /* its listener stopped it, or its program does not read */
    if (run->oldest == run->request.count) {
        run_end(self, run);
        return;
    }
    /* One timer for whichever comes first: a second one for each ping's timeout would soon exceed
     * the node's limit, and the run would pause until the first of them fires. */
    int64_t at = INT64_MAX;
    if (run->oldest != run->next)
        at = run->sent[run->oldest % WINDOW].at + run->request.timeout_nsec;
    if (run->request.interval_nsec && run->next != run->request.count &&
        run->next - run->oldest < WINDOW && run->next_at < at)
        at = run->next_at;
    if (at != INT64_MAX)
        run_arm(self, run, at);
}

static void ping_timer(struct weft_self *self, uint64_t cookie)
{
    struct ping *ping = weft_memory(self);
    struct ping_run *fired = &ping->runs[cookie % RUNS];
    if (weft_now(self) >= fired->timer_at)
        fired->armed = false;
    for (unsigned i = 0; i < RUNS; i++)
        if (ping->runs[i].active && (&ping->runs[i] == fired || !ping->runs[i].armed))
            run_step(self, &ping->runs[i]);
}

/* ---- packets ---- */

static struct ping_run *run_of(struct ping *ping, uint32_t identity)
{
    struct ping_run *run = &ping->runs[identity % RUNS];
    return run->active && run->identity == identity ? run : NULL;
}

static void run_reply(struct weft_self *self, struct ping_run *run, struct weft_packet *packet,
                      const struct ping_packet *read)
{
    struct ping *ping = weft_memory(self);
    uint32_t ago = run->next - read->sequence;
    struct ping_sent *sent = &run->sent[read->sequence % WINDOW];
    if (ago == 0 || ago > run->next - run->oldest || !sent->waiting) {
        run->end.late++;
        return;
    }
    sent->waiting = false;
    struct ping_answer answer = {
        .kind = PING_REPLY,
        .sequence = read->sequence,
        .round_nsec = weft_now(self) - sent->at,
        .server = weft_source(packet),
        .hops_there = read->hops_there,
        .hops_back = (uint8_t)weft_hops(packet),
        .touches = read->touches,
        .path_turn = read->path_turn,
        .path_count = read->path_count,
    };
    for (unsigned i = 0; i < read->path_count; i++)
        answer.path[i] = ping_packet_path(weft_payload(packet), i);
    struct ping_answer *end = &run->end;
    end->least_nsec =
        end->received && end->least_nsec < answer.round_nsec ? end->least_nsec : answer.round_nsec;
    end->most_nsec = end->most_nsec > answer.round_nsec ? end->most_nsec : answer.round_nsec;
    end->sum_nsec += answer.round_nsec;
    end->received++;
    ping->received++;
    run_tell(self, run, &answer);
}

static void reply_arrived(struct weft_self *self, struct weft_packet *packet,
                          const struct ping_packet *read)
{
    uint32_t identity = weft_identity(packet);
    struct ping_run *run = run_of(weft_memory(self), identity);
    if (run)
        run_reply(self, run, packet, read);
    weft_done(packet);
    if (run_of(weft_memory(self), identity))
        run_step(self, run);
}

static void ping_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct ping *ping = weft_memory(self);
    struct ping_packet read;
    void *payload = weft_payload(packet);
    if (!ping_packet_read(&read, payload, weft_size(packet))) {
        ping->strange++;
        weft_refuse(self, packet);
    } else if (read.kind == PING_BACK) {
        reply_arrived(self, packet, &read);
    } else {
        ping_packet_turn(payload, weft_size(packet), weft_here(self), weft_hops(packet));
        ping->turned++;
        weft_reply(self, packet); /* if it cannot go back, its source counts it as lost */
    }
}

static enum weft_verdict ping_intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct ping *ping = weft_memory(self);
    if (ping_packet_touch(weft_payload(packet), weft_size(packet), weft_here(self)))
        ping->touched++;
    else
        ping->strange++;
    return WEFT_PASS;
}

/* ---- runs ---- */

/* One program cannot take all runs. */
static bool program_has_enough(const struct ping *ping, const struct ping_run *who)
{
    unsigned count = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        const struct ping_run *run = &ping->runs[i];
        count += run->active && !run->listener.told && run->client == who->client;
    }
    return !who->listener.told && count >= RUNS_OF_PROGRAM;
}

static int run_open(struct weft_self *self, const struct ping_request *request,
                    const struct ping_run *who)
{
    struct ping *ping = weft_memory(self);
    if (!request->to_key && request->server >= weft_server_count(self))
        return -EINVAL;
    if (program_has_enough(ping, who))
        return -ENOBUFS;
    for (unsigned i = 0; i < RUNS; i++) {
        struct ping_run *run = &ping->runs[i];
        if (run->active)
            continue;
        bool armed = run->armed;
        int64_t timer_at = run->timer_at;
        *run = *who;
        run->active = true;
        run->armed = armed;
        run->timer_at = timer_at;
        run->identity = ping->run_count++ * RUNS + i;
        run->request = *request;
        run->next_at = weft_now(self);
        return (int)i;
    }
    return -ENOBUFS;
}

static int local_start(struct weft_self *self, const struct ping_request *request,
                       const struct ping_listener *listener)
{
    assert(listener->told && request->count && request->size >= PING_SIZE_MIN);
    struct ping_run who = {.listener = *listener};
    int index = run_open(self, request, &who);
    if (index >= 0)
        run_step(self, &((struct ping *)weft_memory(self))->runs[index]);
    return index;
}

static void local_stop(struct weft_self *self, int run)
{
    struct ping *ping = weft_memory(self);
    assert(run >= 0 && run < RUNS);
    if (ping->runs[run].active)
        run_end(self, &ping->runs[run]);
}

static void refuse(struct weft_self *self, const struct ping_run *who, uint32_t token, int error)
{
    struct ping_answer answer = {.kind = PING_REFUSED, .token = token, .error = (uint8_t)-error};
    uint8_t bytes[PING_ANSWER_MAX];
    weft_answer(self, who->client, who->ticket, bytes, (uint32_t)ping_answer_write(&answer, bytes));
}

static void request_stop(struct weft_self *self, const struct ping_run *who, uint32_t token)
{
    struct ping *ping = weft_memory(self);
    for (unsigned i = 0; i < RUNS; i++) {
        struct ping_run *run = &ping->runs[i];
        if (run->active && !run->listener.told && run->client == who->client &&
            run->request.token == token) {
            run_end(self, run);
            return;
        }
    }
    refuse(self, who, token, -ENOENT);
}

static void ping_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    struct ping *ping = weft_memory(self);
    struct ping_request request;
    const struct ping_run who = {.client = client, .ticket = ticket};
    int error = ping_request_read(&request, bytes, size);
    if (!error && request.kind == PING_STOP) {
        request_stop(self, &who, request.token);
        return;
    }
    if (!error)
        error = run_open(self, &request, &who);
    if (error < 0)
        refuse(self, &who, request.token, error);
    else
        run_step(self, &ping->runs[error]);
}

/* The program that would read the answers has disconnected. */
static void ping_gone(struct weft_self *self, uint64_t client)
{
    struct ping *ping = weft_memory(self);
    for (unsigned i = 0; i < RUNS; i++)
        if (!ping->runs[i].listener.told && ping->runs[i].client == client)
            ping->runs[i].active = false;
}

static void ping_stats(struct weft_self *self, struct weft_report *report)
{
    const struct ping *ping = weft_memory(self);
    weft_stat(report, "pings_sent", ping->sent);
    weft_stat(report, "replies_received", ping->received);
    weft_stat(report, "pings_lost", ping->lost);
    weft_stat(report, "answers_untold", ping->untold);
    weft_stat(report, "pings_answered", ping->turned);
    weft_stat(report, "pings_touched", ping->touched);
    weft_stat(report, "strange", ping->strange);
}

static const struct weft_service_ops ping_ops = {
    .deliver = ping_deliver,
    .intercept = ping_intercept,
    .timer = ping_timer,
    .request = ping_request,
    .stats = ping_stats,
    .gone = ping_gone,
};

static const struct ping_local ping_local = {.start = local_start, .stop = local_stop};

const struct weft_service service_ping = {
    .version = WEFT_SERVICE_VERSION,
    .name = "ping",
    .id = PING_SERVICE,
    .size = sizeof(struct ping),
    .local = &ping_local,
    .ops = &ping_ops,
};
