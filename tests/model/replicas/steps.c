/* steps: see the header. */
#include "model/replicas/steps.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"
#include "services/store/planted.h"

struct seen seen;
struct rng steps_chance;

/* ---- the owner of a replica ---- */

struct owner {
    struct state *state;
    struct server *server;
    unsigned key; /* of the write that is being sent */
};

static const struct replica_calls calls;

static void post(void *context, uint32_t to, const struct replica_message *message)
{
    struct owner *owner = context;
    struct wire wire;
    if (message->kind == REPLICA_COMMITTED && !bounds.reads && !bounds.purges)
        return; /* changes nothing */
    bool is_coordinators = message->kind == REPLICA_REPORT || message->kind == REPLICA_LEAD;
    if (to == owner->server->replica.server && !is_coordinators) {
        replica_receive(&owner->server->replica, &(struct replica_world){&calls, owner}, message);
        return;
    }
    memset(&wire, 0, sizeof wire);
    wire.to = to;
    wire.message = *message;
    if (message->kind == REPLICA_SHOW) {
        memcpy(wire.entries, owner->server->entries, sizeof wire.entries);
    } else if (message->kind == REPLICA_WRITE) {
        wire.key = owner->key;
        wire.entries[0] = owner->server->entries[owner->key];
        wire.entries[0].version = message->version;
    }
    state_send(owner->state, &wire);
}

static void keep(void *context)
{
    (void)context; /* it is seen in the state */
}

static void replay(void *context, uint32_t to, store_version from)
{
    struct owner *owner = context;
    const struct replica *replica = &owner->server->replica;
    for (;;) {
        unsigned next = KEYS;
        for (unsigned key = 0; key < KEYS; key++) {
            store_version version = owner->server->entries[key].version;
            if (version > from && version <= replica->received &&
                (next == KEYS || version < owner->server->entries[next].version))
                next = key;
        }
        if (next == KEYS)
            return;
        struct replica_message message = {
            .kind = REPLICA_WRITE,
            .epoch = replica->epoch,
            .from = replica->server,
            .version = owner->server->entries[next].version,
            .previous = from,
        };
        owner->key = next;
        if (!STORE_HAS(REPLAY_SKIPPED))
            post(owner, to, &message);
        from = message.version;
    }
}

static const struct replica_calls calls = {post, keep, replay};

/* A step of one server: the next state, and the replica in it. */
struct step {
    struct state next;
    struct owner owner;
    struct replica_world world;
    struct replica *replica;
};

static struct step step_begin(const struct state *state)
{
    return (struct step){.next = *state};
}

static void step_of(struct step *step, unsigned server)
{
    step->owner = (struct owner){.state = &step->next, .server = &step->next.servers[server]};
    step->world = (struct replica_world){&calls, &step->owner};
    step->replica = &step->owner.server->replica;
}

/* ---- what must hold ---- */

const struct replica *steps_leader(const struct state *state)
{
    const struct replica *leader = NULL;
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        const struct replica *replica = &state->servers[i].replica;
        if (replica_serves(replica) && replica->epoch >= state->active &&
            (leader == NULL || replica->epoch > leader->epoch))
            leader = replica;
    }
    return leader;
}

static bool is_present(const struct server *server, unsigned key)
{
    return server->entries[key].version && server->entries[key].present;
}

/* Has the same chain, but differs in a key. Tombstones may be forgotten. */
static bool differs(const struct server *one, const struct server *other)
{
    for (unsigned key = 0; key < KEYS; key++) {
        bool present = is_present(one, key);
        if (present != is_present(other, key) ||
            (present && one->entries[key].version != other->entries[key].version))
            return true;
    }
    return false;
}

