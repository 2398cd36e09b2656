/* Many services of one process that all send to each other, with as few descriptors as a login has:
 * the library must not need one for each pair of services.
 *
 *   many_services_test [SERVICES] */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <weft/ripc.h>

#define SERVICES_MAX 256
#define DESCRIPTORS  1024 /* the usual limit of a login on Debian */
#define FIRST_ID     1000
#define PATIENCE     60000000000LL

static unsigned service_count = 64;
static struct ripc_service *services[SERVICES_MAX];
static bool arrived[SERVICES_MAX][SERVICES_MAX]; /* by receiver and sender */

static void fail(const char *what, unsigned index, int error)
{
    printf("not ok 1 - every service reaches every other\n# %s of service %u: %s\n", what, index,
           ripc_strerror(error));
    exit(1);
}

static void send_to_all(unsigned from)
{
    for (unsigned to = 0; to < service_count; to++) {
        int result =
            ripc_send(services[from], FIRST_ID + to, &from, sizeof from, ripc_after(PATIENCE));
        if (result)
            fail("send", from, result);
    }
}

static void receive_from_all(unsigned to)
{
    struct ripc_message message;
    for (unsigned got = 0; got < service_count; got++) {
        int result = ripc_receive(services[to], &message, 1, ripc_after(PATIENCE));
        if (result != 1)
            fail("receive", to, result);
        unsigned from = (unsigned)(message.from - FIRST_ID);
        if (from >= service_count || arrived[to][from])
            fail("message", to, 0);
        arrived[to][from] = true;
        ripc_release(&message);
    }
}

int main(int argc, char **argv)
{
    struct rlimit limit = {DESCRIPTORS, DESCRIPTORS};
    struct ripc *ripc;
    char domain[32]; /* of this run alone */
    if (argc > 1)
        service_count = (unsigned)atoi(argv[1]);
    if (service_count > SERVICES_MAX || setrlimit(RLIMIT_NOFILE, &limit))
        return 2;
    puts("1..1");
    snprintf(domain, sizeof domain, "many-%d", (int)getpid());
    int result = ripc_open(&(struct ripc_config){.domain = domain}, &ripc);
    if (result)
        fail("context", 0, result);
    for (unsigned i = 0; i < service_count; i++) {
        result = ripc_bind(ripc, FIRST_ID + i, 0, &services[i]);
        if (result)
            fail("bind", i, result);
    }
    for (unsigned i = 0; i < service_count; i++)
        send_to_all(i);
    for (unsigned i = 0; i < service_count; i++)
        receive_from_all(i);
    result = ripc_close(ripc, ripc_after(PATIENCE));
    if (result)
        fail("close", 0, result);
    puts("ok 1 - every service reaches every other");
}
