/* spread: how neighbours tell each other of views and waves.
 *
 * For each link there is one packet on its way at most that asks for an answer; what changes
 * meanwhile goes with the next one. Each packet has the number of the sender's last one that came,
 * which is its acknowledgement. A packet that is not answered is not repeated: another one is made,
 * from what is true then. */
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "services/store/planted.h"
#include "services/store/view/views_impl.h"

#define AGAIN_FIRST (20 * MSEC)
#define AGAIN_MOST  (320 * MSEC)
#define TELL_NSEC   (20 * MSEC)  /* how long votes wait for those that are missing */
#define LACKS_NSEC  (200 * MSEC) /* between two tries to tell a neighbour what it did not take */

static bool is_up(const struct views_port *port)
{
    return port->neighbour != WEFT_NOBODY;
}

/* Of two waves in one view, is the first one later? */
static bool is_later(view_ballot ballot, enum decision_phase phase, view_ballot other,
                     enum decision_phase other_phase)
{
    return ballot != other ? ballot > other : phase > other_phase;
}

static bool has_wave(const struct views *views, const struct views_port *port)
{
    const struct wave *wave = &views->wave;
    return port->epoch == views->decision.view->epoch &&
           !is_later(wave->ballot, wave->phase, port->ballot, port->phase);
}

/* Is the neighbour known to lack something that this server has? */
static bool lacks(const struct views *views, const struct views_port *port)
{
    uint32_t epoch = views->decision.view->epoch;
    return port->run && port->epoch <= epoch && !has_wave(views, port);
}

void spread_news(struct views *views)
{
    for (uint32_t i = 0; i < views->port_count; i++)
        views->ports[i].news = is_up(&views->ports[i]);
}

/* ---- sending ---- */

static void send(struct views *views, uint32_t port)
{
    uint8_t *bytes = NULL;
    uint8_t room[WEFT_PAYLOAD_MAX];
    uint32_t size = news_write(views->out, views->count, room);
    struct weft_packet *packet = weft_packet(views->self, size);
    if (!packet)
        return; /* it is sent again */
    bytes = weft_payload(packet);
    memcpy(bytes, room, size);
    views->counts.packets++;
    views->counts.bytes += size;
    (void)weft_send_port(views->self, packet, port);
}

/* Have all votes below this server come that can come? */
static bool is_complete(const struct views *views)
{
    const struct wave *wave = &views->wave;
    if (wave->vote)
        return false;
    for (uint32_t i = 0; i < views->port_count; i++) {
        const struct views_port *port = &views->ports[i];
        if (!is_up(port) || i == wave->parent)
            continue;
        if (!port->run || lacks(views, port) || (port->is_child && !port->complete))
            return false;
    }
    return true;
}

static void fill_content(struct views *views, const struct views_port *port,
                         struct view_state *state)
{
    const struct wave *wave = &views->wave;
    const struct roster *view = views->entered;
    struct view_changes *changes = &views->out->changes;
    if (state->parent) {
        state->content = CONTENT_VOTES;
        state->found = wave->phase == DECISION_ASKS ? wave->found : 0;
        memcpy(views->out->votes, wave->votes, 8 * bitset_words(views->count));
        if (state->found)
            changes_between(changes, view, wave->roster);
    } else if (!port->run || port->epoch == view->epoch) {
        if (wave->phase == DECISION_PROPOSES && !has_wave(views, port) &&
            changes_between(changes, view, wave->roster))
            state->content = CONTENT_PROPOSAL;
    } else if (port->epoch + 1 == view->epoch) {
        if (views->last_ballot && port->ballot == views->last_ballot &&
            port->phase == DECISION_PROPOSES) {
            state->content = CONTENT_DECIDED;
            state->found = views->last_ballot;
        } else if (views->former->epoch + 1 == view->epoch &&
                   changes_between(changes, views->former, view)) {
            state->content = CONTENT_CHANGES;
        }
    }
}

static void tell(struct views *views, uint32_t number)
{
    struct views_port *port = &views->ports[number];
    int64_t now = weft_now(views->self);
    const struct wave *wave = &views->wave;
    port->number++;
    if (port->news)
        port->asked = port->number;
    if (port->news || port->waits) {
        bool again = port->waits && now >= port->again_at;
        port->again_for = !port->waits ? AGAIN_FIRST
                          : again      ? port->again_for * 2
                                       : port->again_for;
        if (port->again_for > AGAIN_MOST)
            port->again_for = AGAIN_MOST;
        port->again_at = now + port->again_for;
        port->waits = true;
    }
    port->news = port->answers = false;
    views->out->kind = NEWS_STATE;
    struct view_state *state = &views->out->state;
    *state = (struct view_state){
        .run = views->process,
        .number = port->number,
        .asks = port->waits,
        .heard_run = port->run,
        .heard = port->heard,
        .epoch = views->entered->epoch,
        .ballot = wave->ballot,
        .phase = wave->phase,
        .parent = wave->ballot && wave->parent == number,
    };
    state->complete = state->parent && is_complete(views);
    fill_content(views, port, state);
    send(views, number);
}

