/* disk: the records of the store and its custodies, in the log; and the index of where they are.
 * The records of groups in memory are in a log of their own.
 *
 * The last group of the index is the server's own: its keys are the numbers of groups, and the
 * values their custodies. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"

static uint32_t own_group(const struct store *store)
{
    return (uint32_t)store->group_count;
}

static struct log *log_of(const struct store *store, uint32_t group)
{
    return group < own_group(store) ? store->groups[group].log : store->log;
}

static struct index_key key_of(const void *key, uint32_t size)
{
    return (struct index_key){key, size};
}

struct index_entry *disk_find(const struct store *store, uint32_t group, const void *key,
                              uint32_t size)
{
    return index_find(&store->index, group, key_of(key, size));
}

bool disk_has_value(const struct index_entry *entry)
{
    return entry && entry->kind == INDEX_VALUE;
}

bool disk_is_rewritten(const struct index_entry *entry)
{
    return entry->flags & 1;
}

struct log_place disk_place(const struct index_entry *entry)
{
    return (struct log_place){entry->segment, entry->offset};
}

static bool is_at(const struct index_entry *entry, struct log_place place)
{
    return entry && entry->segment == place.segment && entry->offset == place.unit;
}

/* ---- a record is durable ---- */

/* Of the record only what its request did is needed. A start may find it twice. */
static void outcome_supersede(struct store *store, struct outcome *outcome)
{
    if (outcome->superseded)
        return;
    outcome->superseded = true;
    log_outcome(log_of(store, outcome->group), outcome->place, outcome->key_size,
                outcome->value_size);
}

/* The record at that place is not that of its key any more. It stays if a request may come again.
 */
static void supersede(struct store *store, uint32_t group, const struct index_entry *entry)
{
    struct outcome *outcome = once_find_version(&store->once, group, entry->version);
    if (outcome && is_at(entry, outcome->place))
        outcome_supersede(store, outcome);
    else
        log_dead(log_of(store, group), disk_place(entry), entry->key_size, entry->value_size);
}

static bool leads(const struct store *store, uint32_t group)
{
    return group < store->group_count && store->groups[group].replica.role == REPLICA_LEADS;
}

static void note_outcome(struct store *store, const struct record *record, struct log_place place,
                         bool superseded)
{
    if (record->client && !(STORE_HAS(REQUEST_FORGOTTEN) && !leads(store, record->group))) {
        once_note(&store->once, &(struct outcome){
                                    .client = record->client,
                                    .number = record->request & ~REWRITTEN,
                                    .group = record->group,
                                    .version = record->version,
                                    .at = weft_now(store->self),
                                    .place = place,
                                    .key_size = record->key_size,
                                    .value_size = record->value_size,
                                    .disowned = record->kind == RECORD_DISOWNED,
                                });
        struct outcome *outcome = once_find_version(&store->once, record->group, record->version);
        if (outcome && log_place_order(outcome->place) == log_place_order(place)) {
            if (superseded)
                outcome_supersede(store, outcome);
            return;
        }
    }
    if (superseded)
        log_dead(log_of(store, record->group), place, record->key_size, record->value_size);
}

/* A later copy of the same record. */
static void replace_copy(struct store *store, uint32_t group, const struct index_entry *entry,
                         struct log_place place)
{
    struct outcome *outcome = once_find_version(&store->once, group, entry->version);
    if (outcome && is_at(entry, outcome->place))
        outcome->place = place;
    log_dead(log_of(store, group), disk_place(entry), entry->key_size, entry->value_size);
}

void disk_put(struct store *store, const struct record *record, struct log_place place)
{
    bool is_new, removed = record->kind == RECORD_TOMBSTONE;
    enum index_kind kind = removed ? INDEX_TOMBSTONE : INDEX_VALUE;
    if (!record_is_of_key(record)) {
        note_outcome(store, record, place, true);
        return;
    }
    struct index_entry *entry =
        index_insert(&store->index, record->group, key_of(record->key, record->key_size),
                     record->version, kind, &is_new);
    if (!entry) {
        store_fail(store, -ENOMEM);
        return;
    }
    bool older = !is_new && (record->version < entry->version ||
                             (record->version == entry->version &&
                              log_place_order(place) <= log_place_order(disk_place(entry))));
    if (older) {
        if (!is_at(entry, place))
            note_outcome(store, record, place, true);
        return;
    }
    if (!is_new) {
        if (record->version == entry->version)
            replace_copy(store, record->group, entry, place);
        else
            supersede(store, record->group, entry);
        index_change(&store->index, record->group, entry, record->version, kind);
    }
    entry->segment = place.segment;
    entry->offset = place.unit;
    entry->value_size = record->value_size;
    entry->flags = record->request & REWRITTEN ? 1 : 0;
    entry->expiry = record->expiry;
    if (STORE_HAS(EXPIRY_FORGOTTEN) && !removed && !leads(store, record->group))
        entry->expiry = 0;
    if (!removed && record->group < own_group(store))
        expiry_note(&store->groups[record->group], entry->expiry);
    note_outcome(store, record, place, false);
}

