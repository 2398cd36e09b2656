/* Participants send each other messages of every kind at once, while random participants are killed
 * and started again. Each survivor checks that each of its operations completed exactly once, that
 * what it received is what was sent, and that in the end no operation, no buffer and no descriptor
 * is left.
 *
 *   stress_test [SEED [SECONDS]] */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#include "base/rng.h"
#include "process.h"

#define PARTICIPANTS 5
#define FIRST_ID     100
#define GROUP_ID     99
#define FLIGHTS_MAX  16
#define LONG_MAX     200000
#define SECOND       1000000000LL

/* Ends the participant; the parent counts this as a failure. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# participant %u, line %d: %s\n", self.number, __LINE__, #condition); \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

enum { REQUEST_PLAIN = 1, REQUEST_RETURN, REPLY };

struct letter { /* the beginning of every short item */
    uint32_t kind;
    uint32_t from;
    uint64_t sum; /* of the long item that comes along, or 0 */
};

struct flight {
    int64_t operation;
    uint8_t *data;
};

static struct {
    unsigned number;
    struct ripc *ripc;
    struct ripc_service *service;
    struct rng rng;
    struct flight flights[FLIGHTS_MAX];
    uint8_t *window;
    uint64_t completed;
    uint64_t received;
} self;

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

/* ---- content that its receiver can check ---- */

static uint64_t fill(uint8_t *data, size_t size, uint64_t seed)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word = (seed + i) * 0x9e3779b97f4a7c15u;
        memcpy(data + i, &word, 8);
        sum += word;
    }
    return sum;
}

static uint64_t sum_of(const uint8_t *data, size_t size)
{
    uint64_t sum = size;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        sum += word;
    }
    return sum;
}

/* ---- sending ---- */

/* A dead, absent or slow peer is no error. */
static bool is_life(int64_t result)
{
    return result >= 0 || result == -EAGAIN || result == -ENOENT || result == -EPIPE ||
           result == -ECONNREFUSED || result == -ETIMEDOUT || result == -ECONNRESET;
}

static void send_short(ripc_id to)
{
    struct letter letter = {.kind = REPLY, .from = self.number};
    int result = ripc_send(self.service, to, &letter, sizeof letter, ripc_after(SECOND / 1000));
    demand(is_life(result));
}

static void send_long(ripc_id to, uint32_t kind)
{
    struct flight *flight = &self.flights[rng_below(&self.rng, FLIGHTS_MAX)];
    if (flight->data)
        return; /* an item is still in flight there */
    size_t size = rng_below(&self.rng, LONG_MAX);
    flight->data = ripc_alloc(self.ripc, size ? size : 1);
    demand(flight->data);
    struct letter letter = {.kind = kind, .from = self.number};
    letter.sum = fill(flight->data, size, rng_next(&self.rng));
    struct iovec shorts = {&letter, sizeof letter};
    struct iovec longs = {flight->data, size};
    struct ripc_send send = {
        .to = to,
        .shorts = &shorts,
        .short_count = 1,
        .longs = &longs,
        .long_count = 1,
        .user = (uint64_t)(flight - self.flights),
        .deadline = ripc_after(SECOND / 1000),
    };
    flight->operation = ripc_send_message(self.service, &send);
    demand(is_life(flight->operation));
    if (flight->operation > 0)
        return;
    demand(ripc_free(self.ripc, flight->data) == 0);
    *flight = (struct flight){0};
}

static void send_request(ripc_id to)
{
    struct letter letter = {.kind = REQUEST_RETURN, .from = self.number};
    struct iovec shorts = {&letter, sizeof letter};
    struct iovec returns = {NULL, LONG_MAX};
    struct ripc_send send = {
        .to = to,
        .shorts = &shorts,
        .short_count = 1,
        .returns = &returns,
        .return_count = 1,
        .deadline = ripc_after(SECOND / 1000),
    };
    demand(is_life(ripc_send_message(self.service, &send)));
}

/* ---- what comes back ---- */

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
        demand(events[i].status == 0 || events[i].status == -ENOBUFS ||
               events[i].status == -EPIPE || events[i].status == -ECANCELED);
        demand(ripc_free(self.ripc, flight->data) == 0);
        *flight = (struct flight){0};
        self.completed++;
    }
}

static void cancel_one(void)
{
    struct flight *flight = &self.flights[rng_below(&self.rng, FLIGHTS_MAX)];
    if (!flight->data)
        return;
    int result = ripc_cancel(self.service, flight->operation, RIPC_NOW);
    demand(result == 0 || result == -EAGAIN || result == -EALREADY || result == -ENOBUFS);
}

static void check_item(struct ripc_message *message, const struct letter *letter)
{
    struct ripc_item *item = &message->longs[0];
    static uint8_t fetched[LONG_MAX];
    if (item->status == -EINPROGRESS) {
        if (rng_below(&self.rng, 3) == 0)
            return; /* rejected by the release */
        int result = ripc_fetch(message, 0, fetched, sizeof fetched, ripc_after(SECOND));
        demand(result == 0 || result == -EPIPE || result == -ECANCELED);
        if (result == 0)
            demand(sum_of(fetched, item->size) == letter->sum);
        return;
    }
    if (item->status)
        return; /* its sender died in the middle */
    demand(sum_of(item->data, item->size) == letter->sum);
    if (item->owned)
        demand(ripc_free(self.ripc, item->data) == 0);
}

static void post_window(void)
{
    int result = ripc_window_add(self.ripc, NULL, self.window, LONG_MAX);
    demand(result == 0 || result == -EEXIST);
}

