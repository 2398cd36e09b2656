/* Sends garbage to every port on which a context listens, while an honest conversation runs over
 * datagrams: random bytes, and messages that are valid except for a few bits, to the Unix socket,
 * the lifeline's TCP port, the port of the udp transport and the multicast group of the names. All
 * of it must be counted, and none of it may have an effect.
 *
 *   hostile_garbage_test [SEED [ROUNDS]] */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/rng.h"
#include "process.h"
#include "ripc/core/context.h"
#include "ripc/names/claim.h"
#include "ripc/names/group_socket.h"
#include "transport/datagram/datagram_wire.h"
#include "transport/lifeline/lifeline_wire.h"

#define SERVER_ID 1
#define CLIENT_ID 2
#define SECOND    1000000000LL

/* Ends the process with a line that gives the failed condition. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# %s, line %d: %s\n", self.name, __LINE__, #condition);               \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

static struct {
    const char *name;
    struct rng rng;
    struct ripc *ripc;
    struct ripc_service *service;
    char group[32];
    char names[64];
} self = {.name = "thrower"};

/* Shared by all processes; the server fills it in. */
static struct shared {
    _Atomic bool ready;
    struct context_address address;
    char folder[DOMAIN_PATH_MAX];
    struct sockaddr_in datagrams; /* the port of the udp transport */
    _Atomic uint64_t garbage;
    _Atomic uint64_t trips;
} * shared;

static volatile sig_atomic_t stopping;

static void on_term(int signal)
{
    stopping = 1;
}

static uint64_t below(uint64_t limit)
{
    return rng_below(&self.rng, limit);
}

static void enter(ripc_id id)
{
    struct ripc_config config = {.names = self.names, .transports = "udp", .address = "127.0.0.1"};
    demand(ripc_open(&config, &self.ripc) == 0);
    demand(ripc_bind(self.ripc, id, 0, &self.service) == 0);
}

/* ---- the conversation ---- */

static void server_show_ports(void)
{
    demand(self.ripc && self.ripc->transports[0]);
    struct transport *udp = self.ripc->transports[0];
    uint8_t description[19]; /* family, address, port in network order: docs/protocol.md */
    demand(udp->ops->describe(udp, description, sizeof description) == sizeof description);
    shared->datagrams =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    memcpy(&shared->datagrams.sin_port, description + 17, 2);
    shared->address = self.ripc->address;
    memcpy(shared->folder, self.ripc->folder, sizeof shared->folder);
    atomic_store_explicit(&shared->ready, true, memory_order_release);
}

static void be_server(void)
{
    struct ripc_message message;
    struct ripc_stats stats = {0};
    self.name = "server";
    enter(SERVER_ID);
    server_show_ports();
    while (!stopping) {
        int count = ripc_receive(self.service, &message, 1, ripc_after(SECOND / 100));
        demand(count == 1 || count == -ETIMEDOUT);
        if (count == 1) {
            demand(message.from == CLIENT_ID);
            int result = ripc_send(self.service, CLIENT_ID, message.data, message.size,
                                   ripc_after(10 * SECOND));
            demand(result == 0 || (stopping && result == -EPIPE));
            ripc_release(&message);
        }
        demand(ripc_stats(self.ripc, &stats) == 0);
        atomic_store_explicit(&shared->garbage, stats.garbage, memory_order_release);
    }
    demand(stats.protocol_errors == 0); /* of contexts that were let in */
    demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    _exit(0);
}

static void be_client(void)
{
    uint8_t letter[3000];
    struct ripc_message message;
    self.name = "client";
    enter(CLIENT_ID);
    for (uint64_t number = 0; !stopping; number++) {
        size_t size = 1 + below(sizeof letter);
        memset(letter, (int)number, size);
        demand(ripc_send(self.service, SERVER_ID, letter, size, ripc_after(10 * SECOND)) == 0);
        demand(ripc_receive(self.service, &message, 1, ripc_after(10 * SECOND)) == 1);
        demand(message.size == size && memcmp(message.data, letter, size) == 0);
        ripc_release(&message);
        atomic_fetch_add_explicit(&shared->trips, 1, memory_order_release);
    }
    demand(strcmp(ripc_transport(self.service, SERVER_ID), "udp") == 0);
    demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    _exit(0);
}

