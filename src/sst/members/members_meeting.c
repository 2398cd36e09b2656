/* members_meeting: the other processes by row, from the beginning of a meeting until the member is
 * gone.
 *
 * Each side makes an offer, introduces itself (COUNCIL_MEET), takes the other's introduction, and
 * reports that in its next message (`heard`). A side is done when it has taken the other's
 * introduction and knows that its own was taken. A side that starts again gives the meeting another
 * number (`encounter`), and the other side takes part again. A message with `done` set needs no
 * answer; every other message gets one.
 *
 * Names reveal a death: the id is no longer bound, or it has a newer binding than the one
 * (`incarnation`) in the member's introduction. If ripc cannot tell whether its process has ended
 * or cannot be reached, the member is *silent*: the council counts who may go on, and the table
 * learns of it only if that is us. */
#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "ripc/group/watch.h"
#include "sst/members/members_impl.h"

#define MEETING_LIFE_NSEC   (10 * NSEC_PER_SEC) /* from the beginning until both are done */
#define MEETING_SAY_NSEC    (100 * 1000 * 1000LL)
#define MEETING_ACCEPT_NSEC NSEC_PER_SEC
#define MEETING_SILENT_NSEC NSEC_PER_SEC /* a process whose id is unbound for so long is dead */

/* How long the failure of a silent member is not reported to the table: if more members fall silent
 * meanwhile, it may be us that the network has cut off. */
#define SILENT_HOLD_NSEC NSEC_PER_SEC

static void meeting_tell(struct members *members, uint32_t row, int status)
{
    struct acquaintance *peer = &members->rows[row];
    if (peer->told)
        return;
    peer->told = true;
    council_met(&members->council, row, peer->nonce, status);
}

static void meeting_say(struct members *members, uint32_t row, int64_t now)
{
    struct acquaintance *peer = &members->rows[row];
    struct council_message message = {
        .kind = COUNCIL_MEET,
        .table = members->council.table,
        .sender = members->council.config.nonce,
        .to = peer->nonce,
        .row = council_row(&members->council),
        .row_to = row,
        .encounter = peer->encounter,
        .heard = peer->heard,
        .done = peer->done,
        .incarnation = members->service->incarnation,
        .introduction = peer->introduction,
    };
    uint8_t bytes[COUNCIL_WIRE_MAX];
    peer->say_at = now + MEETING_SAY_NSEC;
    post_send(members, peer->id, bytes, council_write(&message, bytes));
}

/* ---- what the council requests ---- */

static bool id_is_known(const struct members *members, ripc_id id)
{
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++)
        if (members->rows[row].id == id)
            return true;
    return false;
}

static void acquaintance_forget(struct members *members, uint32_t row)
{
    ripc_id id = members->rows[row].id;
    members->rows[row] = (struct acquaintance){0};
    if (id && !id_is_known(members, id))
        ripc_unwatch(members->service, id);
}

/* Only notes the request: the council is in the middle of a transition. A later step does the
 * work. */
void acquaintance_meet(struct members *members, uint32_t row, ripc_id id, uint64_t nonce)
{
    assert(!members->rows[row].id);
    members->rows[row] = (struct acquaintance){.id = id, .nonce = nonce, .since = ripc_now()};
    ripc_watch(members->service,
               id); /* -EALREADY, -ENOMEM: without a watch only a timeout reveals its death */
}

void acquaintance_part(struct members *members, uint32_t row, uint64_t nonce)
{
    struct acquaintance *peer = &members->rows[row];
    assert(peer->nonce == nonce && !peer->installed);
    if (peer->offered)
        members->config.meetings->part(members->config.table, row);
    acquaintance_forget(members, row);
}

