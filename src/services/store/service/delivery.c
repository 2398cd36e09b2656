/* delivery: what a program does not take at once: the parts of a large answer, or an answer for
 * which there was no room in its memory for messages.
 *
 * A program that does not read occupies memory only for a time: as if the parts came at the speed
 * PATIENT_BYTE_NSEC. Then it is told to ask again. */
#include <errno.h>

#include "base/check.h"
#include "services/store/service/store_impl.h"

#define DELIVERIES 1024
#define READ_NSEC  (5000 * MSEC) /* after that a program does not read */
#define TURN_PARTS 8             /* that one program gets at once */

struct delivery {
    struct list link;
    uint64_t client, ticket;
    bool blocked;             /* the program must read first */
    struct buffer *holder;    /* NULL: only a word is to be said */
    const uint8_t *bytes;     /* in the holder: of a message, or of a value in parts: */
    struct store_answer head; /* if its value_size is not 0 */
    uint32_t size, sent;
    int64_t until;
};

static struct delivery *delivery_at(struct list *link)
{
    return container_of(link, struct delivery, link);
}

bool delivery_init(struct store *store)
{
    void *deliveries = weft_allocate(store->self, DELIVERIES * sizeof(struct delivery));
    if (!deliveries)
        return false;
    pool_init(&store->deliveries, deliveries, sizeof(struct delivery), DELIVERIES);
    list_init(&store->deliveries_open);
    return true;
}

static void delivery_end(struct store *store, struct delivery *delivery)
{
    list_remove(&delivery->link);
    buffer_release(&store->buffers, delivery->holder);
    pool_give(&store->deliveries, delivery);
}

/* NULL: there are too many. The program asks again, after a while. */
static struct delivery *delivery_make(struct store *store, uint64_t client, uint64_t ticket,
                                      struct buffer *holder)
{
    struct delivery *delivery = pool_take(&store->deliveries);
    if (!delivery)
        return NULL;
    delivery->client = client;
    delivery->ticket = ticket;
    delivery->holder = holder ? buffer_hold(holder) : NULL;
    delivery->until = weft_now(store->self) + READ_NSEC;
    list_append(&store->deliveries_open, &delivery->link);
    return delivery;
}

void delivery_say(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                  uint32_t size)
{
    if (weft_answer(store->self, client, ticket, bytes, size) != -EAGAIN)
        return;
    struct buffer *holder = buffer_make(&store->buffers, size);
    struct delivery *delivery = holder ? delivery_make(store, client, ticket, holder) : NULL;
    if (delivery) {
        memcpy(holder->bytes, bytes, size);
        delivery->bytes = holder->bytes;
        delivery->size = size;
        delivery->blocked = true;
    }
    buffer_release(&store->buffers, holder);
}

void delivery_word(struct store *store, uint64_t client, uint64_t ticket, enum store_word word,
                   uint64_t name)
{
    uint8_t bytes[STORE_SAYING_HEAD];
    const struct store_saying saying = {.word = word, .name = name};
    size_t size = store_saying_write(&saying, bytes, sizeof bytes);
    delivery_say(store, client, ticket, bytes, (uint32_t)size);
}

void delivery_status(struct store *store, uint64_t client, uint64_t ticket,
                     enum store_status status)
{
    uint8_t bytes[STORE_HEAD_MAX];
    size_t size = store_answer_write(&(struct store_answer){.status = status}, bytes, sizeof bytes);
    delivery_say(store, client, ticket, bytes, (uint32_t)size);
}

void delivery_answer(struct store *store, uint64_t client, uint64_t ticket,
                     const struct store_answer *answer, struct buffer *holder)
{
    struct delivery *delivery = delivery_make(store, client, ticket, holder);
    if (!delivery)
        return;
    delivery->head = *answer;
    delivery->bytes = answer->value;
    delivery->size = answer->value_size;
    delivery->until += (int64_t)answer->value_size * PATIENT_BYTE_NSEC;
    large_wake(store);
}

static int part_send(struct store *store, struct delivery *delivery)
{
    static_assert(STORE_SAYING_HEAD + STORE_PART_MAX <= WEFT_MESSAGE_MAX, "it fits");
    uint8_t bytes[STORE_SAYING_HEAD + STORE_PART_MAX];
    const struct store_saying saying = {
        .word = STORE_SAYS_PART,
        .answer = delivery->head,
        .offset = delivery->sent,
        .size = store_part_size(delivery->size, delivery->sent),
        .bytes = delivery->bytes + delivery->sent,
    };
    size_t size = store_saying_write(&saying, bytes, sizeof bytes);
    int result =
        weft_answer(store->self, delivery->client, delivery->ticket, bytes, (uint32_t)size);
    if (!result)
        delivery->sent += saying.size;
    return result;
}

/* Sends what is due next. */
static int delivery_send(struct store *store, struct delivery *delivery)
{
    uint8_t bytes[STORE_SAYING_HEAD];
    if (delivery->head.value_size && delivery->holder)
        return part_send(store, delivery);
    const struct store_saying again = {.word = STORE_SAYS_AGAIN};
    size_t size = store_saying_write(&again, bytes, sizeof bytes);
    int result = weft_answer(store->self, delivery->client, delivery->ticket,
                             delivery->holder ? delivery->bytes : bytes,
                             delivery->holder ? delivery->size : (uint32_t)size);
    if (!result)
        delivery->sent = delivery->size;
    return result;
}

static void turn(struct store *store, struct delivery *delivery)
{
    for (unsigned i = 0; i < TURN_PARTS; i++) {
        int result = delivery_send(store, delivery);
        delivery->blocked = result == -EAGAIN;
        if (delivery->blocked)
            return;
        if (result || delivery->sent == delivery->size) {
            delivery_end(store, delivery);
            return;
        }
    }
}

bool delivery_work(struct store *store)
{
    struct delivery *first = NULL;
    list_each(&store->deliveries_open, link)
    {
        if (!first && !delivery_at(link)->blocked)
            first = delivery_at(link);
    }
    if (!first)
        return false;
    list_remove(&first->link); /* others have their turn */
    list_append(&store->deliveries_open, &first->link);
    turn(store, first);
    return true;
}

void delivery_writable(struct store *store, uint64_t client)
{
    list_each(&store->deliveries_open, link)
    {
        if (delivery_at(link)->client == client)
            delivery_at(link)->blocked = false;
    }
    large_wake(store);
}

/* The program does not read: it gets what it asked for when it asks again. */
void delivery_tick(struct store *store)
{
    int64_t now = weft_now(store->self);
    list_each(&store->deliveries_open, link)
    {
        struct delivery *delivery = delivery_at(link);
        if (now < delivery->until || !delivery->holder)
            continue;
        buffer_release(&store->buffers, delivery->holder);
        delivery->holder = NULL;
        delivery->sent = 0;
        delivery->size = 1;
    }
}

void delivery_gone(struct store *store, uint64_t client)
{
    list_each(&store->deliveries_open, link)
    {
        if (delivery_at(link)->client == client)
            delivery_end(store, delivery_at(link));
    }
}
