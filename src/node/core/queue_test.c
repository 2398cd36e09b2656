/* Compares the queue with a list that is searched from end to end. */

#include "node/core/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/test.h"

#define PACKETS 96

/* What the queue must hold, in order of arrival. */
struct model {
    struct queue_limits limits;
    struct packet *waiting[PACKETS];
    unsigned count;
    uint64_t bytes;
};

static struct queue *queue_make(const struct queue_limits *limits)
{
    void *memory = aligned_alloc(64, queue_size(limits));
    assert_non_null(memory);
    memset(memory, 0x5a, queue_size(limits)); /* arbitrary content */
    return queue_init(memory, limits);
}

static void model_remove(struct model *model, unsigned at)
{
    model->bytes -= model->waiting[at]->size;
    model->count--;
    memmove(&model->waiting[at], &model->waiting[at + 1],
            (model->count - at) * sizeof model->waiting[0]);
}

/* Does packet `one` leave before packet `other`? Indices are in order of arrival. */
static bool goes_first(const struct model *model, unsigned one, unsigned other)
{
    unsigned high = model->waiting[one]->priority, low = model->waiting[other]->priority;
    if (model->limits.kind == QUEUE_PRIORITY && high != low)
        return high > low;
    return model->limits.kind == QUEUE_NEWEST ? one > other : one < other;
}

static struct packet *model_next(const struct model *model, unsigned port)
{
    unsigned best = PACKETS;
    for (unsigned at = 0; at < model->count; at++) {
        if (!(model->waiting[at]->ports >> port & 1))
            continue;
        if (best == PACKETS || goes_first(model, at, best))
            best = at;
    }
    return best == PACKETS ? NULL : model->waiting[best];
}

/* The last packet in the queue's order, of all ports. */
static unsigned model_last(const struct model *model)
{
    unsigned worst = 0;
    for (unsigned at = 1; at < model->count; at++)
        if (goes_first(model, worst, at))
            worst = at;
    return worst;
}

/* Adds the packet, then drops the last ones until all fit. If the new packet is among these, only
 * it is dropped. */
static unsigned model_push(struct model *model, struct packet *packet, struct packet **gone)
{
    struct model before = *model;
    unsigned gone_count = 0;
    model->waiting[model->count++] = packet;
    model->bytes += packet->size;
    while (model->count > model->limits.packets || model->bytes > model->limits.bytes) {
        unsigned last = model->limits.kind == QUEUE_FIFO ? model->count - 1 : model_last(model);
        struct packet *victim = model->waiting[last];
        model_remove(model, last);
        if (victim == packet) {
            *model = before;
            gone[0] = packet;
            return 1;
        }
        gone[gone_count++] = victim;
    }
    return gone_count;
}

static port_set model_ports(const struct model *model)
{
    port_set ports = 0;
    for (unsigned at = 0; at < model->count; at++)
        ports |= model->waiting[at]->ports;
    return ports;
}

/* The number of different sets of more than one port in the queue. */
static unsigned model_sets(const struct model *model)
{
    unsigned sets = 0;
    for (unsigned at = 0; at < model->count; at++) {
        port_set ports = model->waiting[at]->ports;
        bool seen = !(ports & (ports - 1));
        for (unsigned i = 0; i < at && !seen; i++)
            seen = model->waiting[i]->ports == ports;
        sets += !seen;
    }
    return sets;
}

static port_set random_ports(struct rng *rng, unsigned port_count, bool few)
{
    port_set all = (port_set)((1ull << port_count) - 1);
    port_set ports = (port_set)rng_next(rng) & all;
    ports &= (port_set)rng_next(rng); /* a quarter of the ports */
    if (few)
        ports &= 0x0f0f0f0f;
    return ports ? ports : 1u << rng_below(rng, port_count);
}

static void try_push(struct queue *queue, struct model *model, struct packet *packet)
{
    struct packet *gone[PACKETS];
    port_set wanted = packet->ports;
    unsigned sets = model_sets(model);
    unsigned gone_count = model_push(model, packet, gone);
    struct packet *list = queue_push(queue, packet);
    if (packet->ports != wanted) {
        assert_true(sets >= QUEUE_LANES - model->limits.port_count);
        assert_true(packet->ports & wanted);
        assert_int_equal(packet->ports & (packet->ports - 1), 0);
    }
    unsigned count = 0;
    for (; list; list = list->next, count++) {
        unsigned at = 0;
        while (at < gone_count && gone[at] != list)
            at++;
        assert_true(at < gone_count);
    }
    assert_int_equal(count, gone_count);
}

static void try_take(struct queue *queue, struct model *model, unsigned port)
{
    struct packet *packet = model_next(model, port);
    assert_ptr_equal(queue_peek(queue, port), packet);
    if (!packet)
        return;
    queue_take(queue, port, packet);
    unsigned at = 0;
    while (model->waiting[at] != packet)
        at++;
    model_remove(model, at);
}

static void try_empty(struct queue *queue, struct model *model)
{
    struct packet *list = queue_empty(queue);
    for (unsigned at = 0; at < model->count; at++, list = list->next)
        assert_ptr_equal(list, model->waiting[at]);
    assert_null(list);
    model->count = 0;
    model->bytes = 0;
}

static bool model_has(const struct model *model, const struct packet *packet)
{
    for (unsigned at = 0; at < model->count; at++)
        if (model->waiting[at] == packet)
            return true;
    return false;
}

