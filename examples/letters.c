/* letters: a service with streams (weft up --service ./letters.so; docs/guide/stream.md explains
 * it). Each name has a letterbox at the root of its key. A program sends "+NAME TEXT" to leave a
 * letter there, or "?NAME" to read the last one. Letters are larger than a packet, so they travel
 * in streams: to the key when they are left, and to the reader's server when they are read. */
#include <stdio.h>
#include <string.h>
#include <weft/stream.h>

#define BOXES      256 /* one for each value of a key's last byte */
#define DRAFTS     16  /* letters on their way from this server */
#define SHEETS     16  /* letters on their way to this server */
#define READERS    64
#define LETTER_MAX 60000

struct box {
    uint32_t size;   /* of the letter; 0: none */
    uint32_t copies; /* that are on their way to readers: until then the text must not change */
    char text[LETTER_MAX];
};

/* The program that sent a request, and the number of the request. */
struct asker {
    uint64_t client, ticket;
};

struct draft {
    struct weft_call call; /* first: done() finds the draft by its call */
    struct weft_stream *stream;
    struct box *box;    /* NULL: a letter that is being left; else a copy for a reader */
    struct asker asker; /* the program that left it */
    bool used;
    char text[LETTER_MAX];
};

/* A letter that is arriving. */
struct sheet {
    bool used;
    char text[LETTER_MAX];
};

struct letters {
    struct asker readers[READERS]; /* that wait for a copy, by their numbers */
    uint64_t reader_count;
    struct box boxes[BOXES];
    struct draft drafts[DRAFTS];
    struct sheet sheets[SHEETS];
};

static struct draft *draft_find(struct letters *letters)
{
    for (unsigned i = 0; i < DRAFTS; i++)
        if (!letters->drafts[i].used)
            return &letters->drafts[i];
    return NULL;
}

/* The other end has the whole letter, or the stream ended before. */
static void done(struct weft_self *self, struct weft_call *call)
{
    struct draft *draft = (struct draft *)(void *)call;
    char text[64];
    if (draft->box)
        draft->box->copies--;
    else if (call->result < 0)
        weft_answer(self, draft->asker.client, draft->asker.ticket, "not delivered", 13);
    else {
        snprintf(text, sizeof text, "delivered to %u", weft_stream_peer(draft->stream));
        weft_answer(self, draft->asker.client, draft->asker.ticket, text, (uint32_t)strlen(text));
    }
    draft->used = false;
}

/* Sends the letter and finishes the stream; the text stays where it is until done(). */
static void send(struct weft_self *self, struct draft *draft, const char *text, uint32_t size)
{
    draft->used = true;
    draft->call.done = done;
    weft_stream_send(self, draft->stream, &draft->call, text, size, false);
    weft_stream_finish(self, draft->stream);
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    struct letters *letters = weft_memory(self);
    const char *text = bytes, *space = size ? memchr(text, ' ', size) : NULL;
    uint32_t name = space ? (uint32_t)(space - text) : size;
    struct draft *draft = draft_find(letters);
    if (size < 2 || size > LETTER_MAX || !draft)
        return; /* the program has to repeat its request */
    struct weft_key key = weft_key_of(text + 1, name - 1);
    if (text[0] == '+' && space) {
        struct weft_stream_options options = {.moves = true};
        if (weft_stream_open_key(self, &key, &options, &draft->stream) < 0)
            return;
        draft->asker = (struct asker){client, ticket};
        draft->box = NULL;
        memcpy(draft->text, space + 1, size - name - 1);
        send(self, draft, draft->text, size - name - 1);
    } else { /* ask the root for a copy */
        struct weft_packet *packet = weft_packet(self, sizeof letters->reader_count);
        if (!packet)
            return;
        letters->readers[letters->reader_count % READERS] = (struct asker){client, ticket};
        memcpy(weft_payload(packet), &letters->reader_count, sizeof letters->reader_count);
        letters->reader_count++;
        weft_send_key(self, packet, &key);
    }
}

/* A reader asks: the copy goes to its server, with the number of the reader as the subject. */
static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct letters *letters = weft_memory(self);
    struct draft *draft = draft_find(letters);
    struct weft_stream_options options = {0};
    struct weft_key key;
    if (weft_size(packet) == sizeof options.subject && weft_is_for_key(packet, &key) && draft) {
        memcpy(&options.subject, weft_payload(packet), sizeof options.subject);
        draft->box = &letters->boxes[key.bytes[WEFT_KEY_SIZE - 1]];
        if (!weft_stream_open_server(self, weft_source(packet), &options, &draft->stream)) {
            draft->box->copies++;
            send(self, draft, draft->box->text, draft->box->size);
        }
    }
    weft_done(packet);
}

/* The sheet on which the letter of a stream is put together; NULL: all are in use. */
static struct sheet *sheet_of(struct letters *letters, struct weft_stream *stream)
{
    struct sheet *sheet = weft_stream_context(stream);
    for (unsigned i = 0; i < SHEETS && !sheet; i++)
        if (!letters->sheets[i].used)
            sheet = &letters->sheets[i];
    if (sheet) {
        sheet->used = true;
        weft_stream_set_context(stream, sheet);
    }
    return sheet;
}

/* Letters to a key go into its box, letters to a server to the program that asked. */
static uint32_t arrived(struct weft_self *self, struct weft_stream *stream,
                        const struct weft_stream_piece *piece)
{
    struct letters *letters = weft_memory(self);
    struct sheet *sheet = sheet_of(letters, stream);
    struct weft_key key;
    if (!sheet || piece->offset + piece->size > LETTER_MAX) {
        weft_stream_cancel(self, stream); /* the sender is told */
        return piece->size;
    }
    memcpy(sheet->text + piece->offset, piece->bytes, piece->size);
    uint32_t size = (uint32_t)piece->offset + piece->size;
    if (!piece->last)
        return piece->size;
    if (!weft_stream_key(stream, &key)) {
        struct asker *reader = &letters->readers[weft_stream_subject(stream) % READERS];
        weft_answer(self, reader->client, reader->ticket, sheet->text, size);
        return piece->size;
    }
    struct box *box = &letters->boxes[key.bytes[WEFT_KEY_SIZE - 1]];
    if (box->copies) {
        weft_stream_cancel(self, stream);
        return piece->size;
    }
    memcpy(box->text, sheet->text, size);
    box->size = size;
    return piece->size; /* the letter is acknowledged now */
}

static void ended(struct weft_self *self, struct weft_stream *stream,
                  enum weft_stream_reason reason)
{
    struct sheet *sheet = weft_stream_context(stream);
    if (sheet)
        sheet->used = false;
}

static const struct weft_service_ops ops = {.deliver = deliver, .request = request};
static const struct weft_streams streams = {
    .outgoing = DRAFTS, .incoming = 64, .arrived = arrived, .ended = ended};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "letters",
    .id = 259, /* ids up to 255 are reserved for weft */
    .size = sizeof(struct letters),
    .ops = &ops,
    .streams = &streams,
};
