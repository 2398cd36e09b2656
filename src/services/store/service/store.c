/* store: the service. It opens the log, reads its custodies, then takes part in views; in each view
 * its groups begin anew. docs/store.md has the protocol. */
#include "services/store/service/store.h"

#include <errno.h>

#include "services/store/service/scan.h"

#define TICK_NSEC       (20 * MSEC)
#define PARCELS         16384
#define OPS             4096
#define CHANGES         8192 /* half of them for those that this server makes as a leader */
#define ASKS            4096
#define INCOMINGS       1024
#define REPLAYS         256
#define OUTCOMES        65536
#define MEMORY_SEGMENTS 32              /* of memory_size, at least */
#define SEGMENT_REST    4096            /* bytes of a segment that no value takes */
#define OUTCOME_NSEC    (120000 * MSEC) /* how long it is remembered at most */

/* ---- views ---- */

static void views_looked(void *owner, int result)
{
    struct store *store = owner;
    if (result == -EXDEV || result == -EMEDIUMTYPE || result == -EPROTO)
        store_refuse(store, result);
    else
        disk_begin(store);
}

static void views_opened(void *owner, int result)
{
    struct store *store = owner;
    if (store->stage == STORE_OPENS_VIEWS) {
        disk_check_custodies(store);
        store->stage = STORE_RUNS;
    }
}

/* What was lost is given up only when it is durable that this is another disk now. */
static void views_renamed(void *owner)
{
    struct store *store = owner;
    if (store->forgives)
        disk_forgive(store);
    store->forgives = false;
}

static void views_entered(void *owner, const struct roster *roster, uint32_t before)
{
    struct store *store = owner;
    if (store->stage != STORE_RUNS)
        return;
    store->entered_at = weft_now(store->self);
    lease_enter(store, roster);
    for (int64_t i = 0; i < store->group_count; i++)
        group_enter(&store->groups[i], roster);
    ask_view(store);
    scan_view(store);
}

static const struct views_events views_events = {.looked = views_looked,
                                                 .opened = views_opened,
                                                 .entered = views_entered,
                                                 .renamed = views_renamed};

/* ---- the service ---- */

static bool allocate(struct store *store)
{
    struct weft_self *self = store->self;
    uint64_t groups = (uint64_t)store->group_count;
    uint32_t servers = weft_server_count(self);
    void *index = weft_allocate(self, store->index_size);
    void *buffers = weft_allocate(self, store->buffers_size);
    void *once = weft_allocate(self, once_size(OUTCOMES));
    struct judge *judges = weft_allocate(self, groups * sizeof *judges);
    const struct {
        struct pool *pool;
        size_t size;
        uint32_t room;
    } pools[] = {
        {&store->parcels, sizeof(struct parcel), PARCELS},
        {&store->ops, sizeof(struct op), OPS},
        {&store->changes, sizeof(struct change), CHANGES},
        {&store->asks, sizeof(struct ask), ASKS},
        {&store->incomings, sizeof(struct incoming), INCOMINGS},
        {&store->replays, sizeof(struct replay), REPLAYS},
    };
    for (unsigned i = 0; i < sizeof pools / sizeof *pools; i++) {
        void *memory = weft_allocate(self, (uint64_t)pools[i].room * pools[i].size);
        if (!memory)
            return false;
        pool_init(pools[i].pool, memory, pools[i].size, pools[i].room);
    }
    store->groups = weft_allocate(self, groups * sizeof *store->groups);
    store->streams = weft_allocate(self, (uint64_t)servers * LANES * sizeof(struct weft_stream *));
    store->ranks = weft_allocate(self, servers * sizeof *store->ranks);
    bool leases = lease_init(store);
    store->in = weft_allocate(self, sizeof *store->in);
    store->out = weft_allocate(self, sizeof *store->out);
    if (!index || !buffers || !once || !judges || !store->groups || !store->streams ||
        !store->ranks || !leases || !store->in || !store->out || !scan_init(store) ||
        !large_init(store) || !upload_init(store) || !delivery_init(store) ||
        !index_init(&store->index, index, store->index_size, (uint32_t)groups + 1))
        return false;
    buffers_init(&store->buffers, buffers, store->buffers_size);
    once_init(&store->once, once, OUTCOMES);
    store->once.forgets = disk_forgets;
    store->once.owner = store;
    for (uint32_t i = 0; i < groups; i++) {
        group_init(store, i);
        store->groups[i].judge = &judges[i];
    }
    return true;
}

