/* Tests both ends of a cable, in one process and in two. The packets are raw: their headers are not
 * read. */
#include "os/cable/cable.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/list.h"
#include "base/rng.h"
#include "base/test.h"
#include "node/core/egress.h"
#include "node/stream/segment.h"
#include "os/cable/cable_scene.h"
#include "transport/transport.h"

/* The timeout of a failing test, long enough for a busy machine. */
#define PATIENCE_NSEC (120 * NSEC_PER_SEC)

/* One end: server 3 port 1, or server 8 port 5. */
struct end {
    struct lock lock;
    struct poller *poller;
    struct doorbell bell;
    struct packets *packets;
    struct cables *cables;
    struct port *port;
    bool carrier;
    unsigned changes;
};

static void on_carrier(void *owner, uint32_t server, uint32_t number, bool on)
{
    struct end *end = owner;
    assert_int_equal(server, end->port->server);
    assert_int_equal(number, end->port->number);
    assert_int_not_equal(on, end->carrier);
    end->carrier = on;
    end->changes++;
}

static void end_open(struct end *end, const struct transport_ops *transport, bool lower)
{
    static const struct cable_plan plans[] = {{8, 5, 3, 1}, {3, 1, 8, 5}};
    struct why why;
    *end = (struct end){0};
    assert_int_equal(poller_open(&end->poller, &end->lock), 0);
    assert_int_equal(doorbell_open(&end->bell), 0);
    assert_int_equal(packets_open(&end->packets, 600, &why), OK);
    struct cables_config config = {
        .transport = transport,
        .folder = folder,
        .address = "127.0.0.1",
        .poller = end->poller,
        .bell = &end->bell,
        .packets = end->packets,
        .events = {.carrier = on_carrier, .owner = end},
    };
    assert_int_equal(cables_open(&end->cables, &config, &why), 0);
    assert_int_equal(cables_listen(end->cables, plans[lower].server, &why), 0);
    assert_int_equal(cables_add(end->cables, &plans[lower], &end->port, &why), 0);
}

static void end_close(struct end *end)
{
    end->port->ops->close(end->port);
    cables_close(end->cables);
    packets_close(end->packets);
    doorbell_close(&end->bell);
    poller_close(end->poller);
}

static enum port_news end_step(struct end *end)
{
    cables_arm(end->cables);
    poller_step(end->poller, 0);
    return end->port->ops->poll(end->port);
}

/* Like end_step, at an end to which no process writes meanwhile: waiting() must not miss what
 * poll() finds. */
static enum port_news end_glance_and_step(struct end *end)
{
    bool waiting = end->port->ops->waiting(end->port);
    enum port_news news = end_step(end);
    assert_true(waiting || news != PORT_NEWS);
    return news;
}

static void wait_carrier(struct end *end, struct end *other, bool on)
{
    nsec until = clock_after(PATIENCE_NSEC);
    while (end->carrier != on || (other && other->carrier != on)) {
        assert_true(clock_now() < until);
        end_step(end);
        if (other)
            end_step(other);
    }
}

/* A packet whose bytes are derived from its number. */
static struct packet *packet_make(struct end *end, uint32_t number, uint32_t payload)
{
    struct packet *packet = packet_take(packets_pool(end->packets), PACKET_HEADER_SIZE + payload);
    assert_non_null(packet);
    memset(packet->bytes, 0, PACKET_HEADER_SIZE);
    packet->bytes[6] = (uint8_t)(payload >> 8);
    packet->bytes[7] = (uint8_t)payload;
    memcpy(packet->bytes + 8, &number, sizeof number);
    for (uint32_t i = 0; i < payload; i++)
        packet_payload(packet)[i] = (uint8_t)(number + i * 7);
    packet->hops = 5;
    packet->hops_left = 9;
    return packet;
}

