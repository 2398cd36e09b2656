/* large: memory for large values, and work on them, a piece at a time: the digest of 64 MiB takes
 * ten milliseconds, in which a server does nothing else. */
#include "base/check.h"
#include "services/store/service/store_impl.h"

#define PIECE     (512u << 10) /* bytes of a join at once */
#define ROOM_SLOP 1024         /* bytes of a letter or a record besides the value */

/* How many of the largest values a room has space for. */
static const unsigned shares[STORE_ROOMS] = {
    [ROOM_UPLOADS] = 1, [ROOM_REQUESTS] = 1, [ROOM_READS] = 2,
    [ROOM_ANSWERS] = 1, [ROOM_RECORDS] = 2,
};

void large_wake(struct store *store)
{
    if (store->woken)
        return;
    store->woken = true;
    (void)!weft_timer(store->self, weft_now(store->self) + 1, STORE_WORK);
}

static void freed(struct value_room *room)
{
    large_wake(room->owner);
}

bool large_init(struct store *store)
{
    uint64_t unit = (uint64_t)store->value_max + ROOM_SLOP;
    list_init(&store->joins);
    for (unsigned i = 0; i < STORE_ROOMS; i++) {
        void *memory = weft_allocate(store->self, shares[i] * unit);
        if (!memory)
            return false;
        room_init(&store->rooms[i], memory, shares[i] * unit, freed, store);
    }
    return true;
}

uint64_t large_digest(const struct buffer *holder, const void *value, uint32_t size)
{
    bool known = holder && holder->value_at && holder->bytes + holder->value_at == value;
    return known ? holder->digest : digest_bytes(value, size);
}

/* ---- joins ---- */

void join_begin(struct store *store, struct join *join)
{
    assert(join->buffer->order == BUFFER_LARGE && join->at && join->size);
    join->digested = 0;
    digest_begin(&join->digest);
    list_append(&store->joins, &join->link);
    large_wake(store);
}

void join_cancel(struct join *join)
{
    if (join->buffer)
        list_remove(&join->link);
}

/* True: it is done. */
static bool join_step(struct join *join)
{
    uint8_t *bytes = join->buffer->bytes;
    if (join->left) {
        uint32_t part = join->left < PIECE ? join->left : PIECE;
        memcpy(bytes + join->to, join->from, part);
        join->to += part;
        join->from += part;
        join->left -= part;
        return false;
    }
    uint32_t left = join->size - join->digested, part = left < PIECE ? left : PIECE;
    digest_add(&join->digest, bytes + join->at + join->digested, part);
    join->digested += part;
    return join->digested == join->size;
}

static void joins_work(struct store *store)
{
    if (list_is_empty(&store->joins))
        return;
    struct join *join = container_of(store->joins.next, struct join, link);
    if (!join_step(join))
        return;
    list_remove(&join->link);
    join->buffer->value_at = join->at;
    join->buffer->digest = digest_end(&join->digest);
    join->done(join);
}

void large_work(struct store *store)
{
    store->woken = false;
    for (unsigned i = 0; i < STORE_ROOMS; i++)
        room_serve(&store->rooms[i]);
    joins_work(store);
    if (!list_is_empty(&store->joins))
        large_wake(store);
}
