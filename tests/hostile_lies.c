/* A peer that is let in, behaves, and then lies about one thing: each lie has one correct answer.
 * hostile.c tries random lies, which rarely reach a check that only one value passes. */
#include "base/bytes.h"
#include "hostile_pair.h"
#include "ripc/message/offer.h"

/* Asserts that the message arrives and its item is refused. */
static void assert_item_refused(struct ripc_service *service)
{
    struct ripc_message message = scene_receive(service);
    assert_int_equal(message.longs[0].status, -EPROTO);
    assert_null(message.longs[0].data);
    ripc_release(&message);
}

/* The client offers a return buffer, and the server opens its pipe back. Returns the number of the
 * offer, which the server received with the message. */
static uint64_t offer_make(struct hostile_pair *pair, size_t size)
{
    const struct iovec buffer = {NULL, size};
    struct ripc_send send = {
        .to = 42, .returns = &buffer, .return_count = 1, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair->client, &send), 0);
    struct ripc_message message = scene_receive(pair->server);
    assert_int_equal(message.return_count, 1);
    ripc_release(&message);
    assert_int_equal(ripc_send(pair->server, 41, "way", 3, scene_deadline()), 0);
    message = scene_receive(pair->client);
    ripc_release(&message);
    size_t cursor = 0;
    const struct offer *offer = id_map_next(&pair->client->offers, &cursor);
    assert_non_null(offer);
    return offer->number;
}

static void returned_forge(struct ripc_service *from, uint64_t number, uint64_t size)
{
    struct message_head head = {.kind = FRAME_MESSAGE, .long_count = 1};
    struct message_table table;
    uint8_t bytes[MESSAGE_TABLE_MAX];
    table.items[0] = (struct message_item){.way = ITEM_RETURNED, .size = size, .number = number};
    ring_forge(from, 41, &head, bytes, message_table_write(&head, &table, bytes));
}

static void an_item_larger_than_its_return_buffer_is_refused(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    uint64_t number = offer_make(&pair, 5000);
    returned_forge(pair.server, number, 5001);
    assert_item_refused(pair.client);
    pair_close(&pair);
}

static void an_item_of_exactly_its_buffers_size_is_accepted(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    uint64_t number = offer_make(&pair, 5000);
    returned_forge(pair.server, number, 5000);
    struct ripc_message message = scene_receive(pair.client);
    assert_int_equal(message.longs[0].status, 0);
    assert_int_equal(message.longs[0].size, 5000);
    assert_true(message.longs[0].returned);
    ripc_release(&message);
    pair_close(&pair);
}

