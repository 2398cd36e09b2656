/* mend: records that the disk of a server has damaged, fetched from other servers one by one.
 *
 * The index says which key and which version the record had. A version is never used for two
 * records, so whichever server still has a record of that key and version has the same one: with it
 * this server has again what it had before. Nothing else changes: neither what it has reported, nor
 * its custody. Until then it reads nothing older in place of the record; it cannot answer.
 *
 * A leader also sends in-sync servers the records that these lack (scrub.c). */
#include "services/store/service/store_impl.h"

#include <errno.h>

#define AGAIN_NSEC (200 * MSEC) /* without an answer, the next server is asked */
#define ROUNDS     5            /* so often all servers are asked */

static struct index_entry *entry_of(const struct mend *mend)
{
    return disk_find(mend->store, mend->group, mend->key.bytes, mend->key.size);
}

static struct mend *find(struct store *store, uint32_t group, const void *key, uint32_t size,
                         store_version version, weft_server to)
{
    for (uint32_t i = 0; i < MENDS_MAX; i++) {
        struct mend *mend = &store->mends[i];
        if (mend->store && mend->to == to && mend->group == group && mend->key.version == version &&
            mend->key.size == size && memcmp(mend->key.bytes, key, size) == 0)
            return mend;
    }
    return NULL;
}

static struct mend *add(struct store *store, uint32_t group, const void *key, uint32_t size,
                        store_version version)
{
    for (uint32_t i = 0; i < MENDS_MAX; i++) {
        struct mend *mend = &store->mends[i];
        if (mend->store)
            continue;
        *mend = (struct mend){.store = store, .group = group, .to = WEFT_NOBODY};
        mend->key.size = (uint8_t)size;
        mend->key.version = version;
        if (size)
            memcpy(mend->key.bytes, key, size);
        store->mending++;
        return mend;
    }
    return NULL;
}

/* The damaged record was fetched, or is not needed any more. */
static void solved(struct store *store)
{
    store->scrub.counts.open -= store->scrub.counts.open > 0;
}

static void mend_end(struct mend *mend)
{
    if (disk_is_reading(&mend->read)) {
        mend->gone = true;
        return;
    }
    mend->store->mending--;
    mend->store = NULL;
}

/* ---- fetching ---- */

/* The server to ask at that turn; WEFT_NOBODY: this one, or a number that is asked twice. */
static weft_server candidate(const struct group *group, uint32_t turn)
{
    const struct replica *replica = &group->replica;
    weft_server server;
    if (turn < group->order_count)
        server = group->order[turn];
    else if (turn - group->order_count < replica->custody.keeper_count)
        server = replica->custody.keepers[turn - group->order_count];
    else
        server = replica->peers[turn - group->order_count - replica->custody.keeper_count].server;
    return server == group->store->here ? WEFT_NOBODY : server;
}

static uint32_t candidate_count(const struct group *group)
{
    return group->order_count + group->replica.custody.keeper_count + group->replica.peer_count;
}

static void ask(struct mend *mend)
{
    struct store *store = mend->store;
    const struct group *group = &store->groups[mend->group];
    uint32_t count = candidate_count(group);
    if (mend->turn >= ROUNDS * count) { /* also if there is no other server */
        store->scrub.counts.lost++;
        mend_end(mend);
        return;
    }
    weft_server server = candidate(group, mend->turn++ % count);
    if (server == WEFT_NOBODY)
        return;
    mend->again_at = weft_now(store->self) + AGAIN_NSEC;
    struct letter *letter = store->out;
    letter->kind = LETTER_FETCH;
    letter->epoch = group->replica.epoch;
    letter->group = mend->group;
    letter->after = mend->key;
    mail_send(store, server, letter);
}

bool mend_record(struct store *store, uint32_t group, const struct index_entry *entry)
{
    if (group >= (uint64_t)store->group_count)
        return false;
    if (find(store, group, entry->key, entry->key_size, entry->version, WEFT_NOBODY))
        return true;
    struct mend *mend = add(store, group, entry->key, entry->key_size, entry->version);
    if (mend)
        mend->place = disk_place(entry);
    return mend != NULL;
}

void mend_key(struct store *store, uint32_t group, const struct store_request *request,
              store_version version, struct log_place place)
{
    const struct index_entry *entry = disk_find(store, group, request->key, request->key_size);
    if (entry && entry->version == version && entry->segment == place.segment &&
        entry->offset == place.unit)
        (void)mend_record(store, group, entry);
    else
        disk_lose(store);
}

