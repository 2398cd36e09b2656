/* status: what this server reports about its part of the store. Each group is counted by the server
 * that leads it, or, as long as none does, by the group's coordinator. */
#include "services/store/service/store_impl.h"

#define SETTLE_NSEC                                                                                \
    (2000 * MSEC) /* after a view, before no report means that no server has data                  \
                   */
#define RATE_NSEC       (1000 * MSEC) /* between two looks at what was copied */
#define BUSY_PART       4  /* while requests are under way, this part of the rate is left */
#define RECORD_OVERHEAD 64 /* bytes that a key costs besides its record */

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What the copies of a group lack. */
static const struct replica_peer *find_peer(const struct group *group, uint32_t server)
{
    for (uint32_t i = 0; i < group->replica.peer_count; i++) {
        if (group->replica.peers[i].server == server)
            return &group->replica.peers[i];
    }
    return NULL;
}

static void count_missing(const struct group *group, uint32_t in_sync, uint64_t *counts)
{
    const struct store *store = group->store;
    const struct lesson *lesson = &group->lesson;
    uint64_t records = index_count(&store->index, group->number);
    int64_t now = weft_now(store->self);
    for (uint32_t i = 0; i < group->order_count; i++) {
        const struct replica_peer *peer = find_peer(group, group->order[i]);
        if (peer && peer->stage >= PEER_REQUIRED)
            continue;
        bool taught = peer && lesson->server == peer->server && (lesson->runs || lesson->over);
        counts[CARE_RECORDS_MISSING] +=
            records - (taught ? least_of(lesson->compared, records) : 0);
        counts[peer ? CARE_COPIES_LEARNING : CARE_COPIES_DELAYED]++;
        if (peer)
            continue;
        int64_t due = (group->short_since ? group->short_since : now) + store->recover;
        bool waits = due > now && in_sync > 1;
        counts[CARE_LEARNS_IN] =
            least_of(counts[CARE_LEARNS_IN], waits ? (uint64_t)(due - now) : 0);
    }
}

static void count_led(const struct group *group, uint64_t *counts)
{
    const struct store *store = group->store;
    uint32_t in_sync = group_in_sync(group);
    const struct roster *roster = views_roster(store->views);
    uint64_t keeping = 0;
    for (uint32_t i = 0; i < roster->count; i++)
        keeping += roster_keeps(roster, i);
    uint64_t wanted = least_of(group->space->copies, keeping);
    counts[CARE_GROUPS_LED]++;
    counts[CARE_RECORDS] += index_count(&store->index, group->number);
    counts[CARE_GROUPS_REFUSING] += in_sync < group_least(group);
    if (in_sync >= wanted)
        return;
    counts[CARE_GROUPS_SHORT]++;
    counts[CARE_GROUPS_SINGLE] += in_sync == 1;
    counts[CARE_COPIES_MISSING] += wanted - in_sync;
    count_missing(group, in_sync, counts);
}

/* ---- groups without a leader ---- */

static void add_trouble(struct care_report *report, const struct group *group,
                        enum care_reason reason, uint32_t server)
{
    if (report->trouble_count < CARE_TROUBLES_MAX)
        report->troubles[report->trouble_count++] =
            (struct care_trouble){group->number, reason, server};
}

static void count_unled(const struct group *group, struct care_report *report)
{
    const struct store *store = group->store;
    const struct roster *roster = views_roster(store->views);
    uint32_t in_sync, server;
    enum judgement judgement = judge_decide(group->judge, roster, &in_sync, &server);
    bool settles = weft_now(store->self) - store->entered_at < SETTLE_NSEC;
    if (judgement == JUDGE_WAITS || (group->judge->count == 0 && settles)) {
        report->counts[CARE_GROUPS_WAITING]++;
        add_trouble(report, group, CARE_WAITS, judgement == JUDGE_WAITS ? server : CARE_NONE);
        return;
    }
    bool known = group->judge->count && server < roster->count;
    report->counts[CARE_GROUPS_UNAVAILABLE]++;
    add_trouble(report, group, known ? CARE_AWAY : CARE_GONE, known ? server : CARE_NONE);
}

static void count_group(const struct group *group, struct care_report *report)
{
    const struct replica *replica = &group->replica;
    report->counts[CARE_GROUPS_HELD] +=
        replica->role == REPLICA_FOLLOWS || replica->role == REPLICA_LEADS;
    if (replica_serves(replica))
        count_led(group, report->counts);
    else if (replica->role == REPLICA_LEADS)
        report->counts[CARE_GROUPS_STARTING]++;
    else if (group->order_count && group->order[0] == group->store->here && !group->judged)
        count_unled(group, report);
}

/* ---- the report ---- */