void disk_forgets(void *owner, const struct outcome *outcome)
{
    struct store *store = owner;
    if (outcome->superseded)
        log_dead(log_of(store, outcome->group), outcome->place, outcome->key_size,
                 record_outcome_value(outcome->value_size));
}

/* ---- what the log asks ---- */

static void on_found(void *owner, const struct record *record, struct log_place place)
{
    struct store *store = owner;
    if (record->group > own_group(store)) {
        log_dead(store->log, place, record->key_size, record->value_size);
        return;
    }
    disk_put(store, record, place);
    if (record->group == own_group(store)) {
        if (record->version > store->custody_version)
            store->custody_version = record->version;
        return;
    }
    struct replica *replica = &store->groups[record->group].replica;
    if (record->version > replica->position)
        replica->position = replica->received = record->version;
}

/* While the log opens, it is not known which records are gone. So this server has no group as a
 * whole any more, and gets from others what it lacks. Later, the index knows all records that are
 * needed: those that cannot be read are found and fetched one by one. */
static void on_damaged(void *owner, const struct log_damage *damage)
{
    struct store *store = owner;
    if (store->stage == STORE_OPENS_LOG)
        store->lost = true;
    else
        scrub_alarm(store);
}

void disk_lose(struct store *store)
{
    store->lost = true;
    log_doubt(store->log);
    store_fail(store, -EBADMSG);
}

void disk_forgive(struct store *store)
{
    log_forgive(store->log);
    if (store->memory_log)
        log_forgive(store->memory_log);
}

/* The record is not that of its key. A copy of it says so: else it could outlive the tombstone of
 * the key, and a start would find a key that was removed. */
static bool is_outcome(const struct store *store, struct record *record, struct log_place place)
{
    const struct outcome *outcome = once_find_version(&store->once, record->group, record->version);
    record_supersede(record);
    return outcome && log_place_order(outcome->place) == log_place_order(place);
}

static bool on_live(void *owner, struct record *record, struct log_place place)
{
    struct store *store = owner;
    struct index_entry *entry = disk_find(store, record->group, record->key, record->key_size);
    if (!is_at(entry, place))
        return is_outcome(store, record, place);
    if (entry->kind != INDEX_TOMBSTONE ||
        log_oldest(log_of(store, record->group), place.segment) <= entry->expiry)
        return true;
    if (!replica_purges(&store->groups[record->group].replica, entry->version))
        return true;
    supersede(store, record->group, entry);
    index_remove(&store->index, record->group, entry);
    return is_outcome(store, record, place);
}

static bool on_moved(void *owner, const struct record *record, struct log_place from,
                     struct log_place to)
{
    struct store *store = owner;
    struct index_entry *entry = disk_find(store, record->group, record->key, record->key_size);
    struct outcome *outcome = once_find_version(&store->once, record->group, record->version);
    bool used = false;
    if (outcome && log_place_order(outcome->place) == log_place_order(from)) {
        if (outcome->superseded && record_is_of_key(record)) /* since the copy was written */
            log_outcome_moved(log_of(store, record->group), from, to, record->key_size,
                              record->value_size);
        outcome->place = to;
        outcome->value_size = record->value_size;
        used = true;
    }
    if (is_at(entry, from)) {
        entry->segment = to.segment;
        entry->offset = to.unit;
        used = true;
    }
    return used;
}

static void on_failed(void *owner, int error)
{
    store_fail(owner, error);
}

static void on_wake(void *owner)
{
    struct store *store = owner;
    (void)!weft_timer(store->self, weft_now(store->self), STORE_FLUSH);
}