void mend_arrived(struct store *store, const struct letter *letter, struct buffer *holder)
{
    const struct record *record = &letter->record;
    struct group *group = &store->groups[letter->group];
    struct mend *mend =
        find(store, letter->group, record->key, record->key_size, record->version, WEFT_NOBODY);
    const struct index_entry *entry =
        disk_find(store, letter->group, record->key, record->key_size);
    const struct replica *replica = &group->replica;
    bool lacks = (!entry || entry->version < record->version) && replica->role == REPLICA_FOLLOWS &&
                 letter->epoch == replica->epoch && letter->message.from == replica->leader;
    bool is_same = entry && entry->version == record->version &&
                   (entry->kind == INDEX_TOMBSTONE) == (record->kind == RECORD_TOMBSTONE);
    bool mends = mend && is_same && disk_place(entry).segment == mend->place.segment &&
                 disk_place(entry).unit == mend->place.unit;
    if (!lacks && !mends)
        return;
    if (!change_copy(group, record, holder))
        return; /* there is no memory: it is asked for again */
    store->scrub.counts.mended++;
    store->mended++;
    if (mends)
        solved(store);
    if (mend)
        mend_end(mend);
}

/* ---- giving ---- */

static void send_record(struct store *store, weft_server to, uint32_t group,
                        const struct record *record, struct buffer *holder)
{
    struct letter *letter = store->out;
    letter->kind = LETTER_MEND;
    letter->epoch = store->groups[group].replica.epoch;
    letter->group = group;
    letter->record = *record;
    mail_send_held(store, to, letter, holder);
}

static void was_read(struct disk_read *read)
{
    struct mend *mend = read->owner;
    struct store *store = mend->store;
    const struct index_entry *entry = entry_of(mend);
    bool stays = entry && entry->version == mend->key.version;
    if (read->read.result == 0 && stays && read->read.record.version == entry->version)
        send_record(store, mend->to, mend->group, &read->read.record, read->buffer);
    buffer_release(&store->buffers, read->buffer);
    read->buffer = NULL;
    uint32_t group = mend->group;
    bool damaged = stays && read->read.result == -EBADMSG && !mend->gone;
    mend_end(mend); /* if it was not sent, it is asked for again */
    if (damaged)
        (void)mend_record(store, group, entry);
}

bool mend_give(struct store *store, weft_server to, uint32_t group, const struct index_entry *entry)
{
    if (find(store, group, entry->key, entry->key_size, entry->version, to))
        return true;
    struct mend *mend = NULL;
    if (store->mending < MENDS_MAX / 4 * 3) /* the rest is for records that this server lacks */
        mend = add(store, group, entry->key, entry->key_size, entry->version);
    if (!mend)
        return false;
    mend->to = to;
    mend->read.done = was_read;
    mend->read.owner = mend;
    if (disk_read(store, mend->group, disk_place(entry), entry->key_size, entry->value_size,
                  &mend->read))
        return true;
    mend_end(mend);
    return false;
}

void mend_asked(struct store *store, weft_server from, const struct letter *letter)
{
    const struct letter_key *key = &letter->after;
    const struct index_entry *entry = disk_find(store, letter->group, key->bytes, key->size);
    if (entry && entry->version == key->version)
        (void)mend_give(store, from, letter->group, entry);
}

/* ---- again and again ---- */

void mend_tick(struct store *store)
{
    int64_t now = weft_now(store->self);
    for (uint32_t i = 0; store->mending && i < MENDS_MAX; i++) {
        struct mend *mend = &store->mends[i];
        if (!mend->store || mend->to != WEFT_NOBODY || now < mend->again_at)
            continue;
        const struct index_entry *entry = entry_of(mend);
        bool stays = entry && entry->version == mend->key.version &&
                     disk_place(entry).segment == mend->place.segment &&
                     disk_place(entry).unit == mend->place.unit;
        if (stays) {
            ask(mend);
        } else {
            solved(store); /* it was replaced */
            mend_end(mend);
        }
    }
}

void mend_forget(struct store *store)
{
    for (uint32_t i = 0; i < MENDS_MAX; i++) {
        if (store->mends[i].store && !store->mends[i].gone)
            mend_end(&store->mends[i]);
    }
}
