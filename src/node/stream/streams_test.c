/* Checks streams against a model: whatever the network does, the receiver gets the messages whole
 * and in order, each once, and the sender learns exactly what the receiver acknowledged. */
#include "node/stream/streams_world.h"

static const struct weft_streams usual = {.outgoing = 64, .incoming = 64, .window = 100000};

static void assert_finished(const struct net *net, const struct net_sender *sender)
{
    assert_int_equal(sender->reason, WEFT_STREAM_FINISHED);
    assert_int_equal(sender->done, sender->wanted);
    assert_int_equal(sender->failed, 0);
    for (uint32_t i = 0; i < sender->wanted; i++)
        assert_true(net->complete[sender->subject][i] >= 1);
}

static void assert_each_once(const struct net *net, const struct net_sender *sender)
{
    for (uint32_t i = 0; i < sender->wanted; i++)
        assert_int_equal(net->complete[sender->subject][i], 1);
}

static void messages_of_all_sizes_arrive_in_order(void **state)
{
    struct net *net = net_open(1, &usual);
    for (node_id to = 0; to < NET_SERVERS; to++)
        net_stream(net, 0, to, false, 40, NULL); /* also to itself */
    net_run(net, 2000 * MSEC);
    for (uint32_t i = 0; i < NET_SERVERS; i++) {
        assert_finished(net, &net->senders[i]);
        assert_each_once(net, &net->senders[i]);
    }
    /* Without losses nothing is sent twice, and only what is for the server itself is copied. */
    assert_int_equal(streams_count(net->servers[0].streams)->resent, 0);
    uint64_t here = 0;
    for (uint32_t i = 0; i < 40; i++)
        here += net_size(0, i) / 4000 + 1;
    assert_true(net->copied > 0 && net->copied <= here);
    assert_int_equal(streams_live(net->servers[0].streams), 0);
    net_close(net);
}

/* Packets overtake each other by many round trips, but none is lost: no packet is sent twice. */
static void other_orders_are_not_taken_for_losses(void **state)
{
    struct net *net = net_open(2, &usual);
    net->delay = MSEC;
    net->jitter = MSEC / 3;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 5000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    assert_int_equal(streams_count(net->servers[0].streams)->resent, 0);
    net_close(net);
}

/* A seed decides everything: how bad the network is, and what the services do. */
static void storm(uint64_t seed)
{
    struct rng rng = rng_make(seed, 7);
    struct weft_streams settings = usual;
    settings.window = 1u << (12 + rng_below(&rng, 10));
    settings.acknowledges = rng_below(&rng, 2);
    settings.target = seed % 2 ? net_target : NULL;
    struct net *net = net_open(seed, &settings);
    net->loss = (uint32_t)rng_below(&rng, 200);
    net->repeat = (uint32_t)rng_below(&rng, 200);
    net->damage = (uint32_t)rng_below(&rng, 50);
    net->stall = (uint32_t)rng_below(&rng, 200);
    net->jitter = (env_nsec)rng_below(&rng, 2 * MSEC);
    for (unsigned i = 0; i < 12; i++)
        net_stream(net, (node_id)rng_below(&rng, NET_SERVERS),
                   (node_id)rng_below(&rng, NET_SERVERS), false, (uint32_t)rng_below(&rng, 30),
                   NULL);
    for (unsigned i = 0; i < 20; i++) {
        net_run(net, 50 * MSEC);
        for (node_id id = 0; id < NET_SERVERS; id++)
            streams_check(net->servers[id].streams);
    }
    net->loss = net->repeat = net->damage = net->stall = 0;
    net_run(net, 60000 * MSEC);
    for (uint32_t i = 0; i < net->sender_count; i++) {
        assert_finished(net, &net->senders[i]);
        assert_each_once(net, &net->senders[i]);
    }
    assert_int_equal(net->opened_in, net->ended_in);
    for (node_id id = 0; id < NET_SERVERS; id++)
        assert_int_equal(streams_live(net->servers[id].streams), 0);
    net_close(net);
}

static void storms_lose_repeat_and_damage_no_message(void **state)
{
    for (uint64_t seed = 1; seed <= 24; seed++)
        storm(seed);
}

