/* A service moves between two processes while two clients send to it without a pause.
 *
 * By the orderly way (ripc_retire, receive the rest, ripc_unbind) no message is lost, duplicated or
 * reordered. With ripc_unbind alone, messages are lost, but the senders learn exactly which.
 *
 * The two processes pass each other a token with the number of the next message of each client.
 * One client waits in its sends, the other sends with RIPC_NOW and waits for RIPC_CREDIT.
 *
 *   moves_test [SEED] */
#include <sched.h>

#include "moves.h"

#define STAY_MAX 400 /* messages that a holder receives before it leaves */

struct token {
    uint64_t moves; /* that are left */
    uint64_t next[CLIENTS];
    bool over;
};

struct course {
    const char *name;
    struct ripc_config config;
    bool orderly;
    unsigned moves;
};

/* ---- the holders ---- */

struct holder {
    const struct course *course;
    struct ripc *ripc;
    struct ripc_service *service;
    struct rng rng;
    struct token token;
    struct gate in, out;
};

/* Numbers of a client only grow; by the orderly way none is left out. */
static void holder_take(struct holder *holder, struct ripc_message *message)
{
    struct moves_message got;
    demand(message->size >= sizeof got);
    memcpy(&got, message->data, sizeof got);
    demand(got.client < CLIENTS);
    uint64_t next = holder->token.next[got.client];
    demand(holder->course->orderly ? got.number == next : got.number >= next);
    holder->token.next[got.client] = got.number + 1;
    fate_set(got.client, got.number, RECEIVED);
    if (got.last)
        atomic_store_explicit(&record->finished[got.client], true, memory_order_relaxed);
    ripc_release(message);
}

static void holder_stay(struct holder *holder, uint64_t messages)
{
    struct ripc_message message;
    while (messages-- > 0) {
        demand(ripc_receive(holder->service, &message, 1, ripc_after(PATIENCE)) == 1);
        holder_take(holder, &message);
    }
}

/* The last holder receives until both clients have sent their last message. */
static void holder_finish(struct holder *holder)
{
    atomic_store_explicit(&record->stop, true, memory_order_relaxed);
    for (unsigned client = 0; client < CLIENTS; client++)
        while (!atomic_load_explicit(&record->finished[client], memory_order_relaxed))
            holder_stay(holder, 1);
    holder->token.over = true;
}

static void holder_leave(struct holder *holder)
{
    struct ripc_message batch[8];
    int count;
    if (holder->course->orderly) {
        demand(ripc_retire(holder->service, RIPC_MOVES) == 0);
        demand(ripc_retire(holder->service, RIPC_MOVES) == -EALREADY);
        while ((count = ripc_receive(holder->service, batch, 8, ripc_after(PATIENCE))) > 0)
            for (int i = 0; i < count; i++)
                holder_take(holder, &batch[i]);
        demand(count == -ESHUTDOWN);
        demand(ripc_receive(holder->service, batch, 1, RIPC_NOW) == -ESHUTDOWN);
    }
    demand(ripc_unbind(holder->service) == 0);
}

static void be_holder(struct holder *holder)
{
    demand(ripc_open(&holder->course->config, &holder->ripc) == 0);
    while (read(holder->in.read, &holder->token, sizeof holder->token) == sizeof holder->token) {
        if (holder->token.over)
            break;
        demand(ripc_bind(holder->ripc, MOVER, 0, &holder->service) == 0);
        if (holder->token.moves == 0) {
            holder_finish(holder);
        } else {
            holder_stay(holder, rng_below(&holder->rng, STAY_MAX));
            holder->token.moves--;
        }
        holder_leave(holder);
        demand(write(holder->out.write, &holder->token, sizeof holder->token) ==
               sizeof holder->token);
        if (holder->token.over)
            break;
    }
    struct ripc_stats stats;
    demand(ripc_stats(holder->ripc, &stats) == 0);
    demand(!holder->course->orderly || stats.dropped_unread == 0);
    atomic_fetch_add_explicit(&record->unread, stats.dropped_unread, memory_order_relaxed);
    demand(ripc_close(holder->ripc, ripc_after(PATIENCE)) == 0);
    _exit(0);
}

/* ---- the clients ---- */

static bool client_is_finished(const struct moves_client *client)
{
    return atomic_load_explicit(&record->finished[client->index], memory_order_relaxed);
}

