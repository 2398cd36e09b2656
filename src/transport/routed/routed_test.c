/* routed: tests two programs, and between them a relay that loses and duplicates messages. */
#include "transport/routed/routed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"
#include "transport/datagram/datagram.h"
#include "transport/routed/attachment_impl.h"
#include "transport/routed/relay_scene.h"
#include "transport/scratch.h"

#define OPS      (&transport_routed)
#define PATIENCE (20 * NSEC_PER_SEC) /* how long a failing test waits */

/* ---- two programs ---- */

struct end {
    struct lock lock;
    struct poller *poller;
    struct transport *transport;
    struct lifelines *lines;
    struct context_address address;
    struct lifeline *line; /* up, or NULL */
    struct transport_link *link;
    struct doorbell bell;
    uint8_t card[32];
    unsigned gone, back; /* how often the node went and came back */
    bool down;
    int reason;
};

struct pair {
    struct scratch scratch;
    struct relay relay;
    struct end ends[2];
};

static void end_up(void *owner, struct lifeline *line, const struct context_address *peer,
                   const uint8_t *card, size_t card_size)
{
    struct end *end = owner;
    end->line = line;
    assert_int_equal(OPS->link_open(end->transport, line, peer, card, card_size, &end->link), 0);
}

static void end_control(void *owner, struct lifeline *line, struct control *control)
{
}

static void end_down(void *owner, struct lifeline *line, int reason)
{
    struct end *end = owner;
    end->down = true;
    end->reason = reason;
    end->line = NULL;
    if (end->link)
        OPS->link_lost(end->link);
}

static const struct lifeline_events end_events = {end_up, end_control, end_down};

static void end_turned(void *owner, bool up)
{
    struct end *end = owner;
    end->gone += !up;
    end->back += up;
    if (!up)
        return;
    assert_int_equal(OPS->describe(end->transport, end->card, sizeof end->card), 16);
    lifelines_renew(end->lines, &end->address);
}

static void end_open(struct pair *pair, struct end *end, uint64_t context)
{
    struct why why = {""};
    assert_int_equal(poller_open(&end->poller, &end->lock), 0);
    assert_int_equal(doorbell_open(&end->bell), 0);
    struct transport_config config = {
        .poller = end->poller, .node = pair->relay.path, .turned = end_turned, .owner = end};
    if (OPS->open(&end->transport, &config, &why))
        fail_msg("%s", why.text);
    int size = OPS->describe(end->transport, end->card, sizeof end->card);
    assert_int_equal(size, 16);
    struct lifelines_config lines = {.poller = end->poller,
                                     .attachment = routed_attachment(end->transport),
                                     .fabric_only = true,
                                     .folder = pair->scratch.folder,
                                     .context = context,
                                     .card = end->card,
                                     .card_size = (size_t)size,
                                     .events = &end_events,
                                     .owner = end};
    if (lifelines_open(&end->lines, &lines, &end->address, &why))
        fail_msg("%s", why.text);
    assert_int_equal(end->address.family, ADDRESS_FABRIC);
}

static void nothing_is_due(void *owner)
{
}

/* Asserts that no watch is left, which the poller asserts itself, and no timer. */
static void poller_close_unused(struct poller *poller)
{
    struct poller_timer first = {.fired = nothing_is_due};
    assert_int_equal(poller_set(poller, &first, NSEC_FAR), 0);
    assert_int_equal(first.slot, 1);
    poller_close(poller);
}

static void end_close(struct end *end)
{
    if (!end->lines)
        return;
    lifelines_close(end->lines);
    if (end->link)
        OPS->link_close(end->link);
    OPS->close(end->transport);
    doorbell_close(&end->bell);
    poller_close_unused(end->poller);
    *end = (struct end){0};
}

static void pair_step(struct pair *pair)
{
    for (unsigned i = 0; i < 2; i++)
        if (pair->ends[i].poller)
            poller_step(pair->ends[i].poller, clock_after(100 * 1000));
}

/* Steps until the condition is true. */
#define AWAIT(pair, condition)                                                                     \
    do {                                                                                           \
        nsec end_ = clock_after(PATIENCE);                                                         \
        while (!(condition) && clock_now() < end_)                                                 \
            pair_step(pair);                                                                       \
        assert_true(condition);                                                                    \
    } while (0)