void acquaintances_install(struct members *members, const struct view *view)
{
    members->config.meetings->install(members->config.table, view);
    for (uint32_t row = 0; row < SST_ROWS_MAX; row++) {
        struct acquaintance *peer = &members->rows[row];
        bool stays = row < view->row_count && view->rows[row].nonce == peer->nonce;
        if (!peer->id)
            continue;
        if (!stays) {
            assert(peer->installed); /* otherwise the council has ended the meeting */
            acquaintance_forget(members, row);
        } else if (!peer->installed) {
            peer->installed = true;
            if (peer->dead && !peer->held) /* it died after its last message and before this view */
                members->config.meetings->fail(members->config.table, row);
        }
    }
}

/* ---- introductions ---- */

/* Makes an offer. Returns false if that fails, for example for lack of memory; the council then
 * knows. */
static bool meeting_begin(struct members *members, uint32_t row)
{
    struct acquaintance *peer = &members->rows[row];
    int result =
        members->config.meetings->offer(members->config.table, row, peer->id, &peer->introduction);
    if (result) {
        meeting_tell(members, row, result);
        return false;
    }
    peer->offered = true;
    peer->encounter = entropy_u64();
    peer->heard = 0;
    peer->done = false;
    return true;
}

/* The peer started again, and so do we. */
static bool meeting_begin_again(struct members *members, uint32_t row)
{
    struct acquaintance *peer = &members->rows[row];
    members->config.meetings->part(members->config.table, row);
    peer->offered = false;
    return meeting_begin(members, row);
}

static void meeting_take(struct members *members, uint32_t row, const struct early *from)
{
    struct acquaintance *peer = &members->rows[row];
    peer->incarnation = from->incarnation;
    if (from->encounter != peer->heard) {
        if (peer->installed) {
            members->strange++;
            return;
        }
        if (peer->heard && !meeting_begin_again(members, row))
            return;
        int result =
            members->config.meetings->accept(members->config.table, row, peer->id,
                                             &from->introduction, ripc_after(MEETING_ACCEPT_NSEC));
        /* The machine is busy, or the peer has started again and revoked what it offered before: it
         * introduces itself again, and we try again. */
        if ((result == -ETIMEDOUT || result == -EACCES) &&
            ripc_now() - peer->since < MEETING_LIFE_NSEC)
            return;
        if (result) {
            meeting_tell(members, row, result == -ENOENT ? -EPIPE : result);
            return;
        }
        peer->heard = from->encounter;
    }
    if (from->heard == peer->encounter && !peer->done) {
        peer->done = true;
        meeting_tell(members, row, 0);
    }
    if (!from->done && peer->id) /* the council may have ended the meeting just now */
        meeting_say(members, row, ripc_now());
}

/* Is the introduction from the process that we meet in that row, and for our row? */
static bool early_fits(const struct members *members, uint32_t row)
{
    const struct early *early = &members->early[row];
    const struct acquaintance *peer = &members->rows[row];
    return early->from && peer->offered && early->from == peer->id && early->nonce == peer->nonce &&
           early->row_to == council_row(&members->council);
}

static bool early_take(struct members *members, uint32_t row)
{
    if (!early_fits(members, row))
        return false;
    struct early early = members->early[row];
    members->early[row].from = 0;
    meeting_take(members, row, &early);
    return true;
}

/* Is the sender another process than the member of that row? */
static bool row_is_not_of(const struct members *members, uint32_t row, ripc_id from)
{
    return members->rows[row].installed && members->rows[row].id != from;
}

void acquaintance_hear(struct members *members, ripc_id from, const struct council_message *message)
{
    if (message->to != members->council.config.nonce || message->row >= members->config.rows_max ||
        message->row_to >= members->config.rows_max || row_is_not_of(members, message->row, from) ||
        council_is_dead(&members->council, message->sender)) {
        members->strange++;
        return;
    }
    members->early[message->row] = (struct early){
        .from = from,
        .nonce = message->sender,
        .row_to = message->row_to,
        .encounter = message->encounter,
        .heard = message->heard,
        .done = message->done,
        .incarnation = message->incarnation,
        .introduction = message->introduction,
    };
    early_take(members, message->row);
}

