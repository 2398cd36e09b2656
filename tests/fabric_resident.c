/* How much memory becomes resident when a context with libfabric's tcp provider opens and talks to
 * another: two contexts of this process, which share nothing. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <weft/ripc.h>

#define SECOND   1000000000LL
#define MIB      (1 << 20)
#define OPEN_MAX 20 /* MiB of one context */
#define TALK_MAX 14 /* MiB more once it has sent */

static double resident(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*u %lu", &pages) != 1)
        abort();
    fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / MIB;
}

static void must(int result)
{
    if (result >= 0)
        return;
    printf("Bail out! %s\n", ripc_strerror(result));
    exit(1);
}

int main(void)
{
    const struct ripc_config config = {
        .domain = "resident", .address = "127.0.0.1", .transports = "fabric"};
    int64_t deadline = ripc_after(60 * SECOND);
    struct ripc *contexts[2];
    struct ripc_service *services[2];
    struct ripc_message message;
    double before = resident();
    int result = ripc_open(&config, &contexts[0]);
    if (result == -ENOPKG || result == -ENODEV) {
        printf("1..0 # SKIP no libfabric with the tcp provider\n");
        return 0;
    }
    must(result);
    must(ripc_open(&config, &contexts[1]));
    double opened = (resident() - before) / 2;
    for (int i = 0; i < 2; i++)
        must(ripc_bind(contexts[i], 0, 0, &services[i]));
    must(ripc_send(services[0], ripc_service_id(services[1]), "x", 1, deadline));
    must(ripc_receive(services[1], &message, 1, deadline));
    must(ripc_send(services[1], message.from, "y", 1, deadline));
    ripc_release(&message);
    must(ripc_receive(services[0], &message, 1, deadline));
    ripc_release(&message);
    double talked = (resident() - before) / 2 - opened;
    printf("1..2\n");
    printf("%s 1 - %.1f MiB per open context, at most %d\n", opened <= OPEN_MAX ? "ok" : "not ok",
           opened, OPEN_MAX);
    printf("%s 2 - %.1f MiB more after the first messages, at most %d\n",
           talked <= TALK_MAX ? "ok" : "not ok", talked, TALK_MAX);
    for (int i = 0; i < 2; i++)
        must(ripc_close(contexts[i], deadline));
    return opened > OPEN_MAX || talked > TALK_MAX;
}
