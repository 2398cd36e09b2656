#pragma once
/* fabric_scene: a fabric transport for tests, linked to itself, and messages as a peer would send
 * them. */

#include <string.h>

#include "base/test.h"
#include "transport/fabric/fabric_impl.h"

/* libfabric leaks the memory of a few connections that were never established. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfabric.so\n";
}

/* A context linked to itself: both ends of one pipe, and no messages but those that a test
 * forges. */
struct fabric_bench {
    struct lock lock;
    struct poller *poller;
    struct doorbell bell;
    struct context_address address;
    struct transport *transport;
    struct fabric *fabric;
    struct transport_link *link;
    struct outlet *outlet;
    struct fabric_outlet *out;
    struct inlet *inlet;
    struct fabric_inlet *in;
    struct parcel offer, answer;
};

static inline void bench_open(struct fabric_bench *bench)
{
    memset(bench, 0, sizeof *bench);
    assert_int_equal(poller_open(&bench->poller, &bench->lock), 0);
    assert_int_equal(doorbell_open(&bench->bell), 0);
    struct transport_config config = {.poller = bench->poller, .provider = "tcp"};
    struct why why = {""};
    assert_int_equal(transport_fabric.open(&bench->transport, &config, &why), 0);
    bench->fabric = container_of(bench->transport, struct fabric, transport);
    uint8_t card[160];
    int size = transport_fabric.describe(bench->transport, card, sizeof card);
    assert_true(size > 0);
    context_address_host(bench->address.host);
    assert_int_equal(transport_fabric.link_open(bench->transport, NULL, &bench->address, card,
                                                (size_t)size, &bench->link),
                     0);
    assert_int_equal(transport_fabric.pipes->outlet_open(bench->link, &bench->bell, &bench->offer,
                                                         &bench->outlet),
                     0);
    assert_int_equal(transport_fabric.pipes->inlet_open(bench->link, &bench->bell, &bench->offer,
                                                        &bench->answer, &bench->inlet),
                     0);
    bench->out = container_of(bench->outlet, struct fabric_outlet, outlet);
    bench->in = container_of(bench->inlet, struct fabric_inlet, inlet);
}

static inline void bench_close(struct fabric_bench *bench)
{
    transport_fabric.pipes->outlet_close(bench->outlet);
    transport_fabric.pipes->inlet_close(bench->inlet);
    transport_fabric.link_close(bench->link);
    transport_fabric.close(bench->transport);
    doorbell_close(&bench->bell);
    poller_close(bench->poller);
}

static inline bool is_broken(const struct fabric_bench *bench)
{
    return container_of(bench->link, struct fabric_link, link)->broken;
}

/* Acts as if the provider had received these bytes. */
static inline void receive(struct fabric_bench *bench, const void *bytes, size_t size)
{
    struct fabric_buffer *buffer = fabric_buffer_take(bench->fabric);
    assert_non_null(buffer);
    assert_true(size <= FABRIC_BUFFER_SIZE);
    bench->fabric->receive_count++;
    buffer->state = BUFFER_POSTED;
    memcpy(buffer->bytes, bytes, size);
    fabric_received(bench->fabric, buffer, size);
}

static inline void receive_message(struct fabric_bench *bench, const struct fabric_message *message)
{
    uint8_t bytes[FABRIC_BUFFER_SIZE] = {0};
    fabric_message_write(message, bytes);
    size_t rest = message->kind == FABRIC_FRAME ? sizeof(struct frame_head) + message->size
                                                : (size_t)message->count * FABRIC_ACK_SIZE;
    receive(bench, bytes, FABRIC_HEADER_SIZE + rest);
}

static inline struct fabric_message frame_message(const struct fabric_bench *bench,
                                                  uint32_t sequence)
{
    return (struct fabric_message){
        .pipe = bench->in->pipe.id, .sequence = sequence, .kind = FABRIC_FRAME, .size = 5};
}

static inline struct fabric_message return_wire(const struct fabric_bench *bench, uint32_t credit,
                                                uint16_t count)
{
    return (struct fabric_message){
        .pipe = bench->out->pipe.id, .kind = FABRIC_RETURN, .credit = credit, .count = count};
}
