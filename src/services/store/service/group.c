/* group: a placement group on this server, from view to view. */
#include "services/store/planted.h"
#include "services/store/service/scan.h"

#include "base/check.h"
#include "services/store/service/placement.h"

#define REPEAT_NSEC (100 * MSEC)

void group_init(struct store *store, uint32_t number)
{
    struct group *group = &store->groups[number];
    group->store = store;
    group->number = number;
    group->space = spaces_of_group(&store->spaces, number);
    group->log = group->space->in_memory ? store->memory_log : store->log;
    group->replica.server = store->here;
    list_init(&group->changes);
    list_init(&group->ops);
    group->hint = WEFT_NOBODY;
    expiry_init(group);
}

void group_say(struct group *group, weft_server server, const struct replica_message *message)
{
    struct store *store = group->store;
    if (server == store->here) {
        group_message(group, message);
        return;
    }
    struct letter *letter = store->out;
    letter->kind = LETTER_REPLICA;
    letter->epoch = message->epoch;
    letter->group = group->number;
    letter->message = *message;
    mail_send(store, server, letter);
}

/* ---- what a replica wants ---- */

static void send(void *owner, uint32_t server, const struct replica_message *message)
{
    struct group *group = owner;
    if (message->kind == REPLICA_WRITE) { /* change.c adds the content */
        group->targets[group->target_count++] = server;
        group->target_message = *message;
    } else if (server == group->store->here) {
        struct replica_world world = group_world(group);
        replica_receive(&group->replica, &world, message);
    } else {
        group_say(group, server, message);
    }
}

static void keep(void *owner)
{
    disk_keep(owner);
}

static void replay(void *owner, uint32_t server, store_version from)
{
    change_replay(owner, server, from);
}

const struct replica_calls group_calls = {send, keep, replay};

/* ---- a new view ---- */

static bool is_founder(const struct group *group, const struct roster *roster)
{
    const struct store *store = group->store;
    const struct roster_entry *entry = &roster->entries[store->here];
    if (STORE_HAS(FOUNDER_AGAIN))
        return entry->founder;
    return entry->founder && entry->lost == 0 && entry->disk == views_disk(store->views);
}

static uint32_t founding_copies(const struct group *group)
{
    const struct store *store = group->store;
    return spaces_founding_copies(views_founding(store->views),
                                  (uint32_t)(group->space - store->spaces.list));
}

/* The members of view 1 hold the groups that they were to keep then, without having noted it. */
static void found(struct group *group, const struct roster *roster)
{
    const struct store *store = group->store;
    struct custody *custody = &group->replica.custody;
    uint32_t founders[KEEPERS_MAX];
    uint32_t count = placement_founders(roster, group->number, founders, founding_copies(group));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = i; j > 0 && founders[j - 1] > founders[j]; j--) {
            uint32_t swap = founders[j];
            founders[j] = founders[j - 1];
            founders[j - 1] = swap;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (founders[i] == store->here)
            custody_found(custody, founders, count);
    }
    /* What was in memory was there in the process that founded it. */
    bool was_here = views_is_member(store->views) && roster->entries[store->here].since == 1;
    if (group->space->in_memory && !was_here)
        custody_forget(custody);
}

static void pass(const struct group *group, const struct roster *roster, struct custody *custody)
{
    const struct store *store = group->store;
    if (STORE_HAS(CUSTODY_STAYS))
        return;
    custody_pass(custody, roster, store->here, views_stayed_until(store->views, custody->since));
}

void group_enter(struct group *group, const struct roster *roster)
{
    struct replica *replica = &group->replica;
    if (!STORE_HAS(REQUESTS_STAY))
        serve_forget(group);
    page_forget(group->store);
    lesson_end(group);
    confirm_forget(group);
    if (replica->custody.since == 0 && !replica->keeping && is_founder(group, roster))
        found(group, roster);
    pass(group, roster, &replica->custody);
    if (replica->keeping)
        pass(group, roster, &replica->next);
    replica_enter(replica, roster->epoch);
    group->order_count =
        placement_members(roster, group->number, group->order, group->space->copies);
    group->judge->count = 0;
    group->judge->forgets = group->space->in_memory;
    group->judged = group->asked = false;
    group->held.kind = 0;
    group->resends = 0;
    group->seen = 0;
    group->copies_end = group->copies_failed = false;
    group->hint = WEFT_NOBODY;
    change_look(group);
    group->repeat_at = 0;
    group_tick(group);
}

void group_end(struct group *group)
{
    serve_forget(group);
    page_forget(group->store);
    lesson_end(group);
    confirm_forget(group);
    change_forget(group);
    group->replica = (struct replica){.server = group->store->here};
    group->custody_disk = 0;
    group->order_count = 0;
    group->judge->count = 0;
    group->judged = group->asked = false;
    group->held.kind = 0;
    group->resends = 0;
    group->seen = 0;
    group->hint = WEFT_NOBODY;
}