static const char *find_wrong(const struct state *state)
{
    const struct replica *leader = steps_leader(state);
    if (leader == NULL)
        return NULL;
    const struct server *server = &state->servers[leader->server];
    for (unsigned key = 0; key < KEYS; key++) {
        if (state->stages[key] == PRESENT && !is_present(server, key))
            return "an acknowledged write is lost";
        if (state->stages[key] == REMOVED && is_present(server, key))
            return "a removed key is back";
    }
    for (uint32_t i = 0; i < leader->peer_count; i++) {
        const struct server *peer = &state->servers[leader->peers[i].server];
        if (leader->peers[i].stage == PEER_SYNCED && peer->replica.epoch == leader->epoch &&
            peer->replica.role == REPLICA_FOLLOWS && peer->replica.position == leader->position &&
            differs(server, peer))
            return "in-sync servers differ";
    }
    return NULL;
}

/* ---- what can happen ---- */

enum happening {
    VIEW,
    INSTALLS,
    DECIDES,
    GETS,
    KEEPS,
    WRITES,
    ACKNOWLEDGED,
    GROWS,
    RETIRES,
    REPEATS,
    PURGES,
    GRANTS,
    EXPIRES,
    READS,
    RETURNS,
    RESTARTS,
    LOSES,
};

#define IS_KEPT 0x10000 /* GETS: and keeps what it was told to */

static uint64_t action_of(enum happening happening, unsigned server, uint64_t detail)
{
    return (uint64_t)happening << 56 | (uint64_t)server << 48 | detail;
}

/* Can a process that is not a member any more have a lease of this server? */
static bool is_owed(const struct state *state, unsigned server, unsigned epoch)
{
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        if ((state->servers[i].believes >> server & 1) && !state_has_member(state, i, epoch))
            return true;
    }
    return false;
}

/* A server reports as soon as it may: a later report is one that arrives later. */
static void settle(struct state *state, unsigned server)
{
    struct server *it = &state->servers[server];
    unsigned epoch = it->replica.epoch;
    if (epoch == 0 || !state_has_member(state, server, epoch) ||
        it->replica.role != REPLICA_WAITS ||
        !replica_settle(&it->replica, !is_owed(state, server, epoch)))
        return;
    struct owner owner = {.state = state, .server = it};
    struct replica_message message;
    replica_report(&it->replica, &message);
    post(&owner, roster_first_member(state_view(state, epoch)), &message);
}

static void settle_all(struct state *state)
{
    for (unsigned server = 0; server < SERVERS_MAX; server++)
        settle(state, server);
}

struct state steps_start(void)
{
    struct state state = state_start();
    settle_all(&state);
    return state;
}

static void finish(struct explorer *explorer, struct step *step, uint64_t action)
{
    settle_all(&step->next);
    state_forget(&step->next);
    const struct replica *leader = steps_leader(&step->next);
    if (leader)
        step->next.active = (uint8_t)leader->epoch;
    for (unsigned i = 0; bounds.forgets && i < SERVERS_MAX; i++) {
        const struct replica *replica = &step->next.servers[i].replica;
        if (replica->role == REPLICA_LEADS && replica->epoch > step->next.led)
            step->next.led = (uint8_t)replica->epoch;
    }
    const char *wrong = find_wrong(&step->next);
    if (wrong)
        explorer_wrong(explorer, action, wrong);
    explorer_add(explorer, &step->next, action);
}

static void change(struct explorer *explorer, const struct state *state, unsigned server)
{
    struct step step = step_begin(state);
    state_follow(&step.next, server);
    finish(explorer, &step, action_of(VIEW, server, 0));
}

static void follow(struct explorer *explorer, const struct state *state)
{
    if (state->epoch > bounds.views)
        return;
    for (unsigned server = 0; server < SERVERS_MAX; server++) {
        if (!bounds.changes || bounds.changes[state->epoch - 1] - '0' == (int)server)
            change(explorer, state, server);
    }
}

