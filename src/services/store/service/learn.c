/* learn: a server that is to be in sync gets what it lacks. The leader goes through the keys of the
 * group in their order: it asks the learner for a page of its keys and their versions, compares
 * them with its own, and sends the records that the learner lacks, one after the other. What
 * changes meanwhile comes to the learner in the chain. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include <errno.h>

#include "base/check.h"
#include "base/digest.h"

#define PATIENCE (2000 * MSEC) /* after that, a lesson begins again */

static struct index_key key_of(const struct letter_key *key)
{
    return (struct index_key){key->bytes, key->size};
}

/* The order of keys in the index. */
static int key_compare(struct index_key a, struct index_key b)
{
    uint32_t least = a.size < b.size ? a.size : b.size;
    int order = least ? memcmp(a.bytes, b.bytes, least) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static void key_set(struct letter_key *key, struct index_key from, uint64_t version)
{
    key->size = (uint8_t)from.size;
    if (from.size)
        memcpy(key->bytes, from.bytes, from.size);
    key->version = version;
}

static const struct index_entry *entry_after(const struct group *group, bool first,
                                             const struct letter_key *after)
{
    const struct index_key all = {NULL, 0}, key = key_of(after);
    return index_next(&group->store->index, group->number, first ? NULL : &key, all);
}

/* ---- the learner ---- */

static void fill_page(const struct group *group, struct letter *page, bool first,
                      const struct letter_key *after)
{
    const struct index_key all = {NULL, 0};
    const struct index_entry *entry = entry_after(group, first, after);
    page->key_count = 0;
    while (entry && page->key_count < LETTER_PAGE_KEYS) {
        struct index_key key = index_key_of(entry);
        key_set(&page->keys[page->key_count++], key, entry->version);
        entry = index_next(&group->store->index, group->number, &key, all);
    }
    page->last = !entry;
}

void lesson_asked(struct group *group, const struct letter *letter, uint32_t from)
{
    const struct replica *replica = &group->replica;
    if (letter->epoch != replica->epoch || replica->role != REPLICA_LEARNS ||
        replica->leader != from)
        return;
    if (letter->first) {
        group->copies_end = group->copies_failed = false;
        once_doubt(&group->store->once, group->number, store_version_before(replica->epoch));
    }
    struct letter *page = group->store->out;
    page->kind = LETTER_PAGE;
    page->epoch = replica->epoch;
    page->group = group->number;
    fill_page(group, page, letter->first, &letter->after);
    mail_send(group->store, from, page);
}

void lesson_ends(struct group *group, const struct replica_message *message)
{
    if (!replica_copies(&group->replica, message) || group->copies_failed)
        return;
    group->copies_end = true;
    lesson_look(group);
}

/* The leader does not remember this request: what the record here says has not happened. It may
 * still be there at the next start, so that is written down. */
static bool disown(struct group *group)
{
    uint32_t cursor = 0;
    struct outcome *outcome;
    while ((outcome = once_next(&group->store->once, group->number, &cursor))) {
        if (!outcome->doubtful || !outcome->superseded) /* the record of a key was compared */
            continue;
        const struct record record = {.kind = RECORD_DISOWNED,
                                      .group = group->number,
                                      .request = outcome->number,
                                      .client = outcome->client,
                                      .version = outcome->version,
                                      .key = "",
                                      .digest = digest_bytes(NULL, 0)};
        if (!change_copy(group, &record, NULL))
            return false;
        outcome->doubtful = false;
    }
    return true;
}

static void learner_look(struct group *group)
{
    if (!group->copies_end || group->copies)
        return;
    if (!disown(group) || group->copies) /* it goes on when they are durable */
        return;
    struct replica_world world = group_world(group);
    group->copies_end = false;
    replica_copied(&group->replica, &world);
}

/* ---- the leader ---- */

void lesson_begin(struct group *group, uint32_t server)
{
    struct lesson *lesson = &group->lesson;
    int64_t now = weft_now(group->store->self);
    lesson->runs = true;
    lesson->server = server;
    lesson->from = group->replica.received;
    lesson->first = true;
    lesson->over = lesson->asked = lesson->has_page = lesson->last = false;
    lesson->outcome = 0;
    lesson->compared = 0;
    lesson->page_count = lesson->page_at = 0;
    lesson->active_at = now;
    lesson_look(group);
}

static struct letter_key *page_of(const struct lesson *lesson)
{
    return (struct letter_key *)(void *)lesson->page->bytes;
}

void lesson_end(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    buffer_release(&group->store->buffers, lesson->page);
    lesson->page = NULL;
    lesson->runs = lesson->over = lesson->has_page = false;
    lesson->rewrites = 0;
}

static void say(struct group *group, enum letter_kind kind)
{
    struct lesson *lesson = &group->lesson;
    struct letter *letter = group->store->out;
    letter->kind = kind;
    letter->epoch = group->replica.epoch;
    letter->group = group->number;
    letter->first = lesson->first;
    letter->after = lesson->after;
    mail_send(group->store, lesson->server, letter);
}

/* What was to be copied cannot be read. It is fetched from another server. */
static void damaged(struct group *group, struct log_place place)
{
    struct store *store = group->store;
    const struct letter_key *key = &group->lesson.after;
    const struct index_entry *entry = disk_find(store, group->number, key->bytes, key->size);
    if (entry && entry->segment == place.segment && entry->offset == place.unit)
        (void)mend_record(store, group->number, entry);
    else
        scrub_alarm(store);
}

/* The lesson begins again later. */
static void lesson_wait(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    bool runs = lesson->runs;
    lesson_end(group);
    lesson->over = runs;
    lesson->active_at = weft_now(group->store->self);
}

static void copy_was_read(struct disk_read *read)
{
    struct group *group = read->owner;
    struct store *store = group->store;
    struct lesson *lesson = &group->lesson;
    if (lesson->runs && read->read.result == 0) {
        struct letter *letter = store->out;
        letter->record = read->read.record;
        if (lesson->is_superseded)
            record_supersede(&letter->record);
        letter->kind = LETTER_COPY;
        letter->epoch = group->replica.epoch;
        letter->group = group->number;
        mail_send_held(store, lesson->server, letter, read->buffer);
        /* A large one takes a while until the learner can say that it has it. */
        lesson->active_at =
            weft_now(store->self) + (int64_t)letter->record.value_size * LARGE_BYTE_NSEC;
        status_taught(store, read->read.record.key_size + (uint64_t)read->read.record.value_size);
    }
    buffer_release(&store->buffers, read->buffer);
    read->buffer = NULL;
    if (read->read.result == -EBADMSG) {
        damaged(group, read->read.place);
        lesson_wait(group);
    } else if (lesson->runs && read->read.result) { /* the log has moved it */
        lesson_begin(group, lesson->server);
    }
    lesson_look(group);
}

/* One of the two has the key. False: no memory, it is tried again later. */
static bool teach(struct group *group, struct index_key key, const struct index_entry *own,
                  uint64_t shown)
{
    struct lesson *lesson = &group->lesson;
    struct letter_key rewritten;
    switch (replica_compare(own ? own->version : 0, shown)) {
    case REPAIR_NONE:
        return true;
    case REPAIR_COPY:
        assert(own);
        lesson->read.done = copy_was_read;
        lesson->read.owner = group;
        lesson->is_superseded = false;
        return disk_read(group->store, group->number, disk_place(own), own->key_size,
                         own->value_size, &lesson->read);
    case REPAIR_REWRITE:
        key_set(&rewritten, key, shown);
        return serve_rewrite(group, &rewritten);
    }
    return true;
}

/* What requests have done. The learner has most of it, but cannot know which of its records were
 * never committed. False: that was all. */
static bool teach_outcome(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    struct store *store = group->store;
    if (STORE_HAS(OUTCOMES_UNTAUGHT))
        return false;
    const struct outcome *outcome = once_next(&store->once, group->number, &lesson->outcome);
    if (!outcome)
        return false;
    lesson->read.done = copy_was_read;
    lesson->read.owner = group;
    lesson->is_superseded = outcome->superseded;
    return disk_read(store, group->number, outcome->place, outcome->key_size, outcome->value_size,
                     &lesson->read);
}

/* Compares the next key of the page. False: the page is done. */
static bool compare_next(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    const struct index_entry *own = entry_after(group, lesson->first, &lesson->after);
    const struct letter_key *shown =
        lesson->page_at < lesson->page_count ? &page_of(lesson)[lesson->page_at] : NULL;
    if (own && !shown && STORE_HAS(LESSON_SHORT))
        return false;
    if (own && !shown && !lesson->last)
        own = NULL; /* belongs to the next page */
    if (!own && !shown)
        return false;
    int order = !own ? 1 : !shown ? -1 : key_compare(index_key_of(own), key_of(shown));
    struct index_key key = order <= 0 ? index_key_of(own) : key_of(shown);
    struct letter_key at;
    key_set(&at, key, 0);
    if (!teach(group, key, order <= 0 ? own : NULL, order >= 0 ? shown->version : 0))
        return false;
    lesson->after = at;
    lesson->first = false;
    lesson->page_at += order >= 0;
    lesson->compared += order <= 0;
    group->store->taught.records += order <= 0;
    status_taught(group->store, 0);
    return true;
}

static void finish(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    const struct replica_message message = {
        .kind = REPLICA_COPY, .epoch = group->replica.epoch, .from = group->store->here};
    lesson_end(group);
    lesson->over = true;
    group_say(group, lesson->server, &message);
}

static enum peer_stage stage_of(const struct group *group, uint32_t server)
{
    for (uint32_t i = 0; i < group->replica.peer_count; i++) {
        if (group->replica.peers[i].server == server)
            return group->replica.peers[i].stage;
    }
    return PEER_SYNCED;
}

/* Something may have been lost, or there was no memory. */
static void begin_again(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    bool late = weft_now(group->store->self) - lesson->active_at > PATIENCE;
    if ((lesson->runs || lesson->over) && late && !disk_is_reading(&lesson->read) &&
        !lesson->rewrites) {
        lesson_end(group);
        if (stage_of(group, lesson->server) == PEER_COPIES)
            lesson_begin(group, lesson->server);
    }
}

static void leader_look(struct group *group)
{
    struct lesson *lesson = &group->lesson;
    const struct store *store = group->store;
    begin_again(group);
    if (!lesson->runs || group->replica.position < lesson->from)
        return;
    while (lesson->runs && !lesson->asked && !disk_is_reading(&lesson->read) &&
           store->taught.tokens > 0) {
        if (lesson->has_page && compare_next(group))
            continue;
        bool compared = lesson->page_at == lesson->page_count;
        if (lesson->has_page && (!compared || disk_is_reading(&lesson->read)))
            return;
        if (lesson->has_page && lesson->last) {
            if (lesson->rewrites || entry_after(group, lesson->first, &lesson->after))
                return;
            if (!teach_outcome(group))
                finish(group);
            return;
        }
        lesson->asked = true;
        lesson->has_page = false;
        lesson->active_at = weft_now(group->store->self);
        say(group, LETTER_ASK_PAGE);
    }
}

void lesson_page(struct group *group, const struct letter *letter)
{
    struct lesson *lesson = &group->lesson;
    if (!lesson->runs || !lesson->asked || letter->epoch != group->replica.epoch ||
        letter->message.from != lesson->server)
        return;
    if (!lesson->page)
        lesson->page = buffer_make(&group->store->buffers, sizeof letter->keys);
    if (!lesson->page)
        return; /* it begins again later */
    lesson->asked = false;
    lesson->has_page = true;
    lesson->last = letter->last;
    lesson->page_count = letter->key_count;
    lesson->page_at = 0;
    lesson->active_at = weft_now(group->store->self);
    memcpy(page_of(lesson), letter->keys, letter->key_count * sizeof *letter->keys);
    lesson_look(group);
}

void lesson_look(struct group *group)
{
    if (group->replica.role == REPLICA_LEARNS)
        learner_look(group);
    else if (group->replica.role == REPLICA_LEADS)
        leader_look(group);
}
