/* Streams in chaos: a guest of `weft sim chaos` (sim/chaos/chaos.h) whose service opens streams to
 * servers and keys, stalls, cancels and finishes them while servers and links fail, and a checker
 * of what weft/stream.h promises:
 *
 *   - the bytes of each message arrive whole, right and in order;
 *   - a message whose call is done with result 0 was received whole by a service;
 *   - all calls of a stream are done before it ends, and a finished stream lost none;
 *   - no message arrives twice in one incoming stream;
 *   - in the calm after the storm every stream ends, at both ends.
 *
 *     sim_stream_chaos_test [SEEDS]    runs so many seeds on each topology, 4 by default
 *
 * With planted bugs (node/planted.h) the checker must find each of them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <weft/stream.h>

#include "base/hash.h"
#include "base/test.h"
#include "node/test_plan.h"
#include "sim/chaos/chaos.h"
#include "sim/chaos/chaos_load.h"

#define TRAFFIC   310 /* service id */
#define FLOWS     5
#define CALLS     3
#define ARRIVINGS 256
#define SIZE_MOST 30000
#define TICK      8000000 /* nanoseconds */
#define SERVERS   64

struct flow {
    struct weft_stream *stream; /* NULL: closed */
    uint64_t subject, identity;
    uint32_t sent, done, failed;
    bool finished;
    struct letter {
        struct weft_call call;
        struct flow *flow;
        bool busy;
    } letters[CALLS];
};

struct arriving {
    struct weft_stream *stream; /* NULL: this entry is free */
    bool begun, stalled;
    uint64_t message, offset, identity;
    weft_server source;
};

struct traffic {
    bool running, ticks;
    struct flow flows[FLOWS];
    struct arriving arrivings[ARRIVINGS];
};

/* ---- what the checker knows of all servers ---- */

#define LEDGER_SIZE (1u << 19)

static struct {
    uint64_t received[LEDGER_SIZE]; /* messages that arrived whole: a set; 0: free */
    uint32_t received_count;
    int outgoing[SERVERS], incoming[SERVERS]; /* open streams */
    uint64_t done_count, moved_count, ended_count;
    char wrong[160]; /* the first error; empty: none */
} all;

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
    va_list words;
    if (all.wrong[0])
        return;
    va_start(words, format);
    vsnprintf(all.wrong, sizeof all.wrong, format, words);
    va_end(words);
}

static uint64_t message_key(weft_server source, uint64_t identity, uint64_t message)
{
    return hash_mix(identity ^ hash_mix(message << 16 ^ source)) | 1;
}

static uint64_t *ledger_at(uint64_t key)
{
    uint32_t at = (uint32_t)key & (LEDGER_SIZE - 1);
    while (all.received[at] && all.received[at] != key)
        at = (at + 1) & (LEDGER_SIZE - 1);
    return &all.received[at];
}

static void ledger_add(uint64_t key)
{
    uint64_t *at = ledger_at(key);
    assert_true(++all.received_count < LEDGER_SIZE / 2);
    *at = key;
}

/* ---- messages: their size and bytes follow from the subject of the stream ---- */

static uint8_t pattern[SIZE_MOST + 8192];

static void pattern_make(void)
{
    for (uint32_t i = 0; i < sizeof pattern; i += 8) {
        uint64_t word = hash_mix(i + 1);
        memcpy(pattern + i, &word, 8);
    }
}

static uint32_t message_size(uint64_t subject, uint64_t message)
{
    uint64_t random = hash_mix(subject + message * 31);
    return (uint32_t)(random % 4 ? random >> 8 & 255 : (random >> 8) % SIZE_MOST);
}

static const uint8_t *message_bytes(uint64_t subject, uint64_t message)
{
    return pattern + hash_mix(subject ^ message << 40) % 8192;
}

/* The timer runs again soon. */
static void tick(struct weft_self *self)
{
    struct traffic *traffic = weft_memory(self);
    if (!traffic->ticks)
        traffic->ticks = weft_timer(self, weft_now(self) + TICK, 0) == 0;
}

