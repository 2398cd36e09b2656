#include "services/control/control_wire.h"

#include <errno.h>
#include <string.h>

#include "base/test.h"

static uint8_t buffer[CONTROL_ANSWER_MAX], again[CONTROL_ANSWER_MAX];
static struct control_snapshot snapshot, copy;

static void requests_are_read_as_they_were_written(void **state)
{
    const struct control_request all[] = {
        {.kind = CONTROL_SNAPSHOT, .token = 7},
        {.kind = CONTROL_STATS, .token = UINT32_MAX, .first = 300},
        {.kind = CONTROL_CUT, .port = 5, .cut = true},
        {.kind = CONTROL_CUT, .port = PORT_MAX - 1},
        {.kind = CONTROL_WHERE, .most = CONTROL_REPLICAS_MAX, .key = {{1, 2, 3}}},
        {.kind = CONTROL_ROUTE, .server = 26},
        {.kind = CONTROL_PARAMETERS, .token = 8, .first = 12},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        uint8_t bytes[CONTROL_REQUEST_MAX];
        struct control_request one;
        size_t size = control_request_write(&all[i], bytes);
        assert_int_equal(control_request_read(&one, bytes, size), 0);
        assert_int_equal(one.kind, all[i].kind);
        assert_int_equal(one.token, all[i].token);
        assert_int_equal(one.first, all[i].first);
        assert_int_equal(one.port, all[i].port);
        assert_int_equal(one.cut, all[i].cut);
        assert_int_equal(one.most, all[i].most);
        assert_memory_equal(one.key.bytes, all[i].key.bytes, KEY_SIZE);
        assert_int_equal(one.server, all[i].server);
        for (size_t less = 0; less < size; less++)
            assert_int_equal(control_request_read(&one, bytes, less), -EPROTO);
        bytes[size] = 0;
        assert_int_equal(control_request_read(&one, bytes, size + 1), -EPROTO);
    }
}

static void impossible_requests_are_refused(void **state)
{
    static const uint8_t version[] = {2, CONTROL_SNAPSHOT, 0, 0, 0, 0};
    static const uint8_t kind[] = {1, CONTROL_KIND_END, 0, 0, 0, 0};
    static const uint8_t zero[] = {1, 0, 0, 0, 0, 0};
    static const uint8_t port[] = {1, CONTROL_CUT, 0, 0, 0, 0, PORT_MAX, 0};
    static const uint8_t flag[] = {1, CONTROL_CUT, 0, 0, 0, 0, 0, 2};
    static const uint8_t most[6 + 1 + KEY_SIZE] = {1, CONTROL_WHERE};
    struct control_request one;
    assert_int_equal(control_request_read(&one, version, sizeof version), -EPROTO);
    assert_int_equal(control_request_read(&one, kind, sizeof kind), -EPROTO);
    assert_int_equal(control_request_read(&one, zero, sizeof zero), -EPROTO);
    assert_int_equal(control_request_read(&one, port, sizeof port), -EPROTO);
    assert_int_equal(control_request_read(&one, flag, sizeof flag), -EPROTO);
    assert_int_equal(control_request_read(&one, most, sizeof most), -EPROTO);
    uint8_t many[sizeof most] = {1, CONTROL_WHERE, 0, 0, 0, 0, CONTROL_REPLICAS_MAX + 1};
    assert_int_equal(control_request_read(&one, many, sizeof many), -EPROTO);
}

/* Gives every field another value. */
static void snapshot_fill(uint32_t servers, uint32_t ports)
{
    uint64_t next = 1000;
    memset(&snapshot, 0, sizeof snapshot);
    snapshot.node =
        (struct node_snapshot){.self = servers - 1, .incarnation = next++, .settled = true};
    snapshot.node.reachable = (uint32_t)next++;
    snapshot.node.limbo = (uint32_t)next++;
    uint64_t *counters[] = {&snapshot.node.steps,          &snapshot.node.packets_in,
                            &snapshot.node.packets_out,    &snapshot.node.delivered,
                            &snapshot.node.intercepted,    &snapshot.node.sent,
                            &snapshot.node.recomputations, &snapshot.node.rows_taken,
                            &snapshot.node.rows_refused,   &snapshot.node.digest};
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++)
        *counters[i] = next++ << 32;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        snapshot.node.drops[i] = next++;
    snapshot.now = -5;
    snapshot.started = -1000;
    snapshot.server_count = servers;
    snapshot.port_count = ports;
    for (uint32_t i = 0; i < ports; i++)
        snapshot.ports[i] = (struct port_snapshot){(enum port_state)(i % (PORT_MISWIRED + 1)),
                                                   i,
                                                   i + 1,
                                                   i + 2,
                                                   i + 3,
                                                   next + 1,
                                                   next + 2,
                                                   next + 3,
                                                   next + 4,
                                                   next + 5,
                                                   next + 6};
    snapshot.trouble_count = ports ? ports : 1;
    for (uint32_t i = 0; i < snapshot.trouble_count; i++) {
        struct control_trouble *trouble = &snapshot.troubles[i];
        memset(trouble->service, 'a' + (int)(i % 26), 1 + i % CONTROL_NAME_MAX);
        trouble->kept = (uint32_t)next++;
        trouble->share = (uint32_t)next++;
        trouble->over_share = next++;
        trouble->mistakes = next++;
        trouble->slow = next++;
        trouble->slow_nsec = (int64_t)next++;
        trouble->slow_in = (enum node_callback)(i % CALLBACK_COUNT);
    }
    for (uint32_t v = 0; v < servers; v += 3)
        snapshot.reach[v / 8] |= (uint8_t)(1 << v % 8);
}

