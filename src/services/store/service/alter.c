/* alter: the values that requests write, and the records of them. */
#include <stdio.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/digest.h"
#include "services/store/service/serve_impl.h"

#define CHANGES_MOST 256 /* of a group, under way at once */

/* The holder, which may be NULL, has the value. */
static void write_record(struct op *op, const struct record *record, struct buffer *holder)
{
    struct group *group = op->group;
    if (group->changes_count >= CHANGES_MOST || !change_make(group, record, holder, &op->version))
        op_refuse(op, STORE_BUSY);
    else
        op->stage = OP_WRITES;
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
void op_remove(struct op *op)
{
    struct group *group = op->group;
    const struct record record = {
        .kind = RECORD_TOMBSTONE,
        .group = group->number,
        .key = op->request.key,
        .key_size = (uint8_t)op->request.key_size,
        .digest = digest_bytes(NULL, 0),
    };
    op->removes = true;
    write_record(op, &record, NULL);
}

/* ---- changing ---- */

/* The holder, which may be NULL, has the value. */
void op_write(struct op *op, enum record_kind kind, const void *value, uint32_t size,
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
    bool is_new = kind == RECORD_VALUE && !op->found && index_is_tight(&group->store->index);
    if (is_new || (log_is_full(group->log) && kind != RECORD_TOMBSTONE))
        op_refuse(op, STORE_FULL);
    else
        write_record(op, &record, holder);
}

/* What the leader alone remembers ends with it. Another copy of the request, which another leader
 * gets then, would be done, although its program was told that it was not. Like a change, this
 * takes as many copies as a request needs to be done. */
void op_write_refusal(struct op *op)
{
    const struct group *group = op->group;
    uint8_t value[REFUSAL_SIZE];
    if (group_in_sync(group) < group_least(group)) {
        op_refuse(op, STORE_UNAVAILABLE);
        return;
    }
    value_refusal_write(&op->answer, value);
    op_write(op, RECORD_REFUSED, value, sizeof value, NULL);
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

void op_too_large(struct op *op)
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
    if (sum > group_value_max(op->group)) {
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
void op_change(struct op *op, const void *value, uint32_t size)
{
    const struct store_request *request = &op->request;
    switch (request->op) {
    case STORE_PUT:
        op->expiry = expiry_of(op);
        if (request->value_size > group_value_max(op->group))
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

bool op_needs_value(const struct op *op)
{
    return op->request.op >= STORE_INCR;
}

/* For sure, before the value is read. */
bool op_grows_too_large(const struct op *op)
{
    uint64_t least = op->value_size > REWRITTEN_HEAD ? op->value_size - REWRITTEN_HEAD : 0;
    return least + op->request.value_size > group_value_max(op->group);
}

/* ---- writing again ---- */

void op_rewrite(struct op *op, const struct record *part)
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