/* ---- sending ---- */

static void done(struct weft_self *self, struct weft_call *call);

static void flow_fill(struct weft_self *self, struct flow *flow)
{
    for (unsigned i = 0; i < CALLS && flow->stream && !flow->finished; i++) {
        struct letter *letter = &flow->letters[i];
        if (letter->busy)
            continue;
        letter->call.done = done;
        letter->flow = flow;
        if (weft_stream_send(self, flow->stream, &letter->call,
                             message_bytes(flow->subject, flow->sent),
                             message_size(flow->subject, flow->sent), false) < 0)
            return;
        letter->busy = true;
        flow->sent++;
    }
}

static void done(struct weft_self *self, struct weft_call *call)
{
    struct letter *letter = (struct letter *)(void *)call;
    struct flow *flow = letter->flow;
    if (!letter->busy)
        wrong("server %u: a call was done twice", weft_here(self));
    letter->busy = false;
    if (call->result < 0) {
        flow->failed++;
        return;
    }
    if (flow->failed)
        wrong("server %u: a message is done after one that failed", weft_here(self));
    if (!*ledger_at(message_key(weft_here(self), flow->identity, flow->done)))
        wrong("server %u: message %u of a stream is done, but no service received it",
              weft_here(self), flow->done);
    flow->done++;
    all.done_count++;
}

static void flow_open(struct weft_self *self, struct flow *flow)
{
    uint64_t draw = weft_random(self);
    struct weft_stream_options options = {
        .subject = draw,
        .weight = (uint16_t)(1 + draw % 3),
        .moves = draw >> 8 & 1,
        .deadline = (draw >> 16) % 16 ? 0 : weft_now(self) + 50000000,
    };
    struct weft_key key = weft_key_of(&draw, sizeof draw);
    *flow = (struct flow){.subject = draw};
    int result =
        draw >> 32 & 1
            ? weft_stream_open_key(self, &key, &options, &flow->stream)
            : weft_stream_open_server(self, (weft_server)((draw >> 40) % weft_server_count(self)),
                                      &options, &flow->stream);
    if (result < 0) {
        flow->stream = NULL;
        return;
    }
    flow->identity = weft_stream_identity(flow->stream);
    weft_stream_set_context(flow->stream, flow);
    all.outgoing[weft_here(self)]++;
}

/* What a service does with a stream from time to time. */
static void flow_step(struct weft_self *self, struct flow *flow)
{
    struct traffic *traffic = weft_memory(self);
    uint64_t draw = weft_random(self);
    if (!flow->stream && traffic->running && draw % 3 == 0)
        flow_open(self, flow);
    if (!flow->stream)
        return;
    flow_fill(self, flow);
    if (draw >> 8 & 63 || !traffic->running)
        return;
    if (draw >> 16 & 1) {
        flow->finished = true;
        (void)weft_stream_finish(self, flow->stream);
    } else {
        weft_stream_cancel(self, flow->stream);
    }
}

/* ---- receiving ---- */

