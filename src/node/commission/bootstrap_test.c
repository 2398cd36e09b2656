#include "node/commission/bootstrap.h"

#include "base/array.h"
#include "node/commission/bootstrap_wire.h"
#include "node/commission/placement_cases.h"

#define HELLO     INT64_C(1000)
#define TICK      (HELLO / 4)
#define TICKS_MAX 4000

/* A message in flight. */
struct flight {
    env_nsec at; /* moment of arrival */
    uint32_t vertex, port;
    size_t size;
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
};

/* A room whose servers are switched on. Cables lose, delay and so reorder messages. */
struct hall {
    struct room room;
    struct bootstrap **machines; /* per vertex; NULL: switched off */
    struct flight *flights;
    size_t flight_capacity;
    uint32_t flight_count;
    env_nsec now;
    uint32_t loss;  /* lost messages per hundred */
    uint32_t deaf;  /* this vertex receives nothing at port 0; NODE_NONE: none */
    uint32_t from;  /* the vertex whose step runs */
    env_nsec quiet; /* quiet_nsec of their configuration */
};

static void hall_start(struct hall *hall, uint32_t vertex, node_id known)
{
    const struct bootstrap_config config = {.plan = &hall->room.plan,
                                            .serial = hall->room.serials[vertex],
                                            .port_count = hall->room.plan.port_count + 2,
                                            .known = known,
                                            .hello_nsec = HELLO,
                                            /* with a third lost, five in a row may be lost, too */
                                            .silence_nsec = hall->loss ? 20 * HELLO : 0,
                                            .quiet_nsec = hall->quiet};
    assert_int_equal(bootstrap_open(&hall->machines[vertex], &config, NULL), OK);
}

static void hall_stop(struct hall *hall, uint32_t vertex)
{
    if (hall->machines[vertex])
        bootstrap_close(hall->machines[vertex]);
    hall->machines[vertex] = NULL;
}

static void hall_open(struct hall *hall, const char *spec, uint64_t seed)
{
    *hall = (struct hall){.now = 77 * HELLO, .deaf = NODE_NONE};
    room_open(&hall->room, spec, seed);
    hall->machines = calloc(hall->room.count, sizeof(struct bootstrap *));
    assert_non_null(hall->machines);
}

static void hall_start_all(struct hall *hall)
{
    for (uint32_t vertex = 0; vertex < hall->room.count; vertex++)
        hall_start(hall, vertex, NODE_NONE);
}

static void hall_close(struct hall *hall)
{
    for (uint32_t vertex = 0; vertex < hall->room.count; vertex++)
        hall_stop(hall, vertex);
    free(hall->machines);
    free(hall->flights);
    room_close(&hall->room);
}

static bool hall_send(void *context, unsigned port, const void *bytes, size_t size)
{
    struct hall *hall = context;
    struct rng *rng = &hall->room.rng;
    if (rng_below(rng, 10) == 0)
        return false; /* the link is busy */
    if (rng_below(rng, 100) < hall->loss)
        return true;
    for (uint32_t i = 0; i < hall->room.cable_count; i++) {
        const struct link *cable = &hall->room.cables[i];
        bool a = cable->a == hall->from && cable->a_port == port;
        bool b = cable->b == hall->from && cable->b_port == port;
        if (!a && !b)
            continue;
        assert_true(array_reserve(&hall->flights, &hall->flight_capacity, hall->flight_count + 1,
                                  sizeof *hall->flights));
        struct flight *flight = &hall->flights[hall->flight_count++];
        *flight = (struct flight){.at = hall->now + (env_nsec)rng_below(rng, 2 * HELLO),
                                  .vertex = a ? cable->b : cable->a,
                                  .port = a ? cable->b_port : cable->a_port,
                                  .size = size};
        memcpy(flight->bytes, bytes, size);
        return true;
    }
    return true; /* no cable in that port */
}

static void hall_tick(struct hall *hall)
{
    hall->now += TICK;
    uint32_t kept = 0, count = hall->flight_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct flight *flight = &hall->flights[i];
        struct bootstrap *to = hall->machines[flight->vertex];
        if (flight->at > hall->now)
            hall->flights[kept++] = *flight;
        else if (to && !(flight->vertex == hall->deaf && flight->port == 0))
            bootstrap_receive(to, flight->port, flight->bytes, flight->size, hall->now);
    }
    hall->flight_count = kept;
    for (uint32_t vertex = 0; vertex < hall->room.count; vertex++) {
        hall->from = vertex;
        if (hall->machines[vertex])
            bootstrap_step(hall->machines[vertex], hall->now, hall_send, hall);
    }
}

