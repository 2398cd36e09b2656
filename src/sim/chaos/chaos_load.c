#include "sim/chaos/chaos_load.h"

#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/hash.h"

/* ---- load ---- */

enum {
    WANTS_ANSWER = 1,
    HAS_STOP = 2, /* the receiver sends it on to its target */
    TO_KEY = 4,   /* the target is `key`, else `server` */
    PICK = 8,     /* the server that has it after `pick` hops intercepts it ... */
    PICK_ANSWER = 16,
    PICK_KEEP = 32, /* ... and releases it */
    PICK_HOLD = 64, /* ... and holds it for a while */
};

#define LETTER_SIZE 42 /* hash 8, number 8, flags, pick, server 4, key 20 */
#define HELD_MAX    4
#define TIMER_SEND  1
#define TIMER_HELD  2

struct letter {
    uint64_t number;
    uint8_t flags, pick;
    weft_server server;
    struct weft_key key;
};

struct load {
    int64_t interval;
    uint64_t number;
    bool timer_set;
    struct weft_packet *held[HELD_MAX];
    struct chaos_load_counts counts;
};

static void letter_write(const struct letter *letter, uint8_t *bytes)
{
    struct writer out = writer_make(bytes + 8, LETTER_SIZE - 8);
    write_u64(&out, letter->number);
    write_u8(&out, letter->flags);
    write_u8(&out, letter->pick);
    write_u32(&out, letter->server);
    write_bytes(&out, letter->key.bytes, WEFT_KEY_SIZE);
    assert(!out.failed && !out.left);
    out = writer_make(bytes, 8);
    write_u64(&out, hash_bytes(bytes + 8, LETTER_SIZE - 8));
}

/* False: it was damaged on its way. */
static bool letter_read(struct weft_packet *packet, struct letter *letter)
{
    const uint8_t *bytes = weft_payload(packet);
    if (weft_size(packet) < LETTER_SIZE)
        return false;
    struct reader in = reader_make(bytes, LETTER_SIZE);
    if (read_u64(&in) != hash_bytes(bytes + 8, LETTER_SIZE - 8))
        return false;
    letter->number = read_u64(&in);
    letter->flags = read_u8(&in);
    letter->pick = read_u8(&in);
    letter->server = read_u32(&in);
    const uint8_t *key = read_bytes(&in, WEFT_KEY_SIZE);
    assert(key);
    memcpy(letter->key.bytes, key, WEFT_KEY_SIZE);
    return true;
}

static struct weft_key any_key(struct weft_self *self)
{
    struct weft_key key = {{0}};
    uint64_t route = weft_random(self);
    for (unsigned i = 0; i < 8; i++)
        key.bytes[WEFT_KEY_SIZE - 1 - i] = (uint8_t)(route >> 8 * i);
    return key;
}

static weft_server any_server(struct weft_self *self)
{
    return (weft_server)(weft_random(self) % weft_server_count(self));
}

static void send_to(struct weft_self *self, struct weft_packet *packet, bool to_key,
                    const struct weft_key *key, weft_server server)
{
    struct load *load = weft_memory(self);
    int result = to_key ? weft_send_key(self, packet, key) : weft_send_server(self, packet, server);
    load->counts.refused += result < 0;
}

static uint8_t any_flags(struct weft_self *self)
{
    uint64_t draw = weft_random(self);
    uint8_t flags = draw % 4 == 0 ? WANTS_ANSWER : 0;
    flags |= draw >> 8 & 1 ? TO_KEY : 0;
    flags |= (draw >> 16) % 5 == 0 ? HAS_STOP : 0;
    if ((draw >> 24) % 4 == 0)
        flags |=
            PICK | (uint8_t)(PICK_ANSWER << (draw >> 32) % 4); /* the fourth case: sends it on */
    return flags;
}

static void make_one(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    uint64_t draw = weft_random(self);
    uint32_t size = draw % 16 == 0 ? LETTER_SIZE + (uint32_t)((draw >> 8) % 8000) : LETTER_SIZE;
    struct weft_packet *packet = weft_packet_hollow(self, size, LETTER_SIZE);
    if (!packet)
        return;
    struct letter letter = {
        .number = load->number++,
        .flags = any_flags(self) & 127,
        .pick = (uint8_t)(1 + (draw >> 32) % 3),
        .server = any_server(self),
        .key = any_key(self),
    };
    letter_write(&letter, weft_payload(packet));
    weft_set_identity(packet, (uint32_t)letter.number);
    load->counts.made++;
    struct weft_key key = any_key(self);
    send_to(self, packet, (draw >> 40) % 4 != 0, &key, any_server(self));
}

static void timer_set(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    if (!load->interval || load->timer_set)
        return;
    int64_t wait = 1 + (int64_t)(weft_random(self) % (uint64_t)(2 * load->interval));
    load->timer_set = weft_timer(self, weft_now(self) + wait, TIMER_SEND) == 0;
}

static void held_send(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++) {
        struct weft_packet *packet = load->held[i];
        load->held[i] = NULL;
        if (packet) {
            struct weft_key key = any_key(self);
            send_to(self, packet, true, &key, 0);
        }
    }
}

static void load_timer(struct weft_self *self, uint64_t cookie)
{
    struct load *load = weft_memory(self);
    if (cookie == TIMER_HELD) {
        held_send(self);
        return;
    }
    load->timer_set = false;
    for (uint64_t count = weft_random(self) % 4; load->interval && count; count--)
        make_one(self);
    timer_set(self);
}

