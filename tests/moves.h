#pragma once
/* moves: what the tests of services that leave and move have in common: processes that begin when
 * told, and a record of what became of each message, in memory that all of them share.
 *
 * The test itself opens no context, so it can fork at any time. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/rng.h"

#define SECOND   1000000000LL
#define PATIENCE (60 * SECOND) /* a test that waits so long has failed */
#define MOVER    77            /* the id of the service that moves */
#define CLIENTS  2
#define NUMBERS  (1u << 22) /* messages of a client that are recorded */

/* Ends the process with a line that gives the failed condition. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# process %d, line %d: %s\n", (int)getpid(), __LINE__, #condition);   \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

enum fate { RECEIVED = 1, LOST = 2, MAYBE_LOST = 4 };

/* One process writes each field; the others read it when that process has ended, or, where it is
 * atomic, with relaxed order, because it orders no other data. */
struct moves_record {
    _Atomic bool stop;                       /* clients: send your last message */
    _Atomic bool finished[CLIENTS];          /* the last message of that client was received */
    _Atomic uint64_t sent[CLIENTS];          /* accepted sends */
    _Atomic uint64_t unread;                 /* dropped_unread of all holders */
    _Atomic uint8_t fates[CLIENTS][NUMBERS]; /* enum fate of each message, by its number */
};

static struct moves_record *record; /* shared */
static uint64_t moves_seed;

struct moves_message {
    uint32_t client;
    uint32_t last;
    uint64_t number; /* of the client's messages, from 0 */
};

static inline void fate_set(unsigned client, uint64_t number, enum fate fate)
{
    demand(client < CLIENTS && number < NUMBERS);
    uint8_t before = atomic_fetch_or_explicit(&record->fates[client][number], (uint8_t)fate,
                                              memory_order_relaxed);
    demand(!(before & fate)); /* received twice, or reported twice */
}

/* Every accepted message was received, or reported as lost, and not both. */
static inline bool fates_are_exact(unsigned client)
{
    uint64_t sent = atomic_load_explicit(&record->sent[client], memory_order_relaxed);
    for (uint64_t i = 0; i < sent; i++) {
        uint8_t fate = record->fates[client][i];
        if (fate == RECEIVED || fate == LOST || fate & MAYBE_LOST)
            continue;
        printf("# message %llu of client %u, of %llu: fate %u\n", (unsigned long long)i, client,
               (unsigned long long)sent, fate);
        return false;
    }
    return true;
}

static inline uint64_t fates_count(unsigned client, enum fate fate)
{
    uint64_t count = 0;
    uint64_t sent = atomic_load_explicit(&record->sent[client], memory_order_relaxed);
    for (uint64_t i = 0; i < sent; i++)
        count += (record->fates[client][i] & fate) != 0;
    return count;
}

/* ---- a client ---- */

struct moves_client {
    struct ripc *ripc;
    struct ripc_service *service;
    unsigned index;
    struct rng rng;
    uint64_t lost; /* according to events */
    uint64_t doubtful;
    uint8_t bytes[4096];
};

static inline void client_open(struct moves_client *client, unsigned index,
                               const struct ripc_config *config)
{
    memset(client, 0, sizeof *client);
    client->index = index;
    client->rng = rng_make(moves_seed, 100 + index);
    demand(ripc_open(config, &client->ripc) == 0);
    demand(ripc_bind(client->ripc, 0, 0, &client->service) == 0);
}

/* The messages that an event reports as lost are those before the last `since`. */
static inline void client_take_event(struct moves_client *client, const struct ripc_event *event)
{
    if (event->kind != RIPC_LOST)
        return;
    uint64_t sent = atomic_load_explicit(&record->sent[client->index], memory_order_relaxed);
    demand(event->id == MOVER && event->count > 0 && event->since + event->count <= sent);
    demand(event->status == 0 || event->status == -EPIPE);
    uint64_t end = sent - event->since;
    for (uint64_t number = end - event->count; number < end; number++)
        fate_set(client->index, number, event->status ? MAYBE_LOST : LOST);
    *(event->status ? &client->doubtful : &client->lost) += event->count;
}

