/* Atomic multicast between real processes: members that send in bursts, that are silent, that
 * deliver slowly, that join later, and that are killed at any moment.
 *
 * Each member logs what it delivers in memory that the test can read. All members that are alive at
 * the end must have the same log. The log of a killed member must be the beginning of that log, the
 * log of a late joiner its end. The messages of each sender must be in order without duplicates,
 * and those of live senders complete.
 *
 *   sst_atomic_test [SEED [ROUNDS [SCENARIO]]]     that many rounds of each scenario, or of one */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <weft/sst_multicast.h>

#include "base/rng.h"
#include "process.h"

#define MEMBERS_MAX  6
#define MESSAGES_MAX 20000 /* of a member */
#define LOG_MAX      (MEMBERS_MAX * MESSAGES_MAX)
#define BURST_MAX    100
#define SLOT_SIZE    40
#define SECOND       1000000000LL
#define PATIENCE     ripc_after(60 * SECOND)

/* Ends the process with a line that gives the reason. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# member %u, line %d: %s\n", self.index, __LINE__, #condition);       \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

struct scenario {
    const char *name;
    uint32_t members;  /* at the beginning */
    uint32_t joiners;  /* start when some messages were delivered */
    uint32_t kills;    /* of the members at the beginning */
    uint32_t messages; /* of each member that sends */
    uint32_t silent;   /* members, a bit each */
    uint32_t slow;
    uint32_t slots;
    uint32_t flags; /* of the table */
};

static const struct scenario scenarios[] = {
    {.name = "all send", .members = 4, .messages = 20000, .slots = 128, .flags = SST_MANUAL},
    {.name = "all send, with detectors", .members = 3, .messages = 5000, .slots = 64},
    {.name = "some are silent", .members = 4, .messages = 5000, .silent = 0xa, .slots = 64},
    {.name = "one is slow", .members = 3, .messages = 600, .slow = 1, .slots = 16},
    {.name = "one is killed", .members = 4, .kills = 1, .messages = 8000, .slots = 64},
    {.name = "two are killed, one is silent",
     .members = 5,
     .kills = 2,
     .messages = 5000,
     .silent = 2,
     .slots = 32,
     .flags = SST_MANUAL},
    {.name = "one joins", .members = 2, .joiners = 1, .messages = 8000, .slots = 64},
    {.name = "one joins, one is killed",
     .members = 3,
     .joiners = 1,
     .kills = 1,
     .messages = 8000,
     .slots = 32,
     .flags = SST_MANUAL},
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* A message, and its entry in the log. */
struct letter {
    uint32_t index;  /* of the sender */
    uint32_t number; /* of the message, counted by its sender */
};

struct account {
    _Atomic uint64_t delivered; /* letters in the log; stored with release after they are written */
    _Atomic uint64_t of[MEMBERS_MAX];   /* by sender; relaxed */
    _Atomic uint64_t nulls, sent_again; /* relaxed */
    struct letter log[LOG_MAX];
};

struct shared {
    _Atomic bool stop;
    struct account accounts[MEMBERS_MAX];
};
static struct shared *shared;

static struct {
    uint32_t index;
    const struct scenario *scenario;
    struct account *account;
    uint64_t sequence; /* of the last message */
    uint64_t table, seed;
} self;

/* ---- a member ---- */

static void deliver(struct sst_multicast *multicast, const struct sst_multicast_message *messages,
                    unsigned count, void *argument)
{
    struct account *account = self.account;
    uint64_t delivered = atomic_load_explicit(&account->delivered, memory_order_relaxed);
    demand(count > 0);
    for (unsigned i = 0; i < count; i++) {
        struct letter letter;
        demand(messages[i].size >= sizeof letter && (uintptr_t)messages[i].data % 8 == 0);
        memcpy(&letter, messages[i].data, sizeof letter);
        demand(letter.index < MEMBERS_MAX && letter.number < MESSAGES_MAX);
        demand(messages[i].member == letter.index + 1);
        demand(messages[i].size == sizeof letter + letter.number % (SLOT_SIZE - sizeof letter + 1));
        for (uint32_t at = sizeof letter; at < messages[i].size; at++)
            demand(((const uint8_t *)messages[i].data)[at] == (uint8_t)letter.number);
        demand(delivered + i == 0 || messages[i].sequence > self.sequence);
        self.sequence = messages[i].sequence;
        demand(delivered + i < LOG_MAX);
        account->log[delivered + i] = letter;
        atomic_fetch_add_explicit(&account->of[letter.index], 1, memory_order_relaxed);
    }
    atomic_store_explicit(&account->delivered, delivered + count, memory_order_release);
    if (self.scenario->slow >> self.index & 1)
        usleep(500);
}

static void change(struct sst_multicast *multicast, const struct sst_multicast_view *view,
                   void *argument)
{
    uint64_t delivered = atomic_load_explicit(&self.account->delivered, memory_order_relaxed);
    demand(view->row_count >= 1 && view->row_count <= MEMBERS_MAX);
    demand(delivered == 0 || view->sequence > self.sequence);
}

/* Writes that many messages, beginning with that number. */
static unsigned letters_write(struct iovec *messages, uint8_t (*texts)[SLOT_SIZE], uint32_t number,
                              unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct letter letter = {self.index, number + i};
        size_t size = sizeof letter + letter.number % (SLOT_SIZE - sizeof letter + 1);
        memset(texts[i], (int)(uint8_t)letter.number, size);
        memcpy(texts[i], &letter, sizeof letter);
        messages[i] = (struct iovec){texts[i], size};
    }
    return count;
}

