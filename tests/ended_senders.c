/* Many senders that each send one message and end, before the receiver receives the first: it
 * receives all of them.
 *
 *   ended_senders_test [SENDERS] */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <weft/ripc.h>

#define RECEIVER_ID 42
#define PATIENCE    60000000000LL

static char domain[32]; /* of this run alone */

static void must(int result, const char *what)
{
    if (result >= 0)
        return;
    printf("not ok 1 - all messages of ended senders are received\n# %s: %s\n", what,
           ripc_strerror(result));
    exit(1);
}

static void send_and_end(unsigned number)
{
    struct ripc *ripc;
    struct ripc_service *service;
    must(ripc_open(&(struct ripc_config){.domain = domain}, &ripc), "open");
    must(ripc_bind(ripc, 0, 0, &service), "bind");
    must(ripc_send(service, RECEIVER_ID, &number, sizeof number, ripc_after(PATIENCE)), "send");
    must(ripc_close(ripc, ripc_after(PATIENCE)), "close");
}

int main(int argc, char **argv)
{
    unsigned senders = argc > 1 ? (unsigned)atoi(argv[1]) : 300;
    struct ripc *ripc;
    struct ripc_service *service;
    struct ripc_message message;
    puts("1..1");
    snprintf(domain, sizeof domain, "ended-%d", (int)getpid());
    must(ripc_open(&(struct ripc_config){.domain = domain}, &ripc), "open");
    must(ripc_bind(ripc, RECEIVER_ID, 0, &service), "bind");
    for (unsigned i = 0; i < senders; i++)
        send_and_end(i);
    for (unsigned i = 0; i < senders; i++) {
        must(ripc_receive(service, &message, 1, ripc_after(PATIENCE)), "receive");
        ripc_release(&message);
    }
    must(ripc_close(ripc, ripc_after(PATIENCE)), "close");
    puts("ok 1 - all messages of ended senders are received");
}
