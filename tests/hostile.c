/* A process that speaks the lifeline protocol well enough to be let in, and then misbehaves: it
 * overwrites rings, doorbells and frames with random data while they are read, sends random
 * controls and descriptors, opens pipes by the thousand, sends answers that were not requested and
 * never reads those that it requested. Its victim must neither crash nor hang nor leak, and all the
 * while it must serve an honest third process, which opens and closes its context again and again.
 *
 * The villain is a context of the library whose internals we use directly.
 *
 *   hostile_test [SEED [SECONDS]] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/bytes.h"
#include "base/rng.h"
#include "process.h"
#include "ripc/core/remote.h"
#include "ripc/message/arrival.h"
#include "ripc/message/message.h"
#include "transport/shm/shm_impl.h"

#define VICTIM_ID       1
#define HONEST_ID       2
#define VILLAIN_ID      666
#define WINDOW          65536
#define HELD_MAX        16
#define FLIGHTS_MAX     32
#define SECOND          1000000000LL
#define DEED_NSEC       (SECOND / 20) /* how long one villain acts */
#define DESCRIPTORS_MAX 1024          /* the victim's limit, the usual one of a process */

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
} self;

/* Shared by all processes. */
static struct shared {
    _Atomic bool ready;               /* the victim is ready */
    _Atomic uint64_t trips;           /* round trips of honest messages */
    _Atomic uint64_t visits;          /* contexts that the honest process opened */
    _Atomic uint64_t protocol_errors; /* counted by the victim */
    _Atomic uint64_t peers_lost;
    _Atomic uint64_t received;
} * shared;

static volatile sig_atomic_t stopping;

static void on_term(int signal)
{
    stopping = 1;
}

static unsigned count_descriptors(void)
{
    unsigned count = process_descriptors();
    demand(count);
    return count;
}

static uint64_t below(uint64_t limit)
{
    return rng_below(&self.rng, limit);
}

static void enter(ripc_id id, uint32_t flags)
{
    struct ripc_config config = {.flags = flags, .ring_slots = 64};
    demand(ripc_open(&config, &self.ripc) == 0);
    int64_t deadline = ripc_after(20 * SECOND);
    int result;
    do
        result = ripc_bind(self.ripc, id, 0, &self.service);
    while (result == -EADDRINUSE && ripc_now() < deadline);
    demand(result == 0);
}

/* ---- the victim ---- */

static uint8_t window[WINDOW], fetched[WINDOW];
static void *flights[FLIGHTS_MAX];
static uint32_t touched; /* keeps the compiler from removing the reads */

static void touch(const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        touched += ((const volatile uint8_t *)data)[i];
}

static void victim_send_long(ripc_id to)
{
    size_t i = below(FLIGHTS_MAX);
    if (flights[i])
        return;
    flights[i] = ripc_alloc(self.ripc, 3000);
    demand(flights[i]);
    struct iovec item = {flights[i], 3000}, buffer = {NULL, 3000};
    struct ripc_send send = {
        .to = to,
        .longs = &item,
        .long_count = 1,
        .returns = &buffer,
        .return_count = (uint16_t)below(2),
        .user = i,
        .deadline = RIPC_NOW,
    };
    if (ripc_send_message(self.service, &send) > 0)
        return;
    demand(ripc_free(self.ripc, flights[i]) == 0);
    flights[i] = NULL;
}

static void victim_take_item(struct ripc_message *message, unsigned index)
{
    struct ripc_item *item = &message->longs[index];
    if (item->status == -EINPROGRESS && below(2))
        (void)ripc_fetch(message, index, fetched, sizeof fetched, ripc_after(SECOND));
    if (item->status || item->data == fetched)
        return;
    demand(item->size <= WINDOW);
    touch(item->data, item->size);
    if (item->owned)
        demand(ripc_free(self.ripc, item->data) == 0);
}

static void victim_take(struct ripc_message *message)
{
    size_t size;
    touch(message->data, message->size);
    for (unsigned i = 0; i < message->short_count; i++) {
        const void *item = ripc_short(message, i, &size);
        if (item)
            touch(item, size);
    }
    for (unsigned i = 0; i < message->long_count; i++)
        victim_take_item(message, i);
    if (message->from == HONEST_ID) {
        int result = ripc_send(self.service, HONEST_ID, message->data, message->size,
                               ripc_after(10 * SECOND));
        demand(result == 0 || result == -EPIPE || result == -ENOENT || result == -ECONNREFUSED);
    } else if (message->from != VICTIM_ID) {
        victim_send_long(message->from);
    }
}

