/* store_weft: the store of a cluster of three servers, a process each, that keep three copies. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/store.h>

#include "store_side.h"

#define PATIENCE weft_deadline(20000000000)

enum { TICKETS = 1024 }; /* more than the numbers of requests under way are apart */

static char folder[512];
static struct weft_store *store;

static void command(const char *words)
{
    char line[2048], out[512];
    snprintf(line, sizeof line, "%s %s --dir %s/run 2>&1", BENCH_WEFT, words, folder);
    FILE *pipe = popen(line, "r");
    size_t got = pipe ? fread(out, 1, sizeof out - 1, pipe) : 0;
    out[got] = '\0';
    if (!pipe || pclose(pipe))
        bench_fail("%s: %s", line, out);
}

static void end(void)
{
    char line[1024];
    (void)weft_store_close(store);
    snprintf(line, sizeof line, "%s down --dir %s/run >/dev/null 2>&1", BENCH_WEFT, folder);
    (void)!system(line);
}

static struct weft_store *open_at(uint32_t server)
{
    char place[600];
    struct weft_store *opened;
    snprintf(place, sizeof place, "%s/run", folder);
    int result = weft_store_open(place, server, &opened);
    if (result)
        bench_fail("weft_store_open: %s", weft_store_strerror(result));
    return opened;
}

static bool begin(const char *data, bool in_memory)
{
    char words[1024];
    snprintf(folder, sizeof folder, "%s", data);
    snprintf(words, sizeof words, "up torus:3 --service store --set store.medium=%s --data %s/weft",
             in_memory ? "memory" : "disk", data);
    command(words);
    store = open_at(0);
    atexit(end);
    return true;
}

/* A run of many requests at once. */
struct crowd {
    struct store_turn *run;
    double sent[TICKETS];
    char key[STORE_KEY_ROOM]; /* of the next request */
    bool has_key;             /* it was not sent yet */
    unsigned open;
};

/* False: the run is over, or an answer must be taken first: the oldest request is under way still,
 * and the store numbers 64 requests from it on. */
static bool post(struct crowd *crowd)
{
    uint64_t ticket;
    bool gets = crowd->run->job == STORE_GETS;
    crowd->has_key = crowd->has_key || store_turn_next(crowd->run, crowd->key);
    if (!crowd->has_key)
        return false;
    const struct weft_store_request request = {.op = gets ? WEFT_STORE_GET : WEFT_STORE_PUT,
                                               .key = crowd->key,
                                               .key_size = strlen(crowd->key),
                                               .value = gets ? NULL : store_value(),
                                               .value_size = gets ? 0 : STORE_VALUE};
    double now = store_now();
    int result = weft_store_post(store, &request, &ticket, PATIENCE);
    if (result == -EAGAIN)
        return false;
    if (result)
        bench_fail("weft_store_post: %s", weft_store_strerror(result));
    crowd->sent[ticket % TICKETS] = now;
    crowd->has_key = false;
    crowd->open++;
    return true;
}

static void take(struct store_turn *run, const double sent[TICKETS])
{
    struct weft_store_answer answer;
    char value[STORE_VALUE];
    int result = weft_store_take(store, &answer, value, sizeof value, PATIENCE);
    bool whole = run->job == STORE_PUTS || answer.value_size == STORE_VALUE;
    if (result != 1 || answer.result < 0 || !whole)
        bench_fail("weft_store_take: %s", weft_store_strerror(result < 0 ? result : answer.result));
    store_turn_note(run, store_now() - sent[answer.ticket % TICKETS]);
}

static void run_at_once(struct store_turn *run)
{
    struct crowd crowd = {.run = run};
    store_turn_begin(run);
    do {
        while (crowd.open < run->at_once && post(&crowd))
            continue;
        if (crowd.open)
            take(run, crowd.sent);
        crowd.open -= crowd.open > 0;
    } while (crowd.open || crowd.has_key);
    store_turn_end(run);
}

/* A request at a time is a call that waits. */
static void run_one(struct store_turn *run)
{
    char key[STORE_KEY_ROOM], value[STORE_VALUE];
    store_turn_begin(run);
    while (store_turn_next(run, key)) {
        double begun = store_now();
        int result =
            run->job == STORE_GETS
                ? weft_store_get(store, key, strlen(key), value, sizeof value, NULL, PATIENCE)
                : weft_store_put(store, key, strlen(key), store_value(), STORE_VALUE, PATIENCE);
        if (result != (run->job == STORE_GETS ? STORE_VALUE : 0))
            bench_fail("weft: %s", weft_store_strerror(result));
        store_turn_note(run, store_now() - begun);
    }
    store_turn_end(run);
}

static void run(struct store_turn *run)
{
    if (run->at_once == 1)
        run_one(run);
    else
        run_at_once(run);
}

/* The server that leads the group of a key answers for it fastest. */
double store_weft_local(int count)
{
    double best = 0, *times = malloc((size_t)count * sizeof *times);
    char value[STORE_VALUE];
    if (!times)
        bench_fail("not enough memory");
    for (uint32_t server = 0; server < 3; server++) {
        struct weft_store *here = open_at(server);
        for (int i = 0; i < count; i++) {
            double begun = store_now();
            int result = weft_store_get(here, "key000000", 9, value, sizeof value, NULL, PATIENCE);
            if (result != STORE_VALUE)
                bench_fail("weft_store_get: %s", weft_store_strerror(result));
            times[i] = store_now() - begun;
        }
        double median = bench_median(times, count);
        best = !server || median < best ? median : best;
        (void)weft_store_close(here);
    }
    free(times);
    return best;
}

const struct store_side store_weft = {"weft", begin, run};
