/* Tests client sockets alone: which answer goes to which client. */
#include "os/host/client_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/scratch.h"

#define SERVICE 7

static struct {
    struct scratch scratch;
    struct lock lock;
    struct poller *poller;
    struct client_sockets all;
    struct client_socket *listener;
    uint64_t asked, gone; /* client of the last request, and the last one that disconnected */
    unsigned requests, ends;
} stage;

static int on_request(void *owner, uint16_t service, uint64_t client, const void *bytes,
                      uint32_t size)
{
    stage.asked = client;
    stage.requests++;
    return service == SERVICE ? 0 : -ENOENT;
}

static void on_gone(void *owner, uint64_t client)
{
    stage.gone = client;
    stage.ends++;
}

static void stage_open(void)
{
    const struct client_socket_events events = {.request = on_request, .gone = on_gone};
    struct why why = {""};
    memset(&stage, 0, sizeof stage);
    scratch_open(&stage.scratch);
    assert_int_equal(poller_open(&stage.poller, &stage.lock), 0);
    client_sockets_init(&stage.all);
    if (client_socket_open(&stage.listener, &stage.all, stage.poller, stage.scratch.folder, 3,
                           &events, &why))
        fail_msg("%s", why.text);
}

static void stage_close(void)
{
    client_socket_close(stage.listener);
    poller_close(stage.poller);
    scratch_close(&stage.scratch);
}

/* A program connects, and sends a request to that service. */
static int program_open(uint8_t service)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const uint8_t request[] = {0, service, 'x'};
    unsigned requests = stage.requests;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/node-3.socket", stage.scratch.folder);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(send(fd, request, sizeof request, MSG_NOSIGNAL), sizeof request);
    while (stage.requests == requests)
        poller_step(stage.poller, NSEC_NEVER);
    return fd;
}

static void program_close(int fd)
{
    unsigned ends = stage.ends;
    close(fd);
    while (stage.ends == ends)
        poller_step(stage.poller, NSEC_NEVER);
}

/* The next program has the same entry, but another number. */
static void a_late_answer_does_not_go_to_another_client(void **state)
{
    char answer[8];
    stage_open();
    int one = program_open(SERVICE);
    uint64_t first = stage.asked;
    assert_int_equal(client_socket_answer(stage.listener, first, "now", 3), 0);
    assert_int_equal(recv(one, answer, sizeof answer, MSG_DONTWAIT), 3);
    program_close(one);
    assert_int_equal(stage.gone, first);
    assert_int_equal(client_socket_answer(stage.listener, first, "late", 4), -EPIPE);
    int other = program_open(SERVICE);
    assert_int_not_equal(stage.asked, first);
    assert_int_equal((uint32_t)stage.asked, (uint32_t)first);
    assert_int_equal(client_socket_answer(stage.listener, first, "late", 4), -EPIPE);
    assert_int_equal(client_socket_answer(stage.listener, stage.asked, "right", 5), 0);
    assert_int_equal(recv(other, answer, sizeof answer, MSG_DONTWAIT), 5);
    assert_memory_equal(answer, "right", 5);
    program_close(other);
    stage_close();
}

static void answers_to_unknown_clients_are_refused(void **state)
{
    stage_open();
    int fd = program_open(SERVICE);
    assert_int_equal(client_socket_answer(stage.listener, CLIENT_SOCKET_CLIENTS_MAX, "x", 1),
                     -EPIPE);
    assert_int_equal(client_socket_answer(stage.listener, UINT32_MAX, "x", 1), -EPIPE);
    assert_int_equal(client_socket_answer(stage.listener, stage.asked + 1, "x", 1), -EPIPE);
    program_close(fd);
    stage_close();
}

static void a_client_that_names_a_missing_service_is_disconnected(void **state)
{
    char answer[8];
    stage_open();
    int fd = program_open(SERVICE + 1);
    assert_int_equal(stage.ends, 1);
    assert_int_equal(recv(fd, answer, sizeof answer, MSG_DONTWAIT), 0);
    close(fd);
    stage_close();
}

TEST_MAIN(TEST(a_late_answer_does_not_go_to_another_client),
          TEST(answers_to_unknown_clients_are_refused),
          TEST(a_client_that_names_a_missing_service_is_disconnected))