static void pair_open(struct pair *pair, unsigned lose, unsigned twice)
{
    struct lifeline *line;
    *pair = (struct pair){0};
    scratch_open(&pair->scratch);
    relay_open(&pair->relay, pair->scratch.folder);
    pair->relay.lose = lose;
    pair->relay.twice = twice;
    for (unsigned i = 0; i < 2; i++)
        end_open(pair, &pair->ends[i], 100 + i);
    assert_int_equal(lifeline_connect(pair->ends[0].lines, &pair->ends[1].address, &line), 0);
    AWAIT(pair, pair->ends[0].link && pair->ends[1].link);
}

static void pair_close(struct pair *pair)
{
    for (unsigned i = 0; i < 2; i++)
        end_close(&pair->ends[i]);
    relay_end(&pair->relay);
    scratch_close(&pair->scratch);
}

/* ---- tests ---- */

struct pipe {
    struct outlet *outlet;
    struct inlet *inlet;
};

static void pipe_open(struct pair *pair, struct pipe *pipe)
{
    struct parcel offer = {0}, answer = {0};
    struct end *from = &pair->ends[0], *to = &pair->ends[1];
    assert_int_equal(OPS->pipes->outlet_open(from->link, &from->bell, &offer, &pipe->outlet), 0);
    assert_int_equal(OPS->pipes->inlet_open(to->link, &to->bell, &offer, &answer, &pipe->inlet), 0);
    assert_int_equal(OPS->pipes->outlet_answer(pipe->outlet, &answer), 0);
}

static uint32_t frame_size(uint64_t number)
{
    return number % 7 == 0 ? FRAME_BODY_MAX : (uint32_t)(number * 977 % FRAME_BODY_MAX);
}

static void frames_arrive_in_order_and_once(void **state)
{
    static struct pair pair;
    static uint8_t body[FRAME_BODY_MAX];
    struct pipe pipe;
    uint64_t pushed = 0, pulled = 0, full = 0;
    const uint64_t total = 600;
    pair_open(&pair, 5, 5);
    pipe_open(&pair, &pipe);
    nsec end = clock_after(PATIENCE);
    while (pulled < total && clock_now() < end) {
        struct frame_head head = {.token = pushed, .kind = 7};
        memset(body, (int)(pushed & 0xff), sizeof body);
        struct iovec piece = {body, frame_size(pushed)};
        int result = pushed < total ? OPS->pipes->push(pipe.outlet, &head, &piece, 1) : -EAGAIN;
        pushed += result == 0;
        full += result == -EAGAIN;
        struct frame frame;
        while (OPS->pipes->pull(pipe.inlet, &frame, 1) == 1) {
            assert_int_equal(frame.head.token, pulled);
            assert_int_equal(frame.size, frame_size(pulled));
            for (uint32_t i = 0; i < frame.size; i += 97)
                assert_int_equal(frame.body[i], pulled & 0xff);
            OPS->pipes->release(pipe.inlet, &frame);
            pulled++;
        }
        if (result)
            pair_step(&pair);
    }
    assert_int_equal(pulled, total);
    assert_true(full > 0); /* a sender that is too fast is refused */
    OPS->pipes->outlet_close(pipe.outlet);
    OPS->pipes->inlet_close(pipe.inlet);
    pair_close(&pair);
}

struct moving {
    struct transfer transfer;
    bool done;
    int status;
};

static void moving_done(struct transfer *transfer, int status)
{
    struct moving *moving = container_of(transfer, struct moving, transfer);
    moving->done = true;
    moving->status = status;
}

static int move(struct pair *pair, bool writing, const struct remote_memory *memory, size_t offset,
                void *local, size_t size)
{
    struct moving moving = {.transfer.done = moving_done};
    struct transport_link *link = pair->ends[0].link;
    int result = writing
                     ? OPS->memory->write(link, memory, offset, local, size, NULL, &moving.transfer)
                     : OPS->memory->read(link, memory, offset, local, size, NULL, &moving.transfer);
    if (result)
        return result == 1 ? 0 : result;
    AWAIT(pair, moving.done);
    return moving.status;
}

