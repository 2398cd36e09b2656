/* Services that use streams wrongly (weft/stream.h): the calls are refused, counted and named in
 * the server's log, and the server goes on. */

#include <errno.h>
#include <weft/stream.h>

#include "node/node_world.h"

#define MSEC INT64_C(1000000)

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    weft_stream_acknowledge(self, stream,
                            piece->place); /* the service has not set `acknowledges` */
    return piece->size + 1;
}

static struct weft_stream *last; /* a stream that has ended */

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    if (!weft_stream_is_incoming(stream))
        last = stream;
}

static void done(struct weft_self *self, struct weft_call *call)
{
}

static const struct weft_streams streams = {
    .outgoing = 2, .incoming = 2, .arrived = arrived, .ended = ended};

static struct weft_call call, unset;
static struct weft_stream *stream;

/* Request 0 opens a stream and sends; request 1 uses it after its end. */
static void careless(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                     uint32_t size)
{
    if (*(const char *)bytes == '1') {
        assert_int_equal(weft_stream_send(self, last, &call, "x", 1, false), -EINVAL);
        assert_int_equal(weft_stream_finish(self, last), -EINVAL);
        weft_stream_cancel(self, last);
        weft_stream_deadline(self, last, 1);
        return;
    }
    struct weft_key key = weft_key_of("a", 1);
    assert_int_equal(weft_stream_open_server(self, 1, NULL, NULL), -EINVAL);
    assert_int_equal(weft_stream_open_key(self, &key, NULL, NULL), -EINVAL);
    assert_int_equal(weft_stream_open_key(self, NULL, NULL, &stream), -EINVAL);
    assert_int_equal(weft_stream_open_server(self, 1000, NULL, &stream), -EINVAL);
    assert_int_equal(weft_stream_open_server(self, 1, NULL, &stream), 0);
    assert_int_equal(weft_stream_send(self, stream, &unset, "x", 1, false), -EINVAL);
    assert_int_equal(weft_stream_send(self, stream, NULL, "x", 1, false), -EINVAL);
    call.done = done;
    assert_int_equal(weft_stream_send(self, stream, &call, "x", 1, false), 0);
    assert_int_equal(weft_stream_send(self, stream, &call, "x", 1, false), -EINVAL);
    weft_stream_resume(self, stream);
    assert_int_equal(weft_stream_finish(self, stream), 0);
}

/* A service that has declared no streams. */
static void without(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct weft_stream *none = NULL;
    struct weft_key key = weft_key_of("a", 1);
    call.done = done;
    assert_int_equal(weft_stream_open_server(self, 1, NULL, &none), -EINVAL);
    assert_int_equal(weft_stream_open_key(self, &key, NULL, &none), -EINVAL);
    assert_int_equal(weft_stream_send(self, none, &call, "x", 1, false), -EINVAL);
    assert_int_equal(weft_stream_finish(self, none), -EINVAL);
    weft_stream_cancel(self, none);
    weft_stream_resume(self, none);
    weft_stream_acknowledge(self, none, 1);
    weft_stream_deadline(self, none, 1);
}

static const struct weft_service_ops careless_ops = {.request = careless};
static const struct weft_service_ops without_ops = {.request = without};
static const struct weft_service careless_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "careless",
    .id = 300,
    .ops = &careless_ops,
    .streams = &streams,
};
static const struct weft_service without_service = {
    .version = WEFT_SERVICE_VERSION, .name = "without", .id = 301, .ops = &without_ops};
static const struct weft_service *const services[] = {&careless_service, &without_service, NULL};

static void mistakes_with_streams_are_refused_and_counted(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 1000000000);
    world_ask(world, 0, 300, 1, "0", 1);
    world_run(world, 100 * MSEC);
    assert_int_equal(world_number(world, 0, "careless", "mistakes"), 8);
    assert_int_equal(world_number(world, 1, "careless", "mistakes"), 2); /* of arrived() */
    assert_non_null(last);
    world_ask(world, 0, 300, 1, "1", 1);
    assert_int_equal(world_number(world, 0, "careless", "mistakes"), 12);
    world_close(world);
}

static void a_service_without_streams_cannot_use_them(void **state)
{
    struct world *world = world_open_settled("torus:3x3", services, 1000000000);
    world_ask(world, 0, 301, 1, "", 0);
    assert_int_equal(world_number(world, 0, "without", "mistakes"), 8);
    world_run(world, 10 * MSEC);
    world_close(world);
}

static void no_stream_has_no_properties(void **state)
{
    struct weft_key key;
    weft_stream_set_context(NULL, &key);
    assert_null(weft_stream_context(NULL));
    assert_false(weft_stream_is_incoming(NULL));
    assert_int_equal(weft_stream_peer(NULL), WEFT_NOBODY);
    assert_int_equal(weft_stream_subject(NULL), 0);
    assert_int_equal(weft_stream_identity(NULL), 0);
    assert_false(weft_stream_key(NULL, &key));
}

TEST_MAIN(TEST(no_stream_has_no_properties), TEST(mistakes_with_streams_are_refused_and_counted),
          TEST(a_service_without_streams_cannot_use_them))
