#include "node/links/flood.h"

#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "node/planted.h"

/* Marks the row to be sent over all links except the one that it came from. */
static void row_spread(struct flood *flood, node_id server, unsigned from)
{
    for (unsigned port = 0; port < flood->state->plan->port_count; port++) {
        if (port == from)
            continue;
        struct flood_port *at = &flood->ports[port];
        if (!at->linked)
            continue;
        bitset_add(at->pending, server);
        at->is_pending = true;
    }
}

static bool is_in_batch(const struct flood *flood)
{
    for (unsigned port = 0; port < flood->state->plan->port_count; port++)
        if (flood->ports[port].in_batch)
            return true;
    return false;
}

static bool is_coming(const struct flood *flood, node_id server)
{
    struct link_report report;
    return link_state_report(flood->state, server, &report) && report.near != report.up;
}

/* Removes our own row from the rows to send on all ports. */
static void own_withhold(struct flood *flood)
{
    for (unsigned port = 0; port < flood->state->plan->port_count; port++)
        if (flood->ports[port].pending)
            bitset_remove(flood->ports[port].pending, flood->state->self);
}

/* Passes on the rows that were held back: the batch of this port has ended, or the link has gone
 * and the batch can no longer end. */
static void batch_end(struct flood *flood, unsigned port)
{
    struct flood_port *at = &flood->ports[port];
    at->in_batch = false;
    for (size_t word = 0; at->is_held && word < flood->words; word++)
        while (at->held[word])
            row_spread(flood, (node_id)bitset_take_lowest(&at->held[word], word), port);
    at->is_held = false;
    if (flood->own_held && !is_in_batch(flood)) {
        flood->own_held = false;
        row_spread(flood, flood->state->self, PORT_NONE);
    }
}

/* ---- the interface of a table's spread ---- */

static void flood_change(struct row_spread *spread, const struct change *change,
                         const struct sst_rows *to)
{
    struct flood *flood = (struct flood *)spread;
    assert(!to);
    flood->own_held = is_coming(flood, flood->state->self) && is_in_batch(flood);
    if (flood->own_held)
        own_withhold(flood);
    else
        row_spread(flood, flood->state->self, PORT_NONE);
}

/* Rows arrive in packets, which the node hands to flood_take. */
static int flood_move(struct row_spread *spread)
{
    return 0;
}

static bool flood_is_flushed(struct row_spread *spread, uint64_t sequence)
{
    const struct flood *flood = (const struct flood *)spread;
    for (unsigned port = 0; port < flood->state->plan->port_count; port++)
        if (flood->ports[port].is_pending || flood->ports[port].is_under_way)
            return false;
    return true;
}

/* There is no `set` for a single number: link_state_put puts the own row as a whole. */
static const struct row_spread_ops flood_ops = {
    .name = "flood",
    .change = flood_change,
    .move = flood_move,
    .is_flushed = flood_is_flushed,
};

/* ---- links ---- */

bool flood_init(struct flood *flood, struct link_state *state, struct arena *arena)
{
    const struct plan *plan = state->plan;
    flood->spread.ops = &flood_ops;
    flood->state = state;
    flood->words = bitset_words(plan->server_count);
    flood->owed = arena_take_array(arena, flood->words, sizeof *flood->owed);
    bool have = flood->owed != NULL;
    for (unsigned port = 0; have && port < plan->port_count; port++) {
        if (plan_end(plan, state->self, port)->server == NODE_NONE)
            continue;
        flood->ports[port].pending = arena_take_array(arena, flood->words, sizeof(uint64_t));
        flood->ports[port].told = arena_take_array(arena, flood->words, sizeof(uint64_t));
        flood->ports[port].held = arena_take_array(arena, flood->words, sizeof(uint64_t));
        have = flood->ports[port].pending && flood->ports[port].told && flood->ports[port].held;
    }
    return have;
}

void flood_unlink(struct flood *flood, unsigned port)
{
    struct flood_port *at = &flood->ports[port];
    at->linked = false;
    batch_end(flood, port);
    memset(at->told, 0, flood->words * sizeof *at->told);
    /* Clears the rows to send, the message in flight and the acknowledgement due. */
    *at = (struct flood_port){.pending = at->pending, .told = at->told, .held = at->held};
}

void flood_link(struct flood *flood, unsigned port)
{
    struct flood_port *at = &flood->ports[port];
    assert(!at->linked);
    at->linked = true;
    for (node_id server = 0; server < flood->state->plan->server_count; server++) {
        struct link_report report;
        if (HAS_BUG(flood, NEW_LINK_EMPTY) && server != flood->state->self)
            continue;
        if (link_state_report(flood->state, server, &report))
            bitset_add(at->pending, server);
    }
    if (flood->own_held)
        own_withhold(flood);
    at->is_pending = true; /* send at least one message, even an empty one */
}

/* ---- receiving ---- */

