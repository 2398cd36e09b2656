/* Tests client sockets alone: which answer goes to which client, who is refused, and that no client
 * affects another. */
#include "os/host/client_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/host/client_impl.h"
#include "transport/scratch.h"

#define SERVICE 7
#define OTHER   8 /* a second service */

static struct {
    struct scratch scratch;
    struct lock lock;
    struct poller *poller;
    struct client_sockets all;
    struct client_socket *listener;
    struct env_answer asked; /* the last request ... */
    char bytes[16];          /* ... and its first bytes */
    uint64_t gone;           /* the last one that disconnected */
    unsigned requests, ends, refusals;
    int refusal;
    unsigned writables[2]; /* calls for SERVICE and OTHER */
    uint64_t writable;
    uint8_t order[1024]; /* the first byte of the first requests */
} stage;

static int on_request(void *owner, const struct env_answer *from, const void *bytes, uint32_t size)
{
    stage.asked = *from;
    memset(stage.bytes, 0, sizeof stage.bytes);
    memcpy(stage.bytes, bytes, size < sizeof stage.bytes ? size : sizeof stage.bytes);
    if (stage.requests < sizeof stage.order)
        stage.order[stage.requests] = (uint8_t)stage.bytes[0];
    stage.requests++;
    return from->service == SERVICE || from->service == OTHER ? 0 : -ENOENT;
}

static void on_gone(void *owner, uint64_t client)
{
    stage.gone = client;
    stage.ends++;
}

static void on_writable(void *owner, uint64_t client, uint16_t service)
{
    stage.writable = client;
    stage.writables[service - SERVICE]++;
}

static void on_refused(void *owner, int error)
{
    stage.refusal = error;
    stage.refusals++;
}

static void stage_open(uint32_t most)
{
    memset(&stage, 0, sizeof stage);
    scratch_open(&stage.scratch);
    const struct client_socket_config config = {
        .folder = stage.scratch.folder,
        .server = 3,
        .clients_max = most,
        .events = {.request = on_request,
                   .gone = on_gone,
                   .writable = on_writable,
                   .refused = on_refused},
    };
    struct why why = {""};
    assert_int_equal(poller_open(&stage.poller, &stage.lock), 0);
    assert_int_equal(client_sockets_open(&stage.all), 0);
    if (client_socket_open(&stage.listener, &stage.all, stage.poller, &config, &why))
        fail_msg("%s", why.text);
}

static void stage_close(void)
{
    client_socket_close(stage.listener);
    assert_int_equal(stage.all.channel_count, 0);
    client_sockets_close(&stage.all);
    poller_close(stage.poller);
    scratch_close(&stage.scratch);
}

static void stage_step(void)
{
    poller_step(stage.poller, clock_after(1000 * 1000));
    client_sockets_poll(&stage.all);
}

