/* notification: a producer writes into the consumer's memory and notifies the consumer.
 *
 * The consumer grants one peer the right to write a piece of its memory, and opens a notice. It
 * sends the grant and the handle of the notice, both plain data, to the producer. From then on the
 * producer needs no messages: it writes and notifies. A notification arrives after everything that
 * was written before it.
 *
 *     cc -o notification notification.c $(pkg-config --cflags --libs weft)
 *     ./notification */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define PRODUCER_ID 1003
#define SLOT_COUNT  8
#define DEADLINE    ripc_after(10000000000)

struct slot {
    uint64_t number;
    char text[56];
};

/* What the producer needs to write and notify. */
struct invitation {
    struct ripc_grant grant;   /* to write the consumer's slots */
    struct ripc_handle handle; /* to notify the consumer */
};

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static void producer_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_message message;
    struct invitation invitation;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, PRODUCER_ID, 0, &service));
    must("receive", ripc_receive(service, &message, 1, DEADLINE));
    if (message.size != sizeof invitation) {
        fprintf(stderr, "producer: the first message is not an invitation\n");
        exit(EXIT_FAILURE);
    }
    memcpy(&invitation, message.data, sizeof invitation);
    ripc_id consumer = message.from;
    ripc_release(&message);

    for (uint64_t i = 0; i < SLOT_COUNT; i++) {
        struct slot slot = {.number = i};
        snprintf(slot.text, sizeof slot.text, "slot %" PRIu64, i);
        must("write",
             ripc_write(service, &invitation.grant, i * sizeof slot, &slot, sizeof slot, DEADLINE));
        must("notify", ripc_notify(service, &invitation.handle, i + 1, DEADLINE));
    }

    /* Wait for the message that the grant is revoked, then try to write once more. */
    must("receive", ripc_receive(service, &message, 1, DEADLINE));
    ripc_release(&message);
    struct slot late = {0};
    int error = ripc_write(service, &invitation.grant, 0, &late, sizeof late, DEADLINE);
    printf("producer: a write after the grant was revoked: %s\n", ripc_strerror(error));
    fflush(stdout);
    must("send", ripc_send(service, consumer, "end", 3, DEADLINE));
    ripc_close(ripc, DEADLINE);
    exit(error == -EACCES ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Waits until a process holds the id. */
static void peer_await(struct ripc_service *service, ripc_id id)
{
    struct ripc_event event = {0};
    must("watch", ripc_watch(service, id));
    while (event.kind != RIPC_UP)
        must("wait for the producer", ripc_poll(service, &event, 1, DEADLINE));
    must("unwatch", ripc_unwatch(service, id));
}

static int consumer_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_notice *notice;
    struct ripc_message message;
    struct invitation invitation;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, 0, 0, &service));
    peer_await(service, PRODUCER_ID);

    struct slot *slots = ripc_alloc(ripc, SLOT_COUNT * sizeof *slots);
    if (!slots) {
        fprintf(stderr, "not enough memory\n");
        return EXIT_FAILURE;
    }
    memset(slots, 0, SLOT_COUNT * sizeof *slots);
    must("grant", ripc_grant(service, PRODUCER_ID, slots, SLOT_COUNT * sizeof *slots, RIPC_WRITE,
                             &invitation.grant));
    must("notice", ripc_notice_open(ripc, NULL, NULL, &notice, &invitation.handle));
    must("send", ripc_send(service, PRODUCER_ID, &invitation, sizeof invitation, DEADLINE));

    /* Notifications that arrive between two calls are counted together. */
    uint64_t filled = 0;
    while (filled < SLOT_COUNT)
        must("wait", ripc_notice_wait(notice, &filled, DEADLINE));
    for (uint64_t i = 0; i < filled && i < SLOT_COUNT; i++)
        printf("consumer: %" PRIu64 " is '%.*s'\n", slots[i].number, (int)sizeof slots[i].text,
               slots[i].text);

    must("revoke", ripc_revoke(service, &invitation.grant, DEADLINE));
    must("send", ripc_send(service, PRODUCER_ID, "revoked", 7, DEADLINE));
    must("receive", ripc_receive(service, &message, 1, DEADLINE)); /* the producer has tried */
    ripc_release(&message);
    must("close", ripc_notice_close(notice));
    ripc_close(ripc, DEADLINE);
    return EXIT_SUCCESS;
}

int main(void)
{
    pid_t child = fork(); /* before any context is open: a child must not use its parent's
                           * contexts */
    if (child < 0) {
        perror("fork");
        return EXIT_FAILURE;
    }
    if (child == 0)
        producer_run();
    int status, result = consumer_run();
    return waitpid(child, &status, 0) == child && status == 0 ? result : EXIT_FAILURE;
}
