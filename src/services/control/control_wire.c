#include "services/control/control_wire.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/utf8.h"

#define ANSWER_BIT 0x80

/* Sizes in bytes, as control_snapshot_write writes them: of all fields of a snapshot except its
 * ports, its services in trouble and its bits of reachable servers; of one port; and of one service
 * in trouble. */
#define SNAPSHOT_NODE_SIZE    (4 + 8 + 1 + 2 * 4 + 10 * 8 + 1 + DROP_COUNT * 8 + 8 + 8 + 4 + 1)
#define SNAPSHOT_PORT_SIZE    (1 + 4 * 4 + 6 * 8)
#define SNAPSHOT_TROUBLE_SIZE (1 + CONTROL_NAME_MAX + 2 * 4 + 2 * 8)
static_assert(7 + SNAPSHOT_NODE_SIZE + PORT_MAX * SNAPSHOT_PORT_SIZE + 1 +
                      NODE_SERVICES_MAX * SNAPSHOT_TROUBLE_SIZE + CONTROL_SERVERS_MAX / 8 <=
                  CONTROL_ANSWER_MAX,
              "every snapshot fits into one answer");

static bool read_flag(struct reader *in)
{
    uint8_t value = read_u8(in);
    in->failed |= value > 1;
    return value == 1;
}

static int read_end(const struct reader *in)
{
    return in->failed || in->left ? -EPROTO : 0;
}

/* ---- names ---- */

static void name_write(struct writer *out, const char *name)
{
    size_t size = strnlen(name, CONTROL_NAME_MAX);
    write_u8(out, (uint8_t)size);
    write_bytes(out, name, size);
}

/* Accepts only printable ASCII characters other than blanks, because names are shown as they
 * are. */
static void name_read(struct reader *in, char name[CONTROL_NAME_MAX + 1])
{
    size_t size = read_u8(in);
    in->failed |= size == 0 || size > CONTROL_NAME_MAX;
    const uint8_t *letters = in->failed ? NULL : read_bytes(in, size);
    name[0] = '\0';
    if (!letters)
        return;
    for (size_t i = 0; i < size; i++)
        in->failed |= letters[i] <= ' ' || letters[i] > '~';
    memcpy(name, letters, size);
    name[size] = '\0';
}

/* ---- requests ---- */

size_t control_request_write(const struct control_request *request,
                             uint8_t bytes[CONTROL_REQUEST_MAX])
{
    struct writer out = writer_make(bytes, CONTROL_REQUEST_MAX);
    write_u8(&out, CONTROL_VERSION);
    write_u8(&out, (uint8_t)request->kind);
    write_u32(&out, request->token);
    switch (request->kind) {
    case CONTROL_SNAPSHOT:
        break;
    case CONTROL_STATS:
    case CONTROL_PARAMETERS:
        write_u32(&out, request->first);
        break;
    case CONTROL_CUT:
        write_u8(&out, request->port);
        write_u8(&out, request->cut);
        break;
    case CONTROL_WHERE:
        write_u8(&out, request->most);
        write_bytes(&out, request->key.bytes, sizeof request->key.bytes);
        break;
    case CONTROL_ROUTE:
        write_u32(&out, request->server);
        break;
    case CONTROL_KIND_END:
        assert_unreachable();
    }
    assert(!out.failed);
    return CONTROL_REQUEST_MAX - out.left;
}

int control_request_read(struct control_request *request, const void *bytes, size_t size)
{
    struct reader in = reader_make(bytes, size);
    *request = (struct control_request){0};
    in.failed |= read_u8(&in) != CONTROL_VERSION;
    request->kind = (enum control_request_kind)read_u8(&in);
    request->token = read_u32(&in);
    switch (request->kind) {
    case CONTROL_SNAPSHOT:
        break;
    case CONTROL_STATS:
    case CONTROL_PARAMETERS:
        request->first = read_u32(&in);
        break;
    case CONTROL_CUT:
        request->port = read_u8(&in);
        request->cut = read_flag(&in);
        in.failed |= request->port >= PORT_MAX;
        break;
    case CONTROL_WHERE:
        request->most = read_u8(&in);
        read_copy(&in, request->key.bytes, sizeof request->key.bytes);
        in.failed |= request->most == 0 || request->most > CONTROL_REPLICAS_MAX;
        break;
    case CONTROL_ROUTE:
        request->server = read_u32(&in);
        break;
    default:
        in.failed = true;
    }
    return read_end(&in);
}

/* ---- answers ---- */

void control_answer_write(struct writer *out, const struct control_answer *answer)
{
    write_u8(out, CONTROL_VERSION);
    write_u8(out, (uint8_t)(answer->kind | ANSWER_BIT));
    write_u32(out, answer->token);
    write_u8(out, answer->error);
}

int control_answer_read(struct reader *in, struct control_answer *answer)
{
    in->failed |= read_u8(in) != CONTROL_VERSION;
    unsigned kind = read_u8(in);
    answer->kind = (enum control_request_kind)(kind & ~ANSWER_BIT);
    answer->token = read_u32(in);
    answer->error = read_u8(in);
    if (in->failed || !(kind & ANSWER_BIT) || answer->kind < CONTROL_SNAPSHOT ||
        answer->kind >= CONTROL_KIND_END || (answer->error && in->left))
        return -EPROTO;
    return 0;
}