static void install(struct explorer *explorer, const struct state *state, unsigned server)
{
    for (unsigned epoch = state->servers[server].installed + 1; epoch <= state->epoch; epoch++) {
        struct step step = step_begin(state);
        step_of(&step, server);
        struct server *it = step.owner.server;
        const struct roster *view = state_view(state, epoch);
        custody_pass(&it->replica.custody, view, server, it->installed);
        if (it->replica.keeping)
            custody_pass(&it->replica.next, view, server, it->installed);
        it->installed = (uint8_t)epoch;
        replica_enter(&it->replica, epoch);
        finish(explorer, &step, action_of(INSTALLS, server, epoch));
    }
}

/* The coordinator has heard some of those that have reported. */
static void decide(struct explorer *explorer, const struct state *state, unsigned server,
                   const struct wire *const *reports, unsigned report_count, unsigned heard)
{
    static const uint32_t rank[SERVERS_MAX] = {0, 1, 2};
    struct judge judge = {.forgets = bounds.forgets};
    for (unsigned i = 0; i < report_count; i++) {
        const struct replica_message *message = &reports[i]->message;
        struct report report = {
            .server = message->from, .custody = message->custody, .position = message->version};
        if (heard >> i & 1)
            judge_hears(&judge, &report);
    }
    struct step step = step_begin(state);
    step_of(&step, server);
    uint32_t in_sync, other;
    unsigned epoch = step.replica->epoch;
    if (judge_decide(&judge, state_view(state, epoch), &in_sync, &other) != JUDGE_KNOWS)
        return;
    struct replica_message lead = {.kind = REPLICA_LEAD, .epoch = epoch, .from = server};
    for (unsigned i = 0; i < judge.count; i++) {
        if (!(in_sync >> i & 1))
            continue;
        lead.peers[lead.peer_count] = judge.reports[i].server;
        lead.positions[lead.peer_count++] = judge.reports[i].position;
        seen.revived += !custody_is_open(&judge.reports[i].custody);
    }
    step.owner.server->judged = (uint8_t)epoch;
    uint32_t first = judge_leader(&judge, in_sync, rank);
    for (unsigned i = 0; i < judge.count; i++) {
        bool leads = bounds.any ? (in_sync >> i & 1) &&
                                      judge.reports[i].position == judge.reports[first].position
                                : i == first;
        if (!leads)
            continue;
        struct step one = step;
        step_of(&one, server);
        post(&one.owner, judge.reports[i].server, &lead);
        finish(explorer, &one, action_of(DECIDES, server, heard));
    }
}

static void coordinate(struct explorer *explorer, const struct state *state, unsigned server)
{
    unsigned epoch = state->servers[server].replica.epoch, count = 0;
    if (!state_has_member(state, server, epoch) ||
        roster_first_member(state_view(state, epoch)) != server ||
        state->servers[server].judged == epoch)
        return;
    const struct wire *reports[SERVERS_MAX * 2];
    for (unsigned i = 0; i < state->message_count; i++) {
        const struct wire *wire = state_wire(state->messages[i]);
        if (wire->message.kind != REPLICA_REPORT || wire->message.epoch != epoch)
            continue;
        assert_true(count < SERVERS_MAX * 2);
        unsigned at = count++; /* by server, so that the order of the numbers does not matter */
        for (; at && reports[at - 1]->message.from > wire->message.from; at--)
            reports[at] = reports[at - 1];
        reports[at] = wire;
    }
    for (unsigned heard = 1; heard < 1u << count; heard++)
        decide(explorer, state, server, reports, count, heard);
}

static void store(struct step *step, unsigned key, struct entry entry)
{
    if (entry.version > step->owner.server->entries[key].version)
        step->owner.server->entries[key] = entry;
    replica_stored(step->replica, &step->world, entry.version);
}

/* The leader writes: the client's, or its own state again. */
static void write_key(struct step *step, unsigned key, bool present)
{
    struct entry *entry = &step->owner.server->entries[key];
    entry->present = present;
    step->owner.key = key;
    store_version version = replica_write(step->replica, &step->world);
    store(step, key, (struct entry){version, present});
}