static bool client_last_is_lost(const struct moves_client *client)
{
    uint64_t sent = atomic_load_explicit(&record->sent[client->index], memory_order_relaxed);
    return record->fates[client->index][sent - 1] == LOST;
}

/* Between two holders, a send waits (orderly), or fails because no process has the id. */
static void client_send_surely(struct moves_client *client, const struct course *course, bool last)
{
    int64_t deadline = client->index == 0 ? ripc_after(PATIENCE) : RIPC_NOW;
    for (;;) {
        int result = client_send(client, last, deadline);
        if (result == 0)
            return;
        if (result == -EAGAIN) {
            client_take_events(client, ripc_after(PATIENCE));
        } else {
            /* A client that has not reached the service yet does not know that it moves. */
            demand(!course->orderly || record->sent[client->index] == 0);
            demand(result == -ENOENT || result == -EPIPE || result == -ECONNREFUSED);
            client_take_events(client, RIPC_NOW);
            sched_yield();
        }
    }
}

static void be_client(const struct course *course, unsigned index)
{
    struct moves_client client;
    client_open(&client, index, &course->config);
    while (!atomic_load_explicit(&record->stop, memory_order_relaxed)) {
        client_send_surely(&client, course, false);
        if (rng_below(&client.rng, 32) == 0)
            client_take_events(&client, RIPC_NOW);
    }
    client_send_surely(&client, course, true);
    /* The last message may have been sent to a holder that was about to leave. */
    while (!client_is_finished(&client)) {
        client_take_events(&client, ripc_after(SECOND / 100));
        if (client_last_is_lost(&client))
            client_send_surely(&client, course, true);
    }
    client_close(&client);
    demand(client.doubtful == 0);
    demand(!course->orderly || client.lost == 0);
    _exit(0);
}

/* ---- the test ---- */

static bool course_run(const struct course *course)
{
    struct gate there = gate_make(), back = gate_make();
    struct token token = {.moves = course->moves};
    int64_t begun = ripc_now();
    record_clear();
    for (unsigned i = 0; i < 2; i++) {
        struct holder holder = {.course = course,
                                .rng = rng_make(moves_seed, i),
                                .in = i ? back : there,
                                .out = i ? there : back};
        if (process_start() == 0)
            be_holder(&holder);
    }
    demand(write(there.write, &token, sizeof token) == sizeof token);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (process_start() == 0)
            be_client(course, i);
    bool good = processes_end(0);
    uint64_t sent = 0, received = 0, lost = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        good = good && fates_are_exact(i);
        sent += atomic_load_explicit(&record->sent[i], memory_order_relaxed);
        received += fates_count(i, RECEIVED);
        lost += fates_count(i, LOST);
    }
    uint64_t unread = atomic_load_explicit(&record->unread, memory_order_relaxed);
    printf(
        "# %s: %u moves, %llu sent, %llu received, %llu reported as lost to the senders (%llu of "
        "them had arrived), %.2f s\n",
        course->name, course->moves, (unsigned long long)sent, (unsigned long long)received,
        (unsigned long long)lost, (unsigned long long)unread, (double)(ripc_now() - begun) / 1e9);
    good = good && sent == received + lost && unread <= lost;
    good = good && (course->orderly ? lost == 0 : lost > 0);
    gate_free(&there);
    gate_free(&back);
    return good;
}

int main(int count, char **words)
{
    const struct ripc_config shm = {.transports = "shm"};
    const struct ripc_config udp = {.transports = "udp", .address = "127.0.0.1"};
    const struct ripc_config fabric = {.transports = "fabric", .address = "127.0.0.1"};
    const struct course courses[] = {
        {"a service that moves by the orderly way, over shm", shm, true, 1000},
        {"a service that moves by the orderly way, over udp", udp, true, 100},
        {"a service that moves by the orderly way, over libfabric", fabric, true, 50},
        {"a service that is unbound without a warning, over shm", shm, false, 300},
        {"a service that is unbound without a warning, over udp", udp, false, 50},
        {"a service that is unbound without a warning, over libfabric", fabric, false, 30},
    };
    bool good = true;
    moves_begin(count, words);
    printf("1..%zu\n", sizeof courses / sizeof *courses);
    for (unsigned i = 0; i < sizeof courses / sizeof *courses; i++) {
        bool passed = course_run(&courses[i]);
        printf("%sok %u - %s\n", passed ? "" : "not ", i + 1, courses[i].name);
        good &= passed;
    }
    good &= rmdir(moves_folder) == 0;
    return good ? 0 : 1;
}
