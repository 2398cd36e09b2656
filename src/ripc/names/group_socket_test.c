/* When not all sockets of a group can be opened, none stays open. */
#include "ripc/names/group_socket.h"

#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/test.h"
#include "transport/clock.h"
#include "transport/scratch.h"

static void group_make(char group[32])
{
    uint64_t random = entropy_u64();
    snprintf(group, 32, "239.255.%u.%u:%u", (unsigned)(random & 255), (unsigned)(random >> 8 & 255),
             (unsigned)(20000 + (random >> 16) % 12000));
}

/* Opens the sockets while only `left` descriptors are free. */
static int open_with(struct group_socket *sockets, const char *group, unsigned left)
{
    struct why why = {""};
    struct rlimit limit, few;
    int first = dup(STDOUT_FILENO); /* all lower ones are in use */
    assert_true(first >= 0);
    close(first);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = (rlim_t)first + left;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    int result = group_socket_open(sockets, group, NULL, &why);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(result != 0, why.text[0] != '\0');
    return result;
}

static void a_failed_open_leaks_no_descriptor(void **state)
{
    struct group_socket sockets;
    char group[32];
    group_make(group);
    unsigned before = scratch_descriptors();
    assert_int_equal(open_with(&sockets, group, 0), -EMFILE);
    assert_int_equal(open_with(&sockets, group, 1), -EMFILE);
    assert_int_equal(scratch_descriptors(), before);
    assert_int_equal(open_with(&sockets, group, 2), 0);
    assert_int_equal(scratch_descriptors(), before + 2);
    group_socket_close(&sockets);
    assert_int_equal(scratch_descriptors(), before);
}

/* A socket that does not share its port. */
static void a_port_used_by_another_program_is_refused(void **state)
{
    struct group_socket sockets;
    struct sockaddr_in any = {.sin_family = AF_INET};
    socklen_t size = sizeof any;
    struct why why = {""};
    char group[32];
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof any), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&any, &size), 0);
    snprintf(group, sizeof group, "239.255.1.1:%u", ntohs(any.sin_port));
    unsigned before = scratch_descriptors();
    assert_int_equal(group_socket_open(&sockets, group, NULL, &why), -EADDRINUSE);
    assert_int_equal(scratch_descriptors(), before);
    close(fd);
}

TEST_MAIN(TEST(a_failed_open_leaks_no_descriptor), TEST(a_port_used_by_another_program_is_refused))
