/* Many messages of mixed sizes from one process to another, faster than the other takes them:
 * credit runs out again and again, but no message is lost, duplicated or reordered. The sender
 * waits for credit in both possible ways; the receiver holds some messages back and releases them
 * in any order.
 *
 *   credits_test [MESSAGES [SEED]] */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/rng.h"

#define RECEIVER_ID 1
#define SENDER_ID   2
#define HELD_MAX    24
#define BURST       32
#define SECOND      1000000000LL
#define PATIENCE    (60 * SECOND)

/* Ends the process with a line that gives the failed condition. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# line %d: %s\n", __LINE__, #condition);                              \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

static struct ripc *ripc;
static struct ripc_service *service;

static void enter(ripc_id id)
{
    /* Small rings, so that credit runs out often. */
    struct ripc_config config = {.ring_slots = 64, .ring_bytes = 65536};
    demand(ripc_open(&config, &ripc) == 0);
    demand(ripc_bind(ripc, id, 0, &service) == 0);
}

/* A hash, by which both sides compute the n-th message. */
static uint64_t mixed(uint64_t number, uint64_t seed)
{
    uint64_t word = (number ^ seed) + 0x9e3779b97f4a7c15u;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9u;
    word = (word ^ word >> 27) * 0x94d049bb133111ebu;
    return word ^ word >> 31;
}

/* Mostly small, some that do not fit into a slot, a few of the largest size. */
static size_t size_of(uint64_t word)
{
    if (word % 64 == 0)
        return 8 + (word >> 8) % (RIPC_SHORT_MAX - 7);
    return 8 + (word >> 8) % (word % 8 == 0 ? 1500 : 100);
}

/* ---- sender ---- */

/* Sends without waiting, and if there is no credit waits for the event that announces some. */
static void send_when_told(const void *data, size_t size, int64_t deadline)
{
    struct ripc_event event;
    for (;;) {
        int result = ripc_send(service, RECEIVER_ID, data, size, RIPC_NOW);
        if (result == 0)
            return;
        demand(result == -EAGAIN);
        demand(ripc_poll(service, &event, 1, deadline) == 1);
        demand(event.kind == RIPC_CREDIT && event.id == RECEIVER_ID);
    }
}

static void be_sender(uint64_t messages, uint64_t seed)
{
    static uint8_t letter[RIPC_SHORT_MAX];
    int64_t deadline = 0;
    enter(SENDER_ID);
    for (uint64_t number = 0; number < messages; number++) {
        uint64_t word = mixed(number, seed);
        size_t size = size_of(word);
        if (number % 4096 == 0)
            deadline = ripc_after(PATIENCE);
        memcpy(letter, &word, 8);
        letter[size - 1] ^= (uint8_t)number; /* so that the last byte is checked, too */
        if (number / 1024 % 2)
            send_when_told(letter, size, deadline);
        else
            demand(ripc_send(service, RECEIVER_ID, letter, size, deadline) == 0);
        letter[size - 1] ^= (uint8_t)number;
    }
    struct ripc_stats stats;
    demand(ripc_stats(ripc, &stats) == 0 && stats.sent == messages);
    printf("# %llu sends found no credit\n", (unsigned long long)stats.no_credit);
    demand(stats.no_credit > 0);
    /* What was sent arrives even after its sender has ended. */
    demand(ripc_close(ripc, ripc_after(PATIENCE)) == 0);
    fflush(stdout);
    _exit(0);
}

/* ---- receiver ---- */

static void check(const struct ripc_message *message, uint64_t number, uint64_t seed)
{
    uint64_t word = mixed(number, seed), got;
    demand(message->from == SENDER_ID && message->size == size_of(word));
    uint8_t last = message->size > 8 ? 0 : (uint8_t)(word >> 56);
    memcpy(&got, message->data, 8);
    if (message->size == 8)
        got ^= (uint64_t)(uint8_t)number << 56;
    demand(got == word);
    demand(message->size == 8 ||
           ((const uint8_t *)message->data)[message->size - 1] == (last ^ (uint8_t)number));
}

static void receive_all(uint64_t messages, uint64_t seed)
{
    struct rng rng = rng_make(seed, 1);
    struct ripc_message burst[BURST], held[HELD_MAX] = {0};
    for (uint64_t number = 0; number < messages;) {
        unsigned max = 1 + (unsigned)rng_below(&rng, BURST);
        int count = ripc_receive(service, burst, max, RIPC_NOW);
        if (count == -EAGAIN) { /* the held messages may take all credit */
            for (unsigned i = 0; i < HELD_MAX; i++)
                ripc_release(&held[i]);
            count = ripc_receive(service, burst, max, ripc_after(PATIENCE));
        }
        demand(count > 0 && count <= (int)max);
        for (int i = 0; i < count; i++) {
            check(&burst[i], number++, seed);
            unsigned slot = (unsigned)rng_below(&rng, 4 * HELD_MAX);
            if (slot < HELD_MAX) {
                ripc_release(&held[slot]);
                held[slot] = burst[i];
            } else {
                ripc_release(&burst[i]);
            }
        }
    }
    for (unsigned i = 0; i < HELD_MAX; i++)
        ripc_release(&held[i]);
    demand(ripc_receive(service, burst, 1, ripc_after(SECOND / 100)) == -ETIMEDOUT);
}

int main(int count, char **words)
{
    uint64_t messages = count > 1 ? strtoull(words[1], NULL, 0) : 1000000;
    uint64_t seed = count > 2 ? strtoull(words[2], NULL, 0) : (uint64_t)ripc_now();
    char folder[] = "/dev/shm/weft-credits-XXXXXX";
    int status;
    printf("1..1\n# seed %llu: replay with %s %llu %llu\n", (unsigned long long)seed, words[0],
           (unsigned long long)messages, (unsigned long long)seed);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    int ready[2]; /* forked before there are threads; it waits for the receiver */
    char byte = 0;
    if (pipe(ready))
        return 1;
    fflush(stdout);
    pid_t sender = fork();
    if (sender == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ready[1]);
        demand(read(ready[0], &byte, 1) == 1);
        be_sender(messages, seed);
    }
    enter(RECEIVER_ID);
    demand(write(ready[1], &byte, 1) == 1);
    int64_t begun = ripc_now();
    receive_all(messages, seed);
    double seconds = (double)(ripc_now() - begun) / 1e9;
    bool good = waitpid(sender, &status, 0) == sender && status == 0;
    good &= ripc_close(ripc, ripc_after(PATIENCE)) == 0;
    good &= rmdir(folder) == 0;
    printf("# %.2f s\n%sok 1 - %llu messages: none lost, duplicated or out of order\n", seconds,
           good ? "" : "not ", (unsigned long long)messages);
    return good ? 0 : 1;
}