static size_t snapshot_write(void)
{
    struct writer out = writer_make(buffer, sizeof buffer);
    control_snapshot_write(&out, &snapshot);
    assert_false(out.failed);
    return sizeof buffer - out.left;
}

static void snapshots_are_read_as_they_were_written(void **state)
{
    static const struct {
        uint32_t servers, ports;
    } sizes[] = {{1, 0}, {27, 6}, {CONTROL_SERVERS_MAX, PORT_MAX}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        snapshot_fill(sizes[i].servers, sizes[i].ports);
        size_t size = snapshot_write();
        struct reader in = reader_make(buffer, size);
        assert_int_equal(control_snapshot_read(&in, &copy), 0);
        assert_int_equal(copy.node.digest, snapshot.node.digest);
        assert_int_equal(copy.node.limbo, snapshot.node.limbo);
        assert_int_equal(copy.now, -5);
        assert_true(control_reaches(&copy, 0));
        assert_memory_equal(copy.reach, snapshot.reach, sizeof snapshot.reach);
        struct writer out = writer_make(again, sizeof again);
        control_snapshot_write(&out, &copy);
        assert_int_equal(sizeof again - out.left, size);
        assert_memory_equal(again, buffer, size);
        for (uint32_t p = 0; p < sizes[i].ports; p++)
            assert_memory_equal(&copy.ports[p], &snapshot.ports[p], sizeof snapshot.ports[p]);
        assert_int_equal(copy.trouble_count, snapshot.trouble_count);
        for (uint32_t t = 0; t < copy.trouble_count; t++) {
            assert_string_equal(copy.troubles[t].service, snapshot.troubles[t].service);
            assert_int_equal(copy.troubles[t].mistakes, snapshot.troubles[t].mistakes);
            assert_int_equal(copy.troubles[t].slow, snapshot.troubles[t].slow);
            assert_true(copy.troubles[t].slow_nsec == snapshot.troubles[t].slow_nsec);
            assert_int_equal(copy.troubles[t].slow_in, snapshot.troubles[t].slow_in);
        }
    }
}

static void a_truncated_or_too_long_snapshot_is_refused(void **state)
{
    snapshot_fill(27, 6);
    size_t size = snapshot_write();
    for (size_t less = 0; less < size; less++) {
        struct reader in = reader_make(buffer, less);
        assert_int_equal(control_snapshot_read(&in, &copy), -EPROTO);
    }
    struct reader longer = reader_make(buffer, size + 1);
    assert_int_equal(control_snapshot_read(&longer, &copy), -EPROTO);
    buffer[size - 1] |= 0x80; /* server 31 of 27 */
    struct reader in = reader_make(buffer, size);
    assert_int_equal(control_snapshot_read(&in, &copy), -EPROTO);
}

/* Where the fields are, to write snapshots that control_snapshot_write does not. */
enum {
    AT_SELF = 0,
    AT_DROPS = 4 + 8 + 1 + 2 * 4 + 10 * 8,
    AT_SERVERS = AT_DROPS + 1 + DROP_COUNT * 8 + 2 * 8,
    AT_PORTS = AT_SERVERS + 4,
    AT_PORT = AT_PORTS + 1,
    PORT_SIZE = 1 + 4 * 4 + 6 * 8,
};

static int snapshot_read(size_t size)
{
    struct reader in = reader_make(buffer, size);
    return control_snapshot_read(&in, &copy);
}