#define STAGE_UNTIL(condition)                                                                     \
    do {                                                                                           \
        for (nsec end_ = clock_after(60 * NSEC_PER_SEC); !(condition); stage_step())               \
            if (clock_now() > end_)                                                                \
                fail_msg("still false at the deadline: " #condition);                              \
    } while (0)

/* ---- programs ---- */

static int program_connect(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/node-3.socket", stage.scratch.folder);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void program_hello(int fd)
{
    uint8_t hello[ATTACH_ASK_SIZE];
    attach_ask_write(&(struct attach_ask){0}, hello);
    (void)!send(fd, hello, sizeof hello, MSG_NOSIGNAL);
}

/* Waits for the welcome, and returns its status. After a reset the welcome can still be read. */
static int program_welcome(int fd)
{
    uint8_t bytes[64];
    struct attach_answer welcome;
    ssize_t size = -1;
    STAGE_UNTIL((size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) >= 0 ||
                (errno != EAGAIN && errno != ECONNRESET));
    assert_true(size > 0);
    assert_int_equal(attach_answer_read(&welcome, bytes, (size_t)size), 0);
    assert_int_equal(welcome.version, ATTACH_VERSION);
    assert_int_equal(welcome.server, 3);
    return welcome.status;
}

static void program_ask(int fd, uint16_t service, uint64_t ticket, char byte)
{
    uint8_t packet[ATTACH_HEAD_SIZE + 1];
    attach_head_write(&(struct attach_head){.service = service, .ticket = ticket}, packet);
    packet[ATTACH_HEAD_SIZE] = (uint8_t)byte;
    assert_int_equal(send(fd, packet, sizeof packet, MSG_NOSIGNAL), sizeof packet);
}

/* Returns the size of the answer without its head; -1: none. */
static int program_answer(int fd, struct attach_head *head, char *bytes)
{
    uint8_t packet[ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX];
    ssize_t size = recv(fd, packet, sizeof packet, MSG_DONTWAIT);
    *head = (struct attach_head){0};
    if (size < 0)
        return -1;
    assert_int_equal(attach_head_read(head, packet, (size_t)size), 0);
    size -= ATTACH_HEAD_SIZE;
    memcpy(bytes, packet + ATTACH_HEAD_SIZE, (size_t)size < 16 ? (size_t)size : 16);
    return (int)size;
}

/* A program attaches, and sends a request. */
static int program_open(uint64_t ticket)
{
    unsigned requests = stage.requests;
    int fd = program_connect();
    program_hello(fd);
    program_ask(fd, SERVICE, ticket, 'x'); /* need not wait for the welcome */
    STAGE_UNTIL(stage.requests > requests);
    assert_int_equal(program_welcome(fd), 0);
    return fd;
}

static void program_close(int fd)
{
    unsigned ends = stage.ends;
    close(fd);
    STAGE_UNTIL(stage.ends > ends);
}

static int answer(uint64_t client, uint64_t ticket, const char *text)
{
    const struct env_answer to = {client, ticket, SERVICE};
    return client_socket_answer(stage.listener, &to, text, (uint32_t)strlen(text));
}

/* ---- answers ---- */

/* The next program has the same entry, but another number. */
static void a_late_answer_does_not_go_to_another_client(void **state)
{
    char text[16];
    struct attach_head head;
    stage_open(0);
    int one = program_open(11);
    uint64_t first = stage.asked.client;
    assert_int_equal(stage.asked.ticket, 11);
    assert_int_equal(answer(first, 11, "now"), 0);
    assert_int_equal(program_answer(one, &head, text), 3);
    assert_true(head.service == SERVICE && !head.status && head.ticket == 11);
    program_close(one);
    assert_int_equal(stage.gone, first);
    assert_int_equal(answer(first, 11, "late"), -EPIPE);
    int other = program_open(12);
    assert_int_not_equal(stage.asked.client, first);
    assert_int_equal((uint32_t)stage.asked.client, (uint32_t)first);
    assert_int_equal(answer(first, 11, "late"), -EPIPE);
    assert_int_equal(answer(stage.asked.client, 12, "right"), 0);
    assert_int_equal(program_answer(other, &head, text), 5);
    assert_memory_equal(text, "right", 5);
    program_close(other);
    stage_close();
}

static void answers_to_unknown_clients_are_refused(void **state)
{
    stage_open(0);
    int fd = program_open(1);
    assert_int_equal(answer(CLIENT_SOCKET_CLIENTS_MAX, 1, "x"), -EPIPE);
    assert_int_equal(answer(UINT32_MAX, 1, "x"), -EPIPE);
    assert_int_equal(answer(UINT64_MAX, 1, "x"), -EPIPE);
    assert_int_equal(answer(stage.asked.client + 1, 1, "x"), -EPIPE);
    program_close(fd);
    stage_close();
}

/* Requests and answers in any order: the tickets tell them apart. */
static void many_requests_of_a_program_are_under_way(void **state)
{
    char text[16];
    struct attach_head head;
    stage_open(0);
    int fd = program_open(100);
    for (uint64_t ticket = 101; ticket < 110; ticket++)
        program_ask(fd, SERVICE, ticket, 'x');
    STAGE_UNTIL(stage.requests == 10);
    for (uint64_t ticket = 109; ticket >= 100; ticket--)
        assert_int_equal(answer(stage.asked.client, ticket, "x"), 0);
    assert_int_equal(answer(stage.asked.client, 0, "event"), 0);
    for (uint64_t ticket = 109; ticket >= 100; ticket--) {
        assert_int_equal(program_answer(fd, &head, text), 1);
        assert_int_equal(head.ticket, ticket);
    }
    assert_int_equal(program_answer(fd, &head, text), 5);
    assert_int_equal(head.ticket, 0);
    program_close(fd);
    stage_close();
}

/* ---- room ---- */

/* Fills what the program does not read; returns how many answers that took. */
static unsigned program_fill(uint64_t client, uint32_t size)
{
    static const uint8_t bytes[ATTACH_MESSAGE_MAX];
    const struct env_answer to = {client, 5, SERVICE}, also = {client, 6, OTHER};
    unsigned count = 0;
    int result;
    while (!(result = client_socket_answer(stage.listener, &to, bytes, size)))
        assert_true(++count < 100000);
    assert_int_equal(result, -EAGAIN);
    assert_int_equal(client_socket_answer(stage.listener, &also, bytes, size), -EAGAIN);
    assert_int_equal(client_socket_answer(stage.listener, &to, bytes, size), -EAGAIN);
    return count;
}

/* Both services are told once, when the program has read, and not before. */
static void services_are_told_when_there_is_room_again(void **state)
{
    char text[16];
    struct attach_head head;
    stage_open(0);
    int other = program_open(1), fd = program_open(2);
    uint64_t client = stage.asked.client;
    for (unsigned round = 1; round <= 3; round++) {
        unsigned waiting = program_fill(client, 1000), before = stage.requests;
        assert_true(waiting > 10);
        program_ask(other, SERVICE, 3, 'y'); /* the other program is served */
        STAGE_UNTIL(stage.requests == before + 1);
        assert_int_equal(stage.writables[0], round - 1);
        for (unsigned i = 0; i < waiting; i++)
            assert_int_equal(program_answer(fd, &head, text), 1000);
        assert_int_equal(program_answer(fd, &head, text), -1);
        STAGE_UNTIL(stage.writables[0] == round && stage.writables[1] == round);
        assert_int_equal(stage.writable, client);
        for (unsigned i = 0; i < 5; i++)
            stage_step();
        assert_int_equal(stage.writables[0], round);
    }
    program_fill(client, 1000);
    program_close(fd); /* a program that is gone is not reported as writable */
    stage_step();
    assert_int_equal(stage.writables[0], 3);
    program_close(other);
    stage_close();
}

static struct channel *channel_attach(int fd)
{
    struct channel *channel;
    assert_int_equal(channel_open(&channel, fd), 0);
    assert_int_equal(channel_offer(channel), 0);
    assert_int_equal(program_welcome(fd), 0);
    channel_agree(channel);
    return channel;
}

static void channel_ask(struct channel *channel, uint64_t ticket, char byte)
{
    const struct iovec piece = {&byte, 1};
    const struct attach_head head = {.service = SERVICE, .ticket = ticket};
    assert_int_equal(channel_say(channel, &head, &piece, 1), 0);
}

/* How often the bell of a program was rung. */
static unsigned rings_take(int fd)
{
    uint8_t byte[2];
    unsigned count = 0;
    while (recv(fd, byte, sizeof byte, MSG_DONTWAIT) == 1)
        count++;
    return count;
}

static void a_program_is_rung_once_for_several_answers(void **state)
{
    static uint8_t bytes[CHANNEL_MESSAGE_MAX];
    struct channel_message message;
    stage_open(0);
    int fd = program_connect(), gone = program_connect();
    struct channel *channel = channel_attach(fd), *left = channel_attach(gone);
    channel_ask(left, 9, 'y');
    STAGE_UNTIL(stage.requests == 1);
    uint64_t other = stage.asked.client;
    channel_ask(channel, 1, 'x');
    STAGE_UNTIL(stage.requests == 2);
    channel_arm(channel);
    channel_fence(channel);
    for (uint64_t ticket = 1; ticket <= 5; ticket++)
        assert_int_equal(answer(stage.asked.client, ticket, "yes"), 0);
    assert_int_equal(rings_take(fd), 0);
    client_sockets_ring(&stage.all);
    assert_int_equal(rings_take(fd), 1);
    for (uint64_t ticket = 1; ticket <= 5; ticket++) {
        assert_int_equal(channel_take(channel, &message, bytes), 1);
        assert_true(message.head.ticket == ticket);
    }
    client_sockets_ring(&stage.all); /* no answer is new */
    assert_int_equal(rings_take(fd), 0);
    assert_int_equal(answer(other, 9, "late"), 0);
    channel_close(left);
    program_close(gone); /* before it was told */
    client_sockets_ring(&stage.all);
    channel_close(channel);
    program_close(fd);
    stage_close();
}

/* The program rings the sleeping node when it has made room in its channel. */
static void services_are_told_of_room_in_a_channel(void **state)
{
    static uint8_t bytes[CHANNEL_MESSAGE_MAX];
    struct channel_message message;
    stage_open(0);
    int fd = program_connect();
    struct channel *channel = channel_attach(fd);
    channel_ask(channel, 1, 'x');
    STAGE_UNTIL(stage.requests == 1);
    for (unsigned round = 1; round <= 3; round++) {
        unsigned waiting = program_fill(stage.asked.client, 1000);
        stage_step();
        assert_int_equal(stage.writables[0], round - 1);
        client_sockets_arm(&stage.all); /* as a host that is about to sleep */
        channel_fence(channel);
        client_sockets_poll(&stage.all);
        assert_int_equal(stage.writables[0], round - 1);
        for (unsigned i = 0; i < waiting; i++)
            assert_int_equal(channel_take(channel, &message, bytes), 1);
        assert_true(poller_step(stage.poller, NSEC_NEVER) > 0); /* rung */
        client_sockets_disarm(&stage.all);
        client_sockets_poll(&stage.all);
        assert_int_equal(stage.writables[0], round);
        assert_int_equal(stage.writables[1], round);
    }
    channel_close(channel);
    program_close(fd);
    stage_close();
}

/* ---- who may attach ---- */

static void many_programs_attach(int *fds, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        fds[i] = program_connect();
        program_hello(fds[i]);
        assert_int_equal(program_welcome(fds[i]), 0);
    }
}

static void descriptors_allow(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count < limit.rlim_max ? count : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void a_thousand_programs_are_served(void **state)
{
    enum { PROGRAMS = 1000 };
    static int fds[PROGRAMS];
    descriptors_allow(4096);
    stage_open(0);
    many_programs_attach(fds, PROGRAMS);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        char text[16];
        struct attach_head head;
        program_ask(fds[i], SERVICE, i + 1, 'x');
        STAGE_UNTIL(stage.requests == i + 1);
        assert_int_equal(answer(stage.asked.client, i + 1, "yes"), 0);
        assert_int_equal(program_answer(fds[i], &head, text), 3);
        assert_int_equal(head.ticket, i + 1);
    }
    for (unsigned i = 0; i < PROGRAMS; i++)
        program_close(fds[i]);
    assert_int_equal(stage.all.count, 0);
    stage_close();
}

/* Another process attaches; returns the status of its welcome. */
static int other_process_attaches(void)
{
    int status = 0;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        uint8_t bytes[64];
        struct attach_answer welcome;
        int fd = program_connect();
        program_hello(fd);
        ssize_t size;
        do
            size = recv(fd, bytes, sizeof bytes, 0);
        while (size < 0 && errno == ECONNRESET);
        _exit(size > 0 && !attach_answer_read(&welcome, bytes, (size_t)size) ? welcome.status
                                                                             : 255);
    }
    STAGE_UNTIL(waitpid(pid, &status, WNOHANG) == pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Beyond the limit a program gets an error. Near the limit a process with many connections does,
 * and other processes still attach. */
static void one_process_cannot_keep_the_others_out(void **state)
{
    enum { MOST = 80, USUAL = 70 };
    int fds[USUAL];
    stage_open(MOST);
    many_programs_attach(fds, USUAL);
    int late = program_connect();
    assert_int_equal(program_welcome(late), EUSERS);
    assert_int_equal(stage.refusal, -EUSERS);
    program_hello(late); /* its request is not handled, and it is hung up on */
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(other_process_attaches(), 0);
    program_close(fds[0]); /* then there is room for one more */
    STAGE_UNTIL(stage.all.count == USUAL - 1);
    many_programs_attach(fds, 1);
    close(late);
    for (unsigned i = 0; i < USUAL; i++)
        program_close(fds[i]);
    stage_close();
}

static void programs_beyond_the_limit_are_refused(void **state)
{
    enum { MOST = 10 };
    int fds[MOST];
    stage_open(MOST);
    many_programs_attach(fds, MOST);
    for (unsigned i = 1; i <= 100; i++) {
        int fd = program_connect();
        program_hello(fd);
        assert_int_equal(program_welcome(fd), EUSERS);
        assert_int_equal(stage.refusals, i);
        close(fd);
    }
    assert_int_equal(stage.ends, 0); /* no service hears of them */
    program_ask(fds[5], SERVICE, 1, 'x');
    STAGE_UNTIL(stage.requests == 1);
    for (unsigned i = 0; i < MOST; i++)
        program_close(fds[i]);
    stage_close();
}

/* All descriptors of the process are in use: a program is told, and the wait is not busy. */
static void a_lack_of_descriptors_is_reported(void **state)
{
    enum { MOST = 4000 };
    static int fds[MOST];
    unsigned count = 0;
    stage_open(0);
    int fd = program_open(1);
    descriptors_allow(256);
    int last = program_connect(); /* it waits to be accepted */
    program_hello(last);
    while ((fds[count] = dup(fd)) >= 0)
        assert_true(++count < MOST);
    assert_int_equal(errno, EMFILE);
    assert_int_equal(program_welcome(last), EMFILE);
    assert_int_equal(stage.refusal, -EMFILE);
    program_ask(fd, SERVICE, 2, 'x');
    STAGE_UNTIL(stage.requests == 2);
    while (count)
        close(fds[--count]);
    close(last);
    last = program_open(3);
    close(last);
    descriptors_allow(4096);
    program_close(fd);
    stage_close();
}

/* Not even the spare descriptor is left: the socket is not watched for a while, and then it is. */
static void the_socket_is_watched_again_when_descriptors_are_free(void **state)
{
    static int fds[4000];
    unsigned count = 0, steps = 0;
    stage_open(0);
    int fd = program_open(1);
    descriptors_allow(256);
    close(stage.all.spare);
    stage.all.spare = -1;
    int last = program_connect();
    while ((fds[count] = dup(fd)) >= 0)
        assert_true(++count < 4000);
    for (nsec end = clock_after(20 * 1000 * 1000); clock_now() < end; steps++)
        poller_step(stage.poller, end);
    assert_true(steps < 20); /* it would return at once, again and again */
    while (count)
        close(fds[--count]);
    program_hello(last);
    assert_int_equal(program_welcome(last), 0);
    assert_true(stage.all.spare >= 0);
    close(last);
    descriptors_allow(4096);
    program_close(fd);
    stage_close();
}

/* ---- the first message ---- */

/* A program of version 1, and one that sends anything: both are told by a welcome, then hung up on.
 */
static void a_program_without_a_hello_is_refused(void **state)
{
    static const uint8_t old[] = {0xff, 0xff, 0, 1, 0, 0, 2, 0, 0, 8, 0, 0};
    static const uint8_t bare[] = {0, SERVICE, 'x'};
    static const struct {
        const void *bytes;
        size_t size;
    } firsts[] = {{old, sizeof old}, {bare, sizeof bare}, {"x", 1}};
    uint8_t byte;
    stage_open(0);
    for (unsigned i = 0; i < 3; i++) {
        int fd = program_connect();
        assert_int_equal(send(fd, firsts[i].bytes, firsts[i].size, 0), firsts[i].size);
        assert_int_equal(program_welcome(fd), EPROTONOSUPPORT);
        assert_int_equal(stage.refusal, -EPROTONOSUPPORT);
        STAGE_UNTIL(stage.ends == i + 1);
        assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
        close(fd);
    }
    assert_int_equal(stage.requests, 0);
    stage_close();
}

/* ---- fairness ---- */

/* One program has hundreds of requests waiting, the others one each: all have their turn. */
static void a_busy_program_does_not_delay_others(void **state)
{
    enum { PROGRAMS = 5, MANY = 400 };
    int fds[PROGRAMS];
    struct channel *channels[PROGRAMS];
    stage_open(0);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        fds[i] = program_connect();
        channels[i] = channel_attach(fds[i]);
    }
    for (unsigned i = 0; i < MANY; i++)
        channel_ask(channels[0], i, 'b');
    for (unsigned i = 1; i < PROGRAMS; i++)
        channel_ask(channels[i], 1, 'o');
    client_sockets_poll(&stage.all);
    assert_true(stage.requests < MANY / 2); /* the busy program did not have it all */
    unsigned others = 0;
    for (unsigned i = 0; i < stage.requests; i++)
        others += stage.order[i] == 'o';
    assert_int_equal(others, PROGRAMS - 1);
    STAGE_UNTIL(stage.requests == MANY + PROGRAMS - 1);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        channel_close(channels[i]);
        program_close(fds[i]);
    }
    stage_close();
}

