#include "sst/members/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/compare.h"
#include "ripc/core/remote.h"
#include "ripc/group/group.h"
#include "sst/members/members_impl.h"

#define STEP_MESSAGES 64 /* taken in one step at most */
#define STEP_EVENTS   16

#define SEAT_BUSY_NSEC    (5 * 1000 * 1000LL)   /* while another process founds the table */
#define SEAT_WAIT_NSEC    (600 * 1000 * 1000LL) /* longer than any name service takes to answer */
#define NAME_BUSY_NSEC    (20 * 1000 * 1000LL) /* wait before we ask again whether our id is free */
#define NAME_GRACE_NSEC   (3 * NSEC_PER_SEC)   /* how long others may take to notice a death */
#define LAST_WORDS_NSEC   NSEC_PER_SEC         /* for messages still to be sent when we leave */
#define TABLE_RANDOM_BITS 20                   /* a million nanoseconds */
#define CLOCK_SET_NSEC    (1735689600 * (uint64_t)NSEC_PER_SEC) /* 2025: no clock is earlier */

#define TELL_NSEC (2 * NSEC_PER_SEC) /* between two looks for strangers in the group */

static void counters_show(struct members *members)
{
    uint64_t strange = members->council.strange + members->strange;
    atomic_store_explicit(&members->refused_shown, members->council.refused, memory_order_relaxed);
    atomic_store_explicit(&members->strange_shown, strange, memory_order_relaxed);
}

/* ---- callbacks of the council ---- */

/* Updates the counters first: a process that receives a refusal must find it counted. */
static void on_send(void *argument, ripc_id to, const uint8_t *bytes, size_t size)
{
    struct members *members = argument;
    counters_show(members);
    post_send(members, to ? to : members->group, bytes, size);
}

static void on_meet(void *argument, uint32_t row, ripc_id id, uint64_t nonce)
{
    acquaintance_meet(argument, row, id, nonce);
}

static void on_part(void *argument, uint32_t row, uint64_t nonce)
{
    acquaintance_part(argument, row, nonce);
}

static void on_install(void *argument, const struct view *view)
{
    acquaintances_install(argument, view);
}

static void on_refused(void *argument, int status, const char *reason)
{
    struct members *members = argument;
    members->refused = status;
    memcpy(members->reason, reason, sizeof members->reason);
}

static void on_left(void *argument)
{
    struct members *members = argument;
    members->is_left = true;
}

static void on_expelled(void *argument)
{
    struct members *members = argument;
    members->expelled = true;
    members->config.meetings->expelled(members->config.table);
}

static const struct council_ops members_ops = {
    .send = on_send,
    .meet = on_meet,
    .part = on_part,
    .install = on_install,
    .refused = on_refused,
    .left = on_left,
    .expelled = on_expelled,
};

/* ---- opening and closing ---- */

/* Derives ids of our own that do not collide with those of programs. The mix is Stafford's 13th. */
static ripc_id name_mix(uint64_t name, uint64_t salt)
{
    uint64_t mixed = name ^ salt;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return mixed ? mixed : salt;
}

ripc_id members_group(uint64_t name)
{
    return name_mix(name, 0x7373742067726f75); /* "sst grou" */
}

int members_open(struct ripc *ripc, ripc_id id, const struct members_config *config,
                 struct members **out)
{
    struct members *members = calloc(1, sizeof *members);
    if (!members)
        return -ENOMEM;
    int result = ripc_bind(ripc, id, 0, &members->service);
    if (result) {
        free(members);
        return result;
    }
    members->ripc = ripc;
    members->config = *config;
    members->group = members_group(config->name);
    members->seat = name_mix(config->name, 0x7373742073656174); /* "sst seat" */
    members->tick_at = NSEC_NEVER;
    members->tell_at = ripc_after(TELL_NSEC);
    list_init(&members->letters);
    council_init(&members->council, &members_ops, members,
                 &(struct council_config){
                     .hash = config->schema->hash,
                     .design = config->design,
                     .rows_max = config->rows_max,
                     .drop = config->drop,
                     .id = ripc_service_id(members->service),
                     .nonce = entropy_u64(),
                 });
    *out = members;
    return 0;
}

void members_close(struct members *members)
{
    post_drop(members);
    ripc_unbind(members->service);
    free(members);
}

/* ---- a step ---- */

static void members_take(struct members *members, const struct ripc_message *message)
{
    struct council_message read;
    if (message->long_count || council_read(&read, message->data, message->size)) {
        members->strange++;
        return;
    }
    if (read.kind == COUNCIL_OBSERVE) {
        if (members->observer)
            members->observer(members->observer_argument, message->from, message->data,
                              message->size);
    } else if (read.kind == COUNCIL_MEET) {
        acquaintance_hear(members, message->from, &read);
    } else {
        council_receive(&members->council, message->from, message->data, message->size);
    }
}