/* ---- the coordinator ---- */

/* A server that others have noted as a keeper, and that never had a custody itself, does not report
 * unless it is asked. The coordinator's own report asks it. */
static void ask_report(struct group *group, weft_server server)
{
    struct replica_message message;
    if (server == group->store->here) {
        group->asked = true;
        return;
    }
    replica_report(&group->replica, &message);
    group_say(group, server, &message);
}

static void decide(struct group *group, const struct roster *roster)
{
    struct judge *judge = group->judge;
    struct store *store = group->store;
    uint32_t in_sync, server;
    enum judgement judgement = judge_decide(judge, roster, &in_sync, &server);
    if (judgement == JUDGE_WAITS)
        ask_report(group, server);
    if (judgement != JUDGE_KNOWS)
        return;
    for (uint32_t i = 0; i < judge->count; i++) {
        uint32_t reporter = judge->reports[i].server;
        store->ranks[reporter] = 0;
        for (uint32_t j = 0; j < judge->count; j++)
            store->ranks[reporter] += placement_rank(group->number, judge->reports[j].server) <
                                      placement_rank(group->number, reporter);
        if (!roster_keeps(roster, reporter)) /* others are to lead, if they can */
            store->ranks[reporter] += judge->count;
    }
    group->judged = true;
    group->lead_to = judge->reports[judge_leader(judge, in_sync, store->ranks)].server;
    group->hint = group->lead_to;
    group->lead =
        (struct replica_message){.kind = REPLICA_LEAD, .epoch = roster->epoch, .from = store->here};
    for (uint32_t i = 0; i < judge->count; i++) {
        if (!(in_sync >> i & 1))
            continue;
        assert(group->lead.peer_count < KEEPERS_MAX);
        group->lead.peers[group->lead.peer_count] = judge->reports[i].server;
        group->lead.positions[group->lead.peer_count++] = judge->reports[i].position;
    }
    group_say(group, group->lead_to, &group->lead);
}

static void hear_report(struct group *group, const struct replica_message *message)
{
    const struct roster *roster = views_roster(group->store->views);
    if (message->epoch != roster->epoch || group->order_count == 0 ||
        !roster_has(roster, message->from))
        return;
    if (group->order[0] != group->store->here) {
        group->asked |= group->order[0] == message->from;
        return;
    }
    if (group->judged) {
        if (message->from == group->lead_to)
            group_say(group, group->lead_to, &group->lead);
        return;
    }
    const struct report report = {message->from, message->custody, message->version};
    (void)judge_hears(group->judge, &report);
    decide(group, roster); /* also when it comes again: the question may be lost */
}

weft_server group_leader(const struct group *group)
{
    const struct replica *replica = &group->replica;
    if (replica->role == REPLICA_FOLLOWS || replica->role == REPLICA_LEARNS)
        return replica->leader;
    return group->judged && group->lead_to != group->store->here ? group->lead_to : WEFT_NOBODY;
}

/* ---- messages ---- */

/* What comes too early: the leader wants an answer when the writes before it are durable. */
static void hold(struct group *group, const struct replica_message *message)
{
    bool waits = message->kind == REPLICA_ACTIVATE || message->kind == REPLICA_ADMIT;
    if (waits && message->epoch == group->replica.epoch)
        group->held = *message;
}

void group_message(struct group *group, const struct replica_message *message)
{
    struct replica *replica = &group->replica;
    struct replica_world world = group_world(group);
    switch ((enum replica_kind)message->kind) {
    case REPLICA_REPORT:
        hear_report(group, message);
        return;
    case REPLICA_WRITE:
        return;
    case REPLICA_SHOW:
        if (replica_compares(replica, message))
            lesson_begin(group, message->from);
        return;
    case REPLICA_COPY:
        lesson_ends(group, message);
        return;
    default:
        hold(group, message);
        replica_receive(replica, &world, message);
        group_look(group);
    }
}

static bool is_answered(const struct group *group)
{
    const struct replica *replica = &group->replica;
    return group->held.epoch != replica->epoch || replica->role == REPLICA_FOLLOWS ||
           replica->role == REPLICA_LEADS;
}

void group_look(struct group *group)
{
    struct replica *replica = &group->replica;
    if (group->held.kind && is_answered(group))
        group->held.kind = 0;
    if (group->held.kind && replica->position >= group->held.version && !replica->keeping) {
        struct replica_world world = group_world(group);
        replica_receive(replica, &world, &group->held);
    }
    if (replica->role == REPLICA_WAITS)
        group_tick(group);
    if (group->seen != replica->committed) {
        group->seen = replica->committed;
        group->turn++;
        change_look(group);
    }
    serve_look(group);
    page_look(group);
    lesson_look(group);
}

