/* serve: requests at the leader of their group. Requests for one key take turns: one that changes
 * it waits until the change before it is committed. What was found out about a key is told only
 * when it is sure that this server still leads (confirm.c). */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "services/store/service/placement.h"

#define CHANGES_MOST 256 /* of a group, under way at once */

static struct op *op_at(struct list *link)
{
    return container_of(link, struct op, link);
}

static bool has_key(const struct op *op, const struct store_request *request)
{
    return op->request.key_size == request->key_size &&
           memcmp(op->request.key, request->key, request->key_size) == 0;
}

/* ---- the end ---- */

static void op_free(struct op *op)
{
    struct store *store = op->group->store;
    assert(!disk_is_reading(&op->read));
    join_cancel(&op->join);
    buffer_release(&store->buffers, op->join.buffer);
    list_remove(&op->link);
    if (op->rewrites && op->group->lesson.rewrites)
        op->group->lesson.rewrites--;
    if (op->sweeps)
        store->sweep.removals--;
    buffer_release(&store->buffers, op->holder);
    pool_give(&store->ops, op);
}

static void reply(struct op *op, const struct store_answer *answer)
{
    struct store *store = op->group->store;
    struct letter *letter = store->out;
    uint8_t head[STORE_HEAD_MAX];
    if (op->origin == WEFT_NOBODY)
        return;
    store->answered++;
    if (op->origin == store->here) {
        ask_answered(store, op->ticket, answer, store->found);
        return;
    }
    letter->kind = LETTER_ANSWER;
    letter->epoch = op->group->replica.epoch;
    letter->group = op->group->number;
    letter->ticket = op->ticket;
    letter->bytes = head;
    letter->size = (uint32_t)store_answer_write_head(answer, head, sizeof head);
    letter->tail = answer->value;
    letter->tail_size = answer->value_size;
    mail_send_held(store, op->origin, letter, store->found);
}

static void op_end(struct op *op, const struct store_answer *answer)
{
    reply(op, answer);
    op_free(op);
}

static void op_refuse(struct op *op, enum store_status status)
{
    op_end(op, &(struct store_answer){.status = status});
}

/* The answer is true as long as this server leads. */
static void op_confirm(struct op *op, const struct store_answer *answer)
{
    op->answer = *answer;
    op->stage = OP_CONFIRMS;
    op->round = confirm_ask(op->group);
    if (op->request.op == STORE_GET && STORE_HAS(READ_UNCONFIRMED))
        op->round = 0;
    if (op->request.op != STORE_GET && STORE_HAS(REFUSAL_UNCONFIRMED))
        op->round = 0;
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
    if (!disk_read_wide(op->group->store, op->place, op->request.key_size, op->value_size,
                        added(op, purpose, STORE_PREPEND), added(op, purpose, STORE_APPEND),
                        &op->read))
        op_refuse(op, STORE_BUSY);
}

static void read_release(struct op *op)
{
    buffer_release(&op->group->store->buffers, op->read.buffer);
    op->read.buffer = NULL;
}

/* ---- time to live ---- */

/* When what the request writes expires. */
static int64_t expiry_of(const struct op *op)
{
    int64_t wall = weft_wall(op->group->store->self), expiry;
    if (!op->request.ttl)
        return 0;
    if (__builtin_add_overflow(wall, (int64_t)op->request.ttl, &expiry))
        return INT64_MAX;
    return expiry > 0 ? expiry : 1;
}

/* The key has expired by this server's clock. Other clocks show something else, so it is not absent
 * before its removal is committed, as if a client had deleted this version. Then the request begins
 * again. */
static void op_remove(struct op *op)
{
    struct group *group = op->group;
    const struct record record = {
        .kind = RECORD_TOMBSTONE,
        .group = group->number,
        .key = op->request.key,
        .key_size = (uint8_t)op->request.key_size,
        .digest = digest_bytes(NULL, 0),
    };
    if (group->changes_count >= CHANGES_MOST || !change_make(group, &record, NULL, &op->version)) {
        op_refuse(op, STORE_BUSY);
        return;
    }
    op->stage = OP_WRITES;
    op->removes = true;
}

/* ---- changing ---- */