/* A damaged packet is written into the memory of the service before its check is known. */
static void damaged_packets_spoil_no_byte_that_was_received(void **state)
{
    struct weft_streams settings = usual;
    settings.target = net_target;
    struct net *net = net_open(18, &settings);
    net->damage = net->repeat = 300;
    net->jitter = MSEC / 4;
    net->stall = 50;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 60000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    assert_true(streams_count(net->servers[1].streams)->damaged > 50);
    assert_true(net->targeted > 100);
    net_close(net);
}

/* The bytes of a packet are digested by the port that sends it. If none does, the stream digests
 * them itself before it needs the check of the message. */
static void packets_that_no_port_took_are_in_the_check_of_the_message(void **state)
{
    struct net *net = net_open(20, &usual);
    net->unsent = 100;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 60000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    assert_true(streams_count(net->servers[0].streams)->resent > 20);
    net_close(net);
}

/* The same bytes arrive without a copy of the service, whether or not they come in order. */
static void pieces_arrive_where_the_service_wants_them(void **state)
{
    struct weft_streams settings = usual;
    settings.target = net_target;
    struct net *net = net_open(19, &settings);
    net->loss = 20;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 20000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    assert_true(net->targeted > streams_count(net->servers[1].streams)->received / 2);
    net_close(net);
}

/* Servers restart at any moment; streams end, and none survives at the other end. */
static void storm_of_restarts(uint64_t seed)
{
    struct rng rng = rng_make(seed, 8);
    struct weft_streams settings = usual;
    settings.patience = 3000 * MSEC;
    struct net *net = net_open(seed, &settings);
    net->loss = net->repeat = 50;
    net->jitter = MSEC;
    for (unsigned i = 0; i < 40; i++) {
        for (unsigned more = 0; more < 3; more++)
            net_stream(net, (node_id)rng_below(&rng, NET_SERVERS),
                       (node_id)rng_below(&rng, NET_SERVERS), false, (uint32_t)rng_below(&rng, 20),
                       NULL);
        net_run(net, (env_nsec)rng_below(&rng, 30) * MSEC);
        node_id id = (node_id)rng_below(&rng, NET_SERVERS);
        net_crash(net, id);
        net_start(net, id);
    }
    net->loss = net->repeat = 0;
    net_run(net, 20000 * MSEC);
    for (uint32_t i = 0; i < net->sender_count; i++) {
        const struct net_sender *sender = &net->senders[i];
        assert_true(sender->reason == WEFT_STREAM_FINISHED ||
                    sender->reason == WEFT_STREAM_RESTARTED ||
                    sender->reason == WEFT_STREAM_UNREACHABLE ||
                    sender->reason == WEFT_STREAM_FULL || sender->reason == UINT32_MAX);
        if (sender->reason == WEFT_STREAM_FINISHED)
            assert_finished(net, sender);
        for (uint32_t message = 0; message < sender->wanted; message++)
            assert_true(net->complete[i][message] <= 1); /* bound to one run: never twice */
    }
    for (node_id id = 0; id < NET_SERVERS; id++)
        assert_int_equal(streams_live(net->servers[id].streams), 0);
    net_close(net);
}

static void a_restart_ends_streams_and_none_is_left(void **state)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        storm_of_restarts(seed);
}

static void an_idle_stream_learns_that_its_peer_restarted(void **state)
{
    struct net *net = net_open(3, &usual);
    const struct net_sender *sender = net_stream(net, 0, 1, false, 0, NULL);
    net_run(net, 100 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_FINISHED); /* of no messages */
    struct weft_stream *stream;
    assert_int_equal(streams_open(net->servers[0].streams, 1, NULL, NULL, &stream), 0);
    struct net_sender *idle = &net->senders[net->sender_count++];
    *idle = (struct net_sender){.subject = 1, .stream = stream};
    weft_stream_set_context(stream, idle);
    net_run(net, 100 * MSEC);
    net_crash(net, 1);
    net_start(net, 1);
    net_run(net, 2000 * MSEC);
    assert_int_equal(idle->reason, WEFT_STREAM_RESTARTED);
    net_close(net);
}

