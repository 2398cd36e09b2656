/* messages: ripc through its public interface only, as applications use it. Each
 * role opens a context and binds a service in the private folder of the pair, so
 * that it cannot meet other contexts of this machine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <weft/ripc.h>

#include "measured/payload.h"
#include "measured/sides.h"
#include "transport/clock.h"

#define ID_BASE      1000
#define BURST        64
#define PATIENCE     (20 * NSEC_PER_SEC) /* then a message counts as lost */
#define POLL_FOREVER (3600 * NSEC_PER_SEC)

struct talk {
    struct pair *pair;
    struct ripc *ripc;
    struct ripc_service *service;
    ripc_id other;
};

static void check(struct talk *talk, int64_t result, const char *what)
{
    if (result < 0)
        pair_fail(talk->pair, "%s: %s", what, ripc_strerror((int)result));
}

static void talk_open(struct talk *talk, struct pair *pair)
{
    const struct job *job = pair->job;
    char reason[RIPC_REASON_MAX] = "";
    struct ripc_config config = {
        .domain = "measured",
        .transports = job->transports,
        .provider = job->provider,
        .address = job->address,
        .spin_nsec = POLL_FOREVER,
        .reason = reason,
    };
    if (job->blocking)
        config.spin_nsec = config.yield_nsec = -1;
    if (job->adaptive)
        config.spin_nsec = 0;
    *talk = (struct talk){.pair = pair, .other = ID_BASE + (ripc_id)!pair->role};
    if (setenv("WEFT_FOLDER", pair->folder, 1))
        pair_fail(pair, "not enough memory");
    int error = ripc_open(&config, &talk->ripc);
    if (error < 0)
        pair_fail(pair, "ripc_open: %s", reason[0] ? reason : ripc_strerror(error));
    check(talk, ripc_bind(talk->ripc, ID_BASE + (ripc_id)pair->role, 0, &talk->service),
          "ripc_bind");
    pair_meet(pair);
}

static void talk_close(struct talk *talk)
{
    pair_meet(talk->pair); /* closing first could cut off the last message of the other role */
    ripc_close(talk->ripc, ripc_after(NSEC_PER_SEC));
}

static void talk_send(struct talk *talk, const void *data)
{
    int error = ripc_send(talk->service, talk->other, data, talk->pair->job->size, RIPC_FOREVER);
    if (error < 0)
        check(talk, error, "ripc_send");
}

/* Receives one message, checks it and releases it. */
static void talk_take(struct talk *talk, uint64_t number)
{
    struct ripc_message message;
    int count = ripc_receive(talk->service, &message, 1, RIPC_FOREVER);
    if (count != 1)
        check(talk, count, "ripc_receive");
    pair_check(talk->pair, message.data, message.size, number);
    ripc_release(&message);
}

static void short_ping(struct talk *talk)
{
    struct pair *pair = talk->pair;
    uint64_t total = pair_total(pair);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        payload_number(pair->own, i);
        if (pair->role == 0)
            talk_send(talk, pair->own);
        talk_take(talk, i);
        if (pair->role == 1)
            talk_send(talk, pair->own);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    if (pair->role == 1)
        pair_stop(pair);
}

/* --- one way --- */

static void stream_take(struct talk *talk)
{
    struct pair *pair = talk->pair;
    struct ripc_message messages[BURST];
    uint64_t total = pair_total(pair), number;
    while (pair->arrived < total) {
        int count = ripc_receive(talk->service, messages, BURST, ripc_after(PATIENCE));
        if (count == -ETIMEDOUT)
            break; /* the rest is counted as lost */
        check(talk, count, "ripc_receive");
        for (int i = 0; i < count; i++) {
            memcpy(&number, messages[i].data, sizeof number);
            pair_arrival(pair, number);
            ripc_release(&messages[i]);
        }
    }
    pair_arrivals_end(pair);
}

static void short_stream(struct talk *talk)
{
    struct pair *pair = talk->pair;
    uint64_t total = pair_total(pair);
    pair_start(pair);
    if (pair->role == 1) {
        stream_take(talk);
        return;
    }
    for (uint64_t i = 0; i < total; i++) {
        payload_number(pair->own, i);
        talk_send(talk, pair->own);
    }
    pair_stop(pair);
}

/* --- long items --- */

/* The buffers of a role: memory of ripc_alloc to send from; it receives into windows. */
struct long_ends {
    unsigned char *out[PAIR_DEPTH];
    int64_t operations[PAIR_DEPTH]; /* 0: the buffer is free */
};