static void compare(struct step *step, const struct wire *shown)
{
    struct server *it = step->owner.server;
    struct wire copy;
    memset(&copy, 0, sizeof copy);
    copy.to = shown->message.from;
    for (unsigned key = 0; key < KEYS; key++) {
        struct entry *own = &it->entries[key];
        switch (replica_compare(own->version, shown->entries[key].version)) {
        case REPAIR_NONE:
            break;
        case REPAIR_COPY:
            copy.entries[key] = *own;
            break;
        case REPAIR_REWRITE:
            seen.rewritten++;
            write_key(step, key, is_present(it, key));
            break;
        }
    }
    copy.message = (struct replica_message){
        .kind = REPLICA_COPY, .epoch = step->replica->epoch, .from = step->replica->server};
    state_send(&step->next, &copy);
}

static void take_copies(struct step *step, const struct wire *copy)
{
    for (unsigned key = 0; key < KEYS; key++) {
        struct entry *own = &step->owner.server->entries[key];
        if (copy->entries[key].version > own->version)
            *own = copy->entries[key];
    }
    replica_copied(step->replica, &step->world);
}

/* What a server was told to keep is durable. */
static void complete(struct step *step)
{
    bool retires = step->replica->keeping == REPLICA_RETIRE;
    seen.retired += retires;
    seen.grown += step->replica->keeping == REPLICA_ADMIT;
    replica_kept(step->replica, &step->world);
    if (retires)
        memset(step->owner.server->entries, 0, sizeof step->owner.server->entries);
}

/* ... at once, or after the next view was installed. In between it would be as if the message had
 * come later. */
static void kept(struct explorer *explorer, const struct state *state, unsigned server)
{
    struct step step = step_begin(state);
    step_of(&step, server);
    if (!step.replica->keeping || (step.replica->role != REPLICA_WAITS && !bounds.calm))
        return;
    complete(&step);
    finish(explorer, &step, action_of(KEEPS, server, 0));
}

static void deliver(struct explorer *explorer, const struct state *state, uint16_t number)
{
    const struct wire *wire = state_wire(number);
    struct step step = step_begin(state);
    step_of(&step, wire->to);
    if (step.replica->epoch == 0)
        return;
    bool was_keeping = step.replica->keeping;
    switch (wire->message.kind) {
    case REPLICA_REPORT:
        return;
    case REPLICA_WRITE:
        if (!replica_accept(step.replica, &wire->message))
            return;
        store(&step, wire->key, wire->entries[0]);
        break;
    case REPLICA_SHOW:
        if (!replica_compares(step.replica, &wire->message))
            return;
        compare(&step, wire);
        break;
    case REPLICA_COPY:
        if (!replica_copies(step.replica, &wire->message))
            return;
        take_copies(&step, wire);
        break;
    default:
        replica_receive(step.replica, &step.world, &wire->message);
        break;
    }
    finish(explorer, &step, action_of(GETS, wire->to, number));
    if (!was_keeping && step.replica->keeping) {
        complete(&step);
        finish(explorer, &step, action_of(GETS, wire->to, number | IS_KEPT));
    }
}

/* The client: each key is put, perhaps several times until that is acknowledged, then removed. */
static void use(struct explorer *explorer, const struct state *state, unsigned server)
{
    const struct server *it = &state->servers[server];
    if (!replica_serves(&it->replica))
        return;
    for (unsigned key = 0; key < bounds.keys; key++) {
        enum stage stage = state->stages[key];
        bool put = stage <= PUT_BEGUN && it->entries[key].version == 0;
        bool remove =
            bounds.removes && is_present(it, key) && (stage == PRESENT || stage == REMOVE_BEGUN);
        if (state->writes && (put || remove)) {
            struct step step = step_begin(state);
            step_of(&step, server);
            step.next.writes--;
            step.next.stages[key] = put ? PUT_BEGUN : REMOVE_BEGUN;
            write_key(&step, key, put);
            finish(explorer, &step, action_of(WRITES, server, key));
        }
        bool committed =
            it->entries[key].version && it->entries[key].version <= it->replica.committed;
        bool is_put = stage == PUT_BEGUN && it->entries[key].present;
        bool is_removed = stage == REMOVE_BEGUN && !it->entries[key].present;
        bool counts = it->replica.epoch > state->forgotten; /* the answer may be told too late */
        if (committed && counts && (is_put || is_removed)) {
            struct step step = step_begin(state);
            step.next.stages[key]++;
            finish(explorer, &step, action_of(ACKNOWLEDGED, server, key));
        }
    }
}

