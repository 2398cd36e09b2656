/* A service that opens very many streams at once (weft/stream.h): none of its packets is dropped,
 * although its queue has room for few of them. */

#include <string.h>
#include <weft/stream.h>

#include "node/node_world.h"

#define MSEC    INT64_C(1000000)
#define SERVICE 300
#define STREAMS 2000

static struct weft_call calls[STREAMS];
static unsigned done_count, arrived_count;

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    arrived_count += piece->last;
    return piece->size;
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    assert_int_equal(reason, WEFT_STREAM_FINISHED);
}

static void done(struct weft_self *self, struct weft_call *call)
{
    assert_int_equal(call->result, 0);
    done_count++;
}

/* Opens all streams to the server of the request, and sends a message by each. */
static void open_all(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                     uint32_t size)
{
    weft_server to = *(const uint8_t *)bytes;
    for (unsigned i = 0; i < STREAMS; i++) {
        struct weft_stream *stream;
        calls[i] = (struct weft_call){.done = done};
        assert_int_equal(weft_stream_open_server(self, to, NULL, &stream), 0);
        assert_int_equal(weft_stream_send(self, stream, &calls[i], "letter", 6, false), 0);
        assert_int_equal(weft_stream_finish(self, stream), 0);
    }
}

static const struct weft_streams streams = {
    .outgoing = STREAMS, .incoming = STREAMS, .window = 9000, .arrived = arrived, .ended = ended};
static const struct weft_service_ops ops = {.request = open_all};
static const struct weft_service service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "crowd",
    .id = SERVICE,
    .ops = &ops,
    .streams = &streams,
};
static const struct weft_service *const services[] = {&service, NULL};

static void streams_opened_at_once_drop_nothing(node_id to)
{
    struct world *world = world_open_settled("torus:3", services, 1000000000);
    struct node_snapshot snapshot;
    const char number[] = {(char)to};
    done_count = arrived_count = 0;
    world_ask(world, 0, SERVICE, 1, number, sizeof number);
    for (unsigned turn = 0; turn < 1000 && done_count < STREAMS; turn++)
        world_run(world, 10 * MSEC);
    assert_int_equal(done_count, STREAMS);
    assert_int_equal(arrived_count, STREAMS);
    for (node_id id = 0; id < 3; id++) {
        node_snapshot(world->nodes[id].node, &snapshot);
        for (unsigned reason = 0; reason < DROP_COUNT; reason++)
            assert_int_equal(snapshot.drops[reason], 0);
    }
    world_close(world);
}

static void streams_to_another_server_drop_nothing(void **state)
{
    streams_opened_at_once_drop_nothing(1);
}

static void streams_to_the_own_server_drop_nothing(void **state)
{
    streams_opened_at_once_drop_nothing(0);
}

TEST_MAIN(TEST(streams_to_another_server_drop_nothing),
          TEST(streams_to_the_own_server_drop_nothing))
