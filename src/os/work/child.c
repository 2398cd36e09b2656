#include "os/work/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "os/work/child_impl.h"
#include "transport/clock.h"

#define MEMORY_USUAL    (UINT64_C(256) << 20)
#define FILE_USUAL      (UINT64_C(64) << 20)
#define PROCESSOR_USUAL 10                  /* seconds */
#define TIME_USUAL      (60 * NSEC_PER_SEC) /* as in node/core/work.c */
#define GLANCE_MS       20                  /* between two looks at `cancelled` */
#define KILLED_NSEC     (10 * NSEC_PER_SEC) /* for the end of a child that was killed */

/* ---- the keeper ---- */

enum err child_keeper_open(struct child_keeper *keeper, const char *folder, struct why *why)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return why_fail(why, ERR_SYSTEM, "cannot prepare child processes: %s", strerror(errno));
    pid_t pid = fork();
    if (pid == 0)
        child_keeper_run(ends[1], folder);
    int error = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return why_fail(why, ERR_SYSTEM, "cannot prepare child processes: %s", strerror(error));
    }
    *keeper = (struct child_keeper){.socket = ends[0], .pid = pid};
    return OK;
}

void child_keeper_close(struct child_keeper *keeper)
{
    if (!keeper->pid)
        return;
    close(keeper->socket);
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *keeper = (struct child_keeper){0};
}

/* ---- one child, in a thread of the server ---- */

struct running {
    struct weft_child *child;
    int output;      /* the pipe to read */
    int line;        /* to the supervisor */
    bool has_output; /* the pipe is not at its end */
    bool killed;
    int64_t reason; /* why it was killed: a negative errno */
    nsec deadline;
};

/* The program's standard input: a file in memory, so that a program that does not read its input
 * delays nothing. */
static int input_open(const struct weft_child *child)
{
    if (!child->input_size)
        return open("/dev/null", O_RDONLY | O_CLOEXEC);
    int file = memfd_create("weft-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const char *from = child->input;
    for (uint32_t done = 0; file >= 0 && done < child->input_size;) {
        ssize_t size = pwrite(file, from + done, child->input_size - done, done);
        if (size > 0) {
            done += (uint32_t)size;
        } else if (errno != EINTR) {
            int error = errno;
            close(file);
            errno = error;
            return -1;
        }
    }
    if (file >= 0)
        (void)fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return file;
}

static void request_fill(struct child_request *request, const struct weft_child *child,
                         uint32_t server)
{
    *request = (struct child_request){
        .memory = child->memory ? child->memory : MEMORY_USUAL,
        .file_size = child->file_size ? child->file_size : FILE_USUAL,
        .processor = (uint32_t)((child->processor + NSEC_PER_SEC - 1) / NSEC_PER_SEC),
        .server = server,
        .errors = child->errors,
    };
    if (!request->processor)
        request->processor = PROCESSOR_USUAL;
    for (; child->words[request->word_count]; request->word_count++) {
        size_t size = strlen(child->words[request->word_count]) + 1;
        assert(request->size + size <= sizeof request->words);
        memcpy(request->words + request->size, child->words[request->word_count], size);
        request->size += (uint32_t)size;
    }
}

static int request_send(int socket, const struct child_request *request,
                        const int handles[CHILD_DESCRIPTORS])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(CHILD_DESCRIPTORS * sizeof(int))];
    } control = {0};
    struct iovec bytes = {(void *)request, offsetof(struct child_request, words) + request->size};
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control.bytes,
        .msg_controllen = sizeof control.bytes,
    };
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(CHILD_DESCRIPTORS * sizeof(int));
    memcpy(CMSG_DATA(&control.head), handles, CHILD_DESCRIPTORS * sizeof(int));
    ssize_t size;
    while ((size = sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return size < 0 ? -errno : 0;
}

/* Opens the descriptors that the child needs, and sends the request with them to the keeper. */
static int child_begin(const struct child_keeper *keeper, uint32_t server, struct running *running)
{
    struct child_request request;
    int pipes[2], lines[2];
    int input = input_open(running->child);
    if (input < 0)
        return -errno;
    int result = pipe2(pipes, O_CLOEXEC) ? -errno : 0;
    if (!result && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lines)) {
        result = -errno;
        close(pipes[0]);
        close(pipes[1]);
    }
    if (result) {
        close(input);
        return result;
    }
    request_fill(&request, running->child, server);
    const int handles[CHILD_DESCRIPTORS] = {input, pipes[1], lines[1]};
    result = request_send(keeper->socket, &request, handles);
    close(input);
    close(pipes[1]);
    close(lines[1]);
    running->output = pipes[0];
    running->line = lines[0];
    running->has_output = true;
    (void)fcntl(running->output, F_SETFL, O_NONBLOCK);
    return result;
}

