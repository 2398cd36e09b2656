#include "ripc/message/offer.h"

#include <errno.h>
#include <string.h>

#include "ripc/scene/scene.h"

#define SIZE         20000
#define MESSAGES_MAX 2000 /* each with as many offers as a message has */
#define REFUSALS     100
#define SMALL        16

struct pair {
    struct ripc *here, *there;
    struct ripc_service *client, *server; /* client (41) in here, server (42) in there */
};

static struct pair pair_open(const char *transport, uint32_t here_flags)
{
    struct ripc_config config = {
        .transports = transport, .address = "127.0.0.1", .flags = here_flags};
    struct pair pair = {.here = scene_open(&config)};
    config.flags = 0;
    pair.there = scene_open(&config);
    pair.client = scene_bind(pair.here, 41);
    pair.server = scene_bind(pair.there, 42);
    return pair;
}

static void pair_close(struct pair *pair)
{
    scene_close(pair->here);
    scene_close(pair->there);
}

static void say(struct ripc_service *from, struct ripc_service *to, ripc_id id)
{
    assert_int_equal(ripc_send(from, id, "word", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(to);
    assert_int_equal(message.size, 5);
    ripc_release(&message);
}

/* The only pipe from the client. */
static struct arrival *arrival_of(const struct pair *pair)
{
    assert_false(list_is_empty(&pair->server->arrivals));
    return container_of(pair->server->arrivals.next, struct arrival, service_node);
}

/* Waits until the map of the context has that many entries. */
static void wait_for_count(struct ripc *ripc, const struct id_map *map, size_t count)
{
    size_t found;
    int64_t deadline = scene_deadline();
    do {
        assert_true(ripc_now() < deadline);
        lock_take(&ripc->lock);
        found = map->count;
        lock_drop(&ripc->lock);
    } while (found != count);
}

/* Neither the buffer that was withdrawn before, nor the others remain anywhere. */
static void offers_of_a_dropped_message_end(const char *transport)
{
    struct pair pair = pair_open(transport, 0);
    say(pair.client, pair.server, 42);
    uint8_t *data = ripc_alloc(pair.here, SIZE), *mine = ripc_alloc(pair.here, SIZE);
    struct iovec item = {data, SIZE}, returns[2] = {{mine, SIZE}, {NULL, SIZE}};
    struct ripc_send send = {
        .to = 42,
        .longs = &item,
        .long_count = 1,
        .returns = returns,
        .return_count = 2,
        .deadline = scene_deadline(),
    };
    int64_t operation = ripc_send_message(pair.client, &send);
    assert_true(operation > 0);
    assert_int_equal(ripc_cancel(pair.client, operation, RIPC_NOW), -EAGAIN);
    wait_for_count(pair.there, &arrival_of(&pair)->canceled, 1);
    assert_int_equal(ripc_withdraw(pair.client, mine, scene_deadline()), 0);
    wait_for_count(pair.there, &arrival_of(&pair)->withdrawn, 1);
    say(pair.client, pair.server, 42);
    assert_int_equal(arrival_of(&pair)->withdrawn.count, 0);
    wait_for_count(pair.here, &pair.client->offers, 0);
    assert_int_equal(ripc_wait(pair.client, operation, scene_deadline()), -ECANCELED);
    assert_int_equal(ripc_free(pair.here, data), 0);
    assert_int_equal(ripc_free(pair.here, mine), 0);
    pair_close(&pair);
}

static void offers_of_a_dropped_message_end_over_shm(void **state)
{
    offers_of_a_dropped_message_end("shm");
}

static void offers_of_a_dropped_message_end_over_udp(void **state)
{
    offers_of_a_dropped_message_end("udp");
}

static struct their_offer *their_offer_of(const struct pair *pair)
{
    struct remote *remote = id_map_get(&pair->server->remotes, 41);
    assert_false(list_is_empty(&remote->offers));
    return container_of(remote->offers.next, struct their_offer, node);
}

/* The server cannot write into the buffer: it lets the client pull the item, and gives up the
 * offer. */
static void an_offer_that_is_given_up_can_be_withdrawn(const char *transport)
{
    struct pair pair = pair_open(transport, 0);
    uint8_t *mine = ripc_alloc(pair.here, SIZE), *data = ripc_alloc(pair.there, SIZE);
    struct iovec returns[2] = {{mine, SIZE}, {NULL, SIZE}}, item = {data, SIZE};
    struct ripc_send send = {
        .to = 42, .returns = returns, .return_count = 2, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    struct ripc_message message = scene_receive(pair.server);
    ripc_release(&message);
    lock_take(&pair.there->lock);
    struct their_offer *first = their_offer_of(&pair);
    first->offer.memory.key += 1000;
    container_of(first->node.next, struct their_offer, node)->offer.memory.key += 1000;
    lock_drop(&pair.there->lock);
    struct ripc_send back = {
        .to = 41, .longs = &item, .long_count = 1, .deadline = scene_deadline()};
    int64_t operation = ripc_send_message(pair.server, &back);
    assert_true(operation > 0);
    message = scene_receive(pair.client);
    assert_false(message.longs[0].returned);
    ripc_release(&message);
    assert_int_equal(ripc_wait(pair.server, operation, scene_deadline()), -ENOBUFS);
    assert_int_equal(ripc_withdraw(pair.client, mine, scene_deadline()), 0);
    wait_for_count(pair.here, &pair.client->offers, 0);
    assert_int_equal(ripc_free(pair.here, mine), 0);
    assert_int_equal(ripc_free(pair.there, data), 0);
    pair_close(&pair);
}

static void an_offer_that_is_given_up_can_be_withdrawn_over_shm(void **state)
{
    an_offer_that_is_given_up_can_be_withdrawn("shm");
}

static void an_offer_that_is_given_up_can_be_withdrawn_over_udp(void **state)
{
    an_offer_that_is_given_up_can_be_withdrawn("udp");
}

/* Sends as many offers as fit into a message, and the server receives them. */
static void offer_many(struct pair *pair, uint8_t *buffers)
{
    struct iovec returns[RIPC_ITEM_MAX];
    for (unsigned i = 0; i < RIPC_ITEM_MAX; i++)
        returns[i] = (struct iovec){buffers + (size_t)i * SMALL, SMALL};
    struct ripc_send send = {
        .to = 42, .returns = returns, .return_count = RIPC_ITEM_MAX, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair->client, &send), 0);
    struct ripc_message message = scene_receive(pair->server);
    assert_int_equal(message.return_count, RIPC_ITEM_MAX);
    ripc_release(&message);
}

/* The server keeps some offers and refuses the others, until no more refusals fit into the
 * connection. It does not cut off the client, and answers when the client asks. */
static void a_client_that_reads_no_refusals_stays_connected(void **state)
{
    struct pair pair = pair_open("shm", RIPC_MANUAL);
    size_t step = (size_t)RIPC_ITEM_MAX * SMALL;
    uint8_t *buffers = ripc_alloc(pair.here, MESSAGES_MAX * step);
    unsigned sent = 0;
    size_t refused;
    assert_non_null(buffers);
    do {
        assert_true(sent < MESSAGES_MAX);
        offer_many(&pair, buffers + sent++ * step);
        lock_take(&pair.there->lock);
        refused = arrival_of(&pair)->refused.count;
        lock_drop(&pair.there->lock);
    } while (refused < REFUSALS);
    for (size_t i = 0; i < sent * step; i += SMALL)
        assert_int_equal(ripc_withdraw(pair.client, buffers + i, scene_deadline()), 0);
    wait_for_count(pair.there, &arrival_of(&pair)->refused, 0);
    assert_int_equal(ripc_free(pair.here, buffers), 0);
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(pair.there, &stats), 0);
    assert_int_equal(stats.protocol_errors, 0);
    pair_close(&pair);
}

TEST_MAIN(SCENE(offers_of_a_dropped_message_end_over_shm),
          SCENE(offers_of_a_dropped_message_end_over_udp),
          SCENE(an_offer_that_is_given_up_can_be_withdrawn_over_shm),
          SCENE(an_offer_that_is_given_up_can_be_withdrawn_over_udp),
          SCENE(a_client_that_reads_no_refusals_stays_connected))
