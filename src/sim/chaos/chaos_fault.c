/* chaos_fault: applies the faults of a schedule to a world, and takes them back. Faults of one kind
 * may overlap, so the state of each link and server counts them. */
#include <string.h>

#include "base/check.h"
#include "sim/chaos/chaos_impl.h"

#define LATENESS 200000 /* millionths of the frames of a link with late frames */

bool chaos_has_failed(const struct chaos *chaos)
{
    return chaos->failed || chaos->checkers.failures;
}

/* A guest without request() ignores the order. */
void chaos_load_set(struct chaos *chaos, node_id server, int64_t interval)
{
    struct chaos_load_order order = {interval};
    (void)world_request(chaos->world, server, CHAOS_LOAD, 0, &order, sizeof order);
    bool apart = chaos->guests && chaos->guests->apart;
    for (unsigned i = GUESTS_FIRST; !apart && chaos->services[i]; i++)
        (void)world_request(chaos->world, server, chaos->services[i]->id, 0, &order, sizeof order);
}

static void server_start(struct chaos *chaos, node_id server)
{
    if (world_node(chaos->world, server))
        return;
    if (world_restart(chaos->world, server, &chaos->why)) {
        chaos->failed = true;
        return;
    }
    chaos_load_set(chaos, server, CHAOS_LOAD_INTERVAL);
    if (chaos->simulation)
        simulation_up(chaos->simulation, server, chaos->servers[server].emptied);
    chaos->servers[server].emptied = false;
}

static void server_crash(struct chaos *chaos, node_id server)
{
    world_crash(chaos->world, server);
    if (chaos->simulation)
        simulation_down(chaos->simulation, server);
}

/* A local program asks for keys. A paused server gets the question when it goes on. */
static void ask(struct chaos *chaos, node_id server)
{
    const struct chaos_load_question asked = {.keys = 2};
    (void)world_request(chaos->world, server, CHAOS_LOAD, CHAOS_CLIENT, &asked, sizeof asked);
}

int chaos_answered(void *context, node_id at, const struct env_answer *to, const void *bytes,
                   uint32_t size)
{
    struct chaos *chaos = context;
    struct key key;
    if (chaos->simulation && to->client >= SIMULATION_CLIENT_FIRST)
        return simulation_answer(chaos->simulation, to, bytes, size);
    if (to->client != CHAOS_CLIENT || size != sizeof key)
        return 0;
    memcpy(&key, bytes, sizeof key);
    CHECKERS_TELL(&chaos->checkers, answered, at, key_route(&key));
    return 0;
}

static void pause_apply(struct chaos *chaos, node_id server, bool paused)
{
    struct server_state *state = &chaos->servers[server];
    if (paused && !state->stopped && world_node(chaos->world, server)) {
        state->stopped = true;
        state->stopped_at = world_clock_of(chaos->world, server);
    } else if (!paused && state->stopped) {
        state->stopped = false;
        CHECKERS_TELL(&chaos->checkers, returned, server, state->stopped_at,
                      world_clock_of(chaos->world, server));
    }
    world_pause(chaos->world, server, paused);
}

static void jump_apply(struct chaos *chaos, node_id server, env_nsec ahead)
{
    env_nsec now = world_clock_of(chaos->world, server);
    if (!chaos->servers[server].stopped)
        CHECKERS_TELL(&chaos->checkers, returned, server, now, now + ahead);
    world_jump(chaos->world, server, ahead);
}

static void server_fault(struct chaos *chaos, const struct fault *fault)
{
    struct server_state *state = &chaos->servers[fault->server];
    if (fault->kind == FAULT_CLOCK) {
        world_clock(chaos->world, fault->server, fault->begins ? (uint32_t)fault->amount : 1000000);
        return;
    }
    if (fault->kind == FAULT_JUMP) {
        if (fault->begins)
            jump_apply(chaos, fault->server, (env_nsec)(fault->amount / PSEC_PER_NSEC));
        return;
    }
    if (fault->kind == FAULT_HANG) {
        state->hung += fault->begins ? 1u : -1u;
        world_fill(chaos->world, fault->server, state->hung != 0);
    }
    if (fault->kind == FAULT_PAUSE || fault->kind == FAULT_HANG || fault->kind == FAULT_SLOW) {
        state->paused += fault->begins ? 1u : -1u;
        pause_apply(chaos, fault->server, state->paused != 0);
        return;
    }
    if (fault_is_of_disk(fault->kind) && fault->kind != FAULT_EMPTY) {
        chaos_disk_fault(chaos->world, &chaos->disk, &state->disk, fault);
        return;
    }
    state->down += fault->begins ? 1u : -1u;
    if (!state->down)
        server_start(chaos, fault->server);
    else if (world_node(chaos->world, fault->server))
        server_crash(chaos, fault->server);
    if (fault->kind == FAULT_REWIND && fault->begins)
        world_rewind(chaos->world, fault->server, fault->amount);
    if (fault->kind == FAULT_EMPTY && fault->begins) {
        world_erase(chaos->world, fault->server);
        state->emptied = true;
    }
}

