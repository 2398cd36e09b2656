#include "node/links/link_state.h"

#include <stddef.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "base/hash.h"
#include "node/planted.h"

enum { INCARNATION, VERSION, NEAR, UP, SEEN, COLUMNS };

static const struct sst_column columns[COLUMNS] = {
    [INCARNATION] = SST_COLUMN(struct link_row, incarnation, SST_U64, SST_GROWS),
    [VERSION] = SST_COLUMN(struct link_row, version, SST_U64, 0),
    [NEAR] = SST_COLUMN(struct link_row, near, SST_U64, 0),
    [UP] = SST_COLUMN(struct link_row, up, SST_U64, 0),
    [SEEN] = SST_COLUMN(struct link_row, seen, SST_U64, 0),
};

static uint64_t cell_get(const struct link_state *state, node_id server, unsigned column)
{
    return table_cell(&state->table, server, state->table.schema.columns[column].cell);
}

static void cell_set(struct link_state *state, node_id server, unsigned column, uint64_t word)
{
    uint8_t *row = state->rows + (size_t)server * state->table.schema.row_size;
    row_store(row, state->table.schema.columns[column].cell, word);
}

/* ---- the predicate ---- */

/* Did this link change, and are its two ends at different distances from us? */
static bool port_matters(const struct link_state *state, node_id server, unsigned port)
{
    const struct plan_end *end = plan_end(state->plan, server, port);
    bool near = cell_get(state, server, NEAR) >> port & 1 &&
                cell_get(state, end->server, NEAR) >> end->port & 1;
    bool up = near && cell_get(state, server, UP) >> port & 1 &&
              cell_get(state, end->server, UP) >> end->port & 1;
    const struct routes *routes = &state->routes;
    if (HAS_BUG(state, BLIND_PREDICATE) && up && !(state->up[server] >> port & 1))
        return false;
    return (near != (state->near[server] >> port & 1) &&
            routes->near_hops[server] != routes->near_hops[end->server]) ||
           (up != (state->up[server] >> port & 1) &&
            routes->up_hops[server] != routes->up_hops[end->server]);
}

/* "A link on one of my shortest paths worsened, or one off them improved." */
static bool paths_changed(const struct sst *sst, void *argument)
{
    const struct link_state *state = argument;
    for (uint32_t i = 0; i < state->changed_count; i++)
        for (port_set left = state->plan->ports[state->changed[i]]; left; left &= left - 1)
            if (port_matters(state, state->changed[i], (unsigned)__builtin_ctz(left)))
                return true;
    return false;
}

static void paths_are_stale(struct sst *sst, void *argument)
{
    struct link_state *state = argument;
    state->stale = true;
}

/* ---- beginning and end ---- */

static bool memory_take(struct link_state *state, struct arena *arena)
{
    uint32_t count = state->plan->server_count;
    state->rows = arena_take_array(arena, count, state->table.schema.row_size);
    state->near = arena_take_array(arena, count, sizeof *state->near);
    state->up = arena_take_array(arena, count, sizeof *state->up);
    state->told = arena_take_array(arena, count, sizeof *state->told);
    state->needs = arena_take_array(arena, count, sizeof *state->needs);
    state->changed = arena_take_array(arena, count, sizeof *state->changed);
    state->asked = arena_take_array(arena, bitset_words(count), sizeof *state->asked);
    state->changed_set = arena_take_array(arena, bitset_words(count), sizeof *state->changed_set);
    return state->rows && state->near && state->up && state->told && state->needs && state->asked &&
           state->changed && state->changed_set &&
           routes_init(&state->routes, state->plan, state->self, arena);
}

/* Every planned server has a row; the row of a server that was never heard of is all zeroes. A
 * node's table has one thread, so relaxed order suffices. */
static void rows_open(struct link_state *state)
{
    struct table *table = &state->table;
    for (uint32_t row = 0; row < state->plan->server_count; row++) {
        atomic_store_explicit(&table->rows[row], state->rows + (size_t)row * table->schema.row_size,
                              memory_order_relaxed);
        atomic_fetch_or_explicit(&table->live[bitset_word(row)], bitset_bit(row),
                                 memory_order_relaxed);
    }
    atomic_store_explicit(&table->row_count, state->plan->server_count, memory_order_relaxed);
    table->own = state->self;
}

