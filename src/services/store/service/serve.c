/* serve: requests at the leader of their group. Requests for one key take turns: one that changes
 * it waits until the change before it is committed. What was found out about a key is told only
 * when it is sure that this server still leads (confirm.c). */
#include "services/store/planted.h"
#include "services/store/service/serve_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "services/store/service/placement.h"

static struct op *op_at(struct list *link)
{
    return container_of(link, struct op, link);
}

static bool has_key(const struct op *op, const struct store_request *request)
{
    return op->request.key_size == request->key_size &&
           memcmp(op->request.key, request->key, request->key_size) == 0;
}

/* ---- reading ---- */

static void op_run(struct op *op);
static void op_was_read(struct disk_read *read);

/* Bytes that are added before the value that is read, or behind it. */
static uint32_t added(const struct op *op, enum op_purpose purpose, enum store_op where)
{
    return purpose == FOR_VALUE && op->request.op == where ? op->request.value_size : 0;
}

static void op_read(struct op *op, enum op_purpose purpose)
{
    op->stage = OP_READS;
    op->purpose = purpose;
    op->read.done = op_was_read;
    op->read.owner = op;
    if (!disk_read_wide(op->group->store, op->group->number, op->place, op->request.key_size,
                        op->value_size, added(op, purpose, STORE_PREPEND),
                        added(op, purpose, STORE_APPEND), &op->read))
        op_refuse(op, STORE_BUSY);
}

static void read_release(struct op *op)
{
    buffer_release(&op->group->store->buffers, op->read.buffer);
    op->read.buffer = NULL;
}

/* ---- the conditions ---- */

/* False: what is there is not committed yet. */
static bool look_at_key(struct op *op)
{
    const struct store_request *request = &op->request;
    struct group *group = op->group;
    store_version found = op->found;
    const struct index_entry *entry =
        disk_find(group->store, group->number, request->key, request->key_size);
    op->found = entry ? entry->version : 0;
    op->found_value = disk_has_value(entry);
    op->expired = op->found_value && expiry_has_passed(group->store, entry);
    if (op->expired && STORE_HAS(EXPIRY_UNCOMMITTED))
        op->found_value = op->expired = false;
    if (!entry || !disk_is_rewritten(entry))
        op->visible = op->found;
    else if (op->found != found)
        op->visible = 0;
    op->place = entry ? disk_place(entry) : (struct log_place){0};
    op->value_size = entry ? entry->value_size : 0;
    if (request->op != STORE_GET && STORE_HAS(CONDITION_UNCOMMITTED))
        return true;
    return replica_reads(&group->replica, op->found);
}

static bool condition_holds(const struct op *op)
{
    switch (op->request.condition) {
    case STORE_IF_ABSENT:
        return !op->found_value;
    case STORE_IF_PRESENT:
        return op->found_value;
    case STORE_IF_VERSION:
        return op->found_value && op->visible == op->request.version;
    case STORE_ALWAYS:
        break;
    }
    return true;
}

static bool changes(const struct op *op)
{
    return op->request.op != STORE_GET || op->removes;
}

/* Is a change of the same key under way, or the same request? */
static bool must_wait(const struct op *op)
{
    list_each(&op->group->ops, link)
    {
        const struct op *other = op_at(link);
        if (other == op || !changes(other))
            continue;
        if (op->request.client && other->request.client == op->request.client &&
            other->request.number == op->request.number && other->stage != OP_WAITS)
            return true;
        if (!STORE_HAS(CONDITION_UNCOMMITTED) &&
            (other->stage == OP_WRITES || other->stage == OP_READS || other->stage == OP_JOINS) &&
            has_key(other, &op->request))
            return true;
    }
    return false;
}

/* Does the request do the same whether the key is there or not? */
static bool is_blind(const struct store_request *request)
{
    return request->op == STORE_PUT && request->condition == STORE_ALWAYS;
}

