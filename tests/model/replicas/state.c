/* state: see the header. */
#include "model/replicas/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/test.h"
#include "services/store/planted.h"

struct bounds bounds;

/* ---- rosters and messages by number ---- */

#define ROSTERS_MAX 4000

static struct roster *rosters[ROSTERS_MAX];
static unsigned roster_count;

static uint16_t roster_number(const struct roster *roster)
{
    for (unsigned i = 0; i < roster_count; i++) {
        if (roster_same(rosters[i], roster))
            return (uint16_t)i;
    }
    assert_true(roster_count < ROSTERS_MAX);
    rosters[roster_count] = calloc(1, roster_size(SERVERS_MAX));
    assert_non_null(rosters[roster_count]);
    roster_copy(rosters[roster_count], roster);
    return (uint16_t)roster_count++;
}

#define WIRES_MAX  60000
#define WIRE_SLOTS (1u << 17)

static struct wire wires[WIRES_MAX]; /* number 0: none */
static unsigned wire_count;
static uint16_t wire_slots[WIRE_SLOTS];

static uint16_t wire_number(const struct wire *wire)
{
    for (uint64_t at = hash_bytes(wire, sizeof *wire) % WIRE_SLOTS;; at = (at + 1) % WIRE_SLOTS) {
        unsigned number = wire_slots[at];
        if (number == 0) {
            assert_true(wire_count < WIRES_MAX);
            wires[wire_count] = *wire;
            wire_slots[at] = (uint16_t)wire_count;
            return (uint16_t)wire_count++;
        }
        if (memcmp(&wires[number], wire, sizeof *wire) == 0)
            return (uint16_t)number;
    }
}

const struct wire *state_wire(uint16_t number)
{
    return &wires[number];
}

unsigned state_wire_count(void)
{
    return wire_count - 1;
}

/* ---- views ---- */

const struct roster *state_view(const struct state *state, unsigned epoch)
{
    return rosters[state->views[epoch]];
}

bool state_has_member(const struct state *state, unsigned server, unsigned epoch)
{
    const struct roster_entry *entry = &state_view(state, epoch)->entries[server];
    return entry->since && entry->run == state->servers[server].run &&
           entry->disk == state->servers[server].disk;
}

bool state_targets(const struct roster *roster, unsigned server)
{
    unsigned before = 0;
    for (unsigned i = 0; i < server; i++)
        before += roster_has(roster, i);
    return roster_has(roster, server) && before < bounds.copies;
}

static struct roster *roster_make(void)
{
    struct roster *roster = calloc(1, roster_size(SERVERS_MAX));
    assert_non_null(roster);
    roster_plan(roster, SERVERS_MAX);
    return roster;
}

static void add_view(struct state *state, const struct roster *roster)
{
    state->views[++state->epoch] = roster_number(roster);
}

void state_follow(struct state *state, unsigned server)
{
    struct roster *next = roster_make();
    roster_next(next, state_view(state, state->epoch));
    if (state_has_member(state, server, state->epoch))
        roster_leave(next, server);
    else
        roster_join(next, server, state->servers[server].disk, state->servers[server].run);
    add_view(state, next);
    free(next);
}

/* ---- messages ---- */

void state_send(struct state *state, const struct wire *wire)
{
    uint16_t number = wire_number(wire);
    unsigned at = 0;
    while (at < state->message_count && state->messages[at] < number)
        at++;
    if (at < state->message_count && state->messages[at] == number)
        return;
    if (bounds.loses && state->message_count == MESSAGES_MAX)
        return;
    assert_true(state->message_count < MESSAGES_MAX);
    memmove(&state->messages[at + 1], &state->messages[at],
            (state->message_count - at) * sizeof *state->messages);
    state->messages[at] = number;
    state->message_count++;
}

