/* ask: requests of programs on this server. Each goes to the server that leads the key's group, and
 * is sent again, to the server that leads then, until there is an answer or the program's patience
 * is over. */
#include "services/store/planted.h"
#include "services/store/service/store_impl.h"

#include "base/check.h"
#include "services/store/service/placement.h"

#define AGAIN_NSEC (500 * MSEC) /* without an answer */
#define SOON_NSEC  (20 * MSEC)  /* when it is not known which server leads */
#define SHORT_NSEC (50 * MSEC)  /* when there were too few copies */
#define TURNS      4            /* how often a request goes on at once from server to server */
#define INDEX_BITS 16           /* of a ticket */
#define AGAIN_BIT  (UINT64_C(1) << INDEX_BITS)

static struct ask *ask_at(struct list *link)
{
    return container_of(link, struct ask, link);
}

/* An answer may come after this server was started again: it must not be taken for that to another
 * request. So tickets are not used again by a later process, as far as chance allows. A bit says
 * whether it is the ticket of a copy that says that it comes again. */
static uint64_t ticket_of(const struct ask *ask)
{
    uint64_t again = ask->request.again ? AGAIN_BIT : 0;
    return ask->name << (INDEX_BITS + 1) | again | ask->index;
}

static struct ask *find(struct store *store, uint64_t ticket)
{
    uint32_t index = ticket & ((1u << INDEX_BITS) - 1);
    if (index >= store->asks.fresh)
        return NULL;
    struct ask *ask = (struct ask *)(void *)(store->asks.memory + index * store->asks.size);
    return (ticket_of(ask) | AGAIN_BIT) == (ticket | AGAIN_BIT) && ask->holder ? ask : NULL;
}

static void ask_end(struct store *store, struct ask *ask)
{
    list_remove(&ask->link);
    buffer_release(&store->buffers, ask->holder);
    ask->holder = NULL;
    pool_give(&store->asks, ask);
}

/* ---- sending ---- */

/* How long a large value may be on its way before it is sent again. */
static int64_t way_of(const struct ask *ask)
{
    uint32_t size = ask->request.value_size;
    return size > LARGE ? (int64_t)size * LARGE_BYTE_NSEC : 0;
}

weft_server ask_leader(const struct group *group)
{
    if (group->hint != WEFT_NOBODY)
        return group->hint;
    return group->order_count ? group->order[0] : WEFT_NOBODY;
}

static void send(struct store *store, struct ask *ask, weft_server to)
{
    int64_t now = weft_now(store->self);
    const struct roster *roster = views_roster(store->views);
    ask->to = to;
    ask->again_at = now + (to == WEFT_NOBODY ? SOON_NSEC : AGAIN_NSEC + way_of(ask));
    if (to == WEFT_NOBODY || !views_is_member(store->views))
        return;
    if (to != store->here && serve_own(store, ticket_of(ask), &ask->request, ask->holder))
        return;
    ask->was_repeated |= ask->was_sent;
    ask->request.again |= ask->was_sent;
    ask->was_sent = true;
    if (to == store->here) {
        serve_request(store, store->here, ticket_of(ask), &ask->request, roster->epoch,
                      ask->holder);
        return;
    }
    uint8_t head[STORE_HEAD_MAX];
    struct letter *letter = store->out;
    letter->kind = LETTER_REQUEST;
    letter->epoch = roster->epoch;
    letter->group = ask->group->number;
    letter->ticket = ticket_of(ask);
    letter->bytes = head;
    letter->size = (uint32_t)store_request_write_head(&ask->request, head, sizeof head);
    letter->tail = ask->request.value;
    letter->tail_size = ask->request.value_size;
    mail_send_held(store, to, letter, ask->holder);
}

void ask_take(struct store *store, uint64_t client, uint64_t ticket,
              const struct store_request *request, struct buffer *holder)
{
    struct ask *ask = pool_take_used(&store->asks);
    if (!ask) {
        delivery_status(store, client, ticket, STORE_BUSY);
        return;
    }
    *ask = (struct ask){
        .index = (uint32_t)((size_t)((uint8_t *)ask - store->asks.memory) / store->asks.size),
        .name = store->ask_name++,
        .client = client,
        .ticket = ticket,
        .holder = buffer_hold(holder),
        .request = *request,
        .to = WEFT_NOBODY,
        .deadline = weft_now(store->self) + request->patience,
        .group = group_of(store, request->key, request->key_size),
    };
    assert(ask->index >> INDEX_BITS == 0);
    list_append(&store->asks_open, &ask->link);
    if (store->stage == STORE_RUNS)
        send(store, ask, ask_leader(ask->group));
}

void ask_request(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size)
{
    struct store_request request;
    struct buffer *holder = buffer_make(&store->buffers, size);
    if (store->stage == STORE_BROKEN || !holder) {
        delivery_status(store, client, ticket, holder ? STORE_UNAVAILABLE : STORE_BUSY);
        buffer_release(&store->buffers, holder);
        return;
    }
    memcpy(holder->bytes, bytes, size);
    if (!store_request_read(&request, holder->bytes, size) || request.number & REWRITTEN)
        delivery_status(store, client, ticket, STORE_MALFORMED);
    else
        ask_take(store, client, ticket, &request, holder);
    buffer_release(&store->buffers, holder);
}

