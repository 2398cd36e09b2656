/* A peer is killed at every point of a long transfer: before and after each of its system calls,
 * one after the other until the transfer ends before the kill; after a random number of
 * instructions; and after a random time, with all its threads. It is the sender or the receiver;
 * the item goes into a window, waits to be fetched, is in memory outside the library or goes into a
 * return buffer.
 *
 * The survivor demands that each of its operations completes exactly once, with 0 or an error that
 * the interface documents; that what arrived is complete; that the next peer with that id is
 * served; and that in the end no operation, no buffer and no descriptor is left.
 *
 *   kill_test [SEED [ROUNDS]]     this many random rounds of each kind and way */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/rng.h"
#include "process.h"

#define SURVIVOR_ID 1
#define DOOMED_ID   2
#define SECOND      1000000000LL
#define LONG_SIZE   1100000 /* more than one piece of a copy */
#define SMALL_SIZE  20000   /* for killing at instructions */
#define FLIGHTS_MAX 64
#define CALLS_MAX   5000
#define STEPS_MAX   60000 /* about as many as a transfer takes */

/* Ends the process with a line that gives the failed condition. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# %s, line %d: %s\n", self.name, __LINE__, #condition);               \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

enum letter_kind {
    TAKE = 1,     /* a long item comes along */
    TAKE_PENDING, /* the same, but without a window for it */
    GIVE,         /* send me a long item */
    GIVE_FOREIGN, /* the same from memory outside the library */
    OFFER,        /* send me a return buffer */
    THANKS,       /* the answer to each of these */
    END,          /* the survivor makes its final checks and ends */
};

struct letter {
    uint32_t kind;
    uint32_t size; /* of the item that is requested or comes along */
    uint64_t sum;  /* of the item that comes along */
};

struct way {
    const char *name;
    enum letter_kind kind;
    bool foreign; /* the doomed process sends memory outside the library */
    bool window;  /* the doomed process has a window */
    bool returns; /* the doomed process offers a return buffer */
};

static const struct way ways[] = {
    {"sender, into a window", TAKE, false, false, false},
    {"sender, pending then fetched", TAKE_PENDING, false, false, false},
    {"sender, foreign memory", TAKE, true, false, false},
    {"sender, into a return buffer", OFFER, false, false, false},
    {"receiver, into a window", GIVE, false, true, false},
    {"receiver, pending then fetched", GIVE, false, false, false},
    {"receiver, foreign memory", GIVE_FOREIGN, false, true, false},
    {"receiver, into a return buffer", GIVE, false, false, true},
};
#define WAYS (sizeof ways / sizeof *ways)

struct flight {
    int64_t operation;
    uint8_t *data; /* NULL: the memory outside the library */
};

static struct {
    const char *name;
    struct ripc *ripc;
    struct ripc_service *service;
    struct flight flights[FLIGHTS_MAX];
    uint8_t *window;
    uint8_t *foreign;
    bool window_posted;
    bool ended;
    uint64_t arrived, failed, completed;
} self;

static unsigned count_descriptors(void)
{
    unsigned count = process_descriptors();
    demand(count);
    return count;
}

/* ---- content that its receiver can check ---- */

static uint64_t fill(uint8_t *data, size_t size, uint64_t seed)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word = (seed + i) * 0x9e3779b97f4a7c15u;
        memcpy(data + i, &word, 8);
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

