/* Tests the load on a few whole nodes. */

#include "services/bench/bench.h"

#include <errno.h>

#include "node/node_world.h"
#include "services/services.h"

#define MSEC   INT64_C(1000000)
#define GIGA   UINT64_C(1000000000)
#define CLIENT 6

static struct bench_answer ask(struct world *world, node_id at, const struct bench_request *request)
{
    uint8_t bytes[BENCH_REQUEST_MAX];
    size_t size = bench_request_write(request, bytes);
    world_ask(world, at, BENCH_SERVICE, CLIENT, bytes, size);
    struct bench_answer answer;
    const struct world_answer *last = &world->answers[world->answer_count - 1];
    assert_int_equal(bench_answer_read(&answer, last->bytes, last->size), 0);
    assert_int_equal(answer.token, request->token);
    return answer;
}

static struct bench_answer report(struct world *world, node_id at)
{
    struct bench_request request = {.kind = BENCH_REPORT, .token = 9};
    return ask(world, at, &request);
}

static void start_all(struct world *world, const struct bench_request *request)
{
    for (node_id id = 0; id < world->plan.server_count; id++) {
        struct bench_answer answer = ask(world, id, request);
        assert_int_equal(answer.error, 0);
        assert_int_equal(answer.mode, request->mode);
    }
}

/* Bytes that a link carries in that time, with headers. */
static uint64_t capacity(int64_t length)
{
    return GIGA / 8 * (uint64_t)length / UINT64_C(1000000000);
}

/* Each of L links is full in both directions, for every packet size, and no other link is. */
static void links_are_saturated(void **state)
{
    static const uint16_t sizes[] = {64, 1460, BENCH_SIZE_MAX};
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = world_open_settled("torus:3x3", services_all, GIGA);
        struct bench_request request = {
            .kind = BENCH_START,
            .mode = BENCH_SATURATE,
            .links = (uint8_t)(2 + i),
            .size = sizes[i],
            .duration_nsec = 20 * MSEC,
        };
        start_all(world, &request);
        world_run(world, 5 * MSEC);
        struct bench_answer before[9];
        for (node_id id = 0; id < 9; id++)
            before[id] = report(world, id);
        world_run(world, 10 * MSEC);
        for (node_id id = 0; id < 9; id++) {
            struct bench_answer after = report(world, id);
            unsigned busy = 0;
            for (unsigned port = 0; port < 4; port++) {
                uint64_t packets = after.ports[port].in.packets - before[id].ports[port].in.packets;
                uint64_t bytes = packets * (sizes[i] + WEFT_HEADER_SIZE);
                assert_int_equal(after.ports[port].in.bytes,
                                 after.ports[port].in.packets * sizes[i]);
                if (!packets)
                    continue;
                busy++;
                assert_true(bytes > capacity(10 * MSEC) * 99 / 100);
                assert_true(bytes < capacity(10 * MSEC) + 2 * 9000);
                assert_int_equal(after.ports[port].neighbour,
                                 plan_end(&world->plan, id, port)->server);
            }
            assert_int_equal(busy, 2 + i);
        }
        world_forget(world);
        world_run(world, 10 * MSEC); /* it ends by itself and reports that, on all servers */
        assert_int_equal(world->answer_count, 9);
        struct bench_answer end = report(world, 0), later;
        assert_int_equal(end.mode, BENCH_IDLE);
        assert_int_equal(end.refused + end.strange, 0);
        world_run(world, 5 * MSEC);
        later = report(world, 0);
        assert_int_equal(later.sent.packets, end.sent.packets);
        world_close(world);
    }
}

/* A link that was cut and mended is loaded again. */
static void a_link_that_comes_back_is_loaded_again(void **state)
{
    struct world *world = world_open_settled("torus:2", services_all, GIGA / 100);
    struct bench_request request = {
        .kind = BENCH_START,
        .mode = BENCH_SATURATE,
        .links = 1,
        .size = 8000,
        .duration_nsec = 8000 * MSEC,
    };
    start_all(world, &request);
    world_run(world, 100 * MSEC);
    world_cut(world, 0, 1, true);
    world_run(world, 2000 * MSEC); /* the link is down */
    struct bench_answer cut = report(world, 0);
    assert_true(cut.received.packets > 0);
    assert_int_equal(cut.ports[0].neighbour, WEFT_NOBODY);
    world_cut(world, 0, 1, false);
    world_run(world, 2000 * MSEC);
    struct bench_answer mended = report(world, 0);
    assert_true(mended.received.bytes - cut.received.bytes > capacity(1000 * MSEC) / 100);
    world_close(world);
}

/* Exactly as many packets as the rate demands are sent, and all arrive. */
static void packets_are_sent_exactly_at_the_rate(void **state)
{
    static const uint64_t rates[] = {1000 * 1000, 123456789, 33333333};
    static const enum bench_mode modes[] = {BENCH_SERVERS, BENCH_KEYS, BENCH_SERVERS};
    for (unsigned i = 0; i < 3; i++) {
        struct world *world = world_open_settled("torus:2x2x2", services_all, 0);
        struct bench_request request = {
            .kind = BENCH_START,
            .mode = modes[i],
            .size = 100,
            .rate_milli = rates[i],
            .duration_nsec = 50 * MSEC,
        };
        start_all(world, &request);
        world_run(world, 60 * MSEC);
        uint64_t sent = 0, received = 0, hops = 0;
        for (node_id id = 0; id < 8; id++) {
            struct bench_answer answer = report(world, id);
            uint64_t wanted = rates[i] * 50 / 1000 / 1000; /* in 50 ms */
            assert_in_range(answer.sent.packets, wanted, wanted + 1);
            assert_int_equal(answer.refused, 0);
            sent += answer.sent.packets;
            received += answer.received.packets;
            hops += answer.received_hops;
        }
        assert_int_equal(sent, received);
        /* 12/7 hops on average to another server, 12/8 to any: 500 packets at least. */
        double mean = modes[i] == BENCH_KEYS ? 1.5 : 12.0 / 7;
        assert_within((double)hops / (double)received, mean, 0.15);
        world_close(world);
    }
}

