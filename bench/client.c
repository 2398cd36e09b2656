/* client: how long a program waits for an answer of a service, by weft/weft.h.
 *
 * It starts clusters of 27 servers with the service echo (examples/echo.c): one with a process for
 * each server, one with two processes. It asks the program's own server, and a server three hops
 * away, through shared memory and through the socket. `weft ping` on the same way, measured in
 * turns, is what the servers need by themselves. With a process for each server, the program is one
 * more process on the way. So the floor of the ratio is what one more process costs a chain of four
 * that do nothing but wake each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <weft/weft.h>

#include "bench.h"
#include "token.h"
#include "transport/clock.h"

#define PATIENCE weft_deadline(10000000000)

enum { ROUNDS = 7, ASKS = 2000, WARM = 200, SIZE = 64, NEAR = 0, FAR = 26, HOPS = 3 };

static char folder[64];
static bool quick;

/* Runs the command weft; returns the first bytes of its output. */
static void command(char *out, size_t size, const char *words)
{
    char line[512];
    snprintf(line, sizeof line, "%s %s --dir %s", BENCH_WEFT, words, folder);
    FILE *pipe = popen(line, "r");
    size_t got = pipe ? fread(out, 1, size - 1, pipe) : 0;
    out[got] = '\0';
    if (!pipe || pclose(pipe))
        bench_fail("%s failed", line);
}

static double ping_us(uint32_t to)
{
    char out[8192], words[128];
    snprintf(words, sizeof words, "ping %u --from 0 --count %d --size 112 --json", to,
             quick ? ASKS / 10 : ASKS);
    command(out, sizeof out, words);
    const char *median = strstr(out, "\"median_ns\"");
    if (!median)
        bench_fail("weft ping printed no median");
    return strtod(strchr(median, ':') + 1, NULL) / 1e3;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return a < b ? -1 : a > b;
}

/* The median of some requests. */
static double ask_us(struct weft_attachment *weft, int echo, uint32_t to)
{
    static double times[ASKS];
    uint8_t request[SIZE] = {0, 0, 0, (uint8_t)to}, answer[SIZE];
    unsigned count = quick ? ASKS / 10 : ASKS;
    for (unsigned i = 0; i < WARM + count; i++) {
        nsec began = clock_now();
        int size = weft_ask(weft, (uint32_t)echo, request, sizeof request, answer, sizeof answer,
                            PATIENCE);
        nsec ended = clock_now();
        if (size != SIZE)
            bench_fail("weft_ask: %s", weft_strerror(size));
        if (i >= WARM)
            times[i - WARM] = (double)(ended - began) / 1e3;
    }
    qsort(times, count, sizeof *times, compare);
    return times[count / 2];
}

struct side {
    struct weft_attachment *weft;
    int echo;
};

static struct side side_open(unsigned flags)
{
    struct side side;
    int result = weft_attach(folder, 0, flags, &side.weft);
    if (result < 0)
        bench_fail("weft_attach: %s", weft_strerror(result));
    side.echo = weft_find(side.weft, "echo", PATIENCE);
    if (side.echo < 0)
        bench_fail("weft_find: %s", weft_strerror(side.echo));
    return side;
}

static double chain_ratio(void)
{
    unsigned turns = quick ? ASKS / 10 : ASKS;
    double servers = token_trip(HOPS + 1, turns);
    return token_trip(HOPS + 2, turns) / servers;
}

static void measure(struct bench *bench, const char *which, uint32_t to, const char *way,
                    bool has_floor)
{
    struct side memory = side_open(0), by_socket = side_open(WEFT_BY_SOCKET);
    double rounds[4][ROUNDS];
    char what[BENCH_WHAT_SIZE];
    unsigned count = quick ? 3 : ROUNDS;
    for (unsigned i = 0; i < count; i++) {
        bench_show(bench, "%s, %s: round %u", which, way, i + 1);
        rounds[0][i] = ask_us(memory.weft, memory.echo, to);
        rounds[1][i] = ask_us(by_socket.weft, by_socket.echo, to);
        rounds[2][i] = to ? ping_us(to) : 0;
        rounds[3][i] = has_floor ? chain_ratio() : 0;
    }
    double medians[4];
    for (unsigned i = 0; i < 4; i++)
        medians[i] = bench_median(rounds[i], (int)count);
    const struct bench_value values[] = {{"memory", medians[0]},
                                         {"socket", medians[1]},
                                         {"weft ping", medians[2]},
                                         {"ratio", medians[0] / medians[2]},
                                         {"floor", medians[3]}};
    snprintf(what, sizeof what, "request and answer, %s, %s", way, which);
    bench_add(bench, what, "us", values, has_floor ? 5 : to ? 4 : 2);
    weft_detach(memory.weft);
    weft_detach(by_socket.weft);
}

static void cluster_down(void)
{
    char line[512];
    snprintf(line, sizeof line, "%s down --dir %s >/dev/null 2>&1", BENCH_WEFT, folder);
    (void)!system(line);
}

static void cluster(struct bench *bench, const char *which, const char *words, bool has_floor)
{
    char out[4096], all[256];
    snprintf(all, sizeof all, "up torus:3x3x3 --service %s %s", BENCH_ECHO, words);
    command(out, sizeof out, all);
    measure(bench, which, NEAR, "own server", false);
    measure(bench, which, FAR, "three hops away", has_floor);
    cluster_down();
}

int main(int argc, char **argv)
{
    struct bench bench;
    bench_start(&bench, argc, argv);
    quick = bench.quick;
    snprintf(folder, sizeof folder, "/tmp/weft-bench-%d", (int)getpid());
    atexit(cluster_down);
    cluster(&bench, "27 processes", "", true);
    cluster(&bench, "2 processes", "--processes 2", false);
    return bench_finish(&bench);
}