static void row_take(struct flood *flood, unsigned port, const struct link_report *report,
                     bool more)
{
    bool news = HAS_BUG(flood, STALE_FLOOD) ? link_state_take_stale(flood->state, report)
                                            : link_state_take(flood->state, report);
    if (!news) {
        /* The neighbour has the same version of this row as we have: do not send it the row. */
        struct link_report known;
        if (report->server < flood->state->plan->server_count &&
            link_state_report(flood->state, report->server, &known) &&
            known.incarnation == report->incarnation && known.version == report->version)
            bitset_remove(flood->ports[port].pending, report->server);
        return;
    }
    if (flood->news)
        flood->news(flood->context, report);
    struct flood_port *at = &flood->ports[port];
    if (more && report->near != report->up) {
        bitset_add(at->held, report->server);
        at->is_held = true;
    } else {
        row_spread(flood, report->server, port);
    }
    bitset_remove(at->pending, report->server);
    if (report->near != report->up) {
        bitset_add(flood->owed, report->server);
        flood->owes_seen = true;
    }
}

static void acknowledged(struct flood *flood, unsigned port, uint32_t sequence)
{
    struct flood_port *at = &flood->ports[port];
    if (!at->is_under_way || (sequence != at->sequence && !HAS_BUG(flood, ANY_ACK)))
        return;
    at->is_under_way = false;
    at->attempts = 0;
    memset(at->told, 0, flood->words * sizeof *at->told);
    at->synced_out |= !at->is_pending;
}

void flood_take(struct flood *flood, unsigned port, const struct hello_rows *rows,
                const uint8_t *bytes)
{
    struct flood_port *at = &flood->ports[port];
    assert(at->linked);
    acknowledged(flood, port, rows->acknowledged);
    if (!rows->sequence)
        return;
    at->owes = true;
    if ((int32_t)(rows->sequence - at->received) <= 0)
        return; /* a duplicate, because our acknowledgement was lost */
    at->received = rows->sequence;
    for (uint32_t i = 0; i < rows->count; i++) {
        struct link_report report;
        hello_row_read(bytes, i, &report);
        row_take(flood, port, &report, rows->more);
    }
    at->in_batch = rows->more;
    if (!rows->more)
        batch_end(flood, port);
    at->synced_in |= !rows->more;
}

/* ---- sending ---- */

/* Moves pending rows, either those whose links are coming or the others, into the next message, as
 * many as fit. Returns how many rows the message holds then. */
static uint32_t rows_gather(struct flood *flood, struct flood_port *at, bool coming, uint32_t count,
                            struct link_report reports[HELLO_ROWS_MAX])
{
    for (size_t word = 0; word < flood->words; word++)
        for (uint64_t left = at->pending[word]; left;) {
            node_id server = (node_id)bitset_take_lowest(&left, word);
            if (is_coming(flood, server) != coming)
                continue;
            if (count == HELLO_ROWS_MAX)
                return count;
            bitset_remove(at->pending, server);
            bitset_add(at->told, server);
            bool known = link_state_report(flood->state, server, &reports[count]);
            assert(known);
            count++;
        }
    return count;
}

static bool is_pending(const struct flood *flood, const struct flood_port *at)
{
    for (size_t word = 0; word < flood->words; word++)
        if (at->pending[word])
            return true;
    return false;
}

static void take_back(struct flood *flood, struct flood_port *at)
{
    for (size_t word = 0; word < flood->words; word++) {
        at->pending[word] |= HAS_BUG(flood, RESEND_EMPTY) ? 0 : at->told[word];
        at->told[word] = 0;
    }
    if (flood->own_held)
        own_withhold(flood);
    at->is_pending = true;
    at->is_under_way = false;
}

bool flood_next(struct flood *flood, unsigned port, env_nsec now, struct hello_rows *rows,
                struct link_report reports[HELLO_ROWS_MAX])
{
    struct flood_port *at = &flood->ports[port];
    if (at->is_under_way && now >= at->resend_at && !HAS_BUG(flood, NO_RESEND))
        take_back(flood, at);
    *rows = (struct hello_rows){.acknowledged = at->received};
    bool tells = at->is_pending && !at->is_under_way;
    if (tells) {
        rows->count = rows_gather(flood, at, false, 0, reports);
        rows->count = rows_gather(flood, at, true, rows->count, reports);
        at->is_pending = is_pending(flood, at);
        rows->more = at->is_pending;
    }
    /* The other end waits for at least one message, even if it sent us all rows itself. */
    if (tells && (rows->count || !at->synced_out)) {
        rows->sequence = ++at->sequence;
        at->is_under_way = true;
        at->resend_at = now + (FLOOD_RESEND_NSEC << at->attempts);
        at->attempts = at->attempts < 3 ? (uint8_t)(at->attempts + 1) : 3;
    } else if (!at->owes) {
        return false;
    }
    at->owes = false;
    return true;
}

env_nsec flood_due(const struct flood *flood, unsigned port)
{
    const struct flood_port *at = &flood->ports[port];
    return at->is_under_way && !HAS_BUG(flood, NO_RESEND) ? at->resend_at : ENV_NEVER;
}

node_id flood_owed(struct flood *flood)
{
    if (!flood->owes_seen)
        return NODE_NONE;
    if (is_in_batch(flood))
        return NODE_NONE;
    for (size_t word = 0; word < flood->words; word++)
        if (flood->owed[word])
            return (node_id)bitset_take_lowest(&flood->owed[word], word);
    flood->owes_seen = false;
    return NODE_NONE;
}
