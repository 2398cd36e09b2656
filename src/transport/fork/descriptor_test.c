/* descriptor: the child of a fork keeps what is not recorded, and nothing else. Each test drops the
 * recorded descriptors in a child, and looks there. */
#include "transport/fork/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Returns which of the descriptors are open in a child that drops what is recorded, as bits. */
static unsigned open_in_child(const int *fds, unsigned count)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        unsigned left = 0;
        descriptors_hold();
        descriptors_inherit(true);
        for (unsigned i = 0; i < count; i++)
            left |= (unsigned)is_open(fds[i]) << i;
        _exit((int)left);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return (unsigned)WEXITSTATUS(status);
}

static void a_child_closes_what_is_recorded(void **state)
{
    int plain[2], pair[2];
    assert_int_equal(pipe(plain), 0);
    int fd = DESCRIPTOR_OPEN(dup(plain[0]));
    assert_int_equal(descriptor_pair(SOCK_STREAM, pair), 0);
    assert_int_equal(open_in_child((int[]){plain[0], fd, plain[1], pair[0], pair[1]}, 5), 0x05);
    assert_true(is_open(fd) && is_open(pair[0]) && is_open(pair[1]));
    descriptor_close(fd);
    descriptor_close(pair[0]);
    descriptor_close(pair[1]);
    close(plain[0]);
    close(plain[1]);
}

static void a_closed_number_is_forgotten(void **state)
{
    int fd = DESCRIPTOR_OPEN(open("/dev/null", O_RDONLY));
    descriptor_close(fd);
    int other = open("/dev/null", O_RDONLY); /* the program's own */
    assert_int_equal(other, fd);
    assert_int_equal(open_in_child(&other, 1), 1);
    close(other);
}

static void a_failed_open_is_ignored(void **state)
{
    assert_int_equal(DESCRIPTOR_OPEN(open("/nowhere/at/all", O_RDONLY)), -1);
    assert_int_equal(errno, ENOENT);
    assert_null(descriptor_folder("/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
    errno = 0;
    assert_null(descriptor_file("/nowhere/at/all"));
    assert_int_equal(errno, ENOENT);
}

static void a_child_closes_folders_and_files_that_are_being_read(void **state)
{
    DIR *folder = descriptor_folder("/proc/self");
    FILE *file = descriptor_file("/proc/self/maps");
    assert_true(folder && file);
    int fds[] = {dirfd(folder), fileno(file)};
    assert_int_equal(open_in_child(fds, 2), 0);
    assert_true(is_open(fds[0]) && is_open(fds[1]));
    descriptor_folder_close(folder);
    descriptor_file_close(file);
    assert_false(is_open(fds[0]) || is_open(fds[1]));
    for (unsigned i = 0; i < 2; i++) /* the program's own */
        assert_int_equal(dup2(STDERR_FILENO, fds[i]), fds[i]);
    assert_int_equal(open_in_child(fds, 2), 0x3);
    close(fds[0]);
    close(fds[1]);
}

static void descriptors_in_a_message_are_recorded(void **state)
{
    int pair[2], got[2] = {-1, -1};
    char byte = 1;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof got)];
    } room = {0};
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof pair);
    memcpy(CMSG_DATA(header), pair, sizeof pair);
    assert_int_equal(sendmsg(pair[0], &message, 0), 1);
    message.msg_controllen = sizeof room.bytes;
    assert_int_equal(descriptor_receive(pair[1], &message, 0), 1);
    header = CMSG_FIRSTHDR(&message);
    assert_non_null(header);
    if (header) /* so that clang-tidy sees it */
        memcpy(got, CMSG_DATA(header), sizeof got);
    assert_int_equal(open_in_child((int[]){pair[0], pair[1], got[0], got[1]}, 4), 0x03);
    for (unsigned i = 0; i < 2; i++) {
        descriptor_close(got[i]);
        close(pair[i]);
    }
}

static int set_make(int member)
{
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);
    assert_true(set >= 0);
    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, member, &event), 0);
    return set;
}

/* What libfabric opens: a set of sets of sockets, without close-on-exec. */
static void a_child_closes_the_sets_of_another_library(void **state)
{
    int pair[2], spare[2];
    struct epoll_event event = {.events = EPOLLIN};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, spare), 0);
    int inner = set_make(pair[0]), outer = set_make(inner);
    descriptor_adopt(outer);
    assert_int_equal(fcntl(pair[0], F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(pair[1], F_GETFD), 0);
    assert_int_equal(epoll_ctl(inner, EPOLL_CTL_ADD, spare[0], &event), 0); /* later */
    int fds[] = {pair[0], pair[1], spare[0], spare[1], inner, outer};
    assert_int_equal(open_in_child(fds, 6), 0x0a);
    assert_true(is_open(pair[0]) && is_open(spare[0]) && is_open(inner) && is_open(outer));
    /* In this process the sets work as before. */
    assert_int_equal(write(spare[1], "x", 1), 1);
    assert_int_equal(epoll_wait(outer, &event, 1, 0), 1);
    assert_int_equal(epoll_wait(inner, &event, 1, 0), 1);
    descriptor_forget(outer);
    assert_int_equal(open_in_child(fds, 6), 0x3f);
    for (unsigned i = 0; i < 6; i++)
        close(fds[i]);
}

/* The number of a member means another file here: the program closed the member's descriptor, but
 * the set still has the member, because a copy is open. */
static void a_number_with_another_file_stays_open(void **state)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    int copy = dup(pair[0]), set = set_make(pair[0]);
    close(pair[0]);
    assert_int_equal(dup2(pair[1], pair[0]), pair[0]);
    descriptor_adopt(set);
    assert_int_equal(open_in_child((int[]){pair[0], copy, set}, 3), 0x03);
    descriptor_forget(set);
    close(set);
    close(copy);
    close(pair[0]);
    close(pair[1]);
}

TEST_MAIN(TEST(a_child_closes_what_is_recorded), TEST(a_closed_number_is_forgotten),
          TEST(a_failed_open_is_ignored),
          TEST(a_child_closes_folders_and_files_that_are_being_read),
          TEST(descriptors_in_a_message_are_recorded),
          TEST(a_child_closes_the_sets_of_another_library),
          TEST(a_number_with_another_file_stays_open))
