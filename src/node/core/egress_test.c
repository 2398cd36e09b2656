/* Checks the shares of a port that services with an endless supply get, and the frames. */

#include "node/core/egress.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"

#define SERVICES   8
#define PORTS      4
#define PER_SOURCE 400

/* Services that always have packets for each port: some with a queue, some that are polled. */
struct crowd {
    struct egress *egress;
    unsigned service_count, port_count;
    struct rng rng;
    uint32_t size_min[SERVICES], size_max[SERVICES];
    uint32_t weight[SERVICES];
    bool own[SERVICES];
    uint32_t next_size[SERVICES][PORTS]; /* of a polled service: the size of its next packet */
    struct packet packets[SERVICES][PER_SOURCE];
    struct packet *idle[SERVICES]; /* linked by next */
    struct queue *queues[SERVICES];
    uint64_t sent[PORTS][SERVICES]; /* bytes */
    uint64_t rounds[PORTS];         /* rounds that service 0 has begun */
    unsigned turn[PORTS];           /* the service that sent last */
    bool fair;
};

struct asked {
    struct crowd *crowd;
    unsigned service;
};

static uint32_t random_size(struct crowd *crowd, unsigned service)
{
    uint32_t span = crowd->size_max[service] - crowd->size_min[service] + 1;
    return crowd->size_min[service] + (uint32_t)rng_below(&crowd->rng, span);
}

static struct packet *crowd_packet(struct crowd *crowd, unsigned service, uint32_t size)
{
    struct packet *packet = crowd->idle[service];
    crowd->idle[service] = packet->next;
    *packet = (struct packet){.size = size, .slot = (uint8_t)service};
    return packet;
}

static struct packet *crowd_poll(void *service, unsigned port, uint32_t room)
{
    struct asked *asked = service;
    struct crowd *crowd = asked->crowd;
    uint32_t size = crowd->next_size[asked->service][port];
    if (size > room)
        return NULL;
    crowd->next_size[asked->service][port] = random_size(crowd, asked->service);
    return crowd_packet(crowd, asked->service, size);
}

/* Keeps a packet for each port, and many for any of some ports: more than a frame takes. */
static void crowd_refill(struct crowd *crowd, unsigned service)
{
    struct queue *queue = crowd->queues[service];
    while (!crowd->own[service] && queue_packets(queue) < PER_SOURCE * 3 / 4) {
        port_set all = (1u << crowd->port_count) - 1;
        port_set ports = (port_set)rng_next(&crowd->rng) & all;
        port_set missing = all;
        for (unsigned port = 0; port < crowd->port_count; port++)
            if (queue_peek(queue, port))
                missing &= ~(1u << port);
        struct packet *packet = crowd_packet(crowd, service, random_size(crowd, service));
        packet->ports = missing ? missing & -missing : (ports ? ports : all);
        assert_null(egress_push(crowd->egress, service, packet));
    }
}

static void crowd_open(struct crowd *crowd, struct asked *asked, uint64_t seed, bool aggregate)
{
    *crowd = (struct crowd){.rng = rng_make(seed, 1), .fair = true};
    struct rng *rng = &crowd->rng;
    crowd->service_count = 2 + (unsigned)rng_below(rng, SERVICES - 1);
    crowd->port_count = 1 + (unsigned)rng_below(rng, PORTS);
    size_t size = egress_size(crowd->port_count, SERVICES);
    crowd->egress = egress_init(aligned_alloc(8, size), crowd->port_count, SERVICES, aggregate);
    struct queue_limits limits = {QUEUE_FIFO, PER_SOURCE, UINT32_MAX, crowd->port_count};
    for (unsigned i = 0; i < crowd->service_count; i++) {
        crowd->size_min[i] = 40 + (uint32_t)rng_below(rng, PACKET_SIZE_MAX - 40);
        crowd->size_max[i] = rng_below(rng, 2) ? PACKET_SIZE_MAX : crowd->size_min[i];
        crowd->size_min[i] = rng_below(rng, 2) ? 40 : crowd->size_min[i];
        crowd->weight[i] = 1 + (uint32_t)rng_below(rng, 8);
        crowd->own[i] = rng_below(rng, 3) == 0;
        for (unsigned n = 0; n < PER_SOURCE; n++) {
            crowd->packets[i][n].next = crowd->idle[i];
            crowd->idle[i] = &crowd->packets[i][n];
        }
        for (unsigned port = 0; port < PORTS; port++)
            crowd->next_size[i][port] = random_size(crowd, i);
        crowd->queues[i] = queue_init(aligned_alloc(64, queue_size(&limits)), &limits);
        asked[i] = (struct asked){crowd, i};
        struct egress_source source = {
            .queue = crowd->queues[i],
            .poll = crowd_poll,
            .service = &asked[i],
            .weight = crowd->weight[i],
        };
        assert_int_equal(egress_add(crowd->egress, &source), i);
        if (crowd->own[i])
            egress_wake(crowd->egress, i, (1u << crowd->port_count) - 1);
        crowd_refill(crowd, i);
    }
    for (unsigned port = 0; port < PORTS; port++)
        crowd->turn[port] = SERVICES;
}

