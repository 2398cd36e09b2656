#include "transport/lifeline/lifeline.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/lifeline/lifeline_scene.h"
#include "transport/lifeline/lifeline_wire.h"
#include "transport/socket.h"
#include "wire/relay.h"

static void a_hello_identifies_both_contexts(void **state)
{
    for (int tcp = 0; tcp < 2; tcp++) {
        struct hub *one = hub_open(&(struct hub_wish){.address = tcp ? "127.0.0.1" : NULL});
        struct hub *other = hub_open(&(struct hub_wish){.address = tcp ? "127.0.0.1" : NULL});
        connect_both(one, other, tcp);
        assert_int_equal(lifeline_local(one->line), !tcp);
        assert_int_equal(lifeline_pid(other->line), tcp ? 0 : getpid());
        assert_memory_equal(&one->peer, &other->address, sizeof one->peer);
        assert_int_equal(other->peer.context, one->address.context);
        assert_string_equal(one->card, "the card");
        assert_string_equal(other->card, "the card");
        lifeline_set_data(one->line, one);
        assert_ptr_equal(lifeline_data(one->line), one);

        struct lifeline *line = one->line;
        lifeline_cut(line, -ECANCELED);
        assert_int_equal(one->downs, 0); /* down() comes later */
        assert_int_equal(send_number(line, 0, 4), -EPIPE);
        step_until(one, other, &one->downs, 1);
        step_until(one, other, &other->downs, 1);
        assert_int_equal(one->reason, -ECANCELED);
        assert_int_equal(other->reason, -EPIPE);
        hub_close(one);
        hub_close(other);
    }
}

/* The successor of a context gets its port, although old connections still have it. */
static void a_context_is_found_at_its_port_alone(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub_wish wish = {.address = "127.0.0.1", .port = other->address.port};
    for (int turn = 1; turn <= 2; turn++) {
        struct context_address to = {.family = AF_INET, .port = wish.port};
        struct lifeline *line;
        memcpy(to.address, (uint8_t[]){127, 0, 0, 1}, 4);
        assert_int_equal(lifeline_connect(one->lines, &to, &line), 0);
        step_until(one, other, &one->ups, turn);
        assert_int_equal(one->peer.context, other->address.context);
        hub_close(other); /* the end that closes first keeps the port for a minute */
        step_until(one, NULL, &one->downs, turn);
        other = hub_open(&wish);
        assert_int_equal(other->address.port, wish.port);
    }
    hub_close(one);
    hub_close(other);
}

static void bursts_arrive_whole_and_in_order(void **state)
{
    enum { COUNT = 3000 };
    for (int tcp = 0; tcp < 2; tcp++) {
        struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        connect_both(one, other, tcp);
        int refused = 0;
        for (uint32_t sent = 0; sent < COUNT;) {
            int result = send_number(one->line, sent, (uint16_t)(4 + sent * 37 % 1021));
            if (result == -ENOBUFS) {
                refused++;
                poller_step(other->poller, 0);
                poller_step(one->poller, 0);
            } else {
                assert_int_equal(result, 0);
                sent++;
            }
            assert_true(lifeline_queued(one->line) <= LIFELINE_QUEUE_MAX);
        }
        step_until(one, other, &other->controls, COUNT);
        assert_false(other->disordered);
        assert_int_equal(lifeline_queued(one->line), 0);
        if (!tcp)
            assert_true(refused > 0); /* TCP's buffers may take everything */
        assert_int_equal(lifelines_garbage(other->lines), 0);
        hub_close(one);
        hub_close(other);
    }
}

/* More than are handled for one event. What one read took from the socket causes no other event. */
static void small_messages_that_arrive_together_are_all_handled(void **state)
{
    enum { COUNT = 80 };
    for (int tcp = 0; tcp < 2; tcp++) {
        struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        connect_both(one, other, tcp);
        for (uint32_t sent = 0; sent < COUNT; sent++)
            assert_int_equal(send_number(one->line, sent, 4), 0);
        step_until(one, other, &other->controls, COUNT);
        assert_false(other->disordered);
        hub_close(one);
        hub_close(other);
    }
}

