/* Descriptors with real sockets, pipes and, where it is permitted, a TAP device. The test plays the
 * node: it is called when a descriptor has its turn. */
#include "os/descriptor/descriptors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

#define ENDS    80
#define WAITING (30 * NSEC_PER_SEC) /* a test that waits for this long has failed */

struct end {
    struct env_descriptor env;
    unsigned turns;
    unsigned ready; /* of the last turn */
};

static struct {
    struct lock lock;
    struct poller *poller;
    struct descriptors all;
    struct end listener, ends[ENDS];
    unsigned count;  /* accepted */
    unsigned turns;  /* of all ends */
    bool reads;      /* in a turn all bytes are read */
    bool closes;     /* in a turn the end is closed */
    int64_t last;    /* result of the last read ... */
    int64_t largest; /* ... and the largest one so far */
    char bytes[64];  /* what was read last */
    int refusals;    /* accepts with -EMFILE */
} stage;

static void accept_all(void)
{
    for (;;) {
        struct end *end = &stage.ends[stage.count];
        int result = descriptors_accept(&stage.listener.env, &end->env);
        if (result == -EAGAIN)
            return;
        if (result) {
            assert_int_equal(result, -EMFILE);
            stage.refusals++;
            continue;
        }
        stage.count++;
        end->env.wants = ENV_READ;
        watched_changed(&end->env);
    }
}

static void read_all(struct end *end)
{
    char bytes[sizeof stage.bytes];
    while ((stage.last = watched_read(&end->env, bytes, sizeof bytes)) > 0) {
        memcpy(stage.bytes, bytes, (size_t)stage.last);
        stage.largest = stage.last > stage.largest ? stage.last : stage.largest;
        if (stage.last < (int64_t)sizeof bytes)
            return; /* and no call that finds nothing */
    }
    if (stage.last != -EAGAIN)
        end->env.wants = 0;
}

static void on_turn(void *owner, struct env_descriptor *env, unsigned ready)
{
    struct end *end = (struct end *)env;
    assert_ptr_equal(owner, &stage);
    assert_true(ready & env->wants);
    end->turns++;
    end->ready = ready;
    if (end == &stage.listener) {
        accept_all();
        return;
    }
    stage.turns++;
    if (ready & ENV_WRITE)
        env->wants &= (uint8_t)~ENV_WRITE;
    if (stage.closes)
        watched_close(env);
    else if (stage.reads && ready & ENV_READ)
        read_all(end);
}

static void listen_at(struct end *end, const char *address)
{
    const struct env_address at = {address, 0};
    assert_int_equal(descriptors_listen(&stage.all, &stage, &end->env, &at), 0);
    end->env.wants = ENV_READ;
    watched_changed(&end->env);
}

static void stage_open(uint32_t most)
{
    memset(&stage, 0, sizeof stage);
    stage.reads = true;
    assert_int_equal(poller_open(&stage.poller, &stage.lock), 0);
    descriptors_open(&stage.all, stage.poller, on_turn, most);
    listen_at(&stage.listener, "127.0.0.1");
}

static void stage_close(void)
{
    for (unsigned i = 0; i < ENDS; i++)
        if (stage.ends[i].env.world)
            watched_close(&stage.ends[i].env);
    if (stage.listener.env.world)
        watched_close(&stage.listener.env);
    descriptors_close(&stage.all);
    poller_close(stage.poller);
}

/* Polls and gives turns, as a host does. */
static void step(void)
{
    poller_step(stage.poller, descriptors_waiting(&stage.all) ? 0 : clock_after(1000 * 1000));
    descriptors_pass(&stage.all);
}

