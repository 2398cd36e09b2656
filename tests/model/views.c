/* All ways in which servers can decide on views (services/store/view/decision.h), explored with the
 * functions that the servers run.
 *
 * Messages are lost, repeated and delivered in any order, however late: a message that was sent
 * once can be delivered at any time. Servers restart at any time, which loses what is not durable,
 * and lose their disks. Any server may propose at any time. After each decision the roster is
 * compared with earlier decisions for the same epoch: there may be only one.
 *
 * Bounds: the number of servers, epochs, rounds of ballots, restarts and lost disks, for each test.
 * What is durable is written in the same step as the answer is sent; a crash before that looks like
 * a message that was not delivered.
 *
 * model-views_planted is this program with bugs, one at a time: the model must find each. */

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitset.h"
#include "base/test.h"
#include "model/explorer.h"
#include "services/store/planted.h"
#include "services/store/view/decision.h"

#define SERVERS_MAX  5
#define MESSAGES_MAX 45
#define EPOCHS_MAX   4
#define ROSTERS_MAX  250

/* ---- rosters by number, so that a state is small ---- */

static struct roster *rosters[ROSTERS_MAX]; /* number 0: none */
static unsigned roster_count;

static struct roster *roster_make(void)
{
    struct roster *roster = calloc(1, roster_size(SERVERS_MAX));
    assert_non_null(roster);
    return roster;
}

static uint8_t roster_number(const struct roster *roster)
{
    for (unsigned i = 1; i < roster_count; i++) {
        if (roster_same(rosters[i], roster))
            return (uint8_t)i;
    }
    assert_true(roster_count < ROSTERS_MAX);
    roster_copy(rosters[roster_count], roster);
    return (uint8_t)roster_count++;
}

/* ---- a state ---- */

struct small_server { /* rosters are numbers, ballots have the round in the upper bits */
    uint8_t view, promised, accepted, roster;
    uint8_t phase, ballot, found, proposal, votes;
    uint8_t disk;
};

enum kind { ASK, PROMISE, PROPOSE, ACCEPT, DECIDED };

union small_message {
    struct {
        uint8_t kind, epoch, from, ballot, found, roster, zero[2];
    };
    uint64_t word; /* to sort */
};

struct state {
    struct small_server servers[SERVERS_MAX];
    uint8_t decided[EPOCHS_MAX + 1]; /* the roster of each epoch */
    uint8_t restarts, losses;        /* that are still to come */
    uint8_t message_count;
    uint8_t zero[6];
    union small_message messages[MESSAGES_MAX]; /* sorted */
};

static_assert(sizeof(struct state) % 8 == 0, "no gaps");

static struct bounds {
    unsigned servers, epochs;  /* decided ones; the first is given */
    unsigned rounds;           /* of ballots, besides round 0 */
    unsigned restarts, losses; /* of a process, of a disk */
} bounds;

/* ---- between a state and what the functions work on ---- */

/* The server that makes a step. */
static struct decision decision;
static struct roster *chosen; /* by it, to propose */

static view_ballot full_ballot(uint8_t small)
{
    return (view_ballot)(small >> 3) << 32 | (small & 7);
}

static uint8_t small_ballot(view_ballot ballot)
{
    assert_true(ballot >> 32 < 32);
    return (uint8_t)(ballot >> 32 << 3 | (ballot & 7));
}

static void unpack(const struct state *state, unsigned server)
{
    const struct small_server *small = &state->servers[server];
    decision.server = server;
    decision.disk = small->disk;
    roster_copy(decision.view, rosters[small->view]);
    decision.promised = full_ballot(small->promised);
    decision.accepted = full_ballot(small->accepted);
    roster_copy(decision.roster, rosters[small->roster]);
    decision.phase = small->phase;
    decision.ballot = full_ballot(small->ballot);
    decision.found = full_ballot(small->found);
    roster_copy(decision.proposal, rosters[small->proposal]);
    decision.votes[0] = small->votes;
}

static void pack(struct state *state)
{
    bool has_proposal = decision.phase == DECISION_PROPOSES || decision.found;
    state->servers[decision.server] = (struct small_server){
        .view = roster_number(decision.view),
        .promised = small_ballot(decision.promised),
        .accepted = small_ballot(decision.accepted),
        .roster = decision.accepted ? roster_number(decision.roster) : 0,
        .phase = (uint8_t)decision.phase,
        .ballot = small_ballot(decision.ballot),
        .found = small_ballot(decision.found),
        .proposal = has_proposal ? roster_number(decision.proposal) : 0,
        .votes = (uint8_t)decision.votes[0],
        .disk = (uint8_t)decision.disk,
    };
}

