#include "os/cluster/cluster_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/check.h"
#include "os/cluster/cluster_file.h"
#include "transport/clock.h"
#include "wire/attach.h"

#define AT_ONCE    256 /* connections; a process may have 1,024 descriptors */
#define RETRY_NSEC 2000000LL
#define TICKET     1 /* of every request: a connection has one under way, or they are numbered */

int cluster_connect(const char *folder, node_id server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[CLUSTER_PATH_SIZE];
    cluster_path(path, folder, server, "socket");
    if (strlen(path) >= sizeof address.sun_path)
        return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int handle = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (handle < 0)
        return -errno;
    if (connect(handle, (struct sockaddr *)&address, sizeof address)) {
        int error = errno;
        close(handle);
        return -error; /* -EAGAIN: too many connections are pending */
    }
    uint8_t hello[ATTACH_ASK_SIZE];
    attach_ask_write(&(struct attach_ask){0}, hello);
    (void)!send(handle, hello, sizeof hello, MSG_NOSIGNAL); /* a refusal is read later */
    return handle;
}

int cluster_tell(int handle, uint16_t service, const void *bytes, size_t size)
{
    uint8_t head[ATTACH_HEAD_SIZE];
    struct iovec parts[] = {{head, sizeof head}, {(void *)bytes, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;
    attach_head_write(&(struct attach_head){.service = service, .ticket = TICKET}, head);
    do
        sent = sendmsg(handle, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    /* A server that refused us has hung up, and the reason waits in the socket. */
    return sent < 0 && errno != EPIPE && errno != ECONNRESET ? -errno : 0;
}

/* Receives one packet: the head, and the bytes after it. Returns their size or a negative errno. */
static int packet_receive(int handle, uint8_t head[ATTACH_HEAD_SIZE], void *bytes, size_t size)
{
    struct iovec parts[] = {{head, ATTACH_HEAD_SIZE}, {bytes, size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t got;
    bool reset = false;
    do {
        got = recvmsg(handle, &message, MSG_TRUNC);
        /* The system reports first, once, that the server hung up with a request unread, and then
         * delivers what the server said before. */
        if (got < 0 && errno == ECONNRESET && !reset) {
            reset = true;
            errno = EINTR;
        }
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return -errno;
    if (got == 0)
        return -ECONNRESET;
    if (got < ATTACH_HEAD_SIZE)
        return -EPROTONOSUPPORT; /* version 1 has shorter messages */
    return (size_t)got > ATTACH_HEAD_SIZE + size ? -EMSGSIZE : (int)got - ATTACH_HEAD_SIZE;
}

/* A packet without a ticket is the welcome. */
static int welcome_check(const uint8_t bytes[ATTACH_HEAD_SIZE], int size)
{
    struct attach_answer welcome;
    if (size || attach_answer_read(&welcome, bytes, ATTACH_HEAD_SIZE))
        return -EPROTO;
    return -welcome.status;
}

/* Receives an answer that has arrived: returns its size, -EAGAIN, or another negative errno. */
static int hear_now(int handle, void *bytes, size_t size)
{
    uint8_t front[ATTACH_HEAD_SIZE];
    struct attach_head head;
    for (;;) {
        int result = packet_receive(handle, front, bytes, size);
        if (result < 0)
            return result;
        int error = attach_head_read(&head, front, sizeof front);
        if (!error && head.service == ATTACH_SERVICE) {
            error = welcome_check(front, result);
            if (error)
                return error;
            continue;
        }
        if (error || head.ticket != TICKET)
            return -EPROTO;
        return head.status ? (head.status == ENOENT ? -EADDRNOTAVAIL : -head.status) : result;
    }
}

static int poll_until(struct pollfd *polls, uint32_t count, int64_t deadline)
{
    int64_t left = deadline - clock_now();
    struct timespec time = {left / NSEC_PER_SEC, left % NSEC_PER_SEC};
    if (left <= 0)
        return 0;
    return ppoll(polls, count, &time, NULL);
}

int cluster_hear(int handle, void *bytes, size_t size, int64_t deadline)
{
    for (;;) {
        int result = hear_now(handle, bytes, size);
        if (result != -EAGAIN)
            return result;
        struct pollfd poll = {.fd = handle, .events = POLLIN};
        int ready = poll_until(&poll, 1, deadline);
        if (ready == 0)
            return -ETIMEDOUT;
        if (ready < 0)
            return -errno; /* EINTR: the caller checks whether to stop */
    }
}

/* ---- many requests at once ---- */

/* Connects and sends the request. After that *poll has the descriptor, or ask->result the error. */
static void ask_begin(const char *folder, struct cluster_ask *ask, struct pollfd *poll)
{
    int handle = cluster_connect(folder, ask->server);
    ask->result = handle < 0 ? handle : -ETIMEDOUT;
    *poll = (struct pollfd){.fd = -1, .events = POLLIN};
    if (handle < 0)
        return;
    int error = cluster_tell(handle, ask->service, ask->request, ask->request_size);
    if (error < 0) {
        ask->result = error;
        close(handle);
        return;
    }
    poll->fd = handle;
}

static void ask_hear(struct cluster_ask *ask, struct pollfd *poll)
{
    int result = hear_now(poll->fd, ask->answer, ask->answer_size);
    if (result == -EAGAIN)
        return;
    ask->result = result;
    close(poll->fd);
    poll->fd = -1;
}

/* Reconnects to servers that had too many pending connections. Returns how many requests are
 * open. */
static uint32_t asks_retry(const char *folder, struct cluster_ask *asks, struct pollfd *polls,
                           uint32_t count, bool *knocking)
{
    uint32_t open = 0;
    *knocking = false;
    for (uint32_t i = 0; i < count; i++) {
        if (polls[i].fd < 0 && asks[i].result == -EAGAIN)
            ask_begin(folder, &asks[i], &polls[i]);
        *knocking |= polls[i].fd < 0 && asks[i].result == -EAGAIN;
        open += polls[i].fd >= 0;
    }
    return open;
}

static void asks_some(const char *folder, struct cluster_ask *asks, uint32_t count,
                      int64_t deadline)
{
    struct pollfd polls[AT_ONCE];
    bool knocking;
    for (uint32_t i = 0; i < count; i++)
        ask_begin(folder, &asks[i], &polls[i]);
    while (clock_now() < deadline) {
        uint32_t open = asks_retry(folder, asks, polls, count, &knocking);
        int64_t until = clock_after(RETRY_NSEC);
        if (!open && !knocking)
            break;
        if (poll_until(polls, count, knocking && until < deadline ? until : deadline) <= 0)
            continue;
        for (uint32_t i = 0; i < count; i++)
            if (polls[i].fd >= 0 && polls[i].revents)
                ask_hear(&asks[i], &polls[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (polls[i].fd >= 0)
            close(polls[i].fd);
        if (asks[i].result == -EAGAIN)
            asks[i].result = -ETIMEDOUT;
    }
}

void cluster_ask(const char *folder, struct cluster_ask *asks, uint32_t count, int64_t deadline)
{
    for (uint32_t at = 0; at < count; at += AT_ONCE)
        asks_some(folder, asks + at, count - at < AT_ONCE ? count - at : AT_ONCE, deadline);
}

int cluster_control(const char *folder, node_id server, const struct control_request *request,
                    uint8_t *bytes, struct reader *in, int64_t deadline)
{
    uint8_t question[CONTROL_REQUEST_MAX];
    struct control_answer answer;
    struct cluster_ask ask = {.server = server,
                              .service = CONTROL_SERVICE,
                              .request = question,
                              .request_size = control_request_write(request, question),
                              .answer = bytes,
                              .answer_size = CONTROL_ANSWER_MAX};
    cluster_ask(folder, &ask, 1, deadline);
    if (ask.result < 0)
        return ask.result;
    *in = reader_make(bytes, (size_t)ask.result);
    if (control_answer_read(in, &answer) < 0 || answer.kind != request->kind ||
        answer.token != request->token)
        return -EPROTO;
    return -answer.error;
}
