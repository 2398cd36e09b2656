#pragma once
/* fork: what the tests of forked children share. A test is a list of stories. Each story runs in a
 * process of its own, which has not used the library before, in a folder of its own. */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <weft/ripc.h>

#define SECOND      1000000000LL
#define PATIENCE    (20 * SECOND) /* a story that waits so long has failed */
#define STORY_LIMIT 100           /* seconds; then the system ends the processes of a story */
#define STORY_SKIP  77

#define PARENT_ID 100 /* of the process that forks */
#define PEER_ID   200 /* of the process that observes it */
#define CHILD_ID  300 /* of a child that opens a context of its own */

#if defined(__SANITIZE_ADDRESS__)
/* A child cannot free what only threads of its parent refer to; LeakSanitizer reports that. */
__attribute__((visibility("default"))) const char *__lsan_default_options(void);
const char *__lsan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

#if defined(__SANITIZE_THREAD__)
#define FORK_THREADS 0 /* a child of a process with threads cannot start threads */
#else
#define FORK_THREADS 1
#endif

static const char *fork_role = "story"; /* which process this is, for messages */

/* Ends the process with a line that gives the failed condition. */
#define demand(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "# %s, line %d: %s\n", fork_role, __LINE__, #condition);               \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

/* The same for a result that must have a certain value, which it prints. */
#define demand_result(call, wanted)                                                                \
    do {                                                                                           \
        long long result_ = (long long)(call);                                                     \
        if (result_ != (wanted)) {                                                                 \
            fprintf(stderr, "# %s, line %d: %s: %lld, not %lld\n", fork_role, __LINE__, #call,     \
                    result_, (long long)(wanted));                                                 \
            _exit(2);                                                                              \
        }                                                                                          \
    } while (0)

struct way {
    const char *name;
    const char *names;
    const char *transports;
    const char *address;
};

struct story {
    const char *name;
    int kind; /* for stories with variants */
    const struct way *way;
    void (*run)(const struct story *story);
    bool needs_threads; /* children open contexts */
};

static inline int64_t soon(void)
{
    return ripc_after(PATIENCE);
}

static uint16_t fork_port; /* at which the parent listens, if its address is in a file */

/* Makes the file of names. Call it before the parent is forked. */
static inline void fork_names_make(const struct way *way)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    char path[100];
    if (strcmp(way->names, "file") != 0)
        return;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0); /* finds a free port */
    demand(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    demand(getsockname(fd, (struct sockaddr *)&address, &size) == 0);
    close(fd);
    fork_port = ntohs(address.sin_port);
    snprintf(path, sizeof path, "%s/names", getenv("WEFT_FOLDER"));
    FILE *file = fopen(path, "w");
    demand(file && fprintf(file, "%d 127.0.0.1:%d\n", PARENT_ID, fork_port) > 0);
    demand(fclose(file) == 0);
}

static inline void fork_names_remove(const struct way *way)
{
    char path[100];
    snprintf(path, sizeof path, "%s/names", getenv("WEFT_FOLDER"));
    if (!strcmp(way->names, "file"))
        demand(unlink(path) == 0);
}

/* The node of this process, if the story needs one: from the environment, see fork_node.py and
 * withdraw_node.py. */
static inline const char *fork_node(void)
{
    bool first = !strcmp(fork_role, "parent") || !strcmp(fork_role, "client");
    const char *node = getenv(first ? "FORK_PARENT_NODE" : "FORK_PEER_NODE");
    if (!node)
        _exit(STORY_SKIP);
    return node;
}

/* Opens a context. Ends the story if this machine lacks the transport. */
static inline struct ripc *fork_open(const struct way *way)
{
    struct ripc *ripc = NULL;
    char reason[RIPC_REASON_MAX] = "", names[80];
    struct ripc_config config = {.reason = reason};
    if (way) {
        /* A port of this run, so that tests that run at the same time do not meet. */
        snprintf(names, sizeof names, "%s", way->names);
        if (!strcmp(way->names, "multicast"))
            snprintf(names, sizeof names, "multicast:239.255.77.%d:%d", 1 + (int)getpgrp() % 250,
                     20000 + (int)getpgrp() % 20000);
        if (!strcmp(way->names, "file")) {
            snprintf(names, sizeof names, "file:%s/names", getenv("WEFT_FOLDER"));
            config.port = strcmp(fork_role, "parent") ? 0 : fork_port;
        }
        if (!strcmp(way->names, "directory"))
            config.node = fork_node();
        config.names = names;
        config.transports = way->transports;
        config.address = way->address;
    }
    int result = ripc_open(&config, &ripc);
    if (result == -ENOPKG || result == -ENODEV) {
        fprintf(stderr, "# %s\n", reason);
        _exit(STORY_SKIP);
    }
    if (result)
        fprintf(stderr, "# ripc_open: %d, %s\n", result, reason);
    demand(result == 0);
    return ripc;
}