static void send(struct state *state, union small_message message)
{
    unsigned at = 0;
    while (at < state->message_count && state->messages[at].word < message.word)
        at++;
    if (at < state->message_count && state->messages[at].word == message.word)
        return; /* a message that was sent once is there for ever */
    assert_true(state->message_count < MESSAGES_MAX);
    memmove(&state->messages[at + 1], &state->messages[at],
            (state->message_count - at) * sizeof *state->messages);
    state->messages[at] = message;
    state->message_count++;
}

/* ---- what can happen ---- */

enum happening { ASKS, PROPOSES_FIRST, PROPOSES, FETCHES, DELIVERY, RESTART, LOSS };

static uint64_t action_of(enum happening happening, unsigned server, uint64_t detail)
{
    return (uint64_t)happening << 60 | (uint64_t)server << 56 | (detail & 0xffffffffffff);
}

/* The proposer has a quorum: what it proposed is decided. */
static void decide(struct explorer *explorer, struct state *state, uint64_t action)
{
    uint8_t *decided = &state->decided[decision.proposal->epoch];
    uint8_t roster = roster_number(decision.proposal);
    if (*decided && *decided != roster)
        explorer_wrong(explorer, action, "two rosters for one epoch");
    *decided = roster;
    send(state, (union small_message){{
                    .kind = DECIDED,
                    .epoch = (uint8_t)decision.proposal->epoch,
                    .roster = roster,
                }});
}

/* An answer to a proposer that has counted it, or that waits for no answer to that ballot and never
 * will again. */
static bool is_settled(const struct state *state, union small_message message)
{
    if (message.kind != PROMISE && message.kind != ACCEPT)
        return false;
    const struct small_server *proposer = &state->servers[(message.ballot & 7) - 1];
    enum decision_phase awaits = message.kind == PROMISE ? DECISION_ASKS : DECISION_PROPOSES;
    if (message.epoch != rosters[proposer->view]->epoch + 1)
        return message.epoch <= rosters[proposer->view]->epoch;
    if (proposer->phase == awaits && proposer->ballot == message.ballot)
        return (message.from & ~proposer->votes) == 0 && message.found <= proposer->found;
    return message.ballot <= proposer->promised &&
           (message.kind == PROMISE || proposer->phase != DECISION_ASKS ||
            proposer->ballot != message.ballot);
}

/* Removes messages to which no server will react any more, so that states that differ only in them
 * are the same. */
static void forget(struct state *state)
{
    unsigned kept = 0, oldest = UINT8_MAX;
    for (unsigned i = 0; i < bounds.servers; i++) {
        unsigned epoch = rosters[state->servers[i].view]->epoch;
        oldest = epoch < oldest ? epoch : oldest;
    }
    for (unsigned i = 0; i < state->message_count; i++) {
        union small_message message = state->messages[i];
        if (message.epoch > oldest && !is_settled(state, message))
            state->messages[kept++] = message;
    }
    memset(&state->messages[kept], 0, (state->message_count - kept) * sizeof *state->messages);
    state->message_count = (uint8_t)kept;
}

/* Ends a step of a server: the state after it. */
static void finish(struct explorer *explorer, struct state *next, uint64_t action)
{
    if (decision.phase == DECISION_PROPOSES && decision_has_quorum(&decision))
        decide(explorer, next, action);
    pack(next);
    forget(next);
    explorer_add(explorer, next, action);
}

/* What a server proposes: the next server leaves, or joins. So each proposes something else. */
static void choose(const struct state *state)
{
    unsigned other = (decision.server + 1) % bounds.servers;
    roster_next(chosen, decision.view);
    if (roster_has(chosen, other) && chosen->entries[other].disk == state->servers[other].disk)
        roster_leave(chosen, other);
    else
        roster_join(chosen, other, state->servers[other].disk, 1);
}

static void propose(struct explorer *explorer, const struct state *state, unsigned server,
                    enum happening how)
{
    struct state next = *state;
    unpack(state, server);
    choose(state);
    if (how == PROPOSES_FIRST)
        decision_propose_first(&decision, chosen);
    else if (!decision_propose(&decision, chosen))
        return; /* it has promised more; it looks as if it had not asked */
    send(&next, (union small_message){{
                    .kind = PROPOSE,
                    .epoch = (uint8_t)decision.proposal->epoch,
                    .ballot = small_ballot(decision.ballot),
                    .roster = roster_number(decision.proposal),
                }});
    finish(explorer, &next, action_of(how, server, 0));
}

