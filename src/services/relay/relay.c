/* relay: datagrams from programs of this server to programs of other servers.
 *
 * A program attaches and gets an address: this server, a program number and a random life number.
 * From then on it sends and receives datagrams (wire/relay.h), which travel as packets to the
 * server of the other program. The relay does not store, order or repeat datagrams: the programs do
 * so, end to end, so that no server on the way can lose what they rely on.
 *
 * The relay reports what only a server can know: that no program is at an address (any longer), and
 * that a server became reachable or unreachable. When a program disconnects, the relay notifies the
 * servers with which the program had lines.
 *
 * Invariant: a program's number is its index in the table plus one; life 0 is never given to a
 * program. */
#include "services/relay/relay.h"

#include <errno.h>
#include <string.h>

#include "base/bitset.h"
#include "base/check.h"
#include "wire/relay.h"

enum {
    PROGRAMS_MAX = 1024,
    BUCKETS = 1024, /* a power of two */
    NONE = UINT16_MAX,
};

struct program {
    uint64_t client;
    uint64_t life;   /* 0: a free entry */
    uint64_t *peers; /* servers with which it has lines, a bit each */
    uint16_t next;   /* in its bucket, or the next free one; NONE: the last */
};

struct relay {
    struct program programs[PROGRAMS_MAX];
    uint16_t buckets[BUCKETS]; /* the first program with that hash of its client's number */
    uint16_t free;             /* the first free entry */
    uint32_t words;            /* of a program's peers */
    uint64_t carried, came, strays, garbage, refused;
};

static int relay_start(struct weft_self *self)
{
    struct relay *relay = weft_memory(self);
    relay->words = bitset_words(weft_server_count(self));
    uint64_t *memory = weft_allocate(self, PROGRAMS_MAX * relay->words * sizeof(uint64_t));
    if (!memory)
        return -ENOMEM;
    for (unsigned i = 0; i < PROGRAMS_MAX; i++) {
        relay->programs[i].peers = memory + (size_t)i * relay->words;
        relay->programs[i].next = i + 1 < PROGRAMS_MAX ? (uint16_t)(i + 1) : NONE;
    }
    memset(relay->buckets, 0xff, sizeof relay->buckets);
    return 0;
}

static uint16_t *bucket_of(struct relay *relay, uint64_t client)
{
    return &relay->buckets[client * UINT64_C(0x9e3779b97f4a7c15) >> 54];
}
static_assert(BUCKETS == 1 << (64 - 54), "the hash is an index");

static struct program *program_of(struct relay *relay, uint64_t client)
{
    for (uint16_t at = *bucket_of(relay, client); at != NONE; at = relay->programs[at].next)
        if (relay->programs[at].client == client)
            return &relay->programs[at];
    return NULL;
}

/* NULL: no entry is free. */
static struct program *program_add(struct relay *relay, uint64_t client)
{
    uint16_t at = relay->free, *bucket = bucket_of(relay, client);
    if (at == NONE)
        return NULL;
    struct program *program = &relay->programs[at];
    relay->free = program->next;
    program->client = client;
    program->next = *bucket;
    *bucket = at;
    return program;
}

static void program_remove(struct relay *relay, struct program *program)
{
    uint16_t index = (uint16_t)(program - relay->programs);
    uint16_t *at = bucket_of(relay, program->client);
    while (*at != index)
        at = &relay->programs[*at].next;
    *at = program->next;
    program->next = relay->free;
    relay->free = index;
}

static struct program *program_at(struct relay *relay, const struct relay_address *address)
{
    if (address->program < 1 || address->program > PROGRAMS_MAX)
        return NULL;
    struct program *program = &relay->programs[address->program - 1];
    return address->life && program->life == address->life ? program : NULL;
}

static struct relay_address address_of(struct weft_self *self, const struct program *program)
{
    const struct relay *relay = weft_memory(self);
    return (struct relay_address){.server = weft_here(self),
                                  .program = (uint32_t)(program - relay->programs) + 1,
                                  .life = program->life};
}

