/* A lack of descriptors, at a sender or at a receiver, with every number of free descriptors from
 * none to more than are needed. The sender gets -EMFILE, and waits for a receiver that lacks them;
 * in neither case is the id reported as gone.
 *
 * Each case has fresh processes. One case runs with the names of the host and shared memory, one
 * with a file of names, TCP and udp. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define SERVER_ID     42
#define LIMIT         256 /* of descriptors */
#define FREE_MAX      24  /* a first send needs fewer */
#define PATIENCE      60000000000LL
#define SHORT         100000000LL
#define HANDSHAKE     6000000000LL /* longer than a handshake may take */
#define EVENTS        16
#define STORY_SECONDS 120 /* then the system ends a process */

static char domain[32], file_path[64], names[80];
static struct ripc *context; /* of this process */
static uint16_t port;        /* of the server; 0: shared memory */

static void demand(bool condition, const char *format, ...)
{
    va_list arguments;
    if (condition)
        return;
    va_start(arguments, format);
    fputs("# ", stderr);
    vfprintf(stderr, format, arguments);
    fputs("\n", stderr);
    va_end(arguments);
    _exit(2);
}

/* Leaves that many descriptors free; takes all others. */
static void descriptors_take(unsigned left)
{
    int taken[LIMIT];
    unsigned count = 0;
    while (count < LIMIT && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    demand(errno == EMFILE, "descriptors: %s", strerror(errno));
    while (left-- > 0 && count > 0)
        close(taken[--count]);
}

/* Allows as many again. */
static void descriptors_release(void)
{
    struct rlimit limit = {2 * LIMIT, 2 * LIMIT};
    demand(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
}

static struct ripc_service *service_open(bool is_server)
{
    struct ripc_service *service;
    char reason[RIPC_REASON_MAX] = "";
    struct ripc_config config = {.domain = domain, .reason = reason};
    struct rlimit limit = {LIMIT, 2 * LIMIT};
    alarm(STORY_SECONDS);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    demand(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit: %s", strerror(errno));
    if (port) {
        config.names = names;
        config.address = "127.0.0.1";
        config.transports = "udp";
        config.port = is_server ? port : 0;
    }
    int result = ripc_open(&config, &context);
    demand(result == 0, "open: %s", reason);
    result = ripc_bind(context, is_server ? SERVER_ID : 0, 0, &service);
    demand(result == 0, "bind: %s", ripc_strerror(result));
    return service;
}

static void receive(struct ripc_service *service, char content)
{
    struct ripc_message message;
    int result = ripc_receive(service, &message, 1, ripc_after(PATIENCE));
    demand(result == 1, "receive: %s", ripc_strerror(result));
    demand(*(const char *)message.data == content, "received another message");
    ripc_release(&message);
}

/* No event says that the server has gone. */
static void demand_no_down(struct ripc_service *service, unsigned left)
{
    struct ripc_event events[EVENTS];
    int count = ripc_poll(service, events, EVENTS, RIPC_NOW);
    for (int i = 0; i < count; i++)
        demand(events[i].kind != RIPC_DOWN, "with %u free: RIPC_DOWN", left);
}

static void byte_write(int fd)
{
    demand(write(fd, "x", 1) == 1, "pipe: %s", strerror(errno));
}

static void byte_read(int fd)
{
    char byte;
    demand(read(fd, &byte, 1) == 1, "pipe: %s", strerror(errno));
}

static pid_t start(void)
{
    fflush(NULL);
    pid_t child = fork();
    demand(child >= 0, "fork: %s", strerror(errno));
    return child;
}

static void end(pid_t child)
{
    int status;
    demand(waitpid(child, &status, 0) == child && status == 0, "a process failed");
}

/* ---- a sender ---- */

static void sender_run(unsigned left, bool watches)
{
    struct ripc_service *service = service_open(false);
    if (watches) {
        struct ripc_event event;
        int result = ripc_watch(service, SERVER_ID);
        demand(result == 0, "watch: %s", ripc_strerror(result));
        if (!port)
            demand(ripc_poll(service, &event, 1, ripc_after(PATIENCE)) == 1 &&
                       event.kind == RIPC_UP,
                   "no RIPC_UP");
    }
    descriptors_take(left);
    int result = ripc_send(service, SERVER_ID, "a", 1, ripc_after(PATIENCE));
    demand(result == 0 || result == -EMFILE, "with %u free, send: %s", left, ripc_strerror(result));
    demand(result == 0 || left < FREE_MAX, "%u free descriptors are not enough", left);
    demand_no_down(service, left);
    descriptors_release();
    result = ripc_send(service, SERVER_ID, "b", 1, ripc_after(PATIENCE));
    demand(result == 0, "with more than %u free, send: %s", left, ripc_strerror(result));
    demand_no_down(service, left);
    _exit(0);
}

static void senders_run(void)
{
    int ready[2];
    demand(!pipe2(ready, O_CLOEXEC), "pipe: %s", strerror(errno));
    pid_t server = start();
    if (server == 0) {
        struct ripc_service *service = service_open(true);
        struct ripc_message message;
        byte_write(ready[1]);
        while (ripc_receive(service, &message, 1, RIPC_FOREVER) == 1)
            ripc_release(&message);
        _exit(2);
    }
    byte_read(ready[0]);
    for (unsigned left = 0; left <= FREE_MAX; left++) {
        for (unsigned watches = 0; watches < 2; watches++) {
            pid_t sender = start();
            if (sender == 0)
                sender_run(left, watches);
            end(sender);
        }
    }
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

/* ---- a receiver ---- */

static void receiver_run(unsigned left, int ready, int go)
{
    struct ripc_service *service = service_open(true);
    descriptors_take(left);
    byte_write(ready);
    byte_read(go);
    descriptors_release();
    receive(service, 'b');
    byte_read(go); /* the sender has seen that we live */
    _exit(0);
}

/* The receiver gets descriptors only after the first sends. */
static void patient_run(unsigned left, int64_t wait)
{
    int ready[2] = {-1, -1}, go[2] = {-1, -1};
    demand(!pipe2(ready, O_CLOEXEC) && !pipe2(go, O_CLOEXEC), "pipe: %s", strerror(errno));
    pid_t receiver = start();
    if (receiver == 0)
        receiver_run(left, ready[1], go[0]);
    pid_t sender = start();
    if (sender == 0) {
        byte_read(ready[0]);
        struct ripc_service *service = service_open(false);
        int result = ripc_watch(service, SERVER_ID);
        demand(result == 0, "watch: %s", ripc_strerror(result));
        result = ripc_send(service, SERVER_ID, "b", 1, ripc_after(wait));
        demand(result == 0 || result == -ETIMEDOUT, "with %u free at the receiver, send: %s", left,
               ripc_strerror(result));
        demand_no_down(service, left);
        byte_write(go[1]);
        if (result)
            result = ripc_send(service, SERVER_ID, "b", 1, ripc_after(PATIENCE));
        demand(result == 0, "with more than %u free at the receiver, send: %s", left,
               ripc_strerror(result));
        demand_no_down(service, left);
        byte_write(go[1]);
        (void)ripc_close(context, ripc_after(PATIENCE)); /* delivers the message */
        _exit(0);
    }
    end(sender);
    end(receiver);
    for (unsigned i = 0; i < 2; i++) {
        close(ready[i]);
        close(go[i]);
    }
}

static void receivers_run(void)
{
    for (unsigned left = 0; left <= FREE_MAX / 2; left++)
        patient_run(left, SHORT);
    patient_run(0, HANDSHAKE);
}

/* ---- the cases ---- */

static void port_choose(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    demand(fd >= 0 && !bind(fd, (struct sockaddr *)&address, sizeof address) &&
               !getsockname(fd, (struct sockaddr *)&address, &size),
           "socket: %s", strerror(errno));
    port = ntohs(address.sin_port);
    close(fd);
    FILE *file = fopen(file_path, "w");
    demand(file && fprintf(file, "%d 127.0.0.1:%u\n", SERVER_ID, port) > 0 && !fclose(file),
           "file of names: %s", strerror(errno));
}

static void test(unsigned number, const char *title, void (*run)(void))
{
    int status;
    pid_t child = start();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        run();
        _exit(0);
    }
    bool passed = waitpid(child, &status, 0) == child && status == 0;
    printf("%sok %u - %s\n", passed ? "" : "not ", number, title);
}

int main(void)
{
    puts("1..4");
    snprintf(domain, sizeof domain, "descriptors-%d", (int)getpid());
    snprintf(file_path, sizeof file_path, "/tmp/weft-descriptors-%d", (int)getpid());
    snprintf(names, sizeof names, "file:%s", file_path);
    test(1, "a sender without descriptors gets -EMFILE, over shared memory", senders_run);
    test(2, "a sender waits for a receiver without descriptors, over shared memory", receivers_run);
    port_choose();
    test(3, "a sender without descriptors gets -EMFILE, over TCP", senders_run);
    test(4, "a sender waits for a receiver without descriptors, over TCP", receivers_run);
    unlink(file_path);
}