static void crowd_close(struct crowd *crowd)
{
    for (unsigned i = 0; i < crowd->service_count; i++) {
        egress_empty(crowd->egress, i);
        free(crowd->queues[i]);
    }
    free(crowd->egress);
}

/* The fluid share after n rounds is n times the quantum times the weight. When service 0's turn
 * comes again, every service has sent its fluid share and at most one packet more. */
static void check_at_round(struct crowd *crowd, unsigned port)
{
    for (unsigned i = 0; i < crowd->service_count; i++) {
        uint64_t fluid = crowd->rounds[port] * PACKET_SIZE_MAX * crowd->weight[i];
        uint64_t sent = crowd->sent[port][i];
        crowd->fair = crowd->fair && sent >= fluid && sent < fluid + PACKET_SIZE_MAX;
    }
}

/* At any moment the bytes of two services, divided by their weights, differ by at most one quantum
 * and one packet each. */
static void check_pairs(struct crowd *crowd, unsigned port)
{
    for (unsigned i = 0; i < crowd->service_count; i++) {
        for (unsigned j = 0; j < crowd->service_count; j++) {
            uint64_t wi = crowd->weight[i], wj = crowd->weight[j];
            uint64_t one = crowd->sent[port][i] * wj, other = crowd->sent[port][j] * wi;
            uint64_t bound = PACKET_SIZE_MAX * (wi * wj + wi + wj);
            crowd->fair = crowd->fair && one <= other + bound;
        }
    }
}

static void crowd_frame(struct crowd *crowd, unsigned port)
{
    struct packet *out[EGRESS_FRAME_MAX];
    uint32_t room = PACKET_SIZE_MAX + (uint32_t)rng_below(&crowd->rng, 30000);
    unsigned count = egress_frame(crowd->egress, port, room, out);
    assert_in_range(count, 1, EGRESS_FRAME_MAX);
    uint32_t bytes = 0;
    for (unsigned n = 0; n < count; n++) {
        unsigned service = out[n]->slot;
        if (service == 0 && crowd->turn[port] != 0) {
            if (crowd->turn[port] != SERVICES)
                crowd->rounds[port]++;
            check_at_round(crowd, port);
        }
        crowd->turn[port] = service;
        crowd->sent[port][service] += out[n]->size;
        bytes += out[n]->size;
        out[n]->next = crowd->idle[service];
        crowd->idle[service] = out[n];
        check_pairs(crowd, port);
    }
    assert_true(bytes <= room);
    for (unsigned i = 0; i < crowd->service_count; i++)
        crowd_refill(crowd, i);
    egress_check(crowd->egress);
}

/* Returns whether the services share that many frames fairly. */
static bool crowd_is_fair(uint64_t seed, bool aggregate, uint32_t skips, unsigned frames)
{
    static struct crowd crowd;
    struct asked asked[SERVICES];
    crowd_open(&crowd, asked, seed, aggregate);
    egress_fault_skips(crowd.egress, skips);
    for (unsigned step = 0; step < frames && crowd.fair; step++)
        crowd_frame(&crowd, (unsigned)rng_below(&crowd.rng, crowd.port_count));
    crowd_close(&crowd);
    return crowd.fair;
}

