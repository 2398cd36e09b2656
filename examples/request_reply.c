/* request_reply: a server that adds numbers, and a client that sends requests to it.
 *
 * A request is gathered from two pieces, a header and the numbers, and the server reads it in
 * place. Every message carries its sender's id, so the server knows where to send the reply.
 *
 *     cc -o request_reply request_reply.c $(pkg-config --cflags --libs weft)
 *     ./request_reply             both sides, in two processes
 *     ./request_reply server &    or each by itself
 *     ./request_reply client */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define SERVER_ID        1001
#define REQUESTS         3
#define TIMEOUT_NSEC     10000000000 /* no wait in this program is longer */
#define DEADLINE         ripc_after(TIMEOUT_NSEC)
#define NUMBER_COUNT_MAX 16

struct request {
    uint32_t number; /* of the request; the reply repeats it */
    uint32_t count;  /* of the int64_t numbers that follow */
};

struct reply {
    uint32_t number;
    int32_t status; /* 0, or -1: the request was malformed */
    int64_t sum;
};

/* Returns the result; exits if it is an error. The system then releases what the program had open,
 * and its peers notice that it has ended. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

/* Checks what arrived before using it. */
static struct reply request_answer(const struct ripc_message *message)
{
    struct request request;
    struct reply reply = {.status = -1};
    int64_t numbers[NUMBER_COUNT_MAX];
    if (message->size < sizeof request)
        return reply;
    memcpy(&request, message->data, sizeof request);
    reply.number = request.number;
    if (request.count > NUMBER_COUNT_MAX ||
        message->size != sizeof request + request.count * sizeof *numbers)
        return reply;
    memcpy(numbers, (const char *)message->data + sizeof request, request.count * sizeof *numbers);
    for (uint32_t i = 0; i < request.count; i++)
        reply.sum += numbers[i];
    reply.status = 0;
    return reply;
}

static void server_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, SERVER_ID, 0, &service));
    for (int served = 0; served < REQUESTS; served++) {
        struct ripc_message message;
        must("receive", ripc_receive(service, &message, 1, DEADLINE));
        struct reply reply = request_answer(&message);
        int sent = ripc_send(service, message.from, &reply, sizeof reply, DEADLINE);
        if (sent < 0) /* a client that has ended must not stop the server */
            fprintf(stderr, "answer: %s\n", ripc_strerror(sent));
        ripc_release(&message);
    }
    ripc_close(ripc, DEADLINE);
}

/* Waits until a process holds the id. */
static void peer_await(struct ripc_service *service, ripc_id id)
{
    struct ripc_event event = {0};
    must("watch", ripc_watch(service, id));
    while (event.kind != RIPC_UP)
        must("wait for the server", ripc_poll(service, &event, 1, DEADLINE));
    must("unwatch", ripc_unwatch(service, id));
}

static void client_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, 0, 0, &service)); /* 0: any id; the reply goes to the id in the
                                                    * request */
    peer_await(service, SERVER_ID);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        int64_t numbers[] = {40, 2, i};
        struct request request = {.number = i, .count = 3};
        struct iovec pieces[] = {{&request, sizeof request}, {numbers, sizeof numbers}};
        struct ripc_send send = {
            .to = SERVER_ID, .shorts = pieces, .short_count = 2, .deadline = DEADLINE};
        must("send", ripc_send_message(service, &send));

        struct ripc_message message;
        struct reply reply = {.status = -1};
        must("receive", ripc_receive(service, &message, 1, DEADLINE));
        if (message.size == sizeof reply)
            memcpy(&reply, message.data, sizeof reply);
        ripc_release(&message);
        printf("request %" PRIu32 ": status %" PRId32 ", sum %" PRId64 "\n", reply.number,
               reply.status, reply.sum);
    }
    ripc_close(ripc, DEADLINE);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "server") == 0) {
        server_run();
    } else if (argc > 1 && strcmp(argv[1], "client") == 0) {
        client_run();
    } else if (argc > 1) {
        fprintf(stderr, "usage: request_reply [server|client]\n");
        return 2;
    } else {
        pid_t child = fork(); /* before any context is open: a child must not use its parent's
                               * contexts */
        if (child < 0) {
            perror("fork");
            return EXIT_FAILURE;
        }
        if (child == 0) {
            server_run();
            return EXIT_SUCCESS;
        }
        int status;
        client_run();
        return waitpid(child, &status, 0) == child && status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
