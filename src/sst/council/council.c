/* council: all input enters here: messages, deaths, outcomes of meetings, time. The leader's part
 * is in council_lead.c, the follower's part in council_follow.c. */
#include "sst/council/council.h"

#include <errno.h>

#include "base/bitset.h"
#include "base/check.h"
#include "sst/council/council_impl.h"
#include "transport/clock.h"

#define EPOCH_LEAP_MAX (1 << 20) /* a message that skips more is not from a leader */

/* Ticks to wait before a failed meeting is reported: it may fail because a process died, and the
 * leader learns of a death by itself. The wait is longer if the meeting itself reports a death. */
#define DOUBT_TICKS 3
#define DEATH_TICKS 20

/* Ticks to wait before a part of the members without a majority gives up: it may turn out that the
 * silent members have ended. */
#define MINORITY_TICKS 15

/* An outvoted member says so often that it leaves, until the others have let it go. */
#define FAREWELL_TICKS 10

/* Ticks to wait before a member that should lead, but leaves, is passed over. */
#define IDLE_TICKS 20

void council_init(struct council *council, const struct council_ops *ops, void *argument,
                  const struct council_config *config)
{
    assert(config->id && config->nonce);
    assert(config->rows_max > 0 && config->rows_max <= SST_ROWS_MAX);
    memset(council, 0, sizeof *council);
    council->ops = ops;
    council->argument = argument;
    council->config = *config;
    council->row = ROW_NONE;
}

static void council_say_join(struct council *council)
{
    struct council_message message = {
        .kind = COUNCIL_JOIN,
        .id = council->config.id,
        .hash = council->config.hash,
        .design = council->config.design,
        .rows_max = council->config.rows_max,
        .drop = council->config.drop,
    };
    council_say(council, 0, &message);
}

/* Returns the leader of the view. NULL: we lead, or there is none. */
static const struct view_member *council_eldest(const struct council *council)
{
    uint32_t row = council_row_of_leader(council);
    const struct view_member *eldest = row == ROW_NONE ? NULL : &council->installed.rows[row];
    return eldest && eldest->nonce != council->config.nonce ? eldest : NULL;
}

/* Does the leader of the view, which is another member, want to leave? Then it must lead, or it is
 * passed over. */
static bool council_is_deserted(const struct council *council)
{
    uint32_t row = council_row_of_leader(council);
    return council_is_member(council) && !council->outvoted && row != ROW_NONE &&
           council->leaving[row] && council->installed.rows[row].nonce != council->config.nonce;
}

static void council_say_leave(struct council *council)
{
    const struct view_member *eldest = council_eldest(council);
    struct council_message message = {.kind = COUNCIL_LEAVE};
    if (eldest)
        council_say(council, eldest->id, &message);
}

void council_tell(struct council *council, ripc_id to)
{
    if (council_is_member(council) && !council->outvoted && council_has_majority(council))
        council_say_commit(council, to, &council->installed);
}

/* Also to silent members: perhaps they are not silent to us, but to the leader that we followed.
 * And to newcomers of the view that we prepared: they may have installed it and promised to follow
 * us.
 */
static void council_say_leave_to_all(struct council *council)
{
    struct council_message message = {.kind = COUNCIL_LEAVE};
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *member = &council->installed.rows[row];
        if (!member->id && council->prepared.epoch > council->installed.epoch)
            member = &council->prepared.rows[row];
        const struct council_dead *dead = council_dead_find(council, member->nonce);
        if (member->id && member->nonce != council->config.nonce && (!dead || dead->silent))
            council_say(council, member->id, &message);
    }
}

/* ---- meetings ---- */

void council_met(struct council *council, uint32_t row, uint64_t nonce, int status)
{
    assert(row < SST_ROWS_MAX && status <= 0 && status != -EINPROGRESS);
    struct council_meeting *meeting = &council->meetings[row];
    if (meeting->nonce != nonce || meeting->status != -EINPROGRESS)
        return;
    meeting->status = status;
    if (council_check_ready(council))
        lead_ready_self(council);
    lead_settle(council);
}

/* ---- views ---- */

void council_found(struct council *council, uint64_t table)
{
    assert(council->phase == COUNCIL_UNJOINED && table);
    struct view view = {.table = table, .epoch = 1, .row_count = 1};
    view.rows[0] = (struct view_member){council->config.id, council->config.nonce, 1};
    council->phase = COUNCIL_JOINING;
    council_apply(council, &view);
    council->lead = LEAD_RESTS;
    council->ballot = council->promised = (struct ballot){.since = 1};
    council->promised_to = council->config.nonce;
}