static int predicate_add(struct link_state *state)
{
    uint64_t handle;
    return predicates_add(&state->predicates,
                          &(struct sst_predicate){
                              .name = "paths changed",
                              .kind = SST_RECURRENT,
                              .holds = paths_changed,
                              .fire = paths_are_stale,
                              .argument = state,
                              /* Another incarnation may have the same version. */
                              .columns = (uint32_t[]){INCARNATION, VERSION},
                              .column_count = 2,
                          },
                          &handle);
}

enum err link_state_init(struct link_state *state, const struct plan *plan, node_id self,
                         uint64_t incarnation, struct row_spread *flood, struct arena *arena,
                         struct why *why)
{
    assert(incarnation);
    *state = (struct link_state){.plan = plan, .self = self, .flood = flood, .lagging = NODE_NONE};
    struct schema schema;
    int result = schema_make(&schema, columns, COLUMNS, sizeof(struct link_row), why);
    assert(result == 0);
    if (table_init(&state->table, &schema, plan->server_count))
        return why_memory(why);
    if (!memory_take(state, arena))
        goto table;
    rows_open(state);
    if (own_init(&state->own, &state->table.schema, state->rows + (size_t)self * schema.row_size,
                 flood))
        goto table;
    if (predicates_init(&state->predicates, &state->table))
        goto own;
    predicates_rows_changed(&state->predicates);
    if (predicate_add(state))
        goto predicates;
    struct link_row *image = (struct link_row *)(void *)state->own.image;
    image->incarnation = incarnation;
    state->announced = true;
    routes_find(&state->routes, state->near, state->up, true);
    return OK;

predicates:
    predicates_fini(&state->predicates);
own:
    own_fini(&state->own);
table:
    table_fini(&state->table);
    return why_memory(why);
}

void link_state_fini(struct link_state *state)
{
    predicates_fini(&state->predicates);
    own_fini(&state->own);
    table_fini(&state->table);
}

/* ---- rows ---- */

void link_state_row(const struct link_state *state, node_id server, struct link_row *row)
{
    assert(server < state->plan->server_count);
    *row = (struct link_row){
        .incarnation = cell_get(state, server, INCARNATION),
        .version = cell_get(state, server, VERSION),
        .near = cell_get(state, server, NEAR),
        .up = cell_get(state, server, UP),
        .seen = cell_get(state, server, SEEN),
    };
}

bool link_state_report(const struct link_state *state, node_id server, struct link_report *report)
{
    struct link_row row;
    link_state_row(state, server, &row);
    *report = (struct link_report){server, row.incarnation, row.version, (port_set)row.near,
                                   (port_set)row.up};
    return row.incarnation != 0;
}

static void row_changed(struct link_state *state, node_id server)
{
    state->lagging = NODE_NONE;
    if (!bitset_has(state->changed_set, server)) {
        bitset_add(state->changed_set, server);
        state->changed[state->changed_count++] = server;
    }
    struct link_row row;
    link_state_row(state, server, &row);
    uint64_t hash = hash_mix(hash_mix(row.incarnation ^ (uint64_t)server << 40) + row.version);
    state->digest += hash - state->told[server];
    state->told[server] = hash;
}

/* Another server remembers a later incarnation of ours, because our clock went back. Choose a still
 * later one. */
static void outlive(struct link_state *state, uint64_t incarnation)
{
    struct link_row *image = (struct link_row *)(void *)state->own.image;
    if (incarnation < image->incarnation)
        return;
    image->incarnation = incarnation + 1;
    state->announced = true;
}

static void row_take(struct link_state *state, const struct link_report *report)
{
    node_id server = report->server;
    struct link_row row;
    link_state_row(state, server, &row);
    port_set near = report->near & state->plan->ports[server];
    port_set up = report->up & near;
    if (row.incarnation != report->incarnation)
        cell_set(state, server, SEEN, 0); /* a restarted server has seen nothing */
    state->coming_count -= row.near != row.up;
    state->coming_count += near != up;
    cell_set(state, server, INCARNATION, report->incarnation);
    cell_set(state, server, NEAR, near);
    cell_set(state, server, UP, up);
    cell_set(state, server, VERSION, report->version);
    row_changed(state, server);
    state->seen_changed = true; /* a "seen" of that server may have waited for this version */
    state->taken++;
}