static void descriptors_arrive_and_do_not_leak(void **state)
{
    unsigned before = scratch_descriptors();
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    unsigned with = scratch_descriptors();
    struct control control = {.kind = 7, .size = 4, .fd_count = CONTROL_FD_MAX};
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < CONTROL_FD_MAX; i++)
        control.fds[i] = ends[1];
    /* Descriptors that the callback does not keep are closed. Enough of them that most wait in the
     * queue. */
    int sent = 0;
    for (; lifeline_queued(one->line) < 10 * CONTROL_BODY_MAX && sent < 2000; sent++) {
        uint32_t number = (uint32_t)sent;
        memcpy(control.body, &number, sizeof number);
        control.size = CONTROL_BODY_MAX;
        assert_int_equal(lifeline_send(one->line, &control), 0);
    }
    assert_true(lifeline_queued(one->line) > 0);
    step_until(one, other, &other->controls, sent);
    assert_int_equal(scratch_descriptors(), with + 2);
    /* Kept descriptors refer to the pipe. */
    other->keep = true;
    uint32_t number = (uint32_t)sent;
    memcpy(control.body, &number, sizeof number);
    assert_int_equal(lifeline_send(one->line, &control), 0);
    step_until(one, other, &other->controls, sent + 1);
    assert_int_equal(other->kept_count, CONTROL_FD_MAX);
    assert_int_equal(scratch_descriptors(), with + 2 + CONTROL_FD_MAX);
    assert_int_equal(fcntl(other->kept_fds[0], F_GETFD), FD_CLOEXEC);
    char byte = 'x';
    assert_int_equal(write(other->kept_fds[3], &byte, 1), 1);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    /* Some descriptors are in flight when everything closes. */
    for (int i = 0; i < 20; i++)
        assert_int_equal(lifeline_send(one->line, &control), 0);
    close(ends[0]);
    close(ends[1]);
    assert_false(other->disordered);
    hub_close(one);
    hub_close(other);
    assert_int_equal(scratch_descriptors(), before);
}

static void over_tcp_descriptors_are_refused(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    connect_both(one, other, true);
    struct control control = {.fd_count = 1};
    assert_int_equal(lifeline_send(one->line, &control), -EOPNOTSUPP);
    hub_close(one);
    hub_close(other);
}

/* The child sends a burst, signals that through a pipe, and waits to be killed. */
static pid_t child_start(const struct context_address *to, uint32_t burst, int *sent_fd)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct hub *hub = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        struct lifeline *line;
        if (lifeline_connect(hub->lines, to, &line))
            _exit(1);
        while (!hub->ups)
            poller_step(hub->poller, clock_after(1000000));
        for (uint32_t i = 0; i < burst; i++) {
            if (send_number(line, i, 64))
                _exit(1);
        }
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        pause();
        _exit(1);
    }
    close(ready[1]);
    *sent_fd = ready[0];
    return child;
}

static void a_killed_peer_is_noticed_after_its_last_messages(void **state)
{
    enum { BURST = 100 };
    for (int tcp = 0; tcp < 2; tcp++) {
        struct hub *hub = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        struct context_address to = hub->address;
        if (tcp)
            memset(to.host, 0xee, sizeof to.host);
        int sent_fd;
        char byte;
        pid_t child = child_start(&to, BURST, &sent_fd);
        step_until(hub, NULL, &hub->ups, 1);
        assert_int_equal(lifeline_pid(hub->line), tcp ? 0 : child);
        assert_int_equal(read(sent_fd, &byte, 1), 1);
        close(sent_fd);
        if (!tcp) /* the child dies with unread data, which makes our next read fail once */
            assert_int_equal(send_number(hub->line, 0, 64), 0);
        assert_true(hub->controls < BURST); /* the rest is unread when the child dies */
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        step_until(hub, NULL, &hub->downs, 1);
        assert_int_equal(hub->reason, -EPIPE);
        assert_int_equal(hub->controls, BURST);
        assert_false(hub->disordered);
        assert_true(domain_clean(here.folder) == 2); /* the child's files */
        hub_close(hub);
    }
}