/* The leader grows and shrinks the group to its targets; servers forget tombstones. */
static void tend(struct explorer *explorer, const struct state *state, unsigned server)
{
    const struct server *it = &state->servers[server];
    const struct roster *view = state_view(state, it->replica.epoch);
    unsigned missing = 0; /* targets that are not in sync */
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        missing += state_targets(view, i);
    for (unsigned i = 0; i < it->replica.peer_count; i++)
        missing -= state_targets(view, it->replica.peers[i].server);
    for (unsigned other = 0; replica_serves(&it->replica) && other < SERVERS_MAX; other++) {
        struct step step = step_begin(state);
        step_of(&step, server);
        if ((bounds.any ? roster_has(view, other) : state_targets(view, other)) &&
            replica_grow(step.replica, &step.world, other))
            finish(explorer, &step, action_of(GROWS, server, other));
        if ((bounds.any || (missing == 0 && !state_targets(view, other))) &&
            replica_retire(step.replica, &step.world, other))
            finish(explorer, &step, action_of(RETIRES, server, other));
    }
    if (bounds.repeats && it->replica.role == REPLICA_LEADS) {
        struct step step = step_begin(state);
        step_of(&step, server);
        replica_repeat(step.replica, &step.world);
        finish(explorer, &step, action_of(REPEATS, server, 0));
    }
    for (unsigned key = 0; bounds.purges && key < KEYS; key++) {
        const struct entry *entry = &it->entries[key];
        if (entry->version == 0 || entry->present || !replica_purges(&it->replica, entry->version))
            continue;
        struct step step = step_begin(state);
        step.next.servers[server].entries[key] = (struct entry){0};
        finish(explorer, &step, action_of(PURGES, server, key));
    }
}

/* ---- reads ---- */

static bool has_leases(const struct server *server)
{
    const struct custody *custody = &server->replica.custody;
    for (uint32_t i = 0; i < custody->keeper_count; i++) {
        uint32_t keeper = custody->keepers[i];
        if (keeper != server->replica.server && !(server->believes >> keeper & 1))
            return STORE_HAS(MINORITY_SERVES);
    }
    return true;
}

static void lease(struct explorer *explorer, const struct state *state, unsigned server)
{
    const struct server *it = &state->servers[server];
    for (unsigned other = 0; other < SERVERS_MAX; other++) {
        struct step step = step_begin(state);
        if (it->believes >> other & 1) {
            step.next.servers[server].believes &= (uint8_t) ~(1u << other);
            finish(explorer, &step, action_of(EXPIRES, server, other));
        } else if (other != server && state->servers[other].replica.epoch == it->replica.epoch &&
                   state_has_member(state, other, it->replica.epoch) &&
                   (it->replica.role == REPLICA_FOLLOWS || it->replica.role == REPLICA_LEADS)) {
            step.next.servers[server].believes |= (uint8_t)(1u << other);
            finish(explorer, &step, action_of(GRANTS, server, other));
        }
    }
}

static void begin_read(struct explorer *explorer, const struct state *state, unsigned server)
{
    const struct server *it = &state->servers[server];
    for (unsigned key = 0; key < bounds.keys; key++) {
        if (!replica_reads(&it->replica, it->entries[key].version) ||
            (STORE_HAS(CLOCK_FIRST) && !has_leases(it)))
            continue;
        struct step step = step_begin(state);
        step.next.reads--;
        step.next.read = (struct read){
            .server = (uint8_t)server,
            .key = (uint8_t)key,
            .epoch = (uint8_t)it->replica.epoch,
            .first = state->stages[key],
            .value = is_present(it, key),
        };
        finish(explorer, &step, action_of(READS, server, key));
    }
}

