/* sst_multicast: messages that all members deliver in the same order. Every process is one thread
 * that sends if there is room and otherwise delivers; with more processes than cores it yields when
 * it can do neither.
 *
 * The order is checked: each member combines what it delivers into one number, and all must get the
 * same number. */
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <weft/sst_multicast.h>

#include "base/check.h"
#include "measured/payload.h"
#include "sst_sides.h"
#include "transport/clock.h"

#define TABLE        9
#define MESSAGE_SIZE 64
#define POLL_FOREVER (3600 * NSEC_PER_SEC)
#define OPEN_NSEC    (60 * NSEC_PER_SEC)
#define CLOSE_NSEC   (10 * NSEC_PER_SEC)
#define CHAIN_FACTOR 0x9e3779b97f4a7c15ULL
#define BURST        64

struct talk {
    struct crowd *crowd;
    const struct crowd_task *task;
    struct ripc *ripc;
    struct sst_multicast *multicast;
    uint64_t sum; /* payload_sum of message 0 */
    uint64_t next[SST_ROWS_MAX];
    uint64_t delivered;
    uint64_t chain;
};

static void talk_check(struct talk *talk, int result, const char *what)
{
    if (result < 0)
        crowd_fail(talk->crowd, "%s: %s", what, ripc_strerror(result));
}

static void deliver(struct sst_multicast *multicast, const struct sst_multicast_message *messages,
                    unsigned count, void *argument)
{
    struct talk *talk = argument;
    for (unsigned i = 0; i < count; i++) {
        const struct sst_multicast_message *message = &messages[i];
        uint64_t number = talk->next[message->row]++;
        if (message->size != MESSAGE_SIZE ||
            !payload_good(message->data, MESSAGE_SIZE, talk->sum, number))
            crowd_fail(talk->crowd, "message %llu of member %u arrived damaged or out of order",
                       (unsigned long long)number, message->row);
        talk->chain = (talk->chain ^ message->row) * CHAIN_FACTOR + number;
        talk->delivered++;
        if (talk->crowd->index == 0)
            laps_step(talk->task->laps);
    }
}

static void talk_open(struct talk *talk)
{
    char reason[RIPC_REASON_MAX] = "";
    if (setenv("WEFT_FOLDER", talk->crowd->folder, 1))
        crowd_fail(talk->crowd, "not enough memory");
    talk_check(talk, ripc_open(&(struct ripc_config){.domain = "measured"}, &talk->ripc),
               "ripc_open");
    int error = sst_multicast_open(talk->ripc,
                                   &(struct sst_multicast_config){
                                       .table = TABLE,
                                       .slot_size = MESSAGE_SIZE,
                                       .members_wanted = talk->crowd->count,
                                       .flags = SST_MANUAL,
                                       .deadline = ripc_after(OPEN_NSEC),
                                       .spin_nsec = talk->task->crowded ? -1 : POLL_FOREVER,
                                       .yield_nsec = POLL_FOREVER,
                                       .deliver = deliver,
                                       .argument = talk,
                                       .reason = reason,
                                   },
                                   &talk->multicast);
    if (error < 0)
        crowd_fail(talk->crowd, "sst_multicast_open: %s",
                   reason[0] ? reason : ripc_strerror(error));
}

/* Sends messages from number `sent` on, as many as there is room for. */
static uint64_t talk_send(struct talk *talk, unsigned char bursts[BURST][MESSAGE_SIZE],
                          uint64_t sent, uint64_t total)
{
    struct iovec messages[BURST];
    unsigned count = total - sent < BURST ? (unsigned)(total - sent) : BURST;
    for (unsigned i = 0; i < count; i++) {
        payload_number(bursts[i], sent + i);
        messages[i] = (struct iovec){bursts[i], MESSAGE_SIZE};
    }
    int taken = sst_multicast_send_many(talk->multicast, messages, count, RIPC_NOW);
    if (taken != -EAGAIN)
        talk_check(talk, taken, "sst_multicast_send_many");
    return taken > 0 ? (uint64_t)taken : 0;
}

/* A cache line of the crowd's memory for each member, which the member stores with release. */
struct line {
    _Alignas(64) _Atomic uint32_t meetings; /* how many meetings it has reached */
    _Atomic uint64_t chain;                 /* stored before the second meeting */
};

/* Waits for all members and keeps stepping meanwhile: the others may need our steps. */
static void talk_meet(struct talk *talk, uint32_t meeting)
{
    struct line *lines = (struct line *)talk->task->memory;
    atomic_store_explicit(&lines[talk->crowd->index].meetings, meeting, memory_order_release);
    for (uint32_t i = 0; i < talk->crowd->count; i++)
        while (atomic_load_explicit(&lines[i].meetings, memory_order_acquire) < meeting) {
            sst_multicast_step(talk->multicast, RIPC_NOW);
            sched_yield();
        }
}

/* All must have delivered everything, in one order. */
static void chains_compare(struct talk *talk)
{
    struct line *lines = (struct line *)talk->task->memory;
    atomic_store_explicit(&lines[talk->crowd->index].chain, talk->chain, memory_order_relaxed);
    talk_meet(talk, 2);
    if (atomic_load_explicit(&lines[0].chain, memory_order_relaxed) != talk->chain)
        crowd_fail(talk->crowd, "members 0 and %u delivered in different orders",
                   talk->crowd->index);
}

static void talk_run(struct crowd *crowd, const struct crowd_task *task, uint32_t senders)
{
    static unsigned char bursts[BURST][MESSAGE_SIZE];
    struct talk talk = {.crowd = crowd, .task = task};
    uint64_t own = crowd->index < senders ? task->total / senders : 0, sent = 0;
    assert(task->total % senders == 0);
    for (int i = 0; i < BURST; i++)
        talk.sum = payload_make(bursts[i], MESSAGE_SIZE);
    talk_open(&talk);
    talk_meet(&talk, 1);
    if (crowd->index == 0)
        laps_start(task->laps);
    while (talk.delivered < task->total) {
        uint64_t taken = sent < own ? talk_send(&talk, bursts, sent, own) : 0;
        sent += taken;
        int result = sst_multicast_step(talk.multicast, taken ? RIPC_NOW : RIPC_FOREVER);
        if (result != -EAGAIN)
            talk_check(&talk, result, "sst_multicast_step");
    }
    chains_compare(&talk);
    talk_check(&talk, sst_multicast_close(talk.multicast, ripc_after(CLOSE_NSEC)),
               "sst_multicast_close");
    ripc_close(talk.ripc, ripc_after(NSEC_PER_SEC));
}

static void multicast_one_run(struct crowd *crowd, const struct crowd_task *task)
{
    talk_run(crowd, task, 1);
}

static void multicast_all_run(struct crowd *crowd, const struct crowd_task *task)
{
    talk_run(crowd, task, crowd->count);
}

const struct crowd_side side_multicast_one = {.name = "multicast", .run = multicast_one_run};
const struct crowd_side side_multicast_all = {.name = "multicast", .run = multicast_all_run};