static void packet_verify(const struct packet *packet, uint32_t number, uint32_t payload)
{
    assert_int_equal(packet->size, PACKET_HEADER_SIZE + payload);
    assert_int_equal(packet->stored, packet->size);
    assert_memory_equal(packet->bytes + 8, &number, sizeof number);
    assert_int_equal(packet->bytes[4], 9); /* as transmit sealed them */
    assert_int_equal(packet->bytes[5], 5);
    for (uint32_t i = 0; i < payload; i++)
        assert_int_equal(packet_payload(packet)[i], (uint8_t)(number + i * 7));
}

static uint32_t payload_of(uint32_t number)
{
    struct rng rng = rng_make(77, number);
    return rng_below(&rng, 4) ? (uint32_t)rng_below(&rng, 200)
                              : (uint32_t)rng_below(&rng, PACKET_PAYLOAD_MAX + 1);
}

/* Sends packets from *sent on, as many as one frame takes. */
static void frame_send(struct end *end, uint32_t *sent, uint32_t limit)
{
    struct packet *frame[EGRESS_FRAME_MAX];
    uint32_t room = port_room(end->port) ? PACKET_SIZE_MAX : 0;
    unsigned count = 0;
    while (count < EGRESS_FRAME_MAX && *sent < limit &&
           PACKET_HEADER_SIZE + payload_of(*sent) <= room) {
        frame[count] = packet_make(end, *sent, payload_of(*sent));
        room -= frame[count++]->size;
        ++*sent;
    }
    if (count)
        assert_true(port_transmit(end->port, frame, count, false));
}

/* All packets arrive once, in order and intact, while some are kept for long, so that rings fill up
 * and loans have to be settled. */
static void stream(const struct transport_ops *transport)
{
    enum { LIMIT = 6000, KEPT = 200 };
    struct end lower, upper;
    struct packet *kept[KEPT], *got[32];
    uint32_t sent = 0, received = 0, kept_count = 0, checked = 0;
    end_open(&lower, transport, true);
    end_open(&upper, transport, false);
    cables_call(lower.cables);
    cables_call(upper.cables);
    wait_carrier(&lower, &upper, true);
    nsec until = clock_after(PATIENCE_NSEC);
    while (checked < LIMIT) {
        assert_true(clock_now() < until);
        frame_send(&lower, &sent, LIMIT);
        end_step(&lower);
        end_glance_and_step(&upper);
        unsigned most = KEPT - kept_count < 32 ? KEPT - kept_count : 32;
        unsigned count = upper.port->ops->receive(upper.port, got, most);
        for (unsigned i = 0; i < count; i++)
            kept[kept_count++] = got[i];
        received += count;
        if (received % 3 == 0)
            upper.port->ops->settle(upper.port);
        if (kept_count < KEPT && received < LIMIT)
            continue;
        for (unsigned i = 0; i < kept_count; i++) {
            assert_int_equal(kept[i]->port_in, 5);
            packet_verify(kept[i], checked, payload_of(checked));
            packet_done(kept[i]);
            checked++;
        }
        kept_count = 0;
    }
    assert_int_equal(sent, LIMIT);
    assert_int_equal(packets_pool(upper.packets)->live, 0);
    end_close(&lower);
    wait_carrier(&upper, NULL, false);
    assert_int_equal(upper.changes, 2);
    end_close(&upper);
}

static void packets_arrive_in_order_over_shm(void **state)
{
    stream(&transport_shm);
}

static void packets_arrive_in_order_over_udp(void **state)
{
    stream(&transport_udp);
}

/* Packets on loan stay valid when the other end goes. */
static void held_packets_survive_the_link(void **state)
{
    struct end lower, upper;
    struct packet *got[8];
    uint32_t sent = 0;
    end_open(&lower, &transport_shm, true);
    end_open(&upper, &transport_shm, false);
    cables_call(upper.cables);
    wait_carrier(&lower, &upper, true);
    frame_send(&upper, &sent, 3);
    frame_send(&upper, &sent, 4);
    assert_int_equal(sent, 4);
    end_close(&upper);
    nsec until = clock_after(PATIENCE_NSEC);
    unsigned count = 0;
    while (lower.carrier || count < 4) { /* packets sent before the end are received, too */
        assert_true(clock_now() < until);
        end_step(&lower);
        count += lower.port->ops->receive(lower.port, got + count, 8 - count);
    }
    for (uint32_t i = 0; i < 4; i++) {
        packet_verify(got[i], i, payload_of(i));
        packet_done(got[i]);
    }
    assert_true(port_room(lower.port));
    struct packet *packet = packet_make(&lower, sent, payload_of(sent));
    assert_false(port_transmit(lower.port, &packet, 1, false)); /* no neighbour */
    packet_done(packet);
    end_close(&lower);
}