void council_join(struct council *council)
{
    assert(council->phase == COUNCIL_UNJOINED);
    council->phase = COUNCIL_JOINING;
    council->retry_at = 0;
    council_say_join(council);
}

void council_leave(struct council *council)
{
    if (council->phase == COUNCIL_JOINING) {
        council_forget(council);
        council->phase = COUNCIL_UNJOINED;
    }
    if (council->phase != COUNCIL_MEMBER)
        return;
    council->phase = COUNCIL_LEAVING;
    council->retry_at = 0;
    council_say_leave(council);
    lead_settle(council);
}

/* ---- messages from other processes ---- */

/* Could this view follow the one that we have? Members of both must have kept their row, and all
 * others must have joined with this view. */
static bool prepare_is_possible(const struct council *council,
                                const struct council_message *message)
{
    const struct view *view = &message->view;
    uint32_t own = view_row_of(view, council->config.nonce);
    if (view->row_count > council->config.rows_max || view->epoch - message->base > EPOCH_LEAP_MAX)
        return false;
    if (own == ROW_NONE ? council->phase != COUNCIL_LEAVING
                        : view->rows[own].id != council->config.id)
        return false;
    if (council->phase == COUNCIL_JOINING)
        return view->rows[own].since == view->epoch;
    for (uint32_t row = 0; row < view->row_count; row++) {
        const struct view_member *member = &view->rows[row];
        const struct view_member *before = &council->installed.rows[row];
        if (!member->id)
            continue;
        if (before->id) {
            if (before->id != member->id || before->nonce != member->nonce ||
                before->since != member->since)
                return false;
        } else if (member->since != view->epoch ||
                   view_row_of(&council->installed, member->nonce) != ROW_NONE) {
            return false;
        }
    }
    return true;
}

/* A joining process does not know the leader, so it accepts any ballot; a member checks it. */
static bool ballot_is_true(const struct council *council, const struct council_message *message)
{
    const struct view_member *member = &council->installed.rows[message->ballot.row];
    if (!council_is_member(council))
        return true;
    if (!member->id && council->prepared_is)
        member = &council->prepared.rows[message->ballot.row];
    return member->nonce == message->sender && member->since == message->ballot.since;
}

/* Promises to follow the sender, and stops leading. */
static void council_promise(struct council *council, const struct council_message *message)
{
    council->promised = message->ballot;
    council->promised_to = message->sender;
    council->lead = LEAD_FOLLOWS;
    if (message->kind != COUNCIL_CANCEL) /* a leader that was outvoted sends it, too */
        council->idle = 0;
}

/* The leader takes members that its view excludes for dead, and so do we from now on. */
static void council_adopt_deaths(struct council *council, const struct view *view)
{
    for (uint32_t row = 0; row < council->installed.row_count; row++) {
        const struct view_member *member = &council->installed.rows[row];
        if (member->id && member->nonce != council->config.nonce &&
            view->rows[row].nonce != member->nonce && !bitset_has(view->left, row) &&
            !council_is_dead(council, member->nonce))
            council_dead_add(council, member->nonce, true);
    }
}

/* A joining process stays with the first table that accepts it. It changes to another one only if
 * the leader that was to let it in is dead or has moved to the other table, too: a table is founded
 * again only when the previous one has no members left. */
static bool council_knows_table(struct council *council, const struct council_message *message)
{
    uint64_t leader = council->leader.nonce;
    if (council->table == message->table)
        return true;
    if (council->phase != COUNCIL_JOINING || !message->table ||
        (council->prepared_is && !council_is_dead(council, leader) &&
         view_row_of(&message->view, leader) == ROW_NONE))
        return false;
    council_forget(council);
    council->table = message->table;
    return true;
}

static void council_say_unready(struct council *council, uint32_t row)
{
    struct council_message message = {
        .kind = COUNCIL_UNREADY,
        .ballot = council->prepared_ballot,
        .epoch = council->prepared.epoch,
        .row = row,
        .status = council->meetings[row].status,
    };
    if (council->leader.nonce == council->config.nonce)
        lead_unready(council, council->row, &message);
    else
        council_say(council, council->leader.id, &message);
}

