/* attachment_lines: tests the lines of one program; the test plays its node and the programs at the
 * other ends. */
#include <fcntl.h>
#include <sys/resource.h>

#include "transport/routed/node_scene.h"
#include "transport/routed/stream.h"

enum { LINES_MAX = 1024 }; /* attachment_lines.c */

static struct scripted_node node;
static struct attached_program program;

static const struct relay_address other = {.server = 9, .program = 8, .life = 77};
static const struct relay_address elsewhere = {.server = 10, .program = 8, .life = 77};

static void scene_open(void)
{
    struct why why;
    node_listen(&node);
    NODE_PLAY(&node, NODE_ACCEPTS, NODE_TAKES, NODE_ASKED, NODE_GRANTS);
    assert_int_equal(program_open(&program, &node, &why), 0);
}

static void scene_close(void)
{
    program_close(&program);
    node_fini(&node);
}

/* Sends something on a line in the name of another program. */
static void say(const struct relay_address *from, const struct stream_head *head, const void *bytes,
                size_t size)
{
    uint8_t body[STREAM_HEAD_SIZE + STREAM_SEGMENT_MAX + 1];
    stream_head_write(head, body);
    memcpy(body + STREAM_HEAD_SIZE, bytes, size);
    node_say(&node, &(struct relay_message){.operation = RELAY_DATA,
                                            .kind = RELAY_KIND_LINE,
                                            .from = *from,
                                            .to = node.address,
                                            .body = body,
                                            .size = STREAM_HEAD_SIZE + size});
}

struct heard {
    struct relay_address to;
    struct stream_head head;
    uint8_t bytes[STREAM_SEGMENT_MAX];
    size_t size;
};

/* What our program sends next on a line. Skips datagrams that only ask, because timers cause
 * them. */
static struct heard hear(void)
{
    struct heard heard;
    do {
        struct relay_message message = node_hear(&node);
        assert_int_equal(message.operation, RELAY_DATA);
        assert_int_equal(message.kind, RELAY_KIND_LINE);
        assert_int_equal(stream_head_read(&heard.head, message.body, message.size), 0);
        heard.to = message.to;
        heard.size = message.size - STREAM_HEAD_SIZE;
        memcpy(heard.bytes, message.body + STREAM_HEAD_SIZE, heard.size);
    } while (heard.head.flags & STREAM_ASKS && !heard.size);
    return heard;
}

static bool says_nothing(void)
{
    struct channel_message message;
    uint8_t bytes[CHANNEL_MESSAGE_MAX];
    return channel_take(node.channel, &message, bytes) == 0;
}

static void step(void)
{
    assert_true(program_step(&program) > 0);
}

/* Opens the line of that number; its end is program.line. */
static void accept_line(uint64_t number, const struct relay_address *from)
{
    unsigned before = program.lines;
    say(from, &(struct stream_head){.line = number, .flags = STREAM_CONNECTS}, "hello", 5);
    step();
    assert_int_equal(program.lines, before + 1);
    char bytes[8];
    assert_int_equal(recv(program.line, bytes, sizeof bytes, MSG_DONTWAIT), 5);
    assert_memory_equal(bytes, "hello", 5);
    struct heard heard = hear();
    assert_int_equal(heard.head.line, number);
    assert_int_equal(heard.head.received, 1);
    assert_int_equal(heard.head.flags, 0);
    assert_int_equal(heard.size, 0);
    assert_true(relay_address_equal(&heard.to, from));
}

static bool is_closed(int fd)
{
    char byte;
    ssize_t size = recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
    assert_true(size <= 0);
    return size == 0;
}