static void ask(struct explorer *explorer, const struct state *state, unsigned server)
{
    struct state next = *state;
    unpack(state, server);
    decision_ask(&decision);
    send(&next, (union small_message){{
                    .kind = ASK,
                    .epoch = (uint8_t)(decision.view->epoch + 1),
                    .ballot = small_ballot(decision.ballot),
                }});
    finish(explorer, &next, action_of(ASKS, server, 0));
}

/* All that a server can do as a proposer. */
static void act(struct explorer *explorer, const struct state *state, unsigned server)
{
    unpack(state, server);
    if (decision.view->epoch >= bounds.epochs ||
        !roster_votes(decision.view, server, decision.disk))
        return;
    bool proposes = decision.phase == DECISION_ASKS && decision_has_quorum(&decision);
    bool proposes_first = decision_is_first(&decision);
    bool asks = decision.promised >> 32 < bounds.rounds;
    if (proposes)
        propose(explorer, state, server, PROPOSES);
    if (proposes_first)
        propose(explorer, state, server, PROPOSES_FIRST);
    if (asks)
        ask(explorer, state, server);
}

static void deliver(struct explorer *explorer, const struct state *state, unsigned server,
                    union small_message message)
{
    struct state next = *state;
    unpack(state, server);
    view_ballot ballot = full_ballot(message.ballot);
    const uint64_t from[1] = {message.from};
    union small_message answer = {
        {.epoch = message.epoch, .from = (uint8_t)(1 << server), .ballot = message.ballot}};
    switch ((enum kind)message.kind) {
    case ASK:
        if (!decision_promise(&decision, message.epoch, ballot))
            return;
        answer.kind = PROMISE;
        answer.found = small_ballot(decision.accepted);
        answer.roster = decision.accepted ? roster_number(decision.roster) : 0;
        send(&next, answer);
        break;
    case PROMISE:
        decision_promised(&decision, message.epoch, ballot, from, full_ballot(message.found),
                          rosters[message.roster]);
        break;
    case PROPOSE:
        if (!decision_accept(&decision, ballot, rosters[message.roster]))
            return;
        answer.kind = ACCEPT;
        send(&next, answer);
        break;
    case ACCEPT:
        decision_accepted(&decision, message.epoch, ballot, from);
        break;
    case DECIDED:
        if (!decision_install(&decision, rosters[message.roster]))
            return;
        break;
    }
    finish(explorer, &next, action_of(DELIVERY, server, message.word));
}

/* A server that is behind gets the view of another one. */
static void fetch(struct explorer *explorer, const struct state *state, unsigned server)
{
    for (unsigned other = 0; other < bounds.servers; other++) {
        struct state next = *state;
        unpack(state, server);
        if (decision_install(&decision, rosters[state->servers[other].view]))
            finish(explorer, &next, action_of(FETCHES, server, 0));
    }
}

static void restart(struct explorer *explorer, const struct state *state, unsigned server)
{
    struct state next = *state;
    next.restarts--;
    unpack(state, server);
    decision_init(&decision);
    finish(explorer, &next, action_of(RESTART, server, 0));
}

static void lose(struct explorer *explorer, const struct state *state, unsigned server)
{
    struct state next = *state;
    next.losses--;
    unpack(state, server);
    decision.disk += 8;
    decision.promised = 0;
    decision.accepted = 0;
    roster_plan(decision.view, bounds.servers);
    decision_init(&decision);
    finish(explorer, &next, action_of(LOSS, server, 0));
}

static void expand(struct explorer *explorer, const void *bytes)
{
    const struct state *state = bytes;
    for (unsigned server = 0; server < bounds.servers; server++) {
        act(explorer, state, server);
        fetch(explorer, state, server);
        if (state->restarts && state->servers[server].phase != DECISION_RESTS)
            restart(explorer, state, server);
        if (state->losses)
            lose(explorer, state, server);
        for (unsigned i = 0; i < state->message_count; i++)
            deliver(explorer, state, server, state->messages[i]);
    }
}