static void peer_note(const struct relay *relay, struct program *program, uint32_t server)
{
    assert(bitset_word(server) < relay->words); /* both ends of a message were checked */
    bitset_add(program->peers, server);
}

/* ---- notifying ---- */

/* Sends a message without a body to a program here. */
static void program_tell(struct weft_self *self, const struct program *program,
                         enum relay_operation operation, const struct relay_address *about)
{
    uint8_t bytes[RELAY_HEAD_SIZE];
    struct relay_message message = {.operation = operation, .to = address_of(self, program)};
    if (about)
        message.from = *about;
    relay_write(&message, bytes);
    weft_answer(self, program->client, 0, bytes, sizeof bytes);
}

static void programs_tell(struct weft_self *self, enum relay_operation operation,
                          const struct relay_address *about)
{
    struct relay *relay = weft_memory(self);
    for (unsigned i = 0; i < PROGRAMS_MAX; i++)
        if (relay->programs[i].life)
            program_tell(self, &relay->programs[i], operation, about);
}

/* Tells that server that no program is at `absent`. `to` with program 0: for all programs there. */
static void absence_send(struct weft_self *self, const struct relay_address *absent,
                         const struct relay_address *to)
{
    struct weft_packet *packet = weft_packet(self, RELAY_HEAD_SIZE);
    if (!packet)
        return; /* the other end asks again, or runs into its timeout */
    relay_write(&(struct relay_message){.operation = RELAY_ABSENT, .from = *absent, .to = *to},
                weft_payload(packet));
    (void)weft_send_server(self, packet, to->server);
}

static void absence_heard(struct weft_self *self, const struct relay_message *message)
{
    struct program *program = program_at(weft_memory(self), &message->to);
    if (!message->to.program)
        programs_tell(self, RELAY_ABSENT, &message->from);
    else if (program)
        program_tell(self, program, RELAY_ABSENT, &message->from);
}

/* ---- carrying datagrams ---- */

/* Hands a datagram to a program here; the bytes are the whole message. */
static void data_hand_over(struct weft_self *self, const struct relay_message *message,
                           const void *bytes, uint32_t size)
{
    struct relay *relay = weft_memory(self);
    struct program *program = program_at(relay, &message->to);
    if (!program) {
        relay->strays++;
        if (message->from.server == weft_here(self))
            absence_heard(self, &(struct relay_message){.from = message->to, .to = message->from});
        else
            absence_send(self, &message->to, &message->from);
        return;
    }
    relay->came++;
    if (message->kind == RELAY_KIND_LINE)
        peer_note(relay, program, message->from.server);
    weft_answer(self, program->client, 0, bytes, size);
}

/* Carries a datagram of a program here. We set its source address ourselves. */
static void data_carry(struct weft_self *self, struct program *program,
                       struct relay_message *message)
{
    struct relay *relay = weft_memory(self);
    uint8_t head[RELAY_HEAD_SIZE];
    uint32_t size = (uint32_t)(RELAY_HEAD_SIZE + message->size);
    message->from = address_of(self, program);
    relay->carried++;
    if (message->to.server >= weft_server_count(self)) {
        program_tell(self, program, RELAY_ABSENT, &message->to);
        return;
    }
    if (message->kind == RELAY_KIND_LINE)
        peer_note(relay, program, message->to.server);
    relay_write(message, head);
    struct weft_packet *packet = weft_packet(self, size);
    if (!packet) {
        relay->refused++;
        return;
    }
    memcpy(weft_payload(packet), head, sizeof head);
    if (message->size)
        memcpy((uint8_t *)weft_payload(packet) + sizeof head, message->body, message->size);
    if (message->to.server == weft_here(self)) {
        data_hand_over(self, message, weft_payload(packet), size);
        weft_done(packet);
    } else if (weft_send_server(self, packet, message->to.server)) {
        relay->refused++; /* lost, as in any network */
    }
}