/* The holder, which may be NULL, has the value. */
static void op_write(struct op *op, enum record_kind kind, const void *value, uint32_t size,
                     struct buffer *holder)
{
    struct group *group = op->group;
    struct record record = {
        .kind = kind,
        .group = group->number,
        .flags = op->request.flags,
        .request = op->request.number,
        .client = op->request.client,
        .expiry = kind == RECORD_VALUE ? op->expiry : 0,
        .key = op->request.key,
        .key_size = (uint8_t)op->request.key_size,
        .value = value,
        .value_size = size,
        .digest = large_digest(holder, value, size),
    };
    struct log_counts counts;
    log_count(group->store->log, &counts);
    bool is_new = !op->found && index_is_tight(&group->store->index);
    if ((counts.full || is_new) && kind == RECORD_VALUE)
        op_refuse(op, STORE_FULL);
    else if (group->changes_count >= CHANGES_MOST ||
             !change_make(group, &record, holder, &op->version))
        op_refuse(op, STORE_BUSY);
    else
        op->stage = OP_WRITES;
}

static void op_count(struct op *op, const void *value, uint32_t size)
{
    const struct store_request *request = &op->request;
    uint64_t number = 0;
    char text[24];
    bool sense = value_number(value, size, &number);
    if (sense && request->op == STORE_INCR && number > UINT64_MAX - request->delta)
        sense = false;
    if (!sense) {
        op_confirm(op, &(struct store_answer){.status = STORE_NOT_NUMBER, .version = op->visible});
        return;
    }
    if (request->op == STORE_INCR)
        op->sum = number + request->delta;
    else
        op->sum = number > request->delta ? number - request->delta : 0;
    op->has_sum = true;
    int length = snprintf(text, sizeof text, "%llu", (unsigned long long)op->sum);
    op_write(op, RECORD_VALUE, text, (uint32_t)length, NULL);
}

static void op_too_large(struct op *op)
{
    op_confirm(op, &(struct store_answer){.status = STORE_TOO_LARGE, .version = op->visible});
}

static void op_joined(struct join *join)
{
    struct op *op = container_of(join, struct op, join);
    struct buffer *buffer = join->buffer;
    struct group *group = op->group;
    join->buffer = NULL;
    group->turn += op->rewrites || op->request.op != STORE_GET;
    op_write(op, RECORD_VALUE, buffer->bytes + join->at, join->size, buffer);
    buffer_release(&group->store->buffers, buffer);
    serve_look(group);
}

/* Writes a large value that begins there in the record's buffer; so many bytes from `from` are
 * copied there first. */
static void op_join_large(struct op *op, const uint8_t *value, uint32_t size, const uint8_t *to,
                          const void *from, uint32_t left)
{
    struct buffer *buffer = buffer_hold(op->group->store->found);
    op->stage = OP_JOINS;
    op->join.buffer = buffer;
    op->join.at = (uint32_t)(value - buffer->bytes);
    op->join.size = size;
    op->join.to = (uint32_t)(to - buffer->bytes);
    op->join.from = from;
    op->join.left = left;
    op->join.done = op_joined;
    join_begin(op->group->store, &op->join);
}

static void op_join(struct op *op, const void *value, uint32_t size)
{
    struct store *store = op->group->store;
    const struct store_request *request = &op->request;
    const uint8_t *begin = value;
    uint32_t more = request->value_size;
    uint64_t sum = (uint64_t)size + more;
    bool after = request->op == STORE_APPEND;
    if (sum > store->value_max) {
        op_too_large(op);
        return;
    }
    if (store->found->order == BUFFER_LARGE) { /* op_read has left room for them */
        op_join_large(op, after ? begin : begin - more, (uint32_t)sum,
                      after ? begin + size : begin - more, request->value, more);
        return;
    }
    struct buffer *joined = buffer_make(&store->buffers, (uint32_t)sum);
    if (!joined) {
        op_refuse(op, STORE_BUSY);
        return;
    }
    if (size)
        memcpy(joined->bytes + (after ? 0 : more), value, size);
    if (more)
        memcpy(joined->bytes + (after ? size : 0), request->value, more);
    op_write(op, RECORD_VALUE, joined->bytes, (uint32_t)sum, NULL);
    buffer_release(&store->buffers, joined);
}

/* With the present value, if the request needs it. */
static void op_change(struct op *op, const void *value, uint32_t size)
{
    const struct store_request *request = &op->request;
    switch (request->op) {
    case STORE_PUT:
        op->expiry = expiry_of(op);
        if (request->value_size > op->group->store->value_max)
            op_too_large(op);
        else
            op_write(op, RECORD_VALUE, request->value, request->value_size, op->holder);
        break;
    case STORE_TOUCH:
        op->expiry = expiry_of(op);
        if (op->group->store->found->order == BUFFER_LARGE)
            op_join_large(op, value, size, value, NULL, 0);
        else
            op_write(op, RECORD_VALUE, value, size, NULL);
        break;
    case STORE_DELETE:
        op_write(op, RECORD_TOMBSTONE, NULL, 0, NULL);
        break;
    case STORE_INCR:
    case STORE_DECR:
        op_count(op, value, size);
        break;
    case STORE_APPEND:
    case STORE_PREPEND:
        op_join(op, value, size);
        break;
    case STORE_GET:
        assert(!"a change");
    }
}

