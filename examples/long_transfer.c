/* long_transfer: sends 16 MiB and gets them back changed, with one copy in each direction.
 *
 * The receiver posts a window, and the sender's item is copied directly into it. The sender offers
 * a return buffer, and the reply is written directly into that. A second item does not fit the
 * window: it stays in the sender's memory until the receiver fetches it.
 *
 *     cc -o long_transfer long_transfer.c $(pkg-config --cflags --libs weft)
 *     ./long_transfer */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define RECEIVER_ID 1002
#define IMAGE_SIZE  ((size_t)16 << 20)
#define NOTE_SIZE   ((size_t)32 << 20) /* larger than the window */
#define DEADLINE    ripc_after(10000000000)

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

static uint8_t *must_alloc(struct ripc *ripc, size_t size)
{
    void *memory = ripc_alloc(ripc, size);
    if (memory)
        return memory;
    fprintf(stderr, "not enough memory\n");
    exit(EXIT_FAILURE);
}

static void receiver_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_message message;
    must("open", ripc_open(NULL, &ripc));
    /* Post the window before binding the id, so that no sender finds the service without a
     * window. */
    uint8_t *window = must_alloc(ripc, IMAGE_SIZE);
    must("window", ripc_window_add(ripc, NULL, window, IMAGE_SIZE));
    must("bind", ripc_bind(ripc, RECEIVER_ID, 0, &service));
    must("receive", ripc_receive(service, &message, 1, DEADLINE));
    if (message.long_count != 2 || message.longs[0].status != 0 ||
        message.longs[0].data != window || message.longs[0].size != IMAGE_SIZE) {
        fprintf(stderr, "receiver: unexpected message\n");
        exit(EXIT_FAILURE);
    }
    printf("receiver: the first item lies in the window\n");

    /* The second item is still in the sender's memory; its size tells how much to allocate. */
    uint8_t *note = must_alloc(ripc, message.longs[1].size);
    must("fetch", ripc_fetch(&message, 1, note, message.longs[1].size, DEADLINE));
    printf("receiver: the second item was fetched, it begins with %d\n", note[0]);
    must("free", ripc_free(ripc, note));

    /* The reply is sent from the window, and goes into the return buffer that the sender
     * offered. */
    for (size_t i = 0; i < IMAGE_SIZE; i++)
        window[i] ^= 0xff;
    struct iovec item = {window, IMAGE_SIZE};
    struct ripc_send send = {
        .to = message.from, .longs = &item, .long_count = 1, .deadline = DEADLINE};
    int64_t operation = must("answer", ripc_send_message(service, &send));
    if (operation > 0)
        must("answer", ripc_wait(service, operation, DEADLINE));
    ripc_release(&message);
    ripc_close(ripc, DEADLINE); /* frees the window too */
}

/* Waits until a process holds the id. */
static void peer_await(struct ripc_service *service, ripc_id id)
{
    struct ripc_event event = {0};
    must("watch", ripc_watch(service, id));
    while (event.kind != RIPC_UP)
        must("wait for the receiver", ripc_poll(service, &event, 1, DEADLINE));
    must("unwatch", ripc_unwatch(service, id));
}

static int sender_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_message message;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, 0, 0, &service));
    peer_await(service, RECEIVER_ID);

    uint8_t *image = must_alloc(ripc, IMAGE_SIZE);
    uint8_t *note = must_alloc(ripc, NOTE_SIZE);
    uint8_t *back = must_alloc(ripc, IMAGE_SIZE);
    memset(image, 0x0f, IMAGE_SIZE);
    memset(note, 7, NOTE_SIZE);
    struct iovec items[] = {{image, IMAGE_SIZE}, {note, NOTE_SIZE}};
    struct iovec offer = {back, IMAGE_SIZE};
    struct ripc_send send = {.to = RECEIVER_ID,
                             .longs = items,
                             .long_count = 2,
                             .returns = &offer,
                             .return_count = 1,
                             .deadline = DEADLINE};
    int64_t operation = must("send", ripc_send_message(service, &send));
    /* The items must not change until the operation completes. */
    if (operation > 0)
        must("send", ripc_wait(service, operation, DEADLINE));
    printf("sender: the receiver has both items, their memory is free again\n");

    must("receive", ripc_receive(service, &message, 1, DEADLINE));
    bool good = message.long_count == 1 && message.longs[0].returned &&
                message.longs[0].data == back && back[0] == 0xf0 && back[IMAGE_SIZE - 1] == 0xf0;
    printf("sender: the answer %s\n", good ? "lies in the return buffer" : "is wrong");
    ripc_release(&message);
    ripc_close(ripc, DEADLINE);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
    pid_t child = fork(); /* before any context is open: a child must not use its parent's
                           * contexts */
    if (child < 0) {
        perror("fork");
        return EXIT_FAILURE;
    }
    if (child == 0) {
        receiver_run();
        return EXIT_SUCCESS;
    }
    int status, result = sender_run();
    return waitpid(child, &status, 0) == child && status == 0 ? result : EXIT_FAILURE;
}