static void port_write(struct writer *out, const struct port_snapshot *port)
{
    write_u8(out, (uint8_t)port->state);
    write_u32(out, port->peer);
    write_u32(out, port->peer_port);
    write_u32(out, port->found);
    write_u32(out, port->found_port);
    write_u64(out, port->packets_out);
    write_u64(out, port->bytes_out);
    write_u64(out, port->frames_out);
    write_u64(out, port->packets_in);
    write_u64(out, port->bytes_in);
    write_u64(out, port->busy);
}

static void port_read(struct reader *in, struct port_snapshot *port)
{
    unsigned state = read_u8(in);
    in->failed |= state > PORT_MISWIRED;
    port->state = (enum port_state)state;
    port->peer = read_u32(in);
    port->peer_port = read_u32(in);
    port->found = read_u32(in);
    port->found_port = read_u32(in);
    port->packets_out = read_u64(in);
    port->bytes_out = read_u64(in);
    port->frames_out = read_u64(in);
    port->packets_in = read_u64(in);
    port->bytes_in = read_u64(in);
    port->busy = read_u64(in);
}

static void troubles_write(struct writer *out, const struct control_snapshot *snapshot)
{
    assert(snapshot->trouble_count <= NODE_SERVICES_MAX);
    write_u8(out, (uint8_t)snapshot->trouble_count);
    for (uint32_t i = 0; i < snapshot->trouble_count; i++) {
        const struct control_trouble *trouble = &snapshot->troubles[i];
        name_write(out, trouble->service);
        write_u32(out, trouble->kept);
        write_u32(out, trouble->share);
        write_u64(out, trouble->over_share);
        write_u64(out, trouble->mistakes);
        write_u64(out, trouble->slow);
        write_u64(out, (uint64_t)trouble->slow_nsec);
        write_u8(out, (uint8_t)trouble->slow_in);
    }
}

static void troubles_read(struct reader *in, struct control_snapshot *snapshot)
{
    snapshot->trouble_count = read_u8(in);
    in->failed |= snapshot->trouble_count > NODE_SERVICES_MAX;
    for (uint32_t i = 0; !in->failed && i < snapshot->trouble_count; i++) {
        struct control_trouble *trouble = &snapshot->troubles[i];
        name_read(in, trouble->service);
        trouble->kept = read_u32(in);
        trouble->share = read_u32(in);
        trouble->over_share = read_u64(in);
        trouble->mistakes = read_u64(in);
        trouble->slow = read_u64(in);
        trouble->slow_nsec = (int64_t)read_u64(in);
        unsigned slow_in = read_u8(in);
        in->failed |= slow_in >= CALLBACK_COUNT || trouble->slow_nsec < 0;
        trouble->slow_in = in->failed ? CALLBACK_NONE : (enum node_callback)slow_in;
    }
}

static void node_write(struct writer *out, const struct node_snapshot *node)
{
    write_u32(out, node->self);
    write_u64(out, node->incarnation);
    write_u8(out, node->settled);
    write_u32(out, node->reachable);
    write_u32(out, node->limbo);
    write_u64(out, node->steps);
    write_u64(out, node->packets_in);
    write_u64(out, node->packets_out);
    write_u64(out, node->delivered);
    write_u64(out, node->intercepted);
    write_u64(out, node->sent);
    write_u64(out, node->recomputations);
    write_u64(out, node->rows_taken);
    write_u64(out, node->rows_refused);
    write_u64(out, node->digest);
    write_u8(out, DROP_COUNT);
    for (unsigned i = 0; i < DROP_COUNT; i++)
        write_u64(out, node->drops[i]);
}

static void node_read(struct reader *in, struct node_snapshot *node)
{
    node->self = read_u32(in);
    node->incarnation = read_u64(in);
    node->settled = read_flag(in);
    node->reachable = read_u32(in);
    node->limbo = read_u32(in);
    node->steps = read_u64(in);
    node->packets_in = read_u64(in);
    node->packets_out = read_u64(in);
    node->delivered = read_u64(in);
    node->intercepted = read_u64(in);
    node->sent = read_u64(in);
    node->recomputations = read_u64(in);
    node->rows_taken = read_u64(in);
    node->rows_refused = read_u64(in);
    node->digest = read_u64(in);
    in->failed |= read_u8(in) != DROP_COUNT;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        node->drops[i] = read_u64(in);
}

void control_snapshot_write(struct writer *out, const struct control_snapshot *snapshot)
{
    assert(snapshot->server_count <= CONTROL_SERVERS_MAX && snapshot->port_count <= PORT_MAX);
    node_write(out, &snapshot->node);
    write_u64(out, (uint64_t)snapshot->now);
    write_u64(out, (uint64_t)snapshot->started);
    write_u32(out, snapshot->server_count);
    write_u8(out, (uint8_t)snapshot->port_count);
    for (uint32_t port = 0; port < snapshot->port_count; port++)
        port_write(out, &snapshot->ports[port]);
    troubles_write(out, snapshot);
    write_bytes(out, snapshot->reach, (snapshot->server_count + 7) / 8);
}