/* ---- key spaces ---- */

static bool check_spaces(const char *text, char *why)
{
    struct spaces spaces;
    return spaces_read(&spaces, text, 1, 1, SPACE_COPIES_MAX, false, why);
}

static bool read_spaces(struct store *store)
{
    char why[WEFT_WHY_SIZE];
    bool sense = spaces_read(&store->spaces, store->key_spaces, (uint32_t)store->first_groups,
                             (uint32_t)store->copies, SPACE_COPIES_MAX,
                             store->medium == STORE_IN_MEMORY, why);
    store->group_count = store->spaces.group_count;
    return sense;
}

static uint64_t layout_digest(const struct store *store)
{
    uint8_t bytes[SPACES_LAYOUT_MAX];
    size_t size = spaces_layout(&store->spaces, bytes);
    return digest_bytes(bytes, (uint32_t)size);
}

/* ---- logs ---- */

static uint32_t value_max(uint64_t segment)
{
    uint64_t most = segment - SEGMENT_REST;
    return most < STORE_VALUE_MAX ? (uint32_t)most : STORE_VALUE_MAX;
}

static bool make_logs(struct store *store)
{
    struct weft_self *self = store->self;
    uint64_t segment = store->memory_size / MEMORY_SEGMENTS / RECORD_UNIT * RECORD_UNIT;
    if (segment > store->segment)
        segment = store->segment;
    if (segment < LOG_SEGMENT_LEAST)
        segment = LOG_SEGMENT_LEAST;
    store->value_max = value_max(store->segment);
    store->memory_value_max = value_max(segment);
    const struct log_settings disk = {store->segment, store->value_max + REWRITTEN_HEAD, 0};
    const struct log_settings memory = {segment, store->memory_value_max + REWRITTEN_HEAD,
                                        store->memory_size};
    store->log = log_init(self, &disk, &disk_events, store);
    if (spaces_use_memory(&store->spaces))
        store->memory_log = log_init(self, &memory, &memory_events, store);
    return store->log && (store->memory_log || !spaces_use_memory(&store->spaces));
}

static int start(struct weft_self *self)
{
    struct store *store = weft_memory(self);
    if (!read_spaces(store))
        return -EINVAL;
    const struct views_settings settings = {
        .suspect = store->suspect,
        .timer = STORE_VIEWS,
        .layout = layout_digest(store),
        .founding = spaces_founding(&store->spaces),
    };
    store->self = self;
    store->here = weft_here(self);
    store->ask_name = weft_random(self);
    store->began_at = weft_now(self);
    list_init(&store->asks_open);
    list_init(&store->incomings_open);
    store->views = views_init(self, &settings, &views_events, store);
    if (!make_logs(store) || !store->views || !allocate(store))
        return -ENOMEM;
    int result = weft_timer(self, weft_now(self) + TICK_NSEC, STORE_TICK);
    if (!result)
        views_look(store->views);
    return result;
}

static void tick(struct store *store)
{
    (void)!weft_timer(store->self, weft_now(store->self) + TICK_NSEC, STORE_TICK);
#ifdef WEFT_PLANTED_BUGS
    store->clock_before = weft_clock(store->self);
#endif
    if (store->stage != STORE_BROKEN)
        log_tick(store->log);
    if (store->stage != STORE_BROKEN && store->memory_log)
        log_tick(store->memory_log);
    failure_tick(store);
    mail_tick(store);
    upload_tick(store);
    delivery_tick(store);
    ask_tick(store);
    inquiry_tick(store);
    status_tick(store);
    scan_tick(store);
    scrub_tick(store);
    if (store->stage != STORE_RUNS)
        return;
    drain_tick(store);
    once_expire(&store->once, weft_now(store->self) - OUTCOME_NSEC);
    for (int64_t i = 0; i < store->group_count; i++)
        group_tick(&store->groups[i]);
    expiry_tick(store);
}

