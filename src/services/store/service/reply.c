/* reply: how a request at the leader ends: with an answer, or it goes on at another server. */
#include "services/store/planted.h"
#include "services/store/service/serve_impl.h"

#include "base/check.h"

void op_free(struct op *op)
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

void op_end(struct op *op, const struct store_answer *answer)
{
    reply(op, answer);
    op_free(op);
}

void op_refuse(struct op *op, enum store_status status)
{
    op_end(op, &(struct store_answer){.status = status});
}

bool op_has_copies(const struct op *op)
{
    return op->request.op != STORE_GET && op->request.again && !STORE_HAS(REFUSAL_FORGOTTEN);
}

void op_confirm(struct op *op, const struct store_answer *answer)
{
    op->answer = *answer;
    if (op_has_copies(op)) {
        op_write_refusal(op);
        return;
    }
    op->stage = OP_CONFIRMS;
    op->round = confirm_ask(op->group);
    if (op->request.op == STORE_GET && STORE_HAS(READ_UNCONFIRMED))
        op->round = 0;
    if (op->request.op != STORE_GET && STORE_HAS(REFUSAL_UNCONFIRMED))
        op->round = 0;
}

/* ---- another server ---- */

void op_retry(struct store *store, weft_server origin, uint64_t ticket, uint32_t group,
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

/* Another server has to answer it. */
void op_pass(struct op *op)
{
    struct group *group = op->group;
    op_retry(group->store, op->origin, op->ticket, group->number, group_leader(group));
    op_free(op);
}
