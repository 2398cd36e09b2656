/* tools: the ping-pong programs that come with other libraries. Role 1 runs the server as its
 * child, and role 0 the client. A child runs on the core of its role. */
#include "measured/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measured/sides.h"
#include "process/child.h"
#include "process/program.h"
#include "transport/clock.h"

#define NUMBER_SIZE  24
#define EXIT_MISSING 127
#define LISTEN_TRIES 500 /* of 10 ms */

/* Returns the number of a TCP port that was free a moment ago. */
static int port_free(struct pair *pair)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    int handle = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (handle < 0)
        pair_fail(pair, "cannot open a socket: %s", strerror(errno));
    if (bind(handle, (struct sockaddr *)&address, sizeof address) ||
        getsockname(handle, (struct sockaddr *)&address, &size))
        pair_fail(pair, "cannot find a free port: %s", strerror(errno));
    close(handle);
    return ntohs(address.sin_port);
}

/* Tells whether a process listens on the port. It reads the lists of the kernel instead of
 * connecting, because the server would take a test connection for its client. */
static bool port_listens(int port)
{
    static const char *const lists[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    char line[512];
    bool found = false;
    for (int i = 0; i < 2 && !found; i++) {
        FILE *file = fopen(lists[i], "r");
        while (file && !found && fgets(line, sizeof line, file)) {
            unsigned local, state;
            found =
                sscanf(line, "%*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", &local, &state) == 2 &&
                local == (unsigned)port && state == 0x0A;
        }
        if (file)
            fclose(file);
    }
    return found;
}

/* The argument of tool_exec. */
struct tool {
    const char *const *words;
    bool everywhere; /* run on all cores */
    int out;         /* the file for its output */
};

static void tool_exec(void *argument)
{
    const struct tool *tool = argument;
    int nothing = open("/dev/null", O_RDWR);
    if (dup2(nothing, 0) < 0 || dup2(tool->out, 1) < 0 || dup2(nothing, 2) < 0)
        _exit(1);
    if (tool->everywhere) {
        cpu_set_t all;
        memset(&all, 0xff, sizeof all); /* the system removes the cores that we may not use */
        (void)sched_setaffinity(0, sizeof all, &all);
    }
    execvp(tool->words[0], (char *const *)tool->words);
    _exit(EXIT_MISSING);
}

void tool_run(struct pair *pair, const char *const *words, bool everywhere,
              char output[TOOL_OUTPUT_SIZE])
{
    struct tool tool = {words, everywhere, memfd_create("output", MFD_CLOEXEC)};
    if (tool.out < 0)
        pair_fail(pair, "cannot make a file for the output of %s", words[0]);
    pid_t child = child_start(tool_exec, &tool);
    int status = child < 0 ? (int)child : program_wait(child);
    if (status < 0)
        pair_fail(pair, "%s: %s", words[0], strerror(-status));
    if (status == EXIT_MISSING)
        pair_missing(pair, "%s is not installed", words[0]);
    if (status)
        pair_fail(pair, "%s failed", words[0]);
    ssize_t size = pread(tool.out, output, TOOL_OUTPUT_SIZE - 1, 0);
    output[size > 0 ? size : 0] = '\0';
    close(tool.out);
}

/* Runs the server in role 1 and, when it listens, the client in role 0. `output` receives the
 * output of the program of this role. */
static void tool_talk(struct pair *pair, int port, const char *const *server,
                      const char *const *client, char output[TOOL_OUTPUT_SIZE])
{
    pair_meet(pair);
    for (int tries = 0; pair->role == 0 && !port_listens(port); tries++) {
        if (tries == LISTEN_TRIES)
            pair_fail(pair, "%s does not accept connections", server[0]);
        clock_nap(10 * 1000 * 1000);
    }
    tool_run(pair, pair->role == 1 ? server : client, false, output);
}

/* Returns the same port in both roles: a free one that role 1 chose. */
static int port_agree(struct pair *pair)
{
    int mine = port_free(pair), theirs;
    pair_exchange(pair, &mine, &theirs, sizeof mine);
    return pair->role == 1 ? mine : theirs;
}

/* Reads the number in a column of the last line; columns are counted from 0. */
static double column_read(struct pair *pair, char *output, int column, const char *name)
{
    char *line = output, *last = NULL, *rest;
    for (char *at = strtok_r(line, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest))
        last = at;
    char *word = last ? strtok_r(last, " \t", &rest) : NULL;
    for (; word && column > 0; column--)
        word = strtok_r(NULL, " \t", &rest);
    double value = word ? strtod(word, NULL) : 0;
    if (!(value > 0))
        pair_fail(pair, "%s printed no time", name);
    return value;
}

/* The program prints the microseconds of one transfer, which is half a round trip. */
static void fi_pingpong(struct pair *pair, const char *provider)
{
    char port_text[NUMBER_SIZE], count[NUMBER_SIZE], size[NUMBER_SIZE], output[TOOL_OUTPUT_SIZE];
    int port = port_agree(pair);
    snprintf(port_text, sizeof port_text, "%d", port);
    snprintf(count, sizeof count, "%llu", (unsigned long long)pair_total(pair));
    snprintf(size, sizeof size, "%zu", pair->job->size);
    const char *const server[] = {"fi_pingpong", "-p", provider, "-e", "rdm",     "-I",
                                  count,         "-S", size,     "-B", port_text, NULL};
    const char *const client[] = {"fi_pingpong", "-p",        provider, "-e", "rdm",
                                  "-I",          count,       "-S",     size, "-P",
                                  port_text,     "127.0.0.1", NULL};
    tool_talk(pair, port, server, client, output);
    if (pair->role == 0)
        pair_report(pair, column_read(pair, output, 6, "fi_pingpong") * 2e-6);
}

static void fi_pingpong_shm(struct pair *pair)
{
    fi_pingpong(pair, "shm");
}

static void fi_pingpong_tcp(struct pair *pair)
{
    fi_pingpong(pair, "tcp;ofi_rxm");
}

/* The program prints "Final: iterations median ...". The median is the microseconds of one
 * transfer, which is half a round trip. */
static void ucx_perftest(struct pair *pair)
{
    char port_text[NUMBER_SIZE], count[NUMBER_SIZE], size[NUMBER_SIZE], output[TOOL_OUTPUT_SIZE];
    int port = port_agree(pair);
    snprintf(port_text, sizeof port_text, "%d", port);
    snprintf(count, sizeof count, "%llu", (unsigned long long)pair_total(pair));
    snprintf(size, sizeof size, "%zu", pair->job->size);
    const char *const server[] = {"ucx_perftest", "-p", port_text, NULL};
    const char *const client[] = {"ucx_perftest", "-p", port_text, "-t",        "tag_lat", "-s",
                                  size,           "-n", count,     "127.0.0.1", NULL};
    tool_talk(pair, port, server, client, output);
    if (pair->role == 0)
        pair_report(pair, column_read(pair, output, 2, "ucx_perftest") * 2e-6);
}

const struct side side_fi_pingpong_shm = {"libfabric_shm", fi_pingpong_shm};
const struct side side_fi_pingpong_tcp = {"fi_pingpong", fi_pingpong_tcp};
const struct side side_ucx_perftest = {"ucx_tag", ucx_perftest};