/* Has a leader done all that this answer asks for? */
static bool is_answered(const struct replica *leader, const struct replica_message *message)
{
    if (leader->role != REPLICA_LEADS)
        return false;
    const struct replica_peer *peer = NULL;
    for (uint32_t i = 0; i < leader->peer_count; i++) {
        if (leader->peers[i].server == message->from)
            peer = &leader->peers[i];
    }
    if (peer == NULL) /* it has retired */
        return true;
    switch (message->kind) {
    case REPLICA_STORED:
        return peer->stored >= message->version;
    case REPLICA_ACTIVATED:
        return leader->active && peer->stored >= message->version;
    case REPLICA_SHOW:
        return peer->stage != PEER_LEARNS;
    case REPLICA_COPIED:
        return peer->stage > PEER_COPIES;
    case REPLICA_GROWN:
        return peer->agrees;
    case REPLICA_ADMITTED:
        return peer->stage > PEER_REQUIRED && peer->stored >= message->version;
    default:
        return false;
    }
}

/* Will the receiver, in the view of this message, never react to it again? */
static bool is_done(const struct server *server, const struct replica_message *message)
{
    const struct replica *replica = &server->replica;
    bool is_synced = replica->role == REPLICA_FOLLOWS || replica->role == REPLICA_LEADS ||
                     replica->role == REPLICA_RESTS;
    if (replica->keeping)
        return false;
    switch (message->kind) {
    case REPLICA_REPORT:
        return server->judged == message->epoch;
    case REPLICA_LEAD:
        return replica->role == REPLICA_LEADS;
    case REPLICA_WRITE:
        return (is_synced || replica->role == REPLICA_LEARNS) &&
               message->version <= replica->received;
    case REPLICA_COMMITTED:
        return replica->committed >= message->version || replica->role == REPLICA_RESTS;
    case REPLICA_ACTIVATE:
    case REPLICA_ADMIT:
        return is_synced;
    case REPLICA_LEARN:
        return is_synced || replica->role == REPLICA_LEARNS;
    case REPLICA_COPY:
        return is_synced || replica->copied;
    case REPLICA_GROW:
        for (uint32_t i = 0; i < message->peer_count; i++) {
            if (!custody_keeps(&replica->custody, message->peers[i]))
                return false;
        }
        return true;
    case REPLICA_RETIRE:
        return replica->role == REPLICA_RESTS;
    default:
        return is_answered(replica, message);
    }
}

void state_forget(struct state *state)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < state->message_count; i++) {
        const struct wire *wire = &wires[state->messages[i]];
        const struct server *server = &state->servers[wire->to];
        unsigned least = server->replica.epoch ? server->replica.epoch : server->installed + 1u;
        bool is_new =
            wire->message.epoch > server->replica.epoch ||
            (wire->message.epoch == least && (bounds.repeats || !is_done(server, &wire->message)));
        if ((wire->message.epoch >= least && is_new) || STORE_HAS(EPOCH_UNCHECKED))
            state->messages[kept++] = state->messages[i];
    }
    memset(&state->messages[kept], 0, (state->message_count - kept) * sizeof *state->messages);
    state->message_count = (uint8_t)kept;
}

/* ---- the beginning ---- */

struct state state_start(void)
{
    struct state state;
    memset(&state, 0, sizeof state);
    struct roster *roster = roster_make();
    roster->epoch = 1;
    uint32_t founders[SERVERS_MAX];
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        roster_join(roster, i, 1, 1);
        founders[i] = i;
    }
    add_view(&state, roster);
    free(roster);
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        struct server *server = &state.servers[i];
        server->disk = server->run = 1;
        server->replica.server = i;
        if (i < bounds.copies)
            custody_found(&server->replica.custody, founders, bounds.copies);
        server->installed = 1;
        replica_enter(&server->replica, 1);
    }
    state.writes = (uint8_t)bounds.writes;
    state.restarts = (uint8_t)bounds.restarts;
    state.losses = (uint8_t)bounds.losses;
    state.reads = (uint8_t)bounds.reads;
    state.read.server = NONE;
    return state;
}

void state_begin(struct bounds given)
{
    bounds = given;
    roster_count = 0;
    wire_count = 1;
    memset(wire_slots, 0, sizeof wire_slots);
}

void state_end(void)
{
    while (roster_count)
        free(rosters[--roster_count]);
}
