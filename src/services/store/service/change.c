/* change: what a group writes. The leader makes changes and sends them; all in-sync servers and
 * learners append them to their logs, in the order of their versions. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include <errno.h>

#include "base/check.h"
#include "base/digest.h"

static void change_end(struct change *change)
{
    struct store *store = change->group->store;
    if (!change->copies) {
        list_remove(&change->link);
        change->group->changes_count--;
    }
    mail_drop(store, &change->mail);
    pool_give(&store->changes, change);
}

static struct change *change_at(struct list *link)
{
    return container_of(link, struct change, link);
}

/* ---- durable ---- */

/* Tells the replica how far the chain is durable. */
static void advance(struct group *group)
{
    store_version durable = group->replica.position;
    list_each(&group->changes, link)
    {
        const struct change *change = change_at(link);
        if (!change->durable)
            break;
        durable = change->version;
    }
    /* A server that has retired since then has no position any more. */
    if (durable > group->replica.position && durable <= group->replica.received) {
        struct replica_world world = group_world(group);
        replica_stored(&group->replica, &world, durable);
    }
    change_look(group);
    group_look(group);
}

void change_look(struct group *group)
{
    const struct replica *replica = &group->replica;
    bool leads = replica->role == REPLICA_LEADS;
    list_each(&group->changes, link)
    {
        struct change *change = change_at(link);
        /* A server that retires cuts the chain: what it stored last does not belong to it. */
        bool belongs = change->version <= replica->received;
        if (!change->durable || (belongs && change->version > replica->position) ||
            (leads && change->version > replica->committed))
            return;
        change_end(change);
    }
}

void change_forget(struct group *group)
{
    list_each(&group->changes, link)
    {
        if (change_at(link)->durable)
            change_end(change_at(link));
    }
}

static void copy_is_durable(struct change *change)
{
    struct group *group = change->group;
    change_end(change);
    group->copies--;
    group_look(group);
}

static void appended(void *owner, struct log_append *append)
{
    struct store *store = owner;
    struct change *change = container_of(append, struct change, append);
    if (append->result) {
        change->group->copies -= change->copies;
        store_fail(store, append->result);
        change_end(change);
        return;
    }
    store->pause = 0;
    disk_put(store, &append->record, append->place);
    if (change->copies) {
        copy_is_durable(change);
        return;
    }
    change->durable = true;
    advance(change->group);
}

static void append(struct change *change, const struct record *record)
{
    struct store *store = change->group->store;
    change->append = (struct log_append){.record = *record, .urgent = true, .done = appended};
    int result = log_append(change->group->log, &change->append);
    if (result) {
        change->append.result = result;
        appended(store, &change->append);
    }
}

/* ---- the leader ---- */

static void fill_letter(struct group *group, struct letter *letter, const struct record *record)
{
    letter->kind = LETTER_WRITE;
    letter->epoch = group->replica.epoch;
    letter->group = group->number;
    letter->record = *record;
}

/* The record as it is in the letter. */
static struct record sent_record(struct store *store, const struct dispatch *mail,
                                 const struct record *record, store_version version)
{
    const struct buffer *head = mail->head;
    struct record own = *record;
    own.version = version;
    if (mail->holder) {
        own.key = head->bytes + head->size - record->key_size;
        return own;
    }
    bool sense = letter_read(store->in, store->here, head->bytes + FRAME, head->size - FRAME);
    assert(sense);
    return store->in->record;
}

