/* Tests pings on a few whole nodes. */

#include "services/ping/ping.h"

#include <errno.h>

#include "node/node_world.h"

#define MSEC   INT64_C(1000000)
#define CLIENT 5

/* ---- another service that pings through weft_local ---- */

struct caller {
    uint32_t replies, ends;
    int64_t round_nsec;
};

static void caller_told(void *context, const struct ping_answer *answer)
{
    struct caller *caller = context;
    caller->replies += answer->kind == PING_REPLY;
    caller->ends += answer->kind == PING_END;
    if (answer->kind == PING_REPLY)
        caller->round_nsec = answer->round_nsec;
}

/* The request is one byte: the server. */
static void caller_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                           const void *bytes, uint32_t size)
{
    struct weft_self *ping;
    const struct ping_local *local = weft_local(self, "ping", &ping);
    struct ping_listener listener = {caller_told, weft_memory(self)};
    struct ping_request request = {
        .kind = PING_START,
        .server = *(const uint8_t *)bytes,
        .count = 4,
        .size = 100,
        .timeout_nsec = MSEC,
    };
    int run = local->start(ping, &request, &listener);
    assert_true(run >= 0);
    request.server = 1000;
    assert_int_equal(local->start(ping, &request, &listener), -EINVAL);
}

static void caller_stats(struct weft_self *self, struct weft_report *report)
{
    const struct caller *caller = weft_memory(self);
    weft_stat(report, "replies", caller->replies);
    weft_stat(report, "ends", caller->ends);
    weft_stat(report, "round_nsec", (uint64_t)caller->round_nsec);
}

static const struct weft_service_ops caller_ops = {
    .request = caller_request,
    .stats = caller_stats,
};

static const struct weft_service caller_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "caller",
    .id = 300,
    .size = sizeof(struct caller),
    .ops = &caller_ops,
};

static const struct weft_service *const services[] = {&service_ping, &caller_service, NULL};

/* ---- asking ---- */

static struct ping_request order(weft_server server, uint32_t count, uint16_t size)
{
    return (struct ping_request){
        .kind = PING_START,
        .token = 42,
        .server = server,
        .count = count,
        .size = size,
        .timeout_nsec = 50 * MSEC,
    };
}

static void ask_as(struct world *world, node_id from, uint64_t client,
                   const struct ping_request *request)
{
    uint8_t bytes[PING_REQUEST_MAX];
    size_t size = ping_request_write(request, bytes);
    world_ask(world, from, PING_SERVICE, client, bytes, size);
}

static void ask(struct world *world, node_id from, const struct ping_request *request)
{
    ask_as(world, from, CLIENT, request);
}

static struct ping_answer answer_at(const struct world *world, uint32_t i)
{
    struct ping_answer answer;
    assert_true(i < world->answer_count);
    assert_int_equal(world->answers[i].client, CLIENT);
    assert_int_equal(ping_answer_read(&answer, world->answers[i].bytes, world->answers[i].size), 0);
    return answer;
}

static struct ping_answer last_answer(const struct world *world)
{
    return answer_at(world, world->answer_count - 1);
}

/* ---- tests ---- */

/* In a ring of eight, server 3 is three hops away, through 1 and 2. */
static void every_hop_touches_the_packet(void **state)
{
    struct world *world = world_open_settled("torus:8", services, 1000000000);
    struct ping_request request = order(3, 10, PING_SIZE_OF_PATH(8));
    ask(world, 0, &request);
    world_run(world, 20 * MSEC);
    assert_int_equal(world->answer_count, 11);
    for (uint32_t i = 0; i < 10; i++) {
        struct ping_answer answer = answer_at(world, i);
        assert_int_equal(answer.kind, PING_REPLY);
        assert_int_equal(answer.token, 42);
        assert_int_equal(answer.sequence, i);
        assert_int_equal(answer.server, 3);
        assert_int_equal(answer.hops_there, 3);
        assert_int_equal(answer.hops_back, 3);
        assert_int_equal(answer.touches, 5);
        const weft_server path[] = {1, 2, 3, 2, 1};
        assert_int_equal(answer.path_count, 5);
        assert_memory_equal(answer.path, path, sizeof path);
        assert_int_equal(answer.path_turn, 2);
        /* Six times the delay and the transmission time of 88 bytes at 1 Gb/s. */
        assert_int_equal(answer.round_nsec, 6 * (WORLD_DELAY + 88 * 8));
    }
    struct ping_answer end = last_answer(world);
    assert_int_equal(end.kind, PING_END);
    assert_int_equal(end.sent, 10);
    assert_int_equal(end.received, 10);
    assert_int_equal(end.lost, 0);
    assert_int_equal(end.sum_nsec, 10 * end.least_nsec);
    assert_int_equal(world_number(world, 2, "ping", "pings_touched"), 20);
    assert_int_equal(world_number(world, 3, "ping", "pings_answered"), 10);
    world_close(world);
}