/* Copies the message first: its sender can change the memory while we read it. */
static int members_receive(struct members *members)
{
    uint8_t bytes[RIPC_SHORT_MAX];
    int count = 0;
    struct ripc_message message;
    while (count < STEP_MESSAGES && ripc_receive(members->service, &message, 1, RIPC_NOW) == 1) {
        struct ripc_message copy = {
            .from = message.from, .long_count = message.long_count, .data = bytes};
        copy.size = message.size <= sizeof bytes ? message.size : 0;
        memcpy(bytes, message.data, copy.size);
        ripc_release(&message);
        members_take(members, &copy);
        count++;
    }
    return count;
}

/* The members of the table are in the group; other processes find the table there. A member that
 * was outvoted is not: it lets no process join, and as long as the group has a member no process
 * founds the table again. */
static void members_regroup(struct members *members)
{
    bool joined = council_is_member(&members->council) && !members->council.outvoted;
    if (joined && !members->grouped) {
        int result = ripc_join(members->service, members->group);
        assert(result != -EALREADY); /* otherwise `grouped` would be set */
        members->grouped = result == 0;
    }
    if (!joined && members->grouped) {
        ripc_leave(members->service, members->group);
        members->grouped = false;
    }
}

/* Do we lead the table, and is it at rest? */
static bool members_leads(const struct members *members)
{
    return members->council.lead == LEAD_RESTS && members->council.phase == COUNCIL_MEMBER &&
           council_has_majority(&members->council);
}

static bool view_has(const struct view *view, ripc_id id)
{
    for (uint32_t row = 0; row < view->row_count; row++)
        if (view->rows[row].id == id)
            return true;
    return false;
}

/* Tells our view to processes that are in the group of the table and not in the view. After a
 * division of the network that is how those that we excluded, and those that founded another table
 * of this name, hear of us. */
static void members_tell(struct members *members, int64_t now)
{
    if (!members_leads(members) || now < members->tell_at)
        return;
    ripc_id ids[GROUP_MEMBERS_MAX];
    members->tell_at = now + TELL_NSEC;
    unsigned count = group_members(members->service, members->group, ids);
    for (unsigned i = 0; i < count; i++)
        if (!view_has(&members->council.installed, ids[i]))
            council_tell(&members->council, ids[i]);
}

/* Does all pending work. Fetches events before messages and handles them after the messages: a
 * leaving process sends its message before it ends. Returns the number of actions. */
static int members_work(struct members *members)
{
    struct ripc_event events[STEP_EVENTS];
    int event_count = ripc_poll(members->service, events, STEP_EVENTS, RIPC_NOW);
    int count = members_receive(members);
    bool has_news = false;
    for (int i = 0; i < event_count; i++) {
        has_news |= events[i].kind != RIPC_CREDIT;
        if (members->gone && (events[i].kind == RIPC_DOWN || events[i].kind == RIPC_MOVED))
            members->gone(members->gone_argument, events[i].id);
    }
    int64_t now = ripc_now();
    int met = acquaintances_work(members, now);
    if (has_news || met || count || acquaintances_hold(members) ||
        !council_has_majority(&members->council))
        count += acquaintances_bury(members);
    count += acquaintances_release(members, now);
    members_tell(members, now);
    members->tick_at = council_tick(&members->council, now);
    met += acquaintances_work(members, now); /* meets processes that the council named just now */
    members_regroup(members);
    counters_show(members);
    return count + met + post_flush(members) + (event_count > 0 ? event_count : 0);
}

int members_step(struct members *members, int64_t deadline)
{
    for (;;) {
        int count = members_work(members);
        if (count > 0)
            return count;
        int64_t due = least_i64(members->tick_at, acquaintances_due(members));
        due = least_i64(due, post_due(members));
        due = least_i64(due, members_leads(members) ? members->tell_at : NSEC_NEVER);
        int result = service_await(members->service, &members->woken, least_i64(deadline, due));
        if (result == SERVICE_WOKEN)
            return 0;
        if (result < 0 && !(result == -ETIMEDOUT && due < deadline))
            return result;
    }
}

void members_wake(struct members *members)
{
    service_wake(members->service, &members->woken);
}

/* ---- joining ---- */

/* Steps until that moment. */
static int members_rest(struct members *members, int64_t until)
{
    int result = 0;
    while (result >= 0 && !clock_is_past(until))
        result = members_step(members, until);
    return result == -ETIMEDOUT ? 0 : result;
}

/* Asks all members of the table to let us in, from the beginning. An answer of the name services to
 * an earlier question does not count: the table may have been founded since. */
