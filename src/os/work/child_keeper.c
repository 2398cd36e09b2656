/* child_keeper: the processes between a server and the programs that it runs (child.h).
 *
 * This code runs in processes that were forked from a server: it allocates nothing, writes no log,
 * and uses nothing of the server. */

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "os/work/child_impl.h"

#define PATH_MAX_USED 160
#define NICE_MOST     19
#define LINE          3   /* descriptor of the keeper's socket, and of the supervisor's lifeline */
#define TRIES_MAX     500 /* to kill what is left, 10 ms apart, if /proc does not list it */

/* ---- the program ---- */

static void limit_set(int which, uint64_t value, uint64_t more)
{
    const struct rlimit limit = {.rlim_cur = value, .rlim_max = value + more};
    (void)setrlimit((__rlimit_resource_t)which, &limit); /* a lower limit of the system stays */
}

/* The program does not inherit the blocked signals and the handlers of the server. */
static void signals_reset(void)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
}

static _Noreturn void program_run(const struct child_request *request, const char *folder,
                                  const int handles[CHILD_DESCRIPTORS], int errors,
                                  pid_t supervisor)
{
    const struct sched_param none = {0};
    char *words[WEFT_CHILD_WORDS + 1], *at = (char *)request->words;
    char home[PATH_MAX_USED + 8], temporary[PATH_MAX_USED + 8], server[32];
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char *const variables[] = {path, home, temporary, server, NULL};
    snprintf(home, sizeof home, "HOME=%s", folder);
    snprintf(temporary, sizeof temporary, "TMPDIR=%s", folder);
    snprintf(server, sizeof server, "WEFT_SERVER=%u", request->server);
    for (uint32_t i = 0; i < request->word_count; i++, at += strlen(at) + 1)
        words[i] = at;
    words[request->word_count] = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* if the supervisor is killed ... */
    if (getppid() != supervisor)            /* ... or was, before we asked for the signal */
        _exit(127);
    (void)setsid();
    signals_reset();
    (void)sched_setscheduler(0, SCHED_BATCH, &none);
    (void)setpriority(PRIO_PROCESS, 0, NICE_MOST);
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    bool good = !chdir(folder) && dup2(handles[0], 0) == 0 && dup2(handles[1], 1) == 1 &&
                dup2(request->errors ? handles[1] : nothing, 2) == 2;
    limit_set(RLIMIT_AS, request->memory, 0);
    limit_set(RLIMIT_FSIZE, request->file_size, 0);
    limit_set(RLIMIT_CPU, request->processor, 1); /* first SIGXCPU, then SIGKILL */
    limit_set(RLIMIT_CORE, 0, 0);
    (void)close_range(LINE, ~0u, CLOSE_RANGE_CLOEXEC);
    if (good && words[0])
        execve(words[0], words, variables);
    int error = errno;
    (void)!write(errors, &error, sizeof error);
    _exit(127);
}

/* ---- the supervisor ---- */

/* Kills the direct children. Processes whose parents end become direct children. False: /proc does
 * not list them. */
static bool children_kill(void)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t size = read(file, text, sizeof text - 1);
    close(file);
    if (size < 0)
        return false;
    text[size] = '\0';
    if (size == sizeof text - 1) /* the last number may be cut off: the next round kills it */
        *strrchr(text, ' ') = '\0';
    for (char *at = text, *end; *at; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            break;
        (void)kill((pid_t)pid, SIGKILL);
    }
    return true;
}

/* Kills all processes that the program started, and waits for their end. */
static void all_kill(pid_t group)
{
    unsigned tries = 0;
    for (;;) {
        (void)kill(-group, SIGKILL);
        bool listed = children_kill();
        pid_t ended = waitpid(-1, NULL, listed ? 0 : WNOHANG);
        if ((ended < 0 && errno == ECHILD) || (!listed && tries++ == TRIES_MAX))
            return;
        if (ended == 0)
            usleep(10000);
    }
}

static int entry_remove(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)remove(path);
    return 0;
}

