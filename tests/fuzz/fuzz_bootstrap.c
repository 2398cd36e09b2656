/* Tests what arrives over the cables of a server that has no coordinate yet: a message is
 * refused, or is exactly what our writer writes. A server that receives a list of such messages,
 * with a correct checksum or as they are, stays consistent, and finds a place or reports what is
 * wrong. The text of a kept coordinate is tested as well. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/commission/bootstrap.h"
#include "node/commission/bootstrap_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void message_try(const uint8_t *data, size_t size)
{
    uint8_t again[BOOTSTRAP_SIZE_MAX];
    struct bootstrap_hello hello;
    struct bootstrap_row row;
    unsigned type = bootstrap_type(data, size);
    if (type == BOOTSTRAP_HELLO && bootstrap_hello_read(&hello, data, size)) {
        bootstrap_hello_write(&hello, again);
        assert(memcmp(again, data, BOOTSTRAP_HELLO_SIZE) == 0);
    } else if (type == BOOTSTRAP_ROW && bootstrap_row_read(&row, data, size)) {
        assert(bootstrap_row_write(&row, again) == size && memcmp(again, data, size) == 0);
    }
}

static void text_try(const uint8_t *data, size_t size)
{
    node_id server;
    struct why why = {""};
    enum err err = bootstrap_text_read(&server, 7003, 27, (const char *)data, size, &why);
    assert(err ? why.text[0] && !strchr(why.text, '\n') : server < 27);
}

static bool send_any(void *context, unsigned port, const void *bytes, size_t size)
{
    unsigned *sends = context;
    assert(port < 6 && bootstrap_type(bytes, size));
    return ++*sends % 5 != 0;
}

/* Messages: port and flags (1), size (2), bytes. */
static void server_try(const uint8_t *data, size_t size, const struct plan *plan)
{
    const struct bootstrap_config config = {
        .plan = plan, .serial = 3, .port_count = 6, .known = NODE_NONE, .hello_nsec = 100};
    struct bootstrap *bootstrap;
    assert(bootstrap_open(&bootstrap, &config, NULL) == OK);
    struct reader in = reader_make(data, size);
    unsigned sends = 0;
    env_nsec now = 0;
    for (unsigned steps = 0; in.left && steps < 64; steps++) {
        uint8_t flags = read_u8(&in), bytes[BOOTSTRAP_SIZE_MAX + 8];
        size_t most = read_u16(&in) % sizeof bytes;
        most = most < in.left ? most : in.left;
        read_copy(&in, bytes, most);
        if (flags & 0x80 && most >= 8) { /* a fuzzer cannot guess a checksum */
            struct writer check = writer_make(bytes + most - 8, 8);
            write_u64(&check, hash_bytes(bytes, most - 8));
        }
        bootstrap_receive(bootstrap, flags & 7, bytes, most, now);
        now += flags & 0x40 ? 2000 : 30;
        assert(bootstrap_step(bootstrap, now, send_any, &sends) >= now);
        node_id vertex;
        const struct placement *placement;
        if (bootstrap_done(bootstrap, &vertex, &placement))
            assert(vertex < plan->server_count + placement->count);
    }
    bootstrap_close(bootstrap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct topology topology;
    struct plan plan;
    assert(topology_build(&topology, "torus:2x3", NULL) == OK);
    assert(plan_init(&plan, &topology, NULL) == OK);
    message_try(data, size);
    text_try(data, size);
    server_try(data, size, &plan);
    plan_fini(&plan);
    topology_fini(&topology);
    return 0;
}
