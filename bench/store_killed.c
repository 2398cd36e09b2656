/* store_killed: what programs see of a store while a third of its servers is killed, one after the
 * other: how many new keys are put in a second before and after, how long a key was unavailable at
 * most, and whether anything that was acknowledged is lost.
 *
 *     weft up torus:3x3x3 --service store --dir D && store_killed --dir D [--quick] [--json]
 *
 * 32 threads put new keys of 1 KiB, each one after the other, by way of servers that stay alive.
 * The others are killed by SIGKILL, every second one. A request that finds its group without a
 * leader waits, so the longest request tells how long a key was unavailable. In the end all
 * acknowledged keys are read and compared. */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/store.h>

#include "base/array.h"
#include "base/rng.h"
#include "bench.h"

#define THREADS    32
#define SERVERS    27
#define KILLED     9
#define VALUE_SIZE 1024
#define SECOND     INT64_C(1000000000)
#define PATIENCE   (60 * SECOND)

struct put {
    int64_t begun, ended;
    bool done;
};

struct thread {
    unsigned index;
    uint32_t server;
    struct put *puts;
    size_t count, room;
    uint64_t lost, unread;
    pthread_t thread;
};

static struct {
    const char *folder;
    struct thread threads[THREADS];
    uint32_t order[SERVERS]; /* the first ones are killed */
    _Atomic bool over;
} all;

static int64_t now(void)
{
    return weft_deadline(0);
}

static void fail(const char *what, int result)
{
    fprintf(stderr, "store_killed: %s: %s\n", what, weft_store_strerror(result));
    exit(2);
}

static size_t key_write(const struct thread *thread, size_t number, char *key, char *value)
{
    int size = snprintf(key, 40, "%u.%zu", thread->index, number);
    for (size_t at = 0; at < VALUE_SIZE; at += (size_t)size)
        memcpy(value + at, key, VALUE_SIZE - at < (size_t)size ? VALUE_SIZE - at : (size_t)size);
    return (size_t)size;
}

static struct weft_store *store_open(const struct thread *thread)
{
    struct weft_store *store;
    int result = weft_store_open(all.folder, thread->server, &store);
    if (result)
        fail(all.folder, result);
    return store;
}

static void *put_all(void *context)
{
    struct thread *thread = context;
    struct weft_store *store = store_open(thread);
    char key[40], value[VALUE_SIZE];
    while (!atomic_load_explicit(&all.over, memory_order_relaxed)) {
        if (!array_reserve(&thread->puts, &thread->room, thread->count + 1, sizeof *thread->puts))
            fail("keys", -ENOMEM);
        size_t size = key_write(thread, thread->count, key, value);
        struct put *put = &thread->puts[thread->count++];
        put->begun = now();
        put->done =
            weft_store_put(store, key, size, value, VALUE_SIZE, weft_deadline(PATIENCE)) == 0;
        put->ended = now();
    }
    (void)weft_store_close(store);
    return NULL;
}

static void *read_all(void *context)
{
    struct thread *thread = context;
    struct weft_store *store = store_open(thread);
    char key[40], value[VALUE_SIZE], found[VALUE_SIZE];
    for (size_t i = 0; i < thread->count; i++) {
        size_t size = key_write(thread, i, key, value);
        if (!thread->puts[i].done)
            continue;
        int result =
            weft_store_get(store, key, size, found, sizeof found, NULL, weft_deadline(PATIENCE));
        if (result == VALUE_SIZE && !memcmp(value, found, sizeof found))
            continue;
        thread->lost += result >= 0 || result == -ENOENT;
        thread->unread += result < 0 && result != -ENOENT;
    }
    (void)weft_store_close(store);
    return NULL;
}

static void start_all(void *(*run)(void *context))
{
    for (unsigned i = 0; i < THREADS; i++)
        if (pthread_create(&all.threads[i].thread, NULL, run, &all.threads[i]))
            fail("threads", -EAGAIN);
}

static void join_all(void)
{
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(all.threads[i].thread, NULL);
}

/* The file of a server's lock begins with the number of its process. */
static void kill_server(uint32_t server)
{
    char path[512];
    int pid = 0;
    snprintf(path, sizeof path, "%s/node-%u.lock", all.folder, server);
    FILE *file = fopen(path, "r");
    if (!file || fscanf(file, "%d", &pid) != 1 || pid <= 1 || kill(pid, SIGKILL))
        fail(path, -ESRCH);
    fclose(file);
}