static void take_messages(int64_t deadline)
{
    struct ripc_message messages[4];
    int count = ripc_receive(self.service, messages, 4, deadline);
    demand(count > 0 || count == -EAGAIN || count == -ETIMEDOUT);
    for (int i = 0; i < count; i++) {
        struct letter letter;
        demand(messages[i].size == sizeof letter);
        memcpy(&letter, messages[i].data, sizeof letter);
        demand(messages[i].from == FIRST_ID + letter.from);
        self.received++;
        if (messages[i].long_count)
            check_item(&messages[i], &letter);
        if (letter.kind == REQUEST_RETURN)
            send_long(messages[i].from, REPLY);
        else if (letter.kind == REQUEST_PLAIN)
            send_short(messages[i].from);
        ripc_release(&messages[i]);
    }
    if (rng_below(&self.rng, 2))
        post_window();
}

/* ---- one participant ---- */

static void act(void)
{
    ripc_id to = FIRST_ID + rng_below(&self.rng, PARTICIPANTS);
    switch (rng_below(&self.rng, 8)) {
    case 0:
    case 1:
        send_short(to);
        break;
    case 2:
    case 3:
        send_long(to, REQUEST_PLAIN);
        break;
    case 4:
        send_request(to);
        break;
    case 5:
        send_short(GROUP_ID);
        break;
    case 6:
        cancel_one();
        break;
    default:
        take_messages(ripc_after(SECOND / 2000));
    }
}

static unsigned flights_left(void)
{
    unsigned left = 0;
    for (unsigned i = 0; i < FLIGHTS_MAX; i++)
        left += self.flights[i].data != NULL;
    return left;
}

/* The successor of a killed participant may still find its claim for a moment. */
static void id_bind(void)
{
    int64_t deadline = ripc_after(20 * SECOND);
    int result;
    do
        result = ripc_bind(self.ripc, FIRST_ID + self.number, 0, &self.service);
    while (result == -EADDRINUSE && ripc_now() < deadline);
    demand(result == 0);
    demand(ripc_join(self.service, GROUP_ID) == 0);
}

static void finish(unsigned descriptors)
{
    int64_t deadline = ripc_after(20 * SECOND);
    while (flights_left() && ripc_now() < deadline) {
        take_messages(ripc_after(SECOND / 1000));
        take_events();
    }
    demand(flights_left() == 0);
    struct ripc_stats stats;
    demand(ripc_stats(self.ripc, &stats) == 0);
    demand(stats.operations == 0);
    demand(stats.protocol_errors == 0);
    demand(ripc_close(self.ripc, ripc_after(SECOND)) == 0);
    demand(count_descriptors() == descriptors);
    free(self.window);
}

static void participate(unsigned number, uint64_t seed)
{
    self.number = number;
    self.rng = rng_make(seed, number);
    self.window = malloc(LONG_MAX);
    unsigned descriptors = count_descriptors();
    demand(self.window && ripc_open(NULL, &self.ripc) == 0);
    id_bind();
    while (!stopping) {
        act();
        take_messages(RIPC_NOW);
        take_events();
    }
    finish(descriptors);
    printf("# participant %u: %llu operations completed, %llu messages received\n", number,
           (unsigned long long)self.completed, (unsigned long long)self.received);
    fflush(stdout);
    _exit(0);
}

/* ---- the parent ---- */

static pid_t start(unsigned number, uint64_t seed)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        participate(number, seed);
    return pid;
}

static unsigned kill_and_start(pid_t *pids, uint64_t seed, int64_t until, bool *alive)
{
    struct rng rng = rng_make(seed, 1000);
    unsigned kills = 0;
    while (ripc_now() < until && *alive) {
        usleep(20000 + (useconds_t)rng_below(&rng, 60000));
        unsigned victim = (unsigned)rng_below(&rng, PARTICIPANTS);
        int status;
        if (waitpid(pids[victim], &status, WNOHANG) != 0) {
            *alive = false; /* it ended by itself: a demand failed */
            pids[victim] = 0;
            break;
        }
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], &status, 0);
        pids[victim] = start(victim, seed + ++kills);
    }
    return kills;
}

/* Later contexts must have removed everything that killed ones left. */
static unsigned files_left(const char *folder)
{
    unsigned left = 0;
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (entry->d_name[0] != '.') {
            printf("# left behind: %s\n", entry->d_name);
            left++;
        }
    if (directory)
        closedir(directory);
    return left;
}

int main(int count, char **words)
{
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    int64_t seconds = count > 2 ? atoi(words[2]) : 4;
    char folder[] = "/dev/shm/weft-stress-XXXXXX";
    pid_t pids[PARTICIPANTS];
    bool alive = true;
    printf("1..3\n# seed %llu: replay with %s %llu\n", (unsigned long long)seed, words[0],
           (unsigned long long)seed);
    if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    signal(SIGTERM, on_term); /* before any process gets SIGTERM */
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        pids[i] = start(i, seed);
    unsigned kills = kill_and_start(pids, seed, ripc_after(seconds * SECOND), &alive);
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGTERM);
    for (unsigned i = 0; i < PARTICIPANTS; i++)
        alive &= pids[i] > 0 && process_ended_well(pids[i]);
    printf("%sok 1 - every operation of a survivor completed exactly once (%u killed)\n",
           alive ? "" : "not ", kills);
    printf("%sok 2 - at least one participant was killed\n", kills > 0 ? "" : "not ");
    ripc_clean(NULL);
    bool clean = files_left(folder) == 0;
    printf("%sok 3 - nothing is left behind\n", clean ? "" : "not ");
    (void)!rmdir(folder);
    return alive && clean && kills > 0 ? 0 : 1;
}
