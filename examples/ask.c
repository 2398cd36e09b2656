/* ask: a program that uses a service of the cluster, in three ways.
 *
 *     cc -shared -fPIC -o echo.so echo.c $(pkg-config --cflags weft)
 *     weft up torus:3x3 --service ./echo.so
 *     cc -o ask ask.c $(pkg-config --cflags --libs weft)
 *     ./ask
 *
 * echo sends the bytes of a request to the server that the request names, and back. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/weft.h>

#define SERVERS  9
#define PATIENCE weft_deadline(10000000000) /* 10 s */

/* Returns the result; exits if it is an error. */
static int must(const char *what, int result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, weft_strerror(result));
    exit(EXIT_FAILURE);
}

/* A request for echo: the server, and a word. */
static size_t request_write(char *out, uint32_t server, const char *word)
{
    const char number[4] = {(char)(server >> 24), (char)(server >> 16), (char)(server >> 8),
                            (char)server};
    memcpy(out, number, sizeof number);
    strcpy(out + sizeof number, word);
    return sizeof number + strlen(word);
}

/* One request, and its answer. */
static void ask_one(struct weft_attachment *weft, int echo)
{
    char request[64], answer[64];
    size_t size = request_write(request, SERVERS - 1, "hello");
    int got =
        must("ask", weft_ask(weft, (uint32_t)echo, request, size, answer, sizeof answer, PATIENCE));
    printf("asked: %.*s\n", got - 4, answer + 4);
}

/* Many requests under way; their tickets tell the answers apart. */
static void ask_many(struct weft_attachment *weft, int echo)
{
    uint64_t tickets[SERVERS], sum = 0;
    struct weft_message message;
    char bytes[64];
    for (uint32_t server = 0; server < SERVERS; server++)
        must("post", weft_post(weft, (uint32_t)echo, bytes, request_write(bytes, server, "there"),
                               &tickets[server], PATIENCE));
    for (unsigned answers = 0; answers < SERVERS; answers++) {
        must("take", weft_take(weft, &message, bytes, sizeof bytes, PATIENCE));
        for (uint32_t server = 0; message.kind == WEFT_ANSWER && server < SERVERS; server++)
            sum += message.ticket == tickets[server] ? server : 0;
    }
    printf("answered: servers whose numbers sum to %" PRIu64 "\n", sum);
}

/* The same in an event loop: the descriptor says when there is something to take. */
static void ask_in_a_loop(struct weft_attachment *weft, int echo)
{
    struct pollfd ready = {.fd = must("fd", weft_attachment_fd(weft)), .events = POLLIN};
    struct weft_message message;
    char bytes[64];
    unsigned answers = 0;
    for (uint32_t server = 0; server < SERVERS; server++)
        must("post", weft_post(weft, (uint32_t)echo, bytes, request_write(bytes, server, "loop"),
                               &(uint64_t){0}, PATIENCE));
    while (answers < SERVERS) {
        int result = weft_take(weft, &message, bytes, sizeof bytes, WEFT_NOW);
        if (result == -EAGAIN) { /* nothing more: arm, and sleep only if that succeeds */
            if (weft_attachment_arm(weft) == 0 && poll(&ready, 1, 10000) <= 0)
                must("poll", -ETIMEDOUT);
            continue;
        }
        must("take", result);
        answers += message.kind == WEFT_ANSWER;
    }
    printf("in a loop: %u answers\n", answers);
}

int main(void)
{
    struct weft_attachment *weft;
    struct weft_attachment_state state;
    must("attach", weft_attach(NULL, WEFT_ANY, 0, &weft)); /* as the command weft finds it */
    must("state", weft_attachment_state(weft, &state));
    printf("attached to server %" PRIu32 "\n", state.server);
    int echo = must("find echo", weft_find(weft, "echo", PATIENCE));
    ask_one(weft, echo);
    ask_many(weft, echo);
    ask_in_a_loop(weft, echo);
    return weft_detach(weft) < 0;
}