/* A server that restarts numbers its streams anew, but no two have the same identity. */
static void a_restarted_server_gives_new_identities(void **state)
{
    struct net *net = net_open(18, &usual);
    struct weft_stream *stream;
    assert_int_equal(streams_open(net->servers[0].streams, 1, NULL, NULL, &stream), 0);
    uint64_t identity = weft_stream_identity(stream);
    net_crash(net, 0);
    net_start(net, 0);
    assert_int_equal(streams_open(net->servers[0].streams, 1, NULL, NULL, &stream), 0);
    assert_true(weft_stream_identity(stream) != identity);
    net_close(net);
}

static void a_silent_peer_ends_streams_at_both_ends(void **state)
{
    struct weft_streams settings = usual;
    settings.patience = 500 * MSEC;
    struct net *net = net_open(4, &settings);
    net->packet_time = MSEC;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 50 * MSEC);
    assert_int_equal(sender->reason, 0);
    net->cut[1] = true;
    net_run(net, 400 * MSEC);
    assert_int_equal(sender->reason, 0);
    net_run(net, 300 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_UNREACHABLE);
    assert_int_equal(sender->done + sender->failed, sender->sent);
    assert_true(sender->failed > 0);
    assert_int_equal(net->ended_in, 1);
    assert_int_equal(streams_live(net->servers[1].streams), 0);
    net_close(net);
}

static void a_short_silence_ends_no_stream(void **state)
{
    struct net *net = net_open(5, &usual);
    net->packet_time = MSEC;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 50 * MSEC);
    net->cut[1] = true;
    net_run(net, 5000 * MSEC);
    net->cut[1] = false;
    net_run(net, 20000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    net_close(net);
}

static void a_deadline_ends_a_stream_at_both_ends(void **state)
{
    struct net *net = net_open(6, &usual);
    net->packet_time = 10 * MSEC;
    struct net_sender *sender = net_stream(
        net, 0, 1, false, 60, &(struct weft_stream_options){.deadline = net->now + 100 * MSEC});
    net_run(net, 90 * MSEC);
    assert_int_equal(sender->reason, 0);
    assert_int_equal(net->opened_in, 1);
    net_run(net, 20 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_DEADLINE);
    assert_int_equal(net->ended_in, 1);
    net_close(net);
}

static void a_cancelled_stream_ends_at_both_ends(void **state)
{
    struct net *net = net_open(7, &usual);
    net->packet_time = 10 * MSEC;
    net->loss = 0;
    struct net_sender *sender = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 90 * MSEC);
    streams_cancel(net->servers[0].streams, sender->stream);
    assert_int_equal(sender->reason, 0); /* not from inside the call */
    net->cut[1] = true;                  /* the END is lost */
    net_run(net, MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_CANCELLED);
    net->cut[1] = false;
    net_run(net, 2500 * MSEC); /* the receiver probes, and gets END */
    assert_int_equal(net->ended_in, 1);
    net_close(net);
}

/* A receiver that takes nothing stops its own stream, keeps a window, and no other stream waits. */
static void a_receiver_that_takes_nothing_stops_only_its_own_stream(void **state)
{
    struct net *net = net_open(8, &usual);
    net->stall = 1000;
    net->hold = true;
    struct net_sender *stopped = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 100 * MSEC);
    assert_true(net->stalled);
    net->stall = 0;
    const struct streams *streams = net->servers[1].streams;
    const struct weft_stream *stream = &streams->streams[net->settings.outgoing];
    assert_true(stream->state == STREAM_OPEN && stream->in.stalled);
    uint64_t before = net->bytes_of[stopped->subject];
    struct net_sender *other = net_stream(net, 0, 1, false, 60, NULL);
    net_run(net, 3000 * MSEC);
    assert_finished(net, other);
    assert_int_equal(net->bytes_of[stopped->subject], before);
    assert_int_equal(stopped->reason, 0);
    assert_true(stream->in.assembly.kept > 0 && stream->in.assembly.kept <= streams->window);
    net->hold = false;
    net_run(net, 3000 * MSEC);
    assert_finished(net, stopped);
    assert_each_once(net, stopped);
    net_close(net);
}

/* ---- keys ---- */

static const struct weft_stream_options moving = {.moves = true};