#define until(condition)                                                                           \
    do {                                                                                           \
        for (nsec until_end_ = clock_after(WAITING); !(condition); step())                         \
            if (clock_now() > until_end_)                                                          \
                fail_msg("still false at the deadline: " #condition);                              \
    } while (0)

/* So many steps that whatever was under way on this machine has happened. */
static void settle(void)
{
    for (unsigned i = 0; i < 20; i++)
        step();
}

static int client_open(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)watched_port(&stage.listener.env)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static int client_accepted(void)
{
    unsigned before = stage.count;
    int fd = client_open();
    until(stage.count == before + 1);
    return fd;
}

static void client_reset(int fd)
{
    struct linger linger = {.l_onoff = 1};
    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    close(fd);
}

/* ---- sockets ---- */

static void each_arrival_is_a_turn_although_no_read_finds_nothing(void **state)
{
    stage_open(0);
    int fd = client_accepted();
    for (unsigned i = 1; i <= 20; i++) {
        assert_int_equal(send(fd, "hello", 5, 0), 5);
        until(stage.ends[0].turns == i);
        assert_int_equal(stage.last, 5);
    }
    settle();
    assert_int_equal(stage.ends[0].turns, 20);
    close(fd);
    until(stage.last == 0);
    stage_close();
}

/* The bytes and the end are reported at once; the bytes alone must not be taken for all. */
static void an_end_that_arrives_with_the_last_bytes_is_found(void **state)
{
    stage_open(0);
    for (unsigned i = 0; i < 50; i++) {
        int fd = client_accepted();
        assert_int_equal(send(fd, "last", 4, 0), 4);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        stage.last = 1;
        until(stage.last == 0);
        assert_memory_equal(stage.bytes, "last", 4);
        char bytes[8];
        assert_int_equal(watched_write(&stage.ends[i].env, "answer", 6), 6);
        assert_int_equal(recv(fd, bytes, sizeof bytes, MSG_WAITALL | MSG_DONTWAIT), 6);
        assert_int_equal(watched_finish(&stage.ends[i].env), 0);
        assert_int_equal(recv(fd, bytes, sizeof bytes, 0), 0);
        assert_int_equal(watched_write(&stage.ends[i].env, "x", 1), -EPIPE);
        close(fd);
    }
    stage_close();
}

static int64_t fill(struct end *end)
{
    static char bytes[100000];
    int64_t total = 0, count;
    while ((count = watched_write(&end->env, bytes, sizeof bytes)) > 0)
        total += count;
    assert_int_equal(count, -EAGAIN);
    return total;
}

static void drain(int fd, int64_t size)
{
    static char bytes[100000];
    while (size > 0) {
        ssize_t count = recv(fd, bytes, sizeof bytes, 0);
        assert_true(count > 0);
        size -= count;
        step();
    }
}

static void a_client_that_never_reads_costs_a_bounded_amount_and_room_is_reported_once(void **state)
{
    stage_open(0);
    int fd = client_accepted();
    struct end *end = &stage.ends[0];
    int64_t total = fill(end);
    assert_in_range(total, 100000, 16 * 1024 * 1024);
    end->env.wants |= ENV_WRITE;
    watched_changed(&end->env);
    settle();
    assert_int_equal(end->turns, 0);
    drain(fd, total);
    until(end->turns == 1);
    assert_true(end->ready & ENV_WRITE);
    settle();
    assert_int_equal(end->turns, 1);
    assert_true(fill(end) > 0);
    /* A client that ends while there is no room is reported, too. */
    end->env.wants = ENV_WRITE;
    watched_changed(&end->env);
    client_reset(fd);
    until(end->turns == 2);
    assert_true(watched_write(&end->env, "x", 1) < 0);
    stage_close();
}

static void a_reset_is_an_error_of_the_next_read(void **state)
{
    stage_open(0);
    int fd = client_accepted();
    client_reset(fd);
    until(stage.last == -ECONNRESET);
    settle();
    assert_int_equal(stage.ends[0].turns, 1); /* it is not reported for ever */
    stage_close();
}

static void a_paused_end_has_no_turn_before_it_goes_on(void **state)
{
    stage_open(0);
    int fd = client_accepted();
    struct end *end = &stage.ends[0];
    end->env.wants = 0;
    watched_changed(&end->env);
    assert_int_equal(send(fd, "hello", 5, 0), 5);
    close(fd);
    settle();
    assert_int_equal(end->turns, 0);
    end->env.wants = ENV_READ;
    stage.last = 1;
    watched_changed(&end->env); /* no event comes: what was reported before is remembered */
    until(stage.last == 0);
    assert_memory_equal(stage.bytes, "hello", 5);
    stage_close();
}

/* ---- limits ---- */

static bool is_disconnected(int fd)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char byte;
    return poll(&poll_fd, 1, 0) == 1 && recv(fd, &byte, 1, 0) <= 0;
}

static void clients_beyond_the_limit_are_disconnected(void **state)
{
    stage_open(3);
    int fds[5];
    for (unsigned i = 0; i < 5; i++)
        fds[i] = client_open();
    until(stage.refusals == 3);
    assert_int_equal(stage.count, 2);
    for (unsigned i = 0; i < 5; i++) {
        if (i >= 2)
            until(is_disconnected(fds[i]));
        else
            assert_false(is_disconnected(fds[i]));
        close(fds[i]);
    }
    const struct env_address address = {"127.0.0.1", 0};
    assert_int_equal(descriptors_listen(&stage.all, &stage, &stage.ends[9].env, &address), -EMFILE);
    watched_close(&stage.ends[0].env);
    close(client_accepted());
    stage_close();
}