static void draining_handles_what_has_arrived(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(send_number(one->line, i, 8), 0);
    assert_int_equal(lifeline_drain(other->line), 100);
    assert_int_equal(other->controls, 100);
    assert_int_equal(lifeline_drain(other->line), 0);
    other->cut_at = 103;
    for (uint32_t i = 100; i < 105; i++)
        assert_int_equal(send_number(one->line, i, 8), 0);
    struct lifeline *line = other->line;
    assert_int_equal(lifeline_drain(line), -EPIPE); /* cut in a callback: handles no more */
    assert_int_equal(other->controls, 103);
    assert_int_equal(lifeline_drain(line), -EPIPE);
    assert_int_equal(other->downs, 0);
    step_until(other, one, &other->downs, 1);
    step_until(other, one, &one->downs, 1);
    hub_close(one);
    hub_close(other);
}

static void answers_may_be_sent_from_a_callback(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    connect_both(one, other, true);
    other->echo = true;
    for (uint32_t i = 0; i < 500; i++)
        assert_int_equal(send_number(one->line, i, 1000), 0);
    step_until(one, other, &one->controls, 500);
    assert_false(one->disordered || other->disordered);
    hub_close(one);
    hub_close(other);
}

static void only_contexts_with_the_same_secret_come_up(void **state)
{
    uint8_t right[LIFELINE_KEY_SIZE] = {1}, wrong[LIFELINE_KEY_SIZE] = {2};
    const uint8_t *keys[][2] = {{right, wrong}, {NULL, right}, {right, NULL}};
    for (int tcp = 0; tcp < 2; tcp++) {
        for (int i = 0; i < 3; i++) {
            struct hub *one =
                hub_open(&(struct hub_wish){.address = "127.0.0.1", .key = keys[i][0]});
            struct hub *other =
                hub_open(&(struct hub_wish){.address = "127.0.0.1", .key = keys[i][1]});
            struct context_address to = other->address;
            struct lifeline *line;
            if (tcp)
                memset(to.host, 0xee, sizeof to.host);
            assert_int_equal(lifeline_connect(one->lines, &to, &line), 0);
            step_until(one, other, &one->downs, 1);
            step_some(other);
            assert_int_equal(one->reason, -EKEYREJECTED);
            assert_int_equal(one->ups + other->ups, 0);
            assert_int_equal(lifelines_garbage(one->lines), 1);
            assert_int_equal(lifelines_garbage(other->lines), 1);
            hub_close(one);
            hub_close(other);
        }
        struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1", .key = right});
        struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1", .key = right});
        connect_both(one, other, tcp);
        hub_close(one);
        hub_close(other);
    }
}

static void an_absent_peer_is_reported(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct context_address gone = other->address, local = other->address,
                           elsewhere = other->address;
    struct lifeline *line;
    local.family = 0;
    elsewhere.family = 0;
    elsewhere.host[0] ^= 1;
    hub_close(other);
    const struct context_address *addresses[] = {&gone, &local, &elsewhere};
    const int reasons[] = {-ECONNREFUSED, -ECONNREFUSED, -EHOSTUNREACH};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lifeline_connect(one->lines, addresses[i], &line), 0);
        assert_int_equal(one->downs, i); /* not from inside the call */
        step_until(one, NULL, &one->downs, i + 1);
        assert_int_equal(one->reason, reasons[i]);
    }
    /* The port belongs to another context than the one we asked for. */
    other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    gone.port = other->address.port;
    assert_int_equal(lifeline_connect(one->lines, &gone, &line), 0);
    step_until(one, other, &one->downs, 4);
    assert_int_equal(one->reason, -ECONNREFUSED);
    hub_close(other);
    hub_close(one);
}

static void invalid_addresses_are_reported(void **state)
{
    char path[256];
    struct hub *hub = hub_open(&(struct hub_wish){0});
    struct lifelines *lines;
    struct context_address address;
    struct why why = {""};
    struct lifelines_config config = {.poller = hub->poller,
                                      .folder = here.folder,
                                      .address = "10.0.0.300",
                                      .context = 77,
                                      .events = &events};
    unsigned descriptors = scratch_descriptors();
    assert_int_equal(lifelines_open(&lines, &config, &address, &why), -EINVAL);
    assert_non_null(strstr(why.text, "'10.0.0.300' is not an IP address"));
    config.address = "203.0.113.77";
    assert_int_equal(lifelines_open(&lines, &config, &address, &why), -EADDRNOTAVAIL);
    assert_non_null(strstr(why.text, "cannot listen on 203.0.113.77"));
    snprintf(path, sizeof path, "%s/socket.%016x", here.folder, 77);
    assert_int_equal(access(path, F_OK), -1);
    config.address = NULL;
    config.context = hub->address.context;
    assert_int_equal(lifelines_open(&lines, &config, &address, &why), -EBUSY);
    assert_non_null(strstr(why.text, "cannot lock"));
    assert_int_equal(scratch_descriptors(), descriptors); /* nothing leaks */
    hub_close(hub);
}