static void a_stream_moves_to_the_new_root(void **state)
{
    struct net *net = net_open(9, &usual);
    net->packet_time = MSEC;
    net->root = 1;
    struct net_sender *sender = net_stream(net, 0, NODE_NONE, true, 60, &moving);
    net_run(net, 100 * MSEC);
    uint32_t done = sender->done;
    assert_true(done > 0 && done < 60);
    net_crash(net, 1);
    net_start(net, 1);
    net->root = 2;
    for (node_id id = 0; id < NET_SERVERS; id++)
        streams_routes(net->servers[id].streams);
    net_run(net, 5000 * MSEC);
    assert_int_equal(sender->moved, 1);
    assert_true(sender->moved_messages >= done);
    assert_finished(net, sender);
    net_close(net);
}

static void a_stream_that_may_not_move_ends(void **state)
{
    struct net *net = net_open(10, &usual);
    net->packet_time = MSEC;
    net->root = 1;
    struct net_sender *sender = net_stream(net, 0, NODE_NONE, true, 60, NULL);
    net_run(net, 100 * MSEC);
    net->root = 2;
    streams_routes(net->servers[0].streams);
    net_run(net, 100 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_MOVED);
    assert_int_equal(net->ended_in, 1);
    net_close(net);
}

/* The sender does not see the change, but the old root does: it delivers nothing more. */
static void a_server_that_is_no_longer_the_root_delivers_nothing(void **state)
{
    struct net *net = net_open(11, &usual);
    net->packet_time = MSEC;
    net->root = 1;
    struct net_sender *sender = net_stream(net, 0, NODE_NONE, true, 60, &moving);
    net_run(net, 100 * MSEC);
    net->root = 2;
    uint64_t before = streams_count(net->servers[1].streams)->received;
    net_run(net, 5000 * MSEC);
    assert_int_equal(streams_count(net->servers[1].streams)->received, before);
    assert_int_equal(sender->moved, 1);
    assert_finished(net, sender);
    net_close(net);
}

/* Roots change and restart at random: what was acknowledged was received by some root, whole. */
static void storm_of_roots(uint64_t seed)
{
    struct rng rng = rng_make(seed, 9);
    struct net *net = net_open(seed, &usual);
    net->loss = net->repeat = 30;
    net->jitter = MSEC;
    net->stall = (uint32_t)rng_below(&rng, 100);
    net->root = 1;
    for (unsigned i = 0; i < 6; i++)
        net_stream(net, 0, NODE_NONE, true, 40, &moving);
    for (unsigned i = 0; i < 25; i++) {
        net_run(net, (env_nsec)rng_below(&rng, 30) * MSEC);
        node_id last = net->root;
        if (last != 0 && rng_below(&rng, 2)) {
            net_crash(net, last);
            net_start(net, last);
        }
        net->root = (node_id)rng_below(&rng, NET_SERVERS);
        for (node_id id = 0; id < NET_SERVERS; id++)
            if (rng_below(&rng, 2))
                streams_routes(net->servers[id].streams);
    }
    net->loss = net->repeat = net->stall = 0;
    net_run(net, 30000 * MSEC);
    for (uint32_t i = 0; i < net->sender_count; i++)
        assert_finished(net, &net->senders[i]);
    for (node_id id = 0; id < NET_SERVERS; id++)
        assert_int_equal(streams_live(net->servers[id].streams), 0);
    net_close(net);
}

static void storms_of_roots_lose_no_message(void **state)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        storm_of_roots(seed);
}

/* ---- shares ---- */

static void shares_follow_the_weights(void **state)
{
    struct net *net = net_open(12, &usual);
    net->packet_time = MSEC;
    net->loss = 10;
    struct net_sender *senders[4];
    for (uint16_t i = 0; i < 4; i++)
        senders[i] = net_stream(net, 0, 1 + i % 3, false, NET_MESSAGES,
                                &(struct weft_stream_options){.weight = (uint16_t)(i + 1)});
    net_run(net, 300 * MSEC);
    uint64_t whole = 0;
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(senders[i]->reason, 0);
        whole += net->bytes_of[i];
    }
    for (unsigned i = 0; i < 4; i++)
        assert_within((double)net->bytes_of[i] * 10 / (double)whole, i + 1, 0.05 * (i + 1));
    net_close(net);
}

/* ---- mistakes ---- */

/* The last call was refused for a reason with that word. */
static void assert_mistake(struct net *net, const char *word)
{
    assert_int_equal(net->mistakes, 1);
    assert_non_null(strstr(net->mistake, word));
    net->mistakes = 0;
}