/* ---- the garbage ---- */

/* Replaces the data by random bytes, or flips some of its bits. */
static size_t spoil(uint8_t *data, size_t size, size_t most)
{
    if (below(2)) {
        size = 1 + below(most);
        for (size_t i = 0; i < size; i++)
            data[i] = (uint8_t)rng_next(&self.rng);
        return size;
    }
    for (uint64_t flips = 1 + below(4); flips > 0; flips--)
        data[below(size)] ^= (uint8_t)(1u << below(8));
    return below(4) ? size : 1 + below(size);
}

static size_t make_greeting(uint8_t *out, size_t most)
{
    struct lifeline_hello hello = {
        .role = HELLO_CONNECTS, .address = shared->address, .card_size = 4};
    hello.address.context = 1 + below(1000);
    size_t size = greeting_write(&hello, out + CONTROL_HEAD_SIZE);
    struct control_head head = {.kind = HELLO_GREETING, .size = (uint16_t)size};
    control_head_write(out, &head);
    /* A flipped bit of the card or of the challenge alone would leave the greeting valid. */
    out[below(CONTROL_HEAD_SIZE + 5)] ^= (uint8_t)(1u << below(8));
    return spoil(out, CONTROL_HEAD_SIZE + size, most);
}

/* Sends it and hangs up. A context that is too busy refuses us. */
static void throw_at(int domain, int type, const void *address, socklen_t size)
{
    uint8_t bytes[2 * LIFELINE_FRAME_MAX];
    int fd = socket(domain, type | SOCK_CLOEXEC, 0);
    demand(fd >= 0);
    if (connect(fd, address, size) == 0) {
        size_t length = make_greeting(bytes, sizeof bytes);
        (void)!send(fd, bytes, length, MSG_NOSIGNAL);
        struct timeval patience = {.tv_sec = 1};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (type == SOCK_SEQPACKET) /* a stream may wait for the rest of the message */
            (void)!recv(fd, bytes, sizeof bytes, 0);
    }
    close(fd);
}

static void throw_at_unix_socket(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket.%016llx", shared->folder,
             (unsigned long long)shared->address.context);
    throw_at(AF_UNIX, SOCK_SEQPACKET, &address, sizeof address);
}

static void throw_at_lifeline_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(shared->address.port)};
    memcpy(&address.sin_addr, shared->address.address, sizeof address.sin_addr);
    throw_at(AF_INET, SOCK_STREAM, &address, sizeof address);
}

static void throw_at_datagram_port(void)
{
    uint8_t bytes[DATAGRAM_SIZE_MAX + 100];
    struct pipe_datagram datagram = {.kind = (enum pipe_datagram_kind)(DATAGRAM_FRAME + below(3)),
                                     .pipe = below(4)};
    if (datagram.kind == DATAGRAM_RETURN)
        datagram.back.count = (uint16_t)below(DATAGRAM_ACKS_MAX);
    size_t size = spoil(bytes, pipe_datagram_write(&datagram, bytes, sizeof bytes), sizeof bytes);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    demand(fd >= 0);
    (void)!sendto(fd, bytes, size, 0, (struct sockaddr *)&shared->datagrams,
                  sizeof shared->datagrams);
    close(fd);
}

static void throw_at_group(void)
{
    uint8_t bytes[2048];
    struct why why;
    struct group_socket sockets;
    struct seal seal;
    struct claim claim = {.id = SERVER_ID, .member = SERVER_ID, .incarnation = 1};
    struct datagram datagram = {.kind = (enum datagram_kind)(DATAGRAM_QUERY + below(4)),
                                .domain = domain_hash("default"),
                                .sender = 5,
                                .count = 1};
    claim.address = shared->address;
    datagram.claims[0] = claim;
    demand(seal_init(&seal, NULL) == 0);
    demand(group_socket_open(&sockets, self.group, "127.0.0.1", &why) == 0);
    size_t size = spoil(bytes, datagram_write(&datagram, &seal, bytes), sizeof bytes);
    group_socket_send(&sockets, NULL, bytes, size);
    group_socket_close(&sockets);
    seal_fini(&seal);
}