static void end_read(struct explorer *explorer, const struct state *state)
{
    struct read read = state->read;
    const struct server *it = &state->servers[read.server];
    struct step step = step_begin(state);
    step.next.read = (struct read){.server = NONE};
    uint64_t action = action_of(RETURNS, read.server, read.key);
    if (STORE_HAS(CLOCK_FIRST) && replica_reads(&it->replica, it->entries[read.key].version)) {
        read.first = state->stages[read.key]; /* it began after the clock was read */
        read.value = is_present(it, read.key);
    } else if (it->replica.epoch != read.epoch || !has_leases(it)) {
        finish(explorer, &step, action); /* it is not answered */
        return;
    }
    uint8_t *stage = &step.next.stages[read.key];
    bool fits = read.value ? *stage >= PUT_BEGUN && read.first <= REMOVE_BEGUN
                           : read.first <= PUT_BEGUN || *stage >= REMOVE_BEGUN;
    if (!fits)
        explorer_wrong(explorer, action,
                       read.value ? "a read returns what was removed"
                                  : "a read does not find an acknowledged write");
    seen.read++;
    if (read.value && *stage == PUT_BEGUN)
        *stage = PRESENT;
    if (!read.value && *stage == REMOVE_BEGUN && read.first >= PRESENT)
        *stage = REMOVED;
    finish(explorer, &step, action);
}

/* ---- faults ---- */

/* Was the server in sync in the newest view that had a leader, and still has its memory? */
static bool is_complete(const struct state *state, unsigned server)
{
    const struct server *it = &state->servers[server];
    const struct custody *custody = &it->replica.custody;
    return custody->since && !custody->hollow && it->replica.epoch >= state->led &&
           (custody_is_open(custody) || custody->ended >= state->led);
}

/* What the process of the server had is gone. If it was the last one that had all, clients must
 * expect that writes are lost, or undone. */
static void forget(struct state *state, unsigned server)
{
    struct server *it = &state->servers[server];
    bool left = false;
    memset(it->entries, 0, sizeof it->entries);
    it->replica.position = it->replica.received = 0;
    custody_forget(&it->replica.custody);
    for (unsigned i = 0; i < SERVERS_MAX; i++)
        left |= i != server && is_complete(state, i);
    if (left)
        return;
    for (unsigned key = 0; key < KEYS; key++) {
        if (state->stages[key] == PRESENT || state->stages[key] == REMOVED)
            state->stages[key]--;
    }
    state->forgotten = state->led;
    state->read = (struct read){.server = NONE};
    seen.forgotten++;
}

static void restart(struct explorer *explorer, const struct state *state, unsigned server,
                    bool loses)
{
    struct step step = step_begin(state);
    struct server *it = &step.next.servers[server];
    struct replica old = it->replica;
    memset(&it->replica, 0, sizeof it->replica);
    it->replica.server = server;
    it->run++;
    it->judged = 0;
    it->believes = 0;
    if (loses) {
        step.next.losses--;
        it->disk++;
        it->installed = 0;
        memset(it->entries, 0, sizeof it->entries);
    } else {
        step.next.restarts--;
        it->replica.custody = old.custody;
        for (unsigned key = 0; key < KEYS; key++) {
            if (it->entries[key].version > it->replica.position)
                it->replica.position = it->replica.received = it->entries[key].version;
        }
    }
    if (bounds.forgets)
        forget(&step.next, server);
    if (step.next.read.server == server)
        step.next.read = (struct read){.server = NONE};
    finish(explorer, &step, action_of(loses ? LOSES : RESTARTS, server, 0));
}

static bool spares; /* no fault and no view now */

