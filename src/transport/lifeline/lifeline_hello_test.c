/* lifeline_hello: connections that violate the protocol of the hello, and floods of connections. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "transport/lifeline/lifeline_scene.h"
#include "transport/lifeline/lifeline_wire.h"
#include "transport/socket.h"

static int raw_connect(const struct hub *hub, bool tcp)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct socket_address address;
    int fd =
        socket(tcp ? AF_INET : AF_UNIX, (tcp ? SOCK_STREAM : SOCK_SEQPACKET) | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    if (tcp) {
        assert_int_equal(socket_of_address(&hub->address, &address), 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address.storage, address.size), 0);
    } else {
        snprintf(name.sun_path, sizeof name.sun_path, "%s/socket.%016llx", here.folder,
                 (unsigned long long)hub->address.context);
        assert_int_equal(connect(fd, (struct sockaddr *)&name, sizeof name), 0);
    }
    return fd;
}

/* Has the hub closed its end? Reads and drops what the hub sent before. */
static bool raw_closed(int fd)
{
    char buffer[2048];
    for (int i = 0; i < 10; i++) {
        ssize_t got = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            return true;
    }
    return false;
}

static size_t raw_hello(uint8_t *out, const struct hub *hub, uint16_t version, uint16_t claimed)
{
    struct lifeline_hello hello = {.role = HELLO_CONNECTS, .address = hub->address};
    size_t size = greeting_write(&hello, out + CONTROL_HEAD_SIZE);
    out[CONTROL_HEAD_SIZE + 5] = (uint8_t)version;
    struct control_head head = {.kind = HELLO_GREETING, .size = claimed ? claimed : (uint16_t)size};
    control_head_write(out, &head);
    return CONTROL_HEAD_SIZE + size;
}

static void invalid_hellos_are_cut_and_counted(void **state)
{
    unsigned before = scratch_descriptors();
    for (int tcp = 0; tcp < 2; tcp++) {
        struct hub *hub = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
        uint8_t bytes[LIFELINE_FRAME_MAX + 64] = {0};
        int garbage = 0;
        for (int kind = 0; kind < (tcp ? 9 : 10); kind++) {
            size_t size = raw_hello(bytes, hub, LIFELINE_VERSION, 0);
            struct control_head head = {.kind = HELLO_PROOF, .size = HELLO_DIGEST};
            if (kind == 0)
                entropy_fill(bytes, size = 300);
            else if (kind == 1)
                raw_hello(bytes, hub, LIFELINE_VERSION + 1, 0);
            else if (kind == 2) { /* larger than a message may be */
                bytes[4] = 0xff;
                bytes[5] = 0xff;
            } else if (kind == 3) /* a proof before the greeting */
                control_head_write(bytes, &head), size = CONTROL_HEAD_SIZE + HELLO_DIGEST;
            else if (kind == 4) /* context 0 */
                memset(bytes + CONTROL_HEAD_SIZE + 8, 0, 8);
            else if (kind == 5) /* the card is longer than the rest */
                bytes[CONTROL_HEAD_SIZE + HELLO_FIXED_SIZE - 1] = 9;
            else if (kind == 6) /* announces descriptors that do not come */
                bytes[6] = 1;
            else if (kind == 7) { /* a complete card that is too long */
                head = (struct control_head){.kind = HELLO_GREETING, .size = HELLO_SIZE_MAX + 1};
                control_head_write(bytes, &head);
                bytes[CONTROL_HEAD_SIZE + HELLO_FIXED_SIZE - 2] = (LIFELINE_CARD_MAX + 1) >> 8;
                bytes[CONTROL_HEAD_SIZE + HELLO_FIXED_SIZE - 1] = (LIFELINE_CARD_MAX + 1) & 0xff;
                size = CONTROL_HEAD_SIZE + HELLO_SIZE_MAX + 1;
            } else if (kind == 8) { /* connects, but claims to listen */
                struct lifeline_hello hello = {.role = HELLO_LISTENS, .address = hub->address};
                greeting_write(&hello, bytes + CONTROL_HEAD_SIZE);
            } else if (kind == 9) { /* claims another host, through this host's socket */
                struct lifeline_hello hello = {.role = HELLO_CONNECTS, .address = hub->address};
                hello.address.host[0] ^= 1;
                greeting_write(&hello, bytes + CONTROL_HEAD_SIZE);
            }
            int fd = raw_connect(hub, tcp);
            assert_int_equal(send(fd, bytes, size, MSG_NOSIGNAL), size);
            step_some(hub);
            assert_true(raw_closed(fd));
            close(fd);
            assert_int_equal(lifelines_garbage(hub->lines), ++garbage);
        }
        assert_int_equal(hub->ups + hub->downs, 0);
        hub_close(hub);
    }
    assert_int_equal(scratch_descriptors(), before);
}