bool change_make(struct group *group, const struct record *record, struct buffer *holder,
                 store_version *version)
{
    struct store *store = group->store;
    struct letter *letter = store->out;
    /* The other half is for what other leaders send. That ends as soon as it is durable, so two
     * servers never wait for each other. */
    bool has_room = store->changes.used < store->changes.room / 2;
    struct change *change = has_room ? pool_take(&store->changes) : NULL;
    fill_letter(group, letter, record);
    if (!change)
        return false;
    if (!mail_room(store, letter, holder, &change->mail)) {
        pool_give(&store->changes, change);
        return false;
    }
    struct replica_world world = group_world(group);
    group->target_count = 0;
    *version = replica_write(&group->replica, &world);
    if (group->target_count == 0)
        group->target_message = (struct replica_message){
            .kind = REPLICA_WRITE, .epoch = group->replica.epoch, .from = store->here};
    letter->message = group->target_message;
    letter->message.version = *version;
    letter->record.version = *version;
    mail_fill(&change->mail, letter);
    change->group = group;
    change->version = *version;
    list_append(&group->changes, &change->link);
    group->changes_count++;
    for (uint32_t i = 0; i < group->target_count; i++) {
        if (!mail_post(store, group->targets[i], &change->mail))
            group->resends |= server_bit(group->targets[i]);
    }
    const struct record own = sent_record(store, &change->mail, record, *version);
    append(change, &own);
    return true;
}

bool change_resend(struct group *group, uint32_t server)
{
    const struct replica *replica = &group->replica;
    store_version stored = 0;
    bool sent = true;
    for (uint32_t i = 0; i < replica->peer_count; i++) {
        if (replica->peers[i].server == server)
            stored = replica->peers[i].stored;
    }
    list_each(&group->changes, link)
    {
        if (sent && change_at(link)->version > stored)
            sent = mail_post(group->store, server, &change_at(link)->mail);
    }
    const struct replica_message committed = {.kind = REPLICA_COMMITTED,
                                              .epoch = replica->epoch,
                                              .from = replica->server,
                                              .version = replica->committed};
    if (replica->committed)
        group_say(group, server, &committed);
    return sent;
}

/* ---- what a former leader had, and another one lacks ---- */

static void replay_next(struct replay *replay);

/* A change that the other server lacks. */
struct lacking {
    store_version version; /* 0: there is none */
    struct log_place place;
    uint32_t key_size, value_size;
    bool superseded; /* it has changed a key that was changed again */
};

/* Of two the earlier one. */
static void find_earlier(struct lacking *found, const struct lacking *other, store_version from)
{
    if (other->version > from && (!found->version || other->version < found->version))
        *found = *other;
}

static struct lacking find_next(const struct group *group, store_version from)
{
    const struct store *store = group->store;
    struct lacking found = {0};
    const struct index_key all = {NULL, 0};
    struct index_key after;
    const struct index_entry *entry = index_next(&store->index, group->number, NULL, all);
    while (entry) {
        find_earlier(&found,
                     &(struct lacking){entry->version, disk_place(entry), entry->key_size,
                                       entry->value_size, false},
                     from);
        after = index_key_of(entry);
        entry = index_next(&store->index, group->number, &after, all);
    }
    uint32_t cursor = 0;
    const struct outcome *outcome;
    while ((outcome = once_next(&store->once, group->number, &cursor))) {
        if (outcome->superseded)
            find_earlier(&found,
                         &(struct lacking){outcome->version, outcome->place, outcome->key_size,
                                           outcome->value_size, true},
                         from);
    }
    return found;
}

static void replay_end(struct replay *replay)
{
    struct store *store = replay->group->store;
    buffer_release(&store->buffers, replay->read.buffer);
    replay->group->replaying &= ~server_bit(replay->server);
    pool_give(&store->replays, replay);
}

static void replay_send(struct replay *replay, const struct record *record, store_version version,
                        struct buffer *holder)
{
    struct group *group = replay->group;
    struct letter *letter = group->store->out;
    const struct record none = {0};
    fill_letter(group, letter, record ? record : &none);
    if (record && replay->superseded)
        record_supersede(&letter->record);
    letter->message = (struct replica_message){.kind = REPLICA_WRITE,
                                               .epoch = replay->epoch,
                                               .from = group->store->here,
                                               .version = version,
                                               .previous = replay->from};
    letter->record.version = version;
    mail_send_held(group->store, replay->server, letter, holder);
    if (letter->record.value_size > LARGE) /* it takes a while until the answer can come */
        group->replay_after =
            weft_now(group->store->self) + (int64_t)letter->record.value_size * LARGE_BYTE_NSEC;
    replay->from = version;
}