/* A joining process waits for the outcome of a proposal, but other members installed a view of that
 * epoch or a later one without it, and let it in now. So it begins again. */
static void council_check_missed(struct council *council, const struct council_message *message)
{
    uint32_t own = view_row_of(&message->view, council->config.nonce);
    if (council->phase == COUNCIL_JOINING && council->prepared.epoch &&
        message->base >= council->prepared.epoch && own != ROW_NONE &&
        message->view.rows[own].since == message->view.epoch)
        council_forget(council);
}

static void on_prepare(struct council *council, ripc_id from, const struct council_message *message)
{
    council_check_missed(council, message);
    struct ballot least = council_ballot_least(council);
    int order = ballot_compare(&message->ballot, &least);
    uint32_t own = view_row_of(&message->view, council->config.nonce);
    bool joins = council->phase == COUNCIL_JOINING;
    if (order < 0 || (joins && own == ROW_NONE) ||
        (!joins && message->base < council->installed.epoch))
        return; /* late, or meant for a process that had our id before */
    if (joins ? message->view.rows[own].since < message->view.epoch
              : message->base > council->installed.epoch) {
        council_say_state(council, from); /* we missed a view: ask for it */
        return;
    }
    if (order == 0 && council->prepared_is) {
        if (council->ready)
            council_say_ready(council); /* the leader has not received our READY */
        return;
    }
    if (council->outvoted && own != ROW_NONE) { /* the leader does not know that we leave */
        council_say(council, from, &(struct council_message){.kind = COUNCIL_LEAVE});
        return;
    }
    if (!ballot_is_true(council, message) || !prepare_is_possible(council, message)) {
        council->strange++;
        return;
    }
    struct view_member leader = {.id = from, .nonce = message->sender};
    council_promise(council, message);
    council_adopt_deaths(council, &message->view);
    bool leads = council_prepare(council, &message->view, &message->ballot, &leader);
    assert(!leads); /* council_receive drops our own messages */
}

/* Checks the ballot of a leader's message; if it is valid, follows its sender from now on. */
static bool council_follows(struct council *council, const struct council_message *message)
{
    /* The message may come from a leader that died, of whose death we do not know yet. Without this
     * check its last CANCEL would revoke the promise to the younger leader, and a COMMIT right
     * behind it would install a view that the younger leader has given up. */
    struct ballot least = council_ballot_least(council);
    if (message->kind != COUNCIL_ASK)
        least = council->promised;
    if (ballot_compare(&message->ballot, &least) < 0)
        return false;
    if (!ballot_is_true(council, message)) {
        council->strange++;
        return false;
    }
    council_promise(council, message);
    return true;
}

static void on_cancel(struct council *council, ripc_id from, const struct council_message *message)
{
    if (!council->prepared_is || !council_follows(council, message) ||
        ballot_compare(&council->prepared_ballot, &message->ballot) >= 0)
        return;
    if (council->prepared.epoch <= message->epoch) {
        council_say_state(council, from); /* we missed that the prepared view was installed */
        return;
    }
    if (council->phase == COUNCIL_JOINING && message->sender == council->leader.nonce) {
        council_forget(council); /* an elder leader may let us in */
        return;
    }
    council_doubt(council, message->sender);
    council_void(council);
}

static void on_ask(struct council *council, ripc_id from, const struct council_message *message)
{
    if (council_follows(council, message))
        council_say_state(council, from);
}

/* Does this view, which does not include us, count more than ours? Usually because it is later: it
 * has a member of our view, or of the view that we prepared after it. But if deaths were reported
 * that did not happen, two parts may have gone on: the larger one remains, or the one with the
 * smallest nonce. Both parts decide this by the same rule. */
static bool view_prevails(const struct council *council, const struct view *view)
{
    const struct view *own = &council->installed;
    unsigned count = 0, own_count = 0;
    uint64_t first = UINT64_MAX, own_first = UINT64_MAX;
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        const struct view_member *member = &view->rows[row];
        const struct view_member *mine = &own->rows[row];
        if (member->id &&
            (member->nonce == mine->nonce || (council->prepared.epoch > own->epoch &&
                                              member->nonce == council->prepared.rows[row].nonce)))
            return view->epoch > own->epoch; /* some of us have installed it */
        count += member->id != 0;
        own_count += mine->id != 0;
        first = member->id ? least_u64(first, member->nonce) : first;
        own_first = mine->id ? least_u64(own_first, mine->nonce) : own_first;
    }
    return count != own_count ? count > own_count : first < own_first;
}

