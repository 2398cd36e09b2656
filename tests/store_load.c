/* store_load: clients of a real store, whose answers are judged.
 *
 *     store_load DIR SEED CLIENTS SERVERS GROUPS [expires]
 *
 * Each client is a thread with a store of its own (weft/store.h), by way of a fixed server or of
 * any one, and changes few keys (sim/store). Meanwhile another program breaks the cluster in DIR,
 * and writes what is to be done to standard input:
 *
 *   calm     the cluster is mended: from now on every request must be answered for good; when each
 *            client has read all keys in use, and many others, the line `calm` is printed
 *   storm    requests may fail again
 *   counts   prints a line of JSON
 *   end      judges all answers; prints a line of JSON
 *
 * The exit code is 1 if something is wrong, which is then printed to standard error. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/store.h>

#include "base/rng.h"
#include "base/text.h"
#include "sim/store/store_account.h"
#include "sim/store/store_requests.h"

#define CLIENTS_MAX 64
#define STREAM      0x10ad
#define MILLI       INT64_C(1000000)
#define STRICT      (90000 * MILLI) /* the patience of a request that must be answered */
#define READS       60              /* of former keys, by each client, in a calm */
#define WRITES      20              /* and so many other requests */
#define CLOCK_ERROR (100 * MILLI)   /* the servers of one machine have one wall clock */
#define ROOM        (1 << 20)       /* bytes of a value: more than these keys can have */
#define REOPEN      40              /* one request of so many is the last of its store */
#define REST_NSEC   (5 * MILLI)
#define REOPEN_NSEC (20 * MILLI) /* between two attempts to open the store */

enum mode { STORM, CALM, END };

struct client {
    unsigned index;
    struct rng rng;
    struct weft_store *store;
    uint32_t server; /* by way of which; WEFT_ANY */
    uint32_t requests;
    uint64_t seen[STORE_KEYS_MAX];
    uint8_t value[REQUEST_VALUE_MAX];
    uint8_t *room;
    pthread_t thread;
};

/* By errno: why requests were refused, or not answered. */
struct failures {
    uint64_t full, unavailable, unreached, busy;
};