static void load_deliver(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    struct letter letter;
    load->counts.got++;
    if (!letter_read(packet, &letter)) {
        load->counts.damaged++;
        weft_done(packet);
        return;
    }
    uint8_t flags = letter.flags;
    letter.flags &= (uint8_t)(flags & HAS_STOP ? ~HAS_STOP : ~(WANTS_ANSWER | PICK));
    letter_write(&letter, weft_payload(packet));
    if (flags & HAS_STOP) {
        load->counts.relayed++;
        send_to(self, packet, flags & TO_KEY, &letter.key, letter.server);
    } else if (flags & WANTS_ANSWER) {
        load->counts.answered++;
        load->counts.refused += weft_reply(self, packet) < 0;
    } else {
        weft_done(packet);
    }
}

/* True: there was room to hold it. */
static bool hold(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++) {
        if (load->held[i])
            continue;
        if (weft_timer(self, weft_now(self) + 3000000, TIMER_HELD) < 0)
            return false;
        load->held[i] = packet;
        load->counts.held++;
        return true;
    }
    return false;
}

static enum weft_verdict load_intercept(struct weft_self *self, struct weft_packet *packet)
{
    struct load *load = weft_memory(self);
    struct letter letter;
    if (!letter_read(packet, &letter) || !(letter.flags & PICK) || weft_hops(packet) != letter.pick)
        return WEFT_PASS;
    uint8_t flags = letter.flags;
    letter.flags &= (uint8_t)~PICK;
    letter_write(&letter, weft_payload(packet));
    load->counts.picked++;
    if (flags & PICK_HOLD && hold(self, packet))
        return WEFT_TAKEN;
    if (flags & PICK_ANSWER)
        load->counts.refused += weft_reply(self, packet) < 0;
    else if (flags & PICK_KEEP)
        weft_done(packet);
    else
        send_to(self, packet, flags & TO_KEY, &letter.key, letter.server);
    return WEFT_TAKEN;
}

static void load_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                         const void *bytes, uint32_t size)
{
    struct load *load = weft_memory(self);
    struct chaos_load_order order;
    if (size != sizeof order)
        return;
    memcpy(&order, bytes, sizeof order);
    load->interval = order.interval_nsec;
    timer_set(self);
}

static void load_stop(struct weft_self *self)
{
    struct load *load = weft_memory(self);
    for (unsigned i = 0; i < HELD_MAX; i++)
        if (load->held[i])
            weft_done(load->held[i]);
}

static void load_stats(struct weft_self *self, struct weft_report *report)
{
    const struct load *load = weft_memory(self);
    weft_stat(report, "made", load->counts.made);
    weft_stat(report, "refused", load->counts.refused);
    weft_stat(report, "got", load->counts.got);
    weft_stat(report, "answered", load->counts.answered);
    weft_stat(report, "relayed", load->counts.relayed);
    weft_stat(report, "picked", load->counts.picked);
    weft_stat(report, "held", load->counts.held);
    weft_stat(report, "damaged", load->counts.damaged);
}

static const struct weft_service_ops load_ops = {
    .stop = load_stop,
    .deliver = load_deliver,
    .intercept = load_intercept,
    .timer = load_timer,
    .request = load_request,
    .stats = load_stats,
};

const struct weft_service chaos_load_service = {
    .version = WEFT_SERVICE_VERSION,
    .name = "load",
    .id = CHAOS_LOAD,
    .weight = 2,
    .size = sizeof(struct load),
    .ops = &load_ops,
};

/* ---- press ---- */

struct press {
    uint32_t port, size;
    int64_t until;
};

static struct weft_packet *press_poll(struct weft_self *self, unsigned port, uint32_t room)
{
    const struct press *press = weft_memory(self);
    if (port != press->port || weft_now(self) >= press->until ||
        room < WEFT_HEADER_SIZE + press->size)
        return NULL;
    struct weft_packet *packet = weft_packet_hollow(self, press->size, 0);
    if (packet && !weft_address_port(self, packet, port)) {
        weft_done(packet);
        return NULL;
    }
    return packet;
}

static void press_deliver(struct weft_self *self, struct weft_packet *packet)
{
    weft_done(packet);
}

static void press_request(struct weft_self *self, uint64_t client, uint64_t ticket,
                          const void *bytes, uint32_t size)
{
    struct press *press = weft_memory(self);
    struct chaos_press_order order;
    if (size != sizeof order)
        return;
    memcpy(&order, bytes, sizeof order);
    *press = (struct press){order.port, order.size, weft_now(self) + order.length_nsec};
    weft_wake(self, 1u << order.port);
}

static const struct weft_service_ops press_ops = {
    .deliver = press_deliver,
    .poll = press_poll,
    .request = press_request,
};

#define PRESS_SERVICE(index, share)                                                                \
    {                                                                                              \
        .version = WEFT_SERVICE_VERSION, .name = "press-" #share, .id = CHAOS_PRESS + (index),     \
        .weight = (share), .queue = WEFT_QUEUE_OWN, .size = sizeof(struct press),                  \
        .ops = &press_ops                                                                          \
    }

const struct weft_service chaos_press_services[CHAOS_PRESS_COUNT] = {
    PRESS_SERVICE(0, 2),
    PRESS_SERVICE(1, 4),
    PRESS_SERVICE(2, 1),
};