static void send_all(struct sst_multicast *multicast, struct rng *rng)
{
    static uint8_t texts[BURST_MAX][SLOT_SIZE];
    struct iovec messages[BURST_MAX];
    for (uint32_t sent = 0; sent < self.scenario->messages;) {
        unsigned left = self.scenario->messages - sent;
        unsigned burst = 1 + (unsigned)rng_below(rng, BURST_MAX);
        burst = letters_write(messages, texts, sent, burst < left ? burst : left);
        int result = sst_multicast_send_many(multicast, messages, burst, PATIENCE);
        demand(result > 0);
        sent += (uint32_t)result;
        if (rng_below(rng, 64) == 0)
            usleep((unsigned)rng_below(rng, 300));
    }
}

static void be_member(uint32_t index)
{
    self.index = index;
    self.account = &shared->accounts[index];
    const struct scenario *scenario = self.scenario;
    struct rng rng = rng_make(self.seed, index);
    struct ripc *ripc;
    struct sst_multicast *multicast;
    struct sst_multicast_config config = {
        .table = self.table,
        .slot_size = SLOT_SIZE,
        .slot_count = scenario->slots,
        .members_wanted = index < scenario->members ? scenario->members : 1,
        .rows_max = 16,
        .flags = scenario->flags,
        .member = index + 1,
        .deadline = PATIENCE,
        .deliver = deliver,
        .change = change,
    };
    demand(ripc_open(NULL, &ripc) == 0);
    demand(sst_multicast_open(ripc, &config, &multicast) == 0);
    if (!(scenario->silent >> index & 1))
        send_all(multicast, &rng);
    while (!atomic_load_explicit(&shared->stop, memory_order_acquire)) {
        if (scenario->flags & SST_MANUAL)
            sst_multicast_step(multicast, ripc_after(1000000));
        else
            usleep(500);
    }
    struct sst_multicast_stats stats;
    demand(sst_multicast_stats(multicast, &stats) == 0);
    demand(stats.delivered >= stats.delivered_batches && stats.sent >= stats.sent_batches);
    atomic_store_explicit(&self.account->nulls, stats.nulls, memory_order_relaxed);
    atomic_store_explicit(&self.account->sent_again, stats.sent_again, memory_order_relaxed);
    demand(sst_multicast_close(multicast, PATIENCE) == 0);
    demand(ripc_close(ripc, PATIENCE) == 0);
}

static pid_t start(uint32_t index)
{
    fflush(stdout);
    pid_t pid = fork(); /* before there are threads */
    demand(pid >= 0);
    if (pid)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_member(index);
    _exit(0);
}

/* ---- the logs ---- */

static uint64_t written(uint32_t index)
{
    return atomic_load_explicit(&shared->accounts[index].delivered, memory_order_acquire);
}

