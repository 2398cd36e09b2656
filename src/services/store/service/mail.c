/* mail: letters between servers. To each server goes one stream, opened when there is something to
 * say, and one each for large requests and large answers: these may have to wait there for memory,
 * and no other letter shall wait with them. A letter is lost with its stream, or if there is no
 * room for it here; the part that needs it says it again.
 *
 * A large value is sent from where it is, as the second part of its letter's message, and digested
 * while it arrives. */
#include "services/store/service/scan.h"

#include "base/bytes.h"
#include "base/check.h"

/* ---- out ---- */

static enum lane lane_of(const struct letter *letter, uint32_t size)
{
    if (size <= LARGE)
        return LANE_LETTERS;
    return letter->kind == LETTER_REQUEST  ? LANE_REQUESTS
           : letter->kind == LETTER_ANSWER ? LANE_ANSWERS
                                           : LANE_LETTERS;
}

bool mail_room(struct store *store, const struct letter *letter, struct buffer *holder,
               struct dispatch *mail)
{
    uint32_t size = (uint32_t)letter_size(letter), value_size;
    const void *value = letter_value(letter, &value_size);
    bool apart = holder && value && size > LARGE;
    *mail = (struct dispatch){.lane = lane_of(letter, size)};
    mail->head = buffer_make(&store->buffers, size + FRAME - (apart ? value_size : 0));
    if (!mail->head)
        return false;
    if (apart) {
        mail->holder = buffer_hold(holder);
        mail->value = value;
        mail->value_size = value_size;
    }
    return true;
}

void mail_fill(struct dispatch *mail, const struct letter *letter)
{
    struct buffer *buffer = mail->head;
    struct writer head = writer_make(buffer->bytes, FRAME);
    write_u32(&head, buffer->size - FRAME + mail->value_size);
    if (mail->holder)
        letter_write_head(letter, buffer->bytes + FRAME);
    else
        letter_write(letter, buffer->bytes + FRAME);
}

