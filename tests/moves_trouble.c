/* A service retires while something is wrong: a sender is stopped, waits for credit, or dies; the
 * service itself is killed; it is a member of a group; long items are pending. Everything that was
 * sent is received, or reported to its sender, and every operation completes once.
 *
 *   moves_trouble_test [SEED] */
#include <sched.h>

#include "moves.h"

#define SLOTS 64 /* of each ring: a client that is ahead by so many waits for credit */
#define FEW   20

static const struct ripc_config shm = {.transports = "shm", .ring_slots = SLOTS};
static const struct ripc_config fabric = {.transports = "fabric", .address = "127.0.0.1"};

/* The moments at which one process tells another to go on. */
enum { BOUND, RETIRE, EMPTY, LEFT, BIND_NEXT, GATES };
static struct gate gates[GATES];

static void gates_make(void)
{
    for (unsigned i = 0; i < GATES; i++)
        gates[i] = gate_make();
}

static void gates_free(void)
{
    for (unsigned i = 0; i < GATES; i++)
        gate_free(&gates[i]);
}

/* ---- holders ---- */

static struct ripc *ripc;
static struct ripc_service *service;
static uint64_t next; /* the number that the next message of the client has at least */

static void holder_open(const struct ripc_config *config, ripc_id id)
{
    demand(ripc_open(config, &ripc) == 0);
    demand(ripc_bind(ripc, id, 0, &service) == 0);
}

static void holder_close(void)
{
    demand(ripc_close(ripc, ripc_after(PATIENCE)) == 0);
    _exit(0);
}

/* Returns the result of ripc_receive. */
static int holder_receive(int64_t deadline)
{
    struct ripc_message message;
    struct moves_message got;
    int result = ripc_receive(service, &message, 1, deadline);
    if (result != 1)
        return result;
    demand(message.size >= sizeof got);
    memcpy(&got, message.data, sizeof got);
    demand(got.number >= next);
    next = got.number + 1;
    fate_set(got.client, got.number, RECEIVED);
    if (got.last)
        atomic_store_explicit(&record->finished[got.client], true, memory_order_relaxed);
    ripc_release(&message);
    return 1;
}

static unsigned holder_receive_until(unsigned max, int64_t deadline, int end)
{
    unsigned count = 0;
    int result = 1;
    while (count < max && (result = holder_receive(deadline)) == 1)
        count++;
    demand(count == max || result == end);
    return count;
}

/* The process to which the service moves receives until the client has sent its last message. */
static void be_next_holder(void)
{
    gate_pass(&gates[BIND_NEXT]);
    holder_open(&shm, MOVER);
    atomic_store_explicit(&record->stop, true, memory_order_relaxed);
    while (!atomic_load_explicit(&record->finished[0], memory_order_relaxed))
        demand(holder_receive(ripc_after(PATIENCE)) == 1);
    holder_close();
}

/* ---- the client ---- */

/* Sends as fast as it can, until it is told to stop. If no process has the id, it goes on trying.
 */
static void be_client(int wanted_error)
{
    struct moves_client client;
    gate_pass(&gates[BOUND]);
    client_open(&client, 0, &shm);
    bool last = false, failed = false;
    while (!last) {
        bool stop = atomic_load_explicit(&record->stop, memory_order_relaxed);
        int result = client_send(&client, stop, ripc_after(PATIENCE));
        last = stop && result == 0;
        demand(result == 0 || result == wanted_error);
        if (result && !failed)
            gate_open(&gates[LEFT]);
        failed |= result != 0;
        client_take_events(&client, RIPC_NOW);
    }
    demand(failed == (wanted_error != 0));
    while (!atomic_load_explicit(&record->finished[0], memory_order_relaxed))
        client_take_events(&client, ripc_after(SECOND / 100));
    client_close(&client);
    _exit(0);
}

/* Waits until the client has filled its ring, so that its next send waits for credit. */
static void client_await_full(void)
{
    for (int64_t end = ripc_after(PATIENCE);
         atomic_load_explicit(&record->sent[0], memory_order_relaxed) < SLOTS;) {
        demand(ripc_now() < end);
        sched_yield();
    }
}