/* The process itself has no descriptor left: clients are disconnected, not left waiting. */
static void clients_without_a_descriptor_are_disconnected(void **state)
{
    struct rlimit before, none;
    stage_open(0);
    int fds[3], used;
    for (unsigned i = 0; i < 3; i++)
        fds[i] = client_open();
    used = dup(0);
    close(used);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)used;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    until(stage.refusals == 3);
    assert_int_equal(stage.count, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    for (unsigned i = 0; i < 3; i++) {
        until(is_disconnected(fds[i]));
        close(fds[i]);
    }
    close(client_accepted());
    stage_close();
}

/* Not even the spare one is there: the listener rests, and accepts the client later. */
static void a_listener_without_a_spare_descriptor_rests(void **state)
{
    struct rlimit before, none;
    stage_open(0);
    int fd = client_open();
    close(stage.all.spare);
    stage.all.spare = -1;
    int used = dup(0);
    close(used);
    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = (rlim_t)used;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    until(stage.listener.turns == 1);
    settle();
    assert_int_equal(stage.count + (unsigned)stage.refusals, 0);
    assert_in_range(stage.listener.turns, 1, 3); /* it does not try for ever */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    until(stage.count == 1);
    assert_true(stage.all.spare >= 0);
    close(fd);
    stage_close();
}

static void a_pass_gives_a_few_turns_and_all_have_theirs(void **state)
{
    int fds[ENDS];
    stage_open(0);
    stage.reads = false; /* so all are ready for ever */
    for (unsigned i = 0; i < ENDS; i++)
        fds[i] = client_accepted();
    for (unsigned i = 0; i < ENDS; i++)
        assert_int_equal(send(fds[i], "x", 1, 0), 1);
    for (unsigned turns = stage.turns; stage.turns < 2 * ENDS; turns = stage.turns) {
        poller_step(stage.poller, clock_after(1000 * 1000));
        descriptors_pass(&stage.all);
        assert_true(stage.turns - turns <= 32);
    }
    /* Once all are waiting, none has a second turn before all others had one. */
    for (unsigned i = 0; i < ENDS; i++)
        until(stage.ends[i].turns > 0);
    unsigned most = 0, least = UINT32_MAX;
    for (unsigned i = 0; i < ENDS; i++)
        stage.ends[i].turns = 0;
    stage.turns = 0;
    while (stage.turns < 3 * ENDS)
        descriptors_pass(&stage.all);
    for (unsigned i = 0; i < ENDS; i++) {
        most = stage.ends[i].turns > most ? stage.ends[i].turns : most;
        least = stage.ends[i].turns < least ? stage.ends[i].turns : least;
        close(fds[i]);
    }
    assert_true(most - least <= 1);
    stage_close();
}

/* Otherwise a host would sleep while a descriptor waits. */
static void ends_that_became_unready_use_up_no_turns(void **state)
{
    int fds[ENDS];
    char byte;
    stage_open(0);
    for (unsigned i = 0; i < ENDS; i++)
        fds[i] = client_accepted();
    for (unsigned i = 0; i < ENDS; i++)
        assert_int_equal(send(fds[i], "x", 1, 0), 1);
    for (nsec end = clock_after(WAITING);; poller_step(stage.poller, clock_after(1000 * 1000))) {
        unsigned waiting = 0;
        assert_true(clock_now() < end);
        list_each(&stage.all.queue, node) waiting++;
        if (waiting == ENDS)
            break;
    }
    for (unsigned i = 0; i + 1 < ENDS; i++) /* all but one are drained before their turns */
        while (watched_read(&stage.ends[i].env, &byte, 1) > 0)
            continue;
    descriptors_pass(&stage.all);
    assert_false(descriptors_waiting(&stage.all));
    assert_int_equal(stage.turns, 1);
    for (unsigned i = 0; i < ENDS; i++)
        close(fds[i]);
    stage_close();
}