static void memory_is_read_and_written(void **state)
{
    enum { SIZE = 500000 };
    static struct pair pair;
    static uint8_t theirs[SIZE], ours[SIZE];
    struct region *region;
    struct remote_memory whole, part;
    pair_open(&pair, 5, 5);
    for (size_t i = 0; i < SIZE; i++)
        theirs[i] = (uint8_t)(i * 31 + i / 4096);
    assert_int_equal(OPS->memory->region_open(pair.ends[1].transport, theirs, SIZE, NULL, &region),
                     0);
    assert_int_equal(
        OPS->memory->share(pair.ends[1].link, region, theirs, SIZE, MEMORY_READ, &whole), 0);
    assert_int_equal(OPS->memory->share(pair.ends[1].link, region, theirs + 1000, SIZE - 2000,
                                        MEMORY_READ | MEMORY_WRITE, &part),
                     0);
    assert_int_equal(move(&pair, false, &whole, 0, ours, SIZE), 0);
    assert_memory_equal(ours, theirs, SIZE);
    memset(ours, 0xee, SIZE);
    assert_int_equal(move(&pair, true, &part, 5, ours, 300000), 0);
    assert_int_equal(theirs[1004], (uint8_t)(1004 * 31 + 1004 / 4096));
    assert_memory_equal(theirs + 1005, ours, 300000);
    assert_int_equal(theirs[301005], (uint8_t)(301005 * 31 + 301005 / 4096));
    assert_int_equal(move(&pair, true, &whole, 0, ours, 10), -EACCES); /* it is read-only */
    assert_int_equal(move(&pair, false, &part, SIZE - 2000, ours, 1), -ERANGE);
    struct remote_memory wrong = whole;
    wrong.key++;
    assert_int_equal(move(&pair, false, &wrong, 0, ours, 10), -EACCES);
    wrong = whole;
    wrong.address = 10; /* beyond the end */
    assert_int_equal(move(&pair, false, &wrong, 0, ours, SIZE), -EACCES);
    OPS->memory->region_close(region);
    assert_int_equal(move(&pair, false, &whole, 0, ours, 10), -EACCES);
    pair_close(&pair);
}

/* Sends a message about memory as a malicious peer might. */
static void memory_word_forge(struct end *from, uint16_t word, uint64_t number,
                              const uint8_t *bytes, size_t size)
{
    struct datagram_link *link = container_of(from->link, struct datagram_link, link);
    struct frame_head head = {.kind = word, .token = number};
    struct iovec piece = {(void *)(uintptr_t)bytes, size};
    assert_int_equal(datagram_push(link->memory.outlet, &head, &piece, 1), 0);
}

/* Data must match the request: not too much, continuing where the last ended, for a read in
 * progress. */
static void data_that_was_not_requested_is_refused(void **state)
{
    enum { MEMORY_DATA = 2, MEMORY_DONE = 5, SIZE = 100, FIRST = 1 };
    static struct pair pair;
    static uint8_t theirs[SIZE], ours[SIZE + 50];
    uint8_t bytes[8 + SIZE + 50] = {0}; /* the offset, highest byte first, then data */
    struct region *region;
    struct remote_memory memory;
    struct moving moving = {.transfer.done = moving_done};
    pair_open(&pair, 0, 0);
    memset(ours, 0x11, sizeof ours);
    memset(bytes + 8, 0x22, sizeof bytes - 8);
    memset(theirs, 0x33, sizeof theirs);
    assert_int_equal(OPS->memory->region_open(pair.ends[1].transport, theirs, SIZE, NULL, &region),
                     0);
    assert_int_equal(
        OPS->memory->share(pair.ends[1].link, region, theirs, SIZE, MEMORY_READ, &memory), 0);
    assert_int_equal(
        OPS->memory->read(pair.ends[0].link, &memory, 0, ours, SIZE, NULL, &moving.transfer), 0);
    memory_word_forge(&pair.ends[1], MEMORY_DATA, FIRST, bytes, sizeof bytes); /* too much */
    memory_word_forge(&pair.ends[1], MEMORY_DATA, FIRST, bytes, 8);            /* no data */
    memory_word_forge(&pair.ends[1], MEMORY_DATA, FIRST, bytes, 7);            /* no offset */
    bytes[7] = 1;
    memory_word_forge(&pair.ends[1], MEMORY_DATA, FIRST, bytes, 8 + 10); /* not the next offset */
    bytes[7] = 0;
    memory_word_forge(&pair.ends[1], MEMORY_DATA, FIRST + 1, bytes, 8 + 10); /* of no read */
    memory_word_forge(&pair.ends[1], 77, FIRST, bytes, 8 + 10);              /* an unknown kind */
    memory_word_forge(&pair.ends[1], MEMORY_DONE, FIRST + 1, bytes, 4);      /* of no read */
    memory_word_forge(&pair.ends[1], MEMORY_DONE, FIRST, bytes, 4); /* a read ends with its data */
    bytes[3] = EACCES;
    memory_word_forge(&pair.ends[1], MEMORY_DONE, FIRST, bytes, 3); /* no status */
    memory_word_forge(&pair.ends[1], MEMORY_DONE, FIRST, bytes, 5); /* longer than a status */
    bytes[3] = EPERM;
    memory_word_forge(&pair.ends[1], MEMORY_DONE, FIRST, bytes, 4); /* an unknown status */
    AWAIT(&pair, moving.done);
    assert_int_equal(moving.status, 0);
    assert_memory_equal(ours, theirs, SIZE);
    for (unsigned i = SIZE; i < sizeof ours; i++)
        assert_int_equal(ours[i], 0x11);
    const struct datagram_core *core =
        container_of(pair.ends[0].transport, struct datagram_core, transport);
    assert_int_equal(core->counts.garbage, 11);
    OPS->memory->region_close(region);
    pair_close(&pair);
}

