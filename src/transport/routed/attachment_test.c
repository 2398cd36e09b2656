/* attachment: tests a program and its node, which the test plays. Each scene is one behaviour of a
 * node; routed_test.c is about programs that communicate with each other. */
#include "transport/routed/attachment.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "transport/routed/node_scene.h"

static struct scripted_node node;
static struct attached_program program;
static struct why why;

#define OPENS_WITH_MEMORY NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_GRANTS
#define OPENS_BY_SOCKET   NODE_ACCEPTS, NODE_REFUSES, NODE_ASKED, NODE_GRANTS
#define OPENS_AT_LAST     NODE_ACCEPTS, NODE_GREETS, NODE_ASKED, NODE_GRANTS

static bool has_memory(void)
{
    struct attachment_counts counts;
    attachment_count(program.attachment, &counts);
    return counts.memory;
}

static void open_with_memory(void)
{
    node_listen(&node);
    NODE_PLAY(&node, OPENS_WITH_MEMORY);
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_true(has_memory());
}

static void open_by_socket(void)
{
    node_listen(&node);
    NODE_PLAY(&node, OPENS_BY_SOCKET);
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_false(has_memory());
}

static void both_close(void)
{
    program_close(&program);
    node_fini(&node);
}

/* Asserts that both directions work, and that the poller wakes up each time. */
static void assert_in_touch(void)
{
    struct relay_address other = {.server = 9, .program = 8, .life = 77};
    struct relay_address own = attachment_address(program.attachment);
    assert_true(relay_address_equal(&own, &node.address));
    assert_true(attachment_is_up(program.attachment));
    while (!program_rests(&program))
        ;
    for (uint8_t i = 1; i <= 3; i++) {
        unsigned before = program.frames;
        node_say_frame(&node, i);
        assert_int_equal(program_step(&program), 1);
        assert_int_equal(program.frames, before + 1);
        assert_int_equal(program.last, i);
        attachment_send(program.attachment, &other, (struct iovec[]){{"on", 2}, {"ly", 2}}, 2);
        struct relay_message heard = node_hear(&node);
        assert_int_equal(heard.operation, RELAY_DATA);
        assert_int_equal(heard.kind, RELAY_KIND_FRAME);
        assert_true(relay_address_equal(&heard.to, &other));
        assert_int_equal(heard.size, 4);
        assert_memory_equal(heard.body, "only", 4);
    }
    assert_true(program_rests(&program));
    struct attachment_counts counts;
    attachment_count(program.attachment, &counts);
    assert_int_equal(counts.garbage, 0); /* a ring is no message */
    assert_int_equal(counts.received, program.frames);
}

/* ---- connecting ---- */

static void memory_is_shared_with_a_node_that_accepts_it(void **state)
{
    open_with_memory();
    assert_in_touch();
    both_close();
    attachment_close(NULL);
}

static void without_memory_the_socket_carries_everything(void **state)
{
    open_by_socket();
    assert_in_touch();
    both_close();
}

static void a_node_without_shared_memory_is_attached_by_socket(void **state)
{
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_BABBLES, OPENS_AT_LAST);
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_false(has_memory());
    assert_in_touch();
    both_close();
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_IS_CALLED, NODE_HANGS_UP, OPENS_AT_LAST);
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_false(has_memory());
    assert_in_touch();
    both_close();
}

static void rings_and_other_messages_before_the_address_are_skipped(void **state)
{
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_RINGS, NODE_TAKES, NODE_ASKED, NODE_RINGS, NODE_CHATS,
              NODE_GRANTS);
    errno = 0; /* a ring is no error: the last errno must not matter */
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_true(has_memory());
    assert_in_touch();
    both_close();
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_REFUSES, NODE_ASKED, NODE_CHATS, NODE_GRANTS);
    assert_int_equal(program_open(&program, &node, &why), 0);
    assert_in_touch();
    both_close();
}

static void assert_refused(int expected, const char *reason)
{
    unsigned descriptors = scratch_descriptors();
    assert_int_equal(program_open(&program, &node, &why), expected);
    assert_non_null(strstr(why.text, node.path));
    assert_non_null(strstr(why.text, reason));
    program_poller_close(&program);
    node_fini(&node);
    assert_true(scratch_descriptors() < descriptors); /* the listener's is closed */
}

static void a_refused_attachment_reports_the_reason(void **state)
{
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_IS_FULL);
    assert_refused(-EUSERS, "too many programs");
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_MUMBLES);
    assert_refused(-EPROTO, strerror(EPROTO));
    node_listen(&node); /* fails at once, not after the answer's timeout */
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_HANGS_UP);
    assert_refused(-ECONNREFUSED, strerror(ECONNREFUSED));
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_REFUSES, NODE_ASKED, NODE_HANGS_UP);
    assert_refused(-ECONNREFUSED, strerror(ECONNREFUSED));
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_IS_CALLED, NODE_IS_CROWDED);
    assert_refused(-EUSERS, "too many programs");
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_IS_OLD);
    assert_refused(-EPROTONOSUPPORT, "another version of weft");
}

