/* How often a send asks the directory. The test plays a node that keeps the names of two programs,
 * and counts the questions that it gets. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "wire/attach.h"
#include "wire/directory.h"

#define SERVER_ID     42
#define PATIENCE      60000000000LL
#define WAIT          2000000000LL
#define PROGRAMS_MAX  8
#define SENDS         8
#define SEND_WAIT     500000000LL /* longer than a node takes, and than a question is held back */
#define QUESTIONS_MAX 24 /* a question asked again after 50 ms, 100 ms, 200 ms ... needs fewer */

static char path[64], domain[32];
static struct directory_claim known; /* of the server. Only the node's thread uses it */
static bool is_known;
/* What the node does; the test writes them, and the node's thread reads them. Sequentially
 * consistent: they are switches of a test. */
static atomic_bool is_silent, forgets;
static atomic_uint questions; /* for the server's id. The node's thread adds to it */
static unsigned test_number;

static void must(int result, const char *what)
{
    if (result >= 0)
        return;
    printf("Bail out! %s: %s\n", what, ripc_strerror(result));
    unlink(path);
    exit(1);
}

/* ---- the node ---- */

static void node_answer(int program, const struct directory_message *asked)
{
    static struct directory_message message;
    uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    message = *asked;
    message.parts = 1;
    message.part = 0;
    message.status = 0;
    message.count = 0;
    if (asked->operation == DIRECTORY_CLAIM) {
        message.operation = DIRECTORY_CLAIMED;
        message.count = 1;
    } else {
        message.operation = DIRECTORY_ANSWER;
        if (is_known && asked->id == SERVER_ID && !atomic_load(&forgets))
            message.claims[message.count++] = known;
    }
    attach_head_write(&(struct attach_head){.service = DIRECTORY_SERVICE}, bytes);
    size_t size = ATTACH_HEAD_SIZE + directory_write(&message, bytes + ATTACH_HEAD_SIZE);
    (void)!send(program, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void node_heard(int program, const uint8_t *bytes, size_t size)
{
    static struct directory_message message;
    uint8_t welcome[ATTACH_ANSWER_SIZE];
    struct attach_head head;
    if (attach_head_read(&head, bytes, size))
        return;
    if (head.service == ATTACH_SERVICE) {
        attach_answer_write(&(struct attach_answer){.version = ATTACH_VERSION}, welcome);
        (void)!send(program, welcome, sizeof welcome, MSG_DONTWAIT | MSG_NOSIGNAL);
        return;
    }
    if (directory_read(&message, bytes + ATTACH_HEAD_SIZE, size - ATTACH_HEAD_SIZE))
        return;
    if (message.operation == DIRECTORY_CLAIM && message.id == SERVER_ID) {
        known = message.claims[0];
        is_known = true;
    }
    if (message.operation == DIRECTORY_ASK && message.id == SERVER_ID)
        atomic_fetch_add(&questions, 1);
    if (message.operation == DIRECTORY_CLAIM ||
        (message.operation == DIRECTORY_ASK && !atomic_load(&is_silent)))
        node_answer(program, &message);
}

/* Serves programs until the test ends. Claims stay when their program ends: the node has not
 * noticed it yet. */
static void *node_run(void *argument)
{
    struct pollfd ends[1 + PROGRAMS_MAX] = {{.fd = *(const int *)argument, .events = POLLIN}};
    unsigned count = 1;
    while (poll(ends, count, -1) >= 0) {
        for (unsigned i = 1; i < count; i++) {
            uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
            ssize_t size = ends[i].revents ? recv(ends[i].fd, bytes, sizeof bytes, 0) : -1;
            if (size > 0)
                node_heard(ends[i].fd, bytes, (size_t)size);
            else if (ends[i].revents)
                ends[i].fd = -1; /* the program has ended */
        }
        if (ends[0].revents && count <= PROGRAMS_MAX)
            ends[count++] = (struct pollfd){.fd = accept(ends[0].fd, NULL, NULL), .events = POLLIN};
    }
    return NULL;
}

static int node_open(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 8))
        must(-errno, "the node's socket");
    return fd;
}

/* ---- the programs ---- */

static struct ripc *context_open(void)
{
    struct ripc *ripc;
    must(ripc_open(
             &(struct ripc_config){
                 .domain = domain, .names = "directory", .transports = "shm", .node = path},
             &ripc),
         "context");
    return ripc;
}

static void server_run(int ready)
{
    struct ripc_service *service;
    struct ripc_message message;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    must(ripc_bind(context_open(), SERVER_ID, 0, &service), "bind");
    if (write(ready, "x", 1) != 1)
        _exit(1);
    while (ripc_receive(service, &message, 1, RIPC_FOREVER) == 1)
        ripc_release(&message);
    _exit(1);
}

static void report(bool passed, const char *title, unsigned count, int result)
{
    printf("%sok %u - %s\n# %u questions; the send: %s\n", passed ? "" : "not ", ++test_number,
           title, count, ripc_strerror(result));
}

static void count_questions(struct ripc_service *client, const char *title)
{
    atomic_store(&questions, 0);
    int result = ripc_send(client, SERVER_ID, "x", 1, ripc_after(WAIT));
    unsigned count = atomic_load(&questions);
    report(result < 0 && count <= QUESTIONS_MAX && count > 0, title, count, result);
}

/* A program that repeats its send gets the same answer each time, before its deadline. */
static void repeat_sends(struct ripc_service *client)
{
    int result = -ENOENT;
    atomic_store(&questions, 0);
    for (unsigned i = 0; i < SENDS && result == -ENOENT; i++)
        result = ripc_send(client, SERVER_ID, "x", 1, ripc_after(SEND_WAIT));
    unsigned count = atomic_load(&questions);
    report(result == -ENOENT && count >= SENDS && count <= 4 * SENDS,
           "each of several sends to an id that no process has asks for it", count, result);
}

int main(void)
{
    int ready[2];
    char byte;
    struct ripc_service *client;
    pthread_t thread;
    puts("1..4");
    snprintf(path, sizeof path, "/tmp/weft-questions-%d", (int)getpid());
    snprintf(domain, sizeof domain, "questions-%d", (int)getpid());
    int node = node_open();
    if (pipe(ready))
        must(-errno, "pipe");
    fflush(NULL);
    pid_t server = fork();
    if (server == 0)
        server_run(ready[1]);
    if (server < 0 || pthread_create(&thread, NULL, node_run, &node))
        must(-EAGAIN, "the server, or the node's thread");
    if (read(ready[0], &byte, 1) != 1)
        must(-EIO, "the server");
    struct ripc *ripc = context_open();
    must(ripc_bind(ripc, 7, 0, &client), "bind");
    must(ripc_send(client, SERVER_ID, "x", 1, ripc_after(PATIENCE)), "send");
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    while (ripc_transport(client, SERVER_ID)) /* until the client knows that its pipe is gone */
        ripc_progress(ripc);
    count_questions(client, "an id whose process just died is asked for a few times");
    atomic_store(&forgets, true);
    count_questions(client, "an id that no process has is asked for a few times");
    repeat_sends(client);
    atomic_store(&is_silent, true);
    count_questions(client, "a directory that does not answer is asked a few times");
    must(ripc_close(ripc, ripc_after(PATIENCE)), "close");
    unlink(path);
}
