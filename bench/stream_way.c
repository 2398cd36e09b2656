/* stream_way: starts a cluster with the plug-in of way_service.c, and asks it by weft/weft.h. */
#include "stream_way.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#define PATIENCE weft_deadline(20000000000)

enum { SERVERS = 27, FROM = 0, TO = 26, ROUNDS = 7 };

static char folder[64];

/* Runs the command weft; returns its output, which the next call overwrites. */
static const char *command(const char *words)
{
    static char out[1 << 20];
    char line[512];
    snprintf(line, sizeof line, "%s %s --dir %s", BENCH_WEFT, words, folder);
    FILE *pipe = popen(line, "r");
    size_t got = pipe ? fread(out, 1, sizeof out - 1, pipe) : 0;
    out[got] = '\0';
    if (!pipe || pclose(pipe))
        bench_fail("%s failed", line);
    return out;
}

static void cluster_down(void)
{
    char line[512];
    snprintf(line, sizeof line, "%s down --dir %s >/dev/null 2>&1", BENCH_WEFT, folder);
    (void)!system(line);
}

/* ---- the service ---- */

static struct weft_attachment *servers[SERVERS];
static int service;

static void ask(unsigned server, const char *text, char *answer, size_t room)
{
    int size = weft_ask(servers[server], (uint32_t)service, text, (uint32_t)strlen(text), answer,
                        (uint32_t)room - 1, PATIENCE);
    if (size < 0)
        bench_fail("weft_ask: %s", weft_strerror(size));
    answer[size] = '\0';
}

static void order(unsigned server, const char *word, int to)
{
    char text[32], answer[64];
    snprintf(text, sizeof text, to < 0 ? "%s" : "%s %d", word, to);
    ask(server, text, answer, sizeof answer);
}

struct moment {
    uint64_t bytes;
    int64_t nsec;
};

static struct moment count(void)
{
    struct moment moment;
    char answer[64];
    ask(TO, "count", answer, sizeof answer);
    if (sscanf(answer, "%" SCNu64 " %" SCNd64, &moment.bytes, &moment.nsec) != 2)
        bench_fail("the service answers %s", answer);
    return moment;
}

static void rest(const struct bench *bench, unsigned msec)
{
    msec = bench->quick ? msec / 4 + 1 : msec;
    nanosleep(&(struct timespec){msec / 1000, msec % 1000 * 1000000L}, NULL);
}

/* GB/s that arrive while the first server sends. */
static double rate(const struct bench *bench, const char *word)
{
    order(FROM, word, TO);
    rest(bench, 200); /* the sender reaches its speed */
    struct moment from = count();
    rest(bench, 800);
    struct moment to = count();
    order(FROM, "stop", -1);
    rest(bench, 100); /* what is on its way arrives */
    return (double)(to.bytes - from.bytes) / (double)(to.nsec - from.nsec);
}

/* The sum of a number over all servers. */
static double sum(const char *name)
{
    char word[64];
    double whole = 0;
    snprintf(word, sizeof word, "\"%s\":", name);
    for (const char *at = command("nodes --json"); (at = strstr(at, word)); at++)
        whole += strtod(at + strlen(word), NULL);
    return whole;
}

/* ---- the rows ---- */

static void row(struct bench *bench, const char *what, bool others)
{
    double streams[ROUNDS], packets[ROUNDS];
    int rounds = bench->quick ? 3 : ROUNDS;
    double sent = sum("segments_sent"), again = sum("segments_resent"), lost = sum("queue_full");
    for (unsigned i = 1; others && i < SERVERS - 1; i++)
        order(i, "stream", (int)((i + 13) % SERVERS));
    for (int i = 0; i < rounds; i++) {
        bench_show(bench, "%s: round %d of %d", what, i + 1, rounds);
        streams[i] = rate(bench, "stream");
        packets[i] = others ? 1 : rate(bench, "raw");
    }
    for (unsigned i = 1; others && i < SERVERS - 1; i++)
        order(i, "stop", -1);
    double stream = bench_median(streams, rounds), packet = bench_median(packets, rounds);
    sent = sum("segments_sent") - sent;
    again = sum("segments_resent") - again;
    lost = sum("queue_full") - lost;
    const struct bench_value values[] = {
        {"weft", stream}, {"packets", packet}, {"ratio", stream / packet}};
    const struct bench_value crowd[] = {
        {"weft", stream}, {"segments", sent}, {"resent", again}, {"dropped", lost}};
    if (others)
        bench_add(bench, what, "GB/s", crowd, 4);
    else
        bench_add(bench, what, "GB/s", values, 3);
}

void stream_way(struct bench *bench)
{
    snprintf(folder, sizeof folder, "/tmp/weft-stream-%d", (int)getpid());
    atexit(cluster_down);
    (void)command("up torus:3x3x3 --service " BENCH_WAY);
    for (unsigned i = 0; i < SERVERS; i++) {
        int result = weft_attach(folder, i, 0, &servers[i]);
        if (result < 0)
            bench_fail("weft_attach: %s", weft_strerror(result));
    }
    service = weft_find(servers[FROM], "way", PATIENCE);
    if (service < 0)
        bench_fail("weft_find: %s", weft_strerror(service));
    row(bench, "a stream over three hops, 27 processes", false);
    row(bench, "the same while 25 others send streams", true);
    for (unsigned i = 0; i < SERVERS; i++)
        weft_detach(servers[i]);
    cluster_down();
}