static void hollow_packets_travel_as_zeroes(void **state)
{
    struct end lower, upper;
    end_open(&lower, &transport_shm, true);
    end_open(&upper, &transport_shm, false);
    cables_call(lower.cables);
    wait_carrier(&lower, &upper, true);
    struct packet *packet = packet_make(&lower, 6, 2000), *got[2];
    packet->stored = PACKET_HEADER_SIZE + 8;
    assert_true(port_transmit(lower.port, &packet, 1, true));
    assert_int_equal(end_step(&upper), PORT_LAZY);
    assert_int_equal(upper.port->ops->receive(upper.port, got, 2), 1);
    assert_int_equal(got[0]->stored, PACKET_HEADER_SIZE + 2000);
    for (uint32_t i = 0; i < 2000; i++)
        assert_int_equal(packet_payload(got[0])[i], i < 8 ? (uint8_t)(6 + i * 7) : 0);
    packet_done(got[0]);
    end_close(&upper);
    wait_carrier(&lower, NULL, false);
    end_close(&lower);
}

/* A hello may wait until its receiver has one to send; frames after it may not. */
/* A packet of a stream whose bytes are in the memory of a service. */
static struct packet *piece_make(struct end *end, const uint8_t *bytes, uint32_t size,
                                 uint64_t *digest)
{
    struct packet *packet = packet_make(end, size, SEGMENT_DATA_HEAD + size);
    const struct segment segment = {
        .kind = SEGMENT_DATA, .flags = SEGMENT_LAST, .sequence = 5, .check = 6, .size = size};
    segment_write(&segment, packet_payload(packet));
    packet->stored = PACKET_HEADER_SIZE + SEGMENT_DATA_HEAD;
    packet->piece = bytes;
    packet->digest = digest;
    return packet;
}

static void piece_verify(const struct packet *packet, const uint8_t *bytes, uint32_t size,
                         uint64_t digest)
{
    struct segment segment;
    assert_true(digest == digest_bytes(bytes, size));
    assert_true(segment_read(&segment, packet_payload(packet), packet->size - PACKET_HEADER_SIZE));
    assert_int_equal(segment.size, size);
    assert_memory_equal(segment.bytes, bytes, size);
    assert_true(segment.check == segment_check_add(6, digest));
}

/* Pieces of all sizes travel with right checks, beside packets that have none. */
static void pieces_travel(const struct transport_ops *transport)
{
    static uint8_t bytes[SEGMENT_BYTES_MAX];
    struct end lower, upper;
    struct packet *got[3];
    end_open(&lower, transport, true);
    end_open(&upper, transport, false);
    cables_call(lower.cables);
    cables_call(upper.cables);
    wait_carrier(&lower, &upper, true);
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 11 + (i >> 8));
    nsec until = clock_after(PATIENCE_NSEC);
    for (uint32_t size = 1; size <= SEGMENT_BYTES_MAX; size += size < 100 ? 1 : 397) {
        uint64_t digests[2] = {0};
        unsigned count = 0, all = size < 2500 ? 3 : 1; /* what fits into a frame */
        struct packet *frame[3] = {piece_make(&lower, bytes, size, &digests[0])};
        if (all == 3) {
            frame[1] = packet_make(&lower, 3, 77);
            frame[2] = piece_make(&lower, bytes + 1, 2 * size, &digests[1]);
        }
        while (!port_room(lower.port))
            end_step(&lower);
        assert_true(port_transmit(lower.port, frame, all, false));
        while (count < all) {
            assert_true(clock_now() < until);
            end_step(&lower);
            end_step(&upper);
            count += upper.port->ops->receive(upper.port, got + count, all - count);
        }
        piece_verify(got[0], bytes, size, digests[0]);
        if (all == 3) {
            packet_verify(got[1], 3, 77);
            piece_verify(got[2], bytes + 1, 2 * size, digests[1]);
        }
        while (count)
            packet_done(got[--count]);
    }
    end_close(&upper);
    wait_carrier(&lower, NULL, false);
    end_close(&lower);
}