static void wrong_calls_are_refused(void **state)
{
    struct weft_streams settings = usual;
    settings.outgoing = 1;
    struct net *net = net_open(13, &settings);
    struct streams *streams = net->servers[0].streams;
    struct weft_stream *stream, *second;
    struct weft_call call = {.done = net_done}, none = {0};
    assert_int_equal(streams_open(streams, NET_SERVERS, NULL, NULL, &stream), -EINVAL);
    assert_mistake(net, "no such server");
    assert_int_equal(streams_open(streams, 1, NULL, NULL, &stream), 0);
    assert_int_equal(streams_open(streams, 1, NULL, NULL, &second), -ENOBUFS);
    assert_int_equal(streams_send(streams, stream, &none, "x", 1, false), -EINVAL);
    assert_mistake(net, "no done()");
    assert_int_equal(streams_send(streams, stream, &call, "", 0, true), -EINVAL);
    assert_mistake(net, "at least one byte");
    assert_int_equal(streams_send(streams, stream, &call, NULL, 1, false), -EINVAL);
    assert_mistake(net, "no such bytes");
    assert_int_equal(streams_send(streams, stream, &call, "x", UINT64_MAX, false), -EINVAL);
    assert_mistake(net, "no such bytes");
    assert_int_equal(streams_send(streams, (void *)net, &call, "x", 1, false), -EINVAL);
    assert_mistake(net, "no such stream");
    streams_resume(streams, stream);
    assert_mistake(net, "outgoing");
    streams_acknowledge(streams, stream, 1);
    assert_mistake(net, "outgoing");
    assert_int_equal(streams_finish(streams, stream), 0);
    assert_int_equal(streams_finish(streams, stream), -EPIPE);
    assert_int_equal(streams_send(streams, stream, &call, "x", 1, false), -EPIPE);
    struct net_sender *sender = &net->senders[net->sender_count++];
    *sender = (struct net_sender){.stream = stream};
    weft_stream_set_context(stream, sender);
    net_run(net, 100 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_FINISHED);
    assert_int_equal(streams_finish(streams, stream), -EINVAL); /* ended() was called */
    assert_mistake(net, "has ended");
    settings = (struct weft_streams){.incoming = 1};
    assert_non_null(streams_refused(&settings)); /* no arrived() */
    settings = (struct weft_streams){.outgoing = STREAMS_MAX + 1};
    assert_non_null(streams_refused(&settings));
    settings = (struct weft_streams){0};
    assert_non_null(streams_refused(&settings));
    net_close(net);
}

static void a_call_under_way_is_refused(void **state)
{
    struct net *net = net_open(15, &usual);
    struct streams *streams = net->servers[0].streams;
    net_stream(net, 0, 1, false, 1, NULL); /* net_done counts its message, which is 0 */
    struct net_sender *sender = &net->senders[0];
    struct weft_call *call = &sender->letters[0].call;
    struct weft_stream *other;
    assert_int_equal(streams_open(streams, 1, NULL, NULL, &other), 0);
    assert_int_equal(streams_send(streams, other, call, "x", 1, false), -EINVAL);
    assert_mistake(net, "under way");
    streams_cancel(streams, other);
    struct net_sender *cancelled = &net->senders[net->sender_count++];
    *cancelled = (struct net_sender){.stream = other, .subject = 1};
    weft_stream_set_context(other, cancelled);
    net_run(net, 1000 * MSEC);
    assert_finished(net, sender);
    assert_int_equal(cancelled->reason, WEFT_STREAM_CANCELLED);
    net_close(net);
}

/* A service may acknowledge a message from inside arrived(), before it has returned. */
static void a_service_acknowledges_from_inside_arrived(void **state)
{
    struct weft_streams settings = usual;
    settings.acknowledges = true;
    struct net *net = net_open(16, &settings);
    net->at_once = true;
    struct net_sender *sender = net_stream(net, 0, 1, false, 30, NULL);
    net_run(net, 3000 * MSEC);
    assert_finished(net, sender);
    assert_each_once(net, sender);
    assert_int_equal(net->mistakes, 0);
    net_close(net);
}

/* Thousands of streams from one server are opened, also by repeated OPENs, in time that does not
 * grow with their number; each is accepted once. */