/* The number is random, but another process may have learnt it. */
static void only_the_offered_process_fills_a_return_buffer(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    uint64_t number = offer_make(&pair, 5000);
    struct ripc *elsewhere = scene_open(NULL);
    struct ripc_service *thief = scene_bind(elsewhere, 43);
    assert_int_equal(ripc_send(thief, 41, "hello", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.client);
    ripc_release(&message);
    returned_forge(thief, number, 10);
    assert_item_refused(pair.client);

    returned_forge(pair.server, number, 10); /* the offer is still valid */
    message = scene_receive(pair.client);
    assert_int_equal(message.longs[0].status, 0);
    ripc_release(&message);
    scene_close(elsewhere);
    pair_close(&pair);
}

static void slab_forget(struct peer *peer, uint64_t key)
{
    struct control control = {.kind = SHM_FORGET, .size = sizeof key};
    struct writer out = writer_make(control.body, sizeof control.body);
    write_u64(&out, key);
    assert_int_equal(lifeline_send(peer->line, &control), 0);
}

/* The client revokes the memory of its marks, which no honest client does. If the server then
 * looked for that memory, it would read the client's next messages, and one of them removes the
 * offer that the server is about to take. */
static void an_offer_whose_mark_is_revoked_is_taken_safely(void **state)
{
    struct hostile_pair pair = pair_open(0, RIPC_MANUAL);
    uint64_t number = offer_make(&pair, 5000);
    struct remote *back = id_map_get(&pair.server->remotes, 41);
    uint64_t key = container_of(back->offers.next, struct their_offer, node)->offer.mark.key;
    const struct shm_link *link = (const struct shm_link *)back->link;
    struct remote *forth = id_map_get(&pair.client->remotes, 42);
    assert_true(key);
    lock_take(&pair.here->lock);
    slab_forget(forth->peer, key);
    lock_drop(&pair.here->lock);
    for (int64_t deadline = scene_deadline(); id_map_get(&link->mapped, key);) {
        assert_true(ripc_now() < deadline);
        ripc_progress(pair.there);
    }
    lock_take(&pair.here->lock);
    struct control_words words = {
        .kind = CONTROL_WITHDRAW, .from = 41, .to = 42, .number = number, .item = 1};
    assert_int_equal(peer_say(forth->peer, &words), 0);
    lock_drop(&pair.here->lock);

    void *data = ripc_alloc(pair.there, 5000);
    struct iovec item = {data, 5000};
    struct ripc_send send = {.to = 41, .longs = &item, .long_count = 1, .deadline = RIPC_NOW};
    assert_int_equal(ripc_send_message(pair.server, &send), 0);
    assert_int_equal(back->peer->offer_count, 0);
    struct ripc_message message = scene_receive(pair.client);
    assert_true(message.longs[0].returned);
    assert_int_equal(message.longs[0].status, 0);
    ripc_release(&message);
    assert_int_equal(ripc_free(pair.there, data), 0);
    ripc_progress(pair.there);
    pair_close(&pair);
}

/* The server cannot map the mark. It says that it does not keep the offer, so the client's library
 * frees the buffer, which it has allocated. */
static void an_offer_whose_mark_cannot_be_mapped_is_refused(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    (void)offer_make(&pair, 5000);
    lock_take(&pair.there->lock);
    struct remote *back = id_map_get(&pair.server->remotes, 41);
    uint64_t key = container_of(back->offers.next, struct their_offer, node)->offer.mark.key;
    lock_drop(&pair.there->lock);
    lock_take(&pair.here->lock);
    slab_forget(((struct remote *)id_map_get(&pair.client->remotes, 42))->peer, key);
    lock_drop(&pair.here->lock);
    const struct iovec buffer = {NULL, 5000};
    struct ripc_send send = {
        .to = 42, .returns = &buffer, .return_count = 1, .deadline = scene_deadline()};
    size_t left;
    int64_t deadline = scene_deadline();
    do { /* until the server has handled the revocation */
        assert_true(ripc_now() < deadline);
        lock_take(&pair.there->lock);
        left = id_map_get(&((struct shm_link *)back->link)->mapped, key) != NULL;
        lock_drop(&pair.there->lock);
    } while (left);
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    struct ripc_message message = scene_receive(pair.server);
    ripc_release(&message);
    do { /* until only the first offer is left */
        assert_true(ripc_now() < deadline);
        lock_take(&pair.here->lock);
        left = pair.client->offers.count;
        lock_drop(&pair.here->lock);
    } while (left != 1);
    pair_close(&pair);
}

/* The sizes are read again at each use, from memory that the sender can write. */
static void sizes_that_grow_after_the_check_are_refused(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    const struct iovec pieces[3] = {{"one", 3}, {"three", 5}, {"seven77", 7}};
    struct ripc_send send = {
        .to = 42, .shorts = pieces, .short_count = 3, .deadline = scene_deadline()};
    assert_int_equal(ripc_send_message(pair.client, &send), 0);
    struct ripc_message message = scene_receive(pair.server);
    size_t size;
    assert_memory_equal(ripc_short(&message, 2, &size), "seven77", 7);
    assert_int_equal(size, 7);

    uint8_t *sizes = ring_last_body(ring_to(pair.client, 42)); /* u16 each, high byte first */
    sizes[5] = 8;                                              /* one byte past the end */
    assert_null(ripc_short(&message, 2, &size));
    assert_memory_equal(ripc_short(&message, 1, &size), "three", 5);
    sizes[5] = 0;
    sizes[3] = 13; /* the third begins one byte past the end */
    assert_null(ripc_short(&message, 2, &size));
    sizes[3] = 12; /* ... and exactly at the end */
    assert_non_null(ripc_short(&message, 2, &size));
    assert_int_equal(size, 0);
    sizes[0] = sizes[2] = 0xff;
    assert_null(ripc_short(&message, 1, &size));
    assert_null(ripc_short(&message, 2, &size));
    assert_null(ripc_short(&message, 3, &size)); /* there is no such piece */
    ripc_release(&message);
    pair_close(&pair);
}

static void a_pipe_number_is_used_once(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    struct peer *peer = ((struct remote *)id_map_get(&pair.client->remotes, 42))->peer;
    const struct pipe_ops *ops = peer->links[0]->ops->pipes;
    struct ripc_stats stats = {0};
    lock_take(&pair.here->lock);
    for (unsigned i = 0; i < 2; i++) {
        struct control_words words = {
            .kind = CONTROL_OPEN, .pipe = 4711, .from = 41, .to = 42, .transport = "shm"};
        struct outlet *outlet;
        assert_int_equal(
            ops->outlet_open(peer->links[0], &pair.client->bell, &words.parcel, &outlet), 0);
        assert_int_equal(peer_say(peer, &words), 0);
        parcel_fini(&words.parcel);
        ops->outlet_close(outlet);
    }
    lock_drop(&pair.here->lock);
    for (int64_t deadline = scene_deadline(); stats.protocol_errors == 0;) {
        assert_true(ripc_now() < deadline);
        assert_int_equal(ripc_stats(pair.there, &stats), 0);
    }
    pair_close(&pair);
}

/* A peer cancels, withdraws, answers or settles operations that do not exist: existing ones are not
 * affected. */
static void controls_for_unknown_operations_are_ignored(void **state)
{
    static const enum control_kind kinds[] = {CONTROL_CANCEL, CONTROL_WITHDRAWN, CONTROL_COPIED,
                                              CONTROL_GRANT_ANSWER, CONTROL_GRANT_REVOKED};
    struct hostile_pair pair = pair_open(0, 0);
    struct peer *peer = ((struct remote *)id_map_get(&pair.client->remotes, 42))->peer;
    for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct control_words words = {
            .kind = kinds[i], .pipe = 4711, .from = 41, .to = 42, .number = 4712};
        lock_take(&pair.here->lock);
        assert_int_equal(peer_say(peer, &words), 0);
        lock_drop(&pair.here->lock);
    }
    assert_int_equal(ripc_send(pair.client, 42, "hello", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.server);
    ripc_release(&message);
    pair_close(&pair);
}

/* Notifications go to a hidden service. If an ordinary service accepted a frame that claims to be
 * one, the notice would count it without a check of the handle's service. */
static void a_notification_to_an_ordinary_service_is_dropped(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    struct ripc_notice *notice;
    struct ripc_handle handle;
    uint8_t body[NOTIFY_SIZE];
    assert_int_equal(ripc_notice_open(pair.there, NULL, NULL, &notice, &handle), 0);
    message_notify_write(body, handle.token, 1);
    struct message_head head = {.kind = FRAME_NOTIFY};
    ring_forge(pair.client, 42, &head, body, sizeof body);
    assert_int_equal(ripc_send(pair.client, 42, "hello", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.server);
    assert_int_equal(message.size, 5);
    ripc_release(&message);
    struct ripc_stats stats;
    assert_int_equal(ripc_stats(pair.there, &stats), 0);
    assert_int_equal(stats.dropped_unknown, 1);
    assert_int_equal(stats.protocol_errors, 0);
    assert_int_equal(ripc_notice_wait(notice, NULL, RIPC_NOW), -EAGAIN);
    assert_int_equal(ripc_notice_close(notice), 0);
    pair_close(&pair);
}

/* The client says that it holds the id 43: as a service, or as a member of a group. When the
 * message arrives that it sends afterwards, the server has read that. */
static void claim_forge(struct hostile_pair *pair, bool group)
{
    struct peer *peer = ((struct remote *)id_map_get(&pair->client->remotes, 42))->peer;
    struct control_words words = {
        .kind = CONTROL_NAME,
        .item = NAMES_CLAIM,
        .to = 43,
        .from = group ? 41 : 43,
        .rights = group,
        .number = UINT64_MAX, /* the newest binding of all times */
    };
    lock_take(&pair->here->lock);
    assert_int_equal(peer_say(peer, &words), 0);
    lock_drop(&pair->here->lock);
    struct ripc_service *other = scene_bind(pair->here, 0);
    assert_int_equal(ripc_send(other, 42, "read", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair->server);
    assert_string_equal(message.data, "read");
    ripc_release(&message);
}

/* A service with the id 43 appears and is sent to. A list of a group's members is used for a short
 * time before the sender asks anew, so the first messages may still go to the liar. */
static void assert_service_is_found(struct hostile_pair *pair)
{
    struct ripc *elsewhere = scene_open(NULL);
    struct ripc_service *honest = scene_bind(elsewhere, 43);
    struct ripc_message message;
    int received;
    nsec end = scene_deadline();
    do {
        assert_int_equal(ripc_send(pair->server, 43, "honest", 7, end), 0);
        received = ripc_receive(honest, &message, 1, clock_after(NSEC_PER_SEC / 20));
    } while (received == -ETIMEDOUT && clock_now() < end);
    assert_int_equal(received, 1);
    assert_string_equal(message.data, "honest");
    ripc_release(&message);
    scene_close(elsewhere);
}

static void a_false_claim_to_an_id_does_not_hide_a_service_of_this_host(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    claim_forge(&pair, false);
    assert_service_is_found(&pair);
    pair_close(&pair);
}

/* Neither while the false claim is known, nor afterwards. */
static void a_false_claim_for_a_group_does_not_hide_a_service_of_this_host(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    claim_forge(&pair, true);
    assert_int_equal(ripc_send(pair.server, 43, "liar", 5, scene_deadline()), 0);
    struct ripc_message message = scene_receive(pair.client);
    assert_int_equal(message.to, 43);
    ripc_release(&message);
    assert_service_is_found(&pair);
    claim_forge(&pair, true);
    assert_service_is_found(&pair);
    scene_close(pair.here);
    assert_service_is_found(&pair);
    scene_close(pair.there);
}

static void members_count(void *count, const struct ripc_name *name)
{
    *(unsigned *)count += name->id == 43 && name->group;
}

static void a_false_claim_for_a_group_is_not_listed_beside_a_service_of_this_host(void **state)
{
    struct hostile_pair pair = pair_open(0, 0);
    struct ripc *elsewhere = scene_open(NULL);
    struct ripc_service *honest = scene_bind(elsewhere, 43);
    assert_int_equal(ripc_send(pair.server, 43, "known", 6, scene_deadline()), 0);
    claim_forge(&pair, true);
    unsigned members = 0;
    assert_true(ripc_list(pair.there, members_count, &members) > 0);
    assert_int_equal(members, 0);
    struct ripc_message message = scene_receive(honest);
    assert_string_equal(message.data, "known");
    ripc_release(&message);
    scene_close(elsewhere);
    pair_close(&pair);
}

TEST_MAIN(SCENE(an_item_larger_than_its_return_buffer_is_refused),
          SCENE(an_item_of_exactly_its_buffers_size_is_accepted),
          SCENE(only_the_offered_process_fills_a_return_buffer),
          SCENE(an_offer_whose_mark_is_revoked_is_taken_safely),
          SCENE(an_offer_whose_mark_cannot_be_mapped_is_refused),
          SCENE(sizes_that_grow_after_the_check_are_refused), SCENE(a_pipe_number_is_used_once),
          SCENE(controls_for_unknown_operations_are_ignored),
          SCENE(a_notification_to_an_ordinary_service_is_dropped),
          SCENE(a_false_claim_to_an_id_does_not_hide_a_service_of_this_host),
          SCENE(a_false_claim_for_a_group_does_not_hide_a_service_of_this_host),
          SCENE(a_false_claim_for_a_group_is_not_listed_beside_a_service_of_this_host))
