/* bootstrap: the rows, and to which neighbours each is sent.
 *
 * Invariants: the first row is ours; each serial number has one row, and `order` lists the rows by
 * serial number; a row's version never falls, and its content never changes without its version.
 * While `stale` is false, `joined` is set in the rows of exactly those servers that a chain of
 * servers connects to us, in which neighbours receive each other's hellos. */
#include "node/commission/bootstrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bfs.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/commission/bootstrap_wire.h"

#define STRANGER_MAX 64 /* rows beyond the plan that are kept, to be reported */
/* How often a row with our serial number may differ from ours; once means an earlier
 * incarnation. */
#define CLASH_MAX 8
#define BURST     512 /* messages per step */

struct row {
    struct bootstrap_row row;
    port_set pending; /* ports over which it has yet to be sent */
    bool joined;
};

struct ear {
    env_nsec heard;  /* time of the last hello, if the row names a neighbour there */
    env_nsec resent; /* when all rows were last marked for sending */
    bool ever;       /* whether `resent` is set */
};

struct bootstrap {
    struct bootstrap_config config;
    struct row *rows; /* row_max */
    uint32_t *order;
    uint32_t row_count, row_max;
    struct placement_report own; /* the hellos that we receive now; our row is what we last
                                  * announced */
    struct ear ears[PORT_MAX];
    env_nsec hello_at; /* the next one */
    env_nsec changed;  /* when a report last changed */
    bool started;
    bool untold; /* our row differs from `own` */
    bool stale;  /* the content of a row changed: all below except rows_digest is outdated */
    uint64_t rows_digest;    /* of all rows and versions */
    uint64_t reports_digest; /* of the reports of the servers that are connected to us */
    struct placement placement;
    bool placed;
    uint32_t clashes;
    uint64_t dropped, sent;
};

enum err bootstrap_open(struct bootstrap **out, const struct bootstrap_config *config,
                        struct why *why)
{
    assert(config->port_count <= PORT_MAX);
    struct bootstrap *bootstrap = array_new(1, sizeof *bootstrap);
    if (!bootstrap)
        return why_memory(why);
    bootstrap->config = *config;
    bootstrap->row_max = config->plan->server_count + STRANGER_MAX;
    bootstrap->rows = array_new(bootstrap->row_max, sizeof *bootstrap->rows);
    bootstrap->order = array_new(bootstrap->row_max, sizeof *bootstrap->order);
    if (!bootstrap->rows || !bootstrap->order) {
        bootstrap_close(bootstrap);
        return why_memory(why);
    }
    struct bootstrap_config *set = &bootstrap->config;
    set->hello_nsec = set->hello_nsec ? set->hello_nsec : 100 * INT64_C(1000000);
    set->silence_nsec = set->silence_nsec ? set->silence_nsec : 5 * set->hello_nsec;
    set->quiet_nsec = set->quiet_nsec ? set->quiet_nsec : 10 * set->hello_nsec;
    bootstrap->own = (struct placement_report){
        .serial = config->serial, .known = config->known, .port_count = config->port_count};
    for (uint32_t port = 0; port < PORT_MAX; port++)
        bootstrap->own.ears[port].port = PORT_NONE;
    bootstrap->rows[0].row.report = bootstrap->own;
    bootstrap->row_count = 1;
    bootstrap->untold = bootstrap->stale = true;
    *out = bootstrap;
    return OK;
}

void bootstrap_close(struct bootstrap *bootstrap)
{
    if (bootstrap->placed)
        placement_fini(&bootstrap->placement);
    free(bootstrap->rows);
    free(bootstrap->order);
    free(bootstrap);
}

/* ---- rows ---- */