static inline void client_take_events(struct moves_client *client, int64_t deadline)
{
    struct ripc_event event;
    while (ripc_poll(client->service, &event, 1, deadline) == 1) {
        client_take_event(client, &event);
        deadline = RIPC_NOW;
    }
}

/* Sends the next message, of a random size. Returns the result. */
static inline int client_send(struct moves_client *client, bool last, int64_t deadline)
{
    uint64_t number = atomic_load_explicit(&record->sent[client->index], memory_order_relaxed);
    struct moves_message message = {client->index, last, number};
    size_t size = rng_below(&client->rng, 64) ? rng_below(&client->rng, 200) : 3000;
    memcpy(client->bytes, &message, sizeof message);
    int result = ripc_send(client->service, MOVER, client->bytes, sizeof message + size, deadline);
    if (result == 0)
        atomic_store_explicit(&record->sent[client->index], number + 1, memory_order_relaxed);
    return result;
}

/* The statistics agree with the events, all of which were taken. */
static inline void client_close(struct moves_client *client)
{
    struct ripc_stats stats;
    client_take_events(client, RIPC_NOW);
    demand(ripc_stats(client->ripc, &stats) == 0);
    demand(stats.lost == client->lost && stats.doubtful == client->doubtful);
    demand(stats.sent == atomic_load_explicit(&record->sent[client->index], memory_order_relaxed));
    demand(ripc_close(client->ripc, ripc_after(PATIENCE)) == 0);
}

/* ---- processes ---- */

#define PROCESSES_MAX 8

static pid_t processes[PROCESSES_MAX];
static unsigned process_count;

/* Returns 0 in the new process, which ends with the test. */
static inline pid_t process_start(void)
{
    fflush(stdout);
    pid_t pid = fork();
    demand(pid >= 0 && process_count < PROCESSES_MAX);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        return 0;
    }
    processes[process_count++] = pid;
    return pid;
}

static inline void processes_forget(pid_t pid)
{
    for (unsigned i = 0; i < process_count; i++)
        if (processes[i] == pid)
            processes[i] = 0;
}

static inline void processes_kill(void)
{
    for (unsigned i = 0; i < process_count; i++)
        if (processes[i])
            kill(processes[i], SIGKILL);
}

/* Waits for all processes; the first that fails takes the others with it. A process that the test
 * has killed counts as ended well. */
static inline bool processes_end(pid_t killed)
{
    bool good = true;
    for (unsigned left = process_count; left > 0; left--) {
        int status = 0;
        pid_t pid = wait(&status);
        processes_forget(pid);
        if (pid == killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
            continue;
        if (good)
            processes_kill();
        good = false;
    }
    process_count = 0;
    return good;
}

/* A byte tells the reader to go on. */
struct gate {
    int read, write;
};

static inline struct gate gate_make(void)
{
    int ends[2];
    demand(pipe(ends) == 0);
    return (struct gate){ends[0], ends[1]};
}

static inline void gate_open(const struct gate *gate)
{
    demand(write(gate->write, "g", 1) == 1);
}

static inline void gate_pass(const struct gate *gate)
{
    char byte;
    struct pollfd wait = {.fd = gate->read, .events = POLLIN};
    demand(poll(&wait, 1, (int)(PATIENCE / 1000000)) == 1); /* else the other process has failed */
    demand(read(gate->read, &byte, 1) == 1);
}

static inline void gate_free(const struct gate *gate)
{
    close(gate->read);
    close(gate->write);
}

/* ---- the test ---- */

static char moves_folder[] = "/dev/shm/weft-moves-XXXXXX";

static inline void moves_begin(int count, char **words)
{
    moves_seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    printf("# seed %llu: replay with %s %llu\n", (unsigned long long)moves_seed, words[0],
           (unsigned long long)moves_seed);
    record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    demand(record != MAP_FAILED && mkdtemp(moves_folder));
    demand(setenv("WEFT_FOLDER", moves_folder, 1) == 0);
    unsetenv("WEFT_DOMAIN");
    signal(SIGPIPE, SIG_IGN);
}

static inline void record_clear(void)
{
    demand(madvise(record, sizeof *record, MADV_REMOVE) == 0);
}
