/* mail: letters between servers. To each server goes one stream, opened when there is something to
 * say. A letter is lost with its stream, or if there is no room for it here; the part that needs it
 * says it again. */
#include "services/store/service/store_impl.h"

#include "base/bytes.h"
#include "base/check.h"

/* ---- out ---- */

struct buffer *mail_room(struct store *store, const struct letter *letter)
{
    return buffer_make(&store->buffers, (uint32_t)letter_size(letter) + FRAME);
}

void mail_fill(struct buffer *buffer, const struct letter *letter)
{
    struct writer head = writer_make(buffer->bytes, FRAME);
    write_u32(&head, buffer->size - FRAME);
    letter_write(letter, buffer->bytes + FRAME);
}

static void parcel_end(struct store *store, struct parcel *parcel)
{
    buffer_release(&store->buffers, parcel->buffer);
    pool_give(&store->parcels, parcel);
}

static void sent(struct weft_self *self, struct weft_call *call)
{
    struct parcel *parcel = container_of(call, struct parcel, call);
    parcel_end(parcel->store, parcel);
}

static struct weft_stream *stream_to(struct store *store, weft_server server)
{
    struct weft_stream **stream = &store->streams[server];
    if (!*stream && weft_stream_open_server(store->self, server, NULL, stream) != 0)
        *stream = NULL;
    return *stream;
}

bool mail_post(struct store *store, weft_server server, struct buffer *buffer)
{
    assert(server != store->here);
    struct weft_stream *stream = stream_to(store, server);
    struct parcel *parcel = stream ? pool_take(&store->parcels) : NULL;
    if (!parcel)
        return false;
    parcel->call.done = sent;
    parcel->store = store;
    parcel->buffer = buffer_hold(buffer);
    if (weft_stream_send(store->self, stream, &parcel->call, buffer->bytes, buffer->size, false)) {
        parcel_end(store, parcel);
        return false;
    }
    return true;
}

void mail_send(struct store *store, weft_server server, const struct letter *letter)
{
    struct buffer *buffer = mail_room(store, letter);
    if (!buffer)
        return;
    mail_fill(buffer, letter);
    (void)mail_post(store, server, buffer);
    buffer_release(&store->buffers, buffer);
}

/* ---- in ---- */

static void open_letter(struct store *store, weft_server from, struct buffer *buffer)
{
    struct letter *letter = store->in;
    if (!letter_read(letter, from, buffer->bytes, buffer->size)) {
        store->garbage++;
        return;
    }
    if (letter->kind == LETTER_INQUIRY) {
        inquiry_asked(store, from, letter);
        return;
    }
    if (letter->kind == LETTER_REPORT) {
        inquiry_heard(store, from, letter);
        return;
    }
    if (store->stage != STORE_RUNS || letter->group >= (uint64_t)store->group_count)
        return;
    struct group *group = &store->groups[letter->group];
    switch (letter->kind) {
    case LETTER_REPLICA:
        group_message(group, &letter->message);
        break;
    case LETTER_WRITE:
    case LETTER_COPY:
        change_arrives(group, letter, buffer);
        break;
    case LETTER_ASK_PAGE:
        lesson_asked(group, letter, from);
        break;
    case LETTER_PAGE:
        lesson_page(group, letter);
        break;
    case LETTER_CONFIRM:
        confirm_asked(group, from, letter);
        break;
    case LETTER_CONFIRMED:
        confirm_heard(group, from, letter);
        break;
    case LETTER_REQUEST: {
        struct store_request request;
        if (store_request_read(&request, letter->bytes, letter->size))
            serve_request(store, from, letter->ticket, &request, letter->epoch, buffer);
        break;
    }
    case LETTER_ASK_KEYS:
        page_asked(store, from, letter->ticket, letter->epoch, letter->bytes, letter->size, buffer);
        break;
    case LETTER_PAGE_TOLD:
        scan_told(store, from, letter->ticket, letter->bytes, letter->size);
        break;
    case LETTER_ANSWER:
        ask_answered(store, letter->ticket, letter->bytes, letter->size);
        break;
    case LETTER_RETRY:
        ask_retry(store, letter->ticket, letter->server);
        break;
    case LETTER_INQUIRY: /* see above */
    case LETTER_REPORT:
        break;
    }
}

/* Returns how many of the bytes it takes. */
static uint32_t take_bytes(struct incoming *incoming, const uint8_t *bytes, uint32_t size)
{
    uint32_t taken = 0;
    while (incoming->head_size < FRAME && taken < size)
        incoming->head[incoming->head_size++] = bytes[taken++];
    if (incoming->head_size < FRAME)
        return taken;
    if (!incoming->buffer) {
        struct reader head = reader_make(incoming->head, FRAME);
        incoming->buffer = buffer_make(&incoming->store->buffers, read_u32(&head));
        incoming->filled = 0;
    }
    incoming->waits = !incoming->buffer;
    if (incoming->waits)
        return taken;
    uint32_t rest = size - taken, room = incoming->buffer->size - incoming->filled;
    uint32_t part = rest < room ? rest : room;
    memcpy(incoming->buffer->bytes + incoming->filled, bytes + taken, part);
    incoming->filled += part;
    return size;
}

static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    struct incoming *incoming = weft_stream_context(stream);
    if (!incoming)
        return piece->size;
    /* The letter may need a change, and would be lost without one. */
    if (piece->last && pool_is_exhausted(&incoming->store->changes)) {
        incoming->waits = true;
        return 0;
    }
    uint32_t taken = take_bytes(incoming, piece->bytes, piece->size);
    if (!piece->last || taken < piece->size)
        return taken;
    struct buffer *buffer = incoming->buffer;
    incoming->buffer = NULL;
    incoming->head_size = 0;
    if (buffer && incoming->filled == buffer->size)
        open_letter(incoming->store, weft_stream_peer(stream), buffer);
    else
        incoming->store->garbage++;
    buffer_release(&incoming->store->buffers, buffer);
    return taken;
}

static void opened(struct weft_self *self, struct weft_stream *stream)
{
    struct store *store = weft_memory(self);
    struct incoming *incoming = pool_take(&store->incomings);
    if (!incoming) {
        weft_stream_cancel(self, stream);
        return;
    }
    incoming->store = store;
    incoming->stream = stream;
    list_append(&store->incomings_open, &incoming->link);
    weft_stream_set_context(stream, incoming);
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    struct store *store = weft_memory(self);
    if (weft_stream_is_incoming(stream)) {
        struct incoming *incoming = weft_stream_context(stream);
        if (!incoming)
            return;
        list_remove(&incoming->link);
        buffer_release(&store->buffers, incoming->buffer);
        pool_give(&store->incomings, incoming);
        return;
    }
    weft_server server = 0;
    while (server < weft_server_count(self) && store->streams[server] != stream)
        server++;
    if (server == weft_server_count(self))
        return;
    store->streams[server] = NULL;
    for (int64_t i = 0; store->stage == STORE_RUNS && i < store->group_count; i++)
        group_lost(&store->groups[i], server);
}

void mail_tick(struct store *store)
{
    list_each(&store->incomings_open, link)
    {
        struct incoming *incoming = container_of(link, struct incoming, link);
        if (!incoming->waits)
            continue;
        incoming->waits = false;
        weft_stream_resume(store->self, incoming->stream);
    }
}

const struct weft_streams store_streams = {
    .outgoing = 512,
    .incoming = 512,
    .window = 64 << 10,
    .opened = opened,
    .arrived = arrived,
    .ended = ended,
};