/* A view was installed. If we are not in it, our membership ends, no matter who sent the message;
 * otherwise it must come from the leader that we promised to follow. */
static void on_commit(struct council *council, const struct council_message *message)
{
    const struct view *view = &message->view;
    uint32_t own = view_row_of(view, council->config.nonce);
    if (own == ROW_NONE) {
        if (council_is_member(council) && view_prevails(council, view))
            council_apply(council, view);
        return;
    }
    if (view->epoch <= council->installed.epoch)
        return;
    bool is_late = ballot_compare(&message->ballot, &council->promised) < 0;
    struct ballot least = council_ballot_least(council);
    if (ballot_compare(&message->ballot, &least) < 0)
        return;
    if (view->row_count > council->config.rows_max || view->rows[own].id != council->config.id ||
        own != council_row(council)) {
        council->strange++;
        return;
    }
    if (!council_has_met(council, view)) {
        /* Another leader made us give this view up, but it was installed. We cannot catch up. */
        if (council->doubt.epoch == view->epoch || council->unknown >= view->epoch)
            council_end(council, council->phase == COUNCIL_LEAVING ? council->ops->left
                                                                   : council->ops->expelled);
        return;
    }
    if (!is_late)
        council_promise(council, message);
    council_apply(council, view);
}

static void on_refused(struct council *council, const struct council_message *message)
{
    if (council->phase != COUNCIL_JOINING || message->to != council->config.nonce)
        return;
    council_forget(council);
    council->phase = COUNCIL_UNJOINED;
    council->ops->refused(council->argument, message->status, message->text);
}

/* Answers a message that only members send, from a process that is no longer or not yet a member:
 * tells it the current state. */
static void on_outsider(struct council *council, ripc_id from,
                        const struct council_message *message)
{
    struct council_message left = {.kind = COUNCIL_LEFT, .to = message->sender};
    switch (message->kind) {
    case COUNCIL_LEAVE:
        council_say(council, from, &left);
        break;
    case COUNCIL_ASK:
    case COUNCIL_READY:
    case COUNCIL_STATE:
        council_say_commit(council, from, &council->installed);
        break;
    default:
        break; /* late message of a process that has left */
    }
}

/* Finds the sender in the views that we know; NULL: unknown. */
static const struct view_member *sender_find(const struct council *council,
                                             const struct council_message *message)
{
    uint64_t nonce = message->sender;
    uint32_t row = view_row_of(&council->installed, nonce);
    if (row != ROW_NONE)
        return &council->installed.rows[row];
    row = view_row_of(&council->prepared, nonce);
    if (council->prepared_is && row != ROW_NONE)
        return &council->prepared.rows[row];
    if (council->prepared_is && council->leader.nonce == nonce)
        return &council->leader;
    row = view_row_of(&message->view, nonce);
    if (message->kind == COUNCIL_COMMIT && row != ROW_NONE)
        return &message->view.rows[row];
    return NULL;
}

/* The sender repeats this message to the leader, unless it was outvoted. We note it in case we lead
 * next, so that we do not take the end of the sender for a failure. */
static void on_leave(struct council *council, const struct council_message *message)
{
    uint32_t row = view_row_of(&council->installed, message->sender);
    if (row != ROW_NONE)
        council->leaving[row] = true;
    /* An outvoted leader asked us, but leads no more: we follow the leader that wants to let us
     * in. */
    if (council->phase == COUNCIL_JOINING && council->prepared_is &&
        message->sender == council->promised_to && message->sender != council->leader.nonce) {
        council->promised = council->prepared_ballot;
        council->promised_to = council->leader.nonce;
    }
}

/* Messages of a leader. A joining process accepts them from any sender that knows its nonce or has
 * the table that it waits for. */
static void council_obey(struct council *council, ripc_id from,
                         const struct council_message *message)
{
    switch (message->kind) {
    case COUNCIL_PREPARE:
        on_prepare(council, from, message);
        break;
    case COUNCIL_CANCEL:
        on_cancel(council, from, message);
        break;
    case COUNCIL_COMMIT:
        on_commit(council, message);
        break;
    case COUNCIL_ASK:
        on_ask(council, from, message);
        break;
    case COUNCIL_LEFT:
        if (council->phase == COUNCIL_LEAVING && message->to == council->config.nonce)
            council_end(council, council->ops->left);
        break;
    case COUNCIL_LEAVE:
        on_leave(council, message);
        break;
    case COUNCIL_READY:
    case COUNCIL_UNREADY:
    case COUNCIL_STATE:
        break; /* we do not lead, or not yet: the sender repeats it to the leader */
    default:
        council->strange++;
    }
}