static inline struct ripc_service *fork_bind(struct ripc *ripc, ripc_id id)
{
    struct ripc_service *service = NULL;
    demand_result(ripc_bind(ripc, id, 0, &service), 0);
    return service;
}

/* Sends a word to the id and expects the same word back. Repeats a send that came before the
 * receiver had its name. */
static inline void ping(struct ripc_service *service, ripc_id to, const char *word)
{
    struct ripc_message message;
    int result;
    int64_t until = soon();
    do
        result = ripc_send(service, to, word, strlen(word) + 1, soon());
    while (result == -ENOENT && ripc_now() < until);
    demand_result(result, 0);
    demand_result(ripc_receive(service, &message, 1, soon()), 1);
    demand(message.from == to && message.size == strlen(word) + 1);
    demand(!strcmp(message.data, word));
    ripc_release(&message);
}

/* Sends one message back to its sender. Returns false if the message was "stop". */
static inline bool echo(struct ripc_service *service)
{
    struct ripc_message message;
    demand_result(ripc_receive(service, &message, 1, soon()), 1);
    bool stop = message.size == 5 && !memcmp(message.data, "stop", 5);
    demand_result(ripc_send(service, message.from, message.data, message.size, soon()), 0);
    ripc_release(&message);
    return !stop;
}

/* Pipes that tell another process that a step is done. */
static inline void told(int pipe_end)
{
    char byte;
    demand(read(pipe_end, &byte, 1) >= 0);
}

static inline void tell(int pipe_end)
{
    demand(write(pipe_end, "", 1) == 1);
}

static unsigned files_left; /* that entry_remove found */

static inline int entry_remove(const char *path, const struct stat *status, int kind,
                               struct FTW *walk)
{
    (void)status, (void)walk;
    if (kind != FTW_DP) {
        printf("# left behind: %s\n", path);
        files_left++;
    }
    return remove(path);
}

static inline void story_begin(const struct story *story)
{
    if (story->needs_threads && !FORK_THREADS)
        _exit(STORY_SKIP);
    setpgid(0, 0); /* a port of its own, see fork_open */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* orphans become ours, so that we can wait for them */
    alarm(STORY_LIMIT);
    story->run(story);
    int cleaned = ripc_clean(NULL);
    demand(cleaned >= 0);
    _exit(0);
}

/* Runs all stories, or those whose name contains the word; prints TAP. */
static inline int stories_run(const struct story *stories, unsigned count, const char *word)
{
    int failed = 0;
    printf("1..%u\n", count);
    for (unsigned i = 0; i < count; i++) {
        char folder[] = "/tmp/weft-fork-XXXXXX";
        char name[200];
        snprintf(name, sizeof name, "%s%s%s", stories[i].name, stories[i].way ? ": " : "",
                 stories[i].way ? stories[i].way->name : "");
        if (word && !strstr(name, word)) {
            printf("ok %u - %s # SKIP not asked for\n", i + 1, name);
            continue;
        }
        fflush(NULL);
        if (!mkdtemp(folder) || setenv("WEFT_FOLDER", folder, 1))
            return 1;
        pid_t pid = fork();
        if (pid == 0)
            story_begin(&stories[i]);
        int status = -1;
        bool passed = pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
                      (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == STORY_SKIP);
        if (pid > 0)
            kill(-pid, SIGKILL); /* what a failed story left */
        files_left = 0;
        if (nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS) || files_left)
            passed = false;
        printf("%s %u - %s%s\n", passed ? "ok" : "not ok", i + 1, name,
               passed && WEXITSTATUS(status) == STORY_SKIP ? " # SKIP not possible here" : "");
        fflush(stdout);
        failed += !passed;
    }
    return failed > 0;
}
