/* directory: the test plays a node that dies and returns, to which the program then sends
 * everything again. */
#include <sys/un.h>

#include "ripc/names/names_world.h"
#include "wire/attach.h"
#include "wire/directory.h"
#include "wire/relay.h"

struct node {
    struct names_world world;
    char path[64];
    int listener, program; /* -1: none */
    bool greeted;          /* the program's hello was read */
    struct directory_message message;
};

static void node_revive(struct node *node)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", node->path);
    node->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(node->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(node->listener, 8), 0);
    node->program = -1;
}

static void node_die(struct node *node)
{
    close(node->listener);
    if (node->program >= 0)
        close(node->program);
    assert_int_equal(unlink(node->path), 0);
}

static void node_open(struct node *node, struct names_side *side)
{
    struct why why = {""};
    world_open(&node->world);
    snprintf(node->path, sizeof node->path, "%s/node", node->world.scratch.above);
    node_revive(node);
    *side = (struct names_side){.world = &node->world, .context = 5};
    struct names_config config = {.poller = node->world.poller,
                                  .services = "directory",
                                  .folder = node->world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .node = node->path,
                                  .events = &side_events,
                                  .owner = side};
    if (names_open(&side->names, &config, &why) != 0)
        fail_msg("names_open: %s", why.text);
}

static void node_close(struct node *node, struct names_side *side)
{
    side_close(side);
    node_die(node);
    world_close(&node->world);
}

static void node_says(const struct node *node, const struct directory_message *message)
{
    uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    attach_head_write(&(struct attach_head){.service = DIRECTORY_SERVICE}, bytes);
    size_t size = ATTACH_HEAD_SIZE + directory_write(message, bytes + ATTACH_HEAD_SIZE);
    assert_int_equal(send(node->program, bytes, size, MSG_NOSIGNAL), size);
}

