#include "log_keeper.h"

#include <errno.h>
#include <string.h>

#include "base/check.h"
#include "base/digest.h"
#include "base/hash.h"

#define JOBS 24
#define TICK 20000000 /* nanoseconds */

struct entry {
    uint64_t version; /* 0: none */
    struct log_place place;
    uint32_t size;
    bool removed, damaged;
    uint32_t born; /* of a tombstone: the segment in which it was first written */
};

struct job {
    union {
        struct log_append append;
        struct log_read read;
    };
    bool busy;
    uint64_t client;
    struct keeper_order order;
    uint8_t key[4];
    uint8_t bytes[KEEPER_VALUE + RECORD_TOP_MAX + RECORD_UNIT];
};

struct keeper {
    struct weft_self *self;
    struct log *log;
    int opened; /* 1: not yet */
    bool failed, closing, damaged;
    struct entry entries[KEEPER_KEYS];
    struct job jobs[JOBS];
};

#define KEEPERS 8
static struct keeper *keepers[KEEPERS]; /* of the servers that run */
static uint64_t closed_count;
static bool forgave[KEEPERS];

static void value_make(uint8_t *out, uint32_t key, uint64_t version, uint32_t size)
{
    uint64_t word = hash_mix(key + (version << 16));
    for (uint32_t i = 0; i < size; i++)
        out[i] = (uint8_t)((word + i / 8) >> (8 * (i % 8)));
}

static void answer(struct keeper *keeper, uint64_t client, const struct keeper_order *order,
                   int result)
{
    struct keeper_answer out = {*order, result, keeper->damaged};
    (void)!weft_answer(keeper->self, client, 1, &out, sizeof out);
}

static void job_end(struct keeper *keeper, struct job *job, int result)
{
    answer(keeper, job->client, &job->order, result);
    job->busy = false;
}

/* ---- what the log asks ---- */

static uint32_t key_of(const struct record *record)
{
    uint32_t key;
    assert(record->key_size == sizeof key);
    memcpy(&key, record->key, sizeof key);
    assert(key < KEEPER_KEYS);
    return key;
}

static void entry_set(struct keeper *keeper, const struct record *record, struct log_place place)
{
    struct entry *entry = &keeper->entries[key_of(record)];
    if (record->version < entry->version ||
        (record->version == entry->version &&
         log_place_order(place) <= log_place_order(entry->place))) {
        log_dead(keeper->log, place, record->key_size, record->value_size);
        return;
    }
    if (entry->version)
        log_dead(keeper->log, entry->place, sizeof(uint32_t), entry->size);
    *entry = (struct entry){
        .version = record->version,
        .place = place,
        .size = record->value_size,
        .removed = record->kind == RECORD_TOMBSTONE,
        .born = (uint32_t)record->expiry,
    };
}

static void on_found(void *owner, const struct record *record, struct log_place place)
{
    entry_set(owner, record, place);
}

static void on_opened(void *owner, int result)
{
    struct keeper *keeper = owner;
    weft_server here = weft_here(keeper->self);
    keeper->opened = result;
    if (!result && keeper->damaged && weft_random(keeper->self) % 2) {
        log_forgive(keeper->log);
        forgave[here] = true;
    }
}

static void on_damaged(void *owner, const struct log_damage *damage)
{
    struct keeper *keeper = owner;
    keeper->damaged = true;
}

static bool on_live(void *owner, struct record *record, struct log_place place)
{
    struct keeper *keeper = owner;
    struct entry *entry = &keeper->entries[key_of(record)];
    if (log_place_order(entry->place) != log_place_order(place))
        return false;
    if (!entry->removed || log_oldest(keeper->log, place.segment) <= entry->born)
        return true;
    log_dead(keeper->log, place, record->key_size, record->value_size);
    *entry = (struct entry){0};
    return false;
}

static bool on_moved(void *owner, const struct record *record, struct log_place from,
                     struct log_place to)
{
    struct keeper *keeper = owner;
    struct entry *entry = &keeper->entries[key_of(record)];
    if (log_place_order(entry->place) != log_place_order(from))
        return false;
    entry->place = to;
    return true;
}

static void on_failed(void *owner, int error)
{
    struct keeper *keeper = owner;
    keeper->failed = true;
}

static void on_closed(void *owner)
{
    struct keeper *keeper = owner;
    for (unsigned i = 0; i < JOBS; i++)
        assert(!keeper->jobs[i].busy);
    memset(keeper->entries, 0, sizeof keeper->entries);
    keeper->failed = keeper->closing = false;
    closed_count++;
    keeper->failed = log_open(keeper->log) != 0;
}

static void close_log(struct keeper *keeper)
{
    keeper->closing = true;
    keeper->opened = 1;
    if (weft_random(keeper->self) % 2)
        log_doubt(keeper->log);
    log_close(keeper->log);
}

#define TICKS 0
#define FLUSH 1

static void on_wake(void *owner)
{
    struct keeper *keeper = owner;
    (void)!weft_timer(keeper->self, weft_now(keeper->self), FLUSH);
}

static void on_pause(void *owner, int64_t until)
{
    struct keeper *keeper = owner;
    (void)!weft_timer(keeper->self, until, FLUSH);
}