static bool hall_done(const struct hall *hall)
{
    node_id vertex;
    const struct placement *placement;
    for (uint32_t i = 0; i < hall->room.count; i++) {
        if (hall->machines[i] && !bootstrap_done(hall->machines[i], &vertex, &placement))
            return false;
    }
    return true;
}

/* Runs until all are done and stay so, and checks that they found the same places as a placement
 * with all reports. */
static void hall_run(struct hall *hall, struct placement *truth)
{
    uint32_t ticks = 0;
    for (uint32_t calm = 0; calm < 60; calm = hall_done(hall) ? calm + 1 : 0) {
        hall_tick(hall);
        if (ticks++ > TICKS_MAX)
            fail_msg("not done after %u ticks", ticks);
    }
    struct room *room = &hall->room;
    uint32_t on = 0;
    for (uint32_t i = 0; i < room->count; i++) {
        if (hall->machines[i])
            room->reports[on++] = room->reports[i];
    }
    assert_int_equal(placement_make(truth, &room->plan, room->reports, on, NULL), OK);
    for (uint32_t i = 0; i < room->count; i++) {
        node_id vertex;
        const struct placement *placement;
        if (!hall->machines[i])
            continue;
        assert_true(bootstrap_done(hall->machines[i], &vertex, &placement));
        assert_int_equal(vertex, placement_find(truth, room->serials[i]));
        assert_int_equal(placement->finding_count, truth->finding_count);
        for (uint32_t j = 0; j < truth->finding_count; j++)
            assert_string_equal(placement->findings[j].line, truth->findings[j].line);
        struct bootstrap_snapshot snapshot;
        bootstrap_snapshot(hall->machines[i], &snapshot);
        assert_int_equal(snapshot.servers, on);
        assert_int_equal(snapshot.agreed, on);
        assert_false(snapshot.clash);
    }
}

static void all_servers_compute_the_same_places(void **state)
{
    static const char *const specs[] = {"torus:3x3x3", "novacube:4x4", "torus:2",
                                        "jellyfish:n=16,degree=4,seed=1", "torus:1"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        for (uint32_t loss = 0; loss <= 30; loss += 30) {
            struct hall hall;
            struct placement truth;
            hall_open(&hall, specs[i], i + loss);
            hall.loss = loss;
            hall_start_all(&hall);
            room_report(&hall.room);
            hall_run(&hall, &truth);
            assert_int_equal(truth.finding_count, 0);
            placement_fini(&truth);
            hall_close(&hall);
        }
    }
}

/* Once every cable is found, there is nothing to wait for. */
static void a_complete_cluster_does_not_wait_for_the_quiet_time(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:3x3", 5);
    hall.quiet = 2 * TICKS_MAX * TICK;
    hall_start_all(&hall);
    room_report(&hall.room);
    hall_run(&hall, &truth);
    placement_fini(&truth);
    hall_close(&hall);
}

static uint32_t hall_sent(const struct hall *hall)
{
    uint64_t sent = 0;
    for (uint32_t vertex = 0; vertex < hall->room.count; vertex++) {
        struct bootstrap_snapshot snapshot;
        bootstrap_snapshot(hall->machines[vertex], &snapshot);
        sent += snapshot.sent;
    }
    return (uint32_t)sent;
}

static void servers_with_the_same_rows_send_only_hellos(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:4x4", 7);
    hall_start_all(&hall);
    room_report(&hall.room);
    hall_run(&hall, &truth);
    uint32_t before = hall_sent(&hall), hellos = 20, ports = hall.room.plan.port_count + 2;
    for (uint32_t tick = 0; tick < hellos * HELLO / TICK; tick++)
        hall_tick(&hall);
    assert_true(hall_sent(&hall) > before);
    assert_true(hall_sent(&hall) - before <= hellos * ports * hall.room.count);
    placement_fini(&truth);
    hall_close(&hall);
}