static void an_end_may_be_closed_in_its_turn_or_while_it_waits_for_one(void **state)
{
    stage_open(0);
    stage.closes = true;
    int one = client_accepted(), other = client_accepted();
    assert_int_equal(send(one, "x", 1, 0), 1);
    assert_int_equal(send(other, "x", 1, 0), 1);
    until(!stage.ends[0].env.world && !stage.ends[1].env.world);
    close(one);
    close(other);
    stage.closes = false;
    one = client_accepted();
    assert_int_equal(send(one, "x", 1, 0), 1);
    for (nsec end = clock_after(WAITING); !descriptors_waiting(&stage.all);) {
        assert_true(clock_now() < end);
        poller_step(stage.poller, clock_after(1000 * 1000));
    }
    watched_close(&stage.ends[2].env);
    assert_false(descriptors_waiting(&stage.all));
    close(one);
    stage_close();
}

/* ---- connecting ---- */

static void connects_end_with_a_result(void **state)
{
    struct env_address address = {"127.0.0.1", 0};
    struct end *end = &stage.ends[10], *other = &stage.ends[11];
    stage_open(0);
    address.port = (uint16_t)watched_port(&stage.listener.env);
    assert_int_equal(descriptors_connect(&stage.all, &stage, &end->env, &address), 0);
    end->env.wants = ENV_WRITE;
    watched_changed(&end->env);
    until(end->turns == 1);
    assert_int_equal(watched_result(&end->env), 0);
    assert_true(watched_port(&end->env) > 0);
    until(stage.count == 1);
    assert_int_equal(watched_write(&end->env, "self", 4), 4);
    until(stage.ends[0].turns == 1);
    assert_memory_equal(stage.bytes, "self", 4);
    watched_close(&stage.listener.env); /* from now on no socket listens there */
    assert_int_equal(descriptors_connect(&stage.all, &stage, &other->env, &address), 0);
    other->env.wants = ENV_WRITE;
    watched_changed(&other->env);
    until(other->turns == 1);
    assert_int_equal(watched_result(&other->env), -ECONNREFUSED);
    stage_close();
}

static void wrong_addresses_are_refused(void **state)
{
    struct env_descriptor *env = &stage.ends[10].env;
    stage_open(0);
    struct env_address address = {"localhost", 1};
    assert_int_equal(descriptors_listen(&stage.all, &stage, env, &address), -EINVAL);
    assert_int_equal(descriptors_connect(&stage.all, &stage, env, &address), -EINVAL);
    address.text = "192.0.2.1"; /* no machine has it */
    assert_int_equal(descriptors_listen(&stage.all, &stage, env, &address), -EADDRNOTAVAIL);
    address = (struct env_address){"127.0.0.1", (uint16_t)watched_port(&stage.listener.env)};
    assert_int_equal(descriptors_listen(&stage.all, &stage, env, &address), -EADDRINUSE);
    assert_int_equal(stage.all.count, 1);
    stage_close();
}

/* ---- descriptors that the service opened ---- */

static void pipes_are_read_and_written(void **state)
{
    int fds[2], back[2];
    struct end *in = &stage.ends[0], *out = &stage.ends[1];
    char bytes[4096];
    stage_open(0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(pipe(back), 0);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &in->env, fds[0]), 0);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &out->env, back[1]), 0);
    in->env.wants = ENV_READ;
    watched_changed(&in->env);
    assert_int_equal(write(fds[1], "abc", 3), 3);
    until(stage.largest == 3);
    assert_int_equal(watched_port(&in->env), -ENOTSOCK);
    assert_int_equal(watched_finish(&in->env), -ENOTSOCK);
    int64_t total = fill(out);
    out->env.wants = ENV_WRITE;
    watched_changed(&out->env);
    settle();
    assert_int_equal(out->turns, 0);
    for (; total > 0; total -= (int64_t)sizeof bytes)
        assert_int_equal(read(back[0], bytes, sizeof bytes), sizeof bytes);
    until(out->turns == 1);
    close(fds[1]);
    until(stage.last == 0);
    close(back[0]);
    settle();
    assert_int_equal(watched_write(&out->env, "x", 1), -EPIPE);
    stage_close();
}

/* As with a TAP device, each read returns one message; the next may be there already. */
static void messages_are_read_one_by_one(void **state)
{
    int fds[2];
    stage_open(0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds), 0);
    struct end *end = &stage.ends[0];
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &end->env, fds[0]), 0);
    end->env.wants = ENV_READ;
    watched_changed(&end->env);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(send(fds[1], "one", 3, 0), 3);
        assert_int_equal(send(fds[1], "two", 3, 0), 3);
        stage.bytes[1] = 0;
        until(stage.bytes[1] == 'w');
    }
    assert_int_equal(watched_write(&end->env, "back", 4), 4);
    char bytes[8];
    assert_int_equal(recv(fds[1], bytes, sizeof bytes, 0), 4);
    close(fds[1]);
    stage_close();
}