/* A connection that fails for lack of descriptors is reported, by Unix socket and by TCP. */
static void without_descriptors_connecting_fails(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct context_address to = other->address;
    struct rlimit before, none;
    struct lifeline *line;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        assert_int_equal(lifeline_connect(one->lines, &to, &line), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        step_until(one, NULL, &one->downs, i + 1);
        assert_int_equal(one->reason, -EMFILE);
        memset(to.host, 0xee, sizeof to.host); /* looks like another host */
    }
    hub_close(one);
    hub_close(other);
}

/* Lines that were up, that were starting, and that had ended leave no memory behind. */
static void closed_lines_leave_no_memory(void **state)
{
    size_t used = 0;
    for (unsigned i = 0; i < 60; i++) {
        if (i == 30) /* by now the heap holds what it keeps for reuse */
            used = mallinfo2().uordblks;
        struct hub *one = hub_open(&(struct hub_wish){0});
        struct hub *other = hub_open(&(struct hub_wish){0});
        struct context_address absent = other->address;
        struct lifeline *line;
        absent.context++;
        connect_both(one, other, false);
        assert_int_equal(lifeline_connect(one->lines, &other->address, &line), 0);
        assert_int_equal(lifeline_connect(one->lines, &absent, &line), 0); /* will fail */
        if (i % 2)
            step_until(one, NULL, &one->downs, 1);
        hub_close(one);
        hub_close(other);
    }
    assert_int_equal(mallinfo2().uordblks, used);
}

/* Two contexts on this host, but in different folders, connect by TCP. */
static void without_a_common_folder_tcp_is_tried(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    char saved[DOMAIN_PATH_MAX];
    memcpy(saved, here.folder, sizeof saved);
    assert_int_equal(domain_open(here.folder, "elsewhere", NULL), 0);
    struct hub *other = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    connect_both(one, other, false);
    assert_false(lifeline_local(one->line));
    hub_close(one);
    hub_close(other);
    assert_int_equal(rmdir(here.folder), 0);
    memcpy(here.folder, saved, sizeof saved);
}

static void addresses_are_written_as_a_person_reads_them(void **state)
{
    static const struct {
        struct context_address address;
        const char *text;
    } cases[] = {
        {{.family = 0}, "host"},
        {{.family = AF_INET, .address = {10, 0, 0, 1}, .port = 17701}, "10.0.0.1:17701"},
        {{.family = AF_INET6, .address = {0xfd, [15] = 1}, .port = 5}, "[fd00::1]:5"},
        {{.family = 77, .address = {10, 0, 0, 1}, .port = 5}, "host"},
    };
    char text[64];
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        context_address_text(&cases[i].address, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
    struct context_address program = {.family = ADDRESS_FABRIC};
    relay_address_write(&(struct relay_address){.server = 3, .program = 4, .life = 5},
                        program.address);
    context_address_text(&program, text, sizeof text);
    assert_string_equal(text, "server 3/4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(addresses_are_written_as_a_person_reads_them),
                                       TEST(a_hello_identifies_both_contexts),
                                       TEST(a_context_is_found_at_its_port_alone),
                                       TEST(bursts_arrive_whole_and_in_order),
                                       TEST(small_messages_that_arrive_together_are_all_handled),
                                       TEST(descriptors_arrive_and_do_not_leak),
                                       TEST(over_tcp_descriptors_are_refused),
                                       TEST(a_killed_peer_is_noticed_after_its_last_messages),
                                       TEST(draining_handles_what_has_arrived),
                                       TEST(answers_may_be_sent_from_a_callback),
                                       TEST(only_contexts_with_the_same_secret_come_up),
                                       TEST(an_absent_peer_is_reported),
                                       TEST(invalid_addresses_are_reported),
                                       TEST(without_descriptors_connecting_fails),
                                       TEST(closed_lines_leave_no_memory),
                                       TEST(without_a_common_folder_tcp_is_tried)};
    return cmocka_run_group_tests(tests, begin, end);
}