static void all_servers_report_a_miswired_cable_until_it_is_repaired(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:4x4", 3);
    hall.loss = 10;
    room_exchange(&hall.room, 3, 17);
    hall_start_all(&hall);
    room_report(&hall.room);
    hall_run(&hall, &truth);
    assert_int_equal(truth.finding_count, 2);
    assert_int_equal(truth.findings[0].kind, PLACEMENT_MISWIRED);
    placement_fini(&truth);
    room_exchange(&hall.room, 3, 17);
    room_report(&hall.room);
    hall_run(&hall, &truth);
    assert_int_equal(truth.finding_count, 0);
    placement_fini(&truth);
    hall_close(&hall);
}

/* Changes the reports so that no server receives hellos of `gone`; the rest stays as before. */
static void room_without(struct room *room, uint32_t gone)
{
    for (uint32_t vertex = 0; vertex < room->count; vertex++) {
        for (uint32_t port = 0; port < room->plan.port_count; port++) {
            struct placement_end *ear = &room->reports[vertex].ears[port];
            ear->port = ear->serial == room->serials[gone] ? PORT_NONE : ear->port;
        }
    }
}

static void a_stopped_server_is_left_out_and_may_return(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:4x4", 4);
    room_report(&hall.room);
    for (uint32_t vertex = 0; vertex < hall.room.count; vertex++) {
        hall_start(&hall, vertex, vertex); /* they have their places already */
        hall.room.reports[vertex].known = vertex;
    }
    struct placement_report all[16];
    memcpy(all, hall.room.reports, sizeof all);
    /* Each restart begins with version 1, which must exceed the versions of all earlier runs. */
    for (uint32_t life = 0; life < 5; life++) {
        memcpy(hall.room.reports, all, sizeof all);
        hall_run(&hall, &truth);
        assert_int_equal(truth.finding_count, 0);
        for (uint32_t vertex = 0; vertex < hall.room.count; vertex++)
            assert_int_equal(placement_find(&truth, hall.room.serials[vertex]), vertex);
        placement_fini(&truth);

        hall_stop(&hall, 5);
        memcpy(hall.room.reports, all, sizeof all);
        room_without(&hall.room, 5);
        hall_run(&hall, &truth);
        assert_int_equal(truth.finding_count, 1);
        assert_int_equal(truth.findings[0].kind, PLACEMENT_ABSENT);
        assert_int_equal(truth.findings[0].server, 5);
        placement_fini(&truth);
        hall_start(&hall, 5, 5);
    }
    hall_close(&hall);
}

static void an_end_that_receives_nothing_is_reported(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:4x4", 5);
    hall.deaf = 6;
    hall_start_all(&hall);
    room_report(&hall.room);
    hall.room.reports[6].ears[0].port = PORT_NONE;
    hall_run(&hall, &truth);
    assert_int_equal(truth.finding_count, 1);
    assert_int_equal(truth.findings[0].kind, PLACEMENT_ONE_WAY);
    placement_fini(&truth);
    hall_close(&hall);
}

static void two_servers_with_one_serial_number_notice_the_clash(void **state)
{
    struct hall hall;
    hall_open(&hall, "torus:4x4", 6);
    hall.room.serials[9] = hall.room.serials[2];
    hall_start_all(&hall);
    struct bootstrap_snapshot two = {0}, nine = {0}, other = {0};
    for (uint32_t ticks = 0; ticks < 400; ticks++)
        hall_tick(&hall);
    bootstrap_snapshot(hall.machines[2], &two);
    bootstrap_snapshot(hall.machines[9], &nine);
    bootstrap_snapshot(hall.machines[0], &other);
    assert_true(two.clash || nine.clash);
    assert_false(other.clash);
    assert_false(hall_done(&hall));
    hall_close(&hall);
}

/* ---- bytes ---- */

static struct bootstrap_row row_random(struct rng *rng)
{
    struct bootstrap_row row = {.version = 1 + rng_next(rng) / 2, .agreed = rng_next(rng)};
    row.report.serial = rng_next(rng);
    row.report.known = (node_id)rng_next(rng);
    row.report.port_count = (uint32_t)rng_below(rng, PORT_MAX + 1);
    for (uint32_t port = 0; port < PORT_MAX; port++) {
        bool hears = port < row.report.port_count && rng_below(rng, 3) > 0;
        row.report.ears[port].serial = hears ? rng_next(rng) : 0;
        row.report.ears[port].port = hears ? (uint32_t)rng_below(rng, PORT_MAX) : PORT_NONE;
    }
    return row;
}