static void many_streams_are_accepted_once(void **state)
{
    struct weft_streams settings = {.outgoing = 400, .incoming = 400, .window = 1};
    struct net *net = net_open(17, &settings);
    net->loss = net->repeat = 300;
    for (unsigned i = 0; i < 400; i++)
        net_stream(net, 0, 1, false, 1, NULL);
    net_run(net, 2000 * MSEC);
    net->loss = 0;
    net_run(net, 60000 * MSEC);
    for (uint32_t i = 0; i < net->sender_count; i++) {
        assert_finished(net, &net->senders[i]);
        assert_each_once(net, &net->senders[i]);
    }
    assert_int_equal(streams_live(net->servers[1].streams), 0);
    for (uint32_t i = 0; i <= net->servers[1].streams->bucket_mask; i++)
        assert_int_equal(net->servers[1].streams->buckets[i], STREAM_NOTHING);
    net_close(net);
}

/* Memory that changes while it is sent is found by the check of the message. */
static void a_message_that_changes_while_it_is_sent_is_not_delivered(void **state)
{
    struct net *net = net_open(14, &usual);
    net->packet_time = MSEC;
    net->loss = 300;
    net->unchecked = true;
    struct net_sender *sender = net_stream(net, 0, 1, false, NET_MESSAGES, NULL);
    for (unsigned i = 0; i < 3000 && !sender->reason; i++) {
        net_run(net, MSEC / 2);
        const struct stream_outgoing *out = sender->stream ? &sender->stream->out : NULL;
        if (!out || !out->cut || !out->transit.lost)
            continue;
        /* A segment that was lost will be sent again, with other bytes. */
        for (uint64_t at = out->transit.base; at < out->transit.next; at++) {
            const struct transit_segment *segment =
                &out->transit.segments[at & (out->transit.window - 1)];
            if (segment->state == TRANSIT_LOST && segment->call && segment->size)
                memset((uint8_t *)stream_call_of(segment->call)->bytes + segment->offset, 0x55,
                       segment->size);
        }
        break;
    }
    net_run(net, 5000 * MSEC);
    assert_int_equal(sender->reason, WEFT_STREAM_DAMAGED);
    assert_int_equal(net->ended_in, 1);
    assert_int_equal(net->complete[0][sender->done], 0);
    net_close(net);
}

static void reasons_have_names(void **state)
{
    for (unsigned i = WEFT_STREAM_FINISHED; i <= WEFT_STREAM_LOST; i++)
        assert_true(strlen(weft_stream_reason((enum weft_stream_reason)i)) > 2);
    assert_string_equal(weft_stream_reason((enum weft_stream_reason)0), "?");
    assert_string_equal(weft_stream_reason((enum weft_stream_reason)99), "?");
}

TEST_MAIN(TEST(messages_of_all_sizes_arrive_in_order), TEST(other_orders_are_not_taken_for_losses),
          TEST(storms_lose_repeat_and_damage_no_message),
          TEST(damaged_packets_spoil_no_byte_that_was_received),
          TEST(packets_that_no_port_took_are_in_the_check_of_the_message),
          TEST(pieces_arrive_where_the_service_wants_them),
          TEST(a_restart_ends_streams_and_none_is_left),
          TEST(an_idle_stream_learns_that_its_peer_restarted),
          TEST(a_restarted_server_gives_new_identities),
          TEST(a_silent_peer_ends_streams_at_both_ends), TEST(a_short_silence_ends_no_stream),
          TEST(a_deadline_ends_a_stream_at_both_ends), TEST(a_cancelled_stream_ends_at_both_ends),
          TEST(a_receiver_that_takes_nothing_stops_only_its_own_stream),
          TEST(a_stream_moves_to_the_new_root), TEST(a_stream_that_may_not_move_ends),
          TEST(a_server_that_is_no_longer_the_root_delivers_nothing),
          TEST(storms_of_roots_lose_no_message), TEST(shares_follow_the_weights),
          TEST(wrong_calls_are_refused), TEST(a_call_under_way_is_refused),
          TEST(a_service_acknowledges_from_inside_arrived), TEST(many_streams_are_accepted_once),
          TEST(a_message_that_changes_while_it_is_sent_is_not_delivered), TEST(reasons_have_names))