static void child_kill_for(struct running *running, int64_t reason)
{
    if (running->killed)
        return;
    running->killed = true;
    running->reason = reason;
    running->deadline = clock_after(KILLED_NSEC);
    (void)shutdown(running->line, SHUT_WR); /* the supervisor reads the end, and kills */
}

/* Reads what the program has written so far. */
static void output_read(struct running *running)
{
    struct weft_child *child = running->child;
    char more[4096] = {0};
    for (;;) {
        uint32_t room = child->output_room - child->output_size;
        void *to = room ? (char *)child->output + child->output_size : more;
        ssize_t size = read(running->output, to, room ? room : sizeof more);
        if (size < 0 && errno == EINTR)
            continue;
        if (size == 0)
            running->has_output = false;
        if (size <= 0)
            return;
        if (room)
            child->output_size += (uint32_t)size;
        else
            child_kill_for(running, -EMSGSIZE);
        if (running->killed && !room)
            return; /* the program may write without end */
    }
}

/* The result of the call, computed from the supervisor's report. */
static int64_t report_judge(const struct running *running, const struct child_report *report)
{
    if (report->error)
        return -report->error;
    if (running->killed)
        return running->reason;
    if (WIFEXITED(report->status))
        return WEXITSTATUS(report->status);
    running->child->signal = WTERMSIG(report->status);
    return running->child->signal == SIGXCPU ? -ETIME : -ECHILD;
}

static int64_t child_await(struct running *running, const _Atomic bool *cancelled)
{
    struct child_report report;
    for (;;) {
        struct pollfd ends[2] = {
            {.fd = running->line, .events = POLLIN},
            {.fd = running->has_output ? running->output : -1, .events = POLLIN},
        };
        (void)!poll(ends, 2, GLANCE_MS);
        if (ends[1].revents)
            output_read(running);
        if (ends[0].revents) {
            ssize_t size = recv(running->line, &report, sizeof report, MSG_DONTWAIT);
            if (size == sizeof report)
                break;
            if (size >= 0 || (errno != EAGAIN && errno != EINTR))
                return running->killed ? running->reason : -ECHILD; /* the supervisor has ended */
        }
        if (atomic_load_explicit(cancelled, memory_order_relaxed))
            child_kill_for(running, -ECANCELED);
        if (clock_is_past(running->deadline)) {
            if (running->killed)
                return running->reason; /* it cannot be killed; its supervisor goes on trying */
            child_kill_for(running, -ETIME);
        }
    }
    output_read(running); /* all processes have ended: the pipe has the rest of the output */
    return report_judge(running, &report);
}

int64_t child_run_program(const struct child_keeper *keeper, uint32_t server,
                          struct weft_child *child, const _Atomic bool *cancelled)
{
    struct running running = {
        .child = child,
        .output = -1,
        .line = -1,
        .deadline = clock_after(child->time ? child->time : TIME_USUAL),
    };
    int64_t result = child_begin(keeper, server, &running);
    if (!result)
        result = child_await(&running, cancelled);
    if (running.output >= 0)
        close(running.output);
    if (running.line >= 0)
        close(running.line);
    return result;
}