static void messages_are_read_as_written_and_damage_is_detected(void **state)
{
    struct rng rng = rng_make(1, 2);
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    for (uint32_t i = 0; i < 200; i++) {
        struct bootstrap_row row = row_random(&rng), read;
        size_t size = bootstrap_row_write(&row, bytes);
        assert_int_equal(bootstrap_type(bytes, size), BOOTSTRAP_ROW);
        assert_true(bootstrap_row_read(&read, bytes, size));
        assert_memory_equal(&row.report.ears, &read.report.ears, sizeof row.report.ears);
        assert_true(row.version == read.version && row.agreed == read.agreed);
        assert_true(row.report.serial == read.report.serial);
        assert_int_equal(row.report.known, read.report.known);
        bytes[rng_below(&rng, size)] ^= (uint8_t)(1u << rng_below(&rng, 8));
        assert_int_equal(bootstrap_type(bytes, size), 0);
    }
    struct bootstrap_hello hello = {UINT64_MAX - 5, 31, 12}, heard;
    bootstrap_hello_write(&hello, bytes);
    assert_int_equal(bootstrap_type(bytes, BOOTSTRAP_HELLO_SIZE), BOOTSTRAP_HELLO);
    assert_true(bootstrap_hello_read(&heard, bytes, BOOTSTRAP_HELLO_SIZE));
    assert_true(heard.serial == hello.serial && heard.port == 31 && heard.digest == 12);
    for (size_t size = 0; size < BOOTSTRAP_HELLO_SIZE; size++)
        assert_int_equal(bootstrap_type(bytes, size), 0);
}

static void malformed_messages_are_counted(void **state)
{
    struct hall hall;
    hall_open(&hall, "torus:1", 1);
    hall_start_all(&hall);
    bootstrap_receive(hall.machines[0], 0, "nonsense", 8, 0);
    bootstrap_receive(hall.machines[0], 31, "nonsense", 8, 0);
    struct bootstrap_snapshot snapshot;
    bootstrap_snapshot(hall.machines[0], &snapshot);
    assert_int_equal(snapshot.dropped, 2);
    /* A good hello, in a port that the machine does not have. */
    uint8_t hello[BOOTSTRAP_HELLO_SIZE];
    bootstrap_hello_write(&(struct bootstrap_hello){.serial = 5}, hello);
    bootstrap_receive(hall.machines[0], hall.room.plan.port_count + 2, hello, sizeof hello, 0);
    bootstrap_snapshot(hall.machines[0], &snapshot);
    assert_int_equal(snapshot.dropped, 3);
    /* A row with version 0, which no server sends. */
    struct bootstrap_row row = {.report = {.known = NODE_NONE}};
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    bootstrap_receive(hall.machines[0], 0, bytes, bootstrap_row_write(&row, bytes), 0);
    bootstrap_snapshot(hall.machines[0], &snapshot);
    assert_int_equal(snapshot.dropped, 4);
    /* Rows of more servers than the plan has. */
    row.version = 1;
    for (uint64_t serial = 100000; serial < 100200; serial++) {
        row.report.serial = serial;
        size_t size = bootstrap_row_write(&row, bytes);
        bootstrap_receive(hall.machines[0], 0, bytes, size, 0);
    }
    bootstrap_snapshot(hall.machines[0], &snapshot);
    assert_true(snapshot.dropped > 101 && snapshot.dropped < 204);
    hall_close(&hall);
}

/* The last row of that serial number that a machine sent; version 0: none. */
struct sent {
    uint64_t serial;
    struct bootstrap_row row;
};

static bool sent_keep(void *context, unsigned port, const void *bytes, size_t size)
{
    struct sent *sent = context;
    struct bootstrap_row row;
    if (bootstrap_type(bytes, size) == BOOTSTRAP_ROW && bootstrap_row_read(&row, bytes, size) &&
        row.report.serial == sent->serial)
        sent->row = row;
    return true;
}

static void row_give(struct bootstrap *bootstrap, uint64_t serial, uint64_t version, env_nsec now)
{
    const struct bootstrap_row row = {.report = {.serial = serial, .known = NODE_NONE},
                                      .version = version};
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    bootstrap_receive(bootstrap, 0, bytes, bootstrap_row_write(&row, bytes), now);
}

