/* A receiver that cannot answer a request for a pipe at once, through no fault of the sender: the
 * sender stays connected, and its message arrives. */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "hostile_pair.h"

#define LIMIT    256 /* of descriptors */
#define FREE_MAX 12  /* a pipe needs fewer */

static int taken[LIMIT];
static unsigned taken_count;

static void descriptors_take(unsigned left)
{
    taken_count = 0;
    while ((taken[taken_count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        taken_count++;
        assert_true(taken_count < LIMIT);
    }
    assert_int_equal(errno, EMFILE);
    for (; left > 0 && taken_count > 0; left--)
        close(taken[--taken_count]);
}

static void descriptors_release(void)
{
    while (taken_count > 0)
        close(taken[--taken_count]);
}

/* Fills the connection from the server to the client, with messages that the client ignores. */
static void line_fill(struct hostile_pair *pair)
{
    struct peer *peer = container_of(pair->there->peers.next, struct peer, node);
    struct control_words words = {.kind = CONTROL_WITHDRAWN, .number = 4711};
    lock_take(&pair->there->lock);
    while (lifeline_queued(peer->line) == 0)
        assert_int_equal(peer_say(peer, &words), 0);
    lock_drop(&pair->there->lock);
}

static void assert_no_fault(struct ripc *ripc, unsigned left)
{
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(ripc, &stats), 0);
    if (stats.protocol_errors || stats.peers_lost)
        fail_msg("with %u free descriptors the peer is disconnected", left);
}

/* Asks for another pipe. The server does not run, and so does not answer yet. */
static struct ripc_service *pipe_ask(struct hostile_pair *pair)
{
    struct ripc_service *second = scene_bind(pair->here, 43);
    assert_int_equal(ripc_send(second, 42, "second", 7, RIPC_NOW), -EAGAIN);
    return second;
}

static void assert_pipe_opens(struct hostile_pair *pair, struct ripc_service *second, unsigned left)
{
    struct ripc_message message;
    int64_t deadline = scene_deadline();
    int result;
    while ((result = ripc_send(second, 42, "second", 7, RIPC_NOW)) == -EAGAIN) {
        assert_true(ripc_now() < deadline);
        ripc_progress(pair->there);
    }
    assert_int_equal(result, 0);
    while (ripc_receive(pair->server, &message, 1, RIPC_NOW) != 1) {
        assert_true(ripc_now() < deadline);
        ripc_progress(pair->here);
    }
    assert_string_equal(message.data, "second");
    ripc_release(&message);
    assert_no_fault(pair->there, left);
    assert_no_fault(pair->here, left);
}

static void limit_set(unsigned count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* The connection to the sender is full, because the sender does not read at the moment, and the
 * receiver lacks descriptors to keep its answer until there is room. With every number of free
 * descriptors from none to more than are needed. */
static void an_answer_that_waits_needs_descriptors(void **state)
{
    limit_set(LIMIT);
    for (unsigned left = 0; left <= FREE_MAX; left++) {
        struct hostile_pair pair = pair_open(RIPC_MANUAL, RIPC_MANUAL);
        struct ripc_service *second = pipe_ask(&pair);
        line_fill(&pair);
        descriptors_take(left);
        ripc_progress(pair.there); /* answers */
        descriptors_release();
        assert_no_fault(pair.there, left);
        assert_pipe_opens(&pair, second, left);
        pair_close(&pair);
    }
}

/* An ordinary user may have only so many descriptors in messages that were not read yet. */
static void be_ordinary(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    assert_int_equal(syscall(SYS_capset, &head, none), 0);
}

/* Puts more descriptors than the limit into messages that no process reads. */
static void descriptors_send(int pair[2])
{
    int fds[LIMIT / 2 + 1];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof fds)];
    } room = {0};
    char byte = 0;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = room.bytes,
                             .msg_controllen = sizeof room.bytes};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        fds[i] = STDERR_FILENO;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair), 0);
    while (sendmsg(pair[0], &message, MSG_DONTWAIT) == 1) /* other processes may read theirs */
        ;
    assert_int_equal(errno, ETOOMANYREFS);
}

static void an_answer_waits_while_the_user_has_too_many_descriptors_in_messages(void **state)
{
    int pair_of_sockets[2];
    limit_set(LIMIT / 2);
    be_ordinary();
    struct hostile_pair pair = pair_open(RIPC_MANUAL, RIPC_MANUAL);
    struct ripc_service *second = pipe_ask(&pair);
    descriptors_send(pair_of_sockets);
    ripc_progress(pair.there); /* answers */
    assert_no_fault(pair.there, 0);
    close(pair_of_sockets[0]);
    close(pair_of_sockets[1]);
    assert_pipe_opens(&pair, second, 0);
    pair_close(&pair);
}

TEST_MAIN(SCENE(an_answer_that_waits_needs_descriptors),
          SCENE(an_answer_waits_while_the_user_has_too_many_descriptors_in_messages))