/* Is this a view of another table with our name, founded before ours while the network was divided?
 * Then our table ends. (The number of a table begins with the time of its founding.) */
static bool table_is_elder(const struct council *council, ripc_id from,
                           const struct council_message *message)
{
    uint32_t row = view_row_of(&message->view, message->sender);
    return council_is_member(council) && message->kind == COUNCIL_COMMIT && message->table &&
           message->table < council->table && row != ROW_NONE && message->view.rows[row].id == from;
}

/* A message from a process that we take for dead. If the others installed a view without us, it
 * counts. If we installed one without the sender, we tell it. */
static void council_take_ghost(struct council *council, ripc_id from,
                               const struct council_message *message)
{
    const struct view *view = &message->view;
    bool excluded = view_row_of(&council->installed, message->sender) == ROW_NONE;
    if (!council_is_member(council) || message->table != council->table)
        return;
    if (message->kind == COUNCIL_COMMIT &&
        view->epoch <= council->installed.epoch + EPOCH_LEAP_MAX &&
        view_row_of(view, council->config.nonce) == ROW_NONE && view_prevails(council, view))
        council_apply(council, view);
    else if (excluded && (message->kind == COUNCIL_ASK || message->kind == COUNCIL_STATE ||
                          message->kind == COUNCIL_READY || message->kind == COUNCIL_PREPARE))
        council_say_commit(council, from, &council->installed);
}

static void council_take(struct council *council, ripc_id from,
                         const struct council_message *message)
{
    bool leaps = council_is_member(council) &&
                 message->view.epoch > council->installed.epoch + EPOCH_LEAP_MAX;
    if (table_is_elder(council, from, message)) {
        council_end(council, council->phase == COUNCIL_LEAVING ? council->ops->left
                                                               : council->ops->expelled);
        return;
    }
    if (leaps || !council_knows_table(council, message)) {
        council->strange++;
        return;
    }
    const struct view_member *sender = sender_find(council, message);
    if (!sender && council_is_member(council)) {
        if (message->kind == COUNCIL_LEFT)
            council_obey(council, from, message);
        else
            on_outsider(council, from, message);
        return;
    }
    if (sender && sender->id != from) {
        council->strange++;
        return;
    }
    uint32_t row = lead_row_of(council, message->sender);
    if (row != ROW_NONE && message->kind == COUNCIL_READY)
        lead_ready(council, row, message);
    else if (row != ROW_NONE && message->kind == COUNCIL_UNREADY)
        lead_unready(council, row, message);
    else if (row != ROW_NONE && message->kind == COUNCIL_STATE)
        lead_state(council, row, message);
    else if (row != ROW_NONE && message->kind == COUNCIL_LEAVE)
        lead_leave(council, row);
    else
        council_obey(council, from, message);
}

void council_receive(struct council *council, ripc_id from, const uint8_t *bytes, size_t size)
{
    struct council_message message;
    if (council_read(&message, bytes, size) || message.kind == COUNCIL_OBSERVE) {
        council->strange++;
        return;
    }
    if (council->phase == COUNCIL_UNJOINED || council->phase == COUNCIL_OVER ||
        message.sender == council->config.nonce)
        return;
    if (council_is_dead(council, message.sender))
        council_take_ghost(council, from, &message);
    else if (message.kind == COUNCIL_JOIN)
        lead_join(council, from, &message);
    else if (message.kind == COUNCIL_REFUSED)
        on_refused(council, &message);
    else
        council_take(council, from, &message);
    lead_settle(council);
}

/* ---- deaths and time ---- */