static struct {
    const char *folder;
    bool expires; /* some keys have a time to live */
    uint32_t server_count;
    unsigned client_count;
    struct client clients[CLIENTS_MAX];
    /* The lock protects the rest. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum mode mode;
    unsigned rounds; /* calms that were begun */
    unsigned calm;   /* clients that are done with this one */
    struct store_keys keys;
    struct store_account account;
    struct failures failures;
    bool failed;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int64_t now(void)
{
    return weft_deadline(0);
}

/* ---- what is wrong ---- */

/* Under the lock. */
static void wrong(const struct client *client, uint32_t number, const char *what)
{
    struct text text = {0};
    if (!all.failed) {
        account_blame(&all.account, number, &text);
        fprintf(stderr, "client %u at server %d: %s: %s", client->index, (int)client->server, what,
                text.data);
    }
    all.failed = true;
    text_fini(&text);
}

/* ---- one request ---- */

static struct weft_store_request plain(const struct store_request *request)
{
    return (struct weft_store_request){
        .op = request->op,
        .condition = request->condition,
        .key = request->key,
        .key_size = request->key_size,
        .value = request->value,
        .value_size = request->value_size,
        .version = request->version,
        .delta = request->delta,
        .flags = request->flags,
        .ttl = (int64_t)request->ttl,
    };
}

/* What the servers have said, as the program learns it. */
static struct store_answer answer_of(int result, const struct weft_store_answer *heard,
                                     const void *value)
{
    struct store_answer answer = {.flags = heard->flags,
                                  .ttl = (uint64_t)heard->ttl,
                                  .version = heard->version,
                                  .value_size = result > 0 ? (uint32_t)result : 0,
                                  .value = value};
    switch (result) {
    case -ENOENT:
        answer.status = STORE_ABSENT;
        break;
    case -EEXIST:
    case -ESTALE:
        answer.status = STORE_CONFLICT;
        break;
    case -ETIMEDOUT:
        answer.status = STORE_UNKNOWN;
        break;
    case -ENOTCONN:
    case -EHOSTUNREACH:
        answer.status = STORE_UNAVAILABLE;
        break;
    case -EBUSY:
        answer.status = STORE_BUSY;
        break;
    case -ENOSPC:
        answer.status = STORE_FULL;
        break;
    default:
        answer.status = result < 0 ? STORE_MALFORMED : STORE_DONE;
    }
    return answer;
}

static void failures_count(int result)
{
    all.failures.full += result == -ENOSPC;
    all.failures.unavailable += result == -EHOSTUNREACH;
    all.failures.unreached += result == -ENOTCONN;
    all.failures.busy += result == -EBUSY;
}

static void end(struct client *client, uint32_t number, const struct store_request *request,
                int result, const struct weft_store_answer *heard, bool strict)
{
    char digits[24];
    bool sums = request->op == STORE_INCR || request->op == STORE_DECR, has_result;
    struct store_answer answer = answer_of(result, heard, client->room);
    struct history_value value;
    enum history_outcome outcome;
    if (result == 0 && sums) {
        answer.value_size = (uint32_t)snprintf(digits, sizeof digits, "%" PRIu64, heard->number);
        answer.value = digits;
    }
    const char *odd = request_outcome(request, &answer, &outcome, &value, &has_result);
    if (odd)
        fprintf(stderr, "%s: %s\n", odd, weft_store_strerror(result));
    account_end(&all.account, number, outcome, answer.version, has_result ? &value : NULL, now());
    account_close(&all.account, number, now());
    failures_count(result);
    const struct history_op *op = &all.account.history.ops[number];
    if (outcome == HISTORY_DONE || outcome == HISTORY_CONFLICT)
        client->seen[op->key] = answer.version;
    if (op->kind == HISTORY_PUT && outcome != HISTORY_REFUSED)
        store_keys_put(&all.keys, (unsigned)op->key);
    if (op->kind != HISTORY_GET && outcome == HISTORY_UNKNOWN)
        store_keys_doubt(&all.keys, (unsigned)op->key);
    if (odd)
        wrong(client, number, odd);
    else if (strict && !store_fate_is_known(outcome))
        wrong(client, number, "the store is not available again");
}

/* With a key number, reads that key. False: it was refused. */
static bool request(struct client *client, unsigned key, bool reads, bool strict)
{
    static const int64_t patience[] = {20 * MILLI, 300 * MILLI, 1000 * MILLI, 3000 * MILLI,
                                       5000 * MILLI};
    struct request_maker maker = {&all.keys,    &client->rng, client->index, ++client->requests,
                                  client->seen, all.expires,  false};
    struct weft_store_answer heard = {0};
    struct store_request asked;
    struct history_op op;
    pthread_mutex_lock(&all.lock);
    if (reads)
        request_read_of(&maker, key, &asked, &op);
    else
        request_draw(&maker, &asked, client->value, &op);
    op.client = client->index;
    uint32_t number = account_begin(&all.account, &op, now());
    account_expires(&all.account, number, (int64_t)asked.ttl);
    account_sent(&all.account, number, client->server);
    pthread_mutex_unlock(&all.lock);
    const struct weft_store_request words = plain(&asked);
    int64_t wait = strict ? STRICT : patience[rng_below(&client->rng, 5)];
    int result =
        weft_store_ask(client->store, &words, &heard, client->room, ROOM, weft_deadline(wait));
    pthread_mutex_lock(&all.lock);
    end(client, number, &asked, result, &heard, strict);
    bool refused = all.account.history.ops[number].outcome == HISTORY_REFUSED;
    pthread_mutex_unlock(&all.lock);
    return !refused;
}

/* ---- a client ---- */

static enum mode mode_now(unsigned *round)
{
    pthread_mutex_lock(&all.lock);
    enum mode mode = all.failed ? END : all.mode;
    *round = all.rounds;
    pthread_mutex_unlock(&all.lock);
    return mode;
}

static void rest(int64_t length)
{
    struct timespec time = {.tv_nsec = (long)length};
    (void)nanosleep(&time, NULL);
}

/* Tries until it works, or the run ends. */
static bool reopen(struct client *client, bool elsewhere)
{
    unsigned round;
    if (client->store)
        (void)weft_store_close(client->store);
    client->store = NULL;
    if (elsewhere)
        client->server =
            client->index % 2 ? (uint32_t)rng_below(&client->rng, all.server_count) : WEFT_ANY;
    while (mode_now(&round) != END) {
        int result = weft_store_open(all.folder, client->server, &client->store);
        if (result == 0)
            return true;
        client->store = NULL;
        rest(REOPEN_NSEC);
    }
    return false;
}

/* All keys in use, and many that were. */
static void calm_round(struct client *client)
{
    pthread_mutex_lock(&all.lock);
    unsigned count = all.keys.count, current[STORE_SLOTS + 1];
    memcpy(current, all.keys.current, sizeof current);
    pthread_mutex_unlock(&all.lock);
    for (unsigned i = 0; i < WRITES; i++)
        (void)request(client, 0, false, true);
    for (unsigned i = 0; i <= STORE_SLOTS; i++)
        (void)request(client, current[i], true, true);
    for (unsigned i = 0; i < READS; i++)
        (void)request(client, (unsigned)rng_below(&client->rng, count), true, true);
    pthread_mutex_lock(&all.lock);
    all.calm++;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
}

static void *client_run(void *context)
{
    struct client *client = context;
    unsigned round, done = 0;
    enum mode mode;
    bool open = reopen(client, true);
    while (open && (mode = mode_now(&round)) != END) {
        if (mode == CALM && done < round) {
            calm_round(client);
            done = round;
            continue;
        }
        if (mode != STORM || !request(client, 0, false, false))
            rest(REST_NSEC);
        if (rng_below(&client->rng, REOPEN) == 0)
            open = reopen(client, true);
    }
    if (client->store)
        (void)weft_store_close(client->store);
    return NULL;
}

/* ---- what is to be done ---- */

static void mode_set(enum mode mode)
{
    pthread_mutex_lock(&all.lock);
    all.mode = mode;
    all.rounds += mode == CALM;
    all.calm = 0;
    pthread_cond_broadcast(&all.changed);
    pthread_mutex_unlock(&all.lock);
}

static void calm_wait(void)
{
    mode_set(CALM);
    pthread_mutex_lock(&all.lock);
    while (all.calm < all.client_count && !all.failed)
        pthread_cond_wait(&all.changed, &all.lock);
    pthread_mutex_unlock(&all.lock);
    printf("calm\n");
}

/* Under the lock, or when no client runs any more. */
static void counts_print(void)
{
    const struct store_counts *counts = &all.account.counts;
    printf("{\"requests\": %" PRIu64 ", \"gets\": %" PRIu64 ", \"changes\": %" PRIu64
           ", \"absent\": %" PRIu64 ", \"conflicts\": %" PRIu64 ", \"refused\": %" PRIu64
           ", \"unknown\": %" PRIu64 ", ",
           counts->requests, counts->gets, counts->changes, counts->absent, counts->conflicts,
           counts->refused, counts->unknown);
    printf("\"full\": %" PRIu64 ", \"unavailable\": %" PRIu64 ", \"unreached\": %" PRIu64
           ", \"busy\": %" PRIu64 ", \"keys\": %u, \"fine\": %s}\n",
           all.failures.full, all.failures.unavailable, all.failures.unreached, all.failures.busy,
           all.keys.count, all.failed ? "false" : "true");
}

static void judge(void)
{
    struct text text = {0};
    if (account_judge(&all.account))
        return;
    all.failed = true;
    account_write(&all.account, &text);
    fprintf(stderr, "%s%s", all.account.verdict.data, text.data ? text.data : "");
    text_fini(&text);
}

static void orders_follow(void)
{
    char line[80];
    while (fgets(line, sizeof line, stdin)) {
        if (!strcmp(line, "calm\n")) {
            calm_wait();
        } else if (!strcmp(line, "storm\n")) {
            mode_set(STORM);
            printf("storm\n");
        } else if (!strcmp(line, "counts\n")) {
            pthread_mutex_lock(&all.lock);
            counts_print();
            pthread_mutex_unlock(&all.lock);
        } else if (!strcmp(line, "end\n")) {
            return;
        } else {
            fprintf(stderr, "store_load: no such order: %s", line);
        }
        fflush(stdout);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: store_load DIR SEED CLIENTS SERVERS GROUPS [expires]\n");
    return 2;
}

int main(int count, char **words)
{
    if (count < 6 || count > 7 || (count == 7 && strcmp(words[6], "expires") != 0))
        return usage();
    all.expires = count == 7;
    uint64_t seed = strtoull(words[2], NULL, 10);
    all.folder = words[1];
    all.client_count = (unsigned)strtoul(words[3], NULL, 10);
    all.server_count = (uint32_t)strtoul(words[4], NULL, 10);
    uint32_t groups = (uint32_t)strtoul(words[5], NULL, 10);
    if (!all.client_count || all.client_count > CLIENTS_MAX || !all.server_count || !groups)
        return usage();
    all.account.clock_error = CLOCK_ERROR;
    store_keys_init(&all.keys, groups);
    for (unsigned i = 0; i < all.client_count; i++) {
        struct client *client = &all.clients[i];
        client->index = i;
        client->rng = rng_make(seed, STREAM + i);
        client->room = malloc(ROOM);
        if (!client->room || pthread_create(&client->thread, NULL, client_run, client))
            return 2;
    }
    orders_follow();
    mode_set(END);
    for (unsigned i = 0; i < all.client_count; i++) {
        (void)pthread_join(all.clients[i].thread, NULL);
        free(all.clients[i].room);
    }
    judge();
    counts_print();
    account_fini(&all.account);
    return all.failed;
}
