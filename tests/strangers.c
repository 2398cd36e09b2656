/* Connections that say nothing on the port of a service's context: a port scanner, or the check of
 * a load balancer. They must not keep the service's clients out. All contexts are in this process,
 * and reach each other by a file of names, TCP and udp, as if they were on several hosts. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define SERVER_ID 42
#define IDLE      160 /* more than a context takes at a time */
#define CLIENTS   4
#define PATIENCE  60000000000LL

static char domain[32]; /* of this run alone */
static char file_path[64], names[80];
static const char *const titles[] = {
    "a new client reaches a service whose port has many idle connections",
    "clients get through while idle connections keep coming",
    "a client waits for a peer that closes its first connections",
};
static unsigned test_number;

static void fail(const char *what, int error)
{
    printf("not ok %u - %s\n# %s: %s\n", test_number + 1, titles[test_number], what,
           ripc_strerror(error));
    unlink(file_path);
    exit(1);
}

static void must(int result, const char *what)
{
    if (result < 0)
        fail(what, result);
}

static void pass(void)
{
    printf("ok %u - %s\n", test_number + 1, titles[test_number]);
    test_number++;
}

static struct sockaddr_in port_address(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* A listening socket of a program that does not use the library. */
static int listener_open(uint16_t *port)
{
    struct sockaddr_in address = port_address(0);
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&address, &size))
        fail("listener", -errno);
    *port = ntohs(address.sin_port);
    return fd;
}

static int idle_connect(uint16_t port)
{
    struct sockaddr_in address = port_address(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address))
        fail("idle connection", -errno);
    return fd;
}

static void names_write(uint16_t port)
{
    FILE *file = fopen(file_path, "w");
    if (!file || fprintf(file, "%d 127.0.0.1:%u\n", SERVER_ID, port) < 0 || fclose(file))
        fail("file of names", -errno);
}

static struct ripc *context_open(uint16_t port)
{
    struct ripc *ripc;
    must(ripc_open(&(struct ripc_config){.domain = domain,
                                         .names = names,
                                         .address = "127.0.0.1",
                                         .transports = "udp",
                                         .port = port},
                   &ripc),
         "context");
    return ripc;
}

/* Opens a context on a free port, and writes the port to the file of names. */
static struct ripc *server_open(struct ripc_service **service, uint16_t *port)
{
    int fd = listener_open(port);
    close(fd); /* the library allows a port that was in use a moment ago */
    names_write(*port);
    struct ripc *ripc = context_open(*port);
    must(ripc_bind(ripc, SERVER_ID, 0, service), "bind");
    return ripc;
}

static void client_send(struct ripc_service *server)
{
    struct ripc *ripc = context_open(0);
    struct ripc_service *client;
    struct ripc_message message;
    must(ripc_bind(ripc, 0, 0, &client), "bind");
    must(ripc_send(client, SERVER_ID, "hello", 5, ripc_after(PATIENCE)), "send");
    must(ripc_receive(server, &message, 1, ripc_after(PATIENCE)), "receive");
    ripc_release(&message);
    must(ripc_close(ripc, ripc_after(PATIENCE)), "close");
}

static void test_idle(struct ripc_service *server, uint16_t port, int *idle)
{
    for (unsigned i = 0; i < IDLE; i++)
        idle[i] = idle_connect(port);
    client_send(server);
    pass();
}

/* A process that connects without end, and says nothing. */
static void test_flood(struct ripc_service *server, uint16_t port)
{
    int stop[2];
    if (pipe(stop))
        fail("pipe", -errno);
    pid_t flood = fork();
    if (flood < 0)
        fail("fork", -errno);
    if (flood == 0) {
        int fds[IDLE] = {0};
        struct pollfd end = {.fd = stop[0], .events = POLLIN};
        close(stop[1]);
        for (unsigned i = 0; poll(&end, 1, 1) == 0; i = (i + 1) % IDLE) {
            struct sockaddr_in address = port_address(port);
            if (fds[i] > 0)
                close(fds[i]);
            fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
            (void)!connect(fds[i], (struct sockaddr *)&address, sizeof address);
        }
        _exit(0);
    }
    close(stop[0]);
    for (unsigned i = 0; i < CLIENTS; i++)
        client_send(server);
    close(stop[1]); /* ends it, as would the end of this process */
    waitpid(flood, NULL, 0);
    pass();
}

/* An overloaded peer closes connections before it greets: the client tries again. Here another
 * program takes the first connections at the address, and then the service starts there. */
static void test_closing_peer(void)
{
    uint16_t port;
    struct ripc_service *client, *server;
    struct ripc_message message;
    int listener = listener_open(&port);
    names_write(port);
    struct ripc *here = context_open(0);
    must(ripc_bind(here, 0, 0, &client), "bind");
    int result = ripc_send(client, SERVER_ID, "hello", 5, RIPC_NOW);
    for (unsigned i = 0; i < 10 && result == -EAGAIN; i++) {
        struct pollfd end = {.fd = listener, .events = POLLIN};
        if (poll(&end, 1, (int)(PATIENCE / 1000000)) != 1)
            fail("the client did not try again", -ETIMEDOUT);
        close(accept(listener, NULL, NULL));
        result = ripc_send(client, SERVER_ID, "hello", 5, RIPC_NOW);
    }
    if (result != -EAGAIN)
        fail("send while the peer closes its connections", result);
    close(listener);
    struct ripc *there = context_open(port);
    must(ripc_bind(there, SERVER_ID, 0, &server), "bind");
    int64_t deadline = ripc_after(PATIENCE);
    do /* for a moment no program listened there */
        result = ripc_send(client, SERVER_ID, "hello", 5, deadline);
    while (result == -ECONNREFUSED && ripc_now() < deadline);
    must(result, "send");
    must(ripc_receive(server, &message, 1, ripc_after(PATIENCE)), "receive");
    ripc_release(&message);
    must(ripc_close(here, ripc_after(PATIENCE)), "close");
    must(ripc_close(there, ripc_after(PATIENCE)), "close");
    pass();
}

int main(void)
{
    struct rlimit limit = {1024, 1024};
    struct ripc_service *server;
    uint16_t port;
    int idle[IDLE];
    puts("1..3");
    if (setrlimit(RLIMIT_NOFILE, &limit))
        return 2;
    snprintf(domain, sizeof domain, "strangers-%d", (int)getpid());
    snprintf(file_path, sizeof file_path, "/tmp/weft-strangers-%d", (int)getpid());
    snprintf(names, sizeof names, "file:%s", file_path);
    struct ripc *ripc = server_open(&server, &port);
    test_idle(server, port, idle);
    test_flood(server, port);
    for (unsigned i = 0; i < IDLE; i++)
        close(idle[i]);
    must(ripc_close(ripc, ripc_after(PATIENCE)), "close");
    test_closing_peer();
    unlink(file_path);
}