static bool needs_value(const struct op *op)
{
    return op->request.op >= STORE_INCR;
}

/* For sure, before the value is read. */
static bool grows_too_large(const struct op *op)
{
    uint64_t least = op->value_size > REWRITTEN_HEAD ? op->value_size - REWRITTEN_HEAD : 0;
    return least + op->request.value_size > op->group->store->value_max;
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
        op_end(op, &(struct store_answer){.status = outcome->status, .version = outcome->seen});
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
    } else if (group_in_sync(group) < (uint64_t)group->store->least) {
        op_refuse(op, STORE_UNAVAILABLE);
    } else if (needs_value(op) && grows_too_large(op)) {
        op_too_large(op);
    } else if (needs_value(op)) {
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

/* Another copy of the request must not be done after this answer. */
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
    if (op->request.op != STORE_GET)
        note_refusal(op);
    op_end(op, &op->answer);
}

static void op_rewrite(struct op *op, const struct record *part)
{
    struct store *store = op->group->store;
    const uint8_t *begin = part->value;
    uint32_t size = part->value_size + REWRITTEN_HEAD;
    bool large = store->found->order == BUFFER_LARGE;
    struct buffer *value = large ? NULL : buffer_make(&store->buffers, size);
    if (!value && !large) {
        op_refuse(op, STORE_BUSY);
        return;
    }
    op->request.client = part->client;
    op->request.number = part->request | REWRITTEN;
    op->request.flags = part->flags;
    op->expiry = part->expiry;
    if (large) { /* where the key is, which is not needed any more */
        uint8_t *head = store->found->bytes + (begin - store->found->bytes);
        struct writer out = writer_make(head - REWRITTEN_HEAD, REWRITTEN_HEAD);
        write_u64(&out, part->version);
        op_join_large(op, head - REWRITTEN_HEAD, size, head, NULL, 0);
        return;
    }
    struct writer out = writer_make(value->bytes, REWRITTEN_HEAD);
    write_u64(&out, part->version);
    if (part->value_size)
        memcpy(value->bytes + REWRITTEN_HEAD, part->value, part->value_size);
    op_write(op, RECORD_VALUE, value->bytes, value->size, NULL);
    buffer_release(&store->buffers, value);
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
        op_refuse(op, STORE_UNAVAILABLE);
        disk_lose(group->store);
    } else { /* the log has moved it */
        read_release(op);
        op_run(op);
    }
    serve_look(group);
}

/* ---- requests ---- */

static void retry(struct store *store, weft_server origin, uint64_t ticket, uint32_t group,
                  weft_server server)
{
    if (origin == store->here) {
        ask_retry(store, ticket, server);
        return;
    }
    struct letter *letter = store->out;
    letter->kind = LETTER_RETRY;
    letter->epoch = views_roster(store->views)->epoch;
    letter->group = group;
    letter->ticket = ticket;
    letter->server = server;
    mail_send(store, origin, letter);
}

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

void serve_request(struct store *store, weft_server origin, uint64_t ticket,
                   const struct store_request *request, uint32_t epoch, struct buffer *holder)
{
    uint32_t number =
        placement_group(request->key, request->key_size, (uint32_t)store->group_count);
    struct group *group = &store->groups[number];
    if (!replica_serves(&group->replica) || group->replica.epoch != epoch) {
        retry(store, origin, ticket, number, group_leader(group));
        return;
    }
    struct op *op = find_same(group, request);
    if (op) { /* the answer goes to the one who asked last */
        op->origin = origin;
        op->ticket = ticket;
        op->request.again |= request->again;
        return;
    }
    op = pool_take(&store->ops);
    if (!op) {
        retry(store, origin, ticket, number, WEFT_NOBODY);
        return;
    }
    op->group = group;
    op->holder = buffer_hold(holder);
    op->origin = origin;
    op->ticket = ticket;
    op->request = *request;
    list_append(&group->ops, &op->link);
    op_run(op);
    serve_look(group);
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
            retry(group->store, op->origin, op->ticket, group->number, WEFT_NOBODY);
        op->origin = WEFT_NOBODY;
        room_leave(&op->read.wait);
        if (op->read.buffer)
            op->gone = true;
        else
            op_free(op);
    }
}