static bool sends(uint32_t index)
{
    return !(self.scenario->silent >> index & 1);
}

/* Have all live members delivered all messages of all live members? */
static bool all_is_delivered(const pid_t *pids)
{
    uint32_t began = self.scenario->members;
    for (uint32_t to = 0; to < MEMBERS_MAX; to++)
        for (uint32_t from = 0; from < MEMBERS_MAX; from++) {
            uint64_t count =
                atomic_load_explicit(&shared->accounts[to].of[from], memory_order_relaxed);
            /* A late joiner has not received the first messages of the others. */
            bool heard =
                to < began || from == to ? count == self.scenario->messages : written(to) > 0;
            if (pids[to] && pids[from] && sends(from) && !heard)
                return false;
        }
    /* All have the same messages of dead members, too, so all logs end with the same letter. */
    struct letter last[2];
    unsigned found = 0;
    for (uint32_t i = 0; i < MEMBERS_MAX; i++) {
        uint64_t count = written(i);
        if (!pids[i] || !count)
            continue;
        last[found > 0] = shared->accounts[i].log[count - 1];
        if (found++ && memcmp(&last[0], &last[1], sizeof *last) != 0)
            return false;
    }
    return true;
}

/* Checks that each sender's letters are in order without duplicates, and complete from the first
 * one for a member that was there from the beginning. */
static bool senders_are_whole(uint32_t index, bool began)
{
    const struct account *account = &shared->accounts[index];
    int64_t next[MEMBERS_MAX];
    for (uint32_t i = 0; i < MEMBERS_MAX; i++)
        next[i] = began || i == index ? 0 : -1;
    for (uint64_t i = 0; i < written(index); i++) {
        struct letter letter = account->log[i];
        if (next[letter.index] >= 0 && letter.number != next[letter.index]) {
            printf("# member %u: letter %u of member %u where %lld was next\n", index,
                   letter.number, letter.index, (long long)next[letter.index]);
            return false;
        }
        next[letter.index] = (int64_t)letter.number + 1;
    }
    return true;
}

/* Is the log of `part` the beginning of that of `whole`, or (joined) its end? */
static bool logs_agree(uint32_t part, uint32_t whole, bool joined)
{
    uint64_t part_count = written(part), whole_count = written(whole);
    if (part_count > whole_count) {
        printf("# member %u has %llu letters, member %u %llu\n", part,
               (unsigned long long)part_count, whole, (unsigned long long)whole_count);
        return false;
    }
    const struct letter *from = shared->accounts[whole].log;
    from += joined ? whole_count - part_count : 0;
    for (uint64_t i = 0; i < part_count; i++)
        if (memcmp(&shared->accounts[part].log[i], &from[i], sizeof *from) != 0) {
            printf("# members %u and %u differ in letter %llu\n", part, whole,
                   (unsigned long long)i);
            return false;
        }
    return true;
}

static bool accounts_agree(const pid_t *pids)
{
    const struct scenario *scenario = self.scenario;
    uint32_t whole = 0;
    while (whole < scenario->members && !pids[whole])
        whole++; /* a live member that was there from the beginning */
    bool good = true;
    for (uint32_t i = 0; i < scenario->members + scenario->joiners; i++) {
        bool began = i < scenario->members;
        good &= senders_are_whole(i, began) && logs_agree(i, whole, !began);
        if (began && pids[i] && written(i) != written(whole)) {
            printf("# member %u has %llu letters, member %u %llu\n", i,
                   (unsigned long long)written(i), whole, (unsigned long long)written(whole));
            good = false;
        }
    }
    return good;
}

/* ---- a scenario ---- */

/* Waits until the member has delivered that many, if there are that many. */
static void written_await(uint32_t index, uint64_t count, int64_t deadline)
{
    while (ripc_now() < deadline && written(index) < count)
        usleep(50);
}