static void break_down(struct explorer *explorer, const struct state *state)
{
    if (spares)
        return;
    follow(explorer, state);
    for (unsigned server = 0; server < SERVERS_MAX; server++) {
        if (state->restarts)
            restart(explorer, state, server, false);
        if (state->losses)
            restart(explorer, state, server, true);
    }
}

/* What servers do by themselves, and what messages make them do. */
static void proceed(struct explorer *explorer, const struct state *state)
{
    for (unsigned server = 0; server < SERVERS_MAX; server++) {
        install(explorer, state, server);
        if (state->servers[server].replica.epoch == 0)
            continue;
        coordinate(explorer, state, server);
        kept(explorer, state, server);
        tend(explorer, state, server);
    }
    for (unsigned i = 0; i < state->message_count; i++)
        deliver(explorer, state, state->messages[i]);
}

void steps_expand(struct explorer *explorer, const void *bytes)
{
    const struct state *state = bytes;
    seen.active += steps_leader(state) != NULL;
    break_down(explorer, state);
    proceed(explorer, state);
    for (unsigned server = 0; server < SERVERS_MAX; server++) {
        if (state->servers[server].replica.epoch == 0)
            continue;
        use(explorer, state, server);
        if (bounds.reads)
            lease(explorer, state, server);
        if (state->reads && state->read.server == NONE)
            begin_read(explorer, state, server);
    }
    if (state->read.server != NONE)
        end_read(explorer, state);
}

void steps_expand_healthy(struct explorer *explorer, const void *bytes)
{
    spares = rng_below(&steps_chance, 16) > 0;
    steps_expand(explorer, bytes);
    spares = false;
}

void steps_expand_calm(struct explorer *explorer, const void *bytes)
{
    const struct state *state = bytes;
    if (state->epoch == bounds.calm) {
        change(explorer, state, 0);
        return;
    }
    for (unsigned server = 0; server < SERVERS_MAX; server++) {
        if (!state_has_member(state, server, state->epoch)) {
            change(explorer, state, server);
            return;
        }
    }
    proceed(explorer, state);
}

void steps_print(const void *bytes, uint64_t action)
{
    static const char *const happenings[] = {
        "VIEW",         "installs", "decides", "gets",       "keeps",         "writes",
        "acknowledges", "grows",    "retires", "says again", "purges",        "granted by",
        "expires",      "reads",    "returns", "restarts",   "loses its disk"};
    static const char *const kinds[] = {"REPORT",   "LEAD",      "WRITE", "STORED", "COMMITTED",
                                        "ACTIVATE", "ACTIVATED", "LEARN", "SHOW",   "COPY",
                                        "COPIED",   "GROW",      "GROWN", "ADMIT",  "ADMITTED",
                                        "RETIRE",   "RETIRED"};
    const struct state *state = bytes;
    unsigned happening = (unsigned)(action >> 56), server = action >> 48 & 255;
    unsigned detail = (unsigned)(action & 0xffffffff);
    printf("# server %u %s", server, happenings[happening]);
    const struct replica_message *message = &state_wire(detail & 0xffff)->message;
    if (happening == GETS)
        printf(" %s of view %u from %u%s", kinds[message->kind], message->epoch, message->from,
               detail & IS_KEPT ? ", keeps" : "");
    else
        printf(" %u", detail);
    printf(" ->");
    for (unsigned i = 0; i < SERVERS_MAX; i++) {
        const struct server *it = &state->servers[i];
        printf("  [%u: view %u role %u since %u ended %u keepers", i, it->replica.epoch,
               it->replica.role, it->replica.custody.since, it->replica.custody.ended);
        for (uint32_t j = 0; j < it->replica.custody.keeper_count; j++)
            printf(" %u", it->replica.custody.keepers[j]);
        printf(" at %llx:", (unsigned long long)it->replica.position);
        for (unsigned key = 0; key < KEYS; key++)
            printf(" %llx%s", (unsigned long long)it->entries[key].version,
                   it->entries[key].present ? "" : "-");
        printf("]");
    }
    printf("\n");
}