static uint64_t sum_of(const uint8_t *data, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

/* ---- both processes ---- */

/* The successor of a killed process may still find its claim for a moment. */
static void enter(ripc_id id, uint32_t flags)
{
    struct ripc_config config = {.flags = flags};
    demand(ripc_open(&config, &self.ripc) == 0);
    int64_t deadline = ripc_after(20 * SECOND);
    int result;
    do
        result = ripc_bind(self.ripc, id, 0, &self.service);
    while (result == -EADDRINUSE && ripc_now() < deadline);
    demand(result == 0);
}

static void post_window(void)
{
    if (!self.window_posted)
        demand(ripc_window_add(self.ripc, NULL, self.window, LONG_SIZE) == 0);
    self.window_posted = true;
}

static void remove_window(void)
{
    if (self.window_posted)
        demand(ripc_window_remove(self.ripc, NULL, self.window) == 0);
    self.window_posted = false;
}

static int64_t send_letter(ripc_id to, const struct letter *letter, const struct iovec *item,
                           const struct iovec *buffer, uint64_t user)
{
    struct iovec shorts = {(void *)letter, sizeof *letter};
    struct ripc_send send = {
        .to = to,
        .shorts = &shorts,
        .short_count = 1,
        .longs = item,
        .long_count = item != NULL,
        .returns = buffer,
        .return_count = buffer != NULL,
        .user = user,
        .deadline = ripc_after(5 * SECOND),
    };
    int64_t result = ripc_send_message(self.service, &send);
    if (result == -EPIPE) /* the path to a dead peer; the next send finds its successor */
        result = ripc_send_message(self.service, &send);
    return result;
}

/* True if the item is here and complete; false if it was lost with its sender. */
static bool take_item(struct ripc_message *message, const struct letter *letter)
{
    struct ripc_item *item = &message->longs[0];
    static uint8_t fetched[LONG_SIZE];
    const uint8_t *data = item->data;
    int status = item->status;
    demand(message->long_count == 1 && item->size == letter->size);
    if (status == -EINPROGRESS) {
        status = ripc_fetch(message, 0, fetched, sizeof fetched, ripc_after(5 * SECOND));
        data = fetched;
    }
    demand(status == 0 || status == -EPIPE || status == -ECANCELED);
    if (data == self.window && status == 0)
        self.window_posted = false;
    if (status == 0)
        demand(sum_of(data, letter->size) == letter->sum);
    if (item->owned && item->data)
        demand(ripc_free(self.ripc, item->data) == 0);
    return status == 0;
}

/* ---- the survivor ---- */

static bool is_life(int64_t result)
{
    return result >= 0 || result == -EPIPE || result == -ENOENT || result == -ECONNREFUSED ||
           result == -ETIMEDOUT;
}

static void give(const struct letter *wish)
{
    struct flight *flight = self.flights;
    while (flight->operation)
        demand(++flight < self.flights + FLIGHTS_MAX);
    bool foreign = wish->kind == GIVE_FOREIGN;
    demand(wish->size <= LONG_SIZE);
    flight->data = foreign ? NULL : ripc_alloc(self.ripc, wish->size);
    uint8_t *data = foreign ? self.foreign : flight->data;
    demand(data);
    struct letter letter = {THANKS, wish->size, 0};
    /* All sends share the memory outside the library, so no one changes it while it may still be
     * read. */
    letter.sum = foreign ? sum_of(data, wish->size) : fill(data, wish->size, (uint64_t)ripc_now());
    struct iovec item = {data, wish->size};
    int64_t result =
        send_letter(DOOMED_ID, &letter, &item, NULL, (uint64_t)(flight - self.flights));
    demand(is_life(result));
    if (result > 0)
        flight->operation = result;
    else if (flight->data)
        demand(ripc_free(self.ripc, flight->data) == 0);
}

static void serve(struct ripc_message *message)
{
    struct letter letter, thanks = {THANKS, 0, 0};
    const struct iovec buffer = {NULL, LONG_SIZE};
    demand(message->size == sizeof letter);
    memcpy(&letter, message->data, sizeof letter);
    switch (letter.kind) {
    case TAKE:
    case TAKE_PENDING:
    case THANKS: /* into a return buffer */
        if (take_item(message, &letter))
            self.arrived++;
        else
            self.failed++;
        demand(is_life(send_letter(DOOMED_ID, &thanks, NULL, NULL, 0)));
        return;
    case GIVE:
    case GIVE_FOREIGN:
        give(&letter);
        return;
    case OFFER:
        demand(is_life(send_letter(DOOMED_ID, &thanks, NULL, &buffer, 0)));
        return;
    default:
        demand(letter.kind == END);
        self.ended = true;
    }
}

static void take_events(void)
{
    struct ripc_event events[8];
    int count = ripc_poll(self.service, events, 8, RIPC_NOW);
    demand(count > 0 || count == -EAGAIN);
    for (int i = 0; i < count; i++) {
        if (events[i].kind != RIPC_DONE)
            continue;
        demand(events[i].user < FLIGHTS_MAX);
        struct flight *flight = &self.flights[events[i].user];
        demand(flight->operation == events[i].operation); /* once, and no other */
        demand(events[i].status == 0 || events[i].status == -EPIPE || events[i].status == -ENOBUFS);
        if (flight->data)
            demand(ripc_free(self.ripc, flight->data) == 0);
        *flight = (struct flight){0};
        self.completed++;
    }
}

static bool all_is_over(void)
{
    struct ripc_stats stats;
    demand(ripc_stats(self.ripc, &stats) == 0);
    demand(stats.protocol_errors == 0);
    return stats.operations == 0 && stats.buffers == 0;
}

/* Runs the survivor. If `windows`, it always has a window, which is the same one each time. */
static void survive(bool windows)
{
    struct ripc_message message;
    self.name = "survivor";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    unsigned descriptors = count_descriptors();
    self.window = malloc(LONG_SIZE);
    self.foreign = malloc(LONG_SIZE);
    demand(self.window && self.foreign);
    fill(self.foreign, LONG_SIZE, 7);
    enter(SURVIVOR_ID, 0);
    demand(ripc_register(self.ripc, self.foreign, LONG_SIZE) == 0);
    while (!self.ended) {
        if (windows)
            post_window();
        int count = ripc_receive(self.service, &message, 1, ripc_after(SECOND / 1000));
        demand(count == 1 || count == -ETIMEDOUT);
        if (count == 1) {
            serve(&message);
            ripc_release(&message);
        }
        take_events();
    }
    remove_window();
    for (int64_t deadline = ripc_after(20 * SECOND); !all_is_over(); take_events())
        demand(ripc_now() < deadline);
    demand(ripc_unregister(self.ripc, self.foreign) == 0);
    demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    demand(count_descriptors() == descriptors);
    printf("# %llu items arrived whole, %llu were lost with their sender, %llu sent completed\n",
           (unsigned long long)self.arrived, (unsigned long long)self.failed,
           (unsigned long long)self.completed);
    fflush(stdout);
    _exit(0);
}

/* ---- the doomed process ---- */

static void doomed_receive(struct ripc_message *message, struct letter *letter)
{
    demand(ripc_receive(self.service, message, 1, ripc_after(20 * SECOND)) == 1);
    demand(message->size == sizeof *letter);
    memcpy(letter, message->data, sizeof *letter);
    demand(letter->kind == THANKS);
}

static void doomed_send(enum letter_kind kind, uint8_t *data, uint32_t size)
{
    struct letter letter = {kind, size, fill(data, size, (uint64_t)ripc_now())};
    struct iovec item = {data, size};
    int64_t operation = send_letter(SURVIVOR_ID, &letter, &item, NULL, 0);
    demand(operation >= 0);
    if (operation > 0)
        demand(ripc_wait(self.service, operation, ripc_after(20 * SECOND)) == 0);
}

/* The whole transfer, for a process that is not killed. */
static void transfer(const struct way *way, uint32_t size)
{
    struct ripc_message message;
    struct letter letter = {way->kind, size, 0};
    const struct iovec buffer = {NULL, LONG_SIZE};
    uint8_t *data = way->foreign ? malloc(size) : ripc_alloc(self.ripc, size);
    demand(data);
    if (way->foreign)
        demand(ripc_register(self.ripc, data, size) == 0);
    if (way->window)
        post_window();
    if (way->kind == TAKE || way->kind == TAKE_PENDING) {
        doomed_send(way->kind, data, size);
        doomed_receive(&message, &letter);
    } else if (way->kind == OFFER) {
        demand(send_letter(SURVIVOR_ID, &letter, NULL, NULL, 0) == 0);
        doomed_receive(&message, &letter);
        ripc_release(&message);
        doomed_send(THANKS, data, size);
        doomed_receive(&message, &letter);
    } else {
        demand(send_letter(SURVIVOR_ID, &letter, NULL, way->returns ? &buffer : NULL, 0) == 0);
        doomed_receive(&message, &letter);
        demand(take_item(&message, &letter));
        demand(!way->returns || message.longs[0].returned);
    }
    ripc_release(&message);
}

/* Runs the doomed process. It stops before the first point at which it may be killed: with its
 * context open or, if `early`, before it opens the context. If `early`, it also closes the context
 * in the end. */
static void be_doomed(const struct way *way, uint32_t size, uint32_t flags, bool early)
{
    self.name = "doomed";
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    self.window = malloc(LONG_SIZE);
    demand(self.window);
    if (early)
        raise(SIGSTOP);
    enter(DOOMED_ID, flags);
    if (!early)
        raise(SIGSTOP);
    transfer(way, size);
    if (early)
        demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    _exit(0);
}

/* ---- the killer ---- */

enum outcome { KILLED, LIVED, WRONG };

static enum outcome outcome_of(int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return KILLED;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? LIVED : WRONG;
}

static pid_t doom(const struct way *way, uint32_t size, uint32_t flags, bool early, bool traced)
{
    int status;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (traced)
            ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        be_doomed(way, size, flags, early);
    }
    if (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) &&
        WSTOPSIG(status) == SIGSTOP)
        return pid;
    printf("# it ended before it stopped: status 0x%x\n", (unsigned)status);
    return -1;
}