static void shares_match_the_fluid_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        assert_true(crowd_is_fair(seed, seed % 2, 0, 1000));
    }
}

static void a_round_that_skips_a_service_is_detected(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        print_message("# seed %llu\n", (unsigned long long)seed);
        assert_false(crowd_is_fair(seed, seed % 2, 8, 20000));
    }
}

/* ---- small cases ---- */

#define FEW 200

struct pair {
    struct egress *egress;
    struct queue *queues[2];
    struct packet packets[FEW];
    unsigned used;
};

static void pair_open(struct pair *pair, bool aggregate, uint32_t weight)
{
    struct queue_limits limits = {QUEUE_FIFO, FEW, UINT32_MAX, 2};
    pair->egress = egress_init(aligned_alloc(8, egress_size(2, 2)), 2, 2, aggregate);
    pair->used = 0;
    for (unsigned i = 0; i < 2; i++) {
        pair->queues[i] = queue_init(aligned_alloc(64, queue_size(&limits)), &limits);
        struct egress_source source = {.queue = pair->queues[i], .weight = i ? weight : 1};
        egress_add(pair->egress, &source);
    }
}

static void pair_close(struct pair *pair)
{
    for (unsigned i = 0; i < 2; i++) {
        egress_empty(pair->egress, i);
        free(pair->queues[i]);
    }
    free(pair->egress);
}

static void pair_push(struct pair *pair, unsigned slot, port_set ports, uint32_t size)
{
    struct packet *packet = &pair->packets[pair->used++];
    *packet = (struct packet){.size = size, .ports = ports, .slot = (uint8_t)slot};
    assert_null(egress_push(pair->egress, slot, packet));
    egress_check(pair->egress);
}

static void a_frame_holds_several_services_in_order(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, true, 1);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned slot = 0; slot < 2; slot++)
            pair_push(&pair, slot, 1, 100 + 10 * i);
    assert_int_equal(egress_ports(pair.egress), 1);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 0);
    assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 6);
    unsigned first = out[0]->slot;
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(out[i]->slot, i < 3 ? first : 1 - first);
        assert_int_equal(out[i]->size, 100 + 10 * (i % 3));
    }
    assert_int_equal(egress_ports(pair.egress), 0);
    pair_close(&pair);
}

static void a_frame_is_bounded_by_bytes_and_packets(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, true, 1);
    for (unsigned i = 0; i < 100; i++)
        pair_push(&pair, 0, 2, 64);
    assert_int_equal(egress_frame(pair.egress, 1, 64 * 5 + 63, out), 5);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 95);
    for (unsigned i = 0; i < 99; i++)
        pair_push(&pair, 0, 2, 64);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), EGRESS_FRAME_MAX);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 3);
    pair_close(&pair);

    pair_open(&pair, true, 1);
    pair_push(&pair, 0, 2, PACKET_HEADER_SIZE); /* the smallest packet */
    assert_int_equal(egress_frame(pair.egress, 1, PACKET_HEADER_SIZE - 1, out), 0);
    assert_int_equal(egress_frame(pair.egress, 1, PACKET_HEADER_SIZE, out), 1);
    pair_close(&pair);

    pair_open(&pair, false, 1);
    pair_push(&pair, 0, 2, 64);
    pair_push(&pair, 0, 2, 64);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 1);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 1);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 0);
    pair_close(&pair);
}

static void a_quantum_used_to_the_last_byte_does_not_end_the_frame(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, true, 1);
    pair_push(&pair, 0, 1, PACKET_SIZE_MAX - 100);
    pair_push(&pair, 0, 1, 100);
    pair_push(&pair, 0, 1, 64);
    assert_int_equal(egress_frame(pair.egress, 0, PACKET_SIZE_MAX - 100, out), 1);
    pair_push(&pair, 1, 1, 65);
    assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 3);
    assert_int_equal(out[0]->size, 100);
    assert_int_equal(out[1]->size, 65);
    assert_int_equal(out[2]->size, 64);
    pair_close(&pair);
}