/* Many busy programs: a pass handles a part of their requests, and the next pass goes on with the
 * programs that had no turn. */
static void passes_go_on_with_the_next_program(void **state)
{
    enum { PROGRAMS = 100, EACH = 20, PASS = 512 };
    static int fds[PROGRAMS];
    static struct channel *channels[PROGRAMS];
    unsigned turns[PROGRAMS] = {0}, handled = 0;
    stage_open(0);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        fds[i] = program_connect();
        channels[i] = channel_attach(fds[i]);
    }
    for (unsigned i = 0; i < PROGRAMS * EACH; i++)
        channel_ask(channels[i % PROGRAMS], 1, (char)(i % PROGRAMS));
    for (unsigned pass = 0; pass < 3; pass++) {
        client_sockets_poll(&stage.all);
        assert_true(stage.requests <= handled + PASS + 16);
        for (; handled < stage.requests && handled < sizeof stage.order; handled++)
            turns[stage.order[handled]]++;
        handled = stage.requests;
    }
    STAGE_UNTIL(stage.requests == PROGRAMS * EACH);
    for (unsigned i = 0; i < 60; i++)
        assert_in_range(turns[i], 16, 32); /* one turn each, or two */
    for (unsigned i = 0; i < PROGRAMS; i++) {
        channel_close(channels[i]);
        program_close(fds[i]);
    }
    stage_close();
}