static bool scenario_run(const struct scenario *scenario, uint64_t seed)
{
    struct rng rng = rng_make(seed, 100);
    pid_t pids[MEMBERS_MAX] = {0};
    uint32_t senders = scenario->members - (uint32_t)__builtin_popcount(scenario->silent);
    uint64_t letters = (uint64_t)senders * scenario->messages;
    memset((void *)shared, 0, sizeof *shared);
    self.scenario = scenario;
    self.seed = seed;
    self.table++;
    for (uint32_t i = 0; i < scenario->members; i++)
        pids[i] = start(i);
    for (uint32_t i = 0; i < scenario->members; i++)
        written_await(i, 1, PATIENCE); /* no member is killed before all have joined */
    for (uint32_t event = 0; event < scenario->kills + scenario->joiners; event++) {
        uint32_t witness = scenario->members - 1;
        while (!pids[witness])
            witness--;
        written_await(witness, written(witness) + rng_below(&rng, letters / 4), ripc_after(SECOND));
        usleep((unsigned)rng_below(&rng, 1000));
        if (event < scenario->joiners) {
            pids[scenario->members + event] = start(scenario->members + event);
            continue;
        }
        uint32_t victim = (uint32_t)rng_below(&rng, scenario->members);
        while (!pids[victim])
            victim = (victim + 1) % scenario->members;
        kill(pids[victim], SIGKILL);
        waitpid(pids[victim], NULL, 0);
        pids[victim] = 0;
    }
    int64_t deadline = PATIENCE;
    while (!all_is_delivered(pids) && ripc_now() < deadline)
        usleep(1000);
    bool good = ripc_now() < deadline;
    for (uint32_t i = 0; !good && i < scenario->members + scenario->joiners; i++)
        printf("# member %u %s delivered %llu\n", i, pids[i] ? "lives and" : "is dead and",
               (unsigned long long)written(i));
    atomic_store_explicit(&shared->stop, true, memory_order_release);
    for (uint32_t i = 0; i < MEMBERS_MAX; i++)
        good &= !pids[i] || process_ended_well(pids[i]);
    return accounts_agree(pids) && good;
}

/* Runs that many rounds and prints a line about them. */
static bool scenario_try(size_t index, uint64_t seed, unsigned rounds)
{
    const struct scenario *scenario = &scenarios[index];
    bool good = true;
    uint64_t delivered = 0, nulls = 0, again = 0;
    int64_t begun = ripc_now(), longest = 0;
    for (unsigned round = 0; good && round < rounds; round++) {
        int64_t since = ripc_now();
        good = scenario_run(scenario, seed + round);
        longest = ripc_now() - since > longest ? ripc_now() - since : longest;
        for (uint32_t member = 0; member < MEMBERS_MAX; member++) {
            delivered += written(member);
            nulls += shared->accounts[member].nulls;
            again += shared->accounts[member].sent_again;
        }
        if (!good)
            printf("# seed %llu\n", (unsigned long long)seed + round);
    }
    good &= !scenario->silent || nulls > 0;
    printf("# %.1f s, the longest round %.1f s; %llu deliveries, %llu turns passed, %llu messages "
           "sent again\n",
           (double)(ripc_now() - begun) / 1e9, (double)longest / 1e9, (unsigned long long)delivered,
           (unsigned long long)nulls, (unsigned long long)again);
    printf("%sok %zu - %s\n", good ? "" : "not ", index + 1, scenario->name);
    return good;
}

int main(int count, char **words)
{
    char folder[] = "/dev/shm/weft-multicast-XXXXXX";
    uint64_t seed = count > 1 ? strtoull(words[1], NULL, 0) : (uint64_t)ripc_now();
    unsigned rounds = count > 2 ? (unsigned)atoi(words[2]) : 1;
    size_t only = count > 3 ? (size_t)atoi(words[3]) : 0;
    bool all = true;
    printf("1..%zu\n# seed %llu: replay with %s %llu\n", SCENARIOS + 1, (unsigned long long)seed,
           words[0], (unsigned long long)seed);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
        return 1;
    self.table = 200;
    for (size_t i = 0; i < SCENARIOS; i++)
        if (!only || only == i + 1)
            all &= scenario_try(i, seed, rounds);
    ripc_clean(NULL);
    bool clean = rmdir(folder) == 0;
    printf("%sok %zu - nothing is left behind\n", clean ? "" : "not ", SCENARIOS + 1);
    return all && clean ? 0 : 1;
}