/* A daemon may run without standard input, so 0 may be any descriptor. */
static int input_close(void)
{
    int input = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    return input;
}

/* Asserts that the user of descriptor 0 has closed it. */
static void input_reopen(int input)
{
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    if (input < 0)
        return;
    assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    close(input);
}

static void descriptor_0_can_connect_to_a_node(void **state)
{
    node_listen(&node);
    NODE_PLAY(&node, OPENS_BY_SOCKET);
    program = (struct attached_program){.line = -1};
    assert_int_equal(poller_open(&program.poller, &program.lock), 0);
    int input = input_close();
    int result = attachment_open(&program.attachment, program.poller, node.path, &why);
    thread_join(&node.thread);
    assert_int_equal(result, 0);
    assert_int_equal(program.attachment->fd, 0);
    attachment_close(program.attachment);
    assert_int_equal(node_connect("/nowhere/node.socket", true), -ENOENT);
    input_reopen(input);
    program_poller_close(&program);
    node_fini(&node);
}

/* A path that is too long for a socket address is reached through its folder. */
static void a_long_socket_path_works(void **state)
{
    char folder[DOMAIN_PATH_MAX + 128], path[sizeof folder + 16], name[101];
    node_listen(&node);
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(folder, sizeof folder, "%s/%s", node.scratch.folder, name);
    snprintf(path, sizeof path, "%s/node.socket", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    unsigned descriptors = scratch_descriptors();
    assert_int_equal(node_connect(path, true), -ENOENT);
    assert_int_equal(link(node.path, path), 0);
    assert_int_equal(scratch_descriptors(), descriptors);
    int input = input_close();
    int fd = node_connect(path, true); /* meanwhile the folder has descriptor 0 */
    input_reopen(input);
    assert_true(fd >= 0);
    assert_int_equal(scratch_descriptors(), descriptors + 1);
    close(fd);
    assert_int_equal(node_connect(name, true), -ENOENT);
    memset(path, 'p', sizeof path - 1); /* without a folder */
    path[sizeof path - 1] = '\0';
    assert_int_equal(node_connect(path, true), -ENAMETOOLONG);
    snprintf(path, sizeof path, "%s/node.socket", folder);
    unlink(path);
    rmdir(folder);
    node_fini(&node);
}

/* ---- receiving ---- */

static void invalid_messages_from_the_node_are_counted(void **state)
{
    static const uint8_t nonsense[ATTACHMENT_PACKET + 1];
    struct attachment_counts counts;
    open_by_socket();
    node_say_bytes(&node, nonsense, 1); /* without memory it is no ring */
    node_say_bytes(&node, nonsense, RELAY_HEAD_SIZE);
    node_say_bytes(&node, nonsense, sizeof nonsense);
    node_say(&node, &(struct relay_message){.operation = RELAY_ATTACHED});
    node_say(&node, &(struct relay_message){.operation = RELAY_ATTACH});
    node_say(&node, &(struct relay_message){.operation = RELAY_DATA, .kind = 77});
    node_say_frame(&node, 5);
    PROGRAM_AWAIT(&program, program.frames == 1);
    attachment_count(program.attachment, &counts);
    assert_int_equal(counts.garbage, 5);
    assert_int_equal(counts.received, 5); /* one without a head, or truncated, is no message */
    attachment_on_frame(program.attachment, NULL, NULL);
    node_say_frame(&node, 5); /* no owner takes it */
    assert_int_equal(program_step(&program), 1);
    assert_int_equal(program.frames, 1);
    both_close();
}

/* Asserts that no bell rings for threads that poll themselves, and that the poller sleeps. */
static void assert_takes_over(void)
{
    attachment_watch(program.attachment, false);
    attachment_watch(program.attachment, false);
    unsigned before = program.frames;
    for (uint8_t i = 1; i <= 20; i++)
        node_say_frame(&node, i);
    assert_true(program_rests(&program));
    assert_int_equal(program.frames, before);
    assert_int_equal(attachment_receive(program.attachment), ATTACHMENT_BATCH);
    assert_int_equal(program.frames, before + ATTACHMENT_BATCH);
    attachment_watch(program.attachment, true); /* four are left, for which no bell rings */
    assert_int_equal(program_step(&program), 1);
    assert_int_equal(program.frames, before + 20);
    assert_int_equal(program.last, 20);
    assert_int_equal(attachment_receive(program.attachment), 0);
    attachment_watch(program.attachment, false);
    attachment_watch(program.attachment, true);
    assert_true(program_rests(&program)); /* there is nothing to receive */
    assert_in_touch();
}

static void polling_threads_take_over_from_the_poller(void **state)
{
    open_with_memory();
    assert_takes_over();
    both_close();
    open_by_socket();
    assert_takes_over();
    both_close();
}

/* More messages than are taken at once: the rest follows, and then the program rests. */
static void a_steady_flow_of_messages_is_received(void **state)
{
    open_with_memory();
    program.refilling = &node;
    program.refills = 3000;
    node_say_frame(&node, 1);
    node_say_frame(&node, 1);
    PROGRAM_AWAIT(&program, program.frames == 3002);
    while (!program_rests(&program))
        ;
    assert_in_touch();
    both_close();
}

static void datagrams_that_a_full_node_refuses_are_counted(void **state)
{
    static uint8_t large[8000];
    struct relay_address other = {.server = 9, .program = 8, .life = 77};
    struct attachment_counts counts = {0};
    for (unsigned memory = 0; memory < 2; memory++) {
        memory ? open_with_memory() : open_by_socket();
        unsigned sent = 0;
        for (counts.refused = 0; !counts.refused; sent++) {
            attachment_send(program.attachment, &other, &(struct iovec){large, sizeof large}, 1);
            attachment_count(program.attachment, &counts);
        }
        assert_int_equal(counts.refused, 1);
        assert_true(sent > 20);
        assert_true(attachment_is_up(program.attachment));
        for (unsigned i = 1; i < sent; i++)
            assert_int_equal(node_hear(&node).size, sizeof large);
        assert_in_touch();
        both_close();
    }
}

/* ---- disconnecting and reconnecting ---- */

static void call_back(const enum node_act *acts)
{
    unsigned back = program.back;
    node_play(&node, acts);
    PROGRAM_AWAIT(&program, program.back == back + 1);
    thread_join(&node.thread);
}

static void assert_gone(unsigned times)
{
    assert_int_equal(program.gone, times);
    assert_false(attachment_is_up(program.attachment));
    assert_false(has_memory());
    assert_int_equal(attachment_receive(program.attachment), 0);
    int fd;
    assert_int_equal(attachment_connect(program.attachment, &node.address, &fd), -EPIPE);
    struct attachment_counts before, after;
    attachment_count(program.attachment, &before);
    attachment_send(program.attachment, &node.address, &(struct iovec){"lost", 4}, 1);
    attachment_count(program.attachment, &after);
    assert_int_equal(after.refused, before.refused); /* without a node, no node lacks room */
}

static void a_program_reconnects_to_a_node_that_hung_up(void **state)
{
    open_with_memory();
    node_say_frame(&node, 6); /* what it sent before is received */
    node_say_frame(&node, 7);
    node_hang_up(&node);
    assert_int_equal(program_step(&program), 1);
    assert_int_equal(program.frames, 2);
    assert_int_equal(program.last, 7);
    assert_gone(1);
    call_back((enum node_act[]){NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_HANGS_UP, NODE_ACCEPTS,
                                NODE_TAKES, NODE_ASKED, NODE_MUMBLES, OPENS_WITH_MEMORY, NODE_END});
    assert_true(has_memory());
    assert_in_touch();

    node_hang_up(&node);
    assert_int_equal(program_step(&program), 1);
    assert_gone(2);
    call_back((enum node_act[]){OPENS_BY_SOCKET, NODE_END});
    assert_false(has_memory());
    assert_in_touch();
    node_hang_up(&node);
    assert_int_equal(program_step(&program), 1);
    assert_gone(3);
    attachment_watch(program.attachment, false); /* this holds for the next descriptor, too */
    call_back((enum node_act[]){OPENS_WITH_MEMORY, NODE_END});
    node_say_frame(&node, 8);
    assert_true(program_rests(&program));
    assert_int_equal(attachment_receive(program.attachment), 1);
    both_close();
}

/* The node hung up with unread messages of ours, which the system reports once, as an error. */
static void a_dead_node_is_noticed_by_the_first_receive(void **state)
{
    struct relay_address other = {.server = 9, .program = 8, .life = 77};
    open_by_socket();
    attachment_send(program.attachment, &other, &(struct iovec){"unread", 6}, 1);
    node_hang_up(&node);
    assert_int_equal(attachment_receive(program.attachment), 0);
    assert_gone(1);
    both_close();
}

/* The test sets the retry timer to the present instead of waiting. */
static void a_silent_node_times_out(void **state)
{
    open_with_memory();
    node_hang_up(&node);
    assert_int_equal(program_step(&program), 1);
    node_play(&node, (enum node_act[]){NODE_ACCEPTS, NODE_IS_SILENT, NODE_ACCEPTS, NODE_IS_SILENT,
                                       OPENS_WITH_MEMORY, NODE_END});
    PROGRAM_AWAIT(&program, program.attachment->stage == ATTACHMENT_OFFERING);
    nsec answer = program.attachment->retry.at - clock_now();
    assert_true(answer > 0 && answer <= 5 * NSEC_PER_SEC);
    assert_int_equal(poller_set(program.poller, &program.attachment->retry, 0), 0);
    /* The node does not answer the offer of memory: the program tries without. */
    PROGRAM_AWAIT(&program, !program.attachment->offered);
    assert_int_equal(program.attachment->stage, ATTACHMENT_OFFERING);
    assert_int_equal(poller_set(program.poller, &program.attachment->retry, 0), 0);
    PROGRAM_AWAIT(&program, program.back == 1);
    thread_join(&node.thread);
    assert_true(has_memory());
    assert_in_touch();
    both_close();
}

static void the_delay_between_attempts_doubles_up_to_a_second(void **state)
{
    nsec wait = 0, last = 0;
    for (unsigned i = 0; i < 10; i++, last = wait) {
        nsec before = clock_now(), at = node_again(&wait);
        assert_true(at >= before + wait && at <= clock_now() + wait);
        assert_int_equal(wait, i == 0                    ? NSEC_PER_SEC / 20
                               : 2 * last < NSEC_PER_SEC ? 2 * last
                                                         : NSEC_PER_SEC);
    }
}

/* ---- invalid data in the memory ---- */

/* The ring from the node, after the bells and the ring to the node; see channel.c for the
 * layout. */
static void nonsense_for_the_reader(void)
{
    const struct ring_shape shape = ring_shape_make(512, 512 * 1024);
    uint8_t *ring = node.memory + 256 + ring_size(&shape);
    uint64_t stamp = UINT64_C(60000) << 32; /* larger than any frame */
    for (unsigned slot = 0; slot < shape.slots; slot++) {
        uint64_t at = stamp | (slot + 1);
        memcpy(ring + ring_size(&shape) - shape.bytes - (shape.slots - slot) * 128, &at, sizeof at);
    }
}

static void a_node_that_writes_invalid_data_is_disconnected(void **state)
{
    uint8_t byte;
    open_with_memory();
    node_say_frame(&node, 1);
    assert_int_equal(program_step(&program), 1);
    nonsense_for_the_reader();
    node_act(&node, NODE_RINGS);
    assert_int_equal(program_step(&program), 1);
    assert_int_equal(program.frames, 1);
    assert_gone(1);
    assert_int_equal(recv(node.fd, &byte, 1, MSG_DONTWAIT), 0); /* the node notices, too */
    node_hang_up(&node);
    call_back((enum node_act[]){OPENS_WITH_MEMORY, NODE_END});
    assert_in_touch();
    both_close();
}

/* The program notices it when it sends; the poller then ends the attachment. */
static void a_node_that_releases_unsent_messages_is_disconnected(void **state)
{
    struct relay_address other = {.server = 9, .program = 8, .life = 77};
    struct attachment_counts counts;
    open_with_memory();
    memset(node.memory + 256, 0x7f, 8); /* how far the node has read */
    for (counts.refused = 0; !counts.refused;) {
        attachment_send(program.attachment, &other, &(struct iovec){"said", 4}, 1);
        attachment_count(program.attachment, &counts);
    }
    assert_int_equal(program.gone, 0);
    assert_int_equal(program_step(&program), 1);
    assert_gone(1);
    both_close();
}

TEST_MAIN(TEST(memory_is_shared_with_a_node_that_accepts_it),
          TEST(without_memory_the_socket_carries_everything),
          TEST(a_node_without_shared_memory_is_attached_by_socket),
          TEST(rings_and_other_messages_before_the_address_are_skipped),
          TEST(a_refused_attachment_reports_the_reason), TEST(descriptor_0_can_connect_to_a_node),
          TEST(a_long_socket_path_works), TEST(invalid_messages_from_the_node_are_counted),
          TEST(polling_threads_take_over_from_the_poller),
          TEST(a_steady_flow_of_messages_is_received),
          TEST(datagrams_that_a_full_node_refuses_are_counted),
          TEST(a_program_reconnects_to_a_node_that_hung_up),
          TEST(a_dead_node_is_noticed_by_the_first_receive), TEST(a_silent_node_times_out),
          TEST(the_delay_between_attempts_doubles_up_to_a_second),
          TEST(a_node_that_writes_invalid_data_is_disconnected),
          TEST(a_node_that_releases_unsent_messages_is_disconnected))