/* One step of both sides; true if the program sent something, which is then in `message`. */
static bool node_hears(struct node *node)
{
    uint8_t bytes[ATTACH_HEAD_SIZE + DIRECTORY_MESSAGE_MAX];
    struct attach_ask ask;
    struct attach_head head;
    poller_step(node->world.poller, clock_after(1000 * 1000));
    if (node->program < 0) {
        node->program = accept4(node->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        node->greeted = false;
    }
    ssize_t size = node->program < 0 ? -1 : recv(node->program, bytes, sizeof bytes, 0);
    if (size < 0)
        return false;
    if (!node->greeted) {
        assert_int_equal(attach_ask_read(&ask, bytes, (size_t)size), 0);
        attach_answer_write(&(struct attach_answer){.version = ATTACH_VERSION}, bytes);
        assert_int_equal(send(node->program, bytes, ATTACH_ANSWER_SIZE, MSG_NOSIGNAL),
                         ATTACH_ANSWER_SIZE);
        node->greeted = true;
        return false;
    }
    assert_int_equal(attach_head_read(&head, bytes, (size_t)size), 0);
    assert_int_equal(head.service, DIRECTORY_SERVICE);
    assert_int_equal(
        directory_read(&node->message, bytes + ATTACH_HEAD_SIZE, (size_t)size - ATTACH_HEAD_SIZE),
        0);
    return true;
}

/* Waits for a message. Skips questions of the program for its own ids. */
static void node_await(struct node *node, enum directory_operation operation, uint64_t id)
{
    nsec end = clock_after(WORLD_PATIENCE);
    while (!node_hears(node) || (node->message.operation == DIRECTORY_ASK && node->message.id < 50))
        assert_true(clock_now() < end);
    assert_int_equal(node->message.operation, operation);
    assert_int_equal(node->message.id, id);
}

/* Waits for the claims of both ids, in any order. */
static void node_await_claims(struct node *node, uint64_t one, uint64_t other, struct claim *out)
{
    bool heard[2] = {false};
    struct seal seal;
    assert_int_equal(seal_init(&seal, NULL), 0);
    for (nsec end = clock_after(WORLD_PATIENCE); !heard[0] || !heard[1];) {
        assert_true(clock_now() < end);
        if (!node_hears(node) || node->message.operation == DIRECTORY_ASK)
            continue;
        unsigned which = node->message.id == other;
        assert_int_equal(node->message.operation, DIRECTORY_CLAIM);
        assert_int_equal(node->message.id, which ? other : one);
        assert_false(heard[which]); /* only once */
        heard[which] = true;
        const struct directory_claim *claim = &node->message.claims[0];
        assert_int_equal(claim_record_read(&out[which], &seal, claim->record, claim->size), 0);
        assert_int_equal(out[which].incarnation, claim->incarnation);
    }
}

static void node_agrees(struct node *node, struct names_side *side, uint64_t id)
{
    unsigned before = side_count(side, NOTE_ANNOUNCED, id);
    node->message.operation = DIRECTORY_CLAIMED;
    node->message.id = id;
    node->message.claims[0].member = id;
    node_says(node, &node->message);
    assert_int_equal(side_await(side, NOTE_ANNOUNCED, id, before + 1)->status, 0);
}

static void node_refuses(struct node *node, uint64_t id)
{
    node->message.operation = DIRECTORY_CLAIMED;
    node->message.id = id;
    node->message.status = -EADDRINUSE;
    node->message.claims[0].member = id;
    node_says(node, &node->message);
    node->message.status = 0;
}

static struct context_address address_of_life(uint64_t life)
{
    struct context_address address = {.context = 5, .family = ADDRESS_FABRIC};
    relay_address_write(&(struct relay_address){.server = 3, .program = 1, .life = life},
                        address.address);
    return address;
}

static void announce(struct names_side *side, uint64_t id, uint64_t life)
{
    struct claim claim = side_claim(side, id, id, 1000);
    claim.address = address_of_life(life);
    assert_int_equal(names_announce(side->names, &claim), 0);
}

/* Makes one claim that is accepted and one question, ends the node, and makes a second claim while
 * there is no node. */
static void node_open_and_die(struct node *node, struct names_side *side)
{
    node_open(node, side);
    announce(side, 42, 1);
    node_await(node, DIRECTORY_CLAIM, 42);
    node_agrees(node, side, 42);
    assert_int_equal(names_ask(side->names, 50), 0);
    node_await(node, DIRECTORY_ASK, 50);
    node_die(node);
    names_move(side->names, NULL);
    world_run(&node->world, 10 * 1000 * 1000);
    announce(side, 43, 1);
    assert_int_equal(side_count(side, NOTE_ANNOUNCED, 43), 0);
}

static void moved_check(const struct claim claims[2], uint64_t life)
{
    struct context_address address = address_of_life(life);
    for (unsigned i = 0; i < 2; i++) {
        assert_memory_equal(claims[i].address.address, address.address, 16);
        assert_true(claims[i].incarnation > 1000);
    }
}

static void claims_are_repeated_when_the_node_returns_before_our_address(void **state)
{
    static struct node node;
    static struct names_side side;
    struct claim claims[2];
    struct context_address address = address_of_life(2);
    node_open_and_die(&node, &side);
    node_revive(&node);
    node_await(&node, DIRECTORY_ASK, 50); /* no claim with the old address */
    names_move(side.names, &address);
    node_await_claims(&node, 42, 43, claims);
    moved_check(claims, 2);
    node_agrees(&node, &side, 43);
    assert_int_equal(side_count(&side, NOTE_ANNOUNCED, 42), 1); /* it was ours all the time */
    node_close(&node, &side);
}

static void claims_are_repeated_when_our_address_returns_before_the_node(void **state)
{
    static struct node node;
    static struct names_side side;
    struct claim claims[2];
    struct context_address address = address_of_life(2);
    node_open_and_die(&node, &side);
    names_move(side.names, &address);
    world_run(&node.world, 10 * 1000 * 1000);
    node_revive(&node);
    node_await_claims(&node, 42, 43, claims);
    moved_check(claims, 2);
    node_await(&node, DIRECTORY_ASK, 50);
    while (node_hears(&node))
        assert_int_equal(node.message.operation, DIRECTORY_ASK);
    names_withdraw(side.names, 42, 42);
    node_await(&node, DIRECTORY_WITHDRAW, 42);
    assert_true(node.message.claims[0].incarnation == claims[0].incarnation);
    node_close(&node, &side);
}

/* The node answers that it knows no claims of the id. */
static void node_answers_empty(struct node *node, uint64_t id, int status)
{
    node->message.operation = DIRECTORY_ANSWER;
    node->message.id = id;
    node->message.status = status;
    node->message.round++;
    node->message.count = 0;
    node_says(node, &node->message);
    world_run(&node->world, 10 * 1000 * 1000);
}

static void a_missing_answer_is_not_an_empty_answer(void **state)
{
    static struct node node;
    static struct names_side side;
    node_open(&node, &side);
    assert_true(names_answered(side.names, 50) == 0);
    assert_int_equal(names_ask(side.names, 50), 0);
    node_await(&node, DIRECTORY_ASK, 50);
    assert_true(names_answered(side.names, 50) == 0);
    node_answers_empty(&node, 50, -EAGAIN); /* the node has not been up long enough to know */
    assert_true(names_answered(side.names, 50) == 0);
    nsec before = clock_now();
    node_answers_empty(&node, 50, 0);
    assert_in_range(names_answered(side.names, 50), before, clock_now());
    assert_true(names_answered(side.names, 51) == 0);
    node_answers_empty(&node, 77, 0); /* was never asked */
    assert_true(names_answered(side.names, 77) == 0);
    node_close(&node, &side);
}

/* A claim of another context, as its server reports it. */
static struct directory_claim claim_since(uint64_t id, uint64_t member, uint64_t incarnation)
{
    const struct names_side other = {.context = 9};
    struct claim claim = side_claim(&other, id, member, incarnation);
    struct directory_claim out = {.member = member,
                                  .incarnation = incarnation,
                                  .group = claim.group,
                                  .size = CLAIM_RECORD_SIZE};
    struct seal seal;
    assert_int_equal(seal_init(&seal, NULL), 0);
    claim_record_write(&claim, &seal, out.record);
    return out;
}

static struct directory_claim claim_of(uint64_t id, uint64_t member)
{
    return claim_since(id, member, 1000);
}

/* Sends an answer to the question for 50: these claims, as one of `parts` parts. */
static void node_tells(struct node *node, const struct directory_claim *claims, uint16_t count,
                       uint8_t part, uint8_t parts)
{
    static struct directory_message answer;
    static uint32_t round;
    round += part == 0;
    answer = (struct directory_message){.operation = DIRECTORY_ANSWER,
                                        .round = round,
                                        .part = part,
                                        .parts = parts,
                                        .count = count,
                                        .domain = node->message.domain,
                                        .id = 50};
    memcpy(answer.claims, claims, count * sizeof *claims);
    node_says(node, &answer);
    world_run(&node->world, 10 * 1000 * 1000);
}

static void an_answer_reports_new_and_withdrawn_claims(void **state)
{
    static struct node node;
    static struct names_side side;
    struct directory_claim claims[2] = {claim_of(50, 1), claim_of(50, 2)};
    node_open(&node, &side);
    assert_int_equal(names_ask(side.names, 50), 0);
    node_await(&node, DIRECTORY_ASK, 50);
    node_tells(&node, claims, 2, 0, 1);
    assert_int_equal(names_known(side.names, 50, NULL, 0), 2);
    assert_int_equal(side_count(&side, NOTE_FOUND, 50), 2);
    node_tells(&node, claims, 1, 0, 1);
    assert_int_equal(names_known(side.names, 50, NULL, 0), 1);
    assert_int_equal(side_count(&side, NOTE_GONE, 50), 1);
    assert_int_equal(side_last(&side, NOTE_GONE, 50)->claim.member, 2);

    /* In two parts: no claim is reported gone before both have arrived. */
    nsec before = clock_now();
    node_tells(&node, &claims[1], 1, 0, 2);
    assert_true(names_answered(side.names, 50) < before);
    assert_int_equal(side_count(&side, NOTE_GONE, 50), 1);
    node_tells(&node, &claims[0], 1, 1, 2);
    assert_true(names_answered(side.names, 50) >= before);
    assert_int_equal(side_count(&side, NOTE_GONE, 50), 1);
    assert_int_equal(names_known(side.names, 50, NULL, 0), 2);
    node_close(&node, &side);
}

/* Asks again and again, and answers each question in two parts. Returns how many were asked. */
static unsigned questions_answered(struct node *node, struct names_side *side,
                                   const struct directory_claim claims[2], unsigned turns)
{
    unsigned count = 0;
    for (unsigned i = 0; i < turns; i++) {
        assert_true(names_ask(side->names, 50) >= 0);
        if (!node_hears(node))
            continue;
        assert_int_equal(node->message.operation, DIRECTORY_ASK);
        count++;
        node_tells(node, &claims[0], 1, 0, 2);
        node_tells(node, &claims[1], 1, 1, 2);
    }
    return count;
}

/* Only an answer that differs from the last begins the intervals anew. A group with many members is
 * answered in parts, which differ from each other. */
static void questions_become_rare_also_if_answers_come_in_parts(void **state)
{
    static struct node node;
    static struct names_side side;
    struct directory_claim claims[2] = {claim_since(50, 1, 2000), claim_since(50, 2, 1000)};
    const unsigned turns = 40;
    node_open(&node, &side);
    nsec start = clock_now();
    unsigned count = questions_answered(&node, &side, claims, turns);
    /* After 0, 0 (the first answer is a change), 50, 150, 350 and 750 ms, then every 800 ms. */
    unsigned most = 7 + (unsigned)((clock_now() - start) / (800 * 1000 * 1000LL));
    assert_in_range(count, 2, most < turns ? most : turns);
    claims[1] =
        claim_since(50, 2, 3000); /* the answer changes: the next question is sent at once */
    assert_true(names_ask(side.names, 50) >= 0);
    node_tells(&node, &claims[0], 1, 0, 2);
    node_tells(&node, &claims[1], 1, 1, 2);
    while (node_hears(&node))
        assert_int_equal(node.message.operation, DIRECTORY_ASK);
    assert_true(names_ask(side.names, 50) >= 0);
    node_await(&node, DIRECTORY_ASK, 50);
    node_close(&node, &side);
}

static void a_claim_that_differs_from_its_record_is_dropped(void **state)
{
    static struct node node;
    static struct names_side side;
    struct names_counts counts;
    node_open(&node, &side);
    assert_int_equal(names_ask(side.names, 50), 0);
    node_await(&node, DIRECTORY_ASK, 50);
    struct directory_claim claims[3] = {claim_of(50, 50), claim_of(51, 51), claim_of(50, 50)};
    claims[0].member = 51;
    claims[1].member = 51;
    claims[2].size--;
    node_tells(&node, claims, 3, 0, 1);
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage, 3);
    assert_int_equal(counts.forged, 0);
    assert_int_equal(names_known(side.names, 50, NULL, 0), 0);
    claims[2] = claim_of(50, 50);
    claims[2].record[CLAIM_RECORD_SIZE - 1] ^= 1; /* in the seal */
    node_tells(&node, &claims[2], 1, 0, 1);
    names_count(side.names, &counts);
    assert_int_equal(counts.garbage + counts.forged, 4);
    assert_int_equal(names_known(side.names, 50, NULL, 0), 0);
    node_close(&node, &side);
}