static void work(struct store *store)
{
    large_work(store);
    if (delivery_work(store))
        large_wake(store);
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct store *store = weft_memory(self);
    if (cookie == STORE_TICK)
        tick(store);
    else if (cookie == STORE_FLUSH)
        log_flush(store->log);
    else if (cookie == STORE_FLUSH_MEMORY)
        log_flush(store->memory_log);
    else if (cookie == STORE_WORK)
        work(store);
    else
        views_timer(store->views);
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct store *store = weft_memory(self);
    if (!views_roster(store->views))
        weft_done(packet);
    else
        views_deliver(store->views, packet);
}

static void peer(struct weft_self *self, weft_server server, bool up)
{
    struct store *store = weft_memory(self);
    views_peer(store->views, server, up);
}

static void peer_up(struct weft_self *self, weft_server server)
{
    peer(self, server, true);
}

static void peer_down(struct weft_self *self, weft_server server)
{
    peer(self, server, false);
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct store *store = weft_memory(self);
    const uint8_t *call = bytes;
    if (size > 0 && *call == STORE_CALL_REQUEST)
        ask_request(store, client, ticket, call + 1, size - 1);
    else if (size > 0 && *call == STORE_CALL_CARE)
        inquiry_begin(store, client, ticket, call + 1, size - 1);
    else if (size > 0 && *call == STORE_CALL_SCAN)
        scan_begin(store, client, ticket, call + 1, size - 1);
    else if (size > 0 && *call == STORE_CALL_OPEN)
        upload_open(store, client, ticket, call + 1, size - 1);
    else if (size > 0 && *call == STORE_CALL_PART)
        upload_take(store, client, ticket, call + 1, size - 1);
    else
        ask_request(store, client, ticket, NULL, 0); /* is answered as malformed */
}

static void gone(struct weft_self *self, uint64_t client)
{
    ask_gone(weft_memory(self), client);
    inquiry_gone(weft_memory(self), client);
    scan_gone(weft_memory(self), client);
    upload_gone(weft_memory(self), client);
    delivery_gone(weft_memory(self), client);
}

static void writable(struct weft_self *self, uint64_t client)
{
    delivery_writable(weft_memory(self), client);
}