bool link_state_take(struct link_state *state, const struct link_report *report)
{
    if (report->server >= state->plan->server_count || !report->incarnation)
        return false;
    if (report->server == state->self) {
        if (report->incarnation > cell_get(state, state->self, INCARNATION))
            outlive(state, report->incarnation);
        return false;
    }
    uint64_t incarnation = cell_get(state, report->server, INCARNATION);
    if (report->incarnation < incarnation ||
        (report->incarnation == incarnation &&
         report->version <= cell_get(state, report->server, VERSION))) {
        state->refused++;
        return false;
    }
    row_take(state, report);
    return true;
}

#ifdef WEFT_PLANTED_BUGS
bool link_state_take_stale(struct link_state *state, const struct link_report *report)
{
    if (report->server >= state->plan->server_count || report->server == state->self ||
        !report->incarnation)
        return link_state_take(state, report);
    struct link_row row;
    link_state_row(state, report->server, &row);
    if (row.incarnation == report->incarnation && row.version == report->version)
        return false; /* otherwise it would be flooded forever */
    row_take(state, report);
    return true;
}
#endif

void link_state_seen(struct link_state *state, node_id server, const struct link_seen *seen)
{
    if (server >= state->plan->server_count || server == state->self ||
        seen->incarnation != cell_get(state, state->self, INCARNATION) ||
        seen->version > cell_get(state, state->self, VERSION) ||
        seen->own_incarnation != cell_get(state, server, INCARNATION) ||
        seen->version <= cell_get(state, server, SEEN))
        return;
    cell_set(state, server, SEEN, seen->version);
    state->needs[server] = seen->own_version;
    state->seen_changed = true;
}

/* ---- the own row ---- */

void link_state_near(struct link_state *state, unsigned port, bool near)
{
    port_set bit = (port_set)1 << port;
    if (near == !!(state->own_near & bit))
        return;
    state->lagging = NODE_NONE;
    state->own_near ^= bit;
    state->own_up &= state->own_near;
    state->since[port] = 0; /* set when it is put */
    state->announced = true;
}

void link_state_put(struct link_state *state, bool again)
{
    if (!state->announced && !again)
        return;
    state->announced = false;
    struct link_row *image = (struct link_row *)(void *)state->own.image;
    state->coming_count -= image->near != image->up;
    image->version++;
    image->near = state->own_near;
    image->up = state->own_up;
    state->coming_count += image->near != image->up;
    for (unsigned port = 0; port < state->plan->port_count; port++)
        if (state->own_near >> port & 1 && !state->since[port])
            state->since[port] = image->version;
    static const struct sst_range ranges[] = {
        {INCARNATION, 0, 1}, {NEAR, 0, 1}, {UP, 0, 1}, {VERSION, 0, 1}};
    int64_t put = own_put(&state->own, ranges, 4, OWN_NO_GUARD, 0, NULL);
    assert(put > 0);
    row_changed(state, state->self);
}

/* ---- routes ---- */

static void link_apply(port_set *links, node_id server, unsigned port, const struct plan_end *end,
                       bool is)
{
    port_set bit = (port_set)1 << port, back = (port_set)1 << end->port;
    links[server] = is ? links[server] | bit : links[server] & ~bit;
    links[end->server] = is ? links[end->server] | back : links[end->server] & ~back;
}

static void changes_apply(struct link_state *state)
{
    for (uint32_t i = 0; i < state->changed_count; i++) {
        node_id server = state->changed[i];
        uint64_t near = cell_get(state, server, NEAR), up = cell_get(state, server, UP);
        for (port_set left = state->plan->ports[server]; left; left &= left - 1) {
            unsigned port = (unsigned)__builtin_ctz(left);
            const struct plan_end *end = plan_end(state->plan, server, port);
            bool both = near >> port & 1 && cell_get(state, end->server, NEAR) >> end->port & 1;
            if (HAS_BUG(state, ONE_END))
                both = near >> port & 1;
            link_apply(state->near, server, port, end, both);
            link_apply(state->up, server, port, end,
                       both && up >> port & 1 && cell_get(state, end->server, UP) >> end->port & 1);
        }
        bitset_remove(state->changed_set, server);
    }
    state->changed_count = 0;
}

bool link_state_settle(struct link_state *state)
{
    if (!state->changed_count)
        return false;
    predicates_pass_rows(&state->predicates, NULL, state->changed, state->changed_count);
    changes_apply(state);
    if (!state->stale)
        return false;
    state->stale = false;
    state->seen_changed = true; /* other servers are reachable: check again */
    state->recomputations++;
    routes_find(&state->routes, state->near, state->up, state->coming_count == 0);
    return true;
}

