/* scrub: a server reads all its records, one after the other, and has damaged ones mended (mend.c);
 * and a leader compares its groups with the other in-sync servers. It goes through the groups in
 * their order: first the records, then, if this server leads the group, the others.
 *
 * What is compared: if no write is under way, the digests of both indexes, at the same position of
 * the chain. If they differ, all keys that have a value, and their versions, in pages. Tombstones
 * are not compared, since each server forgets them when it has given their space back; nor is what
 * expires. A write may be under way then. So a leader looks only at versions that had been
 * committed when it asked for the page: all in-sync servers have those. */
#include "services/store/service/store_impl.h"

#include <errno.h>

#include "base/check.h"

#define ANSWER_NSEC (1000 * MSEC)
#define TRIES       5   /* to compare with a server */
#define STEP_KEYS   256 /* of its own that a leader compares at once */
#define BUSY_PART   8   /* while requests are under way, this part of the rate is left */

static struct index_key key_of(const struct letter_key *key)
{
    return (struct index_key){key->bytes, key->size};
}

static void key_set(struct letter_key *key, struct index_key from, store_version version)
{
    key->size = (uint8_t)from.size;
    if (from.size)
        memcpy(key->bytes, from.bytes, from.size);
    key->version = version;
}

static struct index_entry *entry_after(const struct store *store, uint32_t group, bool first,
                                       const struct letter_key *after)
{
    const struct index_key all = {NULL, 0}, key = key_of(after);
    return index_next(&store->index, group, first ? NULL : &key, all);
}

/* Does the entry count when groups are compared? */
static bool is_compared(const struct index_entry *entry)
{
    return entry->kind == INDEX_VALUE && entry->expiry == 0;
}

static struct group *group_at(struct store *store)
{
    return &store->groups[store->scrub.group];
}

/* ---- from one group to the next ---- */

static void next_group(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    scrub->group++;
    scrub->compares = false;
    scrub->first = true;
}

static void scrub_end(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    scrub->runs = false;
    scrub->ended_at = weft_now(store->self);
    /* All records that are needed could be read, or are at another place now. */
    if (scrub->repairs && !scrub->counts.lost && !store->forgives)
        disk_forgive(store);
}

/* ---- records ---- */

static void go_on(struct store *store);

static void was_read(struct disk_read *read)
{
    struct store *store = read->owner;
    struct scrub *scrub = &store->scrub;
    int result = read->read.result;
    buffer_release(&store->buffers, read->buffer);
    read->buffer = NULL;
    if (!scrub->runs || store->stage != STORE_RUNS)
        return;
    const struct letter_key *key = &scrub->after;
    const struct index_entry *entry = disk_find(store, scrub->group, key->bytes, key->size);
    bool stays = entry && entry->version == key->version &&
                 disk_place(entry).segment == read->read.place.segment &&
                 disk_place(entry).unit == read->read.place.unit;
    scrub->counts.records += result == 0;
    if (stays && result == -EBADMSG) {
        scrub->counts.damaged++;
        scrub->counts.open++;
        if (scrub->repairs && scrub->group == (uint64_t)store->group_count)
            disk_lose(store); /* a custody: no other server has it */
        else if (scrub->repairs && !mend_record(store, scrub->group, entry))
            scrub_alarm(store); /* too many at once */
    }
    go_on(store);
}

/* False: there is no record left, or no memory at present. */
static bool read_next(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    const struct index_entry *entry = entry_after(store, scrub->group, scrub->first, &scrub->after);
    if (!entry) {
        scrub->compares = true;
        scrub->peer = 0;
        scrub->server = WEFT_NOBODY;
        return true;
    }
    struct letter_key at;
    key_set(&at, index_key_of(entry), entry->version);
    scrub->read.done = was_read;
    scrub->read.owner = store;
    if (!disk_read(store, scrub->group, disk_place(entry), entry->key_size, entry->value_size,
                   &scrub->read))
        return false;
    uint64_t size = (uint64_t)RECORD_HEAD + entry->key_size + entry->value_size;
    scrub->after = at;
    scrub->first = false;
    scrub->tokens -= (int64_t)size;
    scrub->counts.bytes += size;
    return true;
}

/* ---- comparing: the leader ---- */

static bool is_quiet(const struct group *group)
{
    const struct replica *replica = &group->replica;
    return list_is_empty(&group->changes) && replica->received == replica->position;
}

static void ask(struct store *store, enum letter_kind kind)
{
    struct scrub *scrub = &store->scrub;
    const struct group *group = group_at(store);
    struct letter *letter = store->out;
    letter->kind = kind;
    letter->epoch = group->replica.epoch;
    letter->group = group->number;
    letter->first = scrub->page_first;
    letter->after = scrub->page_after;
    letter->round = ++scrub->turn;
    if (kind == LETTER_COMPARE)
        letter->round = is_quiet(group) ? group->replica.position : 0;
    letter->ticket = index_digest(&store->index, group->number);
    scrub->asked = kind;
    scrub->asked_at = weft_now(store->self);
    scrub->limit = group->replica.committed;
    scrub->epoch = group->replica.epoch;
    mail_send(store, scrub->server, letter);
}