static void an_impossible_snapshot_is_refused(void **state)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } wrong[] = {
        {AT_SELF + 3, 27},          /* its own number is not below 27 */
        {AT_DROPS, DROP_COUNT + 1}, /* number of drop reasons */
        {AT_PORT, PORT_MISWIRED + 1},
        {AT_PORT + 6 * PORT_SIZE, NODE_SERVICES_MAX + 1}, /* number of services in trouble */
        {AT_PORT + 6 * PORT_SIZE + 2, ' '},               /* in the name of a service */
    };
    snapshot_fill(27, 6);
    size_t size = snapshot_write();
    assert_int_equal(snapshot_read(size), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint8_t good = buffer[wrong[i].at];
        buffer[wrong[i].at] = wrong[i].value;
        assert_int_equal(snapshot_read(size), -EPROTO);
        buffer[wrong[i].at] = good;
    }
    assert_int_equal(snapshot_read(size), 0);
    /* One port more than the maximum, with all its fields, which are zeroes. */
    snapshot_fill(27, PORT_MAX);
    memset(buffer, 0, sizeof buffer);
    size = snapshot_write() + PORT_SIZE;
    assert_true(size <= sizeof buffer);
    memset(buffer + size - PORT_SIZE - 4, 0, PORT_SIZE + 4);
    buffer[AT_PORTS]++;
    assert_int_equal(snapshot_read(size), -EPROTO);
    /* One server more than the maximum; and no server at all, though the sender is server 0. */
    snapshot_fill(CONTROL_SERVERS_MAX, 0);
    memset(buffer, 0, sizeof buffer);
    size = snapshot_write() + 1;
    assert_true(size <= sizeof buffer);
    buffer[AT_SERVERS + 3]++;
    assert_int_equal(snapshot_read(size), -EPROTO);
    snapshot_fill(1, 0);
    size = snapshot_write();
    buffer[AT_SERVERS + 3] = 0;
    assert_int_equal(snapshot_read(size - 1), -EPROTO);
}

static void an_answer_begins_with_its_kind_and_may_refuse(void **state)
{
    struct control_answer answer = {CONTROL_CUT, 0x01020304, EINVAL}, one;
    struct writer out = writer_make(buffer, sizeof buffer);
    control_answer_write(&out, &answer);
    assert_int_equal(sizeof buffer - out.left, 7);
    struct reader in = reader_make(buffer, 7);
    assert_int_equal(control_answer_read(&in, &one), 0);
    assert_int_equal(one.kind, CONTROL_CUT);
    assert_int_equal(one.token, 0x01020304);
    assert_int_equal(one.error, EINVAL);

    in = reader_make(buffer, 8); /* a refusal followed by a byte */
    assert_int_equal(control_answer_read(&in, &one), -EPROTO);
    static const uint8_t kinds[] = {CONTROL_CUT, /* a request is no answer */
                                    0x80, 0x80 | CONTROL_KIND_END};
    for (size_t i = 0; i < sizeof kinds; i++) {
        buffer[1] = kinds[i];
        in = reader_make(buffer, 7);
        assert_int_equal(control_answer_read(&in, &one), -EPROTO);
    }
    buffer[1] = 0x80 | CONTROL_CUT;
    buffer[0]++;
    in = reader_make(buffer, 7);
    assert_int_equal(control_answer_read(&in, &one), -EPROTO);
}

static void replicas_and_routes_are_read_as_they_were_written(void **state)
{
    struct control_where where = {
        .settled = true, .own = true, .root = 26, .count = CONTROL_REPLICAS_MAX};
    struct control_where other;
    struct control_route route = {3, 0x15}, way;
    for (uint32_t i = 0; i < where.count; i++)
        where.replicas[i] = (struct control_replica){26 - i, i};
    struct writer out = writer_make(buffer, sizeof buffer);
    control_where_write(&out, &where);
    struct reader in = reader_make(buffer, sizeof buffer - out.left);
    assert_int_equal(control_where_read(&in, &other), 0);
    assert_memory_equal(&other, &where, sizeof where);
    in = reader_make(buffer, sizeof buffer - out.left - 1);
    assert_int_equal(control_where_read(&in, &other), -EPROTO);
    buffer[6] = CONTROL_REPLICAS_MAX + 1; /* with all their fields */
    in = reader_make(buffer, sizeof buffer - out.left + 8);
    assert_int_equal(control_where_read(&in, &other), -EPROTO);

    out = writer_make(buffer, sizeof buffer);
    control_route_write(&out, &route);
    in = reader_make(buffer, sizeof buffer - out.left);
    assert_int_equal(control_route_read(&in, &way), 0);
    assert_int_equal(way.distance, 3);
    assert_int_equal(way.ports, 0x15);
}