/* ---- answers ---- */

/* The leader that refused the first copy did not know of others, so it is the only one that
 * remembers that. One of the others may be on its way to a later leader: its answer counts. */
static bool is_overtaken(const struct ask *ask, uint64_t ticket, enum store_status status)
{
    return ticket != ticket_of(ask) && ask->request.op != STORE_GET && status != STORE_DONE &&
           !STORE_HAS(REFUSAL_OVERTAKEN);
}

/* A copy of the request is refused, and another one may still be done. */
static bool is_in_doubt(const struct ask *ask, enum store_status status)
{
    return ask->was_repeated && ask->request.op != STORE_GET &&
           (status == STORE_UNAVAILABLE || status == STORE_BUSY || status == STORE_FULL);
}

/* Too few servers are there, but soon there may be enough. */
static void wait_for_servers(struct store *store, struct ask *ask)
{
    if (!ask->was_repeated)
        ask->was_sent = false; /* this copy, the only one, has done nothing */
    ask->turns = 0;
    ask->again_at = weft_now(store->self) + SHORT_NSEC;
}

/* Tells the program, at once or in parts. */
static void tell(struct store *store, const struct ask *ask, const struct store_answer *said,
                 struct buffer *holder)
{
    uint8_t bytes[STORE_HEAD_MAX + STORE_SINGLE_MAX];
    static_assert(sizeof bytes <= WEFT_MESSAGE_MAX, "an answer is one message");
    if (said->value_size > STORE_SINGLE_MAX) {
        delivery_answer(store, ask->client, ask->ticket, said, holder);
        return;
    }
    size_t size = store_answer_write(said, bytes, sizeof bytes);
    delivery_say(store, ask->client, ask->ticket, bytes, (uint32_t)size);
}

void ask_answered(struct store *store, uint64_t ticket, const struct store_answer *said,
                  struct buffer *holder)
{
    struct ask *ask = find(store, ticket);
    if (!ask || is_overtaken(ask, ticket, said->status))
        return;
    if (ask->to != WEFT_NOBODY)
        ask->group->hint = ask->to;
    if (said->status == STORE_UNAVAILABLE && weft_now(store->self) < ask->deadline) {
        wait_for_servers(store, ask);
        return;
    }
    if (is_in_doubt(ask, said->status))
        delivery_status(store, ask->client, ask->ticket, STORE_UNKNOWN);
    else
        tell(store, ask, said, holder);
    ask_end(store, ask);
}

void ask_coming(struct store *store, uint64_t ticket)
{
    struct ask *ask = find(store, ticket);
    int64_t now = weft_now(store->self);
    if (!ask)
        return;
    ask->again_at = now + AGAIN_NSEC;
    if (ask->deadline < ask->again_at)
        ask->deadline = ask->again_at;
}

void ask_lost(struct store *store, weft_server server)
{
    int64_t soon = weft_now(store->self) + AGAIN_NSEC;
    list_each(&store->asks_open, link)
    {
        struct ask *ask = ask_at(link);
        if (ask->to == server && ask->again_at > soon)
            ask->again_at = soon;
    }
}

void ask_retry(struct store *store, uint64_t ticket, uint32_t server)
{
    struct ask *ask = find(store, ticket);
    if (!ask)
        return;
    bool at_once =
        server < weft_server_count(store->self) && server != ask->to && ask->turns++ < TURNS;
    ask->group->hint = server < weft_server_count(store->self) ? server : WEFT_NOBODY;
    if (at_once) {
        send(store, ask, server);
        return;
    }
    ask->turns = 0;
    ask->again_at = weft_now(store->self) + SOON_NSEC;
}

void ask_gone(struct store *store, uint64_t client)
{
    list_each(&store->asks_open, link)
    {
        if (ask_at(link)->client == client)
            ask_end(store, ask_at(link));
    }
}

static void wake(struct store *store, struct ask *ask)
{
    if (weft_now(store->self) >= ask->deadline) {
        delivery_status(store, ask->client, ask->ticket,
                        ask->was_sent ? STORE_UNKNOWN : STORE_UNAVAILABLE);
        ask_end(store, ask);
    } else {
        send(store, ask, ask_leader(ask->group));
    }
}

void ask_tick(struct store *store)
{
    struct list due, *first;
    int64_t now = weft_now(store->self);
    list_init(&due);
    list_each(&store->asks_open, link)
    {
        const struct ask *ask = ask_at(link);
        if (now >= ask->deadline || (now >= ask->again_at && store->stage == STORE_RUNS)) {
            list_remove(link);
            list_append(&due, link);
        }
    }
    while ((first = list_take(&due))) { /* if this server leads, one may end others */
        list_append(&store->asks_open, first);
        wake(store, ask_at(first));
    }
}

void ask_view(struct store *store)
{
    list_each(&store->asks_open, link) ask_at(link)->again_at = weft_now(store->self) + SOON_NSEC;
}