static void jumbo_pings_to_itself_and_to_a_key_return(void **state)
{
    struct world *world = world_open_settled("torus:2x2x2", services, 0);
    struct ping_request request = order(5, 3, PING_SIZE_MAX);
    ask(world, 5, &request);
    world_run(world, 5 * MSEC);
    assert_int_equal(world->answer_count, 4);
    assert_int_equal(answer_at(world, 0).server, 5);
    assert_int_equal(answer_at(world, 0).hops_there, 0);
    world_forget(world);

    request.to_key = true;
    request.server = 0;
    request.quiet = true;
    for (unsigned i = 0; i < 20; i++) {
        request.key.bytes[WEFT_KEY_SIZE - 8] = (uint8_t)(i * 13);
        ask(world, i % 8, &request);
        world_run(world, 5 * MSEC);
        assert_int_equal(world->answer_count, i + 1); /* quiet: only the end */
        assert_int_equal(last_answer(world).kind, PING_END);
        assert_int_equal(last_answer(world).received, 3);
    }
    world_close(world);
}

static void with_an_interval_several_pings_are_in_flight(void **state)
{
    struct world *world = world_open_settled("torus:4", services, 1000000);
    struct ping_request request = order(1, 50, 16);
    request.interval_nsec = MSEC / 2; /* a round takes 896 us and the delay */
    int64_t began = world->now;
    ask(world, 0, &request);
    world_run(world, 40 * MSEC);
    assert_int_equal(world->answer_count, 51);
    assert_int_equal(last_answer(world).received, 50);
    assert_true(last_answer(world).most_nsec >= 896000);
    assert_true(world->now - began < 50 * last_answer(world).least_nsec);
    world_close(world);
}

/* When the window is full, the run waits instead of forgetting pings in flight. */
static void a_full_window_delays_further_pings(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    world_cut(world, 0, 1, true);
    struct ping_request request = order(1, 800, 16);
    request.interval_nsec = 1000;
    request.timeout_nsec = 10 * MSEC;
    ask(world, 0, &request);
    world_run(world, 9 * MSEC);
    assert_int_equal(world->answer_count, 0);
    assert_int_equal(world_number(world, 0, "ping", "pings_sent"), 256);
    world_run(world, 60 * MSEC);
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).lost, 800);
    world_close(world);
}

/* Many more pings than a service may have timers, each with a timeout long after the last. */
static void a_run_keeps_its_pace(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 200, 16);
    request.interval_nsec = 2 * MSEC;
    request.timeout_nsec = 1000 * MSEC;
    ask(world, 0, &request);
    world_run(world, 410 * MSEC);
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).received, 200);
    world_close(world);
}

static void lost_pings_are_reported(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 3, 64);
    world_crash(world, 1);
    ask(world, 0, &request); /* the crash is not noticed yet */
    world_run(world, 160 * MSEC);
    assert_int_equal(world->answer_count, 4);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(answer_at(world, i).kind, PING_LOST);
        assert_int_equal(answer_at(world, i).sequence, i);
        assert_int_equal(answer_at(world, i).error, ETIMEDOUT);
    }
    assert_int_equal(last_answer(world).lost, 3);
    world_forget(world);

    world_run(world, 2000 * MSEC); /* now it is */
    ask(world, 0, &request);
    world_run(world, 160 * MSEC);
    assert_int_equal(world->answer_count, 4);
    assert_int_equal(answer_at(world, 0).error, EHOSTUNREACH);
    world_close(world);
}

/* The link is too slow for the timeout: the reply comes, but late. */
static void late_replies_are_counted(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 1000000);
    struct ping_request request = order(1, 2, 1000);
    request.timeout_nsec = 10 * MSEC; /* a round takes 16.6 ms */
    request.interval_nsec = 12 * MSEC;
    ask(world, 0, &request);
    world_run(world, 60 * MSEC);
    assert_int_equal(world->answer_count, 3);
    assert_int_equal(last_answer(world).lost, 2);
    assert_int_equal(last_answer(world).late, 1); /* the second comes after the end */
    world_close(world);
}

