/* Tests hosts in one process, and one that is killed: over shm, udp and local links. */
#include "os/host/host.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "os/host/client_socket.h"
#include "os/host/host_impl.h"
#include "os/host/host_scene.h"
#include "os/host/shaper.h"
#include "transport/memfile.h"
#include "transport/ring/channel.h"
#include "transport/wake/sleeper_scene.h"

/* ---- a service that echoes ---- */

#define ECHO_ID 300

static struct {
    unsigned echoes; /* that came back to servers of this process */
    unsigned gone;
    unsigned requests;
} seen;

static void echo_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    const uint8_t *to = bytes;
    seen.requests++;
    if (size == 1) {
        struct weft_packet *packet = weft_packet(self, 100);
        assert_non_null(packet);
        weft_set_identity(packet, 7);
        weft_send_server(self, packet, to[0]);
    }
    weft_answer(self, client, ticket, bytes, size);
}

static void echo_deliver(struct weft_self *self, struct weft_packet *packet)
{
    if (weft_identity(packet) == 7) {
        weft_set_identity(packet, 8);
        weft_reply(self, packet);
        return;
    }
    seen.echoes++;
    weft_done(packet);
}

static void echo_gone(struct weft_self *self, uint64_t client)
{
    seen.gone++;
}

static const struct weft_service_ops echo_ops = {
    .request = echo_request, .deliver = echo_deliver, .gone = echo_gone};
static const struct weft_service echo = {
    .version = WEFT_SERVICE_VERSION, .name = "echo", .id = ECHO_ID, .ops = &echo_ops};
static const struct weft_service *const echo_services[] = {&echo, NULL};

static void ping(struct scene *scene, unsigned host, node_id from, uint8_t to)
{
    unsigned before = seen.echoes;
    assert_int_equal(host_request(scene->hosts[host], from, ECHO_ID, &to, 1), 0);
    scene_until(scene, seen.echoes > before);
}

static void servers_of_one_process_reach_each_other(void **state)
{
    struct scene scene;
    scene_open(&scene, "torus:3x3x3", echo_services);
    scene.hosts[0] = scene_host(&scene, (1u << 27) - 1);
    for (node_id id = 0; id < 27; id++)
        scene_until(&scene, scene_reaches(&scene, 0, id, 27));
    for (uint8_t to = 1; to < 27; to++)
        ping(&scene, 0, 0, to);
    for (node_id id = 0; id < 27; id++) {
        struct node_snapshot snapshot;
        node_snapshot(host_node(scene.hosts[0], id), &snapshot);
        assert_int_equal(snapshot.drops[DROP_PORT_DOWN], 0);
    }
    scene_close(&scene);
}

/* Two processes of two servers each; one of them ends and comes back while the other continues. */
static void hosts_connect_separate_and_connect_again(const char *transport)
{
    struct scene scene;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.config.transport = cables_transport(transport);
    scene.hosts[0] = scene_host(&scene, 1 << 0 | 1 << 3);
    for (unsigned life = 0; life < 3; life++) {
        scene.hosts[1] = scene_host(&scene, 1 << 1 | 1 << 2);
        scene_until(&scene, scene_reaches(&scene, 0, 0, 4) && scene_reaches(&scene, 0, 3, 4));
        scene_until(&scene, scene_reaches(&scene, 1, 1, 4) && scene_reaches(&scene, 1, 2, 4));
        ping(&scene, 0, 0, 1);
        ping(&scene, 0, 0, 3); /* through the other process */
        ping(&scene, 1, 2, 3);
        scene_close_host(&scene, 1);
        scene_until(&scene, scene_reaches(&scene, 0, 0, 1));
        assert_false(node_reaches(host_node(scene.hosts[0], 0), 3));
    }
    scene_close(&scene);
}

static void hosts_connect_again_over_shm(void **state)
{
    hosts_connect_separate_and_connect_again("shm");
}

static void hosts_connect_again_over_udp(void **state)
{
    hosts_connect_separate_and_connect_again("udp");
}