static void process_stop(pid_t pid)
{
    int status;
    demand(kill(pid, SIGSTOP) == 0);
    demand(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
}

static bool outcome_is(uint64_t lost_least, uint64_t lost_most, enum fate fate)
{
    uint64_t lost = fates_count(0, fate);
    printf("# %llu sent, %llu received, %llu %s\n",
           (unsigned long long)atomic_load_explicit(&record->sent[0], memory_order_relaxed),
           (unsigned long long)fates_count(0, RECEIVED), (unsigned long long)lost,
           fate == LOST ? "lost" : "doubtful");
    return fates_are_exact(0) && lost >= lost_least && lost <= lost_most;
}

/* ---- a sender that waits for credit, or is stopped ---- */

/* Does not receive before it retires, so that the client waits for credit then. */
static void be_leaving(unsigned takes, int end)
{
    holder_open(&shm, MOVER);
    gate_open(&gates[BOUND]);
    gate_pass(&gates[RETIRE]);
    demand(ripc_retire(service, RIPC_MOVES) == 0);
    int64_t deadline = ripc_after(end == -ETIMEDOUT ? SECOND / 2 : PATIENCE);
    unsigned count = holder_receive_until(takes, deadline, end);
    /* A sender that is not stopped uses the credit that comes back until it hears of the end. */
    demand(end == -ETIMEDOUT ? count == (takes < SLOTS ? takes : SLOTS) : count >= SLOTS);
    demand(ripc_unbind(service) == 0);
    struct ripc_stats stats;
    demand(ripc_stats(ripc, &stats) == 0);
    demand(stats.dropped_unread == (count < SLOTS ? SLOTS - count : 0));
    gate_open(&gates[LEFT]);
    holder_close();
}

static bool sender_waits(bool stopped, unsigned takes)
{
    gates_make();
    if (process_start() == 0)
        be_leaving(takes, stopped ? -ETIMEDOUT : -ESHUTDOWN);
    if (process_start() == 0)
        be_next_holder();
    pid_t client = process_start();
    if (client == 0)
        be_client(0);
    client_await_full();
    if (stopped)
        process_stop(client);
    gate_open(&gates[RETIRE]);
    gate_pass(&gates[LEFT]);
    gate_open(&gates[BIND_NEXT]);
    if (stopped)
        kill(client, SIGCONT);
    bool good = processes_end(0);
    gates_free();
    /* A sender that continues may use credit before it hears that the service is gone. */
    uint64_t lost = takes < SLOTS ? SLOTS - takes : 0;
    return good && outcome_is(lost, stopped ? SLOTS : 0, LOST);
}

static bool a_send_that_waits_for_credit_goes_to_the_next_holder(void)
{
    return sender_waits(false, UINT32_MAX);
}

static bool a_stopped_sender_delays_the_leave_until_the_deadline(void)
{
    return sender_waits(true, UINT32_MAX);
}

static bool what_a_stopped_sender_loses_is_reported_when_it_continues(void)
{
    return sender_waits(true, FEW);
}

/* ---- a sender that dies ---- */

static void be_left_alone(void)
{
    holder_open(&shm, MOVER);
    gate_open(&gates[BOUND]);
    gate_pass(&gates[RETIRE]);
    demand(ripc_retire(service, RIPC_MOVES) == 0);
    demand(holder_receive_until(SLOTS / 2, ripc_after(PATIENCE), 0) == SLOTS / 2);
    gate_open(&gates[EMPTY]);
    demand(holder_receive_until(UINT32_MAX, ripc_after(PATIENCE), -ESHUTDOWN) == SLOTS / 2);
    demand(ripc_unbind(service) == 0);
    holder_close();
}

/* The sender never answers, because it is stopped before it is killed. */
static bool what_a_sender_sent_before_it_died_is_received(void)
{
    gates_make();
    if (process_start() == 0)
        be_left_alone();
    pid_t client = process_start();
    if (client == 0)
        be_client(0);
    client_await_full();
    process_stop(client);
    gate_open(&gates[RETIRE]);
    gate_pass(&gates[EMPTY]);
    kill(client, SIGKILL);
    bool good = processes_end(client);
    gates_free();
    return good && outcome_is(0, 0, LOST);
}

/* ---- a service that is killed while it retires ---- */

static void be_killed(void)
{
    holder_open(&shm, MOVER);
    gate_open(&gates[BOUND]);
    gate_pass(&gates[RETIRE]);
    demand(ripc_retire(service, RIPC_MOVES) == 0);
    demand(holder_receive_until(FEW, ripc_after(PATIENCE), 0) == FEW);
    gate_open(&gates[EMPTY]);
    pause();
}

/* It did not leave in order, so the waiting send fails. */
static bool a_service_that_is_killed_while_it_retires_leaves_doubtful_messages(void)
{
    gates_make();
    pid_t leaving = process_start();
    if (leaving == 0)
        be_killed();
    if (process_start() == 0)
        be_next_holder();
    if (process_start() == 0)
        be_client(-ENOENT);
    client_await_full();
    gate_open(&gates[RETIRE]);
    gate_pass(&gates[EMPTY]);
    kill(leaving, SIGKILL);
    /* The client tells by its first failed send that it knows. */
    gate_pass(&gates[LEFT]);
    gate_open(&gates[BIND_NEXT]);
    bool good = processes_end(leaving);
    gates_free();
    return good && outcome_is(SLOTS - FEW, SLOTS, MAYBE_LOST);
}

/* ---- a service that leaves for good ---- */

static void be_leaving_for_good(void)
{
    holder_open(&shm, MOVER);
    gate_open(&gates[BOUND]);
    gate_pass(&gates[RETIRE]);
    demand(ripc_retire(service, 0) == 0);
    holder_receive_until(UINT32_MAX, ripc_after(PATIENCE), -ESHUTDOWN);
    gate_open(&gates[EMPTY]);
    gate_pass(&gates[BIND_NEXT]);
    demand(ripc_unbind(service) == 0);
    holder_close();
}

/* While the service retires, sends wait, and new senders are refused; then no process has the id.
 */
static void be_left(void)
{
    struct moves_client client, other;
    int result;
    gate_pass(&gates[BOUND]);
    client_open(&client, 0, &shm);
    client_open(&other, 1, &shm);
    demand(client_send(&client, false, ripc_after(PATIENCE)) == 0);
    gate_open(&gates[RETIRE]);
    gate_pass(&gates[EMPTY]);
    demand(client_send(&client, false, RIPC_NOW) == -EAGAIN);
    demand(client_send(&client, false, ripc_after(SECOND / 20)) == -ETIMEDOUT);
    demand(client_send(&other, false, ripc_after(PATIENCE)) == -ENOENT);
    gate_open(&gates[BIND_NEXT]);
    while ((result = client_send(&client, false, ripc_after(PATIENCE))) == 0)
        ;
    demand(result == -ENOENT);
    client_close(&client);
    client_close(&other);
    _exit(0);
}

static bool a_send_to_a_service_that_leaves_for_good_waits_and_then_fails(void)
{
    gates_make();
    if (process_start() == 0)
        be_leaving_for_good();
    if (process_start() == 0)
        be_left();
    bool good = processes_end(0);
    gates_free();
    return good && outcome_is(0, 0, LOST) && fates_count(0, RECEIVED) == 1;
}

/* ---- a member of a group ---- */

#define GROUP 900

/* The first member leaves after a few messages; the second one receives all. */
static void be_member(bool leaves)
{
    uint64_t expected = 0;
    struct ripc_message message;
    struct moves_message got = {0};
    int result;
    holder_open(&shm, leaves ? 0 : MOVER);
    demand(ripc_join(service, GROUP) == 0);
    gate_open(&gates[BOUND]);
    while ((result = ripc_receive(service, &message, 1, ripc_after(PATIENCE))) == 1 && !got.last) {
        memcpy(&got, message.data, sizeof got);
        demand(message.to == GROUP && got.number == expected++);
        ripc_release(&message);
        if (leaves && expected == FEW)
            demand(ripc_retire(service, RIPC_MOVES) == 0);
        if (!leaves)
            fate_set(0, got.number, RECEIVED);
        if (got.last)
            break;
    }
    demand(leaves ? result == -ESHUTDOWN && expected >= FEW : result == 1);
    demand(ripc_unbind(service) == 0);
    if (leaves) /* the sender goes on until the first member is gone */
        atomic_store_explicit(&record->stop, true, memory_order_relaxed);
    holder_close();
}

static void be_speaker(void)
{
    struct moves_client client;
    struct moves_message message = {0};
    gate_pass(&gates[BOUND]);
    gate_pass(&gates[BOUND]);
    client_open(&client, 0, &shm);
    while (!message.last) {
        message.last = atomic_load_explicit(&record->stop, memory_order_relaxed);
        demand(ripc_send(client.service, GROUP, &message, sizeof message, ripc_after(PATIENCE)) ==
               0);
        message.number++;
    }
    atomic_store_explicit(&record->sent[0], message.number, memory_order_relaxed);
    struct ripc_stats stats;
    demand(ripc_stats(client.ripc, &stats) == 0 && stats.lost == 0 && stats.doubtful == 0);
    demand(ripc_close(client.ripc, ripc_after(PATIENCE)) == 0);
    _exit(0);
}

static bool a_member_of_a_group_retires_and_the_others_miss_nothing(void)
{
    gates_make();
    for (unsigned i = 0; i < 2; i++)
        if (process_start() == 0)
            be_member(i);
    if (process_start() == 0)
        be_speaker();
    bool good = processes_end(0);
    gates_free();
    return good && outcome_is(0, 0, LOST);
}

/* ---- long items ---- */

#define ITEMS 12
#define LARGE 50000

/* Of the items that are pending when the service has received everything, it fetches every second
 * one. */
static void be_receiver_of_items(const struct ripc_config *config)
{
    static uint8_t bytes[LARGE];
    struct ripc_message messages[ITEMS];
    unsigned count = 0;
    int result = 1;
    holder_open(config, MOVER);
    gate_open(&gates[BOUND]);
    gate_pass(&gates[RETIRE]);
    demand(ripc_retire(service, RIPC_MOVES) == 0);
    while (count < ITEMS && result == 1) {
        result = ripc_receive(service, &messages[count], 1, ripc_after(PATIENCE));
        count += result == 1;
    }
    struct ripc_message none;
    demand(ripc_receive(service, &none, 1, ripc_after(PATIENCE)) == -ESHUTDOWN);
    demand(count == ITEMS);
    for (unsigned i = 0; i < ITEMS; i += 2) {
        demand(messages[i].long_count == 1 && messages[i].longs[0].size == LARGE);
        demand(ripc_fetch(&messages[i], 0, bytes, LARGE, ripc_after(PATIENCE)) == 0);
        for (unsigned at = 0; at < LARGE; at++)
            demand(bytes[at] == i);
        ripc_release(&messages[i]);
    }
    demand(ripc_unbind(service) == 0);
    holder_close();
}

static void be_sender_of_items(const struct ripc_config *config)
{
    unsigned done[ITEMS] = {0};
    struct ripc_event event;
    uint8_t *items[ITEMS];
    gate_pass(&gates[BOUND]);
    demand(ripc_open(config, &ripc) == 0 && ripc_bind(ripc, 0, 0, &service) == 0);
    for (unsigned i = 0; i < ITEMS; i++) {
        items[i] = ripc_alloc(ripc, LARGE);
        demand(items[i]);
        memset(items[i], (int)i, LARGE);
        struct iovec item = {items[i], LARGE};
        struct ripc_send send = {.to = MOVER,
                                 .longs = &item,
                                 .long_count = 1,
                                 .user = i,
                                 .deadline = ripc_after(PATIENCE)};
        demand(ripc_send_message(service, &send) > 0);
    }
    gate_open(&gates[RETIRE]);
    for (unsigned count = 0; count < ITEMS; count++) {
        demand(ripc_poll(service, &event, 1, ripc_after(PATIENCE)) == 1);
        demand(event.kind == RIPC_DONE && event.user < ITEMS && done[event.user]++ == 0);
        demand(event.status == (event.user % 2 ? -EPIPE : 0));
    }
    demand(ripc_poll(service, &event, 1, RIPC_NOW) == -EAGAIN);
    for (unsigned i = 0; i < ITEMS; i++)
        demand(ripc_free(ripc, items[i]) == 0);
    struct ripc_stats stats;
    demand(ripc_stats(ripc, &stats) == 0 && stats.operations == 0 && stats.lost == 0);
    demand(ripc_close(ripc, ripc_after(PATIENCE)) == 0);
    _exit(0);
}

static bool items_are_pending(const struct ripc_config *config)
{
    gates_make();
    if (process_start() == 0)
        be_receiver_of_items(config);
    if (process_start() == 0)
        be_sender_of_items(config);
    bool good = processes_end(0);
    gates_free();
    return good;
}

static bool operations_of_pending_items_complete_once_over_shm(void)
{
    return items_are_pending(&shm);
}

static bool operations_of_pending_items_complete_once_over_libfabric(void)
{
    return items_are_pending(&fabric);
}

/* ---- the order of the tests ---- */

struct trouble {
    const char *name;
    bool (*run)(void);
};

#define TROUBLE(name)                                                                              \
    {                                                                                              \
#name, name                                                                                \
    }

int main(int count, char **words)
{
    static const struct trouble troubles[] = {
        TROUBLE(a_send_that_waits_for_credit_goes_to_the_next_holder),
        TROUBLE(a_stopped_sender_delays_the_leave_until_the_deadline),
        TROUBLE(what_a_stopped_sender_loses_is_reported_when_it_continues),
        TROUBLE(what_a_sender_sent_before_it_died_is_received),
        TROUBLE(a_service_that_is_killed_while_it_retires_leaves_doubtful_messages),
        TROUBLE(a_send_to_a_service_that_leaves_for_good_waits_and_then_fails),
        TROUBLE(a_member_of_a_group_retires_and_the_others_miss_nothing),
        TROUBLE(operations_of_pending_items_complete_once_over_shm),
        TROUBLE(operations_of_pending_items_complete_once_over_libfabric),
    };
    bool good = true;
    moves_begin(count, words);
    printf("1..%zu\n", sizeof troubles / sizeof *troubles);
    for (unsigned i = 0; i < sizeof troubles / sizeof *troubles; i++) {
        record_clear();
        bool passed = troubles[i].run();
        printf("%sok %u - %s\n", passed ? "" : "not ", i + 1, troubles[i].name);
        good &= passed;
    }
    good &= ripc_clean(NULL) >= 0; /* processes were killed */
    good &= rmdir(moves_folder) == 0;
    return good ? 0 : 1;
}