static void counters_are_written_as_long_as_there_is_room(void **state)
{
    struct control_stat stat;
    struct writer out = writer_make(buffer, 64);
    control_stats_write(&out, 100);
    uint32_t written = 0;
    while (control_stat_write(&out, "ping", "sent", written))
        written++;
    assert_int_equal(written, (64 - 4) / (1 + 4 + 1 + 4 + 8));
    assert_false(out.failed);

    struct reader in = reader_make(buffer, 64 - out.left);
    assert_int_equal(control_stats_read(&in), 100);
    for (uint32_t i = 0; i < written; i++) {
        assert_int_equal(control_stat_read(&in, &stat), 1);
        assert_string_equal(stat.service, "ping");
        assert_string_equal(stat.name, "sent");
        assert_int_equal(stat.value, i);
    }
    assert_int_equal(control_stat_read(&in, &stat), 0);
    static const char spoil[] = {'\n', ' ', 0x7f}; /* would break a line of output */
    for (size_t i = 0; i < sizeof spoil; i++) {
        buffer[6] = (uint8_t)spoil[i];
        in = reader_make(buffer, 64 - out.left);
        control_stats_read(&in);
        assert_int_equal(control_stat_read(&in, &stat), -EPROTO);
    }
}

static void parameters_are_written_as_long_as_there_is_room(void **state)
{
    const struct weft_parameter wait = {.name = "wait", .type = WEFT_PARAMETER_DURATION};
    const struct weft_parameter label = {.name = "label", .type = WEFT_PARAMETER_TEXT};
    struct control_parameter found;
    struct writer out = writer_make(buffer, 40);
    assert_true(control_parameter_write(&out, "store", &wait, "3s"));
    assert_true(control_parameter_write(&out, "store", &label, ""));
    assert_false(control_parameter_write(&out, "store", &label, "x"));
    struct reader in = reader_make(buffer, 40 - out.left);
    assert_int_equal(control_parameter_read(&in, &found), 1);
    assert_string_equal(found.service, "store");
    assert_string_equal(found.name, "wait");
    assert_int_equal(found.type, WEFT_PARAMETER_DURATION);
    assert_string_equal(found.value, "3s");
    assert_int_equal(control_parameter_read(&in, &found), 1);
    assert_string_equal(found.value, "");
    assert_int_equal(control_parameter_read(&in, &found), 0);

    size_t type = 1 + 5 + 1 + 4, size = type + 2 + 2; /* of the first one */
    for (size_t less = 1; less < size; less++) {
        in = reader_make(buffer, less);
        assert_int_equal(control_parameter_read(&in, &found), -EPROTO);
    }
    static const uint8_t types[] = {0, WEFT_PARAMETER_CHOICE + 1};
    for (size_t i = 0; i < sizeof types; i++) {
        buffer[type] = types[i];
        in = reader_make(buffer, size);
        assert_int_equal(control_parameter_read(&in, &found), -EPROTO);
    }
    buffer[type] = WEFT_PARAMETER_TEXT;
    static const uint8_t spoil[] = {0, '\n', 0x7f, 0xff};
    for (size_t i = 0; i < sizeof spoil; i++) {
        buffer[size - 1] = spoil[i];
        in = reader_make(buffer, size);
        assert_int_equal(control_parameter_read(&in, &found), -EPROTO);
    }
}

static void names_of_counters_are_bounded(void **state)
{
    static const uint8_t sizes[] = {0, CONTROL_NAME_MAX + 1};
    struct control_stat stat;
    for (size_t i = 0; i < sizeof sizes; i++) {
        struct writer out = writer_make(buffer, sizeof buffer);
        write_u8(&out, sizes[i]);
        for (unsigned j = 0; j < sizes[i]; j++)
            write_u8(&out, 'a');
        write_u8(&out, 1);
        write_u8(&out, 'b');
        write_u64(&out, 3);
        struct reader in = reader_make(buffer, sizeof buffer - out.left);
        assert_int_equal(control_stat_read(&in, &stat), -EPROTO);
    }
}

TEST_MAIN(TEST(requests_are_read_as_they_were_written), TEST(impossible_requests_are_refused),
          TEST(snapshots_are_read_as_they_were_written),
          TEST(a_truncated_or_too_long_snapshot_is_refused),
          TEST(an_impossible_snapshot_is_refused),
          TEST(an_answer_begins_with_its_kind_and_may_refuse), TEST(names_of_counters_are_bounded),
          TEST(replicas_and_routes_are_read_as_they_were_written),
          TEST(counters_are_written_as_long_as_there_is_room),
          TEST(parameters_are_written_as_long_as_there_is_room))