/* ---- time ---- */

static bool acquaintance_work(struct members *members, uint32_t row, int64_t now)
{
    struct acquaintance *peer = &members->rows[row];
    if (peer->installed || peer->done || (peer->told && !peer->offered))
        return false;
    if (!peer->offered && !meeting_begin(members, row))
        return true;
    bool took = early_take(members, row);
    if (!peer->id || peer->done || peer->told || now < peer->say_at)
        return took;
    if (now - peer->since > MEETING_LIFE_NSEC)
        meeting_tell(members, row, -ETIMEDOUT);
    else
        meeting_say(members, row, now);
    return true;
}

int acquaintances_work(struct members *members, int64_t now)
{
    int count = 0;
    for (uint32_t row = 0; row < members->config.rows_max; row++)
        if (members->rows[row].id)
            count += acquaintance_work(members, row, now);
    return count;
}

int64_t acquaintances_due(const struct members *members)
{
    int64_t due = NSEC_NEVER;
    for (uint32_t row = 0; row < members->config.rows_max; row++) {
        const struct acquaintance *peer = &members->rows[row];
        if (peer->id && !peer->installed && !peer->done && !peer->told && peer->say_at < due)
            due = peer->say_at;
        /* Without a majority the council keeps ticking. */
        if (peer->id && peer->held && council_has_majority(&members->council))
            due = least_i64(due, peer->silent_at + SILENT_HOLD_NSEC);
    }
    return due;
}

/* ---- deaths ---- */

/* We do not know the binding of a process that has not introduced itself yet: it counts as dead if
 * its id has been unbound for a while. */
static bool acquaintance_is_gone(const struct members *members, const struct acquaintance *peer)
{
    uint64_t incarnation = 0;
    bool is_up = false;
    if (watch_state(members->service, peer->id, &incarnation, &is_up))
        return false;
    if (!peer->incarnation)
        return !is_up && ripc_now() - peer->since > MEETING_SILENT_NSEC;
    return incarnation > peer->incarnation || (!is_up && incarnation == peer->incarnation);
}

/* Freezes the row. A member that announced its leave did not fail. */
static void acquaintance_fail(struct members *members, uint32_t row)
{
    members->rows[row].held = false;
    if (members->rows[row].installed && !members->council.leaving[row])
        members->config.meetings->fail(members->config.table, row);
}

int acquaintances_bury(struct members *members)
{
    int count = 0;
    for (uint32_t row = 0; row < members->config.rows_max; row++) {
        struct acquaintance *peer = &members->rows[row];
        if (!peer->id || (peer->dead && !peer->silent) || !acquaintance_is_gone(members, peer))
            continue;
        bool silent = watch_is_silent(members->service, peer->id);
        if (silent && peer->silent)
            continue;
        count++;
        bool known = peer->dead && !peer->held;
        peer->dead = true;
        peer->silent = peer->held = silent;
        peer->silent_at = ripc_now();
        if (silent) {
            council_silent(&members->council, peer->id, peer->nonce);
            continue;
        }
        if (!known)
            acquaintance_fail(members, row);
        council_failed(&members->council, peer->id, peer->nonce);
    }
    return count;
}

bool acquaintances_hold(const struct members *members)
{
    bool held = false;
    for (uint32_t row = 0; row < members->config.rows_max; row++)
        held |= members->rows[row].id && members->rows[row].held;
    return held;
}

int acquaintances_release(struct members *members, int64_t now)
{
    int count = 0;
    for (uint32_t row = 0; row < members->config.rows_max; row++) {
        const struct acquaintance *peer = &members->rows[row];
        if (peer->id && peer->held && now - peer->silent_at >= SILENT_HOLD_NSEC &&
            council_has_majority(&members->council)) {
            acquaintance_fail(members, row);
            count++;
        }
    }
    return count;
}