void mail_drop(struct store *store, struct dispatch *mail)
{
    buffer_release(&store->buffers, mail->head);
    buffer_release(&store->buffers, mail->holder);
    *mail = (struct dispatch){0};
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

static struct parcel *parcel_make(struct store *store, struct buffer *buffer)
{
    struct parcel *parcel = pool_take(&store->parcels);
    if (!parcel)
        return NULL;
    parcel->call.done = sent;
    parcel->store = store;
    parcel->buffer = buffer_hold(buffer);
    return parcel;
}

static struct weft_stream *stream_to(struct store *store, weft_server server, enum lane lane)
{
    struct weft_stream **stream = &store->streams[server * LANES + lane];
    const struct weft_stream_options options = {.subject = lane};
    if (!*stream && weft_stream_open_server(store->self, server, &options, stream) != 0)
        *stream = NULL;
    return *stream;
}

/* The value follows the head, as a part of the same message. */
static bool value_post(struct store *store, struct weft_stream *stream, const struct dispatch *mail,
                       struct parcel *parcel)
{
    if (!weft_stream_send(store->self, stream, &parcel->call, mail->value, mail->value_size, false))
        return true;
    parcel_end(store, parcel); /* the stream has ended, and with it the head */
    return false;
}

bool mail_post(struct store *store, weft_server server, const struct dispatch *mail)
{
    assert(server != store->here);
    struct weft_stream *stream = stream_to(store, server, mail->lane);
    struct parcel *head = stream ? parcel_make(store, mail->head) : NULL;
    struct parcel *value = head && mail->holder ? parcel_make(store, mail->holder) : NULL;
    bool made = head && (value || !mail->holder);
    bool posted = made && !weft_stream_send(store->self, stream, &head->call, mail->head->bytes,
                                            mail->head->size, value != NULL);
    if (posted)
        return !value || value_post(store, stream, mail, value);
    if (head)
        parcel_end(store, head);
    if (value)
        parcel_end(store, value);
    return false;
}

void mail_send_held(struct store *store, weft_server server, const struct letter *letter,
                    struct buffer *holder)
{
    struct dispatch mail;
    if (!mail_room(store, letter, holder, &mail))
        return;
    mail_fill(&mail, letter);
    (void)mail_post(store, server, &mail);
    mail_drop(store, &mail);
}

void mail_send(struct store *store, weft_server server, const struct letter *letter)
{
    mail_send_held(store, server, letter, NULL);
}

/* ---- in ---- */

/* The digest of a large value was made while it came. */
static bool read_letter(struct letter *letter, weft_server from, const struct buffer *buffer)
{
    if (buffer->value_at)
        return letter_read_digested(letter, from, buffer->bytes, buffer->size, buffer->digest);
    return letter_read(letter, from, buffer->bytes, buffer->size);
}

static void open_letter(struct store *store, weft_server from, struct buffer *buffer)
{
    struct letter *letter = store->in;
    if (!read_letter(letter, from, buffer)) {
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
    case LETTER_ANSWER: {
        struct store_answer answer;
        if (store_answer_read(&answer, letter->bytes, letter->size))
            ask_answered(store, letter->ticket, &answer, buffer);
        break;
    }
    case LETTER_RETRY:
        ask_retry(store, letter->ticket, letter->server);
        break;
    case LETTER_FETCH:
    case LETTER_MEND:
    case LETTER_COMPARE:
    case LETTER_COMPARED:
    case LETTER_ASK_VALUES:
    case LETTER_VALUES:
        scrub_letter(store, from, letter, buffer);
        break;
    case LETTER_INQUIRY: /* see above */
    case LETTER_REPORT:
        break;
    }
}

static struct value_room *room_of(const struct incoming *incoming)
{
    static const enum store_room rooms[LANES] = {
        [LANE_LETTERS] = ROOM_RECORDS,
        [LANE_REQUESTS] = ROOM_REQUESTS,
        [LANE_ANSWERS] = ROOM_ANSWERS,
    };
    return &incoming->store->rooms[rooms[incoming->lane]];
}

static void granted(struct room_wait *wait, struct buffer *buffer)
{
    struct incoming *incoming = container_of(wait, struct incoming, wait);
    incoming->buffer = buffer;
    weft_stream_resume(incoming->store->self, incoming->stream);
}

/* Memory for a letter of that size, now or later. */
static void make_room(struct incoming *incoming, uint32_t size)
{
    struct value_room *room = room_of(incoming);
    incoming->filled = incoming->value_at = incoming->digested = 0;
    if (size <= LARGE) {
        incoming->buffer = buffer_make(&incoming->store->buffers, size);
        incoming->waits = !incoming->buffer;
    } else if (!room_fits(room, size)) {
        incoming->discards = true;
    } else if (!incoming->wait.waits && !(incoming->buffer = room_take(room, size))) {
        incoming->wait.size = size;
        incoming->wait.granted = granted;
        room_wait(room, &incoming->wait);
    }
}

/* Digests what has come of a large value. */
static void digest(struct incoming *incoming)
{
    const struct buffer *buffer = incoming->buffer;
    bool digested;
    if (!incoming->value_at && incoming->digested < LETTER_HEAD_MAX) {
        size_t at = letter_value_at(buffer->bytes, incoming->filled, buffer->size, &digested);
        incoming->value_at = digested ? (uint32_t)at : 0;
        incoming->digested = at && digested ? (uint32_t)at : incoming->filled;
        digest_begin(&incoming->digest);
    }
    if (!incoming->value_at)
        return;
    digest_add(&incoming->digest, buffer->bytes + incoming->digested,
               incoming->filled - incoming->digested);
    incoming->digested = incoming->filled;
}

/* A part of a large letter has come. */
static void look(struct incoming *incoming)
{
    struct buffer *buffer = incoming->buffer;
    digest(incoming);
    if (incoming->lane == LANE_ANSWERS && incoming->filled >= LETTER_TICKET_AT + 8) {
        struct reader ticket = reader_make(buffer->bytes + LETTER_TICKET_AT, 8);
        ask_coming(incoming->store, read_u64(&ticket));
    }
    if (incoming->filled == buffer->size && incoming->value_at) {
        buffer->value_at = incoming->value_at;
        buffer->digest = digest_end(&incoming->digest);
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
    if (!incoming->buffer && !incoming->discards) {
        struct reader head = reader_make(incoming->head, FRAME);
        make_room(incoming, read_u32(&head));
    }
    if (!incoming->buffer)
        return incoming->discards ? size : taken;
    uint32_t rest = size - taken, room = incoming->buffer->size - incoming->filled;
    uint32_t part = rest < room ? rest : room;
    memcpy(incoming->buffer->bytes + incoming->filled, bytes + taken, part);
    incoming->filled += part;
    if (incoming->buffer->order == BUFFER_LARGE)
        look(incoming);
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
    incoming->discards = false;
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
    incoming->lane =
        weft_stream_subject(stream) < LANES ? (enum lane)weft_stream_subject(stream) : LANE_LETTERS;
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
        room_leave(&incoming->wait);
        list_remove(&incoming->link);
        buffer_release(&store->buffers, incoming->buffer);
        pool_give(&store->incomings, incoming);
        ask_lost(store, weft_stream_peer(stream));
        return;
    }
    uint32_t index = 0, count = weft_server_count(self) * LANES;
    while (index < count && store->streams[index] != stream)
        index++;
    if (index == count)
        return;
    weft_server server = index / LANES;
    store->streams[index] = NULL;
    ask_lost(store, server);
    if (index % LANES != LANE_LETTERS)
        return;
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
    .window = 256 << 10,
    .opened = opened,
    .arrived = arrived,
    .ended = ended,
};