static void opening_the_directory_without_a_node_fails(void **state)
{
    struct names_world world;
    struct names *names;
    struct why why = {""};
    world_open(&world);
    struct names_config config = {.poller = world.poller,
                                  .services = "directory",
                                  .folder = world.scratch.folder,
                                  .domain = SCRATCH_DOMAIN,
                                  .events = &side_events};
    assert_int_equal(names_open(&names, &config, &why), -EADDRNOTAVAIL);
    config.node = "/nowhere/node";
    assert_int_equal(names_open(&names, &config, &why), -ENOENT);
    world_close(&world);
}

static void a_claim_that_is_refused_while_its_holder_leaves_is_made_again(void **state)
{
    static struct node node;
    static struct names_side side;
    node_open(&node, &side);
    announce(&side, 42, 1);
    node_await(&node, DIRECTORY_CLAIM, 42);
    node_refuses(&node, 42); /* the withdrawal of the holder is still on its way */
    node_await(&node, DIRECTORY_CLAIM, 42);
    assert_int_equal(side_count(&side, NOTE_ANNOUNCED, 42), 0);
    node_agrees(&node, &side, 42);
    node_close(&node, &side);
}

static void a_claim_is_refused_if_its_holder_stays(void **state)
{
    static struct node node;
    static struct names_side side;
    node_open(&node, &side);
    announce(&side, 42, 1);
    unsigned claims = 0;
    for (nsec end = clock_after(WORLD_PATIENCE); !side_count(&side, NOTE_ANNOUNCED, 42);) {
        assert_true(clock_now() < end);
        if (!node_hears(&node) || node.message.operation != DIRECTORY_CLAIM)
            continue;
        claims++;
        node_refuses(&node, 42);
    }
    assert_true(claims > 1);
    assert_int_equal(side_await(&side, NOTE_ANNOUNCED, 42, 1)->status, -EADDRINUSE);
    node_close(&node, &side);
}