/* Starts a process of its own for two servers, until it is killed. */
static pid_t scene_child(struct scene *scene, uint32_t servers)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    static const volatile sig_atomic_t never = 0;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves no process behind */
    host_run(scene_host(scene, servers), &never, NSEC_NEVER);
    _exit(1);
}

/* A process is killed while it has work: its servers are gone at once, and come back as new
 * ones. */
static void killed_servers_are_noticed_and_return(const char *transport)
{
    struct scene scene;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.config.transport = cables_transport(transport);
    scene.config.silence_nsec = 1000 * NSEC_PER_SEC; /* so that only the carrier shows it */
    pid_t pid = scene_child(&scene, 1 << 1 | 1 << 2);
    scene.hosts[0] = scene_host(&scene, 1 << 0 | 1 << 3);
    for (unsigned life = 0; life < 3; life++) {
        scene_until(&scene, scene_reaches(&scene, 0, 0, 4));
        ping(&scene, 0, 0, 3);
        uint8_t to = 2;
        for (unsigned i = 0; i < 20; i++)
            assert_int_equal(host_request(scene.hosts[0], 3, ECHO_ID, &to, 1), 0);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        scene_until(&scene, scene_reaches(&scene, 0, 0, 1));
        pid = scene_child(&scene, 1 << 1 | 1 << 2);
    }
    scene_until(&scene, scene_reaches(&scene, 0, 3, 4));
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    scene_until(&scene, scene_reaches(&scene, 0, 3, 1));
    scene.hosts[1] = scene_host(&scene, 1 << 1 | 1 << 2); /* cleans up after the killed process */
    scene_close(&scene);
}

static void killed_servers_return_over_shm(void **state)
{
    killed_servers_are_noticed_and_return("shm");
}

static void killed_servers_return_over_udp(void **state)
{
    killed_servers_are_noticed_and_return("udp");
}

/* ---- requests ---- */

static int client_open(const struct scene *scene, node_id server)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/node-%u.socket", scene->folder, server);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
    nsec end = clock_after(SCENE_NSEC); /* its process may have just started */
    while (connect(fd, (struct sockaddr *)&address, sizeof address))
        assert_true((errno == ENOENT || errno == ECONNREFUSED) && clock_now() < end);
    return fd;
}

/* A program sends its hello, without memory, and reads the welcome. */
static void client_greet(struct scene *scene, int fd)
{
    uint8_t bytes[64];
    struct attach_answer welcome;
    ssize_t size;
    attach_ask_write(&(struct attach_ask){0}, bytes);
    assert_int_equal(send(fd, bytes, ATTACH_ASK_SIZE, 0), ATTACH_ASK_SIZE);
    scene_until(scene, (size = recv(fd, bytes, sizeof bytes, 0)) >= 0);
    assert_int_equal(attach_answer_read(&welcome, bytes, (size_t)size), 0);
    assert_int_equal(welcome.status, 0);
    assert_int_equal(welcome.version, ATTACH_VERSION);
    assert_int_equal(welcome.memory, ENODATA);
}