/* A neighbour sends a hello. */
static void hello_give_to(struct bootstrap *bootstrap, unsigned port, env_nsec now)
{
    uint8_t hello[BOOTSTRAP_HELLO_SIZE];
    bootstrap_hello_write(&(struct bootstrap_hello){.serial = 5 + port}, hello);
    bootstrap_receive(bootstrap, port, hello, sizeof hello, now);
}

static void hello_give(struct bootstrap *bootstrap, env_nsec now)
{
    hello_give_to(bootstrap, 0, now);
}

static struct bootstrap *machine_open(struct hall *hall)
{
    hall_open(hall, "torus:3", 1);
    hall_start(hall, 0, NODE_NONE);
    hello_give(hall->machines[0], 0);
    return hall->machines[0];
}

static void a_neighbour_that_sends_an_old_row_receives_the_newer_one(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {.serial = 9};
    row_give(machine, 9, 5, 0);
    bootstrap_step(machine, 0, sent_keep, &sent);
    assert_true(sent.row.version == 0); /* not sent back to where it came from */
    row_give(machine, 9, 3, 1);
    bootstrap_step(machine, 1, sent_keep, &sent);
    assert_true(sent.row.version == 5);
    hall_close(&hall);
}

/* New rows are evaluated once per hello, all together. */
static void changes_are_announced_with_the_next_hello(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {.serial = hall.room.serials[0]};
    bootstrap_step(machine, 0, sent_keep, &sent);
    uint64_t before = sent.row.version;
    assert_true(before > 0);
    hello_give_to(machine, 1, 1);
    bootstrap_step(machine, 1, sent_keep, &sent);
    assert_true(sent.row.version == before);
    bootstrap_step(machine, HELLO, sent_keep, &sent);
    assert_true(sent.row.version > before);
    hall_close(&hall);
}

/* Digests also differ while rows are in flight, so rows are resent only three hellos later. */
static void a_neighbour_with_another_digest_receives_all_rows_at_intervals(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {.serial = 9};
    row_give(machine, 9, 5, 0);
    bootstrap_step(machine, 0, sent_keep, &sent);
    hello_give(machine, 10); /* with another digest: the first one is answered */
    bootstrap_step(machine, 10, sent_keep, &sent);
    sent.row.version = 0;
    hello_give(machine, 3 * HELLO + 9);
    bootstrap_step(machine, 3 * HELLO + 9, sent_keep, &sent);
    bool early = sent.row.version != 0;
    hello_give(machine, 3 * HELLO + 10);
    bootstrap_step(machine, 3 * HELLO + 10, sent_keep, &sent);
    assert_false(early);
    assert_true(sent.row.version == 5);
    hall_close(&hall);
}

/* A step sends 512 messages at most: after exactly 512 there is nothing left. */
static void a_step_sends_one_burst_and_returns_whether_more_waits(void **state)
{
    struct hall hall;
    struct sent sent = {0};
    struct bootstrap_snapshot before, after;
    hall_open(&hall, "torus:25x25", 1);
    hall_start(&hall, 0, NODE_NONE);
    struct bootstrap *machine = hall.machines[0];
    hello_give_to(machine, 1, 0); /* rows go only there */
    for (uint64_t i = 1; i <= 513; i++)
        row_give(machine, 100000 + i, 1, 0);
    assert_true(bootstrap_step(machine, 0, sent_keep, &sent) == 0);
    assert_true(bootstrap_step(machine, 1, sent_keep, &sent) == HELLO);
    for (uint64_t i = 1; i <= 512; i++)
        row_give(machine, 100000 + i, 2, 2);
    bootstrap_snapshot(machine, &before);
    assert_true(bootstrap_step(machine, 2, sent_keep, &sent) == HELLO);
    bootstrap_snapshot(machine, &after);
    assert_int_equal(after.sent - before.sent, 512);
    hall_close(&hall);
}

static void a_server_that_still_waits_has_not_agreed(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {0};
    bootstrap_step(machine, 0, sent_keep, &sent);
    struct bootstrap_snapshot snapshot;
    bootstrap_snapshot(machine, &snapshot);
    assert_int_equal(snapshot.servers, 1);
    assert_int_equal(snapshot.agreed, 0);
    hall_close(&hall);
}

/* A server may have to raise its version above that of an earlier incarnation; its content is the
 * same. */