static void try_random(uint64_t seed, const struct queue_limits *limits)
{
    struct rng rng = rng_make(seed, limits->kind);
    struct queue *queue = queue_make(limits);
    struct model model = {.limits = *limits};
    static struct packet packets[PACKETS];
    bool few = rng_below(&rng, 2);
    unsigned filling = 30 + (unsigned)rng_below(&rng, 40);
    for (unsigned step = 0; step < 1500; step++) {
        struct packet *packet = &packets[rng_below(&rng, PACKETS)];
        unsigned dice = (unsigned)rng_below(&rng, 100);
        if (dice < filling && !model_has(&model, packet)) {
            uint32_t most = rng_below(&rng, 2) ? 100 : PACKET_SIZE_MAX - 40;
            *packet = (struct packet){.size = 40 + (uint32_t)rng_below(&rng, most + 1),
                                      .ports = random_ports(&rng, limits->port_count, few),
                                      .priority = (uint8_t)rng_below(&rng, 8)};
            try_push(queue, &model, packet);
        } else if (dice < 99) {
            try_take(queue, &model, (unsigned)rng_below(&rng, limits->port_count));
        } else {
            try_empty(queue, &model);
        }
        assert_int_equal(queue_packets(queue), model.count);
        assert_int_equal(queue_bytes(queue), model.bytes);
        assert_int_equal(queue_ports(queue), model_ports(&model));
        queue_check(queue);
    }
    free(queue);
}

static void every_kind_behaves_like_a_list(void **state)
{
    (void)state;
    static const unsigned ports[] = {1, 4, 6, 7, 20, 32};
    static const unsigned packets[] = {1, 8, 64, PACKETS};
    struct rng rng = rng_make(1, 0);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        for (unsigned kind = QUEUE_FIFO; kind <= QUEUE_NEWEST; kind++) {
            struct queue_limits limits = {
                .kind = (enum queue_kind)kind,
                .packets = packets[rng_below(&rng, 4)],
                .bytes = rng_below(&rng, 2) ? 1000000 : PACKET_SIZE_MAX,
                .port_count = ports[rng_below(&rng, 6)],
            };
            print_message("# seed %llu kind %u\n", (unsigned long long)seed, kind);
            try_random(seed, &limits);
        }
    }
}

/* More sets than lanes: packets are narrowed, and all still leave, each by one of its ports. */
static void more_sets_than_lanes_lose_no_packet(void **state)
{
    (void)state;
    struct queue_limits limits = {QUEUE_FIFO, 2000, 1000000, 32};
    struct queue *queue = queue_make(&limits);
    static struct packet packets[1000];
    static port_set wanted[1000];
    struct rng rng = rng_make(7, 0);
    unsigned narrowed = 0;
    for (unsigned i = 0; i < 1000; i++) {
        wanted[i] = random_ports(&rng, 32, false);
        packets[i] = (struct packet){.size = 40, .ports = wanted[i]};
        assert_null(queue_push(queue, &packets[i]));
        narrowed += packets[i].ports != wanted[i];
    }
    queue_check(queue);
    assert_true(narrowed > 900);
    for (unsigned port = 0; port < 32; port++) {
        struct packet *packet;
        unsigned last = 0;
        while ((packet = queue_peek(queue, port))) {
            unsigned i = (unsigned)(packet - packets);
            assert_true(wanted[i] >> port & 1);
            assert_true(i >= last);
            last = i;
            queue_take(queue, port, packet);
        }
    }
    assert_int_equal(queue_packets(queue), 0);
    free(queue);
}

/* Sets keep changing; empty lanes are reused, so no packet is narrowed. */
static void empty_lanes_are_reused(void **state)
{
    (void)state;
    struct queue_limits limits = {QUEUE_FIFO, 100, 1000000, 20};
    struct queue *queue = queue_make(&limits);
    struct rng rng = rng_make(9, 0);
    for (unsigned i = 0; i < 5000; i++) {
        port_set ports = random_ports(&rng, 20, false);
        struct packet packet = {.size = 40, .ports = ports};
        assert_null(queue_push(queue, &packet));
        assert_int_equal(packet.ports, ports);
        unsigned port = (unsigned)__builtin_ctz(ports);
        assert_ptr_equal(queue_peek(queue, port), &packet);
        queue_take(queue, port, &packet);
        assert_int_equal(queue_ports(queue), 0);
    }
    queue_check(queue);
    free(queue);
}

/* A new packet that would not fit even without all packets of lower priority displaces none. */
static void no_packet_is_dropped_in_vain(void **state)
{
    (void)state;
    struct queue_limits limits = {QUEUE_PRIORITY, 10, PACKET_SIZE_MAX, 2};
    struct queue *queue = queue_make(&limits);
    struct packet high = {.size = 8000, .ports = 1, .priority = 7};
    struct packet low = {.size = 900, .ports = 2, .priority = 0};
    struct packet newcomer = {.size = 2000, .ports = 3, .priority = 3};
    assert_null(queue_push(queue, &high));
    assert_null(queue_push(queue, &low));
    assert_ptr_equal(queue_push(queue, &newcomer), &newcomer);
    assert_int_equal(queue_packets(queue), 2);
    newcomer.size = 940;
    assert_ptr_equal(queue_push(queue, &newcomer), &low);
    assert_ptr_equal(queue_peek(queue, 1), &newcomer);
    queue_check(queue);
    free(queue);
}

TEST_MAIN(TEST(every_kind_behaves_like_a_list), TEST(more_sets_than_lanes_lose_no_packet),
          TEST(empty_lanes_are_reused), TEST(no_packet_is_dropped_in_vain))