static void council_bury(struct council *council, uint64_t nonce, bool silent)
{
    if (nonce == council->config.nonce || council_is_dead(council, nonce))
        return;
    council_dead_add(council, nonce, silent);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (council->meetings[row].nonce == nonce && council->meetings[row].status == -EINPROGRESS)
            council->meetings[row].status = -EPIPE;
    lead_failed(council, nonce);
    /* We were ready for a view without us. If the others installed it, they may be far ahead of us,
     * so we cannot lead. If they did not, they will see us end, and this message tells them that we
     * left and did not fail. */
    if (council->phase == COUNCIL_LEAVING && council->prepared_is && council->row == ROW_NONE &&
        nonce == council->leader.nonce) {
        council_say_leave_to_all(council);
        council_end(council, council->ops->left);
    }
    lead_settle(council);
}

void council_failed(struct council *council, ripc_id id, uint64_t nonce)
{
    struct council_dead *dead = council_dead_find(council, nonce);
    if (dead && dead->silent) {
        dead->silent = false;
        council->silent_count--;
        lead_settle(council);
    }
    council_bury(council, nonce, false);
}

void council_silent(struct council *council, ripc_id id, uint64_t nonce)
{
    council_bury(council, nonce, true);
}

static void council_tick_farewell(struct council *council)
{
    if (council->farewell++ % FAREWELL_TICKS != 0)
        return;
    council_say_leave_to_all(council);
    lead_withdraw(council);
}

/* The other part of the members may go on, so we do not. We still answer, as a member that leaves,
 * for a leader that reaches us may wait for our answer. */
static void council_tick_majority(struct council *council)
{
    if (council_is_member(council) && council->outvoted) {
        council_tick_farewell(council);
        return;
    }
    if (!council_is_member(council) || council_has_majority(council)) {
        council->minority = 0;
        return;
    }
    if (council->minority++ < MINORITY_TICKS)
        return;
    council->outvoted = true;
    council->phase = COUNCIL_LEAVING;
    council->lead = LEAD_FOLLOWS;
    council_tick_farewell(council);
    council->ops->expelled(council->argument);
}

/* The member that should lead leaves. If it does not lead either, we pass it over. */
static void council_tick_leader(struct council *council)
{
    if (!council_is_deserted(council)) {
        council->idle = 0;
    } else if (council->idle++ >= IDLE_TICKS) {
        council->passed[council_row_of_leader(council)] = true;
        council->idle = 0;
    }
}

static bool council_is_busy(const struct council *council)
{
    return council->phase == COUNCIL_JOINING ||
           (council->phase == COUNCIL_LEAVING && !council->outvoted) ||
           (council_is_member(council) &&
            (council->outvoted || !council_has_majority(council) || council_is_deserted(council) ||
             council->prepared_is || council->lead == LEAD_ASKS || council->lead == LEAD_PROPOSES));
}

/* Reports newcomers that we cannot meet, so that the leader refuses them. Waits a few ticks first:
 * if one side died, there is another proposal anyway. */
static void council_tick_meetings(struct council *council)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX && council->prepared_is; row++) {
        struct council_meeting *meeting = &council->meetings[row];
        if (!meeting->id || meeting->status == 0 || meeting->status == -EINPROGRESS)
            continue;
        if (meeting->age++ >= (meeting->status == -EPIPE ? DEATH_TICKS : DOUBT_TICKS))
            council_say_unready(council, row);
    }
}

/* We have not received the outcome of the view that we prepared. */
static void council_tick_ready(struct council *council)
{
    const struct view_member *eldest = council_eldest(council);
    if (!council->prepared_is || council->leader.nonce == council->config.nonce)
        return;
    if (!council_is_dead(council, council->leader.nonce)) {
        if (council->ready)
            council_say_ready(council);
    } else if (eldest) {
        council_say_state(council, eldest->id); /* it may have asked us, and our answer was lost */
    }
}

int64_t council_tick(struct council *council, int64_t now)
{
    if (!council_is_busy(council)) {
        council->retry_at = 0;
        return NSEC_NEVER;
    }
    if (council->retry_at == 0)
        council->retry_at = now + COUNCIL_RETRY_NSEC;
    if (now < council->retry_at)
        return council->retry_at;
    council->retry_at = now + COUNCIL_RETRY_NSEC;
    if (council->phase == COUNCIL_JOINING)
        council_say_join(council);
    if (council->phase == COUNCIL_LEAVING && !council->outvoted)
        council_say_leave(council);
    council_tick_majority(council);
    council_tick_leader(council);
    council_tick_ready(council);
    council_tick_meetings(council);
    lead_tick(council);
    lead_settle(council);
    return council_is_busy(council) ? council->retry_at : NSEC_NEVER;
}