static void on_memory_wake(void *owner)
{
    struct store *store = owner;
    (void)!weft_timer(store->self, weft_now(store->self), STORE_FLUSH_MEMORY);
}

static void on_pause(void *owner, int64_t until)
{
    struct store *store = owner;
    (void)!weft_timer(store->self, until, STORE_FLUSH);
}

/* ---- reading ---- */

static void was_read(void *owner, struct log_read *read)
{
    struct disk_read *it = container_of(read, struct disk_read, read);
    it->done(it);
}

static void begin(struct disk_read *read, struct buffer *buffer)
{
    read->buffer = buffer;
    read->read.bytes = buffer->bytes + read->before;
    log_read(read->log, &read->read);
}

static void granted(struct room_wait *wait, struct buffer *buffer)
{
    begin(container_of(wait, struct disk_read, wait), buffer);
}

bool disk_read_wide(struct store *store, uint32_t group, struct log_place place, uint32_t key_size,
                    uint32_t value_size, uint32_t before, uint32_t after, struct disk_read *read)
{
    uint32_t size = before + record_units(key_size, value_size) * RECORD_UNIT + after;
    struct value_room *room = &store->rooms[ROOM_READS];
    struct buffer *buffer = NULL;
    assert(!disk_is_reading(read));
    read->store = store;
    read->log = log_of(store, group);
    read->before = before;
    read->read = (struct log_read){
        .place = place,
        .key_size = (uint8_t)key_size,
        .value_size = value_size,
        .done = was_read,
    };
    if (size <= LARGE)
        buffer = buffer_make(&store->buffers, size);
    else if (room_fits(room, size) && !(buffer = room_take(room, size))) {
        read->wait.size = size;
        read->wait.granted = granted;
        room_wait(room, &read->wait);
        return true;
    }
    if (buffer)
        begin(read, buffer);
    return buffer;
}

bool disk_read(struct store *store, uint32_t group, struct log_place place, uint32_t key_size,
               uint32_t value_size, struct disk_read *read)
{
    return disk_read_wide(store, group, place, key_size, value_size, 0, 0, read);
}

void disk_cancel(struct store *store)
{
    struct value_room *room = &store->rooms[ROOM_READS];
    while (!list_is_empty(&room->waits)) {
        struct room_wait *wait = container_of(room->waits.next, struct room_wait, link);
        struct disk_read *read = container_of(wait, struct disk_read, wait);
        room_leave(wait);
        read->read.result = -ECANCELED;
        read->done(read);
    }
}

/* ---- custody ---- */

#define CUSTODY_SIZE (24 + 4 * KEEPERS_MAX)

static void custody_write(const struct custody *custody, uint64_t disk, uint8_t *bytes)
{
    struct writer out = writer_make(bytes, CUSTODY_SIZE);
    write_u64(&out, disk);
    write_u32(&out, custody->since);
    write_u32(&out, custody->ended);
    write_u32(&out, custody->hollow);
    write_u32(&out, custody->keeper_count);
    for (unsigned i = 0; i < KEEPERS_MAX; i++)
        write_u32(&out, custody->keepers[i]);
    assert(!out.failed && !out.left);
}

static bool custody_read(struct custody *custody, uint64_t *disk, const void *bytes, uint32_t size)
{
    struct reader in = reader_make(bytes, size);
    *disk = read_u64(&in);
    custody->since = read_u32(&in);
    custody->ended = read_u32(&in);
    custody->hollow = read_u32(&in);
    custody->keeper_count = read_u32(&in);
    for (unsigned i = 0; i < KEEPERS_MAX; i++)
        custody->keepers[i] = read_u32(&in);
    return !in.failed && !in.left && custody->keeper_count <= KEEPERS_MAX;
}

static void kept(void *owner, struct log_append *append)
{
    struct group *group = container_of(append, struct group, keep);
    struct store *store = group->store;
    if (append->result) {
        store_fail(store, append->result);
        return;
    }
    disk_put(store, &append->record, append->place);
    struct replica_world world = group_world(group);
    replica_kept(&group->replica, &world);
    confirm_keepers_changed(group);
    group_look(group);
}