/* Only reachable servers are chosen. */
static void a_crashed_server_gets_no_packets(void **state)
{
    struct world *world = world_open_settled("torus:2x2", services_all, 0);
    world_crash(world, 3);
    world_run(world, 2000 * MSEC);
    struct bench_request request = {
        .kind = BENCH_START,
        .mode = BENCH_SERVERS,
        .size = 100,
        .rate_milli = 10000 * 1000,
        .duration_nsec = 50 * MSEC,
    };
    assert_int_equal(ask(world, 0, &request).error, 0);
    world_run(world, 60 * MSEC);
    assert_int_equal(report(world, 0).sent.packets, 500);
    uint64_t one = report(world, 1).received.packets, other = report(world, 2).received.packets;
    assert_int_equal(one + other, 500);
    assert_true(one > 200 && other > 200);
    world_close(world);
}

static void invalid_requests_are_refused(void **state)
{
    struct world *world = world_open_settled("torus:2", services_all, GIGA);
    struct bench_request request = {
        .kind = BENCH_START,
        .token = 3,
        .mode = BENCH_SATURATE,
        .links = 7,
        .size = 100,
        .duration_nsec = 10 * MSEC,
    };
    assert_int_equal(ask(world, 0, &request).error, EINVAL);
    request.links = 1;
    assert_int_equal(ask(world, 0, &request).error, 0);
    assert_int_equal(ask(world, 0, &request).error, EBUSY);
    struct bench_request stop = {.kind = BENCH_STOP, .token = 4};
    for (unsigned i = 0; i < 100; i++) { /* the service runs out of timers first */
        assert_int_equal(ask(world, 0, &stop).error, 0);
        struct bench_answer again = ask(world, 0, &request);
        assert_true(again.error == 0 || again.error == EBUSY);
    }
    world_ask(world, 0, BENCH_SERVICE, CLIENT, "", 0);
    struct bench_answer answer;
    const struct world_answer *last = &world->answers[world->answer_count - 1];
    assert_int_equal(bench_answer_read(&answer, last->bytes, last->size), 0);
    assert_int_equal(answer.error, EPROTO);
    world_run(world, 20 * MSEC);
    assert_int_equal(ask(world, 0, &request).error, 0);
    node_local_gone(world->nodes[0].node, CLIENT + 1);
    assert_int_equal(report(world, 0).mode, BENCH_SATURATE);
    node_local_gone(world->nodes[0].node, CLIENT);
    assert_int_equal(report(world, 0).mode, BENCH_IDLE);
    world_close(world);
}

/* A server that had no processor for five seconds does not send five seconds' packets at once. The
 * silence is longer, so that its links stay up. */
static void long_overdue_packets_are_refused(void **state)
{
    const struct node_config config = {
        .seed = 1, .services = services_all, .silence_nsec = 10000 * MSEC};
    struct world *world = world_open("torus:2", &config);
    world_run(world, WORLD_SETTLED);
    struct bench_request request = {
        .kind = BENCH_START,
        .mode = BENCH_KEYS,
        .size = 64,
        .rate_milli = 3000 * 1000,
        .duration_nsec = 60000 * MSEC,
    };
    assert_int_equal(ask(world, 0, &request).error, 0);
    world_run(world, 1000 * MSEC);
    struct bench_answer before = report(world, 0);
    assert_int_equal(before.refused, 0);
    assert_in_range(before.sent.packets, 2999, 3001);
    world->now += 5000 * MSEC;
    world_run(world, MSEC);
    struct bench_answer after = report(world, 0);
    assert_in_range(after.refused, 4900 * 3 - 1, 4900 * 3 + 1);
    world_run(world, 1000 * MSEC);
    after = report(world, 0);
    assert_in_range(after.sent.packets + after.refused, 7000 * 3 - 2, 7001 * 3 + 6);
    ask(world, 0, &(struct bench_request){.kind = BENCH_STOP});
    world_close(world);
}

/* Each packet that was due is sent or refused, also where a full queue ends a burst. */
static void packets_without_room_are_refused(void **state)
{
    struct world *world = world_open_settled("torus:2", services_all, GIGA / 1000);
    struct bench_request request = {
        .kind = BENCH_START,
        .mode = BENCH_SERVERS,
        .size = 1000,
        .rate_milli = 30000 * 1000,
        .duration_nsec = 60000 * MSEC,
    };
    assert_int_equal(ask(world, 0, &request).error, 0);
    world_run(world, 100 * MSEC);
    struct bench_answer found = report(world, 0);
    assert_in_range(found.sent.packets, 1024, 1080); /* its queue, and what the link took */
    assert_in_range(found.sent.packets + found.refused, 2999, 3001);
    world->now += 90 * MSEC;
    world_run(world, 10 * MSEC);
    found = report(world, 0);
    assert_in_range(found.sent.packets, 1024, 1080); /* its queue, and what the link took */
    assert_in_range(found.sent.packets + found.refused, 5998, 6002);
    ask(world, 0, &(struct bench_request){.kind = BENCH_STOP});
    world_close(world);
}

TEST_MAIN(TEST(links_are_saturated), TEST(a_link_that_comes_back_is_loaded_again),
          TEST(packets_are_sent_exactly_at_the_rate), TEST(a_crashed_server_gets_no_packets),
          TEST(invalid_requests_are_refused), TEST(long_overdue_packets_are_refused),
          TEST(packets_without_room_are_refused))
