/* Simulated sockets alone: the test plays the node of a server, and the clients. */
#include "sim/engine/sim_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/test.h"

#define SERVER 3
#define PORT   80
#define MOST   100000
#define MILLI  (PSEC_PER_SECOND / 1000)

static struct {
    struct sim_sockets *all;
    psec now;
    bool paused;
    struct env_descriptor listener, ends[8]; /* of the service */
    unsigned end_count;
    bool echoes;       /* the service sends back what it reads */
    bool reads;        /* it reads at all */
    int64_t last;      /* result of its last read or write */
    uint8_t got[MOST]; /* what it read ... */
    uint32_t size;     /* ... and how much */
    unsigned turns, writable;
    int connected;       /* result of its connect; 1: none */
    uint8_t heard[MOST]; /* what the client received */
    uint32_t heard_size;
    unsigned pieces;   /* in how many calls */
    int opened, ended; /* what the client was told; 1: nothing */
} stage;

static psec stage_now(void *owner)
{
    return stage.now;
}

static void stage_due(void *owner)
{
}

static void service_read(struct env_descriptor *end)
{
    uint8_t bytes[64];
    int64_t count;
    while ((count = sim_socket_read(end, bytes, sizeof bytes)) > 0) {
        assert_true(stage.size + count <= MOST);
        memcpy(stage.got + stage.size, bytes, (size_t)count);
        stage.size += (uint32_t)count;
        if (stage.echoes)
            assert_int_equal(sim_socket_write(end, bytes, (uint32_t)count), count);
    }
    stage.last = count;
    if (count != -EAGAIN)
        end->wants = 0;
}

static bool stage_turn(void *owner, node_id server, struct env_descriptor *end, unsigned ready)
{
    if (stage.paused)
        return false;
    stage.turns++;
    assert_int_equal(server, SERVER);
    assert_true(ready & end->wants);
    if (end == &stage.listener) {
        struct env_descriptor *next = &stage.ends[stage.end_count];
        while (sim_socket_accept(&stage.listener, next) == 0) {
            next->wants = stage.reads ? ENV_READ : 0;
            sim_socket_changed(next);
            next = &stage.ends[++stage.end_count];
        }
    } else if (end->wants & ENV_WRITE) {
        stage.writable++;
        if (stage.connected == 1)
            stage.connected = sim_socket_result(end);
        end->wants &= (uint8_t)~ENV_WRITE;
    } else {
        service_read(end);
    }
    return true;
}

static void stage_open(const struct sim_socket_settings *settings, uint64_t seed)
{
    const struct sim_sockets_world world = {stage_now, stage_due, stage_turn, NULL};
    const struct env_address address = {"127.0.0.1", PORT};
    struct why why;
    memset(&stage, 0, sizeof stage);
    stage.reads = true;
    stage.opened = stage.ended = stage.connected = 1;
    assert_int_equal(sim_sockets_open(&stage.all, settings, &world, seed, &why), OK);
    assert_int_equal(sim_socket_listen(stage.all, SERVER, &stage.listener, &address), 0);
    stage.listener.wants = ENV_READ;
    sim_socket_changed(&stage.listener);
}

static void stage_close(void)
{
    for (unsigned i = 0; i < stage.end_count; i++)
        if (stage.ends[i].world)
            sim_socket_close(&stage.ends[i]);
    if (stage.listener.world)
        sim_socket_close(&stage.listener);
    sim_sockets_close(stage.all);
}

static void pass(psec length)
{
    for (psec end = stage.now + length; stage.now < end;) {
        psec next = sim_sockets_next(stage.all);
        assert_true(next >= stage.now);
        stage.now = next < end ? next : end;
        sim_sockets_run(stage.all);
    }
}

static void on_connected(void *context, struct sim_socket *client, int result)
{
    assert_ptr_equal(context, &stage);
    stage.opened = result;
}