/* Waits for the end of the program, or of the lifeline. */
static void program_await(pid_t program, int handle, int *status)
{
    struct pollfd ends[2] = {{.fd = LINE, .events = POLLIN}, {.fd = handle, .events = POLLIN}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR)
        ;
    if (!ends[1].revents)
        (void)kill(program, SIGKILL);
    while (waitpid(program, status, 0) < 0 && errno == EINTR)
        ;
}

static int program_start(const struct child_request *request, const char *folder,
                         const int handles[CHILD_DESCRIPTORS], int *status)
{
    int errors[2], error = 0;
    if (pipe2(errors, O_CLOEXEC))
        return errno;
    pid_t supervisor = getpid(), program = _Fork();
    if (program == 0)
        program_run(request, folder, handles, errors[1], supervisor);
    if (program < 0)
        return errno;
    int handle = (int)syscall(SYS_pidfd_open, program, 0);
    if (handle < 0) { /* the system refuses it, so nothing would tell us of the program's end */
        error = errno;
        all_kill(program);
        return error;
    }
    close(errors[1]);
    close(handles[0]);
    close(handles[1]);
    if (read(errors[0], &error, sizeof error) != sizeof error)
        error = 0;
    close(errors[0]);
    program_await(program, handle, status);
    all_kill(program);
    return error;
}

static _Noreturn void supervisor_run(const struct child_request *request, const char *base,
                                     const int handles[CHILD_DESCRIPTORS])
{
    char folder[PATH_MAX_USED];
    struct child_report report = {0};
    (void)setsid();
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGCHLD, SIG_DFL); /* the keeper ignores it, but the supervisor waits for its child */
    dup2(handles[2], LINE);   /* replaces the keeper's socket */
    close(handles[2]);
    snprintf(folder, sizeof folder, "%s/node-%u.child-%d", base, request->server, (int)getpid());
    if (mkdir(folder, 0700))
        report.error = errno;
    else
        report.error = program_start(request, folder, handles, &report.status);
    nftw(folder, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    (void)!send(LINE, &report, sizeof report, MSG_NOSIGNAL);
    _exit(0);
}

/* ---- the keeper ---- */

/* Receives a request and its descriptors. Returns how many descriptors came: fewer if the system
 * has none left for the keeper. Negative: the server has ended. */
static int request_receive(struct child_request *request, int handles[CHILD_DESCRIPTORS])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(CHILD_DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct iovec bytes = {request, sizeof *request};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    ssize_t size;
    while ((size = recvmsg(LINE, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    if (size <= 0)
        return -1;
    size_t bytes_of_handles =
        control.head.cmsg_len > CMSG_LEN(0) ? control.head.cmsg_len - CMSG_LEN(0) : 0;
    assert(bytes_of_handles <= CHILD_DESCRIPTORS * sizeof(int));
    memcpy(handles, CMSG_DATA(&control.head), bytes_of_handles);
    return (int)(bytes_of_handles / sizeof(int));
}

/* Only the supervisor keeps the descriptors. If the lifeline's end is not among them, no process
 * holds it, and the call ends. */
static void request_serve(const struct child_request *request, const char *folder,
                          const int handles[CHILD_DESCRIPTORS], int count)
{
    if (count == CHILD_DESCRIPTORS) {
        pid_t supervisor = _Fork(); /* one thread; no fork handler closes our descriptors */
        if (supervisor == 0)
            supervisor_run(request, folder, handles);
        const struct child_report refused = {.error = errno};
        if (supervisor < 0)
            (void)!send(handles[2], &refused, sizeof refused, MSG_NOSIGNAL);
    }
    for (int i = 0; i < count; i++)
        close(handles[i]);
}

_Noreturn void child_keeper_run(int socket, const char *folder)
{
    static struct child_request request;
    int handles[CHILD_DESCRIPTORS];
    int nothing = open("/dev/null", O_RDWR);
    (void)setsid();
    (void)prctl(PR_SET_NAME, "weft-children");
    signals_reset();
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGCHLD, SIG_IGN); /* supervisors need not be waited for */
    for (int number = 0; number < 3; number++)
        dup2(nothing, number);
    dup2(socket, LINE);
    (void)close_range(LINE + 1, ~0u, 0); /* the server's locks, sockets and links */
    for (int count; (count = request_receive(&request, handles)) >= 0;)
        request_serve(&request, folder, handles, count);
    _exit(0);
}