/* Sends a datagram of no pipe behind a head of parts, as another program might. */
static void part_forge(struct pair *pair, const uint8_t head[8], size_t from, size_t size)
{
    uint8_t body[RELAY_BODY_MAX] = {0}, datagram[DATAGRAM_ASK_SIZE];
    struct pipe_datagram ask = {.kind = DATAGRAM_ASK, .pipe = 4711};
    pipe_datagram_write(&ask, datagram, sizeof datagram);
    memcpy(body, head, 8);
    memcpy(body + 8, datagram + from, size);
    relay_say(&pair->relay, 0,
              &(struct relay_message){.operation = RELAY_DATA,
                                      .kind = RELAY_KIND_FRAME,
                                      .from = relay_address(&pair->relay, 1),
                                      .body = body,
                                      .size = 8 + size});
}

/* A head is the number, the part, the number of parts, and two zero bytes. */
static void invalid_parts_are_counted(void **state)
{
    enum { ALL = DATAGRAM_ASK_SIZE, HALF = ALL / 2 };
    static const uint8_t heads[][8] = {
        {0, 0, 0, 1, 0, 1, 0, 1},                           /* the two bytes are not zero */
        {0, 0, 0, 1, 0, 1, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 0}, /* no parts */
        {0, 0, 0, 1, 0, 3, 0, 0},                           /* too many parts */
        {0, 0, 0, 1, 1, 1, 0, 0},                           /* a part after the last */
        {0, 0, 0, 1, 2, 2, 0, 0},
    };
    static const uint8_t whole[8] = {0, 0, 0, 2, 0, 1}, first[8] = {0, 0, 0, 3, 0, 2},
                         second[8] = {0, 0, 0, 3, 1, 2}, other[8] = {0, 0, 0, 4, 1, 2};
    static struct pair pair;
    pair_open(&pair, 0, 0);
    const struct datagram_counts *counts =
        &container_of(pair.ends[0].transport, struct datagram_core, transport)->counts;
    uint64_t garbage = counts->garbage, stray = counts->stray;
    for (unsigned i = 0; i < 6; i++) {
        part_forge(&pair, heads[i], 0, ALL);
        AWAIT(&pair, counts->garbage == garbage + i + 1);
    }
    assert_int_equal(counts->stray, stray);
    part_forge(&pair, whole, 0, ALL);
    AWAIT(&pair, counts->stray == stray + 1);
    part_forge(&pair, second, HALF, ALL - HALF); /* in any order, and duplicated */
    part_forge(&pair, second, HALF, ALL - HALF);
    part_forge(&pair, other, HALF, ALL - HALF);
    part_forge(&pair, first, 0, HALF);
    AWAIT(&pair, counts->stray == stray + 2);
    part_forge(&pair, first, 0, HALF);
    part_forge(&pair, second, HALF, ALL - HALF);
    AWAIT(&pair, counts->stray == stray + 3);
    assert_int_equal(counts->garbage, garbage + 6);
    pair_close(&pair);
}