static void bytes_go_both_ways_and_the_end_comes_last(void **state)
{
    char bytes[8];
    scene_open();
    accept_line(5, &other);
    assert_int_equal(send(program.line, "back", 4, MSG_NOSIGNAL), 4);
    step();
    struct heard heard = hear();
    assert_int_equal(heard.head.sequence, 0);
    assert_int_equal(heard.size, 4);
    assert_memory_equal(heard.bytes, "back", 4);

    struct stream_head head = {.line = 5, .flags = STREAM_CONNECTS, .sequence = 1, .received = 1};
    say(&other, &head, "more", 4);
    say(&other, &head, "more", 4); /* again, as if our answer was lost */
    head.sequence = 3;             /* the one before it is missing */
    say(&other, &head, "late", 4);
    step();
    assert_int_equal(recv(program.line, bytes, sizeof bytes, MSG_DONTWAIT), 4);
    assert_memory_equal(bytes, "more", 4);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(hear().head.received, 2);
    assert_true(says_nothing());

    assert_int_equal(send(program.line, "last", 4, MSG_NOSIGNAL), 4);
    close(program.line);
    program.line = -1;
    step();
    heard = hear();
    assert_int_equal(heard.head.sequence, 1);
    assert_int_equal(heard.head.flags, 0);
    assert_memory_equal(heard.bytes, "last", 4);
    head = (struct stream_head){.line = 5, .flags = STREAM_CONNECTS, .sequence = 2, .received = 2};
    say(&other, &head, "", 0);
    do { /* unacknowledged bytes may have been sent again meanwhile */
        step();
        heard = hear();
    } while (heard.size);
    assert_int_equal(heard.head.flags, STREAM_ENDS);
    assert_int_equal(heard.head.sequence, 2);
    PROGRAM_AWAIT(&program, program.attachment->line_count == 0);
    scene_close();
}

static void a_line_to_another_program_can_be_reset_by_it(void **state)
{
    int fd;
    scene_open();
    assert_int_equal(attachment_connect(program.attachment, &other, &fd), 0);
    assert_int_equal(send(fd, "first", 5, MSG_NOSIGNAL), 5);
    step();
    struct heard heard = hear();
    assert_int_equal(heard.head.flags, STREAM_CONNECTS);
    assert_memory_equal(heard.bytes, "first", 5);
    assert_true(relay_address_equal(&heard.to, &other));
    struct stream_head reset = {.line = heard.head.line, .flags = STREAM_RESETS};
    say(&elsewhere, &reset, "", 0); /* another program cannot reset it */
    reset.flags |= STREAM_CONNECTS; /* nor can a datagram with our own role */
    say(&other, &reset, "", 0);
    step();
    assert_false(is_closed(fd));
    reset.flags = STREAM_RESETS;
    say(&other, &reset, "", 0);
    step();
    assert_true(is_closed(fd));
    PROGRAM_AWAIT(&program, program.attachment->line_count == 0);
    close(fd);
    struct attachment_counts counts;
    attachment_count(program.attachment, &counts);
    assert_int_equal(counts.lines, 1);
    scene_close();
}

/* A segment for a line that does not exist is answered by a reset, unless it is a reset itself. */
static void segments_for_no_line_are_answered_by_a_reset(void **state)
{
    static const struct stream_head heads[] = {
        {.line = 6, .flags = 0},
        {.line = 7, .flags = STREAM_CONNECTS, .sequence = 1},
        {.line = 8, .flags = STREAM_CONNECTS}, /* without bytes: see below */
        {.line = 9, .flags = STREAM_CONNECTS}, /* when lines are refused */
        {.line = 10, .flags = STREAM_CONNECTS | STREAM_RESETS},
    };
    struct attachment_counts counts;
    scene_open();
    for (unsigned i = 0; i < 5; i++) {
        if (i == 3)
            attachment_on_line(program.attachment, NULL, NULL);
        say(&other, &heads[i], "bytes", i == 2 ? 0 : 5);
        step();
        assert_int_equal(program.lines, 0);
        if (i == 4)
            break;
        struct heard heard = hear();
        assert_int_equal(heard.head.line, heads[i].line);
        assert_int_equal(heard.head.flags, STREAM_RESETS | (i == 0 ? STREAM_CONNECTS : 0));
        assert_true(relay_address_equal(&heard.to, &other));
    }
    say(&other, &(struct stream_head){.line = 0, .flags = STREAM_CONNECTS}, "bytes", 5);
    step();
    attachment_count(program.attachment, &counts);
    assert_int_equal(counts.garbage, 1);
    assert_true(says_nothing());
    assert_int_equal(counts.lines, 0);
    scene_close();
}