static void stats(struct weft_self *self, struct weft_report *report)
{
    const struct store *store = weft_memory(self);
    const struct roster *roster = views_roster(store->views);
    struct log_counts log;
    struct copies copies;
    uint64_t leads = 0, keys = 0, large = 0, held = 0, least = 0;
    for (int64_t i = 0; i < store->group_count; i++) {
        const struct group *group = &store->groups[i];
        bool serves = replica_serves(&group->replica);
        uint32_t in_sync = group_in_sync(group);
        leads += serves;
        held += serves || group->replica.role == REPLICA_FOLLOWS;
        if (serves && (!least || in_sync < least))
            least = in_sync;
        keys += index_count(&store->index, (uint32_t)i);
    }
    (void)!weft_stat(report, "view", roster ? roster->epoch : 0);
    (void)!weft_stat(report, "groups_led", leads);
    (void)!weft_stat(report, "groups_held", held);
    (void)!weft_stat(report, "copies_least", least); /* of the groups led */
    (void)!weft_stat(report, "keys", keys);
    copies_count(store, &copies);
    (void)!weft_stat(report, "copies_missing", copies.missing);
    (void)!weft_stat(report, "digest", copies.digest);
    (void)!weft_stat(report, "digest_due", copies.digest_due);
    (void)!weft_stat(report, "under_way",
                     store->asks.used + store->ops.used + store->changes.used +
                         store->replays.used + store->scans.scans.used + store->scans.pages.used);
    (void)!weft_stat(report, "buffers_used", store->buffers.used);
    log_count(store->log, &log);
    (void)!weft_stat(report, "log_bytes", log.bytes);
    (void)!weft_stat(report, "log_live", log.live);
    (void)!weft_stat(report, "log_copied", log.copied);
    (void)!weft_stat(report, "log_full", log.full);
    log = (struct log_counts){0};
    if (store->memory_log)
        log_count(store->memory_log, &log);
    (void)!weft_stat(report, "memory_bytes", log.bytes);
    (void)!weft_stat(report, "memory_live", log.live);
    (void)!weft_stat(report, "memory_full", log.full);
    for (unsigned i = 0; i < STORE_ROOMS; i++)
        large += store->rooms[i].used;
    (void)!weft_stat(report, "large_bytes", large);
    (void)!weft_stat(report, "answered", store->answered);
    (void)!weft_stat(report, "expired", store->expired);
    (void)!weft_stat(report, "reads_own", store->reads_own);
    (void)!weft_stat(report, "failures", store->failures);
    (void)!weft_stat(report, "garbage", store->garbage);
    (void)!weft_stat(report, "damaged", log.damaged);
    (void)!weft_stat(report, "mended", store->mended);
    (void)!weft_stat(report, "differing", store->differing);
    (void)!weft_stat(report, "compared", store->compared);
}

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct store, copies, INTEGER), .value = "3", .minimum = "1", .maximum = "5",
     .help = "servers that keep each key"},
    {WEFT_PARAMETER(struct store, least, INTEGER), .value = "2", .minimum = "1", .maximum = "5",
     .help = "copies without which nothing is changed"},
    {"group_count", WEFT_PARAMETER_INTEGER, WEFT_FIELD(struct store, first_groups, int64_t),
     .value = "256", .minimum = "1", .maximum = "65536",
     .help = "placement groups; never changed later"},
    {WEFT_PARAMETER(struct store, medium, CHOICE), .value = "disk", .choices = "disk|memory",
     .help = "where values are kept; never changed later"},
    {"spaces", WEFT_PARAMETER_TEXT, WEFT_FIELD(struct store, key_spaces, const char *), .value = "",
     .check = check_spaces,
     .help = "other kinds of keys by prefix, as in session/:memory:copies=2,logs/:copies=1"},
    {WEFT_PARAMETER(struct store, memory_size, SIZE), .value = "256M", .minimum = "4M",
     .help = "memory for values that are kept in memory"},
    {WEFT_PARAMETER(struct store, suspect, DURATION), .value = "300ms", .minimum = "10ms",
     .help = "a server leaves if no path leads to it for so long"},
    {WEFT_PARAMETER(struct store, recover, DURATION), .value = "3min",
     .help = "after that, another server stands in for one that is away"},
    {WEFT_PARAMETER(struct store, lease, DURATION), .value = "500ms", .maximum = "10s",
     .help = "how long a copy answers reads without asking the others; 0: it asks each time"},
    {WEFT_PARAMETER(struct store, recover_rate, SIZE), .value = "64M", .minimum = "4K",
     .help = "bytes a second that a server sends to copies that it makes"},
    {WEFT_PARAMETER(struct store, scrub_every, DURATION), .value = "24h", .minimum = "100ms",
     .help = "how often a server reads all its records, to find damage"},
    {WEFT_PARAMETER(struct store, scrub_rate, SIZE), .value = "16M", .minimum = "4K",
     .help = "bytes a second that it reads for that"},
    {WEFT_PARAMETER(struct store, index_size, SIZE), .value = "64M", .minimum = "1M",
     .help = "memory for keys"},
    {WEFT_PARAMETER(struct store, buffers_size, SIZE), .value = "64M", .minimum = "4M",
     .help = "memory for small values on their way; that for large ones follows from segment"},
    {WEFT_PARAMETER(struct store, segment, SIZE), .value = "72M", .minimum = "256K",
     .maximum = "128M", .help = "bytes of a file of the log; a value is smaller, and at most 64M"},
    {WEFT_PARAMETER(struct store, memory, SIZE), .value = "2G",
     .help = "most memory that the store may take on each server; it touches little of it at once"},
    {0},
};

static const struct weft_service_ops ops = {
    .start = start,
    .deliver = deliver,
    .peer_up = peer_up,
    .peer_down = peer_down,
    .timer = timer,
    .request = request,
    .stats = stats,
    .gone = gone,
    .writable = writable,
};

const struct weft_service store_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = STORE_NAME,
    .id = STORE_SERVICE,
    .size = sizeof(struct store),
    .ops = &ops,
    .files = LOG_FILES + VIEWS_FILES,
    .parameters = parameters,
    .streams = &store_streams,
    .work = LOG_WORK,
};