static void pieces_travel_over_shm(void **state)
{
    pieces_travel(cables_transport("shm"));
}

static void pieces_travel_over_udp(void **state)
{
    pieces_travel(cables_transport("udp"));
}

static void lazy_frames_do_not_hide_others(void **state)
{
    struct end lower, upper;
    struct packet *got[32];
    end_open(&lower, &transport_shm, true);
    end_open(&upper, &transport_shm, false);
    cables_call(lower.cables);
    wait_carrier(&lower, &upper, true);
    for (uint32_t i = 0; i < 40; i++) {
        struct packet *packet = packet_make(&lower, i, 10);
        assert_true(port_transmit(lower.port, &packet, 1, i % 20 != 19));
        assert_int_equal(end_glance_and_step(&upper), i % 20 < 16 ? PORT_LAZY : PORT_NEWS);
        if (i % 20 != 19)
            continue;
        unsigned count = upper.port->ops->receive(upper.port, got, 32);
        assert_int_equal(count, 20);
        for (unsigned k = 0; k < count; k++) {
            packet_verify(got[k], i - 19 + k, 10);
            packet_done(got[k]);
        }
        assert_false(upper.port->ops->waiting(upper.port));
    }
    end_close(&lower);
    wait_carrier(&upper, NULL, false);
    end_close(&upper);
}

static void waiting_reports_unread_packets(void **state)
{
    struct end lower, upper;
    struct packet *got;
    end_open(&lower, &transport_shm, true);
    end_open(&upper, &transport_shm, false);
    cables_call(lower.cables);
    wait_carrier(&lower, &upper, true);
    assert_false(upper.port->ops->waiting(upper.port));
    for (uint32_t sent = 0; sent < 6; sent += 2) { /* three frames of two */
        struct packet *pair[2] = {packet_make(&lower, sent, 10), packet_make(&lower, sent + 1, 10)};
        assert_true(port_transmit(lower.port, pair, 2, false));
    }
    end_step(&upper);
    for (uint32_t i = 0; i < 6; i++) {
        assert_true(upper.port->ops->waiting(upper.port));
        assert_int_equal(upper.port->ops->receive(upper.port, &got, 1), 1);
        packet_verify(got, i, 10);
        packet_done(got);
    }
    assert_false(upper.port->ops->waiting(upper.port));
    end_close(&lower);
    wait_carrier(&upper, NULL, false);
    assert_false(upper.port->ops->waiting(upper.port));
    end_close(&upper);
}

/* Sends all packets back, until it is killed. */
static _Noreturn void echo_run(const struct transport_ops *transport, bool lower)
{
    struct end end;
    end_open(&end, transport, lower);
    cables_call(end.cables);
    for (;;) {
        struct packet *got[32];
        end_step(&end);
        unsigned count = end.port->ops->receive(end.port, got, 1);
        if (count)
            assert_true(port_transmit(end.port, got, count, false));
        else
            poller_step(end.poller, clock_after(100 * 1000));
    }
}

/* The peer, in both roles, is killed while it works and started again: the carrier shows this, and
 * the link works again. */
