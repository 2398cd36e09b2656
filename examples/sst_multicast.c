/* sst_multicast: every process sends, and all deliver the same messages in the same order.
 *
 * No process decides on the order, and no message is forwarded. Each process writes its messages
 * into the memory of all others and publishes how far it has read theirs. A member delivers a
 * message when all members have it.
 *
 *     cc -o sst_multicast sst_multicast.c $(pkg-config --cflags --libs weft)
 *     ./sst_multicast [PROCESSES [MESSAGES]] */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/sst_multicast.h>

#define TABLE_ID      2004
#define PROCESSES_MAX 64
#define MESSAGE_SIZE  64
#define BATCH         128
#define DEADLINE      ripc_after(60000000000)

struct delivery {
    uint64_t wanted;
    uint64_t count;
    uint64_t order; /* a hash of all delivered messages, in order */
};

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static void deliver(struct sst_multicast *multicast, const struct sst_multicast_message *messages,
                    unsigned count, void *argument)
{
    struct delivery *delivery = argument;
    for (unsigned i = 0; i < count; i++) {
        const uint64_t *words = messages[i].data;
        for (uint32_t word = 0; word < messages[i].size / sizeof *words; word++)
            delivery->order = (delivery->order ^ words[word]) * 0x9e3779b97f4a7c15u;
    }
    delivery->count += count;
}

static void member_run(int number, uint32_t processes, uint64_t messages)
{
    struct delivery delivery = {.wanted = messages * processes};
    struct ripc *ripc;
    struct sst_multicast *multicast;
    must("open", ripc_open(NULL, &ripc));
    must("open the multicast", sst_multicast_open(ripc,
                                                  &(struct sst_multicast_config){
                                                      .table = TABLE_ID,
                                                      .slot_size = MESSAGE_SIZE,
                                                      .slot_count = 4 * BATCH,
                                                      .members_wanted = processes,
                                                      .flags = SST_MANUAL,
                                                      .deliver = deliver,
                                                      .argument = &delivery,
                                                  },
                                                  &multicast));
    uint64_t texts[BATCH][MESSAGE_SIZE / 8] = {{0}};
    struct iovec batch[BATCH];
    for (int i = 0; i < BATCH; i++)
        batch[i] = (struct iovec){texts[i], MESSAGE_SIZE};
    int64_t begun = ripc_now();
    for (uint64_t sent = 0; sent < messages;) {
        unsigned many = messages - sent < BATCH ? (unsigned)(messages - sent) : BATCH;
        for (unsigned i = 0; i < many; i++) {
            texts[i][0] = (uint64_t)number;
            texts[i][1] = sent + i;
        }
        sent += (uint64_t)must("send", sst_multicast_send_many(multicast, batch, many, DEADLINE));
    }
    while (delivery.count < delivery.wanted)
        must("step", sst_multicast_step(multicast, DEADLINE));
    double seconds = (double)(ripc_now() - begun) / 1e9;
    must("close the multicast", sst_multicast_close(multicast, DEADLINE));
    ripc_close(ripc, DEADLINE);
    printf("process %d: %llu messages in the order %016llx\n", number,
           (unsigned long long)delivery.count, (unsigned long long)delivery.order);
    if (number == 0)
        printf("%.0f messages a second\n", (double)delivery.count / seconds);
    fflush(stdout);
    exit(EXIT_SUCCESS);
}

int main(int count, char **words)
{
    int processes = count > 1 ? atoi(words[1]) : 4;
    long long messages = count > 2 ? atoll(words[2]) : 10000;
    if (count > 3 || processes < 1 || processes > PROCESSES_MAX || messages < 1) {
        fprintf(stderr, "usage: sst_multicast [PROCESSES [MESSAGES]]\n");
        return 2;
    }
    for (int i = 0; i < processes; i++) {
        pid_t pid = fork(); /* before any context is open: a child must not use its parent's
                             * contexts */
        if (pid < 0) {
            perror("fork");
            return EXIT_FAILURE;
        }
        if (pid == 0)
            member_run(i, (uint32_t)processes, (uint64_t)messages);
    }
    int status, failed = 0;
    while (wait(&status) > 0)
        failed |= status;
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