/* The request has come before, and this is what it did. */
static void op_repeat(struct op *op, const struct outcome *outcome)
{
    if (outcome->version == 0) {
        op_confirm(op, &(struct store_answer){.status = outcome->status, .version = outcome->seen});
        return;
    }
    if (outcome->version > op->group->replica.committed)
        return; /* it waits */
    op->found = outcome->version;
    op->place = outcome->place;
    op->value_size = outcome->value_size;
    op_read(op, FOR_OUTCOME);
}

static void op_run_change(struct op *op)
{
    const struct store_request *request = &op->request;
    struct group *group = op->group;
    if (must_wait(op))
        return;
    const struct outcome *outcome =
        once_find(&group->store->once, request->client, request->number);
    if (outcome && !op->rewrites) {
        op_repeat(op, outcome);
        return;
    }
    if (!op->rewrites &&
        once_is_over(&group->store->once, request->client, group->number, request->number)) {
        op_free(op); /* a copy that comes late, or has waited; its program has its answer */
        return;
    }
    if (!look_at_key(op))
        return;
    if (op->rewrites) {
        if (op->found_value)
            op_read(op, FOR_REWRITE);
        else
            op_write(op, RECORD_TOMBSTONE, NULL, 0, NULL);
        return;
    }
    if ((request->again && op->found && !op->checked) || (op->found_value && !op->visible)) {
        op_read(op, FOR_CHECK);
        return;
    }
    if (op->expired && !is_blind(request)) {
        op_remove(op);
    } else if (!condition_holds(op)) {
        uint64_t version = op->found_value ? op->visible : 0;
        op_confirm(op, &(struct store_answer){.status = STORE_CONFLICT, .version = version});
    } else if (request->op != STORE_PUT && !op->found_value) {
        op_confirm(op, &(struct store_answer){.status = STORE_ABSENT});
    } else if (group_in_sync(group) < group_least(group)) {
        op_refuse(op, STORE_UNAVAILABLE);
    } else if (op_needs_value(op) && op_grows_too_large(op)) {
        op_too_large(op);
    } else if (op_needs_value(op)) {
        op_read(op, FOR_VALUE);
    } else {
        op_change(op, NULL, 0);
    }
}

static void op_run_get(struct op *op)
{
    if (!look_at_key(op) || (op->expired && must_wait(op)))
        return;
    if (op->expired)
        op_remove(op);
    else if (op->sweeps)
        op_free(op);
    else
        op_confirm(op, &(struct store_answer){.status = op->found_value ? STORE_DONE : STORE_ABSENT,
                                              .version = op->found_value ? op->visible : 0});
}

/* Begins, or begins again. */
static void op_run(struct op *op)
{
    op->stage = OP_WAITS;
    if (op->request.op == STORE_GET)
        op_run_get(op);
    else
        op_run_change(op);
}

/* ---- what was awaited ---- */

/* The request can still be sent again after this answer, if that is lost. */
static void note_refusal(const struct op *op)
{
    struct store *store = op->group->store;
    once_note(&store->once, &(struct outcome){
                                .client = op->request.client,
                                .number = op->request.number,
                                .group = op->group->number,
                                .status = op->answer.status,
                                .seen = op->answer.version,
                                .at = weft_now(store->self),
                            });
}

static void op_confirmed(struct op *op)
{
    if (op->request.op == STORE_GET && op->answer.status == STORE_DONE) {
        op_read(op, FOR_ANSWER);
        return;
    }
    if (op_has_copies(op)) { /* one has come meanwhile */
        op_write_refusal(op);
        return;
    }
    if (op->request.op != STORE_GET)
        note_refusal(op);
    op_end(op, &op->answer);
}

static void op_answer_record(struct op *op, const struct record *part)
{
    op_end(op, &(struct store_answer){.status = STORE_DONE,
                                      .flags = part->flags,
                                      .version = part->version,
                                      .ttl = expiry_left(op->group->store, part->expiry),
                                      .value = part->value,
                                      .value_size = part->value_size});
}