static const struct log_events events = {
    .found = on_found,
    .opened = on_opened,
    .damaged = on_damaged,
    .live = on_live,
    .moved = on_moved,
    .failed = on_failed,
    .closed = on_closed,
    .wake = on_wake,
    .pause = on_pause,
};

/* ---- the service ---- */

static int start(struct weft_self *self)
{
    struct keeper *keeper = weft_memory(self);
    static const struct log_settings settings = {KEEPER_SEGMENT, KEEPER_VALUE};
    keeper->self = self;
    keeper->opened = 1;
    keeper->log = log_init(self, &settings, &events, keeper);
    keepers[weft_here(self)] = keeper;
    (void)!weft_timer(self, weft_now(self) + TICK, TICKS);
    return keeper->log ? log_open(keeper->log) : -ENOMEM;
}

static void stop(struct weft_self *self)
{
    keepers[weft_here(self)] = NULL;
}

static void timer(struct weft_self *self, uint64_t cookie)
{
    struct keeper *keeper = weft_memory(self);
    if (cookie == FLUSH) {
        log_flush(keeper->log);
        return;
    }
    log_tick(keeper->log);
    if (!keeper->closing && (keeper->failed || keeper->opened < 0))
        close_log(keeper);
    (void)!weft_timer(self, weft_now(self) + TICK, TICKS);
}

static void appended(void *owner, struct log_append *append)
{
    struct keeper *keeper = owner;
    struct job *job = (struct job *)append;
    if (!append->result)
        entry_set(keeper, &append->record, append->place);
    job_end(keeper, job, append->result);
}

static void append_begin(struct keeper *keeper, struct job *job)
{
    const struct keeper_order *order = &job->order;
    bool removes = order->what == KEEPER_REMOVE;
    memcpy(job->key, &order->key, sizeof job->key);
    value_make(job->bytes, order->key, order->version, order->size);
    job->append = (struct log_append){
        .record = {.kind = removes ? RECORD_TOMBSTONE : RECORD_VALUE,
                   .version = order->version,
                   .key = job->key,
                   .key_size = sizeof job->key,
                   .value = job->bytes,
                   .value_size = order->size,
                   .digest = digest_bytes(job->bytes, order->size)},
        .urgent = removes,
        .done = appended,
    };
    int result = log_append(keeper->log, &job->append);
    if (result)
        job_end(keeper, job, result);
}

static bool is_expected(const struct keeper_order *order, const struct record *record)
{
    static uint8_t expected[KEEPER_VALUE];
    value_make(expected, order->key, order->version, record->value_size);
    return record->version == order->version && key_of(record) == order->key &&
           memcmp(expected, record->value, record->value_size) == 0;
}

static void was_read(void *owner, struct log_read *read)
{
    struct job *job = (struct job *)read;
    int result = read->result;
    if (!result && !is_expected(&job->order, &read->record))
        result = -EILSEQ;
    job_end(owner, job, result);
}

static void read_begin(struct keeper *keeper, struct job *job)
{
    const struct entry *entry = &keeper->entries[job->order.key];
    job->order.version = entry->version;
    job->order.size = entry->size;
    bool astray = job->order.what == KEEPER_ASTRAY;
    if (!astray && (!entry->version || entry->removed)) {
        job_end(keeper, job, entry->version ? -ENODATA : -ENOENT);
        return;
    }
    job->read = (struct log_read){
        .place = astray ? (struct log_place){UINT32_MAX, 4} : entry->place,
        .key_size = sizeof(uint32_t),
        .value_size = entry->size,
        .bytes = job->bytes,
        .done = was_read,
    };
    log_read(keeper->log, &job->read);
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct keeper *keeper = weft_memory(self);
    const struct keeper_order *order = bytes;
    struct job *job = keeper->jobs;
    if (order->what == KEEPER_CLOSE) {
        if (!keeper->closing && !keeper->opened)
            close_log(keeper);
        return;
    }
    while (job < keeper->jobs + JOBS && job->busy)
        job++;
    if (keeper->opened || job == keeper->jobs + JOBS) {
        answer(keeper, client, order, -EAGAIN);
        return;
    }
    job->busy = true;
    job->client = client;
    job->order = *order;
    if (order->what == KEEPER_GET || order->what == KEEPER_ASTRAY)
        read_begin(keeper, job);
    else
        append_begin(keeper, job);
}

bool keeper_counts(weft_server server, struct log_counts *counts)
{
    if (!keepers[server] || keepers[server]->opened)
        return false;
    log_count(keepers[server]->log, counts);
    return true;
}

void keeper_begin(void)
{
    memset(forgave, 0, sizeof forgave);
}

bool keeper_forgave(weft_server server)
{
    return forgave[server];
}

uint64_t keeper_closed(void)
{
    return closed_count;
}

int keeper_opened(weft_server server)
{
    return keepers[server] ? keepers[server]->opened : 1;
}

static const struct weft_service_ops ops = {
    .start = start, .stop = stop, .timer = timer, .request = request};

const struct weft_service keeper_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "keeper",
    .id = KEEPER_SERVICE,
    .size = sizeof(struct keeper),
    .ops = &ops,
    .files = LOG_FILES,
    .work = LOG_WORK,
};