static void runs_are_bounded_and_can_be_stopped(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 1000, 64);
    request.interval_nsec = 100 * MSEC;
    for (request.token = 0; request.token < 5; request.token++)
        ask(world, 0, &request); /* a program gets four runs ... */
    assert_int_equal(world->answer_count, 1);
    assert_int_equal(last_answer(world).kind, PING_REFUSED);
    assert_int_equal(last_answer(world).token, 4);
    assert_int_equal(last_answer(world).error, ENOBUFS);
    for (unsigned i = 0; i < 13; i++)
        ask_as(world, 0, CLIENT + 1 + i / 4, &request); /* ... and all programs sixteen */
    assert_int_equal(world->answer_count, 2);           /* the last one was refused */
    assert_int_equal(world->answers[1].client, CLIENT + 4);
    world_run(world, 50 * MSEC);
    struct ping_request stop = {.kind = PING_STOP, .token = 3};
    ask(world, 0, &stop);
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).token, 3);
    assert_int_equal(last_answer(world).received, 1);
    ask(world, 0, &stop);
    assert_int_equal(last_answer(world).kind, PING_REFUSED);
    assert_int_equal(last_answer(world).error, ENOENT);
    request.server = 2;
    ask(world, 0, &request);
    assert_int_equal(last_answer(world).error, EINVAL);
    world_ask(world, 0, PING_SERVICE, CLIENT, "?", 1);
    assert_int_equal(last_answer(world).error, EPROTO);
    request.server = 1;
    request.token = 9;
    request.count = 1;
    ask(world, 0, &request); /* in the slot that is free again */
    world_run(world, 10 * MSEC);
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).token, 9);
    world_close(world);
}

static void a_disconnected_program_gets_no_more_answers(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 1000, 64);
    request.interval_nsec = MSEC;
    ask(world, 0, &request);
    world_run(world, 10 * MSEC);
    uint32_t answers = world->answer_count;
    assert_true(answers > 5);
    node_local_gone(world->nodes[0].node, CLIENT);
    world_run(world, 10 * MSEC);
    assert_int_equal(world->answer_count, answers);
    assert_true(world_number(world, 0, "ping", "pings_sent") <= answers + 1);
    world_close(world);
}

/* A program that does not read its answers delays the pings, misses none of them, and gets the
 * end. */
static void a_program_that_does_not_read_delays_its_run(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 10, 64);
    ask(world, 0, &request);
    world->deaf = true;
    world_run(world, 300 * MSEC);
    assert_int_equal(world_number(world, 0, "ping", "pings_sent"), 1);
    world->deaf = false;
    world_run(world, 300 * MSEC);
    assert_int_equal(world->answer_count, 11);
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(answer_at(world, i).sequence, i);
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).received, 10);
    assert_int_equal(world_number(world, 0, "ping", "answers_untold"), 0);
    world_close(world);
}

/* With an interval, answers that come while one is kept are lost; the sums are not. */
static void the_end_is_reported_to_a_program_that_did_not_read(void **state)
{
    struct world *world = world_open_settled("torus:2", services, 0);
    struct ping_request request = order(1, 1000, 64);
    struct ping_request stop = {.kind = PING_STOP, .token = request.token};
    request.interval_nsec = MSEC / 1000; /* so that many are in flight by then */
    ask(world, 0, &request);
    world->deaf = true;
    world_run(world, 10 * MSEC);
    uint64_t received = world_number(world, 0, "ping", "replies_received");
    assert_true(received > 1);
    assert_int_equal(world_number(world, 0, "ping", "answers_untold"), received - 1);
    ask(world, 0, &stop);
    world_run(world, 10 * MSEC);
    assert_int_equal(world->answer_count, 0);
    world->deaf = false;
    world_run(world, 10 * MSEC);
    assert_int_equal(world->answer_count, 1); /* only the end, once */
    assert_int_equal(last_answer(world).kind, PING_END);
    assert_int_equal(last_answer(world).received, received);
    node_local_gone(world->nodes[0].node, CLIENT);
    world_close(world);
}

static void another_service_may_ping(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 0);
    world_ask(world, 0, 300, CLIENT, "\004", 1);
    world_run(world, 5 * MSEC);
    assert_int_equal(world_number(world, 0, "caller", "replies"), 4);
    assert_int_equal(world_number(world, 0, "caller", "ends"), 1);
    assert_int_equal(world_number(world, 0, "caller", "round_nsec"), 4 * WORLD_DELAY);
    assert_int_equal(world->answer_count, 0);
    world_close(world);
}

TEST_MAIN(TEST(every_hop_touches_the_packet), TEST(jumbo_pings_to_itself_and_to_a_key_return),
          TEST(with_an_interval_several_pings_are_in_flight),
          TEST(a_full_window_delays_further_pings), TEST(a_run_keeps_its_pace),
          TEST(lost_pings_are_reported), TEST(late_replies_are_counted),
          TEST(runs_are_bounded_and_can_be_stopped),
          TEST(a_disconnected_program_gets_no_more_answers),
          TEST(a_program_that_does_not_read_delays_its_run),
          TEST(the_end_is_reported_to_a_program_that_did_not_read), TEST(another_service_may_ping))