/* A packet that does not fit ends the frame, and no small packet overtakes it. */
static void a_packet_that_does_not_fit_comes_next(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, true, 1);
    pair_push(&pair, 0, 1, 8900);
    pair_push(&pair, 0, 1, 40);
    pair_push(&pair, 1, 1, 40);
    assert_int_equal(egress_frame(pair.egress, 0, 8000, out), 0);
    assert_int_equal(egress_frame(pair.egress, 0, 8940, out), 2);
    assert_int_equal(out[0]->size, 8900);
    assert_int_equal(egress_frame(pair.egress, 0, 8940, out), 1);
    pair_close(&pair);
}

/* A service that was idle has saved nothing: its turn is one quantum. */
static void an_idle_service_loses_the_rest_of_its_quantum(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, false, 1);
    for (unsigned i = 0; i < 40; i++)
        pair_push(&pair, 0, 1, 4470);
    for (unsigned visit = 0; visit < 5; visit++) {
        pair_push(&pair, 1, 1, 40); /* it loses the rest of its quantum */
        bool sent = false;
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 1);
            sent = sent || out[0]->slot == 1;
        }
        assert_true(sent);
    }
    for (unsigned i = 0; i < 10; i++)
        pair_push(&pair, 1, 1, 4470);
    unsigned run = 0;
    for (unsigned i = 0; i < 12; i++) {
        assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 1);
        run = out[0]->slot == 1 ? run + 1 : 0;
        assert_true(run <= 2);
    }
    pair_close(&pair);
}

/* A debt is kept, so that a service cannot gain by going idle at the right moment. */
static void an_idle_service_keeps_its_debt(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, false, 1);
    uint64_t sent[2] = {0};
    for (unsigned round = 0; round < 15; round++) {
        pair_push(&pair, 1, 1, 8900);
        pair_push(&pair, 1, 1, 8940);
        for (unsigned i = 0; i < 5; i++)
            pair_push(&pair, 0, 1, 8940);
        while (queue_packets(pair.queues[1]) && queue_packets(pair.queues[0])) {
            assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 1);
            sent[out[0]->slot] += out[0]->size;
        }
    }
    assert_true(sent[1] <= sent[0] + 2 * PACKET_SIZE_MAX);
    pair_close(&pair);
}

/* A packet that leaves by one port is no longer available to the other. */
static void a_packet_leaves_by_the_first_port_that_asks(void **state)
{
    (void)state;
    struct pair pair;
    struct packet *out[EGRESS_FRAME_MAX];
    pair_open(&pair, true, 3);
    pair_push(&pair, 0, 3, 500);
    pair_push(&pair, 1, 3, 500);
    assert_int_equal(egress_ports(pair.egress), 3);
    assert_int_equal(egress_frame(pair.egress, 1, 9000, out), 2);
    assert_int_equal(egress_ports(pair.egress), 0);
    egress_check(pair.egress);
    assert_int_equal(egress_frame(pair.egress, 0, 9000, out), 0);
    pair_push(&pair, 1, 3, 500);
    assert_non_null(egress_empty(pair.egress, 1));
    assert_int_equal(egress_ports(pair.egress), 0);
    pair_close(&pair);
}

struct sleeper {
    unsigned asked, waiting;
    struct packet packets[8];
};

static struct packet *sleeper_poll(void *service, unsigned port, uint32_t room)
{
    struct sleeper *sleeper = service;
    (void)port;
    sleeper->asked++;
    return sleeper->waiting && room >= 100 ? &sleeper->packets[--sleeper->waiting] : NULL;
}