/* Makes the socket of the program so small that it takes only a few messages. */
static void program_narrow(const struct node *node)
{
    int type, bytes = 1; /* the system takes the least that it allows */
    for (int fd = 0; fd < 256; fd++) {
        socklen_t size = sizeof type;
        if (fd != node->listener && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
            type == SOCK_SEQPACKET)
            assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    }
}

/* A node that is busy reads late, and the socket to it is full. */
static void claims_wait_while_the_node_is_busy(void **state)
{
    enum { FIRST = 1, LAST = 40 };
    static struct node node;
    static struct names_side side;
    static bool agreed[LAST + 1];
    unsigned left = LAST;
    node_open(&node, &side);
    program_narrow(&node);
    for (uint64_t id = FIRST; id <= LAST; id++)
        announce(&side, id, 1);
    for (nsec end = clock_after(WORLD_PATIENCE); left;) {
        assert_true(clock_now() < end);
        if (!node_hears(&node) || node.message.operation != DIRECTORY_CLAIM ||
            agreed[node.message.id])
            continue;
        agreed[node.message.id] = true;
        node_agrees(&node, &side, node.message.id);
        left--;
    }
    node_close(&node, &side);
}

/* The node returns, but is too busy to read: the claims that it had accepted before are more than
 * the socket takes. Then the ids are withdrawn in the same way. */