static void next_peer(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    scrub->peer++;
    scrub->server = WEFT_NOBODY;
    scrub->asked = 0;
}

/* False: an answer is awaited. */
static bool compare_next(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    const struct group *group = group_at(store);
    const struct replica *replica = &group->replica;
    if (!replica_serves(replica) || scrub->peer >= replica->peer_count) {
        next_group(store);
        return true;
    }
    const struct replica_peer *peer = &replica->peers[scrub->peer];
    if (scrub->server == WEFT_NOBODY) {
        if (peer->server == store->here || peer->stage != PEER_SYNCED) {
            next_peer(store);
            return true;
        }
        scrub->server = peer->server;
        scrub->tries = 0;
        scrub->page_first = true;
        ask(store, LETTER_COMPARE);
        return false;
    }
    if (scrub->epoch != replica->epoch) { /* in another view there are other servers */
        scrub->peer = 0;
        scrub->server = WEFT_NOBODY;
        return true;
    }
    if (weft_now(store->self) - scrub->asked_at < ANSWER_NSEC)
        return false;
    if (++scrub->tries >= TRIES || peer->server != scrub->server) {
        scrub->counts.skipped++;
        next_peer(store);
        return true;
    }
    ask(store, scrub->asked);
    return false;
}

static bool is_awaited(const struct store *store, weft_server from, const struct letter *letter,
                       enum letter_kind asked)
{
    const struct scrub *scrub = &store->scrub;
    return scrub->runs && scrub->compares && scrub->asked == asked && scrub->server == from &&
           letter->group == scrub->group && letter->epoch == scrub->epoch &&
           store->groups[letter->group].replica.epoch == scrub->epoch;
}

static void compared(struct store *store, weft_server from, const struct letter *letter)
{
    struct scrub *scrub = &store->scrub;
    if (!is_awaited(store, from, letter, LETTER_COMPARE))
        return;
    if (letter->last) {
        store->compared++;
        next_peer(store);
    } else {
        scrub->page_first = true;
        ask(store, LETTER_ASK_VALUES);
    }
    go_on(store);
}

/* The follower shows this version of a key, 0: none. The entry of this server may be NULL. */
static void compare_key(struct store *store, const struct index_entry *own, store_version shown)
{
    struct scrub *scrub = &store->scrub;
    const struct group *group = group_at(store);
    store_version version = own ? own->version : 0;
    bool has_value = own && own->kind == INDEX_VALUE;
    if (shown == version || version > scrub->limit || shown > scrub->limit)
        return;
    if (!has_value && !shown)
        return;
    /* The key may have been removed, and forgotten, since. */
    if (!own && group->replica.committed != scrub->limit)
        return;
    scrub->counts.differing++;
    store->differing++;
    bool can = version > shown && scrub->repairs;
    if (can && !mend_give(store, scrub->server, scrub->group, own))
        can = false;
    scrub->counts.evened += can;
}