static void a_repeated_row_with_the_same_content_changes_no_place(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:2", 1);
    hall_start_all(&hall);
    room_report(&hall.room);
    hall_run(&hall, &truth);
    const struct link *cable = &hall.room.cables[0];
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    bootstrap_hello_write(/* makes it send its row once more */
                          &(struct bootstrap_hello){hall.room.serials[cable->a], cable->a_port, 0},
                          bytes);
    env_nsec later = hall.now + 4 * HELLO;
    bootstrap_receive(hall.machines[cable->b], cable->b_port, bytes, BOOTSTRAP_HELLO_SIZE, later);
    struct sent sent = {.serial = hall.room.serials[cable->b]};
    bootstrap_step(hall.machines[cable->b], later, sent_keep, &sent);
    assert_true(sent.row.version && sent.row.agreed);
    sent.row.version++;
    sent.row.agreed = 0;
    bootstrap_receive(hall.machines[cable->a], cable->a_port, bytes,
                      bootstrap_row_write(&sent.row, bytes), hall.now);
    bootstrap_step(hall.machines[cable->a], hall.now + HELLO, sent_keep, &sent);
    struct bootstrap_snapshot snapshot;
    bootstrap_snapshot(hall.machines[cable->a], &snapshot);
    assert_int_equal(snapshot.agreed, 1);
    node_id vertex;
    const struct placement *placement;
    assert_true(bootstrap_done(hall.machines[cable->a], &vertex, &placement));
    /* But a changed row, if only in the place that it keeps, makes all servers start again. */
    sent.row.version++;
    sent.row.report.known = 1;
    bootstrap_receive(hall.machines[cable->a], cable->a_port, bytes,
                      bootstrap_row_write(&sent.row, bytes), hall.now);
    assert_false(bootstrap_done(hall.machines[cable->a], &vertex, &placement));
    placement_fini(&truth);
    hall_close(&hall);
}

/* Another server with our serial number raises its version again and again: we stop answering. */
static void a_clash_of_serial_numbers_ends(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {.serial = hall.room.serials[0]};
    for (unsigned i = 1; i <= 20; i++) {
        hello_give(machine, i * HELLO);
        row_give(machine, sent.serial, 100 * i, i * HELLO);
        bootstrap_step(machine, i * HELLO, sent_keep, &sent);
    }
    struct bootstrap_snapshot snapshot;
    bootstrap_snapshot(machine, &snapshot);
    assert_true(snapshot.clash);
    assert_true(sent.row.version > 100 && sent.row.version < 1500);
    hall_close(&hall);
}

/* A row in our name has the version of our own row, but another content: ours must become newer. */
static void a_different_row_with_our_version_is_a_clash(void **state)
{
    struct hall hall;
    struct bootstrap *machine = machine_open(&hall);
    struct sent sent = {.serial = hall.room.serials[0]};
    bootstrap_step(machine, 0, sent_keep, &sent);
    struct bootstrap_row own = sent.row;
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    bootstrap_receive(machine, 0, bytes, bootstrap_row_write(&own, bytes), 1);
    bootstrap_step(machine, 1, sent_keep, &sent);
    assert_true(sent.row.version == own.version); /* it was our own row */
    row_give(machine, sent.serial, own.version, 2);
    bootstrap_step(machine, 2, sent_keep, &sent);
    assert_true(sent.row.version == own.version + 1);
    hall_close(&hall);
}

static void the_row_of_an_earlier_incarnation_may_arrive_before_the_first_step(void **state)
{
    struct hall hall;
    struct sent sent = {0};
    hall_open(&hall, "torus:3", 1);
    hall_start(&hall, 0, NODE_NONE);
    struct bootstrap *machine = hall.machines[0];
    row_give(machine, hall.room.serials[0], 7, 0);
    for (unsigned i = 0; i <= 20; i++)
        bootstrap_step(machine, i * HELLO, sent_keep, &sent);
    node_id vertex;
    const struct placement *placement;
    assert_true(bootstrap_done(machine, &vertex, &placement));
    assert_int_equal(placement->count, 1);
    assert_true(vertex < hall.room.count);
    hall_close(&hall);
}

/* ---- the file ---- */