/* A service with its own queue is polled after egress_wake, until it has nothing. */
static void a_polled_service_sleeps_until_it_is_woken(void **state)
{
    (void)state;
    struct sleeper sleeper = {.waiting = 3};
    struct packet *out[EGRESS_FRAME_MAX];
    for (unsigned i = 0; i < 8; i++)
        sleeper.packets[i] = (struct packet){.size = 100};
    struct egress *egress = egress_init(aligned_alloc(8, egress_size(2, 1)), 2, 1, true);
    struct queue_limits limits = {QUEUE_FIFO, 8, UINT32_MAX, 2};
    struct queue *queue = queue_init(aligned_alloc(64, queue_size(&limits)), &limits);
    struct egress_source source = {
        .queue = queue, .poll = sleeper_poll, .service = &sleeper, .weight = 1};
    egress_add(egress, &source);
    assert_int_equal(egress_frame(egress, 1, 9000, out), 0);
    assert_int_equal(sleeper.asked, 0);
    egress_wake(egress, 0, 2);
    assert_int_equal(egress_ports(egress), 2);
    assert_int_equal(egress_frame(egress, 1, 9000, out), 3);
    egress_check(egress);
    assert_int_equal(egress_ports(egress), 2); /* it refused only a small rest of room */
    assert_int_equal(egress_frame(egress, 1, 9000, out), 0);
    assert_int_equal(egress_ports(egress), 0);
    assert_int_equal(sleeper.asked, 5);
    assert_int_equal(egress_frame(egress, 1, 9000, out), 0);
    assert_int_equal(sleeper.asked, 5);
    egress_check(egress);
    assert_null(egress_empty(egress, 0));

    /* Packets that pass go first and do not wake the service; its own packets come after. */
    struct packet passing = {.size = 60, .ports = 2};
    assert_null(egress_push(egress, 0, &passing));
    assert_int_equal(egress_frame(egress, 1, 9000, out), 1);
    assert_int_equal(sleeper.asked, 5);
    sleeper.waiting = 1;
    egress_wake(egress, 0, 2);
    assert_null(egress_push(egress, 0, &passing));
    egress_check(egress);
    assert_int_equal(egress_frame(egress, 1, 9000, out), 2);
    assert_ptr_equal(out[0], &passing);
    free(queue);
    free(egress);
}

/* The same for a polled service: the next packet is that of the other service. */
static void a_polled_quantum_used_to_the_last_byte_ends_the_turn(void **state)
{
    (void)state;
    struct sleeper sleeper = {.waiting = 3};
    struct packet *out[EGRESS_FRAME_MAX], other = {.size = 64, .ports = 1};
    for (unsigned i = 0; i < 3; i++)
        sleeper.packets[i] = (struct packet){.size = i ? PACKET_SIZE_MAX / 2 : 64};
    static_assert(PACKET_SIZE_MAX % 2 == 0, "two halves make a quantum");
    struct egress *egress = egress_init(aligned_alloc(8, egress_size(1, 2)), 1, 2, true);
    struct queue_limits limits = {QUEUE_FIFO, 8, UINT32_MAX, 1};
    struct queue *queues[2];
    for (unsigned i = 0; i < 2; i++) {
        queues[i] = queue_init(aligned_alloc(64, queue_size(&limits)), &limits);
        struct egress_source source = {
            .queue = queues[i], .poll = sleeper_poll, .service = &sleeper, .weight = 1};
        egress_add(egress, &source);
    }
    egress_wake(egress, 0, 1);
    assert_null(egress_push(egress, 1, &other));
    assert_int_equal(egress_frame(egress, 0, 3 * PACKET_SIZE_MAX, out), 4);
    assert_ptr_equal(out[0], &sleeper.packets[2]);
    assert_ptr_equal(out[1], &sleeper.packets[1]);
    assert_ptr_equal(out[2], &other);
    assert_ptr_equal(out[3], &sleeper.packets[0]);
    egress_check(egress);
    for (unsigned i = 0; i < 2; i++)
        free(queues[i]);
    free(egress);
}

TEST_MAIN(TEST(a_polled_quantum_used_to_the_last_byte_ends_the_turn),
          TEST(shares_match_the_fluid_model), TEST(a_round_that_skips_a_service_is_detected),
          TEST(a_frame_holds_several_services_in_order),
          TEST(a_frame_is_bounded_by_bytes_and_packets),
          TEST(a_quantum_used_to_the_last_byte_does_not_end_the_frame),
          TEST(a_packet_that_does_not_fit_comes_next),
          TEST(an_idle_service_loses_the_rest_of_its_quantum), TEST(an_idle_service_keeps_its_debt),
          TEST(a_packet_leaves_by_the_first_port_that_asks),
          TEST(a_polled_service_sleeps_until_it_is_woken))
