/* upload: a value that a program sends in parts. An upload has the head of a request, waits for
 * memory, and then takes the parts in their order. When it is whole, it becomes a request like any
 * other.
 *
 * A program that is slow or gone occupies memory only for a time: for as long as a part may take,
 * and all parts together, as if they came at the speed PATIENT_BYTE_NSEC. What has no memory any
 * more is begun again by the program. */
#include "base/check.h"
#include "services/store/service/store_impl.h"

#define UPLOADS    512
#define INDEX_BITS 16            /* of the name of an upload */
#define PART_NSEC  (5000 * MSEC) /* for the next part */
#define WORD_NSEC  (500 * MSEC)  /* between two words to a program that waits */

struct upload {
    struct list link;
    struct store *store;
    struct room_wait wait;
    uint32_t index;
    uint64_t name;
    uint64_t client, ticket; /* of the program, which waits for memory */
    struct buffer *buffer;   /* NULL: it waits */
    uint8_t head[STORE_HEAD_MAX];
    uint32_t head_size, value_size, filled;
    struct digest digest;
    int64_t until; /* it ends */
    int64_t word_at;
    int64_t slowest; /* all parts must be there by then */
};

static struct upload *upload_at(struct list *link)
{
    return container_of(link, struct upload, link);
}

bool upload_init(struct store *store)
{
    void *uploads = weft_allocate(store->self, UPLOADS * sizeof(struct upload));
    if (!uploads)
        return false;
    pool_init(&store->uploads, uploads, sizeof(struct upload), UPLOADS);
    list_init(&store->uploads_open);
    store->upload_name = weft_random(store->self);
    return true;
}

static void upload_end(struct store *store, struct upload *upload)
{
    room_leave(&upload->wait);
    list_remove(&upload->link);
    buffer_release(&store->buffers, upload->buffer);
    upload->buffer = NULL;
    upload->name = 0;
    pool_give(&store->uploads, upload);
}

static void granted(struct room_wait *wait, struct buffer *buffer)
{
    struct upload *upload = container_of(wait, struct upload, wait);
    struct store *store = upload->store;
    int64_t now = weft_now(store->self);
    memcpy(buffer->bytes, upload->head, upload->head_size);
    upload->buffer = buffer;
    upload->until = now + PART_NSEC;
    upload->slowest = upload->until + (int64_t)upload->value_size * PATIENT_BYTE_NSEC;
    digest_begin(&upload->digest);
    delivery_word(store, upload->client, upload->ticket, STORE_SAYS_SEND, upload->name);
}

/* STORE_DONE, or why this request is not accepted. */
static enum store_status check(const struct store *store, const struct store_request *request)
{
    if (request->value_size <= STORE_SINGLE_MAX || request->number & REWRITTEN)
        return STORE_MALFORMED;
    if (request->value_size > group_value_max(group_of(store, request->key, request->key_size)))
        return STORE_TOO_LARGE;
    return store->stage == STORE_BROKEN ? STORE_UNAVAILABLE : STORE_DONE;
}

void upload_open(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size)
{
    struct store_request request = {0};
    bool sense = size <= STORE_HEAD_MAX && store_request_read_head(&request, bytes, size) == size;
    enum store_status status = sense ? check(store, &request) : STORE_MALFORMED;
    struct upload *upload = status == STORE_DONE ? pool_take(&store->uploads) : NULL;
    if (!upload) {
        delivery_status(store, client, ticket, status == STORE_DONE ? STORE_BUSY : status);
        return;
    }
    int64_t now = weft_now(store->self);
    uint8_t *memory = store->uploads.memory;
    upload->store = store;
    upload->index = (uint32_t)((size_t)((uint8_t *)upload - memory) / store->uploads.size);
    upload->name = ++store->upload_name << INDEX_BITS | upload->index;
    upload->client = client;
    upload->ticket = ticket;
    memcpy(upload->head, bytes, size);
    upload->head_size = size;
    upload->value_size = request.value_size;
    upload->until = now + request.patience;
    if (upload->until < now) /* for ever */
        upload->until = INT64_MAX;
    upload->word_at = now + WORD_NSEC;
    upload->wait.size = size + request.value_size;
    upload->wait.granted = granted;
    list_append(&store->uploads_open, &upload->link);
    struct buffer *buffer = room_take(&store->rooms[ROOM_UPLOADS], upload->wait.size);
    if (buffer)
        granted(&upload->wait, buffer);
    else
        room_wait(&store->rooms[ROOM_UPLOADS], &upload->wait);
}

/* NULL: there is none of that program any more. */
static struct upload *find(struct store *store, uint64_t client, uint64_t name)
{
    uint32_t index = name & ((1u << INDEX_BITS) - 1);
    if (index >= store->uploads.fresh)
        return NULL;
    struct upload *upload = (void *)(store->uploads.memory + index * store->uploads.size);
    return upload->buffer && upload->name == name && upload->client == client ? upload : NULL;
}

/* The value is whole: the request begins. */
static void upload_ask(struct store *store, struct upload *upload, uint64_t ticket,
                       const struct store_part *part)
{
    struct store_request request;
    struct buffer *buffer = upload->buffer;
    buffer->value_at = upload->head_size;
    buffer->digest = digest_end(&upload->digest);
    bool sense = store_request_read(&request, buffer->bytes, buffer->size);
    assert(sense); /* upload_open has read the same */
    request.again = part->again;
    request.patience = part->patience;
    ask_take(store, upload->client, ticket, &request, buffer);
    upload_end(store, upload);
}

/* The next part, or else the upload is of no use. One that came before is ignored. */
static bool part_fits(const struct upload *upload, const struct store_part *part)
{
    bool whole = part->offset + part->size == upload->value_size;
    return part->offset == upload->filled && part->size <= upload->value_size - upload->filled &&
           part->last == whole;
}

void upload_take(struct store *store, uint64_t client, uint64_t ticket, const void *bytes,
                 uint32_t size)
{
    struct store_part part;
    if (!store_part_read(&part, bytes, size)) {
        delivery_status(store, client, ticket, STORE_MALFORMED);
        return;
    }
    struct upload *upload = find(store, client, part.name);
    if (upload && part.offset < upload->filled && !part.last)
        return;
    if (!upload || !part_fits(upload, &part)) {
        if (upload)
            upload_end(store, upload);
        if (part.last)
            delivery_word(store, client, ticket, STORE_SAYS_AGAIN, 0);
        return;
    }
    memcpy(upload->buffer->bytes + upload->head_size + upload->filled, part.bytes, part.size);
    digest_add(&upload->digest, part.bytes, part.size);
    upload->filled += part.size;
    upload->until = weft_now(store->self) + PART_NSEC;
    if (part.last)
        upload_ask(store, upload, ticket, &part);
}

static void look(struct store *store, struct upload *upload, int64_t now)
{
    bool waits = !upload->buffer;
    if (now >= upload->until || (!waits && now >= upload->slowest)) {
        if (waits)
            delivery_status(store, upload->client, upload->ticket, STORE_BUSY);
        upload_end(store, upload);
    } else if (waits && now >= upload->word_at) {
        upload->word_at = now + WORD_NSEC;
        delivery_word(store, upload->client, upload->ticket, STORE_SAYS_WAIT, 0);
    }
}

void upload_tick(struct store *store)
{
    int64_t now = weft_now(store->self);
    list_each(&store->uploads_open, link) look(store, upload_at(link), now);
}

void upload_gone(struct store *store, uint64_t client)
{
    list_each(&store->uploads_open, link)
    {
        if (upload_at(link)->client == client)
            upload_end(store, upload_at(link));
    }
}