static uint64_t seen_by(const struct link_state *state, node_id server)
{
    bool known =
        cell_get(state, server, VERSION) >= state->needs[server] || HAS_BUG(state, NEEDS_IGNORED);
    return known ? cell_get(state, server, SEEN) : 0;
}

/* The latest version of our row that all reachable servers have seen; if that is lower than
 * `wanted`, the search stops early and the result may be any version lower than `wanted`. Here one
 * end's report suffices for reachability: a reached server names its neighbours, even if we do not
 * know yet that they report the same link. Otherwise, if two links came up at the same time, each
 * could be admitted without the servers behind the other. */
static uint64_t seen_by_all(struct link_state *state, uint64_t wanted)
{
    uint64_t least = cell_get(state, state->self, VERSION);
    uint16_t *queue = state->routes.order; /* unused outside its own search */
    uint32_t count = 0;
    memset(state->asked, 0, bitset_words(state->plan->server_count) * sizeof *state->asked);
    queue[count++] = (uint16_t)state->self;
    bitset_add(state->asked, state->self);
    for (uint32_t i = 0; i < count; i++) {
        node_id at = queue[i];
        uint64_t seen = at == state->self ? least : seen_by(state, at);
        least = seen < least ? seen : least;
        if (least < wanted) {
            state->lagging = at;
            break;
        }
        uint64_t near = at == state->self ? state->own_near : cell_get(state, at, NEAR);
        for (; near; near &= near - 1) {
            node_id to = plan_end(state->plan, at, (unsigned)__builtin_ctzll(near))->server;
            if (bitset_has(state->asked, to))
                continue;
            bitset_add(state->asked, to);
            queue[count++] = (uint16_t)to;
        }
    }
    return least;
}

/* Returns those of the links that wait only until all servers have seen that version of our row.
 * Leaves out links that the other end does not report yet: the servers behind a link are among
 * those checked only once we can reach them over it. */
static port_set waiting_for(const struct link_state *state, port_set coming, uint64_t version)
{
    port_set waiting = 0;
    port_set near = HAS_BUG(state, ADMITS_ONE_END) ? coming : state->near[state->self];
    for (port_set left = coming & near; left; left &= left - 1) {
        uint64_t since = state->since[__builtin_ctz(left)];
        if (since && since <= version)
            waiting |= left & -left;
    }
    return waiting;
}

static uint64_t first_since(const struct link_state *state, port_set ports)
{
    uint64_t first = UINT64_MAX;
    for (; ports; ports &= ports - 1) {
        uint64_t since = state->since[__builtin_ctz(ports)];
        first = since < first ? since : first;
    }
    return first;
}

port_set link_state_admit(struct link_state *state)
{
    port_set coming = state->own_near & ~state->own_up;
    if (!coming || !state->seen_changed)
        return 0;
    state->seen_changed = false;
    uint64_t wanted = first_since(state, waiting_for(state, coming, UINT64_MAX));
    if (wanted == UINT64_MAX ||
        (state->lagging != NODE_NONE && seen_by(state, state->lagging) < wanted))
        return 0;
    port_set admitted = waiting_for(state, coming, seen_by_all(state, wanted));
    state->own_up |= admitted;
    state->announced |= admitted != 0;
    return admitted;
}

#ifdef WEFT_PLANTED_BUGS
port_set link_state_admit_blindly(struct link_state *state)
{
    port_set coming = state->own_near & ~state->own_up;
    state->own_up |= coming;
    state->announced |= coming != 0;
    return coming;
}
#endif

bool link_state_is_waiting(const struct link_state *state)
{
    return (state->own_near & ~state->own_up) != 0;
}

void link_state_fill(struct link_state *state, const uint64_t *incarnations)
{
    for (node_id server = 0; server < state->plan->server_count; server++) {
        port_set ports = state->plan->ports[server];
        if (server != state->self)
            row_take(state, &(struct link_report){server, incarnations[server], 1, ports, ports});
        else
            state->own_near = state->own_up = ports;
    }
    for (unsigned port = 0; port < state->plan->port_count; port++)
        state->since[port] = 1;
    link_state_put(state, true);
    link_state_settle(state);
}