static void claims_and_withdrawals_wait_while_a_node_that_returned_is_busy(void **state)
{
    enum { FIRST = 1, LAST = 40 };
    static struct node node;
    static struct names_side side;
    const enum directory_operation operations[] = {DIRECTORY_CLAIM, DIRECTORY_WITHDRAW};
    struct context_address address = address_of_life(2);
    node_open(&node, &side);
    for (uint64_t id = FIRST; id <= LAST; id++) {
        announce(&side, id, 1);
        node_await(&node, DIRECTORY_CLAIM, id);
        node_agrees(&node, &side, id);
    }
    node_die(&node);
    names_move(side.names, NULL);
    world_run(&node.world, 10 * 1000 * 1000);
    node_revive(&node);
    for (nsec end = clock_after(WORLD_PATIENCE); node.program < 0;) {
        assert_true(clock_now() < end);
        node_hears(&node);
    }
    program_narrow(&node);
    names_move(side.names, &address);
    for (unsigned round = 0; round < 2; round++) {
        static bool heard[LAST + 1];
        unsigned left = LAST;
        memset(heard, 0, sizeof heard);
        for (uint64_t id = FIRST; id <= LAST && round == 1; id++)
            names_withdraw(side.names, id, id);
        for (nsec end = clock_after(WORLD_PATIENCE); left;) {
            assert_true(clock_now() < end);
            if (!node_hears(&node) || node.message.operation == DIRECTORY_ASK)
                continue;
            assert_int_equal(node.message.operation, operations[round]);
            left -= !heard[node.message.id];
            heard[node.message.id] = true;
        }
    }
    node_close(&node, &side);
}

TEST_MAIN(TEST(an_answer_reports_new_and_withdrawn_claims),
          TEST(questions_become_rare_also_if_answers_come_in_parts),
          TEST(a_claim_that_differs_from_its_record_is_dropped),
          TEST(opening_the_directory_without_a_node_fails),
          TEST(a_missing_answer_is_not_an_empty_answer), TEST(claims_wait_while_the_node_is_busy),
          TEST(claims_and_withdrawals_wait_while_a_node_that_returned_is_busy),
          TEST(a_claim_that_is_refused_while_its_holder_leaves_is_made_again),
          TEST(a_claim_is_refused_if_its_holder_stays),
          TEST(claims_are_repeated_when_the_node_returns_before_our_address),
          TEST(claims_are_repeated_when_our_address_returns_before_the_node))
