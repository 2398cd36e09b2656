/* counter: a complete service (weft up --service ./counter.so; docs/guide/service.md explains it).
 * The root of a name's key keeps its counter; servers on the way cache the values that pass them.
 * A program sends "+NAME" (add one) or "?NAME" (read) and gets "VALUE SERVER" back. */
#include <stdio.h>
#include <string.h>
#include <weft/service.h>

#define NUMBERS 256 /* one slot for each value of a key's last byte */

struct __attribute__((packed)) message {
    struct weft_key key;
    uint64_t client; /* the program that sent the request, at the packet's source ... */
    uint64_t ticket; /* ... and its number for the request */
    int64_t value;   /* -1: another name occupies the slot */
    char kind;       /* '+' add one, '?' read, '=' value */
};

struct number {
    struct weft_key key;
    int64_t value, seen; /* seen: time of the value; 0: slot is empty */
};

struct counter {
    int64_t fresh;               /* nanoseconds for which a server answers from memory */
    struct number kept[NUMBERS]; /* counters of which this server is the root */
    struct number seen[NUMBERS]; /* values in answers that passed through here */
};

static struct number *find(struct number *numbers, const struct message *message, bool *same)
{
    struct number *number = &numbers[message->key.bytes[WEFT_KEY_SIZE - 1]];
    *same = number->seen && !memcmp(&number->key, &message->key, WEFT_KEY_SIZE);
    return number;
}

static void deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct counter *counter = weft_memory(self);
    struct message *message = weft_payload(packet);
    if (weft_size(packet) != sizeof *message) {
        weft_refuse(self, packet); /* malformed */
    } else if (message->kind == '=') {
        char text[64];
        snprintf(text, sizeof text, "%lld %u", (long long)message->value, weft_source(packet));
        weft_answer(self, message->client, message->ticket, text, (uint32_t)strlen(text));
        weft_done(packet);
    } else { /* this server is the root and keeps the counter */
        bool same;
        struct number *number = find(counter->kept, message, &same);
        if (!number->seen) {
            *number = (struct number){.key = message->key, .seen = 1};
            same = true;
        }
        number->value += same && message->kind == '+';
        message->value = same ? number->value : -1;
        message->kind = '=';
        weft_reply(self, packet);
    }
}

static enum weft_verdict intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct counter *counter = weft_memory(self);
    struct message *message = weft_payload(packet);
    if (weft_size(packet) != sizeof *message)
        return WEFT_PASS;
    bool same;
    struct number *number = find(counter->seen, message, &same);
    if (message->kind == '=')
        *number = (struct number){message->key, message->value, weft_now(self)};
    if (message->kind != '?' || !same || weft_now(self) - number->seen > counter->fresh)
        return WEFT_PASS;
    message->value = number->value;
    message->kind = '=';
    weft_reply(self, packet);
    return WEFT_TAKEN;
}

static void request(struct weft_self *self, uint64_t client, uint64_t ticket, const void *bytes,
                    uint32_t size)
{
    const char *text = bytes;
    struct weft_packet *packet = size ? weft_packet(self, sizeof(struct message)) : NULL;
    if (!packet)
        return; /* out of packets: the program has to repeat its request */
    struct message message = {weft_key_of(text + 1, size - 1), client, ticket, 0,
                              text[0] == '+' ? '+' : '?'};
    memcpy(weft_payload(packet), &message, sizeof message);
    weft_send_key(self, packet, &message.key);
}

static const struct weft_service_ops ops = {
    .deliver = deliver, .intercept = intercept, .request = request};

static const struct weft_parameter parameters[] = {
    {WEFT_PARAMETER(struct counter, fresh, DURATION), .value = "100ms", .maximum = "1min",
     .help = "how long a server answers from memory"},
    {0},
};

WEFT_API const struct weft_service weft_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "counter",
    .id = 256, /* ids up to 255 are reserved for weft */
    .size = sizeof(struct counter),
    .ops = &ops,
    .parameters = parameters,
};