/* The position of a serial number in the order, or where it would be inserted. */
static uint32_t order_find(const struct bootstrap *bootstrap, uint64_t serial)
{
    uint32_t low = 0, high = bootstrap->row_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (bootstrap->rows[bootstrap->order[middle]].row.report.serial < serial)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct row *row_find(const struct bootstrap *bootstrap, uint64_t serial)
{
    uint32_t at = order_find(bootstrap, serial);
    struct row *row = at < bootstrap->row_count ? &bootstrap->rows[bootstrap->order[at]] : NULL;
    return row && row->row.report.serial == serial ? row : NULL;
}

/* Adds a row for a serial number that has none; NULL: there are too many rows. */
static struct row *row_add(struct bootstrap *bootstrap, uint64_t serial)
{
    if (bootstrap->row_count == bootstrap->row_max)
        return NULL;
    uint32_t at = order_find(bootstrap, serial), last = bootstrap->row_count;
    memmove(bootstrap->order + at + 1, bootstrap->order + at,
            (last - at) * sizeof *bootstrap->order);
    bootstrap->order[at] = last;
    bootstrap->rows[last] = (struct row){.row.report.serial = serial};
    bootstrap->row_count++;
    return &bootstrap->rows[last];
}

static port_set ports_all(const struct bootstrap *bootstrap)
{
    uint32_t count = bootstrap->config.port_count;
    return count == 32 ? UINT32_MAX : (UINT32_C(1) << count) - 1;
}

static bool hears(const struct placement_report *report, uint32_t port)
{
    return port < report->port_count && report->ears[port].port < PORT_MAX;
}

static bool report_same(const struct placement_report *one, const struct placement_report *other)
{
    if (one->known != other->known || one->port_count != other->port_count)
        return false;
    for (uint32_t port = 0; port < one->port_count; port++) {
        if (hears(one, port) != hears(other, port) ||
            (hears(one, port) && (one->ears[port].serial != other->ears[port].serial ||
                                  one->ears[port].port != other->ears[port].port)))
            return false;
    }
    return true;
}

/* The digests of several rows are added up, so their order does not matter. */
static uint64_t report_digest(const struct placement_report *report)
{
    uint64_t hash = hash_mix(report->serial + hash_mix(report->known));
    for (uint32_t port = 0; port < report->port_count; port++) {
        if (hears(report, port))
            hash =
                hash_mix(hash + hash_mix(report->ears[port].serial +
                                         hash_mix((uint64_t)port << 32 | report->ears[port].port)));
    }
    return hash;
}

static uint64_t version_digest(const struct bootstrap_row *row)
{
    return row->version ? hash_mix(row->report.serial + hash_mix(row->version)) : 0;
}

/* The only function that changes a row. */
static void row_set(struct bootstrap *bootstrap, struct row *row, const struct bootstrap_row *to,
                    port_set pending, env_nsec now)
{
    assert(to->version > row->row.version);
    if (row->row.version == 0 || !report_same(&row->row.report, &to->report)) {
        bootstrap->stale = true;
        bootstrap->changed = now;
    }
    bootstrap->rows_digest += version_digest(to) - version_digest(&row->row);
    row->row = *to;
    row->pending = pending;
}

/* Announces a new row: the hellos that we receive, or that we have all reports. */
static void own_say(struct bootstrap *bootstrap, uint64_t agreed, env_nsec now)
{
    struct bootstrap_row row = {
        .report = bootstrap->own, .version = bootstrap->rows[0].row.version + 1, .agreed = agreed};
    bootstrap->untold = false;
    row_set(bootstrap, &bootstrap->rows[0], &row, ports_all(bootstrap), now);
}

/* ---- receiving ---- */

static void own_hears(struct bootstrap *bootstrap, unsigned port, struct placement_end end)
{
    struct placement_end *ear = &bootstrap->own.ears[port];
    if (ear->port == end.port && (end.port == PORT_NONE || ear->serial == end.serial))
        return;
    *ear = end;
    bootstrap->untold = true;
}

void bootstrap_keep(struct bootstrap *bootstrap, node_id vertex)
{
    bootstrap->untold |= bootstrap->own.known != vertex;
    bootstrap->own.known = vertex;
}

static void hello_take(struct bootstrap *bootstrap, unsigned port, const uint8_t *bytes,
                       size_t size, env_nsec now)
{
    struct bootstrap_hello hello;
    if (!bootstrap_hello_read(&hello, bytes, size)) {
        bootstrap->dropped++;
        return;
    }
    struct ear *ear = &bootstrap->ears[port];
    ear->heard = now;
    own_hears(bootstrap, port, (struct placement_end){hello.serial, hello.port});
    /* Digests also differ while rows are in flight, so not every difference makes us resend all
     * rows. */
    bool often = ear->ever && now - ear->resent < 3 * bootstrap->config.hello_nsec;
    if (hello.digest == bootstrap->rows_digest || often)
        return;
    ear->resent = now;
    ear->ever = true;
    for (uint32_t i = 0; i < bootstrap->row_count; i++)
        bootstrap->rows[i].pending |= UINT32_C(1) << port;
}

/* Handles a row with our own serial number: from our earlier incarnation, or from another server.
 * Our version must be higher; repeated clashes mean a duplicate serial number. */
static void own_row_take(struct bootstrap *bootstrap, const struct bootstrap_row *taken,
                         env_nsec now)
{
    struct row *own = &bootstrap->rows[0];
    bool same = taken->version == own->row.version && taken->agreed == own->row.agreed &&
                report_same(&taken->report, &own->row.report);
    if (taken->version < own->row.version || same || bootstrap->clashes > CLASH_MAX)
        return;
    bootstrap->clashes++;
    bootstrap->rows_digest -= version_digest(&own->row);
    own->row.version = taken->version;
    bootstrap->rows_digest += version_digest(&own->row);
    own_say(bootstrap, 0, now);
}

static void row_take(struct bootstrap *bootstrap, unsigned port, const uint8_t *bytes, size_t size,
                     env_nsec now)
{
    struct bootstrap_row taken;
    if (!bootstrap_row_read(&taken, bytes, size)) {
        bootstrap->dropped++;
        return;
    }
    if (taken.report.serial == bootstrap->config.serial) {
        own_row_take(bootstrap, &taken, now);
        return;
    }
    struct row *row = row_find(bootstrap, taken.report.serial);
    if (!row)
        row = row_add(bootstrap, taken.report.serial);
    if (!row) {
        bootstrap->dropped++;
        return;
    }
    if (taken.version > row->row.version)
        row_set(bootstrap, row, &taken, ports_all(bootstrap) & ~(UINT32_C(1) << port), now);
    else if (taken.version < row->row.version)
        row->pending |= UINT32_C(1) << port; /* the sender has an old version: send it ours */
}

void bootstrap_receive(struct bootstrap *bootstrap, unsigned port, const void *bytes, size_t size,
                       env_nsec now)
{
    if (port >= bootstrap->config.port_count) {
        bootstrap->dropped++;
        return;
    }
    switch (bootstrap_type(bytes, size)) {
    case BOOTSTRAP_HELLO:
        hello_take(bootstrap, port, bytes, size, now);
        break;
    case BOOTSTRAP_ROW:
        row_take(bootstrap, port, bytes, size, now);
        break;
    default:
        bootstrap->dropped++;
    }
}

/* ---- agreeing ---- */

static bool hear_each_other(const struct bootstrap *bootstrap,
                            const struct placement_report *report, uint32_t port, uint32_t *other)
{
    const struct row *far =
        hears(report, port) ? row_find(bootstrap, report->ears[port].serial) : NULL;
    if (!far || !hears(&far->row.report, report->ears[port].port))
        return false;
    const struct placement_end *back = &far->row.report.ears[report->ears[port].port];
    *other = (uint32_t)(far - bootstrap->rows);
    return back->serial == report->serial && back->port == port;
}

/* Finds the servers that are connected to us by pairs that receive each other's hellos, breadth
 * first. */
static bool joined_find(struct bootstrap *bootstrap)
{
    struct bfs bfs;
    if (!bfs_init(&bfs, bootstrap->row_count))
        return false;
    bootstrap->reports_digest = 0;
    bfs_start(&bfs, 0); /* our own row */
    for (uint32_t row; bfs_take(&bfs, &row);) {
        const struct placement_report *report = &bootstrap->rows[row].row.report;
        bootstrap->reports_digest += report_digest(report);
        for (uint32_t port = 0; port < report->port_count; port++) {
            uint32_t other;
            if (hear_each_other(bootstrap, report, port, &other))
                bfs_visit(&bfs, row, other);
        }
    }
    for (uint32_t i = 0; i < bootstrap->row_count; i++)
        bootstrap->rows[i].joined = bfs_seen(&bfs, i);
    bootstrap->reports_digest += bootstrap->reports_digest == 0; /* 0 means: not yet */
    bfs_fini(&bfs);
    return true;
}

/* Are all planned servers connected to us, with as many cables as planned, wherever these lead?
 * Then there is nothing to wait for. */
static bool all_heard(const struct bootstrap *bootstrap)
{
    uint32_t joined = 0, ends = 0, other;
    for (uint32_t i = 0; i < bootstrap->row_count; i++) {
        const struct placement_report *report = &bootstrap->rows[i].row.report;
        if (!bootstrap->rows[i].joined)
            return false;
        joined++;
        for (uint32_t port = 0; port < report->port_count; port++)
            ends += hear_each_other(bootstrap, report, port, &other);
    }
    const struct plan *plan = bootstrap->config.plan;
    return joined == plan->server_count && ends == 2 * plan->topology->graph.link_count;
}

static bool all_agree(const struct bootstrap *bootstrap)
{
    for (uint32_t i = 0; i < bootstrap->row_count; i++) {
        const struct row *row = &bootstrap->rows[i];
        if (row->joined && row->row.agreed != bootstrap->reports_digest)
            return false;
    }
    return true;
}

/* All servers have the same reports, and so compute the same places. If memory is short, a later
 * step retries. */
static void place_all(struct bootstrap *bootstrap)
{
    uint32_t count = 0;
    struct placement_report *reports = array_new(bootstrap->row_count, sizeof *reports);
    for (uint32_t i = 0; reports && i < bootstrap->row_count; i++) {
        if (bootstrap->rows[i].joined)
            reports[count++] = bootstrap->rows[i].row.report;
    }
    bootstrap->placed = reports && placement_make(&bootstrap->placement, bootstrap->config.plan,
                                                  reports, count, NULL) == OK;
    free(reports);
}

static void agree(struct bootstrap *bootstrap, env_nsec now)
{
    if (bootstrap->untold)
        own_say(bootstrap, 0, now);
    bool news = bootstrap->stale;
    if (news && bootstrap->placed) {
        placement_fini(&bootstrap->placement);
        bootstrap->placed = false;
    }
    if (news)
        bootstrap->stale = !joined_find(bootstrap);
    bool quiet = now - bootstrap->changed >= bootstrap->config.quiet_nsec;
    bool agreed = bootstrap->rows[0].row.agreed != 0;
    bool ready = !bootstrap->stale && (quiet || (news ? all_heard(bootstrap) : agreed));
    uint64_t digest = ready ? bootstrap->reports_digest : 0;
    if (digest != bootstrap->rows[0].row.agreed)
        own_say(bootstrap, digest, now);
    if (ready && !bootstrap->placed && bootstrap->clashes <= CLASH_MAX && all_agree(bootstrap))
        place_all(bootstrap);
}

/* ---- sending ---- */

static void hellos_send(struct bootstrap *bootstrap, bootstrap_send *send, void *context)
{
    uint8_t bytes[BOOTSTRAP_HELLO_SIZE];
    for (uint32_t port = 0; port < bootstrap->config.port_count; port++) {
        bootstrap_hello_write(
            &(struct bootstrap_hello){bootstrap->config.serial, port, bootstrap->rows_digest},
            bytes);
        bootstrap->sent += send(context, port, bytes, sizeof bytes); /* the next one follows soon */
    }
}

/* Sends rows only over ports that have a neighbour; false: there are more. */
static bool rows_send(struct bootstrap *bootstrap, bootstrap_send *send, void *context)
{
    uint8_t bytes[BOOTSTRAP_SIZE_MAX];
    uint32_t burst = 0;
    const struct placement_report *own = &bootstrap->own;
    for (uint32_t i = 0; i < bootstrap->row_count; i++) {
        struct row *row = &bootstrap->rows[i];
        if (!row->pending)
            continue;
        assert(row->row.version > 0); /* a received row has at least 1, and so has ours */
        if (burst >= BURST)
            return false;
        size_t size = bootstrap_row_write(&row->row, bytes);
        for (uint32_t port = 0; port < bootstrap->config.port_count; port++) {
            port_set bit = UINT32_C(1) << port;
            if (!(row->pending & bit) || (hears(own, port) && !send(context, port, bytes, size)))
                continue;
            bootstrap->sent += hears(own, port);
            burst += hears(own, port);
            row->pending &= ~bit;
        }
    }
    return true;
}

env_nsec bootstrap_step(struct bootstrap *bootstrap, env_nsec now, bootstrap_send *send,
                        void *context)
{
    const struct bootstrap_config *config = &bootstrap->config;
    if (!bootstrap->started) {
        bootstrap->started = true;
        bootstrap->hello_at = bootstrap->changed = now;
    }
    bool due = now >= bootstrap->hello_at;
    for (uint32_t port = 0; due && port < config->port_count; port++) {
        if (now - bootstrap->ears[port].heard > config->silence_nsec)
            own_hears(bootstrap, port, (struct placement_end){.port = PORT_NONE});
    }
    /* New rows are evaluated together, once per hello, because flooding brings many at a time. */
    if (due || !(bootstrap->stale || bootstrap->untold))
        agree(bootstrap, now);
    bool all = rows_send(bootstrap, send, context);
    if (due) {
        hellos_send(bootstrap, send, context);
        bootstrap->hello_at = now + config->hello_nsec;
    }
    return all ? bootstrap->hello_at : now;
}

bool bootstrap_done(const struct bootstrap *bootstrap, node_id *vertex,
                    const struct placement **placement)
{
    if (!bootstrap->placed || bootstrap->stale)
        return false;
    *vertex = placement_find(&bootstrap->placement, bootstrap->config.serial);
    *placement = &bootstrap->placement;
    return true;
}

void bootstrap_snapshot(const struct bootstrap *bootstrap, struct bootstrap_snapshot *snapshot)
{
    *snapshot = (struct bootstrap_snapshot){.clash = bootstrap->clashes > CLASH_MAX,
                                            .dropped = bootstrap->dropped,
                                            .sent = bootstrap->sent};
    for (uint32_t i = 0; i < bootstrap->row_count; i++) {
        const struct row *row = &bootstrap->rows[i];
        snapshot->servers += row->joined;
        snapshot->agreed += row->joined && row->row.agreed == bootstrap->reports_digest;
    }
}