static void opened(struct weft_self *self, struct weft_stream *stream)
{
    struct traffic *traffic = weft_memory(self);
    all.incoming[weft_here(self)]++;
    for (unsigned i = 0; i < ARRIVINGS; i++)
        if (!traffic->arrivings[i].stream) {
            traffic->arrivings[i] = (struct arriving){.stream = stream,
                                                      .source = weft_stream_peer(stream),
                                                      .identity = weft_stream_identity(stream)};
            weft_stream_set_context(stream, &traffic->arrivings[i]);
            return;
        }
    wrong("server %u: more incoming streams than it allows", weft_here(self));
}

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    struct arriving *arriving = weft_stream_context(stream);
    uint64_t subject = weft_stream_subject(stream);
    uint32_t size = message_size(subject, piece->message), take = piece->size;
    if (!arriving->begun) { /* after a move it begins with a later message */
        arriving->begun = true;
        arriving->message = piece->message;
    }
    if (piece->message != arriving->message || piece->offset != arriving->offset ||
        piece->offset + piece->size > size ||
        piece->last != (piece->offset + piece->size == size) ||
        memcmp(piece->bytes, message_bytes(subject, piece->message) + piece->offset, piece->size) !=
            0) {
        wrong("server %u: bytes %llu to %llu of message %llu from server %u are not those that "
              "come next",
              weft_here(self), (unsigned long long)piece->offset,
              (unsigned long long)piece->offset + piece->size, (unsigned long long)piece->message,
              arriving->source);
        return piece->size;
    }
    if (piece->size && weft_random(self) % 16 == 0) {
        take = (uint32_t)(weft_random(self) % piece->size);
        arriving->stalled = true;
        tick(self);
    }
    arriving->offset += take;
    if (take == piece->size && piece->last) {
        ledger_add(message_key(arriving->source, arriving->identity, piece->message));
        arriving->message++;
        arriving->offset = 0;
    }
    return take;
}

static void moved(struct weft_self *self, struct weft_stream *stream, uint64_t messages)
{
    const struct flow *flow = weft_stream_context(stream);
    all.moved_count++;
    if (messages != flow->done)
        wrong("server %u: a stream moves after %llu messages, but %u are done", weft_here(self),
              (unsigned long long)messages, flow->done);
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    all.ended_count++;
    if (weft_stream_is_incoming(stream)) {
        struct arriving *arriving = weft_stream_context(stream);
        all.incoming[weft_here(self)]--;
        if (arriving)
            arriving->stream = NULL;
        return;
    }
    struct flow *flow = weft_stream_context(stream);
    all.outgoing[weft_here(self)]--;
    if (flow->sent != flow->done + flow->failed)
        wrong("server %u: a stream ended before all its calls were done", weft_here(self));
    if (reason == WEFT_STREAM_FINISHED && (flow->failed || !flow->finished))
        wrong("server %u: a stream finished, but lost messages", weft_here(self));
    if (reason == WEFT_STREAM_DAMAGED || reason == WEFT_STREAM_REFUSED)
        wrong("server %u: a stream ended, %s", weft_here(self), weft_stream_reason(reason));
    flow->stream = NULL;
}

/* ---- the service ---- */

static int start(struct weft_self *self)
{
    all.outgoing[weft_here(self)] = all.incoming[weft_here(self)] = 0;
    return 0;
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct traffic *traffic = weft_memory(self);
    bool open = traffic->running;
    for (unsigned i = 0; i < FLOWS; i++) {
        flow_step(self, &traffic->flows[i]);
        open |= traffic->flows[i].stream != NULL;
    }
    for (unsigned i = 0; i < ARRIVINGS; i++) {
        struct arriving *arriving = &traffic->arrivings[i];
        if (arriving->stream && arriving->stalled) {
            arriving->stalled = false;
            weft_stream_resume(self, arriving->stream);
        }
    }
    traffic->ticks = false;
    if (open)
        tick(self);
}

/* Orders of chaos: see chaos_guests. */
static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct traffic *traffic = weft_memory(self);
    struct chaos_load_order order;
    assert_int_equal(size, sizeof order);
    memcpy(&order, bytes, size);
    traffic->running = order.interval_nsec > 0;
    for (unsigned i = 0; i < FLOWS && !traffic->running; i++) {
        struct flow *flow = &traffic->flows[i];
        if (flow->stream && !flow->finished) {
            flow->finished = true;
            (void)weft_stream_finish(self, flow->stream);
        }
    }
    tick(self);
}

static const struct weft_service_ops ops = {.start = start, .timer = timer, .request = request};
static const struct weft_streams streams = {
    .outgoing = FLOWS,
    .incoming = ARRIVINGS,
    .window = 40000,
    .patience = 300000000,
    .opened = opened,
    .arrived = arrived,
    .moved = moved,
    .ended = ended,
};
static const struct weft_service traffic_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "traffic",
    .id = TRAFFIC,
    .size = sizeof(struct traffic),
    .ops = &ops,
    .streams = &streams,
};