/* ---- what happens again and again ---- */

static void report(struct group *group)
{
    struct replica *replica = &group->replica;
    struct replica_message message;
    const struct store *store = group->store;
    bool idle = list_is_empty(&group->changes) && group->copies == 0;
    if (!views_is_member(store->views) || !idle ||
        !replica_settle(replica, lease_has_ended(store)) ||
        (replica->custody.since == 0 && !group->asked) || group->order_count == 0)
        return;
    replica_report(replica, &message);
    group_say(group, group->order[0], &message);
}

uint32_t group_least(const struct group *group)
{
    uint32_t least = (uint32_t)group->store->least, copies = group->space->copies;
    return least < copies ? least : copies;
}

uint32_t group_in_sync(const struct group *group)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->replica.peer_count; i++)
        count += group->replica.peers[i].stage >= PEER_REQUIRED;
    return count;
}

static bool has_peer(const struct group *group, uint32_t server)
{
    for (uint32_t i = 0; i < group->replica.peer_count; i++) {
        if (group->replica.peers[i].server == server)
            return true;
    }
    return false;
}

static bool is_target(const struct group *group, uint32_t server)
{
    for (uint32_t i = 0; i < group->order_count; i++) {
        if (group->order[i] == server)
            return true;
    }
    return false;
}

/* Would the server keep the group if all planned servers were members? */
static bool is_planned(const struct group *group, uint32_t server)
{
    const struct store *store = group->store;
    uint32_t planned[KEEPERS_MAX];
    uint32_t count =
        placement_planned(views_roster(store->views), group->number, planned, group->space->copies);
    for (uint32_t i = 0; i < count; i++) {
        if (planned[i] == server)
            return true;
    }
    return false;
}

/* Another view does not begin the delay anew: a server that comes and goes would keep others from
 * standing in. But what was noted long ago, in a view in which this server led, says nothing. */
static void note_short(struct group *group, int64_t now)
{
    if (!group->short_since || now - group->short_seen > group->store->recover)
        group->short_since = now;
    group->short_seen = now;
}

static void retire(struct group *group)
{
    struct replica *replica = &group->replica;
    struct replica_world world = group_world(group);
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        uint32_t server = replica->peers[i].server;
        if (!is_target(group, server) && replica_retire(replica, &world, server))
            return;
    }
}

/* The leader makes a target in sync that is not, or else retires what is no target. A server that
 * only stands in for another one learns after a delay, since the other one may come back. */
static void tend(struct group *group)
{
    struct replica *replica = &group->replica;
    struct replica_world world = group_world(group);
    int64_t now = weft_now(group->store->self);
    bool is_short = false;
    if (STORE_HAS(DRAIN_EARLY))
        retire(group);
    for (uint32_t i = 0; i < group->order_count; i++) {
        uint32_t server = group->order[i];
        if (has_peer(group, server))
            continue;
        is_short = true;
        note_short(group, now);
        bool due = now - group->short_since >= group->store->recover || group_in_sync(group) < 2 ||
                   is_planned(group, server);
        if (due && replica_grow(replica, &world, server))
            return;
    }
    /* If too few servers are to keep the group, one that is not stays. */
    if (is_short || group->order_count < group->space->copies)
        return;
    group->short_since = 0;
    retire(group);
}

static void resend(struct group *group)
{
    uint64_t resends = group->resends;
    group->resends = 0;
    for (uint32_t i = 0; i < group->replica.peer_count; i++) {
        uint32_t server = group->replica.peers[i].server;
        if (server != group->store->here && resends & server_bit(server) &&
            !change_resend(group, server))
            group->resends |= server_bit(server);
    }
}

void group_lost(struct group *group, weft_server server)
{
    struct replica *replica = &group->replica;
    if (has_peer(group, server))
        group->resends |= server_bit(server);
    bool follows = replica->role == REPLICA_FOLLOWS || replica->role == REPLICA_LEARNS;
    if (follows && replica->leader == server) {
        struct replica_world world = group_world(group);
        replica_stored(replica, &world, replica->position); /* says it again */
    }
}

void group_tick(struct group *group)
{
    struct replica *replica = &group->replica;
    int64_t now = weft_now(group->store->self);
    if (now < group->repeat_at && replica->role != REPLICA_WAITS)
        return;
    group->repeat_at = now + REPEAT_NSEC;
    if (replica->role == REPLICA_WAITS || replica->role == REPLICA_REPORTS) {
        report(group);
    } else if (replica->role == REPLICA_LEADS) {
        struct replica_world world = group_world(group);
        replica_repeat(replica, &world);
        if (replica->active) {
            resend(group);
            tend(group);
        }
        confirm_tick(group);
        group_look(group);
    } else if (replica->role == REPLICA_FOLLOWS) {
        confirm_tick(group);
    }
}