static int key_compare(struct index_key a, struct index_key b)
{
    uint32_t least = a.size < b.size ? a.size : b.size;
    int order = least ? memcmp(a.bytes, b.bytes, least) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

/* Returns whether all of the page was compared; page_after is the last key that was. */
static bool compare_page(struct store *store, const struct letter *letter)
{
    struct scrub *scrub = &store->scrub;
    uint32_t at = 0;
    for (uint32_t steps = 0; steps < STEP_KEYS; steps++) {
        const struct letter_key *shown = at < letter->key_count ? &letter->keys[at] : NULL;
        struct index_entry *own =
            entry_after(store, scrub->group, scrub->page_first, &scrub->page_after);
        if (!shown && (!own || !letter->last))
            return true;
        int order = !own ? 1 : !shown ? -1 : key_compare(index_key_of(own), key_of(shown));
        struct letter_key key;
        key_set(&key, order <= 0 ? index_key_of(own) : key_of(shown), 0);
        /* A tombstone here, or a value that expires, is compared only with what is shown. */
        if (order >= 0)
            compare_key(store, order == 0 ? own : NULL, shown->version);
        else if (is_compared(own))
            compare_key(store, own, 0);
        scrub->page_after = key;
        scrub->page_first = false;
        at += order >= 0;
    }
    return false;
}

static void page_shown(struct store *store, weft_server from, const struct letter *letter)
{
    /* An answer to an earlier question may be older than what has been committed since. */
    if (!is_awaited(store, from, letter, LETTER_ASK_VALUES) || letter->round != store->scrub.turn)
        return;
    bool whole = compare_page(store, letter);
    if (!whole || !letter->last) {
        ask(store, LETTER_ASK_VALUES);
    } else {
        store->compared++;
        next_peer(store);
    }
    go_on(store);
}

/* ---- comparing: the others ---- */

static bool follows(const struct group *group, weft_server from, const struct letter *letter)
{
    const struct replica *replica = &group->replica;
    return replica->role == REPLICA_FOLLOWS && replica->leader == from &&
           letter->epoch == replica->epoch;
}

static void asked_digest(struct store *store, weft_server from, const struct letter *letter)
{
    const struct group *group = &store->groups[letter->group];
    uint64_t position = letter->round, digest = letter->ticket;
    if (!follows(group, from, letter))
        return;
    struct letter *answer = store->out;
    answer->kind = LETTER_COMPARED;
    answer->epoch = group->replica.epoch;
    answer->group = group->number;
    answer->last = position && position == group->replica.position && is_quiet(group) &&
                   digest == index_digest(&store->index, group->number);
    mail_send(store, from, answer);
}

static void asked_page(struct store *store, weft_server from, const struct letter *letter)
{
    const struct group *group = &store->groups[letter->group];
    if (!follows(group, from, letter))
        return;
    struct letter *page = store->out;
    bool first = letter->first;
    struct letter_key after = letter->after;
    struct index_entry *entry = entry_after(store, group->number, first, &after);
    page->key_count = 0;
    while (entry && page->key_count < LETTER_PAGE_KEYS) {
        /* A removal that is under way is shown, too: what it replaces is not missing. */
        if (is_compared(entry) || entry->version > group->replica.committed)
            key_set(&page->keys[page->key_count++], index_key_of(entry), entry->version);
        key_set(&after, index_key_of(entry), 0);
        entry = entry_after(store, group->number, false, &after);
    }
    page->kind = LETTER_VALUES;
    page->round = letter->round;
    page->epoch = group->replica.epoch;
    page->group = group->number;
    page->last = !entry;
    mail_send(store, from, page);
}

void scrub_letter(struct store *store, weft_server from, const struct letter *letter,
                  struct buffer *holder)
{
    switch (letter->kind) {
    case LETTER_FETCH:
        mend_asked(store, from, letter);
        break;
    case LETTER_MEND:
        mend_arrived(store, letter, holder);
        break;
    case LETTER_COMPARE:
        asked_digest(store, from, letter);
        break;
    case LETTER_COMPARED:
        compared(store, from, letter);
        break;
    case LETTER_ASK_VALUES:
        asked_page(store, from, letter);
        break;
    case LETTER_VALUES:
        page_shown(store, from, letter);
        break;
    default:
        assert_unreachable();
    }
}

/* ---- when, and how fast ---- */

static void go_on(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    while (scrub->runs && !disk_is_reading(&scrub->read) && scrub->tokens > 0 &&
           store->mending < MENDS_MAX / 2) {
        if (scrub->group > (uint64_t)store->group_count)
            break; /* all was read; what is mended may still be on its way */
        bool own = scrub->group == (uint64_t)store->group_count; /* custodies */
        if (scrub->compares && own)
            next_group(store);
        else if (!(scrub->compares ? compare_next(store) : read_next(store)))
            break;
    }
    if (scrub->runs && scrub->group > (uint64_t)store->group_count && !store->mending)
        scrub_end(store);
}

void scrub_begin(struct store *store, uint64_t number, bool repairs)
{
    struct scrub *scrub = &store->scrub;
    if (store->stage != STORE_RUNS || (number && scrub->number == number))
        return;
    scrub->runs = true;
    scrub->repairs = repairs;
    scrub->alarmed = false;
    scrub->number = number;
    scrub->group = 0;
    scrub->compares = false;
    scrub->first = true;
    scrub->counts = (struct scrub_counts){0};
}

void scrub_stop(struct store *store)
{
    store->scrub.runs = false;
    store->scrub.number = 0;
    mend_forget(store);
}

void scrub_alarm(struct store *store)
{
    store->scrub.alarmed = true;
}

static bool is_due(const struct store *store, int64_t now)
{
    const struct scrub *scrub = &store->scrub;
    int64_t since = scrub->ended_at ? scrub->ended_at : store->began_at;
    return scrub->alarmed || now - since >= store->scrub_every;
}

void scrub_tick(struct store *store)
{
    struct scrub *scrub = &store->scrub;
    int64_t now = weft_now(store->self), passed = now - scrub->at;
    scrub->at = now;
    if (store->stage != STORE_RUNS)
        return;
    mend_tick(store);
    if (!scrub->runs && is_due(store, now) && views_is_member(store->views))
        scrub_begin(store, 0, true);
    if (!scrub->runs)
        return;
    double rate = (double)store->scrub_rate / (store->ops.used ? BUSY_PART : 1);
    int64_t most = (int64_t)store->scrub_rate / 10 + 1;
    scrub->tokens += (int64_t)(rate * (double)passed / 1e9);
    if (scrub->tokens > most)
        scrub->tokens = most;
    go_on(store);
}