static void kill_and_revive(const struct transport_ops *transport)
{
    for (unsigned round = 0; round < 6; round++) {
        bool lower = round % 2;
        struct end end;
        uint32_t sent = 0;
        end_open(&end, transport, lower);
        cables_call(end.cables);
        for (unsigned life = 0; life < 3; life++) {
            pid_t pid = fork();
            assert_true(pid >= 0);
            if (pid == 0)
                echo_run(transport, !lower);
            wait_carrier(&end, NULL, true);
            struct packet *got[4];
            unsigned echoes = 0;
            nsec until = clock_after(PATIENCE_NSEC);
            for (uint32_t base = sent; echoes < 20;) {
                assert_true(clock_now() < until);
                frame_send(&end, &sent, base + 40);
                end_step(&end);
                unsigned count = end.port->ops->receive(end.port, got, 4);
                for (unsigned i = 0; i < count; i++, echoes++)
                    packet_done(got[i]);
            }
            kill(pid, SIGKILL);
            assert_int_equal(waitpid(pid, NULL, 0), pid);
            nsec patience = clock_after(PATIENCE_NSEC);
            while (end.carrier) {
                assert_true(clock_now() < patience);
                end_step(&end);
                unsigned count = end.port->ops->receive(end.port, got, 4);
                for (unsigned i = 0; i < count; i++)
                    packet_done(got[i]);
            }
        }
        assert_int_equal(end.changes, 6);
        end_close(&end);
        /* The next process would remove the files of the killed one, but here none follows. */
        char path[128];
        snprintf(path, sizeof path, "%s/socket.%016x", folder, lower ? 9 : 4);
        unlink(path);
        snprintf(path, sizeof path, "%s/context.%016x", folder, lower ? 9 : 4);
        unlink(path);
    }
}

static void a_killed_peer_is_noticed_and_comes_back_over_shm(void **state)
{
    kill_and_revive(&transport_shm);
}

static void a_killed_peer_is_noticed_and_comes_back_over_udp(void **state)
{
    kill_and_revive(&transport_udp);
}

/* A malformed frame is one packet that its reader refuses, never a read beyond the frame. */
static void malformed_packets_stay_within_their_frame(void **state)
{
    struct end lower, upper;
    end_open(&lower, &transport_shm, true);
    end_open(&upper, &transport_shm, false);
    cables_call(lower.cables);
    wait_carrier(&lower, &upper, true);
    for (uint32_t size = PACKET_HEADER_SIZE; size < PACKET_HEADER_SIZE + 90; size++) {
        struct packet *packet = packet_make(&lower, 1, size - PACKET_HEADER_SIZE), *got[8];
        packet->bytes[6] = 0x7f; /* claims to be longer than its frame */
        assert_true(port_transmit(lower.port, &packet, 1, false));
        end_step(&upper);
        assert_int_equal(upper.port->ops->receive(upper.port, got, 8), 1);
        assert_int_equal(got[0]->stored, size);
        packet_done(got[0]);
        packet = packet_make(&lower, 1, size - PACKET_HEADER_SIZE);
        if (size >= PACKET_HEADER_SIZE + 8) {
            packet->bytes[7] = (uint8_t)(size - PACKET_HEADER_SIZE - 8); /* a rest of 8 bytes */
            assert_true(port_transmit(lower.port, &packet, 1, false));
            end_step(&upper);
            assert_int_equal(upper.port->ops->receive(upper.port, got, 8), 2);
            assert_int_equal(got[1]->stored, 8);
            packet_done(got[0]);
            packet_done(got[1]);
        } else {
            packet_done(packet);
        }
    }
    end_close(&lower);
    wait_carrier(&upper, NULL, false);
    end_close(&upper);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

TEST_MAIN(SCENE_TEST(packets_arrive_in_order_over_shm), SCENE_TEST(pieces_travel_over_shm),
          SCENE_TEST(pieces_travel_over_udp), SCENE_TEST(packets_arrive_in_order_over_udp),
          SCENE_TEST(held_packets_survive_the_link), SCENE_TEST(hollow_packets_travel_as_zeroes),
          SCENE_TEST(a_killed_peer_is_noticed_and_comes_back_over_shm),
          SCENE_TEST(a_killed_peer_is_noticed_and_comes_back_over_udp),
          SCENE_TEST(lazy_frames_do_not_hide_others), SCENE_TEST(waiting_reports_unread_packets),
          SCENE_TEST(malformed_packets_stay_within_their_frame))