static void replay_was_read(struct disk_read *read)
{
    struct replay *replay = container_of(read, struct replay, read);
    struct store *store = replay->group->store;
    if (read->read.result == 0 && replay->group->replica.epoch == replay->epoch)
        replay_send(replay, &read->read.record, read->read.record.version, read->buffer);
    buffer_release(&store->buffers, read->buffer);
    read->buffer = NULL;
    if (read->read.result == -EBADMSG)
        disk_lose(store);
    if (read->read.result)
        replay_end(replay); /* the leader asks again */
    else
        replay_next(replay);
}

static void replay_next(struct replay *replay)
{
    struct group *group = replay->group;
    if (group->replica.epoch != replay->epoch || replay->from >= replay->until) {
        replay_end(replay);
        return;
    }
    const struct lacking next = find_next(group, replay->from);
    if (!next.version || next.version > replay->until) {
        /* A removed key was the last one, and that is forgotten here. */
        replay_send(replay, NULL, replay->until, NULL);
        replay_end(replay);
        return;
    }
    replay->superseded = next.superseded;
    replay->read.done = replay_was_read;
    if (!disk_read(group->store, group->number, next.place, next.key_size, next.value_size,
                   &replay->read))
        replay_end(replay);
}

void change_replay(struct group *group, uint32_t server, store_version from)
{
    struct store *store = group->store;
    if (server == store->here || (group->replaying & server_bit(server)) ||
        weft_now(store->self) < group->replay_after)
        return;
    struct replay *replay = pool_take(&store->replays);
    if (!replay)
        return;
    replay->group = group;
    replay->server = server;
    replay->epoch = group->replica.epoch;
    replay->from = from;
    replay->until = group->replica.position;
    group->replaying |= server_bit(server);
    replay_next(replay);
}

/* ---- what comes from a leader ---- */

bool change_copy(struct group *group, const struct record *record, struct buffer *holder)
{
    struct change *change = pool_take(&group->store->changes);
    if (!change)
        return false;
    change->group = group;
    change->copies = true;
    change->mail.head = holder ? buffer_hold(holder) : NULL;
    group->copies++;
    append(change, record);
    return true;
}

static void take_copy(struct group *group, const struct letter *letter, struct buffer *holder)
{
    struct store *store = group->store;
    const struct record *record = &letter->record;
    const struct index_entry *entry =
        disk_find(store, group->number, record->key, record->key_size);
    bool newer = entry && entry->version >= record->version;
    if (group->replica.role != REPLICA_LEARNS || letter->epoch != group->replica.epoch)
        return;
    struct outcome *known = once_find(&store->once, record->client, record->request & ~REWRITTEN);
    bool noted = record->client == 0 || (known && known->version == record->version);
    if (known && noted)
        known->doubtful = false;
    if ((newer || !record_is_of_key(record)) && noted)
        return;
    group->copies_failed |= !change_copy(group, record, holder);
}

static void take_write(struct group *group, const struct letter *letter, struct buffer *holder)
{
    struct store *store = group->store;
    struct replica *replica = &group->replica;
    const struct replica_message *message = &letter->message;
    if (!replica_accept(replica, message)) {
        bool known = message->epoch == replica->epoch && message->version <= replica->position &&
                     replica->role != REPLICA_LEADS;
        struct replica_world world = group_world(group);
        if (known)
            replica_stored(replica, &world, replica->position); /* the answer was lost */
        return;
    }
    struct change *change = pool_take(&store->changes);
    assert(change); /* mail.c waits for one */
    change->group = group;
    change->version = message->version;
    change->mail.head = buffer_hold(holder);
    list_append(&group->changes, &change->link);
    group->changes_count++;
    if (letter->record.kind) {
        append(change, &letter->record);
        struct replica_world world = group_world(group);
        if (STORE_HAS(STORED_EARLY))
            replica_stored(replica, &world, message->version);
    } else {
        change->durable = true;
        advance(group);
    }
}

void change_arrives(struct group *group, const struct letter *letter, struct buffer *holder)
{
    if (letter->kind == LETTER_COPY)
        take_copy(group, letter, holder);
    else
        take_write(group, letter, holder);
}