static enum care_state state_of(const struct store *store)
{
    switch (store->stage) {
    case STORE_LOOKS:
    case STORE_OPENS_LOG:
    case STORE_READS_CUSTODY:
    case STORE_OPENS_VIEWS:
        return CARE_OPENS;
    case STORE_RUNS:
        return views_is_member(store->views) ? CARE_MEMBER : CARE_JOINS;
    case STORE_FAILED:
    case STORE_CLOSES_LOG:
    case STORE_RESTS:
        return CARE_FAILED;
    case STORE_BROKEN:
        break;
    }
    return CARE_REFUSED;
}

static void count_disk(const struct store *store, uint64_t *counts)
{
    struct log_counts log, memory = {0};
    log_count(store->log, &log);
    if (store->memory_log)
        log_count(store->memory_log, &memory);
    counts[CARE_LIVE_BYTES] = log.live;
    counts[CARE_DISK_BYTES] = log.bytes;
    counts[CARE_MEMORY_BYTES] = memory.live;
    counts[CARE_MEMORY_FULL] = memory.full;
    counts[CARE_DISK_FULL] = log.full;
    counts[CARE_KEYS_FULL] = index_is_tight(&store->index);
    counts[CARE_FAILURES] = store->failures;
    if (store->index.count)
        counts[CARE_BYTES_MISSING] =
            (uint64_t)((double)counts[CARE_RECORDS_MISSING] * (double)(log.live + memory.live) /
                       (double)store->index.count);
}

static void count_scrub(const struct store *store, uint64_t *counts)
{
    const struct scrub *scrub = &store->scrub;
    int64_t now = weft_now(store->self);
    counts[CARE_SCRUB_RUNS] = scrub->runs;
    counts[CARE_SCRUB_NUMBER] = scrub->number;
    counts[CARE_SCRUB_AGE] = scrub->ended_at ? (uint64_t)(now - scrub->ended_at) : CARE_NEVER;
    counts[CARE_SCRUB_GROUPS] = least_of(scrub->group, (uint64_t)store->group_count);
    counts[CARE_SCRUB_RECORDS] = scrub->counts.records;
    counts[CARE_SCRUB_BYTES] = scrub->counts.bytes;
    counts[CARE_SCRUB_DAMAGED] = scrub->counts.damaged;
    counts[CARE_SCRUB_OPEN] = scrub->counts.open;
    counts[CARE_SCRUB_MENDED] = scrub->counts.mended;
    counts[CARE_SCRUB_LOST] = scrub->counts.lost;
    counts[CARE_SCRUB_DIFFERING] = scrub->counts.differing;
    counts[CARE_SCRUB_EVENED] = scrub->counts.evened;
    counts[CARE_SCRUB_SKIPPED] = scrub->counts.skipped;
}

void status_fill(const struct store *store, struct care_report *report)
{
    const struct roster *roster = views_roster(store->views);
    report->state = state_of(store);
    report->epoch = roster ? roster->epoch : 0;
    report->error = report->state >= CARE_FAILED ? store->error : 0;
    report->counts[CARE_LEARNS_IN] = CARE_NEVER;
    for (int64_t i = 0; report->state == CARE_MEMBER && i < store->group_count; i++)
        count_group(&store->groups[i], report);
    report->counts[CARE_RECORDS_RATE] = store->taught.records_rate;
    report->counts[CARE_BYTES_RATE] = store->taught.bytes_rate;
    count_disk(store, report->counts);
    count_scrub(store, report->counts);
}

/* ---- how fast others learn ---- */

void status_taught(struct store *store, uint64_t bytes)
{
    store->taught.bytes += bytes;
    store->taught.tokens -= (int64_t)bytes + RECORD_OVERHEAD;
}

/* What may be taught in the next moment: while requests are under way, a part of the rate. Lessons
 * that waited for that go on. */
static void allow(struct store *store, int64_t now)
{
    struct taught *taught = &store->taught;
    double rate = (double)store->recover_rate / (store->ops.used ? BUSY_PART : 1);
    int64_t most = (int64_t)store->recover_rate / 10 + 1, before = taught->tokens;
    taught->tokens += (int64_t)(rate * (double)(now - taught->looked_at) / 1e9);
    taught->looked_at = now;
    if (taught->tokens > most)
        taught->tokens = most;
    for (int64_t i = 0; before <= 0 && store->stage == STORE_RUNS && i < store->group_count; i++) {
        if (store->groups[i].lesson.runs)
            lesson_look(&store->groups[i]);
    }
}

void status_tick(struct store *store)
{
    struct taught *taught = &store->taught;
    int64_t now = weft_now(store->self), passed = now - taught->at;
    allow(store, now);
    if (passed < RATE_NSEC)
        return;
    double seconds = (double)passed / 1e9;
    uint64_t records = (uint64_t)((double)taught->records / seconds);
    uint64_t bytes = (uint64_t)((double)taught->bytes / seconds);
    /* The mean of the last seconds, of which later ones count more. */
    taught->records_rate = (taught->records_rate + records) / 2;
    taught->bytes_rate = (taught->bytes_rate + bytes) / 2;
    taught->records = taught->bytes = 0;
    taught->at = now;
}