static void long_open(struct talk *talk, struct long_ends *ends)
{
    struct pair *pair = talk->pair;
    size_t size = pair->job->size;
    *ends = (struct long_ends){0};
    for (int i = 0; i < PAIR_DEPTH; i++) {
        ends->out[i] = ripc_alloc(talk->ripc, size);
        if (!ends->out[i])
            pair_fail(pair, "ripc_alloc: not enough memory");
        payload_make(ends->out[i], size);
        check(talk, ripc_window_add(talk->ripc, talk->service, pair->own + i * size, size),
              "ripc_window_add");
    }
    pair_meet(pair);
}

static void long_wait(struct talk *talk, struct long_ends *ends, int slot)
{
    if (ends->operations[slot] > 0)
        check(talk, ripc_wait(talk->service, ends->operations[slot], RIPC_FOREVER), "ripc_wait");
    ends->operations[slot] = 0;
}

static void long_send(struct talk *talk, struct long_ends *ends, uint64_t number)
{
    int slot = (int)(number % PAIR_DEPTH);
    struct iovec item = {ends->out[slot], talk->pair->job->size};
    struct ripc_send send = {
        .to = talk->other, .longs = &item, .long_count = 1, .deadline = RIPC_FOREVER};
    payload_number(ends->out[slot], number);
    ends->operations[slot] = ripc_send_message(talk->service, &send);
    check(talk, ends->operations[slot], "ripc_send_message");
}

static void long_take(struct talk *talk, uint64_t number, bool whole)
{
    struct ripc_message message;
    size_t size = talk->pair->job->size;
    int count = ripc_receive(talk->service, &message, 1, RIPC_FOREVER);
    if (count != 1)
        check(talk, count, "ripc_receive");
    if (message.long_count != 1)
        pair_fail(talk->pair, "a message came without its long item");
    check(talk, message.longs[0].status, "a long item");
    void *data = message.longs[0].data;
    if (whole)
        pair_check(talk->pair, data, message.longs[0].size, number);
    else if (memcmp(data, &number, sizeof number) != 0)
        pair_fail(talk->pair, "item %llu is out of order", (unsigned long long)number);
    ripc_release(&message);
    check(talk, ripc_window_add(talk->ripc, talk->service, data, size), "ripc_window_add");
}

static void long_ping(struct talk *talk)
{
    struct pair *pair = talk->pair;
    struct long_ends ends;
    uint64_t total = pair_total(pair);
    long_open(talk, &ends);
    pair_start(pair);
    for (uint64_t i = 0; i < total; i++) {
        long_wait(talk, &ends, (int)(i % PAIR_DEPTH));
        if (pair->role == 0)
            long_send(talk, &ends, i);
        long_take(talk, i, true);
        if (pair->role == 1)
            long_send(talk, &ends, i);
        else if ((i + 1) % pair->job->count == 0)
            pair_lap(pair);
    }
    for (int i = 0; i < PAIR_DEPTH; i++)
        long_wait(talk, &ends, i);
    if (pair->role == 1)
        pair_stop(pair);
}

static void long_stream(struct talk *talk)
{
    struct pair *pair = talk->pair;
    struct long_ends ends;
    uint64_t total = pair_total(pair);
    long_open(talk, &ends);
    pair_start(pair);
    if (pair->role == 1) {
        for (uint64_t i = 0; i < total; i++)
            long_take(talk, i, i + 1 == total);
        pair_stop(pair);
        return;
    }
    for (uint64_t i = 0; i < total + PAIR_DEPTH; i++) {
        long_wait(talk, &ends, (int)(i % PAIR_DEPTH));
        if (i >= PAIR_DEPTH && (i - PAIR_DEPTH + 1) % pair->job->count == 0)
            pair_lap(pair);
        if (i < total)
            long_send(talk, &ends, i);
    }
}

/* --- idle --- */

/* Role 1 waits for messages and is connected to a peer that sends none; its
 * processor time is measured. */
static void idle(struct talk *talk)
{
    struct pair *pair = talk->pair;
    struct ripc_message message;
    int64_t length = pair->job->count * (NSEC_PER_SEC / 1000);
    if (pair->role == 0) {
        talk_send(talk, pair->own);
        talk_take(talk, 0);
        return;
    }
    talk_take(talk, 0);
    talk_send(talk, pair->own);
    pair_start(pair);
    pair_lap(pair);
    int count = ripc_receive(talk->service, &message, 1, ripc_after(length));
    if (count != -ETIMEDOUT)
        pair_fail(pair, "a message came although none was sent");
    pair_lap(pair);
}

static void ripc_run(struct pair *pair)
{
    static void (*const jobs[])(struct talk *) = {
        [JOB_PING] = short_ping,  [JOB_LONG_PING] = long_ping, [JOB_STREAM] = short_stream,
        [JOB_LONG] = long_stream, [JOB_IDLE] = idle,
    };
    struct talk talk;
    talk_open(&talk, pair);
    jobs[pair->job->kind](&talk);
    talk_close(&talk);
}

const struct side side_ripc = {"ripc", ripc_run};