static void op_answer_outcome(struct op *op, const struct record *part)
{
    struct record outcome = *part;
    struct store_answer refusal;
    if (part->kind == RECORD_REFUSED) {
        if (value_refusal_read(part, &refusal))
            op_end(op, &refusal);
        else
            op_refuse(op, STORE_UNAVAILABLE);
        return;
    }
    if (op->request.op != STORE_INCR && op->request.op != STORE_DECR)
        outcome.value_size = 0;
    outcome.flags = 0;
    outcome.expiry = 0;
    op_answer_record(op, &outcome);
}

static void op_was_checked(struct op *op, const struct record *part)
{
    op->checked = true;
    op->visible = part->version;
    if (op->request.again && part->client == op->request.client &&
        part->request == op->request.number)
        op_answer_outcome(op, part); /* it is committed: look_at_key has seen that */
    else
        op_run(op);
}

/* The right record was read. */
static void op_go_on(struct op *op, const struct record *record)
{
    const struct record part = value_visible(record);
    switch (op->purpose) {
    case FOR_ANSWER:
        op_answer_record(op, &part);
        break;
    case FOR_CHECK:
        op_was_checked(op, &part);
        break;
    case FOR_OUTCOME:
        op_answer_outcome(op, &part);
        break;
    case FOR_VALUE:
        op->request.flags = part.flags;
        op->expiry = part.expiry;
        op_change(op, part.value, part.value_size);
        break;
    case FOR_REWRITE:
        op_rewrite(op, &part);
        break;
    }
}

static void op_was_read(struct disk_read *read)
{
    struct op *op = read->owner;
    struct group *group = op->group;
    const struct record *record = &read->read.record;
    group->turn += op->request.op != STORE_GET; /* what waits for it can perhaps go on */
    if (op->gone) {
        read_release(op);
        op_free(op);
    } else if (read->read.result == 0 && record->version == op->found) {
        struct buffer *buffer = read->buffer;
        read->buffer = NULL;
        group->store->found = buffer;
        op_go_on(op, record);
        group->store->found = NULL;
        buffer_release(&group->store->buffers, buffer);
    } else if (read->read.result == -EBADMSG) {
        read_release(op);
        mend_key(group->store, group->number, &op->request, op->found, op->place);
        op_refuse(op, STORE_UNAVAILABLE);
    } else { /* the log has moved it */
        read_release(op);
        if (replica_serves(&group->replica))
            op_run(op);
        else
            op_pass(op);
    }
    serve_look(group);
}

/* ---- requests ---- */

/* The same request, which waits or is under way. Requests that wait long are sent again; if each of
 * them was done separately, there would be ever more of them. */
static struct op *find_same(struct group *group, const struct store_request *request)
{
    list_each(&group->ops, link)
    {
        struct op *op = op_at(link);
        if (op->request.client == request->client && op->request.number == request->number &&
            !op->rewrites && !op->gone && has_key(op, request))
            return op;
    }
    return NULL;
}

/* A request of a program. NULL: there is no memory. */
static struct op *op_make(struct group *group, weft_server origin, uint64_t ticket,
                          const struct store_request *request, struct buffer *holder)
{
    struct op *op = pool_take(&group->store->ops);
    if (!op)
        return NULL;
    op->group = group;
    op->holder = buffer_hold(holder);
    op->origin = origin;
    op->ticket = ticket;
    op->request = *request;
    list_append(&group->ops, &op->link);
    return op;
}

void serve_request(struct store *store, weft_server origin, uint64_t ticket,
                   const struct store_request *request, uint32_t epoch, struct buffer *holder)
{
    struct group *group = group_of(store, request->key, request->key_size);
    if (!replica_serves(&group->replica) || group->replica.epoch != epoch) {
        op_retry(store, origin, ticket, group->number, group_leader(group));
        return;
    }
    struct op *op = find_same(group, request);
    if (op) { /* the answer goes to the one who asked last */
        op->origin = origin;
        op->ticket = ticket;
        op->request.again |= request->again;
        return;
    }
    op = op_make(group, origin, ticket, request, holder);
    if (!op) {
        op_retry(store, origin, ticket, group->number, WEFT_NOBODY);
        return;
    }
    op_run(op);
    serve_look(group);
}