static void members_ask(struct members *members)
{
    post_drop(members);
    remote_ask_anew(members->service, members->group);
    members->group_empty = false;
    members->refused = 0;
    council_leave(&members->council);
    council_join(&members->council);
}

/* A random number that begins with the time: of two tables with one name, the one that was founded
 * first remains. A host whose clock was not set yet does not know the time: its table counts as
 * founded after all others. */
static uint64_t table_number(void)
{
    uint64_t mask = (1u << TABLE_RANDOM_BITS) - 1;
    uint64_t now = (uint64_t)clock_wall();
    uint64_t late = now < CLOCK_SET_NSEC ? UINT64_C(1) << 63 : 0;
    return (now & ~mask) | (entropy_u64() & mask) | late;
}

/* We hold the seat, so that no other process founds the table. Founds it, unless it has members by
 * now. */
static int members_found_seated(struct members *members, struct ripc_service *seat,
                                int64_t deadline)
{
    int64_t until = least_i64(deadline, ripc_after(SEAT_WAIT_NSEC));
    int result = 0;
    members_ask(members);
    while (!members->group_empty && members->letter_count && result >= 0 && !clock_is_past(until))
        result = members_step(members, until);
    if (!members->group_empty || !service_holds(seat))
        return result == -ETIMEDOUT ? 0 : result;
    council_leave(&members->council);
    council_found(&members->council, table_number());
    result = ripc_join(members->service, members->group);
    members->grouped = result == 0;
    return result;
}

static int members_found(struct members *members, int64_t deadline)
{
    struct ripc_service *seat;
    int result = ripc_bind(members->ripc, members->seat, 0, &seat);
    if (result == -EADDRINUSE) {
        result = members_rest(members, least_i64(deadline, ripc_after(SEAT_BUSY_NSEC)));
        if (!council_is_member(&members->council))
            members_ask(members);
        return result;
    }
    if (result)
        return result;
    result = members_found_seated(members, seat, deadline);
    ripc_unbind(seat);
    return result;
}

/* Asks again if we were refused because a member has our id. We hold the id, so that member is
 * dead, and the others will notice its death soon. */
static bool members_may_ask_again(struct members *members, int64_t began, int64_t deadline)
{
    int64_t now = ripc_now();
    if (members->refused != -EADDRINUSE || now >= least_i64(deadline, began + NAME_GRACE_NSEC))
        return false;
    members_rest(members, least_i64(deadline, now + NAME_BUSY_NSEC));
    members_ask(members);
    return true;
}

int members_join(struct members *members, int64_t deadline, struct why *why)
{
    int64_t began = ripc_now();
    members_ask(members);
    for (;;) {
        int result = 0;
        if (council_is_member(&members->council))
            return 0;
        if (members->refused) {
            if (members_may_ask_again(members, began, deadline))
                continue;
            return why_fail(why, members->refused, "%s", members->reason);
        }
        if (members->group_empty)
            result = members_found(members, deadline);
        else
            result = members_step(members, deadline);
        if (result < 0) {
            council_leave(&members->council);
            return why_fail(why, result, "the members of the table did not let us join: %s",
                            ripc_strerror(result));
        }
        if (clock_is_past(deadline) && !council_is_member(&members->council)) {
            council_leave(&members->council);
            return why_fail(why, -ETIMEDOUT, "the members of the table did not let us join: %s",
                            ripc_strerror(-ETIMEDOUT));
        }
    }
}

int members_leave(struct members *members, int64_t deadline)
{
    int result = 0;
    council_leave(&members->council);
    while (council_is_member(&members->council) && !members->expelled && result >= 0)
        result = members_step(members, deadline);
    members_regroup(members);
    if (council_is_member(&members->council) && !members->expelled)
        return result;
    int64_t until = least_i64(deadline, ripc_after(LAST_WORDS_NSEC));
    for (result = 0; members->letter_count && result >= 0;)
        result = members_step(members, until);
    return 0;
}

/* ---- the rest ---- */

struct ripc_service *members_service(struct members *members)
{
    return members->service;
}

void members_on_observer(struct members *members, members_observer *observer, void *argument)
{
    members->observer = observer;
    members->observer_argument = argument;
}

void members_on_gone(struct members *members, members_gone *gone, void *argument)
{
    members->gone = gone;
    members->gone_argument = argument;
}

int members_say(struct members *members, ripc_id to, const uint8_t *bytes, size_t size)
{
    return post_send(members, to, bytes, size);
}

uint64_t members_refused(const struct members *members)
{
    return atomic_load_explicit(&members->refused_shown, memory_order_relaxed);
}

uint64_t members_strange(const struct members *members)
{
    return atomic_load_explicit(&members->strange_shown, memory_order_relaxed);
}