static void on_received(void *context, struct sim_socket *client, const void *bytes, uint32_t size)
{
    memcpy(stage.heard + stage.heard_size, bytes, size);
    stage.heard_size += size;
    stage.pieces++;
}

static void on_ended(void *context, struct sim_socket *client, int result)
{
    stage.ended = result;
}

static const struct sim_client_events events = {on_connected, on_received, on_ended};

static struct sim_socket *client_open(void)
{
    return sim_client_connect(stage.all, SERVER, PORT, &events, &stage);
}

static void fill(uint8_t *bytes, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
}

static uint64_t open_count(void)
{
    struct sim_socket_counts counts;
    sim_sockets_count(stage.all, &counts);
    return counts.open;
}

/* Whatever the seed does to them, the bytes are the same and in order. */
static void bytes_arrive_in_order_and_in_pieces(void **state)
{
    static uint8_t bytes[20000];
    unsigned most = 0;
    fill(bytes, sizeof bytes);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        const struct sim_socket_settings settings = {.jitter = MILLI,
                                                     .buffer = 4000,
                                                     .split = SIM_SOCKET_PARTS / 2,
                                                     .shorten = SIM_SOCKET_PARTS / 3};
        stage_open(&settings, seed);
        struct sim_socket *client = client_open();
        sim_client_send(client, bytes, sizeof bytes / 2);
        pass(PSEC_PER_SECOND);
        sim_client_send(client, bytes + sizeof bytes / 2, sizeof bytes / 2);
        pass(PSEC_PER_SECOND);
        assert_int_equal(stage.opened, 0);
        assert_int_equal(stage.size, sizeof bytes);
        assert_memory_equal(stage.got, bytes, sizeof bytes);
        most = stage.turns > most ? stage.turns : most;
        sim_client_close(client);
        pass(PSEC_PER_SECOND);
        assert_int_equal(stage.last, 0); /* the end */
        assert_int_equal(open_count(), 2);
        stage_close();
    }
    assert_true(most > 20);
}

static void a_client_that_does_not_read_fills_the_buffer(void **state)
{
    static uint8_t bytes[100];
    stage_open(&(struct sim_socket_settings){.buffer = 250}, 1);
    struct sim_socket *client = client_open();
    fill(bytes, sizeof bytes);
    pass(MILLI);
    sim_client_reads(client, false);
    struct env_descriptor *end = &stage.ends[0];
    assert_int_equal(sim_socket_write(end, bytes, 100), 100);
    assert_int_equal(sim_socket_write(end, bytes, 100), 100);
    assert_int_equal(sim_socket_write(end, bytes, 100), 50);
    assert_int_equal(sim_socket_write(end, bytes, 100), -EAGAIN);
    end->wants |= ENV_WRITE;
    sim_socket_changed(end);
    pass(PSEC_PER_SECOND);
    assert_int_equal(stage.writable, 0);
    sim_client_reads(client, true);
    pass(MILLI);
    assert_int_equal(stage.heard_size, 250);
    assert_int_equal(stage.writable, 1);
    assert_int_equal(sim_socket_write(end, bytes, 100), 100);
    stage_close();
}

static void half_of_a_connection_may_end(void **state)
{
    stage_open(&(struct sim_socket_settings){0}, 1);
    struct sim_socket *client = client_open();
    sim_client_send(client, "question", 8);
    sim_client_finish(client);
    pass(MILLI);
    assert_int_equal(stage.size, 8);
    assert_int_equal(stage.last, 0);
    assert_int_equal(stage.ended, 1);
    assert_int_equal(sim_socket_write(&stage.ends[0], "answer", 6), 6);
    assert_int_equal(sim_socket_finish(&stage.ends[0]), 0);
    assert_int_equal(sim_socket_write(&stage.ends[0], "more", 4), -EPIPE);
    pass(MILLI);
    assert_int_equal(stage.heard_size, 6);
    assert_int_equal(stage.ended, 0);
    sim_client_close(client);
    stage_close();
}