bool serve_own(struct store *store, uint64_t ticket, const struct store_request *request,
               struct buffer *holder)
{
    struct group *group = group_of(store, request->key, request->key_size);
    if (request->op != STORE_GET || group->replica.role != REPLICA_FOLLOWS || store->lease == 0)
        return false;
    struct op *op = op_make(group, store->here, ticket, request, holder);
    if (!op)
        return false;
    bool clean = look_at_key(op) || STORE_HAS(DIRTY_SHOWN);
    if (!clean || op->expired || !confirm_holds(group)) {
        op_free(op);
        return false;
    }
    store->reads_own++;
    if (op->found_value)
        op_read(op, FOR_ANSWER);
    else
        op_refuse(op, STORE_ABSENT);
    return true;
}

/* A request that the group itself makes. NULL: there is no memory. */
static struct op *op_of_group(struct group *group, enum store_op kind, const struct letter_key *key)
{
    struct store *store = group->store;
    struct op *op = pool_take(&store->ops);
    struct buffer *holder = op ? buffer_make(&store->buffers, key->size) : NULL;
    if (!holder) {
        if (op)
            pool_give(&store->ops, op);
        return NULL;
    }
    memcpy(holder->bytes, key->bytes, key->size);
    op->group = group;
    op->holder = holder;
    op->origin = WEFT_NOBODY;
    op->request = (struct store_request){.op = kind, .key = holder->bytes, .key_size = key->size};
    list_append(&group->ops, &op->link);
    return op;
}

bool serve_rewrite(struct group *group, const struct letter_key *key)
{
    struct op *op = op_of_group(group, STORE_PUT, key);
    if (!op)
        return false;
    op->rewrites = true;
    group->lesson.rewrites++;
    op_run(op);
    return true;
}

bool serve_sweep(struct group *group, const struct letter_key *key)
{
    struct op *op = op_of_group(group, STORE_GET, key);
    if (!op)
        return false;
    op->sweeps = true;
    group->store->sweep.removals++;
    op_run(op);
    return true;
}

static void op_committed(struct op *op)
{
    char text[24];
    if (op->removes) {
        op->group->store->expired++;
        op->removes = false;
        op_run(op);
        return;
    }
    if (op->answer.status != STORE_DONE) {
        op_end(op, &op->answer);
        return;
    }
    struct store_answer answer = {.status = STORE_DONE, .version = op->version};
    if (op->has_sum) {
        answer.value = text;
        answer.value_size =
            (uint32_t)snprintf(text, sizeof text, "%llu", (unsigned long long)op->sum);
    }
    op_end(op, &answer);
}

/* One that can go on; NULL: there is none. */
static struct op *find_ready(struct group *group)
{
    const struct replica *replica = &group->replica;
    list_each(&group->ops, link)
    {
        struct op *op = op_at(link);
        if ((op->stage == OP_WRITES && op->version <= replica->committed) ||
            (op->stage == OP_CONFIRMS && op->round <= group->confirmed))
            return op;
    }
    return NULL;
}

/* One that waits, and was not tried since something changed. */
static struct op *find_waiting(struct group *group)
{
    list_each(&group->ops, link)
    {
        struct op *op = op_at(link);
        if (op->stage == OP_WAITS && op->turn != group->turn)
            return op;
    }
    return NULL;
}

void serve_look(struct group *group)
{
    struct op *op;
    if (!replica_serves(&group->replica))
        return;
    while ((op = find_ready(group))) {
        group->turn++;
        if (op->stage == OP_WRITES)
            op_committed(op);
        else
            op_confirmed(op);
    }
    while ((op = find_waiting(group))) {
        op->turn = group->turn;
        op_run(op);
    }
}

void serve_forget(struct group *group)
{
    list_each(&group->ops, link)
    {
        struct op *op = op_at(link);
        if (op->origin != WEFT_NOBODY)
            op_retry(group->store, op->origin, op->ticket, group->number, WEFT_NOBODY);
        op->origin = WEFT_NOBODY;
        room_leave(&op->read.wait);
        if (op->read.buffer)
            op->gone = true;
        else
            op_free(op);
    }
}
