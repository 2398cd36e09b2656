/* lifeline_room: messages with descriptors for which the receiving process has no room. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/lifeline/lifeline_impl.h"
#include "transport/lifeline/lifeline_scene.h"
#include "transport/lifeline/lifeline_wire.h"

static struct rlimit before;

/* From now on this process can open only so many descriptors more. */
static void room_leave(unsigned count)
{
    int last = 2, opened[CONTROL_FD_MAX];
    assert_true(count <= CONTROL_FD_MAX);
    for (unsigned i = 0; i < count; i++)
        assert_true((opened[i] = last = dup(STDERR_FILENO)) > 2);
    for (unsigned i = 0; i < count; i++)
        close(opened[i]);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit scarce = {(rlim_t)last + 1, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &scarce), 0);
}

static void room_make(void)
{
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static void step_until_rest(struct hub *hub)
{
    nsec deadline = clock_after(PATIENCE);
    while (!lifeline_rests(hub->line)) {
        assert_true(clock_now() < deadline);
        poller_step(hub->poller, clock_after(1000000));
    }
}

static int send_descriptors(struct lifeline *line, uint32_t number)
{
    struct control control = {.kind = 7, .size = sizeof number, .fd_count = CONTROL_FD_MAX};
    memcpy(control.body, &number, sizeof number);
    for (unsigned i = 0; i < CONTROL_FD_MAX; i++)
        control.fds[i] = STDERR_FILENO;
    return lifeline_send(line, &control);
}

/* Those that came although others did not fit are closed: they come again. */
static void a_message_waits_until_all_its_descriptors_fit(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    other->keep = true;
    for (unsigned room = 0; room < CONTROL_FD_MAX; room++) {
        assert_int_equal(send_descriptors(one->line, room), 0);
        unsigned open = scratch_descriptors();
        room_leave(room);
        step_until_rest(other);
        room_make();
        assert_int_equal(scratch_descriptors(), open);
        assert_int_equal(other->controls, room);
        step_until(one, other, &other->controls, (int)room + 1);
        assert_int_equal(other->kept_count, (room + 1) * CONTROL_FD_MAX);
        assert_false(lifeline_rests(other->line));
    }
    assert_false(other->disordered);
    hub_close(one);
    hub_close(other);
}

static void a_line_does_not_wait_for_descriptors_of_a_peer_that_has_ended(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    assert_int_equal(send_descriptors(one->line, 0), 0);
    hub_close(one);
    room_leave(0);
    step_until(other, NULL, &other->downs, 1);
    room_make();
    assert_int_equal(other->reason, -EPIPE);
    assert_int_equal(other->controls, 0);
    hub_close(other);
}

/* Sends a message with more descriptors than one may have, past the checks of lifeline_send. */
static void send_too_many(int socket)
{
    enum { MANY = CONTROL_FD_MAX + 1 };
    uint8_t bytes[CONTROL_HEAD_SIZE];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int) * MANY)];
    } room = {.header = {.cmsg_level = SOL_SOCKET,
                         .cmsg_type = SCM_RIGHTS,
                         .cmsg_len = CMSG_LEN(sizeof(int) * MANY)}};
    struct iovec piece = {bytes, sizeof bytes};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    control_head_write(bytes, &(struct control_head){.kind = 7, .fd_count = CONTROL_FD_MAX});
    for (unsigned i = 0; i < MANY; i++)
        memcpy(CMSG_DATA(&room.header) + i * sizeof socket, &socket, sizeof socket);
    assert_int_equal(sendmsg(socket, &message, MSG_NOSIGNAL), sizeof bytes);
}

static void a_peer_that_sends_too_many_descriptors_is_cut(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    unsigned open = scratch_descriptors();
    send_too_many(one->line->fd);
    step_until(other, NULL, &other->downs, 1);
    assert_int_equal(other->reason, -EPROTO);
    assert_int_equal(lifelines_garbage(other->lines), 1);
    assert_int_equal(scratch_descriptors(), open - 1); /* the line's socket is closed */
    hub_close(one);
    hub_close(other);
}

/* No hello has descriptors, so a line that is not up does not wait for any. */
static void a_hello_with_descriptors_is_refused_without_room_for_them(void **state)
{
    struct hub *one = hub_open(&(struct hub_wish){0});
    struct hub *other = hub_open(&(struct hub_wish){0});
    connect_both(one, other, false);
    one->line->state = LIFELINE_PROVING; /* as if its hello was not complete */
    assert_int_equal(send_descriptors(other->line, 0), 0);
    room_leave(0);
    step_until(one, NULL, &one->downs, 1);
    room_make();
    assert_int_equal(one->reason, -EPROTO);
    assert_int_equal(lifelines_garbage(one->lines), 1);
    hub_close(one);
    hub_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_waits_until_all_its_descriptors_fit),
        TEST(a_line_does_not_wait_for_descriptors_of_a_peer_that_has_ended),
        TEST(a_peer_that_sends_too_many_descriptors_is_cut),
        TEST(a_hello_with_descriptors_is_refused_without_room_for_them),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