static void the_coordinate_is_saved(void **state)
{
    char text[BOOTSTRAP_TEXT_SIZE];
    node_id server;
    struct why why;
    size_t size = bootstrap_text_write(7003, 12, text);
    assert_string_equal(text, "weft coordinate 1\nserial 7003\nserver 12\ncheck "
                              "0c8e56d8f2b0b4fd\n");
    assert_int_equal(bootstrap_text_read(&server, 7003, 27, text, size, &why), OK);
    assert_int_equal(server, 12);
    assert_int_equal(bootstrap_text_read(&server, 7004, 27, text, size, &why), ERR_INPUT);
    assert_string_equal(why.text,
                        "the saved coordinate belongs to serial 7003, but this is serial 7004");
    assert_int_equal(bootstrap_text_read(&server, 7003, 12, text, size, &why), ERR_INPUT);
    assert_string_equal(why.text, "the saved coordinate is server 12, but the plan has only 12");
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(bootstrap_text_read(&server, 7003, 27, text, cut, &why), ERR_INPUT);
    for (size_t at = 0; at < size; at++) {
        text[at] ^= 1;
        assert_int_equal(bootstrap_text_read(&server, 7003, 27, text, size, &why), ERR_INPUT);
        assert_string_equal(why.text, "the saved coordinate is damaged");
        text[at] ^= 1;
    }
    size = bootstrap_text_write(UINT64_MAX, NODE_NONE - 1, text); /* the longest possible */
    assert_int_equal(bootstrap_text_read(&server, UINT64_MAX, NODE_NONE, text, size, &why), OK);
}

/* On a torus the lowest serial number would get vertex 0. */
static void kept_places_stay_when_servers_are_added(void **state)
{
    struct hall hall;
    struct placement truth;
    hall_open(&hall, "torus:3x3x3", 9);
    uint32_t lowest = 0;
    for (uint32_t i = 0; i < hall.room.count; i++)
        lowest = hall.room.serials[i] < hall.room.serials[lowest] ? i : lowest;
    hall_start_all(&hall);
    hall_stop(&hall, lowest);
    room_report(&hall.room);
    for (uint32_t i = 0; i < hall.room.count; i++)
        for (uint32_t port = 0; port < PORT_MAX; port++) /* nothing arrives from it */
            if (hall.room.reports[i].ears[port].serial == hall.room.serials[lowest])
                hall.room.reports[i].ears[port] = (struct placement_end){.port = PORT_NONE};
    hall_run(&hall, &truth);
    room_report(&hall.room);
    for (uint32_t i = 0; i < hall.room.count; i++) {
        node_id place = placement_find(&truth, hall.room.serials[i]);
        hall.room.reports[i].known = i == lowest ? NODE_NONE : place;
        if (i != lowest)
            bootstrap_keep(hall.machines[i], place);
    }
    struct placement later;
    hall_start(&hall, lowest, NODE_NONE);
    hall_run(&hall, &later);
    assert_int_equal(later.finding_count, 0);
    assert_int_not_equal(placement_find(&later, hall.room.serials[lowest]), 0);
    for (uint32_t i = 0; i < truth.count; i++)
        assert_int_equal(placement_find(&later, truth.serials[i]), truth.vertices[i]);
    placement_fini(&truth);
    placement_fini(&later);
    hall_close(&hall);
}

TEST_MAIN(
    TEST(all_servers_compute_the_same_places), TEST(servers_with_the_same_rows_send_only_hellos),
    TEST(all_servers_report_a_miswired_cable_until_it_is_repaired),
    TEST(a_stopped_server_is_left_out_and_may_return),
    TEST(kept_places_stay_when_servers_are_added), TEST(an_end_that_receives_nothing_is_reported),
    TEST(two_servers_with_one_serial_number_notice_the_clash),
    TEST(messages_are_read_as_written_and_damage_is_detected), TEST(malformed_messages_are_counted),
    TEST(a_complete_cluster_does_not_wait_for_the_quiet_time),
    TEST(a_neighbour_that_sends_an_old_row_receives_the_newer_one),
    TEST(changes_are_announced_with_the_next_hello), TEST(a_server_that_still_waits_has_not_agreed),
    TEST(a_neighbour_with_another_digest_receives_all_rows_at_intervals),
    TEST(a_step_sends_one_burst_and_returns_whether_more_waits),
    TEST(a_repeated_row_with_the_same_content_changes_no_place),
    TEST(a_clash_of_serial_numbers_ends), TEST(a_different_row_with_our_version_is_a_clash),
    TEST(the_row_of_an_earlier_incarnation_may_arrive_before_the_first_step),
    TEST(the_coordinate_is_saved))