int control_snapshot_read(struct reader *in, struct control_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof *snapshot);
    node_read(in, &snapshot->node);
    snapshot->now = (int64_t)read_u64(in);
    snapshot->started = (int64_t)read_u64(in);
    snapshot->server_count = read_u32(in);
    snapshot->port_count = read_u8(in);
    if (in->failed || snapshot->server_count > CONTROL_SERVERS_MAX ||
        snapshot->port_count > PORT_MAX ||
        snapshot->node.self >= snapshot->server_count) /* so there is at least one server */
        return -EPROTO;
    for (uint32_t port = 0; port < snapshot->port_count; port++)
        port_read(in, &snapshot->ports[port]);
    troubles_read(in, snapshot);
    read_copy(in, snapshot->reach, (snapshot->server_count + 7) / 8);
    /* Unused bits are 0, so that a snapshot has exactly one encoding. */
    if (snapshot->server_count % 8)
        in->failed |=
            snapshot->reach[snapshot->server_count / 8] >> snapshot->server_count % 8 != 0;
    return read_end(in);
}

void control_where_write(struct writer *out, const struct control_where *where)
{
    assert(where->count <= CONTROL_REPLICAS_MAX);
    write_u8(out, where->settled);
    write_u8(out, where->own);
    write_u32(out, where->root);
    write_u8(out, (uint8_t)where->count);
    for (uint32_t i = 0; i < where->count; i++) {
        write_u32(out, where->replicas[i].server);
        write_u32(out, where->replicas[i].distance);
    }
}

int control_where_read(struct reader *in, struct control_where *where)
{
    *where = (struct control_where){0};
    where->settled = read_flag(in);
    where->own = read_flag(in);
    where->root = read_u32(in);
    where->count = read_u8(in);
    if (where->count > CONTROL_REPLICAS_MAX)
        return -EPROTO;
    for (uint32_t i = 0; i < where->count; i++) {
        where->replicas[i].server = read_u32(in);
        where->replicas[i].distance = read_u32(in);
    }
    return read_end(in);
}

void control_route_write(struct writer *out, const struct control_route *route)
{
    write_u32(out, route->distance);
    write_u32(out, route->ports);
}

int control_route_read(struct reader *in, struct control_route *route)
{
    route->distance = read_u32(in);
    route->ports = read_u32(in);
    return read_end(in);
}

/* ---- counters of services ---- */

void control_stats_write(struct writer *out, uint32_t total)
{
    write_u32(out, total);
}

bool control_stat_write(struct writer *out, const char *service, const char *name, uint64_t value)
{
    struct writer trial = *out;
    name_write(&trial, service);
    name_write(&trial, name);
    write_u64(&trial, value);
    if (trial.failed)
        return false;
    *out = trial;
    return true;
}

uint32_t control_stats_read(struct reader *in)
{
    return read_u32(in);
}

int control_stat_read(struct reader *in, struct control_stat *stat)
{
    if (in->failed)
        return -EPROTO;
    if (in->left == 0)
        return 0;
    name_read(in, stat->service);
    name_read(in, stat->name);
    stat->value = read_u64(in);
    return in->failed ? -EPROTO : 1;
}

/* ---- parameters of services ---- */

bool control_parameter_write(struct writer *out, const char *service,
                             const struct weft_parameter *parameter, const char *value)
{
    struct writer trial = *out;
    size_t size = strnlen(value, WEFT_TEXT_MAX);
    name_write(&trial, service);
    name_write(&trial, parameter->name);
    write_u8(&trial, (uint8_t)parameter->type);
    write_u8(&trial, (uint8_t)size);
    write_bytes(&trial, value, size);
    if (trial.failed)
        return false;
    *out = trial;
    return true;
}

/* Accepts only text without control characters, because values are shown as they are. */
static void value_read(struct reader *in, char value[WEFT_TEXT_MAX + 1])
{
    size_t size = read_u8(in);
    const char *letters = (const char *)read_bytes(in, size);
    value[0] = '\0';
    if (!letters)
        return;
    in->failed |= utf8_valid(letters, size) != size;
    for (size_t i = 0; i < size; i++)
        in->failed |= letters[i] == '\0' || utf8_control(letters + i, size - i);
    memcpy(value, letters, size);
    value[size] = '\0';
}

int control_parameter_read(struct reader *in, struct control_parameter *parameter)
{
    if (in->failed)
        return -EPROTO;
    if (in->left == 0)
        return 0;
    name_read(in, parameter->service);
    name_read(in, parameter->name);
    unsigned type = read_u8(in);
    in->failed |= type < WEFT_PARAMETER_BOOL || type > WEFT_PARAMETER_CHOICE;
    parameter->type = (enum weft_parameter_type)type;
    value_read(in, parameter->value);
    return in->failed ? -EPROTO : 1;
}