void disk_keep(struct group *group)
{
    struct store *store = group->store;
    struct writer key = writer_make(group->keep_key, sizeof group->keep_key);
    write_u32(&key, group->number);
    group->custody_disk = views_disk(store->views);
    custody_write(&group->replica.next, group->custody_disk, group->keep_bytes);
    group->keep = (struct log_append){
        .record = {.kind = RECORD_VALUE,
                   .group = own_group(store),
                   .version = ++store->custody_version,
                   .key = group->keep_key,
                   .key_size = sizeof group->keep_key,
                   .value = group->keep_bytes,
                   .value_size = CUSTODY_SIZE,
                   .digest = digest_bytes(group->keep_bytes, CUSTODY_SIZE)},
        .urgent = true,
        .done = kept,
    };
    int result = log_append(store->log, &group->keep);
    if (result)
        store_fail(store, result);
}

/* ---- opening ---- */

void disk_begin(struct store *store)
{
    store->stage = STORE_OPENS_LOG;
    store->opening = true;
    int result = log_open(store->log);
    if (result) {
        store->opening = false;
        store_fail(store, result);
    }
}

void disk_check_custodies(struct store *store)
{
    for (int64_t i = 0; i < store->group_count; i++) {
        struct group *group = &store->groups[i];
        if (group->custody_disk != views_disk(store->views))
            group->replica.custody = (struct custody){0};
    }
}

/* All that this disk can say is known. */
static void open_views(struct store *store)
{
    if (store->lost) {
        store->lost = false;
        store->forgives = true;
        views_lose(store->views);
    }
    if (!views_roster(store->views)) {
        store->stage = STORE_OPENS_VIEWS;
        views_open(store->views);
        return;
    }
    disk_check_custodies(store);
    store->stage = STORE_RUNS;
    views_begin_again(store->views);
}

static void custody_was_read(struct disk_read *read);

/* Reads the custodies, one after the other. */
static void read_custodies(struct store *store)
{
    for (; store->custody_next < own_group(store); store->custody_next++) {
        uint8_t key[4];
        struct writer out = writer_make(key, sizeof key);
        write_u32(&out, store->custody_next);
        const struct index_entry *entry = disk_find(store, own_group(store), key, sizeof key);
        if (!entry)
            continue;
        store->custody_read.done = custody_was_read;
        store->custody_read.owner = store;
        if (!disk_read(store, own_group(store), disk_place(entry), entry->key_size,
                       entry->value_size, &store->custody_read))
            store_fail(store, -ENOMEM);
        return;
    }
    open_views(store);
}

static void custody_was_read(struct disk_read *read)
{
    struct store *store = read->owner;
    const struct record *record = &read->read.record;
    struct group *group = &store->groups[store->custody_next];
    int result = read->read.result;
    if (result == 0 && !custody_read(&group->replica.custody, &group->custody_disk, record->value,
                                     record->value_size))
        result = -EBADMSG;
    buffer_release(&store->buffers, read->buffer);
    read->buffer = NULL;
    if (store->stage != STORE_READS_CUSTODY)
        return;
    /* Its membership has ended, with the process or the failure after which this one begins. */
    if (group->space->in_memory)
        custody_forget(&group->replica.custody);
    if (result == -EBADMSG) {
        group->replica.custody = (struct custody){0};
        store->lost = true;
    } else if (result) {
        store_fail(store, result);
        return;
    }
    store->custody_next++;
    read_custodies(store);
}

static void on_memory_opened(void *owner, int result)
{
    struct store *store = owner;
    store->opening = false;
    if (result)
        store_fail(store, result);
    if (store->stage != STORE_OPENS_LOG)
        return;
    store->stage = STORE_READS_CUSTODY;
    read_custodies(store);
}

static void on_opened(void *owner, int result)
{
    struct store *store = owner;
    if (result == -EPROTO)
        store_refuse(store, result);
    if (!result && store->memory_log)
        result = log_open(store->memory_log);
    if (result || !store->memory_log)
        on_memory_opened(store, result);
}

const struct log_events disk_events = {
    .found = on_found,
    .opened = on_opened,
    .damaged = on_damaged,
    .live = on_live,
    .moved = on_moved,
    .failed = on_failed,
    .closed = failure_closed,
    .wake = on_wake,
    .pause = on_pause,
};

/* Its appends are done at once, so no sync gathers them. */
const struct log_events memory_events = {
    .found = on_found,
    .opened = on_memory_opened,
    .damaged = on_damaged,
    .live = on_live,
    .moved = on_moved,
    .failed = on_failed,
    .closed = failure_closed,
    .wake = on_memory_wake,
};