/* The service closes what it handed over. Another process still has the file open, so the system
 * goes on watching it; and the number belongs to the next file that is opened. */
static void a_descriptor_that_the_service_closed_harms_no_other(void **state)
{
    int fds[2], next[2];
    struct end *lost = &stage.ends[0], *other = &stage.ends[1];
    stage_open(0);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &lost->env, fds[0]), 0);
    lost->env.wants = ENV_READ;
    watched_changed(&lost->env);
    int elsewhere = fcntl(fds[0], F_DUPFD_CLOEXEC, 100);
    assert_true(elsewhere >= 100);
    close(fds[0]);
    assert_int_equal(pipe(next), 0);
    assert_int_equal(next[0], fds[0]);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &other->env, next[0]), 0);
    other->env.wants = ENV_READ;
    watched_changed(&other->env);

    assert_false(watched_close(&lost->env));
    assert_int_equal(write(fds[1], "lost", 4), 4);
    assert_int_equal(write(next[1], "abc", 3), 3);
    until(stage.largest == 3);
    assert_int_equal(lost->turns, 0);
    assert_true(watched_close(&other->env));
    assert_int_equal(fcntl(next[0], F_GETFD), -1);
    close(fds[1]);
    close(elsewhere);
    close(next[1]);
    stage_close();
}

static void what_cannot_be_watched_is_refused(void **state)
{
    struct end *end = &stage.ends[0];
    stage_open(0);
    int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &end->env, file), -EPERM);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC); /* it stays open */
    close(file);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &end->env, file), -EBADF);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &end->env, -1), -EBADF);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &end->env, fds[0]), 0);
    assert_int_equal(descriptors_adopt(&stage.all, &stage, &stage.ends[1].env, fds[0]), -EEXIST);
    close(fds[1]);
    stage_close();
}

/* ---- a TAP device, in a namespace of our own ---- */

static int tap_open(char name[IFNAMSIZ])
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ioctl(fd, TUNSETIFF, &request)) {
        close(fd);
        return -1;
    }
    memcpy(name, request.ifr_name, IFNAMSIZ);
    return fd;
}

static bool tap_up(const char *name)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(request.ifr_name, name, IFNAMSIZ);
    request.ifr_flags = IFF_UP;
    bool up = fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
    return up;
}

/* Exit code 77: not permitted here. */
static int tap_child(void)
{
    char name[IFNAMSIZ];
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) && unshare(CLONE_NEWNET))
        return 77;
    int fd = tap_open(name);
    if (fd < 0)
        return 77;
    stage_open(0);
    struct end *end = &stage.ends[0];
    if (descriptors_adopt(&stage.all, &stage, &end->env, fd))
        return 1;
    end->env.wants = ENV_READ;
    watched_changed(&end->env);
    if (!tap_up(name))
        return 77;
    for (nsec limit = clock_after(WAITING);
         stage.largest < 14;) { /* the kernel sends frames by itself */
        if (clock_now() > limit)
            return 2;
        step();
    }
    char frame[60] = "\xff\xff\xff\xff\xff\xff\2\0\0\0\0\1\x88\xb5";
    if (watched_write(&end->env, frame, sizeof frame) != sizeof frame)
        return 3;
    stage_close();
    return 0;
}

static void frames_of_a_tap_device_are_read_and_written(void **state)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(tap_child());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_arrival_is_a_turn_although_no_read_finds_nothing),
        TEST(an_end_that_arrives_with_the_last_bytes_is_found),
        TEST(a_client_that_never_reads_costs_a_bounded_amount_and_room_is_reported_once),
        TEST(a_reset_is_an_error_of_the_next_read),
        TEST(a_paused_end_has_no_turn_before_it_goes_on),
        TEST(clients_beyond_the_limit_are_disconnected),
        TEST(clients_without_a_descriptor_are_disconnected),
        TEST(a_listener_without_a_spare_descriptor_rests),
        TEST(a_pass_gives_a_few_turns_and_all_have_theirs),
        TEST(ends_that_became_unready_use_up_no_turns),
        TEST(an_end_may_be_closed_in_its_turn_or_while_it_waits_for_one),
        TEST(connects_end_with_a_result),
        TEST(wrong_addresses_are_refused),
        TEST(pipes_are_read_and_written),
        TEST(messages_are_read_one_by_one),
        TEST(a_descriptor_that_the_service_closed_harms_no_other),
        TEST(what_cannot_be_watched_is_refused),
        TEST(frames_of_a_tap_device_are_read_and_written),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