static void print(const void *bytes, uint64_t action)
{
    static const char *const happenings[] = {
        "asks",     "proposes in round 0", "proposes", "fetches a view", "gets",
        "restarts", "loses its disk"};
    static const char *const kinds[] = {"ASK", "PROMISE", "PROPOSE", "ACCEPT", "DECIDED"};
    const struct state *state = bytes;
    unsigned server = action >> 56 & 15;
    union small_message message = {.word = action & 0xffffffffffff};
    printf("# server %u %s", server, happenings[action >> 60]);
    if (action >> 60 == DELIVERY)
        printf(" %s epoch %u ballot %d.%d roster %u", kinds[message.kind], message.epoch,
               message.ballot >> 3, message.ballot & 7, message.roster);
    printf(" -> view %u promised %d.%d accepted %d.%d\n", state->servers[server].view,
           state->servers[server].promised >> 3, state->servers[server].promised & 7,
           state->servers[server].accepted >> 3, state->servers[server].accepted & 7);
}

/* View 1: all servers are members. */
static struct state start(void)
{
    struct state state = {.restarts = (uint8_t)bounds.restarts, .losses = (uint8_t)bounds.losses};
    struct roster *plan = roster_make();
    roster_plan(plan, bounds.servers);
    roster_next(chosen, plan);
    free(plan);
    for (unsigned i = 0; i < bounds.servers; i++) {
        state.servers[i].disk = (uint8_t)(i + 1);
        roster_join(chosen, i, i + 1, 1);
    }
    for (unsigned i = 0; i < bounds.servers; i++)
        state.servers[i].view = roster_number(chosen);
    state.decided[1] = state.servers[0].view;
    return state;
}

static uint64_t explore(struct bounds given, bool quiet)
{
    static const struct model model = {sizeof(struct state), expand, print};
    bounds = given;
    for (unsigned i = 0; i < ROSTERS_MAX; i++)
        rosters[i] = roster_make();
    roster_count = 1;
    chosen = roster_make();
    uint64_t votes[1] = {0};
    decision = (struct decision){
        .view = roster_make(),
        .roster = roster_make(),
        .proposal = roster_make(),
        .votes = votes,
    };
    struct state state = start();
    uint64_t states = explorer_run(&model, &state, 4000000, quiet);
    free(decision.view);
    free(decision.roster);
    free(decision.proposal);
    free(chosen);
    for (unsigned i = 0; i < ROSTERS_MAX; i++)
        free(rosters[i]);
    return states;
}

#ifdef WEFT_PLANTED_BUGS

static void the_model_finds_each_bug(void **state)
{
    (void)state;
    static const struct {
        enum store_bug bug;
        const char *name;
    } bugs[] = {
#define BUG(bug, name, text) {STORE_##bug, name},
        STORE_VIEW_PLANTED(BUG)
#undef BUG
    };
    static const struct bounds tries[] = {
        {.servers = 3, .epochs = 2, .rounds = 1, .restarts = 1},
        {.servers = 3, .epochs = 2, .rounds = 1, .losses = 1},
        {.servers = 4, .epochs = 2, .rounds = 1},
    };
    unsigned missed = 0;
    for (unsigned i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        store_bugs = UINT64_C(1) << bugs[i].bug;
        unsigned finds = 0;
        for (unsigned j = 0; j < sizeof tries / sizeof *tries && !finds; j++) {
            if (explore(tries[j], true) != UINT64_MAX)
                continue;
            print_message("# %s: found with %u servers, %u restarts, %u lost disks\n", bugs[i].name,
                          tries[j].servers, tries[j].restarts, tries[j].losses);
            finds++;
        }
        missed += !finds;
    }
    assert_int_equal(missed, 0);
}

TEST_MAIN(TEST(the_model_finds_each_bug))

#else

static void check(struct bounds given)
{
    uint64_t states = explore(given, false);
    assert_true(states != UINT64_MAX);
    print_message("# %llu states, %u rosters\n", (unsigned long long)states, roster_count - 1);
}

static void proposers_compete(void **state)
{
    (void)state;
    check((struct bounds){.servers = 3, .epochs = 2, .rounds = 2});
}

static void views_follow_each_other(void **state)
{
    (void)state;
    check((struct bounds){.servers = 3, .epochs = 3, .rounds = 1, .restarts = 1});
}

static void a_server_restarts_and_another_loses_its_disk(void **state)
{
    (void)state;
    check((struct bounds){.servers = 3, .epochs = 2, .rounds = 1, .restarts = 1, .losses = 1});
}

static void half_of_an_even_number_decides(void **state)
{
    (void)state;
    check((struct bounds){.servers = 4, .epochs = 2, .rounds = 1});
}

TEST_MAIN(TEST(proposers_compete), TEST(views_follow_each_other),
          TEST(a_server_restarts_and_another_loses_its_disk), TEST(half_of_an_even_number_decides))

#endif