static ssize_t client_ask(int fd, const struct attach_head *head, const void *bytes, size_t size)
{
    uint8_t front[ATTACH_HEAD_SIZE];
    struct iovec pieces[] = {{front, sizeof front}, {(void *)(uintptr_t)bytes, size}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    attach_head_write(head, front);
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

/* Waits for the next packet; returns its size without the head. */
static uint32_t client_answer(struct scene *scene, int fd, struct attach_head *head, void *bytes,
                              size_t size)
{
    uint8_t front[ATTACH_HEAD_SIZE];
    struct iovec pieces[] = {{front, sizeof front}, {bytes, size}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    ssize_t got;
    scene_until(scene, (got = recvmsg(fd, &message, 0)) >= 0);
    assert_true(got >= ATTACH_HEAD_SIZE);
    assert_int_equal(attach_head_read(head, front, sizeof front), 0);
    return (uint32_t)got - ATTACH_HEAD_SIZE;
}

static void folder_empty(const struct scene *scene)
{
    char path[sizeof scene->folder + sizeof((struct dirent *)0)->d_name];
    const struct dirent *entry;
    DIR *entries = opendir(scene->folder);
    assert_non_null(entries);
    while ((entry = readdir(entries))) {
        snprintf(path, sizeof path, "%s/%s", scene->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            assert_int_equal(unlink(path), 0);
    }
    closedir(entries);
}

/* The files of running hosts were removed, and other hosts with the same names started. */
static void a_host_removes_only_its_own_sockets(void **state)
{
    struct scene first, scene;
    scene_open(&first, "torus:2x2", echo_services);
    first.hosts[0] = scene_host(&first, 1 << 0 | 1 << 3);
    folder_empty(&first);
    scene = first;
    scene.hosts[0] = scene_host(&scene, 1 << 0 | 1 << 3);
    scene_close_host(&first, 0);
    scene.hosts[1] = scene_host(&scene, 1 << 1 | 1 << 2); /* finds the others by their names */
    scene_until(&scene, scene_reaches(&scene, 0, 0, 4) && scene_reaches(&scene, 1, 1, 4));
    int program = client_open(&scene, 0);
    close(program);
    scene_close(&scene);
}

static void programs_send_requests_and_disconnect(void **state)
{
    struct scene scene;
    static uint8_t bytes[9000], back[9001];
    unsigned gone = seen.gone;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int fds[2] = {client_open(&scene, 2), client_open(&scene, 2)};
    struct attach_head head = {.service = ECHO_ID, .ticket = UINT64_C(1) << 63};
    memset(bytes, 0x5a, sizeof bytes);
    for (unsigned i = 0; i < 2; i++)
        client_greet(&scene, fds[i]);
    assert_int_equal(client_ask(fds[0], &head, bytes, sizeof bytes),
                     ATTACH_HEAD_SIZE + sizeof bytes);
    assert_int_equal(client_answer(&scene, fds[0], &head, back, sizeof back), sizeof bytes);
    assert_memory_equal(back, bytes, sizeof bytes);
    assert_true(head.service == ECHO_ID && !head.status && head.ticket == UINT64_C(1) << 63);
    /* Half of a head. */
    assert_int_equal(send(fds[1], bytes, ATTACH_HEAD_SIZE / 2, 0), ATTACH_HEAD_SIZE / 2);
    scene_until(&scene, recv(fds[1], back, sizeof back, 0) == 0);
    for (unsigned i = 0; i < 2; i++)
        close(fds[i]);
    scene_until(&scene, seen.gone == gone + 2);
    scene_close(&scene);
}

/* The answer says that there is no such service, and later requests are handled. */
static void a_missing_service_is_refused_by_an_answer(void **state)
{
    struct scene scene;
    struct attach_head head = {.service = ECHO_ID + 1, .ticket = 77};
    uint8_t bytes[64];
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int fd = client_open(&scene, 2);
    client_greet(&scene, fd);
    assert_true(client_ask(fd, &head, "some", 4) > 0);
    assert_int_equal(client_answer(&scene, fd, &head, bytes, sizeof bytes), 0);
    assert_true(head.service == ECHO_ID + 1 && head.status == ENOENT && head.ticket == 77);
    /* Services have numbers, which can be asked for by name. */
    head = (struct attach_head){.service = ATTACH_SERVICE, .ticket = 78};
    assert_true(client_ask(fd, &head, "echo", 4) > 0);
    assert_int_equal(client_answer(&scene, fd, &head, bytes, sizeof bytes), ATTACH_NUMBER_SIZE);
    assert_true(head.service == ATTACH_SERVICE && !head.status && head.ticket == 78);
    assert_int_equal(bytes[0] << 8 | bytes[1], ECHO_ID);
    head = (struct attach_head){.service = ATTACH_SERVICE, .ticket = 79};
    assert_true(client_ask(fd, &head, "ech", 3) > 0);
    assert_int_equal(client_answer(&scene, fd, &head, bytes, sizeof bytes), 0);
    assert_true(head.status == ENOENT && head.ticket == 79);
    close(fd);
    scene_close(&scene);
}

/* ---- requests through shared memory ---- */

static struct channel *memory_open(struct scene *scene, int fd)
{
    struct channel *channel;
    uint8_t answer[64];
    struct attach_answer welcome;
    ssize_t size;
    assert_int_equal(channel_open(&channel, fd), 0);
    assert_int_equal(channel_offer(channel), 0);
    scene_until(scene, (size = recv(fd, answer, sizeof answer, 0)) >= 0);
    assert_int_equal(attach_answer_read(&welcome, answer, (size_t)size), 0);
    assert_true(!welcome.status && !welcome.memory);
    channel_agree(channel);
    return channel;
}

static void memory_echo(struct scene *scene, struct channel *channel, uint8_t value, uint32_t size)
{
    static uint8_t bytes[CHANNEL_MESSAGE_MAX], back[CHANNEL_MESSAGE_MAX];
    const struct iovec piece = {bytes, size};
    struct channel_message message;
    memset(bytes, value, size);
    const struct attach_head head = {.service = ECHO_ID, .ticket = 1000 + value};
    assert_int_equal(channel_say(channel, &head, &piece, 1), 0);
    scene_until(scene, channel_take(channel, &message, back) == 1);
    assert_true(message.head.service == ECHO_ID && !message.head.status);
    assert_int_equal(message.head.ticket, 1000 + value);
    assert_int_equal(message.size, size);
    assert_memory_equal(back, bytes, size);
}

static void programs_send_requests_through_memory(void **state)
{
    struct scene scene;
    unsigned gone = seen.gone;
    const struct attach_head head = {.service = ECHO_ID, .ticket = 5};
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int fd = client_open(&scene, 2);
    struct channel *channel = memory_open(&scene, fd);
    for (unsigned i = 0; i < 500; i++)
        memory_echo(&scene, channel, (uint8_t)i, i % 7 ? 2 + i : CHANNEL_MESSAGE_MAX);
    /* A request through the socket is still handled; its answer comes through memory. */
    uint8_t back[CHANNEL_MESSAGE_MAX];
    struct channel_message message;
    assert_true(client_ask(fd, &head, "~!", 2) > 0);
    scene_until(&scene, channel_take(channel, &message, back) == 1);
    assert_int_equal(message.size, 2);
    assert_int_equal(message.head.ticket, 5);
    assert_memory_equal(back, "~!", 2);
    /* A program can have only one channel. */
    struct channel *second;
    assert_int_equal(channel_open(&second, fd), 0);
    assert_int_equal(channel_offer(second), 0);
    scene_until(&scene, seen.gone == gone + 1);
    channel_close(second);
    channel_close(channel);
    close(fd);
    scene_close(&scene);
}

/* Only its bell wakes the host: its servers have no other neighbours, and their hellos are rare.
 */
static void a_sleeping_host_is_woken_through_memory(void **state)
{
    static uint8_t back[CHANNEL_MESSAGE_MAX];
    struct scene scene;
    scene_open(&scene, "torus:2", echo_services);
    scene.config.hello_nsec = 1000 * NSEC_PER_SEC;
    scene.config.silence_nsec = 4000 * NSEC_PER_SEC;
    pid_t pid = scene_child(&scene, 1 << 0 | 1 << 1);
    int fd = client_open(&scene, 0);
    struct channel *channel = memory_open(&scene, fd);
    for (unsigned i = 0; i < 2000; i++) {
        const struct iovec piece = {&i, sizeof i};
        struct channel_message message;
        int taken = 0;
        const struct attach_head head = {.service = ECHO_ID, .ticket = i};
        assert_int_equal(channel_say(channel, &head, &piece, 1), 0);
        while (!taken) {
            struct pollfd ready = {.fd = fd, .events = POLLIN};
            uint8_t ring[2];
            channel_arm(channel);
            channel_fence(channel);
            taken = channel_take(channel, &message, back);
            if (taken)
                continue;
            if (poll(&ready, 1, (int)(SLEEPER_PATIENCE_NSEC / (1000 * 1000))) != 1) {
                kill(pid, SIGKILL);
                fail_msg("round %u: the bell was not rung", i);
            }
            assert_int_equal(recv(fd, ring, sizeof ring, 0), 1);
        }
        assert_int_equal(taken, 1);
        assert_int_equal(message.size, sizeof i);
        assert_memory_equal(back, &i, sizeof i);
    }
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    channel_close(channel);
    close(fd);
    scene.hosts[0] = scene_host(&scene, 1 << 0 | 1 << 1); /* cleans up after the killed process */
    scene_close(&scene);
}

static volatile sig_atomic_t stopping;

static void run_host(void *argument)
{
    host_run(argument, &stopping, NSEC_NEVER);
}

static void a_sleeping_host_is_woken_to_stop(void **state)
{
    static struct scene scene;
    static struct sleeper sleeper;
    scene_open(&scene, "torus:2", echo_services);
    scene.config.hello_nsec = 1000 * NSEC_PER_SEC;
    scene.config.silence_nsec = 4000 * NSEC_PER_SEC;
    scene.hosts[0] = scene_host(&scene, 1 << 0 | 1 << 1);
    scene_until(&scene,
                scene.hosts[0]->due > clock_after(100 * NSEC_PER_SEC)); /* no timer wakes it */
    sleeper_start(&sleeper, run_host, scene.hosts[0]);
    stopping = 1;
    host_wake(scene.hosts[0]);
    sleeper_assert_woken(&sleeper);
    scene_close(&scene);
}

static void a_killed_program_is_noticed(void **state)
{
    enum { WORDS = 400 };
    struct scene scene;
    unsigned gone = seen.gone, requests = seen.requests;
    const struct iovec piece = {"words", 5};
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int fd = client_open(&scene, 0);
    struct channel *channel = memory_open(&scene, fd);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) { /* it sends requests, and ends before the host polls */
        for (unsigned i = 0; i < WORDS; i++)
            if (channel_say(channel, &(struct attach_head){.service = ECHO_ID}, &piece, 1))
                _exit(1);
        _exit(raise(SIGKILL));
    }
    channel_close(channel);
    close(fd);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    scene_until(&scene, seen.gone == gone + 1);
    assert_int_equal(seen.requests - requests, WORDS); /* all its requests were handled */
    scene_close(&scene);
}

/* Offers a file of two small rings into which the test writes what it likes. */
static void memory_offer(int fd, const struct memfile *file)
{
    uint8_t ask[ATTACH_ASK_SIZE];
    union {
        struct cmsghdr header;
        uint8_t bytes[CMSG_SPACE(sizeof(int))];
    } room = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
    struct iovec piece = {ask, sizeof ask};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    memcpy(CMSG_DATA(&room.header), &file->fd, sizeof(int));
    attach_ask_write(&(struct attach_ask){8, 32 << 10}, ask);
    assert_int_equal(sendmsg(fd, &message, 0), sizeof ask);
}

/* A client that writes malformed data is disconnected, and the others do not notice. */
static void malformed_data_disconnects_only_its_program(void **state)
{
    enum { ANSWERS = 16 * 32, SLOTS = 8 * 128, BELLS = 256 };
    enum { RING = 128 + ANSWERS + SLOTS + (32 << 10), SLOT = BELLS + 128 + ANSWERS };
    /* A stamp of a message that is too large, a head after the tail, a request with a status. */
    const struct {
        size_t at;
        uint64_t value;
    } nonsense[] = {{SLOT, (uint64_t)60000 << 32 | 1}, {BELLS + RING, 1000}, {SLOT, 1}};
    const uint64_t status = UINT64_MAX; /* the kind and the status are in this word of a slot */
    struct scene scene;
    unsigned gone = seen.gone;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int good = client_open(&scene, 1);
    struct channel *channel = memory_open(&scene, good);
    for (unsigned i = 0; i < 3; i++) {
        struct memfile file;
        uint8_t bytes[64];
        int fd = client_open(&scene, 1);
        const struct attach_head head = {.service = ECHO_ID, .ticket = 1};
        assert_int_equal(memfile_open(&file, "weft-test", BELLS + 2 * RING), 0);
        memory_offer(fd, &file);
        scene_until(&scene, recv(fd, bytes, sizeof bytes, 0) == ATTACH_ANSWER_SIZE);
        memcpy((uint8_t *)file.base + nonsense[i].at, &nonsense[i].value, sizeof(uint64_t));
        if (i == 2)
            memcpy((uint8_t *)file.base + SLOT + 24, &status, sizeof status);
        /* The answers fill a ring; its head is checked when the ring is full. */
        for (unsigned k = 0; k < 12; k++)
            (void)!client_ask(fd, &head, "ab", 2);
        scene_until(&scene, recv(fd, bytes, sizeof bytes, 0) == 0 || seen.gone == gone + 1 + i);
        memory_echo(&scene, channel, (uint8_t)i, 1000);
        scene_until(&scene, seen.gone == gone + 1 + i);
        memfile_close(&file);
        close(fd);
    }
    channel_close(channel);
    close(good);
    scene_until(&scene, seen.gone == gone + 4);
    scene_close(&scene);
}

/* No head, and more bytes than a request may have. */
static void malformed_requests_disconnect_their_program(void **state)
{
    static const uint8_t bytes[ATTACH_HEAD_SIZE + ATTACH_MESSAGE_MAX + 1] = {ECHO_ID >> 8,
                                                                             ECHO_ID & 0xff};
    static const size_t sizes[] = {1, ATTACH_HEAD_SIZE - 1, sizeof bytes};
    struct scene scene;
    unsigned gone = seen.gone;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    for (unsigned i = 0; i < 3; i++) {
        uint8_t answer[64];
        int fd = client_open(&scene, 1);
        client_greet(&scene, fd);
        assert_int_equal(send(fd, bytes, sizes[i], MSG_NOSIGNAL), sizes[i]);
        scene_until(&scene, recv(fd, answer, sizeof answer, 0) == 0);
        assert_int_equal(seen.gone, gone + 1 + i);
        close(fd);
    }
    scene_close(&scene);
}

/* The node cannot use the offered memory: it reports that, and the program uses the socket. */
static void without_shared_memory_requests_go_through_the_socket(void **state)
{
    struct scene scene;
    uint8_t ask[ATTACH_ASK_SIZE], bytes[64];
    struct attach_head head = {.service = ECHO_ID, .ticket = 9};
    struct attach_answer welcome;
    ssize_t size;
    scene_open(&scene, "torus:2x2", echo_services);
    scene.hosts[0] = scene_host(&scene, 0xf);
    int fd = client_open(&scene, 1);
    attach_ask_write(&(struct attach_ask){512, 1 << 19}, ask);
    assert_int_equal(send(fd, ask, sizeof ask, 0), sizeof ask); /* without a descriptor */
    scene_until(&scene, (size = recv(fd, bytes, sizeof bytes, 0)) >= 0);
    assert_int_equal(attach_answer_read(&welcome, bytes, (size_t)size), 0);
    assert_int_equal(welcome.status, 0);
    assert_int_equal(welcome.memory, EOPNOTSUPP);
    assert_int_equal(welcome.server, 1);
    assert_true(client_ask(fd, &head, "ab", 2) > 0);
    assert_int_equal(client_answer(&scene, fd, &head, bytes, sizeof bytes), 2);
    assert_int_equal(head.ticket, 9);
    assert_memory_equal(bytes, "ab", 2);
    close(fd);
    scene_close(&scene);
}

/* ---- shaping ---- */

/* Services that always have packets for their neighbour. */
static struct weft_packet *flood_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    struct weft_packet *packet = room < 1000 ? NULL : weft_packet_hollow(self, 960, 8);
    if (packet)
        weft_address_server(self, packet, 1);
    return packet;
}

static void flood_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    weft_wake(self, UINT32_MAX);
}

static uint64_t flooded[3];

static void flood_deliver(struct weft_self *self, struct weft_packet *packet)
{
    flooded[*(const unsigned *)weft_memory(self)] += weft_size(packet);
    weft_done(packet);
}

static unsigned flood_starts;

static int flood_start(struct weft_self *self)
{
    *(unsigned *)weft_memory(self) = flood_starts++ % 3;
    return 0;
}

static const struct weft_service_ops flood_ops = {
    .start = flood_start, .poll = flood_poll, .request = flood_request, .deliver = flood_deliver};
#define FLOOD(number, share)                                                                       \
    {                                                                                              \
        .version = WEFT_SERVICE_VERSION, .name = "flood-" #share, .id = (number),                  \
        .weight = (share), .queue = WEFT_QUEUE_OWN, .size = sizeof(unsigned), .ops = &flood_ops    \
    }
static const struct weft_service floods[] = {FLOOD(301, 1), FLOOD(302, 2), FLOOD(303, 4)};
static const struct weft_service *const flood_services[] = {&floods[0], &floods[1], &floods[2],
                                                            NULL};

/* A shaped link is never faster than its rate, and services share it by their weights. */
static void a_shaped_link_is_shared_by_weights(void **state)
{
    enum { BYTES = 4 * 1000 * 1000 };
    struct scene scene;
    struct port_snapshot before, after;
    flood_starts = 0;
    memset(flooded, 0, sizeof flooded);
    scene_open(&scene, "torus:2", flood_services);
    scene.config.rate_bps = 100 * 1000 * 1000;
    scene.hosts[0] = scene_host(&scene, 1 << 0);
    scene.hosts[1] = scene_host(&scene, 1 << 1);
    scene_until(&scene, scene_reaches(&scene, 0, 0, 2) && scene_reaches(&scene, 1, 1, 2));
    unsigned port = plan_port(&scene.plan, 0, 1);
    node_snapshot_port(host_node(scene.hosts[0], 0), port, &before);
    nsec begin = clock_now();
    for (uint16_t id = 301; id <= 303; id++)
        assert_int_equal(host_request(scene.hosts[0], 0, id, NULL, 0), 0);
    scene_until(&scene, flooded[0] + flooded[1] + flooded[2] > BYTES);
    nsec spent = clock_now() - begin;
    node_snapshot_port(host_node(scene.hosts[0], 0), port, &after);
    uint64_t line = after.bytes_out - before.bytes_out +
                    SHAPER_FRAME_BYTES * (after.frames_out - before.frames_out);
    /* Sending takes at least this long, whatever else runs here; one frame may be in flight. */
    nsec least = (nsec)(line - PACKET_SIZE_MAX - SHAPER_FRAME_BYTES) * 80 - SHAPER_DEPTH_NSEC;
    assert_true(spent >= least);
    double total = (double)(flooded[0] + flooded[1] + flooded[2]);
    for (unsigned i = 0; i < 3; i++)
        assert_within((double)flooded[i] / total, (double)(1 << i) / 7, 0.02);
    assert_true(after.busy > before.busy);
    scene_close(&scene);
}

TEST_MAIN(TEST(servers_of_one_process_reach_each_other), TEST(hosts_connect_again_over_shm),
          TEST(hosts_connect_again_over_udp), TEST(a_host_removes_only_its_own_sockets),
          TEST(killed_servers_return_over_shm), TEST(killed_servers_return_over_udp),
          TEST(programs_send_requests_and_disconnect),
          TEST(a_missing_service_is_refused_by_an_answer),
          TEST(programs_send_requests_through_memory),
          TEST(a_sleeping_host_is_woken_through_memory), TEST(a_sleeping_host_is_woken_to_stop),
          TEST(a_killed_program_is_noticed), TEST(malformed_data_disconnects_only_its_program),
          TEST(malformed_requests_disconnect_their_program),
          TEST(without_shared_memory_requests_go_through_the_socket),
          TEST(a_shaped_link_is_shared_by_weights))