/* ---- the checker ---- */

static enum err checker_begin(struct checker *checker, struct why *why)
{
    memset(&all, 0, sizeof all);
    return OK;
}

static void sampled(struct checker *checker, psec at)
{
    if (all.wrong[0])
        checker_fail(checker, "%s", all.wrong);
}

static void phase(struct checker *checker, enum checker_phase now)
{
    sampled(checker, 0);
    for (unsigned i = 0; now == PHASE_QUIET && i < SERVERS; i++)
        if (all.outgoing[i] || all.incoming[i])
            checker_fail(checker, "server %u: %d outgoing and %d incoming streams did not end", i,
                         all.outgoing[i], all.incoming[i]);
}

static const struct checker_ops stream_checker = {
    .name = "streams", .open = checker_begin, .sampled = sampled, .phase = phase};

static const struct weft_service *const services[] = {&traffic_service, NULL};
static const struct checker_ops *const checkers[] = {&stream_checker, NULL};
static const struct chaos_guests guests = {.services = services, .checkers = checkers};

static struct chaos_result run(const struct test_plan *test, uint64_t seed, uint64_t plants)
{
    struct chaos_settings settings = {&test->plan, seed, FAULT_ALL, plants};
    struct chaos_result result;
    assert_int_equal(chaos_run_with(&settings, &guests, &result, NULL), OK);
    return result;
}

static uint64_t seeds = 4;

#ifdef WEFT_PLANTED_BUGS

#define PLANT_SEEDS 20

static void planted_bugs_of_streams_are_found(void **state)
{
    struct test_plan test;
    unsigned tried = 0;
    test_plan_open(&test, "torus:3x3");
    for (unsigned i = 0; i < CHAOS_PLANT_COUNT; i++) {
        const struct chaos_plant *plant = &chaos_plants[i];
        if (strcmp(plant->checker, "streams") != 0)
            continue;
        struct chaos_result found = {0};
        uint64_t seed = 0;
        while (!found.checker && seed < PLANT_SEEDS)
            found = run(&test, ++seed, plant->fault);
        if (!found.checker)
            fail_msg("%s was not found in %d seeds", plant->name, PLANT_SEEDS);
        print_message("# %s: seed %d: %s: %s\n", plant->name, (int)seed, found.checker, found.text);
        assert_string_equal(found.checker, "streams");
        assert_null(run(&test, seed, 0).checker);
        tried++;
    }
    assert_int_equal(tried, 4);
    test_plan_close(&test);
}

#define TESTS TEST(planted_bugs_of_streams_are_found)

#else

static void storms_break_no_promise_of_streams(void **state)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "jellyfish:n=16,degree=4"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct test_plan test;
        uint64_t moves = 0, messages = 0;
        test_plan_open(&test, specs[i]);
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            struct chaos_result result = run(&test, seed, 0);
            if (result.checker)
                fail_msg("%s, seed %d: %s: %s", specs[i], (int)seed, result.checker, result.text);
            moves += all.moved_count;
            messages += all.done_count;
        }
        print_message("# %s: %d seeds, %llu messages, %llu moves\n", specs[i], (int)seeds,
                      (unsigned long long)messages, (unsigned long long)moves);
        assert_true(messages > 100 * seeds && moves > seeds);
        test_plan_close(&test);
    }
}

/* The same seed is the same run. */
static void a_seed_repeats_a_run(void **state)
{
    struct test_plan test;
    test_plan_open(&test, "torus:3x3");
    struct chaos_result first = run(&test, 3, 0), again = run(&test, 3, 0);
    assert_true(first.hash == again.hash);
    assert_true(first.sent == again.sent && first.events == again.events);
    test_plan_close(&test);
}

#define TESTS TEST(storms_break_no_promise_of_streams), TEST(a_seed_repeats_a_run)

#endif

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {TESTS};
    pattern_make();
    if (count > 1)
        seeds = strtoull(words[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