static const struct port {
    const char *name;
    void (*throw)(void);
} ports[] = {
    {"the Unix socket", throw_at_unix_socket},
    {"the lifeline's TCP port", throw_at_lifeline_port},
    {"the port of datagrams", throw_at_datagram_port},
    {"the group of the names", throw_at_group},
};
#define PORTS (sizeof ports / sizeof *ports)

/* ---- the parent ---- */

static pid_t start(void (*run)(void), uint64_t seed, uint64_t stream)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self.rng = rng_make(seed, stream);
    run();
    _exit(0);
}

static bool await(const _Atomic uint64_t *value, uint64_t least)
{
    for (int64_t patience = ripc_after(20 * SECOND); ripc_now() < patience; usleep(1000))
        if (atomic_load_explicit(value, memory_order_acquire) >= least)
            return true;
    return false;
}

/* Most of it is recognised as garbage; the rest looks like something to drop, or arrived when the
 * context was too busy. Honest messages must get through afterwards. */
static bool bombard(const struct port *port, unsigned rounds)
{
    uint64_t before = atomic_load_explicit(&shared->garbage, memory_order_acquire);
    for (unsigned i = 0; i < rounds; i++) {
        port->throw();
        if (i % 8 == 0)
            usleep(500);
    }
    uint64_t trips = atomic_load_explicit(&shared->trips, memory_order_acquire);
    bool counted = await(&shared->garbage, before + rounds / 4);
    bool served = await(&shared->trips, trips + 20);
    printf(
        "# %llu of %u counted\n",
        (unsigned long long)(atomic_load_explicit(&shared->garbage, memory_order_acquire) - before),
        rounds);
    return counted && served;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    unsigned rounds = count > 2 ? (unsigned)atoi(words[2]) : 300;
    char folder[] = "/dev/shm/weft-garbage-XXXXXX";
    printf("1..%zu\n# seed %llu: replay with %s %llu\n", PORTS + 2, (unsigned long long)seed,
           words[0], (unsigned long long)seed);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    unsetenv("WEFT_DOMAIN");
    snprintf(self.group, sizeof self.group, "239.255.%u.%u:%u", 1 + (unsigned)getpid() % 250,
             1 + (unsigned)getpid() / 250 % 250, 20000 + (unsigned)getpid() % 20000);
    snprintf(self.names, sizeof self.names, "multicast:%s", self.group);
    self.rng = rng_make(seed, 0);
    signal(SIGTERM, on_term); /* before any process gets SIGTERM */
    pid_t server = start(be_server, seed, 1);
    for (int64_t patience = ripc_after(20 * SECOND); ripc_now() < patience; usleep(1000))
        if (atomic_load_explicit(&shared->ready, memory_order_acquire))
            break;
    pid_t client = start(be_client, seed, 2);
    bool good = await(&shared->trips, 1);
    for (unsigned i = 0; i < PORTS; i++) {
        bool passed = good && bombard(&ports[i], rounds);
        printf("%sok %u - garbage at %s is counted and harmless\n", passed ? "" : "not ", i + 1,
               ports[i].name);
        good &= passed;
    }
    kill(client, SIGTERM);
    bool served = process_ended_well(client);
    kill(server, SIGTERM);
    served &= process_ended_well(server);
    printf("%sok %zu - the conversation was not disturbed (%llu messages)\n", served ? "" : "not ",
           PORTS + 1, (unsigned long long)shared->trips);
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok %zu - nothing is left behind\n", clean ? "" : "not ", PORTS + 2);
    return good && served && clean ? 0 : 1;
}