static void writes_are_placed_in_order(void **state)
{
    enum { WRITES = 300 };
    static struct pair pair;
    static uint64_t theirs[2], values[WRITES][2];
    static struct moving moving[WRITES];
    struct region *region;
    struct remote_memory memory;
    pair_open(&pair, 10, 10);
    memset(theirs, 0, sizeof theirs);
    assert_int_equal(
        OPS->memory->region_open(pair.ends[1].transport, theirs, sizeof theirs, NULL, &region), 0);
    assert_int_equal(
        OPS->memory->share(pair.ends[1].link, region, theirs, sizeof theirs, MEMORY_WRITE, &memory),
        0);
    for (uint64_t i = 0; i < WRITES; i++) {
        values[i][0] = values[i][1] = i + 1;
        moving[i] = (struct moving){.transfer.done = moving_done};
        assert_int_equal(OPS->memory->write(pair.ends[0].link, &memory, 0, values[i],
                                            sizeof values[i], NULL, &moving[i].transfer),
                         0);
    }
    uint64_t last = 0;
    nsec end = clock_after(PATIENCE);
    while (!moving[WRITES - 1].done && clock_now() < end) {
        pair_step(&pair);
        assert_true(theirs[0] >= last && theirs[0] == theirs[1]);
        last = theirs[0];
    }
    for (unsigned i = 0; i < WRITES; i++)
        assert_true(moving[i].done && moving[i].status == 0);
    assert_int_equal(theirs[0], WRITES);
    OPS->memory->region_close(region);
    pair_close(&pair);
}

static void the_end_of_a_peer_is_noticed(void **state)
{
    static struct pair pair;
    static uint8_t ours[100];
    struct moving moving = {.transfer.done = moving_done};
    struct remote_memory memory = {.key = 1, .size = 100};
    pair_open(&pair, 0, 0);
    pair.relay.lose = 100;
    assert_int_equal(
        OPS->memory->read(pair.ends[0].link, &memory, 0, ours, 100, NULL, &moving.transfer), 0);
    end_close(&pair.ends[1]);
    AWAIT(&pair, pair.ends[0].down);
    assert_int_equal(pair.ends[0].reason, -EPIPE);
    assert_true(moving.done);
    assert_int_equal(moving.status, -EPIPE);
    pair_close(&pair);
}

/* The node reports the server as unreachable; the stream alone would wait longer. */
static void a_server_that_stays_unreachable_is_given_up(void **state)
{
    static struct pair pair;
    pair_open(&pair, 0, 0);
    for (unsigned i = 0; i < 2; i++)
        for (unsigned peer = 0; peer < 2; peer++)
            relay_say(&pair.relay, i,
                      &(struct relay_message){.operation = RELAY_DOWN,
                                              .from = relay_address(&pair.relay, peer)});
    AWAIT(&pair, pair.ends[0].down && pair.ends[1].down);
    pair_close(&pair);
}

static void the_death_of_our_node_is_noticed(void **state)
{
    static struct pair pair;
    pair_open(&pair, 0, 0);
    relay_end(&pair.relay);
    AWAIT(&pair, pair.ends[0].down && pair.ends[1].down);
    for (unsigned i = 0; i < 2; i++)
        end_close(&pair.ends[i]);
    scratch_close(&pair.scratch);
}

/* Everything is opened again at new addresses, and nothing sent to the old addresses is
 * received. */
static void a_node_that_comes_back_is_used_again(void **state)
{
    static struct pair pair;
    struct pipe pipe;
    struct lifeline *line;
    struct frame frame = {0};
    struct frame_head head = {.token = 1};
    struct iovec piece = {"words", 5};
    pair_open(&pair, 0, 0);
    pipe_open(&pair, &pipe);
    for (unsigned round = 1; round <= 2; round++) {
        struct context_address before = pair.ends[1].address;
        relay_end(&pair.relay);
        AWAIT(&pair, pair.ends[0].down && pair.ends[1].down);
        assert_int_equal(OPS->pipes->push(pipe.outlet, &head, &piece, 1), -EPIPE);
        OPS->pipes->outlet_close(pipe.outlet);
        OPS->pipes->inlet_close(pipe.inlet);
        for (unsigned i = 0; i < 2; i++) {
            OPS->link_close(pair.ends[i].link);
            pair.ends[i].link = NULL;
            pair.ends[i].down = false;
        }
        assert_false(lifelines_reach(pair.ends[0].lines, &before));
        relay_open(&pair.relay, pair.scratch.folder);
        AWAIT(&pair, pair.ends[0].back == round && pair.ends[1].back == round);
        assert_int_equal(pair.ends[0].gone, round);
        assert_memory_not_equal(before.address, pair.ends[1].address.address, 16);
        assert_int_equal(lifeline_connect(pair.ends[0].lines, &before, &line), 0);
        AWAIT(&pair, pair.ends[0].down); /* the old address is gone */
        pair.ends[0].down = false;
        assert_int_equal(lifeline_connect(pair.ends[0].lines, &pair.ends[1].address, &line), 0);
        AWAIT(&pair, pair.ends[0].link && pair.ends[1].link);
        pipe_open(&pair, &pipe);
        assert_int_equal(OPS->pipes->push(pipe.outlet, &head, &piece, 1), 0);
        AWAIT(&pair, OPS->pipes->pull(pipe.inlet, &frame, 1) == 1 || frame.size == 5);
        assert_memory_equal(frame.body, "words", 5);
        OPS->pipes->release(pipe.inlet, &frame);
        frame.size = 0;
    }
    OPS->pipes->outlet_close(pipe.outlet);
    OPS->pipes->inlet_close(pipe.inlet);
    pair_close(&pair);
}