/* At most LINES_MAX lines are accepted at a time; a line that ends makes room. */
static void the_number_of_lines_is_limited(void **state)
{
    static int kept[LINES_MAX];
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    limit = before;
    limit.rlim_cur = before.rlim_max;
    if (limit.rlim_cur < 3 * LINES_MAX || setrlimit(RLIMIT_NOFILE, &limit))
        skip();
    scene_open();
    for (unsigned i = 0; i < LINES_MAX; i++) {
        accept_line(1 + i, i % 2 ? &other : &elsewhere);
        kept[i] = program.line;
        program.line = -1;
    }
    struct stream_head next = {.line = 5000, .flags = STREAM_CONNECTS};
    say(&other, &next, "hello", 5);
    step();
    assert_int_equal(hear().head.flags, STREAM_RESETS);
    assert_int_equal(program.lines, LINES_MAX);
    node_say(&node, &(struct relay_message){.operation = RELAY_ABSENT, .from = other});
    PROGRAM_AWAIT(&program, program.attachment->line_count == LINES_MAX / 2);
    for (unsigned i = 0; i < LINES_MAX; i++) {
        assert_int_equal(is_closed(kept[i]), i % 2);
        close(kept[i]);
    }
    say(&other, &next, "hello", 5);
    PROGRAM_AWAIT(&program, program.lines == LINES_MAX + 1);
    scene_close();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

/* A daemon may run without standard input, so 0 may be any descriptor. */
static void descriptor_0_can_be_the_end_of_a_line(void **state)
{
    int input = dup(STDIN_FILENO);
    scene_open();
    close(STDIN_FILENO);
    accept_line(5, &other);
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* the line's end */
    assert_int_equal(send(program.line, "back", 4, MSG_NOSIGNAL), 4);
    step();
    assert_memory_equal(hear().bytes, "back", 4);
    say(&other,
        &(struct stream_head){.line = 5, .flags = STREAM_CONNECTS, .sequence = 1, .received = 1},
        "more", 4);
    step();
    char bytes[8];
    assert_int_equal(recv(program.line, bytes, sizeof bytes, MSG_DONTWAIT), 4);
    node_say(&node, &(struct relay_message){.operation = RELAY_ABSENT, .from = other});
    step();
    assert_true(is_closed(program.line));
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    if (input >= 0) {
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(input);
    }
    scene_close();
}

static void a_lost_node_closes_its_lines(void **state)
{
    scene_open();
    accept_line(5, &other);
    node_hang_up(&node);
    step();
    assert_true(is_closed(program.line));
    PROGRAM_AWAIT(&program, program.attachment->line_count == 0);
    scene_close();
}

/* An unreachable server gets a grace period; if it comes back in time, its lines stay open. */
static void a_server_that_comes_back_in_time_keeps_its_lines(void **state)
{
    scene_open();
    accept_line(5, &other);
    int lost = program.line;
    program.line = -1;
    accept_line(6, &elsewhere);
    nsec began = clock_now();
    for (unsigned i = 0; i < 3; i++)
        node_say(&node,
                 &(struct relay_message){.operation = i < 2 ? RELAY_DOWN : RELAY_UP,
                                         .from.server = i < 1 ? other.server : elsewhere.server});
    PROGRAM_AWAIT(&program, is_closed(lost));
    assert_true(clock_now() - began >= 3 * NSEC_PER_SEC);
    assert_false(is_closed(program.line));
    close(lost);
    scene_close();
}

/* A program that ends properly does not keep the other end waiting. */
static void a_program_that_ends_resets_its_lines(void **state)
{
    int fd;
    scene_open();
    accept_line(5, &other);
    assert_int_equal(attachment_connect(program.attachment, &elsewhere, &fd), 0);
    attachment_close(program.attachment);
    struct heard heard = hear();
    assert_int_equal(heard.head.line, 5);
    assert_int_equal(heard.head.flags, STREAM_RESETS);
    heard = hear();
    assert_int_equal(heard.head.flags, STREAM_RESETS | STREAM_CONNECTS);
    assert_true(relay_address_equal(&heard.to, &elsewhere));
    assert_true(is_closed(fd));
    close(fd);
    close(program.line);
    program_poller_close(&program);
    node_fini(&node);
}

/* What the reader does not take stays at the sender, and nothing is lost. */
static void a_slow_reader_stops_its_sender(void **state)
{
    enum { SIZE = STREAM_SEGMENT_MAX };
    static uint8_t bytes[SIZE];
    struct stream_head head = {.line = 5, .flags = STREAM_CONNECTS, .sequence = 1};
    scene_open();
    accept_line(5, &other);
    uint32_t received = 1;
    for (unsigned tries = 0; tries < 3; head.sequence = received) {
        memset(bytes, (int)head.sequence, SIZE);
        say(&other, &head, bytes, SIZE);
        step();
        uint32_t now = hear().head.received;
        tries = now == received ? tries + 1 : 0;
        received = now;
    }
    assert_true(received > 5); /* the pair holds some */
    for (uint32_t i = 1; i < received; i++) {
        assert_int_equal(recv(program.line, bytes, SIZE, MSG_WAITALL | MSG_DONTWAIT), SIZE);
        assert_true(bytes[0] == (uint8_t)i && bytes[SIZE - 1] == (uint8_t)i);
        if (i + 1 == received)
            break;
        (void)program_rests(&program); /* flushes what did not fit before */
    }
    memset(bytes, 0xaa, SIZE);
    say(&other, &head, bytes, SIZE);
    PROGRAM_AWAIT(&program, recv(program.line, bytes, 1, MSG_DONTWAIT | MSG_PEEK) == 1);
    assert_int_equal(bytes[0], 0xaa);
    scene_close();
}

/* A window of segments is sent; accepted segments make room for more; lost segments are sent
 * again. */
static void a_slow_peer_stops_the_writer(void **state)
{
    enum { SEGMENTS = 40 };
    static uint8_t bytes[SEGMENTS * STREAM_SEGMENT_MAX];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i / STREAM_SEGMENT_MAX);
    size_t written = 0;
    scene_open();
    accept_line(5, &other);
    struct stream_head head = {.line = 5, .flags = STREAM_CONNECTS, .sequence = 1};
    while (head.received < SEGMENTS) {
        ssize_t size = send(program.line, bytes + written, sizeof bytes - written,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        written += size > 0 ? (size_t)size : 0;
        (void)poller_step(program.poller, clock_after(30 * 1000 * 1000));
        while (!says_nothing()) /* all of it is lost */
            ;
        PROGRAM_AWAIT(&program, channel_waiting(node.channel)); /* and is sent again */
        uint32_t first = head.received;
        while (channel_waiting(node.channel)) {
            struct heard heard = hear();
            assert_true(heard.head.sequence < first + STREAM_SEGMENTS);
            if (heard.size && heard.head.sequence == head.received) {
                assert_int_equal(heard.size, STREAM_SEGMENT_MAX);
                assert_memory_equal(heard.bytes, bytes + head.received * STREAM_SEGMENT_MAX,
                                    STREAM_SEGMENT_MAX);
                head.received++;
            }
        }
        say(&other, &head, "", 0);
        (void)poller_step(program.poller, clock_after(1000 * 1000));
    }
    assert_int_equal(written, sizeof bytes);
    scene_close();
}

TEST_MAIN(TEST(bytes_go_both_ways_and_the_end_comes_last),
          TEST(a_line_to_another_program_can_be_reset_by_it),
          TEST(segments_for_no_line_are_answered_by_a_reset), TEST(the_number_of_lines_is_limited),
          TEST(descriptor_0_can_be_the_end_of_a_line), TEST(a_lost_node_closes_its_lines),
          TEST(a_server_that_comes_back_in_time_keeps_its_lines),
          TEST(a_program_that_ends_resets_its_lines), TEST(a_slow_reader_stops_its_sender),
          TEST(a_slow_peer_stops_the_writer))