static void victim_take_events(void)
{
    struct ripc_event events[8];
    int count = ripc_poll(self.service, events, 8, RIPC_NOW);
    demand(count > 0 || count == -EAGAIN);
    for (int i = 0; i < count; i++) {
        if (events[i].kind != RIPC_DONE)
            continue;
        demand(events[i].user < FLIGHTS_MAX && flights[events[i].user]);
        demand(events[i].status <= 0 && events[i].status > -4096);
        demand(ripc_free(self.ripc, flights[events[i].user]) == 0);
        flights[events[i].user] = NULL;
    }
}

static bool victim_is_done(void)
{
    struct ripc_stats stats;
    demand(ripc_stats(self.ripc, &stats) == 0);
    atomic_store_explicit(&shared->protocol_errors, stats.protocol_errors, memory_order_relaxed);
    atomic_store_explicit(&shared->peers_lost, stats.peers_lost, memory_order_relaxed);
    atomic_store_explicit(&shared->received, stats.received, memory_order_relaxed);
    return stats.operations == 0 && stats.buffers == 0;
}

static void be_victim(void)
{
    struct ripc_message messages[4], held[HELD_MAX] = {0};
    unsigned descriptors = count_descriptors();
    struct rlimit limit = {DESCRIPTORS_MAX, DESCRIPTORS_MAX};
    self.name = "victim";
    demand(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    enter(VICTIM_ID, 0);
    atomic_store_explicit(&shared->ready, true, memory_order_release);
    while (!stopping) {
        int count = ripc_receive(self.service, messages, 4, ripc_after(SECOND / 1000));
        demand(count > 0 || count == -ETIMEDOUT);
        for (int i = 0; i < count; i++) {
            victim_take(&messages[i]);
            unsigned slot = (unsigned)below(HELD_MAX); /* released later, in any order */
            ripc_release(&held[slot]);
            held[slot] = messages[i];
        }
        if (count < 0)
            ripc_release(&held[below(HELD_MAX)]);
        int result = ripc_window_add(self.ripc, NULL, window, sizeof window);
        demand(result == 0 || result == -EEXIST);
        victim_take_events();
        (void)ripc_send(self.service, VILLAIN_ID, "x", 1, RIPC_NOW);
        victim_send_long(VILLAIN_ID);
    }
    for (unsigned i = 0; i < HELD_MAX; i++)
        ripc_release(&held[i]);
    for (int64_t deadline = ripc_after(20 * SECOND); !victim_is_done(); victim_take_events())
        demand(ripc_now() < deadline);
    demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    demand(count_descriptors() == descriptors);
    _exit(0);
}

/* ---- the honest process ---- */

static void honest_trip(uint64_t number)
{
    static uint64_t letter[500];
    struct ripc_message message;
    size_t size = 8 + below(sizeof letter - 8);
    letter[0] = number;
    memset(letter + 1, (int)number, sizeof letter - 8);
    demand(ripc_send(self.service, VICTIM_ID, letter, size, ripc_after(10 * SECOND)) == 0);
    demand(ripc_receive(self.service, &message, 1, ripc_after(10 * SECOND)) == 1);
    demand(message.from == VICTIM_ID && message.size == size);
    demand(memcmp(message.data, letter, size) == 0);
    ripc_release(&message);
    atomic_fetch_add_explicit(&shared->trips, 1, memory_order_relaxed);
}

static void be_honest(void)
{
    self.name = "honest";
    for (uint64_t number = 0; !stopping;) {
        enter(HONEST_ID, 0);
        for (unsigned i = 0; i < 100 && !stopping; i++)
            honest_trip(number++);
        struct ripc_stats stats;
        demand(ripc_stats(self.ripc, &stats) == 0 && stats.protocol_errors == 0);
        demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
        atomic_fetch_add_explicit(&shared->visits, 1, memory_order_relaxed);
    }
    _exit(0);
}

/* ---- the villain ---- */

static struct {
    struct remote *remote;
    struct peer *peer;
    struct shm_outlet *outlet;
    struct shm_inlet *inlet; /* of the victim's pipe to us, if it exists */
    uint64_t pipe_in;
    int64_t until;
} evil;

static bool evil_goes_on(void)
{
    return ripc_now() < evil.until && evil.peer->line && lifeline_alive(evil.peer->line);
}

/* Connects like an honest context; then no code of the library runs any more. */
static void evil_enter(void)
{
    struct ripc_message message;
    self.name = "villain";
    enter(VILLAIN_ID, RIPC_MANUAL);
    demand(ripc_send(self.service, VICTIM_ID, "hello", 5, ripc_after(10 * SECOND)) == 0);
    for (int64_t deadline = ripc_after(SECOND / 50); ripc_now() < deadline;)
        if (ripc_receive(self.service, &message, 1, RIPC_NOW) == 1)
            break; /* not released, so that its pipe stays */
    evil.remote = id_map_get(&self.service->remotes, VICTIM_ID);
    demand(evil.remote);
    if (evil.remote->state != REMOTE_OPEN)
        _exit(0);
    evil.peer = evil.remote->peer;
    evil.outlet = (struct shm_outlet *)evil.remote->outlet;
    list_each(&self.service->arrivals, node)
    {
        struct arrival *arrival = container_of(node, struct arrival, service_node);
        evil.inlet = (struct shm_inlet *)arrival->inlet;
        evil.pipe_in = arrival->pipe;
    }
    evil.until = ripc_after(DEED_NSEC);
}

/* Writes random bytes, small numbers and blocks, so that some of it is valid. */
static void scribble(uint8_t *base, size_t size)
{
    for (unsigned i = 0; i < 200; i++) {
        size_t at = below(size);
        uint64_t word = below(3) ? below(600) : rng_next(&self.rng);
        if (below(2))
            base[at] = (uint8_t)word;
        else
            memcpy(base + (at & ~(size_t)7), &word, 8);
    }
    if (below(50) == 0)
        memset(base, (int)below(256), size);
}

static void evil_ring(void)
{
    if (evil.outlet->bell)
        ringer_ring(&evil.outlet->bell->ringer);
}

static void scribble_over_what_the_victim_receives(void)
{
    while (evil_goes_on()) {
        scribble(evil.outlet->file.base, below(2) ? evil.outlet->file.size : 20000);
        evil_ring();
    }
}

static void scribble_over_what_the_victim_sends(void)
{
    while (evil.inlet && evil_goes_on())
        scribble(evil.inlet->file.base, 1 + below(below(2) ? 8 : evil.inlet->file.size - 8));
}

static void scribble_over_doorbells(void)
{
    while (evil_goes_on()) {
        const struct shm_bell *bell = evil.outlet->bell;
        if (bell)
            scribble((uint8_t *)bell->ringer.page, 4096);
        if (evil.inlet)
            scribble((uint8_t *)evil.inlet->bell->ringer.page, 4096);
        for (unsigned i = 0; i < 50 && bell; i++)
            (void)!send(bell->ringer.event_fd, "y", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
}

static uint64_t some_number(void)
{
    const uint64_t numbers[] = {0,
                                1,
                                2,
                                VICTIM_ID,
                                HONEST_ID,
                                VILLAIN_ID,
                                evil.pipe_in,
                                evil.remote->pipe,
                                UINT64_MAX,
                                below(100),
                                rng_next(&self.rng)};
    return numbers[below(sizeof numbers / sizeof *numbers)];
}

static struct remote_memory some_memory(void)
{
    static uint8_t here[5000];
    struct remote_memory memory = {
        .key = below(2) ? 0 : some_number(),
        .address = below(2) ? (uintptr_t)here : some_number(),
        .size = below(2) ? below(sizeof here) : some_number(),
    };
    return memory;
}

static void frames_of_every_kind(void)
{
    static const uint8_t counts[] = {0, 0, 1, 1, 2, 3, 64, 65, 255};
    static uint8_t body[FRAME_BODY_MAX];
    static struct message_table table;
    uint8_t bytes[256 * (2 + 33 + 32)];
    while (evil_goes_on()) {
        struct message_head head = {
            .kind = (uint16_t)(below(20) ? FRAME_MESSAGE : below(4)),
            .token = below(3) ? below(50) : rng_next(&self.rng),
            .group = some_number(),
            .short_count = counts[below(6)],
            .long_count = counts[below(below(10) ? 6 : sizeof counts)],
            .return_count = counts[below(below(10) ? 6 : sizeof counts)],
        };
        size_t shorts = 0, described = 0;
        for (unsigned i = 0; i < 64; i++) {
            struct remote_memory memory = some_memory();
            table.short_sizes[i] = (uint16_t)below(20);
            table.items[i] = (struct message_item){.way = below(3) ? ITEM_PULL : ITEM_RETURNED,
                                                   .size = memory.size,
                                                   .number = some_number(),
                                                   .memory = memory};
            table.offers[i] = (struct message_offer){some_number(), some_memory(), some_memory()};
            if (i < head.short_count)
                shorts += table.short_sizes[i];
        }
        if (head.long_count <= 64 && head.return_count <= 64)
            described = message_table_write(&head, &table, bytes);
        if (below(200) == 0)
            shorts = below(100);
        struct iovec pieces[2] = {{bytes, described}, {body, shorts}};
        struct frame_head frame = message_head_write(&head);
        if (ring_push(&evil.outlet->ring, &frame, pieces, 2) == -EAGAIN)
            usleep(100);
        if (below(100) == 0)
            scribble(evil.outlet->ring.area, evil.outlet->ring.area_size);
        evil_ring();
    }
}

static int memory_of(size_t size, int seals)
{
    int fd = memfd_create("evil", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    demand(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    if (seals)
        demand(fcntl(fd, F_ADD_SEALS, seals) == 0);
    return fd;
}

static const struct ring_shape small_shape = {8, 32768};

static int some_descriptor(void)
{
    size_t good = ring_size(&small_shape);
    int pair[2];
    switch (below(7)) {
    case 0:
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case 1:
        return memory_of(good, 0);
    case 2:
        return memory_of(good - 4096, F_SEAL_SHRINK);
    case 3:
        return memory_of(4096, F_SEAL_SHRINK);
    case 4:
        return memory_of(good, F_SEAL_SHRINK | F_SEAL_WRITE);
    case 5:
        demand(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair) == 0);
        close(pair[0]);
        return pair[1];
    default:
        return memory_of(good, F_SEAL_SHRINK);
    }
}

static void evil_say(struct control_words *words)
{
    struct control control;
    control_write(&control, words);
    if (below(50) == 0)
        control.body[below(control.size)] ^= (uint8_t)(1u << below(8));
    if (below(100) == 0)
        control.size = (uint16_t)below(CONTROL_BODY_MAX + 1);
    (void)!lifeline_send(evil.peer->line, &control);
}

static void offer_fill(struct parcel *parcel)
{
    struct writer out = writer_make(parcel->bytes, sizeof parcel->bytes);
    write_u32(&out, below(20) ? small_shape.slots : (uint32_t)some_number());
    write_u32(&out, below(20) ? small_shape.bytes : (uint32_t)some_number());
    parcel->size = 8;
    parcel->fd_count = below(20) ? 3 : (uint8_t)below(CONTROL_FD_MAX + 1);
    for (unsigned i = 0; i < parcel->fd_count; i++)
        parcel->fds[i] = some_descriptor();
}

/* Sends controls of one kind, or of all kinds. */
static void controls(unsigned kind)
{
    while (evil_goes_on()) {
        struct control_words words = {
            .kind = (enum control_kind)(kind ? kind : 1 + below(CONTROL_KIND_END - 1)),
            .pipe = some_number(),
            .from = some_number(),
            .to = some_number(),
            .number = some_number(),
            .item = (uint32_t)below(3),
            .rights = (uint32_t)below(5),
            .status = below(2) ? 0 : -(int32_t)below(200),
            .transport = "shm",
            .memory = some_memory(),
        };
        if (below(3) == 0 && (words.kind == CONTROL_OPEN || words.kind == CONTROL_ANSWER))
            offer_fill(&words.parcel);
        evil_say(&words);
        parcel_fini(&words.parcel);
        if (below(8) == 0)
            usleep(50);
    }
}

static void controls_of_all_kinds(void)
{
    controls(0);
}

static void answers_to_no_question(void)
{
    controls(below(2) ? CONTROL_ANSWER : CONTROL_COPIED);
}

static void questions_about_grants(void)
{
    controls(CONTROL_GRANT_ASK + (unsigned)below(4));
}

static void cancellations(void)
{
    controls(below(2) ? CONTROL_CANCEL : CONTROL_WITHDRAW);
}

static void bytes_instead_of_controls(void)
{
    while (evil_goes_on()) {
        struct control control = {
            .kind = (uint16_t)(below(2) ? below(20) : CONTROL_TRANSPORT + below(4)),
            .size = (uint16_t)below(CONTROL_BODY_MAX + 1),
        };
        for (unsigned i = 0; i < control.size; i++)
            control.body[i] = (uint8_t)below(below(2) ? 256 : 2);
        (void)!lifeline_send(evil.peer->line, &control);
    }
}

/* Opens as many good rings as possible, and uses none of them. */
static void pipes_by_the_thousand(void)
{
    struct doorbell bell;
    demand(doorbell_open(&bell) == 0);
    evil.until = ripc_after(4 * DEED_NSEC);
    for (uint64_t pipe = 1000; pipe < 5000 && evil_goes_on(); pipe++) {
        struct control_words words = {
            .kind = CONTROL_OPEN,
            .pipe = pipe,
            .from = pipe,
            .to = VICTIM_ID,
            .transport = "shm",
            .parcel = {.size = 8, .fd_count = 3},
        };
        struct writer out = writer_make(words.parcel.bytes, sizeof words.parcel.bytes);
        struct control control;
        write_u32(&out, small_shape.slots);
        write_u32(&out, small_shape.bytes);
        words.parcel.fds[0] = memory_of(ring_size(&small_shape), F_SEAL_SHRINK);
        demand(doorbell_share(&bell, &words.parcel.fds[1]) == 0);
        control_write(&control, &words);
        (void)!lifeline_send(evil.peer->line, &control);
        parcel_fini(&words.parcel);
        ripc_progress(self.ripc); /* reads the answers, else the victim would cut it off */
    }
    while (evil_goes_on())
        usleep(1000);
}

/* Shares memory that shrinks afterwards, and that does not match its description. */
static void slabs_that_are_none(void)
{
    while (evil_goes_on()) {
        uint64_t size = below(4) ? 8192 : some_number();
        struct control control = {.kind = SHM_SLAB, .fd_count = 1};
        struct writer out = writer_make(control.body, sizeof control.body);
        write_u64(&out, below(5) ? below(50) : some_number());
        write_u64(&out, size);
        write_u8(&out, (uint8_t)below(2));
        control.size = 17;
        bool sealed = below(8) != 0;
        int fd = memory_of(8192, sealed ? F_SEAL_SHRINK : 0);
        control.fds[0] = fd;
        (void)!lifeline_send(evil.peer->line, &control);
        (void)!ftruncate(fd, 0);
        close(fd);
        struct message_head head = {.kind = FRAME_MESSAGE, .long_count = 1, .token = 1};
        struct message_table table;
        uint8_t bytes[MESSAGE_TABLE_MAX];
        uint64_t length = below(9000);
        table.items[0] = (struct message_item){
            .way = ITEM_PULL, .size = length, .memory = {below(50), below(9000), length}};
        struct iovec piece = {bytes, message_table_write(&head, &table, bytes)};
        struct frame_head frame = message_head_write(&head);
        (void)!ring_push(&evil.outlet->ring, &frame, &piece, 1);
        evil_ring();
    }
}

static void acknowledgements_of_nothing(void)
{
    while (evil.inlet && evil_goes_on()) {
        evil.inlet->ring.tokens = 1;
        (void)!ring_acknowledge(&evil.inlet->ring, some_number(), (int64_t)some_number());
        ringer_ring(&evil.inlet->bell->ringer);
        usleep(20);
    }
}

static void questions_without_listening(void)
{
    while (evil_goes_on()) {
        struct control_words words = {
            .kind = CONTROL_GRANT_ASK, .from = VILLAIN_ID, .to = VICTIM_ID, .number = 5};
        struct control control;
        control_write(&control, &words);
        (void)!lifeline_send(evil.peer->line, &control);
    }
}

static const struct deed {
    const char *name;
    void (*run)(void);
} deeds[] = {
    {"overwrites what the victim receives", scribble_over_what_the_victim_receives},
    {"overwrites what the victim sends", scribble_over_what_the_victim_sends},
    {"overwrites doorbells", scribble_over_doorbells},
    {"sends frames of every kind", frames_of_every_kind},
    {"sends controls of all kinds", controls_of_all_kinds},
    {"answers without a question", answers_to_no_question},
    {"asks for grants that it does not have", questions_about_grants},
    {"cancels what it never sent", cancellations},
    {"sends bytes instead of controls", bytes_instead_of_controls},
    {"opens pipes by the thousand", pipes_by_the_thousand},
    {"shares invalid memory", slabs_that_are_none},
    {"acknowledges what was never sent", acknowledgements_of_nothing},
    {"asks and never reads the answers", questions_without_listening},
};
#define DEEDS (sizeof deeds / sizeof *deeds)

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

static const struct deed *chosen;

static void be_villain(void)
{
    evil_enter();
    chosen->run();
    _exit(0); /* without closing, like a dead process */
}

/* Runs one villain after the other; true as long as the victim runs. */
static bool act(const struct deed *deed, uint64_t seed, uint64_t *stream, int64_t until,
                pid_t victim)
{
    chosen = deed;
    do {
        if (!process_ended_well(start(be_villain, seed, ++*stream)))
            return false;
        siginfo_t ended = {0}; /* it is not reaped here */
        if (waitid(P_PID, (id_t)victim, &ended, WEXITED | WNOHANG | WNOWAIT) || ended.si_pid)
            return false;
    } while (ripc_now() < until);
    return true;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    int64_t seconds = count > 2 ? atoi(words[2]) : 4;
    char folder[] = "/dev/shm/weft-hostile-XXXXXX";
    printf("1..%zu\n# seed %llu: replay with %s %llu\n", DEEDS + 4, (unsigned long long)seed,
           words[0], (unsigned long long)seed);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 1;
    signal(SIGTERM, on_term); /* before any process gets SIGTERM */
    pid_t victim = start(be_victim, seed, 1);
    for (int64_t patience = ripc_after(20 * SECOND); ripc_now() < patience; usleep(1000))
        if (atomic_load_explicit(&shared->ready, memory_order_acquire))
            break;
    pid_t honest = start(be_honest, seed, 2);
    uint64_t stream = 10;
    bool good = true;
    for (unsigned i = 0; i < DEEDS; i++) {
        int64_t until = ripc_after(seconds * SECOND / (int64_t)DEEDS);
        uint64_t trips = atomic_load_explicit(&shared->trips, memory_order_relaxed);
        uint64_t villains = stream;
        bool passed = act(&deeds[i], seed, &stream, until, victim);
        trips = atomic_load_explicit(&shared->trips, memory_order_relaxed) - trips;
        printf("%sok %u - a villain %s: %llu villains, %llu honest messages meanwhile\n",
               passed ? "" : "not ", i + 1, deeds[i].name, (unsigned long long)(stream - villains),
               (unsigned long long)trips);
        good &= passed;
    }
    kill(honest, SIGTERM);
    bool served = process_ended_well(honest);
    kill(victim, SIGTERM);
    bool lives = process_ended_well(victim);
    printf("%sok %zu - an honest process was served all the while (%llu messages)\n",
           served ? "" : "not ", DEEDS + 1, (unsigned long long)shared->trips);
    printf("%sok %zu - the victim survives and leaks nothing\n", lives ? "" : "not ", DEEDS + 2);
    bool counted = shared->protocol_errors > 0 && shared->protocol_errors <= shared->peers_lost;
    printf("%sok %zu - protocol errors were counted (%llu peers cut off, of %llu lost)\n",
           counted ? "" : "not ", DEEDS + 3, (unsigned long long)shared->protocol_errors,
           (unsigned long long)shared->peers_lost);
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok %zu - nothing is left behind\n", clean ? "" : "not ", DEEDS + 4);
    return good && served && lives && counted && clean ? 0 : 1;
}