static void a_reset_is_found_by_both_calls(void **state)
{
    stage_open(&(struct sim_socket_settings){0}, 1);
    struct sim_socket *client = client_open();
    uint8_t byte = 0;
    pass(MILLI);
    sim_client_send(client, "lost", 4);
    sim_client_reset(client);
    pass(MILLI);
    assert_int_equal(stage.last, -ECONNRESET);
    assert_int_equal(sim_socket_write(&stage.ends[0], &byte, 1), -ECONNRESET);
    /* A service that closes an end with unread bytes resets it, too. */
    stage.reads = false;
    client = client_open();
    sim_client_send(client, "unread", 6);
    pass(MILLI);
    assert_int_equal(stage.ended, 1);
    sim_socket_close(&stage.ends[1]);
    pass(MILLI);
    assert_int_equal(stage.ended, -ECONNRESET);
    assert_int_equal(open_count(), 2); /* the first end of the service, and the listener */
    /* A write to a client that has closed seems to succeed; the next one fails. */
    client = client_open();
    pass(MILLI);
    sim_client_close(client);
    pass(MILLI);
    assert_int_equal(sim_socket_write(&stage.ends[2], &byte, 1), 1);
    pass(MILLI);
    assert_int_equal(sim_socket_write(&stage.ends[2], &byte, 1), -ECONNRESET);
    stage_close();
}

static void writes_break_connections_by_chance(void **state)
{
    unsigned broken = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        stage_open(&(struct sim_socket_settings){.reset = SIM_SOCKET_PARTS / 4}, seed);
        struct sim_socket *client = client_open();
        sim_client_send(client, "x", 1);
        pass(PSEC_PER_SECOND);
        broken += stage.ended == -ECONNRESET;
        assert_true(stage.ended == 1 || stage.last == -ECONNRESET);
        stage_close();
    }
    assert_in_range(broken, 10, 40);
}

static void a_client_without_a_listener_is_refused(void **state)
{
    stage_open(&(struct sim_socket_settings){0}, 1);
    sim_client_connect(stage.all, SERVER, PORT + 1, &events, &stage);
    pass(MILLI);
    assert_int_equal(stage.opened, -ECONNREFUSED);
    stage.opened = 1;
    sim_client_connect(stage.all, SERVER + 1, PORT, &events, &stage);
    pass(MILLI);
    assert_int_equal(stage.opened, -ECONNREFUSED);
    stage.opened = 1;
    client_open(); /* it waits when the listener closes */
    sim_socket_close(&stage.listener);
    pass(MILLI);
    assert_true(stage.opened == -ECONNRESET || stage.ended == -ECONNRESET);
    assert_int_equal(open_count(), 0);
    stage_close();
}

static void a_paused_server_has_its_turns_later(void **state)
{
    stage_open(&(struct sim_socket_settings){0}, 1);
    stage.paused = true;
    struct sim_socket *client = client_open();
    sim_client_send(client, "abc", 3);
    pass(MILLI);
    assert_int_equal(stage.opened, 0); /* by the system of the server */
    assert_int_equal(stage.turns, 0);
    stage.paused = false;
    sim_sockets_resume(stage.all, SERVER);
    pass(MILLI);
    assert_int_equal(stage.size, 3);
    stage.paused = true;
    sim_client_send(client, "def", 3);
    pass(MILLI);
    stage.paused = false;
    sim_sockets_resume(stage.all, SERVER);
    pass(MILLI);
    assert_int_equal(stage.size, 6);
    stage_close();
}