static uint32_t chance(uint32_t sum)
{
    return sum < SIM_LINK_PARTS * 9 / 10 ? sum : SIM_LINK_PARTS * 9 / 10;
}

static void link_apply(struct chaos *chaos, node_id server, unsigned port)
{
    const struct sim_link_state *state = &chaos->links[server * chaos->plan->port_count + port];
    struct sim_link_faults faults = {
        .loss = chance(state->loss),
        .corruption = chance(state->corruption),
        .duplication = chance(state->duplication),
        .jitter = state->jitter,
        .reorder = state->jitter % 2,
        .late = state->late,
        .lateness = state->lates ? LATENESS : 0,
        .dead = state->dead != 0,
    };
    sim_link_set_faults(world_link(chaos->world, server, port), &faults);
}

static void link_fault(struct chaos *chaos, const struct fault *fault)
{
    struct sim_link_state *state =
        &chaos->links[fault->server * chaos->plan->port_count + fault->port];
    uint32_t amount = fault->begins ? (uint32_t)fault->amount : -(uint32_t)fault->amount;
    if (fault->kind == FAULT_LOSS)
        state->loss += amount;
    else if (fault->kind == FAULT_CORRUPTION)
        state->corruption += amount;
    else if (fault->kind == FAULT_DUPLICATION)
        state->duplication += amount;
    else if (fault->kind == FAULT_JITTER)
        state->jitter += fault->begins ? fault->amount : -fault->amount;
    else if (fault->kind == FAULT_LATE) {
        state->lates += fault->begins ? 1u : -1u;
        state->late = fault->begins ? fault->amount : state->late;
    } else
        state->dead += fault->begins ? 1u : -1u;
    link_apply(chaos, fault->server, fault->port);
}

/* Faults of the server at one end of a link. */
static void end_fault(struct chaos *chaos, const struct fault *fault)
{
    if (!world_node(chaos->world, fault->server))
        return;
    if (fault->kind == FAULT_CUT) {
        CHECKERS_TELL(&chaos->checkers, cut, fault->server, fault->port, fault->begins);
        world_cut(chaos->world, fault->server, fault->port, fault->begins);
    } else {
        CHECKERS_TELL(&chaos->checkers, carrier, fault->server, fault->port, !fault->begins);
        world_carrier(chaos->world, fault->server, fault->port, !fault->begins);
    }
}

/* What a checker from outside is told. */
static void fault_tell(struct chaos *chaos, const struct fault *fault)
{
    bool is_time = fault->kind == FAULT_JITTER || fault->kind == FAULT_LATE ||
                   fault->kind == FAULT_JUMP || fault->kind == FAULT_DISK_SLOW;
    const struct weft_fault told = {
        .kind = (enum weft_fault_kind)fault->kind,
        .begins = fault->begins,
        .server = fault->server,
        .port = fault->port,
        .amount = is_time ? fault->amount / PSEC_PER_NSEC : fault->amount,
    };
    static_assert((int)WEFT_FAULT_LOSS == FAULT_LOSS && (int)WEFT_FAULT_CRASH == FAULT_CRASH &&
                      (int)WEFT_FAULT_LATE == FAULT_LATE && (int)WEFT_FAULT_EMPTY == FAULT_EMPTY &&
                      (int)WEFT_FAULT_DISK_SLOW + 1 == FAULT_COUNT,
                  "the public numbers of the kinds are the same");
    if (chaos->simulation)
        simulation_fault(chaos->simulation, &told, fault_names[fault->kind]);
}

void chaos_fault_apply(struct chaos *chaos, const struct fault *fault)
{
    chaos->result->faults += fault->begins;
    if (fault_is_of_server(fault->kind))
        server_fault(chaos, fault);
    else if (fault->kind == FAULT_CUT || fault->kind == FAULT_CARRIER ||
             (fault->kind == FAULT_LATE && !fault->amount))
        end_fault(chaos, fault);
    else
        link_fault(chaos, fault);
    fault_tell(chaos, fault);
    /* Not always: a request makes its server look at the time before its next step does. */
    if (fault->number % 2)
        ask(chaos, fault->server);
}