/* Nothing is sent while a view is not durable yet: it would have to be said again. */
void spread_flush(struct views *views)
{
    int64_t now = weft_now(views->self);
    if (views->entering)
        return;
    for (uint32_t i = 0; i < views->port_count; i++) {
        const struct views_port *port = &views->ports[i];
        bool due = port->answers || (port->waits ? now >= port->again_at : (bool)port->news);
        if (is_up(port) && due)
            tell(views, i);
    }
}

/* ---- waves ---- */

/* Votes have come, or some will not come: tells the parent. */
static void pass_votes(struct views *views)
{
    struct wave *wave = &views->wave;
    if (!wave->ballot || views->entering || wave->parent == NO_PORT)
        return;
    struct views_port *parent = &views->ports[wave->parent];
    bool complete = is_complete(views);
    bool late = !wave->told && weft_now(views->self) >= wave->tell_at;
    if (!late && (!complete || (wave->told && wave->told_complete)))
        return;
    wave->told = true;
    wave->told_complete = complete;
    wave->tell_at = weft_now(views->self) + TELL_NSEC;
    parent->news = is_up(parent);
}

static void add_own_vote(struct views *views)
{
    struct wave *wave = &views->wave;
    const struct decision *decision = &views->decision;
    wave->vote = 0;
    bitset_add(wave->votes, decision->server);
    if (wave->phase == DECISION_ASKS && decision->accepted > wave->found) {
        wave->found = decision->accepted;
        roster_copy(wave->roster, decision->roster);
    }
    wave->told = false;
}

static void start(struct views *views, view_ballot ballot, enum decision_phase phase,
                  uint32_t parent)
{
    struct wave *wave = &views->wave;
    wave->ballot = ballot;
    wave->phase = phase;
    wave->parent = parent;
    wave->found = 0;
    wave->vote = 0;
    wave->told = wave->told_complete = false;
    wave->tell_at = weft_now(views->self) + TELL_NSEC;
    memset(wave->votes, 0, 8 * bitset_words(views->count));
    spread_news(views);
}

void spread_begin(struct views *views, view_ballot ballot, enum decision_phase phase)
{
    start(views, ballot, phase, NO_PORT);
    if (phase == DECISION_PROPOSES)
        roster_copy(views->wave.roster, views->decision.proposal);
    add_own_vote(views);
}

/* A later wave has come. */
static void join(struct views *views, uint32_t port, const struct view_news *news)
{
    const struct view_state *state = &news->state;
    struct decision *decision = &views->decision;
    bool votes = false;
    if (state->phase == DECISION_PROPOSES) {
        if (state->content != CONTENT_PROPOSAL ||
            !changes_apply(&news->changes, decision->view, views->scratch))
            return;
        start(views, state->ballot, state->phase, port);
        roster_copy(views->wave.roster, views->scratch);
        votes = decision_accept(decision, state->ballot, views->wave.roster);
    } else {
        start(views, state->ballot, state->phase, port);
        votes = decision_promise(decision, decision->view->epoch + 1, state->ballot);
    }
    if (votes)
        views->wave.vote = twin_change(&views->twin);
    if (votes && STORE_HAS(VOTE_EARLY))
        add_own_vote(views);
}

static void take_votes(struct views *views, const struct view_news *news)
{
    struct wave *wave = &views->wave;
    const struct view_state *state = &news->state;
    for (size_t i = 0; i < bitset_words(views->count); i++) {
        wave->told &= (news->votes[i] & ~wave->votes[i]) == 0;
        wave->votes[i] |= news->votes[i];
    }
    if (wave->phase != DECISION_ASKS || state->found <= wave->found ||
        !changes_apply(&news->changes, views->decision.view, views->scratch))
        return;
    wave->found = state->found;
    roster_copy(wave->roster, views->scratch);
    wave->told = false;
}

void spread_saved(struct views *views, uint64_t change)
{
    if (views->wave.vote && change >= views->wave.vote) {
        add_own_vote(views);
        pass_votes(views);
    }
}

/* ---- whole rosters ---- */

static void fetch(struct views *views, uint32_t port)
{
    views->fetching = true;
    views->fetch_port = port;
    views->fetch_at = weft_now(views->self) + AGAIN_FIRST;
    views->out->kind = NEWS_FETCH;
    views->out->fetch = (struct view_fetch){.first = views->fetched_count};
    send(views, port);
}

/* Fetches from that port, or from another one if it is of no use any more. */
static void fetch_again(struct views *views)
{
    uint32_t epoch = views->decision.view->epoch;
    for (uint32_t i = 0; i < views->port_count; i++) {
        uint32_t at = (views->fetch_port + i) % views->port_count;
        if (is_up(&views->ports[at]) && views->ports[at].epoch > epoch) {
            fetch(views, at);
            return;
        }
    }
    views->fetching = false;
}