static void connecting_to_an_unknown_address_fails(void **state)
{
    static struct pair pair;
    struct lifeline *line;
    pair_open(&pair, 0, 0);
    struct context_address address = pair.ends[1].address;
    address.address[15]++; /* another life */
    pair.ends[0].down = false;
    OPS->link_close(pair.ends[0].link);
    pair.ends[0].link = NULL;
    assert_int_equal(lifeline_connect(pair.ends[0].lines, &address, &line), 0);
    AWAIT(&pair, pair.ends[0].down);
    pair_close(&pair);
}

/* Threads that poll have the attachment to themselves, until they sleep. */
static void polling_threads_and_the_poller_take_turns(void **state)
{
    static struct pair pair;
    pair_open(&pair, 0, 0);
    struct transport *transport = pair.ends[0].transport;
    const struct attachment *attachment = routed_attachment(transport);
    OPS->progress(transport);
    assert_false(attachment->watched);
    OPS->arm(transport);
    assert_true(attachment->watched);
    pair_close(&pair);
}

static void invalid_descriptions_are_refused(void **state)
{
    static struct pair pair;
    struct transport_link *link;
    uint8_t card[17] = {0};
    pair_open(&pair, 0, 0);
    struct end *end = &pair.ends[0];
    assert_int_equal(OPS->describe(end->transport, card, 15), -ENOBUFS);
    assert_int_equal(OPS->describe(end->transport, card, 16), 16);
    assert_int_equal(OPS->link_open(end->transport, end->line, NULL, card, 15, &link), -EPROTO);
    assert_int_equal(OPS->link_open(end->transport, end->line, NULL, card, 17, &link), -EPROTO);
    struct lifeline *line = end->line;
    relay_end(&pair.relay);
    AWAIT(&pair, end->gone == 1);
    assert_int_equal(OPS->link_open(end->transport, line, NULL, card, 16, &link), -EHOSTUNREACH);
    for (unsigned i = 0; i < 2; i++)
        end_close(&pair.ends[i]);
    scratch_close(&pair.scratch);
}

static void a_missing_node_is_reported(void **state)
{
    struct lock lock = {0};
    struct poller *poller;
    struct transport *transport;
    struct why why = {""};
    assert_int_equal(poller_open(&poller, &lock), 0);
    struct transport_config config = {.poller = poller, .node = "/nowhere/node-0.socket"};
    assert_int_equal(OPS->open(&transport, &config, &why), -ENOENT);
    assert_non_null(strstr(why.text, "/nowhere/node-0.socket"));
    config.node = NULL;
    assert_int_equal(OPS->open(&transport, &config, &why), -EADDRNOTAVAIL);
    poller_close_unused(poller);
}

TEST_MAIN(TEST(frames_arrive_in_order_and_once), TEST(memory_is_read_and_written),
          TEST(data_that_was_not_requested_is_refused), TEST(invalid_parts_are_counted),
          TEST(writes_are_placed_in_order), TEST(the_end_of_a_peer_is_noticed),
          TEST(a_server_that_stays_unreachable_is_given_up), TEST(the_death_of_our_node_is_noticed),
          TEST(a_node_that_comes_back_is_used_again), TEST(connecting_to_an_unknown_address_fails),
          TEST(polling_threads_and_the_poller_take_turns), TEST(invalid_descriptions_are_refused),
          TEST(a_missing_node_is_reported))