/* Silent programs are not polled: they ring with their next request. */
static void silent_programs_rest(void **state)
{
    enum { PROGRAMS = 100 };
    static int fds[PROGRAMS];
    static struct channel *channels[PROGRAMS];
    stage_open(0);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        fds[i] = program_connect();
        channels[i] = channel_attach(fds[i]);
    }
    assert_int_equal(stage.all.channel_count, PROGRAMS);
    for (unsigned i = 0; i < 3000; i++)
        client_sockets_poll(&stage.all);
    assert_int_equal(stage.all.channel_count, 0);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        channel_ask(channels[i], i, 'x');
        assert_true(poller_step(stage.poller, NSEC_NEVER) > 0); /* rung */
        client_sockets_poll(&stage.all);
        assert_int_equal(stage.requests, i + 1);
    }
    assert_int_equal(stage.all.channel_count, PROGRAMS);
    for (unsigned i = 0; i < PROGRAMS; i++) {
        channel_close(channels[i]);
        program_close(fds[i]);
    }
    stage_close();
}

TEST_MAIN(TEST(a_late_answer_does_not_go_to_another_client),
          TEST(answers_to_unknown_clients_are_refused),
          TEST(many_requests_of_a_program_are_under_way),
          TEST(services_are_told_when_there_is_room_again),
          TEST(a_program_is_rung_once_for_several_answers),
          TEST(services_are_told_of_room_in_a_channel), TEST(a_thousand_programs_are_served),
          TEST(one_process_cannot_keep_the_others_out), TEST(programs_beyond_the_limit_are_refused),
          TEST(a_lack_of_descriptors_is_reported),
          TEST(the_socket_is_watched_again_when_descriptors_are_free),
          TEST(a_program_without_a_hello_is_refused), TEST(a_busy_program_does_not_delay_others),
          TEST(passes_go_on_with_the_next_program), TEST(silent_programs_rest))