static void addresses_and_ports_are_as_with_tcp(void **state)
{
    struct env_descriptor other = {0}, third = {0};
    stage_open(&(struct sim_socket_settings){0}, 1);
    assert_int_equal(
        sim_socket_listen(stage.all, SERVER, &other, &(struct env_address){"0.0.0.0", PORT}),
        -EADDRINUSE);
    assert_int_equal(
        sim_socket_listen(stage.all, SERVER, &other, &(struct env_address){"localhost", 0}),
        -EINVAL);
    assert_int_equal(
        sim_socket_connect(stage.all, SERVER, &other, &(struct env_address){"1.2.3", 0}), -EINVAL);
    assert_int_equal(sim_socket_listen(stage.all, SERVER, &other, &(struct env_address){"::", 0}),
                     0);
    assert_int_equal(sim_socket_listen(stage.all, SERVER, &third, &(struct env_address){"::", 0}),
                     0);
    assert_int_not_equal(sim_socket_port(&other), sim_socket_port(&third));
    assert_int_equal(sim_socket_port(&stage.listener), PORT);
    sim_socket_close(&other);
    sim_socket_close(&third);
    stage_close();
}

/* To its own listener, to a listener of the test, and to none. */
static void services_connect(void **state)
{
    struct env_descriptor end = {.wants = 0};
    stage_open(&(struct sim_socket_settings){0}, 1);
    sim_client_listen(stage.all, "10.1.2.3", 99, &events, &stage);
    assert_int_equal(
        sim_socket_connect(stage.all, SERVER, &end, &(struct env_address){"10.1.2.3", 99}), 0);
    end.wants = ENV_WRITE;
    sim_socket_changed(&end);
    pass(MILLI);
    assert_int_equal(stage.opened, 0);
    assert_int_equal(stage.connected, 0);
    assert_int_equal(sim_socket_write(&end, "hello", 5), 5);
    pass(MILLI);
    assert_int_equal(stage.heard_size, 5);
    sim_socket_close(&end);
    pass(MILLI);
    assert_int_equal(stage.ended, 0);
    stage.connected = 1;
    assert_int_equal(
        sim_socket_connect(stage.all, SERVER, &end, &(struct env_address){"10.1.2.3", 98}), 0);
    end.wants = ENV_WRITE;
    sim_socket_changed(&end);
    pass(MILLI);
    assert_int_equal(stage.connected, -ECONNREFUSED);
    sim_socket_close(&end);
    stage.connected = 1;
    assert_int_equal(
        sim_socket_connect(stage.all, SERVER, &end, &(struct env_address){"127.0.0.1", PORT}), 0);
    end.wants = ENV_WRITE;
    sim_socket_changed(&end);
    pass(MILLI);
    assert_int_equal(stage.connected, 0);
    assert_int_equal(stage.end_count, 1);
    assert_int_equal(sim_socket_write(&end, "self", 4), 4);
    pass(MILLI);
    assert_memory_equal(stage.got, "self", 4);
    sim_socket_close(&end);
    stage_close();
}

/* One turn per microsecond, so that a service that is called for ever does not stop time. */
static void a_descriptor_that_is_always_ready_does_not_stop_time(void **state)
{
    stage_open(&(struct sim_socket_settings){0}, 1);
    stage.reads = false;
    struct sim_socket *client = client_open();
    sim_client_send(client, "abc", 3);
    pass(MILLI);
    stage.ends[0].wants = ENV_WRITE;
    stage.connected = 0;
    sim_socket_changed(&stage.ends[0]);
    unsigned before = stage.turns;
    for (unsigned i = 0; i < 5; i++) {
        pass(PSEC_PER_SECOND / 1000000);
        stage.ends[0].wants = ENV_WRITE;
        sim_socket_changed(&stage.ends[0]);
    }
    assert_in_range(stage.turns - before, 4, 6);
    stage_close();
}

TEST_MAIN(TEST(bytes_arrive_in_order_and_in_pieces),
          TEST(a_client_that_does_not_read_fills_the_buffer), TEST(half_of_a_connection_may_end),
          TEST(a_reset_is_found_by_both_calls), TEST(writes_break_connections_by_chance),
          TEST(a_client_without_a_listener_is_refused), TEST(a_paused_server_has_its_turns_later),
          TEST(addresses_and_ports_are_as_with_tcp), TEST(services_connect),
          TEST(a_descriptor_that_is_always_ready_does_not_stop_time))
