/* group: one message to an id that several services have joined.
 *
 * Members join and leave without the sender's knowledge. Each member gets its own copy, and
 * message.to tells it that the message was sent to the group.
 *
 *     cc -o group group.c $(pkg-config --cflags --libs weft)
 *     ./group */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define GROUP_ID     1004 /* the id that the members join */
#define SPEAKER_ID   1005 /* the service that sends to them */
#define MEMBER_COUNT 3
#define DEADLINE     ripc_after(10000000000)

static const char *const news[] = {"the sun rises", "the sun sets", "good night"};
#define NEWS_COUNT ((int)(sizeof news / sizeof *news))

/* Returns the result; exits if it is an error. */
static int64_t must(const char *what, int64_t result)
{
    if (result >= 0)
        return result;
    fprintf(stderr, "%s: %s\n", what, ripc_strerror((int)result));
    exit(EXIT_FAILURE);
}

/* Waits until a process holds the id. */
static void peer_await(struct ripc_service *service, ripc_id id)
{
    struct ripc_event event = {0};
    must("watch", ripc_watch(service, id));
    while (event.kind != RIPC_UP)
        must("wait for the speaker", ripc_poll(service, &event, 1, DEADLINE));
    must("unwatch", ripc_unwatch(service, id));
}

static void member_run(int number)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, 0, 0, &service));
    must("join", ripc_join(service, GROUP_ID));
    peer_await(service, SPEAKER_ID);
    must("send", ripc_send(service, SPEAKER_ID, "here", 4, DEADLINE));
    for (int heard = 0; heard < NEWS_COUNT; heard++) {
        struct ripc_message message;
        must("receive", ripc_receive(service, &message, 1, DEADLINE));
        printf("member %d: %s: %.*s\n", number, message.to == GROUP_ID ? "to all" : "to me",
               (int)message.size, (const char *)message.data);
        fflush(stdout);
        ripc_release(&message);
    }
    must("leave", ripc_leave(service, GROUP_ID));
    ripc_close(ripc, DEADLINE);
}

static void speaker_run(void)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must("open", ripc_open(NULL, &ripc));
    must("bind", ripc_bind(ripc, SPEAKER_ID, 0, &service));
    for (int here = 0; here < MEMBER_COUNT; here++) {
        struct ripc_message message;
        must("receive", ripc_receive(service, &message, 1, DEADLINE));
        ripc_release(&message);
    }
    for (int i = 0; i < NEWS_COUNT; i++)
        must("send", ripc_send(service, GROUP_ID, news[i], strlen(news[i]), DEADLINE));
    ripc_close(ripc, DEADLINE);
}

int main(void)
{
    pid_t members[MEMBER_COUNT];
    for (int i = 0; i < MEMBER_COUNT; i++) {
        members[i] = fork(); /* before any context is open: a child must not use its parent's
                              * contexts */
        if (members[i] < 0) {
            perror("fork");
            return EXIT_FAILURE;
        }
        if (members[i] == 0) {
            member_run(i);
            return EXIT_SUCCESS;
        }
    }
    speaker_run();
    int failed = 0;
    for (int i = 0; i < MEMBER_COUNT; i++) {
        int status = -1;
        waitpid(members[i], &status, 0);
        failed |= status;
    }
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