static void sleep_for(int64_t length)
{
    struct timespec time = {.tv_sec = length / SECOND, .tv_nsec = length % SECOND};
    while (nanosleep(&time, &time) && errno == EINTR)
        ;
}

/* Keys in a second, of those whose puts ended between the moments. */
static double rate(int64_t from, int64_t until)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < THREADS; i++)
        for (size_t j = 0; j < all.threads[i].count; j++) {
            const struct put *put = &all.threads[i].puts[j];
            count += put->done && put->ended >= from && put->ended < until;
        }
    return (double)count * (double)SECOND / (double)(until - from);
}

/* Of all puts that were under way at some time between the moments. */
static double longest(int64_t from, int64_t until)
{
    int64_t most = 0;
    for (unsigned i = 0; i < THREADS; i++)
        for (size_t j = 0; j < all.threads[i].count; j++) {
            const struct put *put = &all.threads[i].puts[j];
            if (put->ended >= from && put->begun < until && put->ended - put->begun > most)
                most = put->ended - put->begun;
        }
    return (double)most / 1e6;
}

static void servers_draw(void)
{
    struct rng rng = rng_make((uint64_t)now(), 1);
    for (uint32_t i = 0; i < SERVERS; i++)
        all.order[i] = i;
    for (uint32_t i = 0; i < SERVERS; i++) {
        uint32_t other = i + (uint32_t)rng_below(&rng, SERVERS - i), swap = all.order[i];
        all.order[i] = all.order[other];
        all.order[other] = swap;
    }
    for (unsigned i = 0; i < THREADS; i++)
        all.threads[i] =
            (struct thread){.index = i, .server = all.order[KILLED + i % (SERVERS - KILLED)]};
}

static void row(struct bench *bench, const char *what, const char *unit, double value)
{
    const struct bench_value values[] = {{"weft", value}};
    bench_add(bench, what, unit, values, 1);
}

static void report(struct bench *bench, int64_t begun, int64_t killed, int64_t last, int64_t ended)
{
    uint64_t done = 0, failed = 0, lost = 0, unread = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        const struct thread *thread = &all.threads[i];
        for (size_t j = 0; j < thread->count; j++) {
            done += thread->puts[j].done;
            failed += !thread->puts[j].done;
        }
        lost += thread->lost;
        unread += thread->unread;
    }
    double before = rate(begun, killed), after = rate(ended - (killed - begun), ended);
    row(bench, "new keys, 27 servers", "keys/s", before);
    row(bench, "new keys, 18 servers", "keys/s", after);
    row(bench, "the rate falls by", "%", 100 * (1 - after / before));
    row(bench, "longest put before", "ms", longest(begun, killed));
    row(bench, "longest put while servers die", "ms", longest(killed, last + 2 * SECOND));
    row(bench, "keys that were acknowledged", "keys", (double)done);
    row(bench, "puts that failed", "puts", (double)failed);
    row(bench, "acknowledged keys that are lost or differ", "keys", (double)lost);
    row(bench, "acknowledged keys that cannot be read", "keys", (double)unread);
}

int main(int count, char **words)
{
    struct bench bench;
    const struct bench_word more[] = {{"dir", NULL, &all.folder}, {0}};
    bench_start_with(&bench, count, words, more);
    if (!all.folder) {
        fprintf(stderr, "usage: weft up torus:3x3x3 --service store --dir D\n"
                        "       store_killed --dir D [--quick] [--json]\n");
        return 2;
    }
    int64_t span = bench.quick ? 3 * SECOND : 10 * SECOND;
    servers_draw();
    start_all(put_all);
    sleep_for(SECOND);
    int64_t begun = now();
    sleep_for(span);
    int64_t killed = now();
    for (unsigned i = 0; i < KILLED; i++) {
        kill_server(all.order[i]);
        sleep_for(SECOND);
    }
    int64_t last = now();
    sleep_for(SECOND + span);
    int64_t ended = now();
    atomic_store_explicit(&all.over, true, memory_order_relaxed);
    join_all();
    start_all(read_all);
    join_all();
    report(&bench, begun, killed, last, ended);
    return bench_finish(&bench);
}