/* ---- functions that the node calls ---- */

static void relay_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct relay *relay = weft_memory(self);
    struct relay_message message;
    bool good = !relay_read(&message, weft_payload(packet), weft_size(packet)) &&
                message.from.server < weft_server_count(self);
    if (good && message.operation == RELAY_DATA) {
        data_hand_over(self, &message, weft_payload(packet), weft_size(packet));
    } else if (good && message.operation == RELAY_ABSENT) {
        absence_heard(self, &message);
    } else {
        relay->garbage++;
        weft_refuse(self, packet);
        return;
    }
    weft_done(packet);
}

static void program_attach(struct weft_self *self, uint64_t client)
{
    struct relay *relay = weft_memory(self);
    struct program *program = program_of(relay, client);
    if (!program) {
        program = program_add(relay, client);
        if (!program) {
            uint8_t bytes[RELAY_HEAD_SIZE]; /* an address with program 0: none is free */
            relay_write(&(struct relay_message){.operation = RELAY_ATTACHED}, bytes);
            weft_answer(self, client, 0, bytes, sizeof bytes);
            return;
        }
        do
            program->life = weft_random(self);
        while (!program->life);
    }
    program_tell(self, program, RELAY_ATTACHED, NULL);
}

/* All messages to programs are events. */
static void relay_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct relay *relay = weft_memory(self);
    struct program *program = program_of(relay, client);
    struct relay_message message;
    if (relay_read(&message, bytes, size))
        relay->garbage++;
    else if (message.operation == RELAY_ATTACH)
        program_attach(self, client);
    else if (message.operation == RELAY_DATA && program)
        data_carry(self, program, &message);
    else
        relay->garbage++;
}

static void relay_gone(struct weft_self *self, uint64_t client)
{
    struct relay *relay = weft_memory(self);
    struct program *program = program_of(relay, client);
    if (!program)
        return;
    struct relay_address absent = address_of(self, program);
    program_remove(relay, program);
    program->life = 0;
    for (uint32_t server = 0; server < weft_server_count(self); server++) {
        if (!bitset_has(program->peers, server))
            continue;
        if (server == weft_here(self))
            programs_tell(self, RELAY_ABSENT, &absent);
        else
            absence_send(self, &absent, &(struct relay_address){.server = server});
    }
    memset(program->peers, 0, relay->words * sizeof *program->peers);
}

static void relay_peer_up(struct weft_self *self, weft_server server)
{
    programs_tell(self, RELAY_UP, &(struct relay_address){.server = server});
}

static void relay_peer_down(struct weft_self *self, weft_server server)
{
    programs_tell(self, RELAY_DOWN, &(struct relay_address){.server = server});
}

static void relay_stats(struct weft_self *self, struct weft_report *report)
{
    struct relay *relay = weft_memory(self);
    uint64_t programs = 0;
    for (unsigned i = 0; i < PROGRAMS_MAX; i++)
        programs += relay->programs[i].life != 0;
    weft_stat(report, "programs", programs);
    weft_stat(report, "carried", relay->carried);
    weft_stat(report, "came", relay->came);
    weft_stat(report, "strays", relay->strays);
    weft_stat(report, "refused", relay->refused);
    weft_stat(report, "garbage", relay->garbage);
}

static const struct weft_service_ops relay_ops = {
    .start = relay_start,
    .deliver = relay_deliver,
    .peer_up = relay_peer_up,
    .peer_down = relay_peer_down,
    .request = relay_request,
    .gone = relay_gone,
    .stats = relay_stats,
};

const struct weft_service service_relay = {
    .version = WEFT_SERVICE_VERSION,
    .name = "ripc",
    .id = RELAY_SERVICE,
    .weight = 4,
    .queue = WEFT_QUEUE_FIFO,
    .queue_packets = 1024,
    .size = sizeof(struct relay),
    .ops = &relay_ops,
};