void spread_fetch(struct views *views, uint32_t port, const struct view_fetch *fetch)
{
    const struct roster *view = views->entered;
    struct view_piece *piece = &views->out->piece;
    uint32_t left = view->count - fetch->first;
    if (view->epoch == 0)
        return;
    views->out->kind = NEWS_ROSTER;
    piece->epoch = view->epoch;
    piece->first = fetch->first;
    piece->count = left < NEWS_PIECE ? left : NEWS_PIECE;
    memcpy(piece->entries, &view->entries[fetch->first], piece->count * sizeof *piece->entries);
    send(views, port);
}

void spread_piece(struct views *views, uint32_t port, const struct view_piece *piece)
{
    struct roster *fetched = views->fetched;
    if (!views->fetching || port != views->fetch_port ||
        piece->epoch <= views->decision.view->epoch)
        return;
    if (piece->epoch != fetched->epoch)
        views->fetched_count = 0; /* the neighbour is in another view now */
    if (piece->first == views->fetched_count) {
        fetched->epoch = piece->epoch;
        memcpy(&fetched->entries[piece->first], piece->entries,
               piece->count * sizeof *piece->entries);
        views->fetched_count += piece->count;
    }
    if (views->fetched_count == views->count)
        views_install(views, fetched, 0);
    else
        fetch(views, port);
}

/* ---- what a neighbour tells ---- */

static void learn_view(struct views *views, uint32_t port, const struct view_news *news)
{
    const struct view_state *state = &news->state;
    const struct roster *view = views->decision.view;
    const struct wave *wave = &views->wave;
    bool next = state->epoch == view->epoch + 1;
    if (next && state->content == CONTENT_DECIDED && wave->ballot == state->found &&
        wave->phase == DECISION_PROPOSES) {
        roster_copy(views->scratch, wave->roster);
        views_install(views, views->scratch, state->found);
    } else if (next && state->content == CONTENT_CHANGES &&
               changes_apply(&news->changes, view, views->scratch)) {
        views_install(views, views->scratch, 0);
    } else if (!views->fetching) {
        views->fetched_count = 0;
        fetch(views, port);
    }
}

/* False: the packet is older than another one that has come. */
static bool hear(struct views *views, struct views_port *port, const struct view_state *state)
{
    if (state->run != port->run) {
        port->run = state->run;
        port->heard = 0;
        port->epoch = 0;
        port->ballot = 0;
        port->phase = DECISION_RESTS;
        port->news = true;
    }
    port->answers |= state->asks;
    if (state->number <= port->heard)
        return false;
    port->heard = state->number;
    if (state->heard_run == views->process && state->heard >= port->asked)
        port->waits = false;
    port->is_child = state->parent;
    port->complete = state->complete;
    return true;
}

void spread_state(struct views *views, uint32_t number, struct view_news *news)
{
    struct views_port *port = &views->ports[number];
    const struct view_state *state = &news->state;
    if (!hear(views, port, state))
        return;
    bool moved =
        port->epoch != state->epoch || port->ballot != state->ballot || port->phase != state->phase;
    port->epoch = state->epoch;
    port->ballot = state->ballot;
    port->phase = state->phase;
    const struct wave *wave = &views->wave;
    if (state->epoch > views->decision.view->epoch)
        learn_view(views, number, news);
    else if (state->epoch == views->decision.view->epoch) {
        if (is_later(state->ballot, state->phase, wave->ballot, wave->phase))
            join(views, number, news);
        else if (state->ballot && state->ballot == wave->ballot && state->phase == wave->phase &&
                 state->content == CONTENT_VOTES)
            take_votes(views, news);
    }
    /* Only if it says something new: it may be unable to take what it lacks, and would say so again
     * and again. */
    if (moved && lacks(views, port))
        port->news = true;
    pass_votes(views);
}

/* ---- links ---- */

void spread_look(struct views *views)
{
    int64_t now = weft_now(views->self);
    for (uint32_t i = 0; i < views->port_count; i++) {
        struct views_port *port = &views->ports[i];
        weft_server neighbour = weft_neighbour(views->self, i);
        if (neighbour != port->neighbour) {
            *port = (struct views_port){
                .neighbour = neighbour,
                .number = port->number,
                .news = neighbour != WEFT_NOBODY,
            };
        } else if (is_up(port) && !port->waits && now >= port->again_at + LACKS_NSEC &&
                   lacks(views, port)) {
            port->news = true;
        }
    }
    if (views->fetching && now >= views->fetch_at)
        fetch_again(views);
    pass_votes(views);
}

void spread_init(struct views *views)
{
    for (uint32_t i = 0; i < views->port_count; i++)
        views->ports[i].neighbour = WEFT_NOBODY;
    wave_end(views);
    spread_look(views);
}

bool spread_is_busy(const struct views *views)
{
    bool busy = views->fetching || !views->wave.told;
    for (uint32_t i = 0; i < views->port_count; i++)
        busy |= is_up(&views->ports[i]) && (views->ports[i].waits || views->ports[i].news);
    return busy;
}