static void surplus_descriptors_are_closed(void **state)
{
    enum { MANY = 40 };
    struct hub *hub = hub_open(&(struct hub_wish){0});
    uint8_t bytes[LIFELINE_FRAME_MAX];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * MANY)];
    } room;
    unsigned before = scratch_descriptors();
    for (unsigned count = 1; count <= MANY; count += 3) {
        int fd = raw_connect(hub, false);
        struct iovec piece = {bytes, raw_hello(bytes, hub, LIFELINE_VERSION, 0)};
        struct msghdr message = {.msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = room.bytes,
                                 .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
        memset(&room, 0, sizeof room);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * count);
        for (unsigned i = 0; i < count; i++)
            memcpy(CMSG_DATA(header) + i * sizeof fd, &fd, sizeof fd);
        assert_true(sendmsg(fd, &message, MSG_NOSIGNAL) > 0);
        step_some(hub);
        close(fd);
        step_some(hub);
        assert_int_equal(scratch_descriptors(), before);
    }
    assert_true(lifelines_garbage(hub->lines) > 0);
    hub_close(hub);
}

static void silent_and_incomplete_hellos_time_out(void **state)
{
    struct lifelines_counts counts = {0};
    struct hub *hub =
        hub_open(&(struct hub_wish){.address = "127.0.0.1", .hello_nsec = 20 * 1000 * 1000});
    uint8_t bytes[LIFELINE_FRAME_MAX];
    int silent[2] = {raw_connect(hub, false), raw_connect(hub, true)};
    int half = raw_connect(hub, true);
    size_t size = raw_hello(bytes, hub, LIFELINE_VERSION, 0);
    assert_int_equal(send(half, bytes, size - 1, MSG_NOSIGNAL), size - 1);
    nsec deadline = clock_after(PATIENCE);
    while (counts.silent < 3) {
        assert_true(clock_now() < deadline);
        poller_step(hub->poller, clock_after(1000000));
        lifelines_count(hub->lines, &counts);
    }
    assert_true(raw_closed(silent[0]) && raw_closed(silent[1]) && raw_closed(half));
    assert_int_equal(counts.garbage, 0);
    close(silent[0]);
    close(silent[1]);
    close(half);
    hub_close(hub);
}

/* The newest connections stay, and a peer gets through at any time. */
static void a_flood_of_hellos_is_bounded(void **state)
{
    enum { SURPLUS = 20, FLOOD = LIFELINE_GREETING_MAX + SURPLUS };
    struct lifelines_counts counts;
    struct hub *hub = hub_open(&(struct hub_wish){.address = "127.0.0.1"});
    struct hub *other = hub_open(&(struct hub_wish){0});
    int fds[FLOOD];
    for (int i = 0; i < FLOOD; i++) {
        fds[i] = raw_connect(hub, i % 2);
        step_some(hub);
    }
    lifelines_count(hub->lines, &counts);
    assert_int_equal(counts.surplus, SURPLUS);
    connect_both(other, hub, false);
    for (int i = 0; i < FLOOD; i++) {
        assert_true(raw_closed(fds[i]) == (i < SURPLUS + 1));
        close(fds[i]);
    }
    hub_close(other);
    hub_close(hub);
}

static void a_full_backlog_is_tried_again(void **state)
{
    enum { MANY = 200 }; /* more than the backlog takes */
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    struct lifeline *line;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(lifeline_connect(one->lines, &other->address, &line), 0);
    nsec deadline = clock_after(PATIENCE);
    while (one->ups + one->downs < MANY) {
        assert_true(clock_now() < deadline);
        poller_step(other->poller, 0);
        poller_step(one->poller, clock_after(100000));
    }
    assert_true(one->ups > LIFELINE_GREETING_MAX);
    hub_close(one);
    hub_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(invalid_hellos_are_cut_and_counted), TEST(surplus_descriptors_are_closed),
        TEST(silent_and_incomplete_hellos_time_out), TEST(a_flood_of_hellos_is_bounded),
        TEST(a_full_backlog_is_tried_again)};
    return cmocka_run_group_tests(tests, begin, end);
}