static enum outcome kill_after_stops(pid_t pid, int request, unsigned count)
{
    return outcome_of(process_kill_after_stops(pid, request, count));
}

static enum outcome kill_after_time(pid_t pid, unsigned microseconds)
{
    int status;
    kill(pid, SIGCONT);
    usleep(microseconds);
    kill(pid, SIGKILL);
    return waitpid(pid, &status, 0) == pid ? outcome_of(status) : WRONG;
}

struct killer {
    struct rng rng;
    unsigned rounds;
    pid_t survivor;
    unsigned kills;
    bool good;
};

/* Counts the kill, and checks that the survivor still runs. */
static bool killer_note(struct killer *killer, const struct way *way, const char *how,
                        unsigned point, enum outcome outcome)
{
    int status;
    killer->kills += outcome == KILLED;
    if (outcome != WRONG && waitpid(killer->survivor, &status, WNOHANG) == 0)
        return true;
    printf("# %s, killed after %u %s: the %s went wrong\n", way->name, point, how,
           outcome == WRONG ? "doomed" : "survivor");
    if (outcome != WRONG)
        killer->survivor = 0;
    killer->good = false;
    return false;
}

static void kill_at_every_call(struct killer *killer, const struct way *way, bool early)
{
    enum outcome outcome = KILLED;
    /* Only the kernel copies piece by piece; elsewhere there is no system call between two
     * pieces. */
    bool foreign = way->foreign || way->kind == GIVE_FOREIGN;
    for (unsigned n = 0; n < CALLS_MAX && outcome == KILLED; n++) {
        pid_t pid = doom(way, foreign ? LONG_SIZE : SMALL_SIZE, RIPC_MANUAL, early, true);
        outcome = pid > 0 ? kill_after_stops(pid, PTRACE_SYSCALL, n) : WRONG;
        if (!killer_note(killer, way, "system calls, begun and ended", n, outcome))
            return;
        if (outcome == LIVED)
            printf("# %s: %u points\n", way->name, n);
    }
    killer->good &= outcome == LIVED;
}

/* How many instructions it takes depends on which process waits for which: a run that was not
 * killed shows about how many there are. */
static void kill_at_instructions(struct killer *killer, const struct way *way)
{
    unsigned most = STEPS_MAX;
    for (unsigned i = 0; i < killer->rounds; i++) {
        unsigned n = (unsigned)rng_below(&killer->rng, most);
        pid_t pid = doom(way, SMALL_SIZE, RIPC_MANUAL, false, true);
        enum outcome outcome = pid > 0 ? kill_after_stops(pid, PTRACE_SINGLESTEP, n) : WRONG;
        if (!killer_note(killer, way, "instructions", n, outcome))
            return;
        if (outcome == LIVED)
            most = n; /* it had ended by then: aim earlier */
    }
}

static void kill_at_times(struct killer *killer, const struct way *way)
{
    for (unsigned i = 0; i < 4 * killer->rounds; i++) {
        unsigned n = (unsigned)rng_below(&killer->rng, 3000);
        pid_t pid = doom(way, LONG_SIZE, 0, false, false);
        enum outcome outcome = pid > 0 ? kill_after_time(pid, n) : WRONG;
        if (!killer_note(killer, way, "microseconds", n, outcome))
            return;
    }
}

/* Tells the survivor to end, and returns whether it succeeded. */
static bool close_books(pid_t survivor)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        self.name = "herald";
        enter(0, 0);
        struct letter letter = {END, 0, 0};
        demand(send_letter(SURVIVOR_ID, &letter, NULL, NULL, 0) == 0);
        ripc_close(self.ripc, ripc_after(SECOND));
        _exit(0);
    }
    bool told = waitpid(pid, &status, 0) == pid && outcome_of(status) == LIVED;
    return told && waitpid(survivor, &status, 0) == survivor && outcome_of(status) == LIVED;
}

static bool try_way(struct killer *killer, const struct way *way)
{
    fflush(stdout);
    killer->good = true;
    killer->survivor = fork();
    if (killer->survivor == 0)
        survive(way->kind != TAKE_PENDING);
    kill_at_every_call(killer, way, way == ways);
    if (killer->good)
        kill_at_instructions(killer, way);
    if (killer->good)
        kill_at_times(killer, way);
    /* Once more, without a kill. */
    if (killer->good) {
        pid_t pid = doom(way, LONG_SIZE, 0, false, false);
        int status;
        kill(pid, SIGCONT);
        killer->good = waitpid(pid, &status, 0) == pid && outcome_of(status) == LIVED;
    }
    if (killer->good)
        return close_books(killer->survivor);
    if (killer->survivor > 0) {
        kill(killer->survivor, SIGKILL);
        waitpid(killer->survivor, NULL, 0);
    }
    return false;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    struct killer killer = {
        .rng = rng_make(seed, 0),
        .rounds = count > 2 ? (unsigned)atoi(words[2]) : 3,
    };
    char folder[] = "/dev/shm/weft-kill-XXXXXX";
    bool good = true;
    printf("1..%zu\n# seed %llu: replay with %s %llu\n", WAYS + 1, (unsigned long long)seed,
           words[0], (unsigned long long)seed);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    for (unsigned i = 0; i < WAYS; i++) {
        killer.kills = 0;
        bool passed = try_way(&killer, &ways[i]);
        printf("%sok %u - the %s, killed %u times\n", passed ? "" : "not ", i + 1, ways[i].name,
               killer.kills);
        good &= passed;
    }
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok %zu - nothing is left behind\n", clean ? "" : "not ", WAYS + 1);
    return good && clean ? 0 : 1;
}
